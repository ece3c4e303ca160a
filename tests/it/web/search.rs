//! `/search`: what is found for whom, how it is marked, and what is said when something is missing.

use chrono::TimeDelta;
use rookery_core::conversations::search::index::{self, IndexLimits};
use rookery_core::workspace::people::{self, Role};
use rookery_product::replies::merge::merge;
use serde_json::json;

use super::inbox::next;
use rookery_world::verbs::erasing::erases;
use rookery_world::{Mode, story, story_with};

/// The ids of the hits of a page, in order.
fn hits(html: &str) -> Vec<String> {
    html.split("id=\"hit-").skip(1).filter_map(|hit| hit.split('"').next()).map(str::to_owned).collect()
}

/// proves: VIS-16
#[tokio::test]
async fn a_search_finds_what_the_person_may_see_in_every_status_and_marks_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let text = "Could the <b>DÉPOSIT</b> go to my new account?";
        let open = acme.mail(help, "Priya <priya@customer.example>", "About the deposit", text).await;
        world.wait(TimeDelta::seconds(1));
        let closed = acme.mail(sales, "ben@customer.example", "Old", "The deposit was paid").await;
        acme.set(closed, "status = 'closed'").await;
        let hidden = acme.mail(private, "anna@customer.example", "Hers", "A secret deposit").await;
        let test = acme.key("tester", "read,write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "x@y.test", "text": "A sandbox deposit" })).await;
        let olga = world.browser(acme.id, acme.owner).await;

        let html = olga.get("/search?q=deposit").await.page();
        assert_eq!(hits(&html), [closed.to_string(), open.to_string()]);
        assert!(html.contains("About the <mark>deposit</mark>"));
        assert!(html.contains("Could the &#60;b&#62;<mark>DÉPOSIT</mark>&#60;/b&#62; go to"));
        assert!(!html.contains(&hidden.to_string()) && !html.contains(&simulated));
        let found = async |query: &str| hits(&olga.get(&format!("/search?{query}")).await.page());
        assert_eq!(found("q=deposit&status=closed").await, [closed.to_string()]);
        assert_eq!(found(&format!("q=deposit&inbox={help}")).await, [open.to_string()]);
        assert_eq!(found("q=deposit&assigned=nobody").await.len(), 2);
        assert_eq!(found("q=deposit&assigned=me").await, [] as [&str; 0]);
        assert_eq!(found("q=priya").await, [open.to_string()]);
        assert_eq!(found("q=deposit+account").await, [open.to_string()]);
        for (query, told) in [
            ("", "Search everything</p>"),
            ("q=zebra", "No results for"),
            ("q=%21%21", "Enter a search term"),
            (&*format!("q={}", "a".repeat(201)), "That is too long"),
        ] {
            let html = olga.get(&format!("/search?{query}")).await.page();
            assert!(html.contains(told), "{query}");
        }
        for query in [format!("inbox={private}"), "status=x".into(), "assigned=x".into(), "before=x".into()] {
            assert_eq!(olga.get(&format!("/search?q=deposit&{query}")).await.status, 404, "{query}");
        }
    })
    .await;
}

/// The same operators as in the API, and a mistake says what to write.
#[tokio::test]
async fn operators_narrow_what_is_found_and_are_not_marked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let priya =
            acme.mail(help, "Priya <priya@customer.example>", "From the deposit", "The deposit").await;
        let ben = acme.mail(help, "ben@customer.example", "About priya", "The deposit").await;
        acme.tag(ben, "vip").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |query: &str| hits(&olga.get(&format!("/search?q={query}")).await.page());
        assert_eq!(found("priya").await, [ben.to_string(), priya.to_string()]);
        assert_eq!(found("from:priya").await, [priya.to_string()]);
        assert_eq!(found("tag:vip").await, [ben.to_string()]);
        assert_eq!(found("tag:vip+from:priya").await, [] as [&str; 0]);
        assert_eq!(found("tag:nothing+deposit").await, [] as [&str; 0]);
        assert_eq!(found("before:2100-01-01").await.len(), 2);
        assert_eq!(found("after:2100-01-01").await, [] as [&str; 0]);
        assert_eq!(found("after:2020-01-01+in:help").await.len(), 2);
        assert_eq!(found("is:closed").await, [] as [&str; 0]);
        assert_eq!(found("is:open&status=closed").await, [] as [&str; 0], "both have to hold");
        assert_eq!(found("deposit+assigned:nobody&since=2020-01-01&until=2100-01-01").await.len(), 2);
        let html = olga.get("/search?q=deposit+after:2021-05-05&since=2020-01-01").await.page();
        assert!(html.contains("Since <b>1 Jan 2020</b>") && html.contains("q=deposit\""), "{html}");
        let html = olga.get("/search?q=deposit+from:priya").await.page();
        assert!(html.contains("From the <mark>deposit</mark>"), "the operator is no word");
        let html = olga.get("/search?q=before:soon").await.page();
        assert!(html.contains("Please write a day after before: as in before:2026-01-31."), "{html}");
    })
    .await;
}

