//! Sending again what failed, and changing when mail leaves: once, whoever clicks at the same time, never unseen, and never
//! by somebody who cannot see it.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId, MessageId};
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::browser::{Browser, Shown};
use rookery_world::{Key, Mode, Workspace, World, story};

/// A reply that the other server refused.
async fn fails(world: &World, key: &Key<'_>, id: ConversationId, refusal: Refusal) -> String {
    let message = key.sends(id, "On its way.").await;
    world.outbox.answers(Handover::Refused(refusal));
    world.wait(TimeDelta::minutes(11));
    world.work().await;
    world.outbox.answers(Handover::Accepted);
    assert_eq!(key.message(id, &message).await["status"], "failed");
    message
}

/// Opens the question and answers it.
async fn again(browser: &Browser<'_>, message: &str) -> Shown {
    let seen = seen(&browser.get(&format!("/messages/{message}/again")).await.page());
    browser.post(&format!("/messages/{message}/again"), &[("seen", &seen)]).await
}

fn seen(page: &str) -> String {
    page.split("name=\"seen\" value=\"").nth(1).expect("a form").split('"').next().unwrap().to_owned()
}

async fn acme(world: &World) -> (Workspace<'_>, MailboxId, Key<'_>) {
    let acme = world.workspace("Acme").await;
    let help = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "read,write,send", Mode::Live).await;
    (acme, help, key)
}

#[tokio::test]
async fn what_failed_is_sent_again_as_a_new_mail_with_an_undo_window() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let message = fails(world, &key, id, Refusal::Rejected).await;
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(olga.get("/outgoing").await.page().contains(&format!("/messages/{message}/again")));
        assert!(
            olga.get(&format!("/conversations/{id}"))
                .await
                .page()
                .contains(&format!("/messages/{message}/again"))
        );
        let question = olga.get(&format!("/messages/{message}/again")).await.page();
        assert!(question.contains("On its way.") && question.contains("ada@customer.example"), "{question}");
        let sent = again(&olga, &message).await;
        assert!(
            sent.location().starts_with(&format!("/conversations/{id}?done=sent-again&of=msg_")),
            "{}",
            sent.location()
        );
        let new = sent.location().split("of=").nth(1).unwrap().to_owned();
        assert_ne!(new, message);
        assert_eq!(key.message(id, &new).await["status"], "scheduled");
        assert_eq!(key.message(id, &message).await["status"], "failed", "what happened stays told");
        assert_eq!(key.told(id, "sent-again").await, [json!({ "messageId": message, "as": new })]);
        // Once: neither the same click again, nor one from the list.
        let twice = again(&olga, &message).await;
        assert!(twice.location().contains(&format!("done=again-already&of={new}")), "{}", twice.location());
        assert!(olga.get("/outgoing").await.page().contains("Sent again"));
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let letters = world.outbox.letters();
        assert_eq!(letters.iter().filter(|letter| letter.message.to_string() == new).count(), 1);
        assert_eq!(key.message(id, &new).await["status"], "sent");
        // What has left has not failed.
        let sent = olga.post(&format!("/messages/{new}/again"), &[("seen", "9999")]).await;
        assert!(sent.location().contains("done=not-failed"), "{}", sent.location());
    })
    .await;
}

#[tokio::test]
async fn the_question_shows_the_mail_that_will_leave_and_asking_changes_nothing() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let message = fails(world, &key, id, Refusal::Rejected).await;
        let newer = "Message-ID: <newer@customer.example>\nFrom: ada@customer.example\nTo: help@acme.example\n\
                     In-Reply-To: <REPLY>\nSubject: Re: Parcel\n\nIt came, thank you.\n";
        let replied: String = sqlx::query_scalar("select rfc_message_id from messages where id = $1")
            .bind(message.parse::<MessageId>().unwrap().0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        acme.receives(help, &newer.replace("REPLY", replied.trim_matches(['<', '>']))).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let path = format!("/messages/{message}/again");
        olga.get(&path).await;
        let rows = world.rows().await;
        let page = olga.get(&path).await.page();
        assert_eq!(world.rows().await, rows, "a question changes nothing");
        let (_, sheet) = page.split_once("aria-label=\"The mail\"").expect("the mail");
        assert!(sheet.contains("On its way.") && sheet.contains("Quoted at the end"), "{sheet}");
        assert!(sheet.contains("It came, thank you.") && !sheet.contains("Where is it?"), "{sheet}");
        assert!(again(&olga, &message).await.location().contains("done=sent-again"));
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let letter = world.outbox.letters().pop().expect("it has left");
        assert!(letter.text.contains("On its way."), "{letter:?}");
    })
    .await;
}

