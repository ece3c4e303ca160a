//! Writing in the app: drafts that are never lost, whom a mail goes to, sending once, and what stops a send. Everything
//! goes through the plain forms that a browser without script has.

use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::workspace::people::Role;
use rookery_product::replies::suppress::{Reason, suppress};
use serde_json::{Value, json};

use rookery_world::browser::Browser;
use rookery_world::pages::writing::{Composer, inbox, leaves, mail, reply, unescaped, write};
use rookery_world::{Mode, Workspace, story};

/// proves: APP-4
#[tokio::test]
async fn a_person_replies_and_the_mail_leaves_after_the_undo_window_to_whom_the_page_said() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "Ada <ada@customer.example>", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("to"), "ada@customer.example");
        let shown = composer.set("body", "It is on its way.").press(&mia, &write(id), ("do", "send")).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        assert!(shown.location().starts_with(&format!("/conversations/{id}?done=sends&of=msg_")));
        assert_eq!(world.outbox.letters().len(), 0);
        leaves(world).await;
        let [letter] = &world.outbox.letters()[..] else { panic!("one letter") };
        assert_eq!((letter.to.as_str(), letter.text.as_str()), ("ada@customer.example", "It is on its way."));
        let raw = String::from_utf8(world.outbox.mails()[0].raw.clone()).unwrap();
        assert!(raw.contains("Where is it?") && raw.contains("Subject: Re: Parcel"), "{raw}");
        let page = mia.get(&format!("/conversations/{id}")).await.page();
        assert!(!page.contains("composer-form"), "nothing is begun any more");
    })
    .await;
}

#[tokio::test]
async fn the_same_click_twice_and_again_after_it_left_makes_one_message() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Tomorrow.");
        let action = write(id);
        let clicks = (0..4).map(|_| composer.press(&mia, &action, ("do", "send")));
        let shown = futures::future::join_all(clicks).await;
        let first = shown[0].location().to_owned();
        assert!(first.contains("done=sends"));
        assert!(shown.iter().all(|shown| shown.location() == first), "{shown:?}");
        leaves(world).await;
        let again = composer.press(&mia, &action, ("do", "send")).await;
        assert_eq!(again.location(), first);
        leaves(world).await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_new_conversation_that_is_sent_twice_is_one() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        inbox(&acme).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, "/compose").await;
        let composer = composer.set("to", "Ada Lovelace <ada@customer.example>, bob@customer.example");
        let composer = composer.set("subject", "Your lease").set("body", "Hello Ada.");
        let shown = composer.press(&mia, "/compose", ("do", "send")).await;
        let again = composer.press(&mia, "/compose", ("do", "send")).await;
        assert_eq!((shown.status, shown.location()), (303, again.location()), "{}", shown.html);
        leaves(world).await;
        let [letter] = &world.outbox.letters()[..] else { panic!("one letter") };
        assert_eq!((letter.to.as_str(), letter.subject.as_str()), ("ada@customer.example", "Your lease"));
        assert_eq!(letter.copies.to, ["bob@customer.example"]);
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = shown.location().split(['/', '?']).nth(2).unwrap().to_owned();
        let read = key.conversation(&id).await;
        assert_eq!(read["contact"], json!({ "name": "Ada Lovelace", "email": "ada@customer.example" }));
        assert_eq!((&read["status"], &read["subject"]), (&json!("waiting"), &json!("Your lease")));
        assert_eq!(read["timeline"][0]["to"], json!(["ada@customer.example", "bob@customer.example"]));
        // Whoever it went to answers into it.
        let answer = format!(
            "From: bob@customer.example\nSubject: Re: Your lease\nIn-Reply-To: <{}>\n\nYes.\n",
            letter.rfc_message_id
        );
        acme.receives_confirmed(read_mailbox(&acme).await, &answer).await;
        let read = key.conversation(&id).await;
        assert_eq!(
            read["timeline"].as_array().unwrap().iter().filter(|item| item["direction"] == "inbound").count(),
            1
        );
    })
    .await;
}

async fn read_mailbox(acme: &Workspace<'_>) -> MailboxId {
    let id: i64 = sqlx::query_scalar("select id from mailboxes where workspace_id = $1 and kind = 'team'")
        .bind(acme.id.0)
        .fetch_one(&acme.world.app.pool)
        .await
        .unwrap();
    MailboxId(id)
}

