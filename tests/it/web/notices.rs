//! What people are told of in the app, and the one mail about what stays unread.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_core::conversations::{assign, lock, mentions, notes, unread};
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::people::{self, Role};
use rookery_mail::incoming::delivery::Received;

use rookery_world::{Message, Mode, Workspace, World, story};

/// A person writes a note.
async fn notes(acme: &Workspace<'_>, person: PersonId, conversation: ConversationId, body: &str) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let person = people::teammate(&mut tx, acme.id, person).await.unwrap();
    let locked = lock::lock_visible(&mut tx, &person, &conversation.to_string()).await.unwrap();
    notes::add(&mut tx, &locked, &person, body).await.unwrap();
    tx.commit().await.unwrap();
}

async fn gives(acme: &Workspace<'_>, by: PersonId, conversation: ConversationId, to: PersonId) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let by = people::teammate(&mut tx, acme.id, by).await.unwrap();
    let locked = lock::lock_visible(&mut tx, &by, &conversation.to_string()).await.unwrap();
    assign::assign(&mut tx, &locked, &by, assign::To::Member(MemberId::Person(to))).await.unwrap();
    tx.commit().await.unwrap();
}

async fn customer_answers(acme: &Workspace<'_>, mailbox: MailboxId, first: &str, number: u32) {
    let raw = format!(
        "Message-ID: <answer-{number}@customer.example>\nIn-Reply-To: <out.{first}>\n\
         From: Kim <kim@customer.test>\nTo: help@acme.test\nSubject: Re: Order\n\nAny news?\n"
    );
    acme.receives(mailbox, &raw).await;
}

async fn opens(acme: &Workspace<'_>, mailbox: MailboxId, first: &str, subject: &str) -> ConversationId {
    let raw = format!(
        "Message-ID: <{first}>\nFrom: Kim <kim@customer.test>\nTo: help@acme.test\nSubject: {subject}\n\nHello.\n"
    );
    let id = match acme.receives(mailbox, &raw).await {
        Received::Stored(stored) => stored.conversation,
        other => panic!("the mail was not stored: {other:?}"),
    };
    // Mail of ours, which can be answered.
    let ours = format!("out.{first}");
    acme.outbound(id, Message { status: "sent", text: "We look into it.", rfc_message_id: Some(&ours) })
        .await;
    id
}

/// The mails that these people got from the service itself, as (recipient, subject, text).
fn mails(world: &World, people: &[&str]) -> Vec<(String, String, String)> {
    let letters = world.outbox.letters().into_iter().filter(|letter| letter.from.starts_with("rookery@"));
    let letters = letters.filter(|letter| people.iter().any(|name| letter.to.starts_with(name)));
    letters.map(|letter| (letter.to, letter.subject, letter.text)).collect()
}

/// proves: NOTE-4
#[tokio::test]
async fn assignments_mentions_and_news_of_what_one_follows_are_told_in_the_app() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom Weber", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = opens(&acme, help, "one@customer.test", "Order <1>").await;
        let (owner, toms) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        assert!(toms.get("/notices").await.page().contains("You’re all caught up"));

        gives(&acme, acme.owner, id, tom).await;
        let page = toms.get("/notices").await.page();
        assert!(page.contains("Olga Owner assigned this to you"), "{page}");
        assert!(page.contains("Order &#60;1&#62;") && page.contains("1 unread"));

        notes(&acme, acme.owner, id, "@Tom please look").await;
        notes(&acme, tom, id, "I am on it, @tom is me").await;
        customer_answers(&acme, help, "one@customer.test", 1).await;
        customer_answers(&acme, help, "one@customer.test", 2).await;
        let page = toms.get("/notices").await.page();
        assert!(page.contains("Olga Owner mentioned you") && page.contains("Kim wrote"), "{page}");
        assert!(page.contains("3 unread"), "a reason is one line, and one's own words are none");

        let mentioned = |page: String| {
            let link = page
                .split("id=\"to-mentioned\"")
                .nth(1)
                .expect("a link")
                .split("</a>")
                .next()
                .unwrap()
                .to_owned();
            link.split("class=\"count\">").nth(1).map(|count| count.split('<').next().unwrap().to_owned())
        };
        assert_eq!(mentioned(toms.get("/inbox").await.page()).as_deref(), Some("1"), "however often");
        assert_eq!(mentioned(owner.get("/inbox").await.page()), None);
        let page = owner.get("/notices").await.page();
        assert!(page.contains("Tom Weber wrote a note"), "whoever takes part follows: {page}");
        let mut conn = world.app.connection().await.unwrap();
        let person = people::teammate(&mut conn, acme.id, tom).await.unwrap();
        let listed = mentions::list(&mut conn, &person, None, 10).await.unwrap();
        assert_eq!(listed.iter().map(|place| place.id).collect::<Vec<_>>(), [id]);
        assert!(mentions::list(&mut conn, &person, Some(listed[0]), 10).await.unwrap().is_empty());
        drop(conn);
        let view = toms.get("/inbox?view=mentioned").await.page();
        assert!(view.contains(&format!("id=\"{id}\"")), "{view}");
        let view = owner.get("/inbox?view=mentioned").await.page();
        assert!(!view.contains(&format!("id=\"{id}\"")));

        let seen = [("doing", "looking"), ("seen", "")];
        assert_eq!(toms.post(&format!("/conversations/{id}/presence"), &seen).await.status, 204);
        assert_eq!(mentioned(toms.get("/inbox").await.page()), None, "he has looked");
        let page = toms.get("/notices").await.page();
        assert!(!page.contains(" unread<") && page.contains("Kim wrote"), "read, and still listed");
        customer_answers(&acme, help, "one@customer.test", 3).await;
        assert!(toms.get("/notices").await.page().contains("1 unread"), "and new again");
        assert_eq!(toms.post("/notices/read", &[]).await.location(), "/notices");
        assert!(!toms.get("/notices").await.page().contains("1 unread"));
    })
    .await;
}