#[tokio::test]
async fn two_who_send_again_at_once_send_one_mail() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        for round in 0..4 {
            let id = acme.mail(help, "ada@customer.example", &format!("Parcel {round}"), "Where?").await;
            let message = fails(world, &key, id, Refusal::GaveUp).await;
            let path = format!("/messages/{message}/again");
            let seen = seen(&olga.get(&path).await.page());
            let fields = [("seen", seen.as_str())];
            let (one, other) = tokio::join!(olga.post(&path, &fields), mia.post(&path, &fields));
            let mut told: Vec<&str> = [&one, &other]
                .map(|shown| shown.location().split(['=', '&']).nth(1).unwrap_or_default())
                .into();
            told.sort_unstable();
            assert_eq!(told, ["again-already", "sent-again"]);
            let before = world.outbox.letters().len();
            world.wait(TimeDelta::minutes(11));
            world.work().await;
            assert_eq!(world.outbox.letters().len(), before + 1);
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_sent_again_unseen_or_to_an_address_that_is_gone() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let message = fails(world, &key, id, Refusal::Rejected).await;
        let path = format!("/messages/{message}/again");
        let old = seen(&olga.get(&path).await.page());
        key.sends(id, "It is at the door.").await;
        let crossed = olga.post(&path, &[("seen", &old)]).await;
        assert!(crossed.location().starts_with(&format!("{path}?done=outdated")), "{}", crossed.location());
        let page = olga.get(&path).await.page();
        assert!(page.contains("It is at the door.") && page.contains("Since then"), "{page}");
        assert!(again(&olga, &message).await.location().contains("done=sent-again"), "they have read it");
        let before = world.outbox.letters().len();
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let new = world.outbox.letters().len() - before;
        assert_eq!(new, 2, "what was written meanwhile and what was sent again");
        // An address that does not exist is not written to, and the page says so.
        let id = acme.mail(help, "ben@customer.example", "Parcel", "Where is it?").await;
        let message = fails(world, &key, id, Refusal::NoSuchAddress).await;
        assert_eq!(acme.suppressed().await, ["ben@customer.example"]);
        let path = format!("/messages/{message}/again");
        let page = olga.get(&path).await.page();
        assert!(
            page.contains("can’t be emailed any more") && !page.contains("Send again</button>"),
            "{page}"
        );
        assert_eq!(again(&olga, &message).await.location(), path);
        let before = world.outbox.letters().len();
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), before);
    })
    .await;
}

#[tokio::test]
async fn what_was_asked_for_is_asked_for_again_with_a_link_of_its_own() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let id = acme.mail(help, "ada@customer.example", "Lease", "Hello").await;
        let input = json!({ "documents": [{ "label": "Passport" }], "dueDate": "2031-05-09", "send": true });
        let asked = key.post(&format!("/conversations/{id}/document-requests"), input).await;
        let message = asked.json()["messageId"].as_str().unwrap().to_owned();
        world.outbox.answers(Handover::Refused(Refusal::Rejected));
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        world.outbox.answers(Handover::Accepted);
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(again(&olga, &message).await.location().contains("done=sent-again"));
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let letters = world.outbox.letters();
        let letter = letters.last().expect("a letter");
        assert_eq!(letter.text.matches("- Passport").count(), 1, "{}", letter.text);
        assert_eq!(letter.text.matches("/upload/").count(), 1, "{}", letter.text);
        let states: Vec<String> =
            sqlx::query_scalar("select state from document_requests where workspace_id = $1 order by id")
                .bind(acme.id.0)
                .fetch_all(&mut *world.app.connection().await.unwrap())
                .await
                .unwrap();
        assert_eq!(states, ["cancelled", "open"]);
    })
    .await;
}