#[tokio::test]
async fn what_is_typed_is_kept_and_comes_back_and_only_its_writer_sees_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await;
        let half = composer
            .set("body", "Dear Ada,\r\n\r\n<b>it</b> is")
            .set("cc", "half@an addr")
            .set("bcc", "x@y.example");
        let shown = half.press(&mia, &write(id), ("do", "save")).await;
        assert_eq!(shown.location(), format!("/conversations/{id}?compose=reply#composer"));
        let back = Composer::open(&mia, &format!("/conversations/{id}")).await;
        assert_eq!(back.get("body"), "Dear Ada,\n\n<b>it</b> is");
        assert_eq!(
            (back.get("cc"), back.get("bcc"), back.get("version")),
            ("half@an addr", "x@y.example", "1")
        );
        assert!(mia.get("/drafts").await.page().contains("Parcel"));
        let toms = world.browser(acme.id, tom).await;
        for path in [format!("/conversations/{id}"), reply(id), "/drafts".to_owned()] {
            let page = toms.get(&path).await.page();
            assert!(!page.contains("Dear Ada") && !page.contains("x@y.example"), "{path}");
        }
        let key = acme.key("bot", "read", Mode::Live).await;
        assert!(!key.conversation(id).await.to_string().contains("Dear Ada"));
        // Nobody else can save into it, send it or throw it away.
        let stolen =
            Composer::open(&toms, &reply(id)).await.set("draft", back.get("draft")).set("body", "Mine now");
        for button in ["save", "send", "discard"] {
            assert_eq!(stolen.press(&toms, &write(id), ("do", button)).await.status, 404, "{button}");
        }
        assert_eq!(Composer::open(&mia, &reply(id)).await.get("body"), "Dear Ada,\n\n<b>it</b> is");
    })
    .await;
}

#[tokio::test]
async fn two_windows_of_one_person_lose_neither_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let first = Composer::open(&mia, &reply(id)).await.set("page", "aaaa");
        let second = Composer::open(&mia, &reply(id)).await.set("page", "bbbb");
        let quiet = ("quiet", "1");
        let saved = first.set("save", "1").set("body", "From the first").press(&mia, &write(id), quiet).await;
        assert_eq!((saved.status, &saved.headers["x-draft-version"]), (204, &"1".parse().unwrap()));
        let draft = saved.headers["x-draft"].to_str().unwrap().to_owned();
        // The second did not know of it: it is told, and its own words are kept beside.
        let second = second.set("save", "1").set("body", "From the second");
        let crossed = second.press(&mia, &write(id), quiet).await;
        assert_eq!((crossed.status, crossed.html.as_str()), (409, "From the first"));
        assert_eq!(crossed.headers["x-draft"], draft.as_str());
        let page = mia.get(&reply(id)).await.page();
        assert!(page.contains("From the first") && page.contains("From the second"));
        // A send from it stops, and says why.
        let stopped = second.set("save", "2").press(&mia, &write(id), ("do", "send")).await;
        assert!(stopped.location().contains("check=newer"), "{}", stopped.location());
        assert!(mia.get(stopped.location()).await.page().contains("you continued writing in another window"));
        // It chooses its own words: those of the first are kept beside.
        let chosen = Composer::open(&mia, &reply(id)).await.set("page", "bbbb").set("save", "3");
        let chosen =
            chosen.set("body", "From the second").set("mine", "1").press(&mia, &write(id), quiet).await;
        assert_eq!(chosen.status, 204);
        let now = Composer::open(&mia, &reply(id)).await;
        assert_eq!(now.get("body"), "From the second");
        assert!(now.html.contains("From the first"));
    })
    .await;
}