/// Words of notes are terms of their own: people find what they could read, and a search tells a key of mail only.
#[tokio::test]
async fn people_find_notes_and_keys_do_not() {
    story(async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let ada = acme.mail(help, "Ada <ada@customer.example>", "Invoice 7", "The amount is wrong.").await;
        world.wait(TimeDelta::seconds(1));
        // Its words fill more than one row.
        let many: String = (0..1_500).map(|n| format!("word{n} ")).collect();
        let long = acme.mail(help, "ben@customer.example", "Long", &many).await;
        world.wait(TimeDelta::seconds(1));
        let hidden = acme.mail(private, "eve@customer.example", "Hers", "Hello").await;
        let note = acme.note(ada, "Priya", "Might be a <b>chargeback</b>, see the ledger.").await;
        acme.note(long, "Priya", "Chargeback again").await;
        acme.note(hidden, "Mia Member", "A secret chargeback").await;
        let (ada, long, hidden) = (ada.to_string(), long.to_string(), hidden.to_string());
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |query: &str| hits(&olga.get(&format!("/search?q={query}")).await.page());

        let html = olga.get("/search?q=chargeback").await.page();
        assert_eq!(hits(&html), [long.clone(), ada.clone()]);
        assert!(html.contains("Note by <bdi>Priya</bdi>, "), "{html}");
        assert!(html.contains("be a &#60;b&#62;<mark>chargeback</mark>&#60;/b&#62;, see"), "{html}");
        assert!(html.contains(&format!("?q=chargeback#{note}\"")), "{html}");
        let html = olga.get(&format!("/conversations/{ada}?q=ledger")).await.page();
        assert!(html.contains("Note by <bdi>Priya</bdi>: "), "{html}");
        let hers = world.browser(acme.id, mia).await;
        assert_eq!(hits(&hers.get("/search?q=chargeback").await.page()), [hidden, long.clone(), ada.clone()]);
        let theirs = world.browser(globex.id, globex.owner).await;
        assert_eq!(hits(&theirs.get("/search?q=chargeback").await.page()), [""; 0]);
        let key = acme.key("bot", "read,write", Mode::Live).await;
        // At first by walks over the newest, then by the index.
        for is_old in [false, true] {
            for (query, expected) in [
                ("chargeback", vec![long.clone(), ada.clone()]),
                ("ledger", vec![ada.clone()]),
                ("ada+chargeback", vec![ada.clone()]),
                ("amount+chargeback+ledger+invoice+wrong", vec![ada.clone()]),
                ("chargeback+word1400", vec![long.clone()]),
                ("from:ada+chargeback", vec![ada.clone()]),
                ("from:priya+chargeback", vec![]),
                ("zebra+chargeback", vec![]),
                ("charge", if is_old { vec![] } else { vec![long.clone(), ada.clone()] }),
            ] {
                assert_eq!(found(query).await, expected, "{query}, old: {is_old}");
            }
            for query in ["chargeback", "ledger", "amount+ledger", "again+word1400"] {
                assert_eq!(key.get(&format!("/conversations?q={query}")).await.json(), json!([]), "{query}");
            }
            assert_eq!(key.get("/conversations?q=amount").await.json()[0]["id"], ada);
            if !is_old {
                world.wait(TimeDelta::hours(1));
                acme.many(help, 300, "common").await;
            }
        }
    })
    .await;
}