/// A scheduled message, and when it leaves as the page says it.
async fn later(world: &World, key: &Key<'_>, id: ConversationId, olga: &Browser<'_>) -> (String, String) {
    let message = key.sends(id, "Later.").await;
    world
        .sql("update messages set sends_at = sends_at + interval '2 days', due_at = due_at + interval '2 days' where status = 'scheduled'")
        .await;
    (message, shown(&olga.get("/outgoing").await.page()))
}

fn shown(page: &str) -> String {
    page.split("name=\"shown\" value=\"").nth(1).expect("a form").split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn what_leaves_later_gets_another_time_once() {
    story(async |world| {
        let (acme, help, key) = acme(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let (message, first) = later(world, &key, id, &olga).await;
        let path = format!("/messages/{message}/time");
        // Two at once: one of them is told that it is another time now.
        let fields = [("shown", first.as_str()), ("at", "2031-01-10T08:00")];
        let others = [("shown", first.as_str()), ("at", "2031-01-11T08:00")];
        let (one, other) = tokio::join!(olga.post(&path, &fields), mia.post(&path, &others));
        let mut told: Vec<&str> =
            [&one, &other].map(|shown| shown.location().split(['=', '&']).nth(1).unwrap_or_default()).into();
        told.sort_unstable();
        assert_eq!(told, ["time-changed", "time-crossed"]);
        assert_eq!(key.told(id, "send-time").await.len(), 1);
        let second = shown(&olga.get("/outgoing").await.page());
        assert_ne!(second, first);
        // A time that has passed or is none is refused; one that is too soon still leaves time to stop it.
        for at in ["2020-01-01T08:00", "tomorrow", "2099-01-01T08:00"] {
            assert_eq!(olga.post(&path, &[("shown", &second), ("at", at)]).await.status, 400, "{at}");
        }
        let soon = world.app.clock.now() + TimeDelta::minutes(1);
        let at = soon.format("%Y-%m-%dT%H:%M").to_string();
        assert!(
            olga.post(&path, &[("shown", &second), ("at", &at)]).await.location().contains("time-changed")
        );
        world.wait(TimeDelta::minutes(5));
        world.work().await;
        assert!(world.outbox.letters().is_empty(), "ten minutes to stop it");
        world.wait(TimeDelta::minutes(6));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        let late = olga.post(&path, &[("shown", &second), ("at", "2031-02-01T08:00")]).await;
        assert!(late.location().contains("time-too-late"), "{}", late.location());
        world.wait(TimeDelta::days(40));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1, "it left once");
    })
    .await;
}

#[tokio::test]
async fn a_colleague_who_cannot_see_it_can_do_neither() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let id = acme.mail(own, "kim@customer.example", "Only for Mia", "Hello.").await;
        let hers = world.browser(acme.id, mia).await;
        let page = hers.get(&format!("/conversations/{id}?compose=reply")).await.page();
        let field = |name: &str| {
            let at = page.find(&format!("name=\"{name}\"")).unwrap();
            page[at..].split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        let (draft, seen) = (field("draft"), field("seen"));
        let fields = [
            ("draft", draft.as_str()),
            ("version", "0"),
            ("kind", "reply"),
            ("seen", &seen),
            ("to", "kim@customer.example"),
            ("body", "A secret"),
            ("later", "2031-01-09T08:00"),
        ];
        let sent = hers.post(&format!("/conversations/{id}/write"), &fields).await;
        let message = sent.location().split("of=").nth(1).expect("a message").to_owned();
        let olga = world.browser(acme.id, acme.owner).await;
        let answers = [
            olga.get(&format!("/messages/{message}/again")).await,
            olga.post(&format!("/messages/{message}/again"), &[("seen", "9")]).await,
            olga.post(&format!("/messages/{message}/time"), &[("shown", "1"), ("at", "2031-01-10T08:00")])
                .await,
            olga.get("/messages/msg_0000000000001/again").await,
        ];
        assert!(answers.iter().all(|shown| shown.status == 404 && shown.html == answers[3].html));
        assert_eq!(hers.get(&format!("/messages/{message}/again")).await.status, 200);
    })
    .await;
}