#[tokio::test]
async fn a_late_save_of_a_window_changes_nothing_and_one_that_left_is_taken() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let open = Composer::open(&mia, &reply(id)).await;
        let draft = open.get("draft").to_owned();
        let save = async |n: &str, body: &str| {
            let page = Composer::open(&mia, &reply(id)).await;
            let page = page.set("draft", &draft).set("version", "0").set("page", "aaaa").set("save", n);
            page.set("body", body).press(&mia, &write(id), ("quiet", "1")).await.status
        };
        // The page is left with the third save while the first two are still on their way.
        assert_eq!(save("3", "all three words").await, 204);
        assert_eq!(save("1", "all").await, 204);
        assert_eq!(save("2", "all three").await, 204);
        assert_eq!(Composer::open(&mia, &reply(id)).await.get("body"), "all three words");
        assert_eq!(save("4", "all three words.").await, 204);
        assert_eq!(Composer::open(&mia, &reply(id)).await.get("body"), "all three words.");
        let sent = Composer::open(&mia, &reply(id)).await.press(&mia, &write(id), ("do", "send")).await;
        assert!(sent.location().contains("done=sends"));
        // What comes after it was sent neither changes nor revives it.
        assert_eq!(save("5", "too late").await, 410);
        assert!(!mia.get(&format!("/conversations/{id}")).await.page().contains("too late"));
    })
    .await;
}

#[tokio::test]
async fn a_draft_that_is_thrown_away_comes_back_and_a_late_save_does_not_bring_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Precious words");
        composer.press(&mia, &write(id), ("do", "save")).await;
        let composer = Composer::open(&mia, &reply(id)).await;
        let gone = composer.press(&mia, &write(id), ("do", "discard")).await;
        assert!(gone.location().contains("done=draft-gone"));
        assert_eq!(composer.press(&mia, &write(id), ("quiet", "1")).await.status, 410);
        assert!(!mia.get(&reply(id)).await.page().contains("Precious"));
        let back = mia.post(&format!("/drafts/{}/restore", composer.get("draft")), &[]).await;
        assert_eq!(back.status, 303, "{}", back.html);
        assert_eq!(Composer::open(&mia, back.location()).await.get("body"), "Precious words");
    })
    .await;
}

#[tokio::test]
async fn a_send_that_would_cross_a_mail_or_an_answer_stops_and_shows_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let waiting = key.drafts(id, "Draft of the agent").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let toms = world.browser(acme.id, tom).await;
        let crosses = async |what: &str, comes: &dyn AsyncHappening| {
            let composer = Composer::open(&mia, &reply(id)).await.set("body", "My answer");
            comes.happen().await;
            let shown = composer.press(&mia, &write(id), ("do", "send")).await;
            assert!(shown.location().contains("check=send"), "{what}: {}", shown.location());
            let page = Composer::open(&mia, shown.location()).await;
            assert!(page.html.contains(what) && page.html.contains("Send anyway"), "{what}");
            assert_eq!(page.get("body"), "My answer");
            page
        };
        let before = world.due_messages().await;
        crosses("Never mind, it came", &Mails(&acme)).await;
        crosses("Tom Member", &Answers(&toms, id)).await;
        let page = crosses("Draft of the agent", &Approves(&acme, waiting)).await;
        assert_eq!(world.due_messages().await, before + 2, "Tom's and the approved one");
        // Having seen it, she sends; a tag or a note would not have stopped her.
        acme.note(id, "Tom", "Only a note").await;
        let shown = page.press(&mia, &write(id), ("do", "send")).await;
        assert!(shown.location().contains("done=sends"), "{}", shown.location());
    })
    .await;
}

/// Something that comes while somebody writes.
trait AsyncHappening {
    fn happen(&self) -> futures::future::LocalBoxFuture<'_, ()>;
}

struct Mails<'a>(&'a Workspace<'a>);
struct Answers<'a>(&'a Browser<'a>, ConversationId);
struct Approves<'a>(&'a Workspace<'a>, String);

impl AsyncHappening for Mails<'_> {
    fn happen(&self) -> futures::future::LocalBoxFuture<'_, ()> {
        Box::pin(async {
            let ids = self.0.world.rfc_message_ids().await;
            let answered = ids.first().map(String::as_str).unwrap_or("none@acme.example");
            let raw = format!(
                "From: ada@customer.example\nSubject: Re: Parcel\nIn-Reply-To: <{answered}>\n\nNever mind, it came\n"
            );
            self.0.receives_confirmed(read_mailbox(self.0).await, &raw).await;
        })
    }
}