/// Many lines of one instant, as a change of many conversations makes them.
#[tokio::test]
async fn every_line_is_on_one_page_and_the_button_reads_those_of_all_pages() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let ids = acme.many(help, 70, "word").await;
        let told = format!(
            "insert into notifications (workspace_id, conversation_id, person_id, reason, by_name, at)
             select workspace_id, id, {}, reason, 'Tom', '2031-01-06T08:00:00.123456Z'
             from conversations cross join unnest('{{assigned,noted}}'::text[]) reason",
            acme.owner.0
        );
        world.sql(&told).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (mut lines, mut path) = (Vec::new(), "/notices".to_owned());
        let until = loop {
            let page = owner.get(&path).await.page();
            assert!(page.contains("99+ unread"), "{page}");
            for line in page.split("<li class=\"notice").skip(1) {
                let of = line.split("/conversations/").nth(1).unwrap().split('"').next().unwrap().to_owned();
                lines.push((of, line.contains("wrote a note")));
            }
            let until =
                page.split("name=\"until\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
            let live = page.split("id=\"notices-read\"").nth(1).expect("the button is in a live part");
            assert!(live.split('>').next().unwrap().contains("data-live=\"notices\""));
            let Some(next) = page.split("href=\"/notices?before=").nth(1) else { break until };
            path = format!("/notices?before={}", next.split('"').next().unwrap());
        };
        assert_eq!(lines.len(), 140, "none is lost between two pages");
        lines.sort();
        lines.dedup();
        assert_eq!((lines.len(), ids.len()), (140, 70));
        for nonsense in
            ["1", "x.y.z", "1.cnv_0000000000001.stolen", "9999999999999999999.cnv_0000000000001.noted"]
        {
            assert_eq!(owner.get(&format!("/notices?before={nonsense}")).await.status, 400, "{nonsense}");
        }
        // The button of the last page, too, reads all.
        owner.post("/notices/read", &[("until", &until)]).await;
        let page = owner.get("/notices").await.page();
        assert!(!page.contains(" unread<") && !page.contains("Mark all as read"), "{page}");
    })
    .await;
}

/// proves: NOTE-5
#[tokio::test]
async fn what_stays_unread_is_one_mail_and_what_was_read_is_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Tom Weber", Role::Member).await;
        let mia = acme.person("Mia", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        for number in 1..=3 {
            let first = format!("{number}@customer.test");
            let id = opens(&acme, help, &first, &format!("Order {number}")).await;
            notes(&acme, acme.owner, id, "@Tom and @Mia, the secret word is swordfish").await;
            customer_answers(&acme, help, &first, number).await;
        }
        let mias = world.browser(acme.id, mia).await;
        assert_eq!(mias.post("/notices/read", &[]).await.status, 303);
        world.work().await;
        assert_eq!(mails(world, &["tom", "mia"]), [], "there is time to read it");
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let told = mails(world, &["tom", "mia"]);
        assert_eq!(told.len(), 1, "{told:?}");
        let (to, subject, text) = &told[0];
        assert_eq!(to, "tom.weber@rookery.example");
        assert_eq!(subject, "3 conversations are waiting for you");
        assert!(text.contains("Order 1: ") && text.contains("Order 3: "), "{text}");
        assert!(
            text.contains("Olga Owner mentioned you in a note") && text.contains("there is new mail"),
            "{text}"
        );
        assert!(text.contains("https://rookery.example/conversations/cnv_"), "{text}");
        assert!(!text.contains("swordfish") && !text.contains("Any news"), "no words of notes or mail");

        let id = opens(&acme, help, "4@customer.test", "Order 4").await;
        notes(&acme, acme.owner, id, "@Tom again").await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(mails(world, &["tom", "mia"]).len(), 1, "an hour lies between two");
        world.wait(TimeDelta::minutes(50));
        world.work().await;
        assert_eq!(mails(world, &["tom", "mia"]).len(), 2);
        assert_eq!(mails(world, &["tom", "mia"])[1].1, "A conversation is waiting for you");
    })
    .await;
}