/// Whatever version writes, moves or takes away, notes are queued. Those from before the upgrade are left to the worker.
#[tokio::test]
async fn notes_are_found_wherever_they_move_until_they_are_gone() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let kept = acme.mail(help, "ben@customer.example", "Kept", "Hello").await;
        let gone = acme.mail(help, "ada@customer.example", "Gone", "Hello").await;
        acme.note(gone, "Priya", "Lantern").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |query: &str| hits(&olga.get(&format!("/search?q={query}")).await.page());
        assert_eq!(found("lantern").await, [gone.to_string()]);
        let queued = "select count(*) from unindexed_notes";
        assert_eq!(world.scalar(queued).await, 0);

        world
            .sql(
                "update conversation_words set words = '{1}', with_notes = false;
                 insert into unindexed_notes (workspace_id, conversation_id, note_id, since, tries, retry_at)
                 select workspace_id, conversation_id, id, at, -1, 'infinity' from notes",
            )
            .await;
        assert_eq!(found("lantern").await, [""; 0], "a search does not wait for all notes there are");
        assert_eq!(world.scalar(queued).await, 1);
        world.work().await;
        assert_eq!(found("lantern").await, [gone.to_string()]);

        // The version before begins a conversation anew, and knows nothing of its notes.
        world
            .sql(
                "update conversation_words set words = '{1}';
                 insert into unindexed_conversations (workspace_id, conversation_id, since)
                 select workspace_id, id, now() from conversations;
                 delete from unindexed_conversations",
            )
            .await;
        assert_eq!(found("lantern").await, [gone.to_string()]);

        let mut tx = world.app.begin(acme.id).await.unwrap();
        let person = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        merge(&mut tx, &person, kept, gone).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(found("lantern").await, [kept.to_string()]);
        world.work().await;
        assert_eq!(found("lantern").await, [kept.to_string()]);

        let other = acme.mail(help, "cy@customer.example", "Other", "Hello").await;
        acme.note(other, "Priya", "Lantern, too").await;
        assert_eq!(found("lantern").await.len(), 2);
        erases(&acme, "cy@customer.example").await;
        world.work().await;
        world.work().await;
        assert_eq!(found("lantern").await, [kept.to_string()]);
        assert_eq!(world.scalar(queued).await, 0);
        assert_eq!(world.scalar("select count(*) from conversation_words where with_notes").await, 1);

        // Very many are queued some at a time, and one that fails keeps none of the others.
        world
            .sql(
                "insert into notes (workspace_id, conversation_id, id, item, at, author, body)
                 select workspace_id, conversation_id, id + n, item, at, author, 'Ballast' || n
                 from notes, generate_series(1, 1001) n where body = 'Lantern';
                 update conversation_words set words = '{1}';
                 delete from unindexed_notes;
                 insert into unindexed_conversations (workspace_id, conversation_id, since)
                 select workspace_id, id, now() from conversations;
                 delete from unindexed_conversations",
            )
            .await;
        let marked = "select count(*) from unindexed_notes where continues";
        assert_eq!((world.scalar(queued).await, world.scalar(marked).await), (500, 1));
        let mut tx = world.app.begin(acme.id).await.unwrap();
        index::put_off(&mut tx, IndexLimits { messages: 1, ..index::OF_THE_WORKER }).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((world.scalar(queued).await, world.scalar(marked).await), (1_000, 1));
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        world.work().await;
        assert_eq!(world.scalar(queued).await, 0);
        for query in ["lantern", "ballast499", "ballast500", "ballast999", "ballast1001"] {
            assert_eq!(found(query).await, [kept.to_string()], "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn hits_are_read_to_their_end_by_links() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let made = acme.many(help, 45, "blowtorch").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let (mut seen, mut path) = (Vec::new(), Some("/search?q=blowtorch&status=open".to_owned()));
        while let Some(here) = path {
            let html = olga.get(&here).await.page();
            seen.extend(hits(&html));
            path = next(&html);
        }
        assert_eq!(seen, made.iter().map(ToString::to_string).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn files_are_found_by_parts_of_their_names() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        for (inbox, name) in [(help, "Kontoauszug_Mai.pdf"), (private, "Kontoauszug_geheim.pdf")] {
            let raw = format!(
                "From: ada@customer.example\nSubject: File\nMIME-Version: 1.0\n\
                 Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n--b\nContent-Type: application/pdf\n\
                 Content-Disposition: attachment; filename={name}\n\n%PDF {name}\n--b--\n"
            );
            acme.receives(inbox, &raw).await;
        }
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/search?kind=files&q=kontoauszug").await.page();
        assert!(html.contains("Kontoauszug") && html.contains("Mai") && !html.contains("geheim"));
        let html = olga.get("/search?kind=files&q=auszug").await.page();
        assert!(html.contains("Kontoauszug_Mai.pdf"));
    })
    .await;
}

#[tokio::test]
async fn a_search_that_is_behind_says_so() {
    story_with(&[("SEARCH_PATIENCE_MILLISECONDS", "0")], async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, "anna@customer.example", "Parcel", "The blowtorch").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/search?q=blowtorch").await.page();
        assert!(html.contains("aren’t searchable yet"));
        world.work().await;
    })
    .await;
}