impl AsyncHappening for Answers<'_> {
    fn happen(&self) -> futures::future::LocalBoxFuture<'_, ()> {
        Box::pin(async {
            let composer = Composer::open(self.0, &reply(self.1)).await.set("body", "Answer of Tom");
            let shown = composer.press(self.0, &write(self.1), ("do", "send")).await;
            assert!(shown.location().contains("done=sends"), "{}", shown.location());
        })
    }
}

impl AsyncHappening for Approves<'_> {
    fn happen(&self) -> futures::future::LocalBoxFuture<'_, ()> {
        Box::pin(async {
            self.0.approve(self.0.owner, &self.1, None).await.unwrap();
        })
    }
}

#[tokio::test]
async fn reply_to_all_reaches_everybody_who_was_on_the_mail_but_ourselves() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        acme.mailbox("sales@acme.example", "Sales").await;
        let headers = "From: Ada <ada@customer.example>\nTo: help+7x@acme.example, Bob <BOB@customer.example>\n\
                       Cc: sales@acme.example, cleo@other.example\nSubject: Parcel";
        let id = mail(&acme, help, headers, "Where is it?").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let read = key.conversation(id).await;
        assert_eq!(read["timeline"][0]["to"], json!(["help+7x@acme.example", "bob@customer.example"]));
        assert_eq!(read["timeline"][0]["cc"], json!(["sales@acme.example", "cleo@other.example"]));
        let mia = world.browser(acme.id, acme.owner).await;
        let one = Composer::open(&mia, &reply(id)).await;
        assert_eq!((one.get("to"), one.get("cc")), ("ada@customer.example", ""));
        // The button keeps the words.
        let shown = one.set("body", "Here.").press(&mia, &write(id), ("do", "all")).await;
        let all = Composer::open(&mia, shown.location()).await;
        assert_eq!(all.get("to"), "ada@customer.example, bob@customer.example");
        assert_eq!((all.get("cc"), all.get("body")), ("cleo@other.example", "Here."));
        let sent = all.set("bcc", "boss@acme-holding.example").press(&mia, &write(id), ("do", "send")).await;
        assert!(sent.location().contains("done=sends"), "{}", sent.location());
        leaves(world).await;
        let [sent] = &world.outbox.mails()[..] else { panic!("one mail") };
        assert_eq!(sent.to, "ada@customer.example");
        assert_eq!(sent.copies_to, ["bob@customer.example", "cleo@other.example", "boss@acme-holding.example"]);
        let raw = String::from_utf8(sent.raw.clone()).unwrap();
        assert!(!raw.contains("acme-holding"));
        assert!(!raw.contains("Where is it?"), "the blind copy did not have that mail");
        let message = key.conversation(id).await["timeline"].as_array().unwrap().last().unwrap().clone();
        let ours = key.conversation(id).await["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["direction"] == "outbound")
            .cloned()
            .unwrap_or(message);
        assert_eq!(ours["cc"], json!(["cleo@other.example"]));
        assert!(!key.conversation(id).await.to_string().contains("acme-holding"));
        let events = sqlx::query_scalar::<_, String>("select row_to_json(events)::text from events")
            .fetch_all(&world.app.pool)
            .await
            .unwrap();
        assert!(events.iter().all(|event| !event.contains("acme-holding")));
    })
    .await;
}