#[tokio::test]
async fn a_mail_says_nothing_of_private_inboxes_leads_to_no_scam_and_does_not_follow_who_left() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (tom, mia) = (acme.person("Tom", Role::Member).await, acme.person("Mia", Role::Admin).await);
        let help = acme.mailbox("help@acme.test", "Help").await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let private = opens(&acme, own, "private@customer.test", "My diagnosis").await;
        let bot = acme.key_of(mia, "bot", "read,write", Mode::Live).await;
        let body = serde_json::json!({ "body": "@Mia, @Tom: look" });
        let reply = bot.post(&format!("/conversations/{private}/notes"), body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let held = opens(&acme, help, "held@customer.test", "You have won").await;
        acme.set(held, "risk = 'scam', risk_reasons = '{x}', held_at = created_at").await;
        notes(&acme, acme.owner, held, "@Tom @Mia is this real?").await;
        let gone = opens(&acme, help, "gone@customer.test", "Goodbye").await;
        notes(&acme, acme.owner, gone, "@Tom").await;
        world.sql(&format!("update people set removed_at = created_at where id = {}", tom.0)).await;

        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let told = mails(world, &["tom", "mia"]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, "mia@rookery.example");
        assert!(
            told[0].2.contains("own inbox: bot mentioned you in a note\n")
                && !told[0].2.contains("diagnosis")
        );
        assert!(!told[0].2.contains("won"));
    })
    .await;
}

#[tokio::test]
async fn somebody_chooses_what_they_are_told_of_by_kind_and_by_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let sales = acme.mailbox("sales@acme.test", "Sales").await;
        let toms = world.browser(acme.id, tom).await;
        let sales_field = format!("{sales}.mentioned");
        let chosen = [("mentioned", "off"), (sales_field.as_str(), "app"), ("assigned", "mail")];
        assert_eq!(toms.post("/notices/choices", &chosen).await.status, 303);
        let page = toms.get("/notices/choices").await.page();
        assert!(
            page.contains(r#"<option value="off" selected>"#)
                && page.contains(r#"<option value="app" selected>"#)
        );
        assert_eq!(toms.post("/notices/choices", &[("mentioned", "loud")]).await.status, 400);

        let one = opens(&acme, help, "one@customer.test", "One").await;
        notes(&acme, acme.owner, one, "@Tom").await;
        assert!(toms.get("/notices").await.page().contains("You’re all caught up"));
        let two = opens(&acme, sales, "two@customer.test", "Two").await;
        notes(&acme, acme.owner, two, "@Tom").await;
        assert!(toms.get("/notices").await.page().contains("1 unread"));
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(mails(world, &["tom", "mia"]), []);
        gives(&acme, acme.owner, one, tom).await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let told = mails(world, &["tom", "mia"]);
        assert!(told.len() == 1 && told[0].2.contains("One: Olga Owner gave it to you"), "{told:?}");
        assert!(!told[0].2.contains("Two"));
    })
    .await;
}

#[tokio::test]
async fn whoever_stops_following_hears_nothing_more_until_they_ask() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tom = acme.person("Tom", Role::Member).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = opens(&acme, help, "one@customer.test", "One").await;
        let toms = world.browser(acme.id, tom).await;
        let path = format!("/conversations/{id}/follow");
        let following = async || {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let person = people::teammate(&mut tx, acme.id, tom).await.unwrap();
            let locked = lock::lock_visible(&mut tx, &person, &id.to_string()).await.unwrap();
            unread::standing(&mut tx, &person, &locked).await.unwrap().is_following
        };
        assert!(!following().await);
        assert!(
            toms.get(&format!("/conversations/{id}")).await.page().contains(&format!("action=\"{path}\""))
        );
        assert!(
            toms.post(&path, &[]).await.location().starts_with(&format!("/conversations/{id}?done=follows"))
        );
        assert!(following().await);
        customer_answers(&acme, help, "one@customer.test", 1).await;
        assert!(toms.get("/notices").await.page().contains("1 unread"));
        assert_eq!(toms.post(&path, &[("stop", "")]).await.status, 303);
        assert_eq!(toms.post("/notices/read", &[]).await.status, 303);
        notes(&acme, tom, id, "I only look in.").await;
        customer_answers(&acme, help, "one@customer.test", 2).await;
        assert!(!following().await, "taking part does not undo it");
        assert!(!toms.get("/notices").await.page().contains("1 unread"));
    })
    .await;
}