#[tokio::test]
async fn the_last_word_is_found_by_its_beginning_too() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let text = "Could the DÉPOSIT go to my new account?";
        let priya = acme.mail(help, "Priya <priya@customer.example>", "Flat 7", text).await.to_string();
        world.wait(TimeDelta::seconds(1));
        let ben = acme.mail(help, "ben@customer.example", "Deposits held", "There are 41.").await.to_string();
        world.wait(TimeDelta::seconds(1));
        let hidden = acme.mail(private, "anna@customer.example", "Hers", "A depository").await.to_string();
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |query: &str| hits(&olga.get(&format!("/search?q={query}")).await.page());

        let html = olga.get("/search?q=depos").await.page();
        assert_eq!(hits(&html), [ben.clone(), priya.clone()]);
        assert!(html.contains("Could the <mark>DÉPOSIT</mark> go to"), "{html}");
        assert!(html.contains("<mark>Deposits</mark> held") && !html.contains(&hidden), "{html}");
        assert_eq!(found("DEPÓS").await, [ben.clone(), priya.clone()], "accents and case do not matter");
        assert_eq!(
            found("account+depos").await,
            std::slice::from_ref(&priya),
            "every other word must be there"
        );
        assert_eq!(found("depos+is:open").await.len(), 2, "an operator may follow");
        assert_eq!(
            found("deposit").await,
            [ben.clone(), priya.clone()],
            "a whole word may begin a longer one"
        );
        for nothing in ["depos+account", "%22depos%22", "de", "xdepos", "zebra+depos"] {
            assert_eq!(found(nothing).await, [] as [&str; 0], "{nothing}");
        }
        let hers = world.browser(acme.id, mia).await;
        assert_eq!(hits(&hers.get("/search?q=depos").await.page()), [hidden, ben.clone(), priya.clone()]);
        // A program sends whole words.
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(key.get("/conversations?q=depos").await.json(), json!([]));
        assert_eq!(key.get("/conversations?q=deposit").await.json()[0]["id"], priya);
    })
    .await;
}

/// The words are those of recent mail, and then they are found however old it is.
#[tokio::test]
async fn what_a_beginning_may_be_is_read_from_recent_mail_and_found_in_all() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let old = acme.mail(help, "priya@customer.example", "Flat 7", "The deposit").await.to_string();
        world.wait(TimeDelta::hours(1));
        acme.many(help, 300, "common").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/search?q=depos").await.page();
        assert!(hits(&html).is_empty() && html.contains("only of words in recent messages"), "{html}");
        assert_eq!(hits(&olga.get("/search?q=deposit").await.page()), std::slice::from_ref(&old));
        world.wait(TimeDelta::hours(1));
        let new = acme.mail(help, "ben@customer.example", "Moving", "Which deposit?").await.to_string();
        assert_eq!(hits(&olga.get("/search?q=depos").await.page()), [new, old]);
    })
    .await;
}

#[tokio::test]
async fn results_stay_beside_what_is_opened_from_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mut made = Vec::new();
        for name in ["one", "two", "three"] {
            let id = acme.mail(help, "ada@customer.example", &format!("Lantern {name}"), "<i>Dark</i>").await;
            made.insert(0, id.to_string());
            world.wait(TimeDelta::seconds(1));
        }
        let other = acme.mail(help, "bob@other.example", "Umbrella", "Rain").await.to_string();
        let olga = world.browser(acme.id, acme.owner).await;
        let query = "q=dark+lant&status=open";
        let html = olga.get(&format!("/search?{query}")).await.page().replace("&#38;", "&");
        assert_eq!(hits(&html), made);
        assert!(html.contains(&format!("href=\"/conversations/{}?{query}\"", made[1])), "{html}");

        let html =
            olga.get(&format!("/conversations/{}?{query}", made[1])).await.page().replace("&#38;", "&");
        assert!(html.contains("Results for “<bdi>dark lant</bdi>”"), "{html}");
        assert!(
            html.contains("<mark>Lantern</mark> one") && html.contains("&#60;i&#62;<mark>Dark</mark>"),
            "{html}"
        );
        assert!(!html.contains(&other), "{html}");
        for (id, is) in [(&made[0], "Previous"), (&made[2], "Next")] {
            let link = format!("href=\"/conversations/{id}?{query}\" aria-label=\"{is} conversation\"");
            assert!(html.contains(&link), "{is}: {html}");
        }
        assert!(
            html.contains(&format!("href=\"/search?{query}\" aria-label=\"Back to the list\"")),
            "{html}"
        );
        assert!(html.contains(&format!("name=\"list\" value=\"{query}\"")), "{html}");
        let marked = olga.post(&format!("/conversations/{}/unread", made[1]), &[("list", query)]).await;
        assert_eq!(marked.location(), format!("/search?{query}&done=unread&of={}", made[1]));
        // What is not among the results leads to the first of them, and a search of nothing is none.
        let html = olga.get(&format!("/conversations/{other}?{query}")).await.page().replace("&#38;", "&");
        let next = format!("href=\"/conversations/{}?{query}\" aria-label=\"Next conversation\"", made[0]);
        assert!(html.contains(&next), "{html}");
        let html = olga.get(&format!("/conversations/{other}?q=zebra")).await.page();
        assert!(html.contains("Nothing matches this search now."), "{html}");
        let html = olga.get(&format!("/conversations/{other}?q=+")).await.page();
        assert!(!html.contains("Results for"), "{html}");
        assert_eq!(olga.get(&format!("/conversations/{other}?q=x&inbox=mbx_x")).await.status, 404);
    })
    .await;
}