/// proves: NOTE-5
#[tokio::test]
async fn a_forward_passes_on_one_message_its_files_and_no_note_and_its_answer_stays_apart() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let headers = "From: Ada <ada@customer.example>\nTo: help@acme.example\nSubject: Parcel\nMIME-Version: 1.0\n\
                       Content-Type: multipart/mixed; boundary=b";
        let body = "--b\n\nWhere is it?\n--b\nContent-Type: application/pdf\n\
                    Content-Disposition: attachment; filename=lease.pdf\n\n%PDF lease\n--b--";
        let id = mail(&acme, help, headers, body).await;
        acme.note(id, "Tom", "SECRET: she owes us money").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &format!("/conversations/{id}?compose=forward")).await;
        assert_eq!((composer.get("to"), composer.get("subject")), ("", "Fwd: Parcel"));
        assert!(composer.html.contains("lease.pdf"));
        let filled = composer.set("to", "post@carrier.example").set("body", "Can you look?");
        let sent = filled.press(&mia, &write(id), ("do", "send")).await;
        assert!(sent.location().contains("done=sends"), "{}", sent.location());
        leaves(world).await;
        let raw = String::from_utf8(world.outbox.mails()[0].raw.clone()).unwrap();
        let parsed = mail_parser::MessageParser::new().parse(raw.as_bytes()).unwrap();
        let text = parsed.body_text(0).unwrap();
        assert!(text.starts_with("Can you look?") && text.contains("Where is it?"), "{text}");
        assert!(!raw.contains("SECRET") && !raw.contains("In-Reply-To") && !raw.contains("References"));
        assert_eq!(parsed.attachments().next().unwrap().contents(), b"%PDF lease");
        assert_eq!(parsed.subject(), Some("Fwd: Parcel"));
        // The carrier's answer is a conversation of its own: the customer never gets a word of it.
        let forwarded = world.outbox.letters()[0].rfc_message_id.clone();
        let answer = format!(
            "From: post@carrier.example\nSubject: Re: Fwd: Parcel\nIn-Reply-To: <{forwarded}>\n\nLost it.\n"
        );
        let rookery_mail::incoming::delivery::Received::Stored(stored) =
            acme.receives_confirmed(help, &answer).await
        else {
            panic!("stored")
        };
        assert_ne!(stored.conversation, id);
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(key.conversation(stored.conversation).await["answersIn"], json!(id));
        // The next reply to the customer knows nothing of the forward.
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("to"), "ada@customer.example");
        composer.set("body", "We look for it.").press(&mia, &write(id), ("do", "send")).await;
        leaves(world).await;
        let raw = String::from_utf8(world.outbox.mails()[1].raw.clone()).unwrap();
        assert!(!raw.contains(&forwarded) && !raw.contains("carrier") && raw.contains("Where is it?"));
        assert_eq!(world.outbox.letters()[1].to, "ada@customer.example");
    })
    .await;
}

#[tokio::test]
async fn a_blank_a_wrong_address_and_one_that_must_not_be_written_to_stop_the_send_and_are_named() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let message = key.drafts(id, "x").await.parse().unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        suppress(&mut tx, true, "gone@customer.example", Reason::Bounce, Some(message)).await.unwrap();
        tx.commit().await.unwrap();
        let mia = world.browser(acme.id, acme.owner).await;
        for (name, value, told) in [
            ("body", "", "The mail is empty"),
            ("body", "You owe {{amount}}.", "A blank is not filled in: {{amount}}"),
            ("to", "", "Write an address in To"),
            ("to", "ada at customer", "is not a mail address"),
            ("cc", "Gone@customer.example", "gone@customer.example must not be written to"),
            ("bcc", "gone@customer.example", "gone@customer.example must not be written to"),
        ] {
            let composer =
                Composer::open(&mia, &reply(id)).await.set("body", "Words").set("cc", "").set("bcc", "");
            let composer = composer.set("to", "ada@customer.example").set(name, value);
            let shown = composer.press(&mia, &write(id), ("do", "send")).await;
            assert!(shown.location().contains("check=send"), "{told}: {}", shown.location());
            let page = mia.get(shown.location()).await.page();
            assert!(unescaped(&page).contains(told), "{told}");
        }
        assert_eq!(world.due_messages().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_note_is_added_once_and_calls_people() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let tom = acme.person("Tom Member", Role::Member).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &format!("/conversations/{id}?compose=note")).await;
        assert!(composer.html.contains("Tom Member"), "whom one can call");
        let composer = composer.set("body", "@Tom please call her");
        for _ in 0..2 {
            let shown = composer.press(&mia, &write(id), ("do", "send")).await;
            assert!(shown.location().contains("done=noted"), "{}", shown.location());
        }
        let key = acme.key("bot", "read", Mode::Live).await;
        let read = key.conversation(id).await;
        let notes: Vec<&Value> =
            read["timeline"].as_array().unwrap().iter().filter(|item| item["type"] == "note").collect();
        assert_eq!(notes.len(), 1);
        assert_eq!(world.mentioned().await, [tom]);
        leaves(world).await;
        let letters = world.outbox.letters();
        assert!(letters.iter().all(|letter| letter.to != "ada@customer.example"), "{letters:?}");
    })
    .await;
}
