//! The life of a message, from draft to sent or failed, and everything that can happen to it on the way.

use chrono::TimeDelta;
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::sending;
use rookery_core::workspace::people::Role;
use rookery_product::replies::suppress::{Reason, suppress};
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Workspace, World, story, story_with};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

/// A live conversation with a customer, and a key that may do everything.
async fn case<'w>(acme: &Workspace<'w>) -> (Key<'w>, String) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "write,draft,send", Mode::Live).await;
    let id = acme.mail(inbox, "Ada <ada@customer.example>", "Parcel", "Where is it?").await;
    (key, id.to_string())
}

async fn after(world: &World, time: TimeDelta) {
    world.wait(time);
    world.work().await;
}

/// proves: MSG-1, MSG-2, MSG-3, STAT-10
#[tokio::test]
async fn a_scheduled_message_leaves_at_its_time_and_becomes_sent_through_sending() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let message = key.sends(&id, "It is on its way.").await;
        after(world, WINDOW - TimeDelta::milliseconds(1)).await;
        assert_eq!(world.outbox.letters().len(), 0);
        assert_eq!(key.message(&id, &message).await["status"], "scheduled");
        world.wait(TimeDelta::milliseconds(1));

        // Taken by a node that says nothing more: everybody sees that it is on its way.
        let now = world.now();
        let mut conn = world.app.connection().await.unwrap();
        let taken = sending::claim(&mut conn, false, now, now + TimeDelta::minutes(3)).await.unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!(key.message(&id, &message).await["status"], "sending");
        after(world, TimeDelta::minutes(2)).await;
        assert_eq!(world.outbox.letters().len(), 0, "it is another node's until its lease ends");
        assert_eq!(world.events("message.sent").await, [] as [Value; 0]);

        after(world, TimeDelta::minutes(1)).await;
        let [letter] = &world.outbox.letters()[..] else { panic!("one letter") };
        assert_eq!((letter.to.as_str(), letter.from.as_str()), ("ada@customer.example", "help@acme.example"));
        assert_eq!((letter.subject.as_str(), letter.text.as_str()), ("Parcel", "It is on its way."));
        assert_eq!(letter.rfc_message_id, taken[0].letter.rfc_message_id);
        let read = key.conversation(&id).await;
        let sent = key.message(&id, &message).await;
        assert_eq!(
            (&sent["status"], &sent["at"]),
            (&json!("sent"), &json!(rookery_base::clock::written(world.now())))
        );
        assert_eq!((&read["status"], &read["lastMessageAt"]), (&json!("waiting"), &sent["at"]));
        assert_eq!(
            key.told(&id, "status").await,
            [json!({ "from": "open", "to": "waiting", "reason": "sent" })]
        );
        assert_eq!(world.events("message.sent").await.len(), 1);
        after(world, TimeDelta::days(2)).await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

/// proves: MSG-9
#[tokio::test]
async fn a_lost_lease_writes_nothing_and_the_repeat_has_the_same_message_id() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let message = key.sends(&id, "Hello.").await;
        world.wait(WINDOW);
        let now = world.now();
        let mut conn = world.app.connection().await.unwrap();
        let lost =
            sending::claim(&mut conn, false, now, now + TimeDelta::minutes(3)).await.unwrap().remove(0);
        after(world, TimeDelta::minutes(3)).await;
        let (read, events) = (key.conversation(&id).await, world.event_count().await);
        assert_eq!(key.message(&id, &message).await["status"], "sent");
        assert_eq!(world.outbox.letters()[0].rfc_message_id, lost.letter.rfc_message_id);

        world.wait(TimeDelta::minutes(1));
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let locked = lock_any(&mut tx, lost.letter.conversation).await.unwrap();
        assert!(!sending::sent(&mut tx, &locked, &lost).await.unwrap());
        assert!(!sending::failed(&mut tx, &locked, &lost, Refusal::Rejected).await.unwrap());
        for tried in [true, false] {
            assert!(!sending::again(&mut tx, &lost, world.now(), tried).await.unwrap());
        }
        tx.commit().await.unwrap();
        assert_eq!(key.conversation(&id).await, read);
        assert_eq!(world.event_count().await, events);
    })
    .await;
}

/// proves: MSG-4, MSG-5
#[tokio::test]
async fn anyone_who_sees_the_inbox_can_stop_a_message_and_nobody_after_it_left() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let before = key.list("").await.1;
        let stopped = key.sends(&id, "Secretword, sorry.").await;
        assert_eq!(key.listed("q=secretword").await, [id.as_str()]);
        let mia = acme.person("Mia Member", Role::Member).await;
        world.wait(WINDOW - TimeDelta::milliseconds(1));
        acme.undo(mia, &stopped).await.unwrap();
        assert_eq!(key.message(&id, &stopped).await["status"], "draft");
        assert_eq!(key.told(&id, "send-stopped").await, [json!({ "messageId": stopped, "reason": "undo" })]);
        assert_eq!(key.list("").await.1, before, "a draft is not mail: its count, time and snippet are gone");
        assert_eq!(key.listed("q=secretword").await, [] as [&str; 0]);
        after(world, TimeDelta::days(2)).await;
        assert_eq!(world.outbox.letters().len(), 0);
        let again = acme.undo(mia, &stopped).await.unwrap_err();
        assert_eq!(again.sentence(), "message: is a draft already");

        let left = key.sends(&id, "Hello.").await;
        after(world, WINDOW).await;
        let late = acme.undo(mia, &left).await.unwrap_err();
        assert_eq!(late.sentence(), "message: is already on its way");
        assert_eq!(key.message(&id, &left).await["status"], "sent");

        // A private inbox is its owner's alone.
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let theirs = acme.mail(private, "bob@customer.example", "Hi", "Hello").await;
        let secret = key.sends(theirs, "Hello.").await;
        assert_eq!(acme.undo(mia, &secret).await.unwrap_err().sentence(), "No such message.");
        acme.undo(acme.owner, &secret).await.unwrap();
    })
    .await;
}

/// proves: MSG-6, MSG-7, EVT-10, EVT-12
#[tokio::test]
async fn an_approved_draft_leaves_after_its_window_as_it_was_or_as_it_was_edited() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        for (edited, body) in
            [(None, "Dear Ada,\nhello."), (Some("Dear Ada,\r\ngood day."), "Dear Ada,\ngood day.")]
        {
            let draft = key.drafts(&id, "Dear Ada,\nhello.").await;
            let sends_at = acme.approve(mia, &draft, edited).await.unwrap();
            assert_eq!(sends_at, world.now() + WINDOW);
            let scheduled = key.message(&id, &draft).await;
            assert_eq!((&scheduled["status"], &scheduled["text"]), (&json!("scheduled"), &json!(body)));
            let is_edited = edited.is_some();
            assert_eq!(
                key.told(&id, "approved").await.pop(),
                Some(json!({ "messageId": draft, "edited": is_edited }))
            );
            let approved = world.events("draft.approved").await.pop().unwrap();
            let data = json!({
                "conversation_id": id, "message_id": draft,
                "drafted_by": { "type": "agent", "id": key.agent.to_string() },
                "approved_by": { "type": "user", "id": mia.to_string(), "name": "Mia Member" },
                "edited": is_edited, "summary": "Mia Member approved a draft in Help.",
                "url": format!("https://rookery.example/conversations/{id}"),
            });
            assert_eq!(approved["data"], data);
            let again = acme.approve(mia, &draft, None).await.unwrap_err();
            assert_eq!(again.sentence(), "message: is not a draft");
            after(world, WINDOW).await;
            assert_eq!(world.outbox.letters().pop().unwrap().text, body);
            let sent = world.events("message.sent").await.pop().unwrap();
            assert_eq!(sent["data"]["message_id"], draft.as_str());
            let author = json!({ "type": "agent", "id": key.agent.to_string() });
            assert_eq!(sent["data"]["author"], author, "who wrote it, also after an edit");
        }
        let draft = key.drafts(&id, "Hello.").await;
        let blank = acme.approve(mia, &draft, Some(" \n ")).await.unwrap_err();
        assert_eq!(blank.sentence(), "body: is required");
        // The same words are no edit.
        acme.approve(mia, &draft, Some("Hello.")).await.unwrap();
        assert_eq!(world.events("draft.approved").await.pop().unwrap()["data"]["edited"], false);
        assert_eq!(world.events("draft.approved").await.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_discarded_draft_leaves_the_timeline_and_its_request_is_cancelled() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let body = json!({ "body": "Please.", "documents": [{ "label": "Passport" }] });
        let draft = key.replies(&id, body).await;
        let (before, request) = (key.list("").await.1, world.requests().await);
        assert_eq!(request, ["draft"]);
        acme.discard(acme.owner, &draft).await.unwrap();
        assert_eq!(key.message(&id, &draft).await, Value::Null);
        assert_eq!(key.told(&id, "draft-discarded").await, [json!({ "messageId": draft })]);
        assert_eq!(key.told(&id, "documents-cancelled").await.len(), 1);
        assert_eq!(world.requests().await, ["cancelled"]);
        assert_eq!(key.list("").await.1, before);
        assert_eq!(acme.discard(acme.owner, &draft).await.unwrap_err().sentence(), "No such message.");
        let scheduled = key.sends(&id, "Hello.").await;
        let refused = acme.discard(acme.owner, &scheduled).await.unwrap_err();
        assert_eq!(refused.sentence(), "message: is not a draft");
    })
    .await;
}

/// proves: AUTH-19
#[tokio::test]
async fn what_a_revoked_key_has_scheduled_becomes_a_draft_and_its_conversations_are_given_back() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let (leaked, id) = case(&acme).await;
        let other = acme.key("other", "write,send", Mode::Live).await;
        let mut ours = [leaked.sends(&id, "Buy now!").await, leaked.sends(&id, "Buy now!!").await];
        let theirs = other.sends(&id, "Hello.").await;
        let assign = leaked.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await;
        assert_eq!(assign.status, 200);
        acme.revoke(&leaked).await;
        for message in &ours {
            assert_eq!(other.message(&id, message).await["status"], "draft");
        }
        let told = other.told(&id, "send-stopped").await;
        ours.sort(); // written in one millisecond, they are stopped in the order of their ids
        assert_eq!(
            told,
            ours.each_ref().map(|message| json!({ "messageId": message, "reason": "key-revoked" }))
        );
        after(world, WINDOW).await;
        assert_eq!(world.outbox.letters().len(), 1);
        assert_eq!(other.message(&id, &theirs).await["status"], "sent");
        let read = other.conversation(&id).await;
        assert_eq!(read["assignee"], json!(null));
        let unassigned = world.events("conversation.assigned").await.pop().unwrap();
        let system = json!({ "type": "system", "id": null, "name": "System" });
        assert_eq!(
            (&unassigned["data"]["assignee"], &unassigned["data"]["assigned_by"]),
            (&json!(null), &system)
        );
    })
    .await;
}

/// proves: MSG-8
#[tokio::test]
async fn a_temporary_failure_is_tried_again_for_a_day_and_a_permanent_one_is_not() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        world.outbox.answers(Handover::Later);
        let message = key.sends(&id, "Hello.").await;
        after(world, WINDOW).await;
        let mut tries = 1;
        for minutes in [1, 5, 15, 60, 180, 360, 720] {
            assert_eq!(key.message(&id, &message).await["status"], "sending");
            after(world, TimeDelta::minutes(minutes) - TimeDelta::milliseconds(1)).await;
            assert_eq!(world.outbox.letters().len(), tries, "not before {minutes} minutes");
            after(world, TimeDelta::milliseconds(1)).await;
            tries += 1;
            assert_eq!(world.outbox.letters().len(), tries, "after {minutes} minutes");
        }
        assert_eq!(key.message(&id, &message).await["status"], "failed");
        let told = json!({ "messageId": message, "email": "ada@customer.example", "reason": "gave-up" });
        assert_eq!(key.told(&id, "delivery-failed").await, [told]);
        let ids: std::collections::BTreeSet<_> =
            world.outbox.letters().into_iter().map(|letter| letter.rfc_message_id).collect();
        assert_eq!(ids.len(), 1, "every try carries the same Message-ID");

        world.outbox.answers(Handover::Refused(Refusal::Rejected));
        let refused = key.sends(&id, "Hello?").await;
        after(world, WINDOW).await;
        assert_eq!(key.message(&id, &refused).await["status"], "failed");
        assert_eq!(key.told(&id, "delivery-failed").await[1]["reason"], "rejected");
        assert_eq!(world.events("message.sent").await, [] as [Value; 0]);
        assert_eq!(key.conversation(&id).await["status"], "open");

        world.outbox.answers(Handover::Later);
        let patient = key.sends(&id, "Hello!").await;
        after(world, WINDOW).await;
        world.outbox.answers(Handover::Accepted);
        after(world, TimeDelta::minutes(1)).await;
        assert_eq!(key.message(&id, &patient).await["status"], "sent");
        assert_eq!(world.events("message.sent").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_message_goes_out_although_the_customer_wrote_meanwhile_and_it_stays_our_turn() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        key.sends(&id, "Hello.").await;
        after(world, WINDOW).await;
        assert_eq!(key.conversation(&id).await["status"], "waiting");
        let named = world.outbox.letters()[0].rfc_message_id.clone();
        let second = key.sends(&id, "One more thing.").await;
        world.wait(TimeDelta::minutes(1));
        let help = key.get("/mailboxes").await.json()[0]["id"].as_str().unwrap().parse().unwrap();
        let raw = format!(
            "From: ada@customer.example\nIn-Reply-To: <{named}>\nSubject: Re: Parcel\n\nStill nothing!\n"
        );
        acme.receives(help, &raw).await;
        assert_eq!(key.conversation(&id).await["status"], "open");
        after(world, WINDOW).await;
        assert_eq!(key.message(&id, &second).await["status"], "sent");
        assert_eq!(key.conversation(&id).await["status"], "open");
        assert_eq!(world.events("message.sent").await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_bounce_after_it_was_sent_makes_it_failed_and_our_turn() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let message = key.sends(&id, "Hello.").await;
        after(world, WINDOW).await;
        for changed in [true, false] {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let locked = lock_any(&mut tx, id.parse().unwrap()).await.unwrap();
            let bounced = sending::bounced(&mut tx, &locked, message.parse().unwrap()).await.unwrap();
            assert_eq!(bounced, changed, "a second notice changes nothing");
            let about = Some(message.parse().unwrap());
            suppress(&mut tx, true, "ada@customer.example", Reason::Bounce, about).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(key.message(&id, &message).await["status"], "failed");
        assert_eq!(key.conversation(&id).await["status"], "open");
        assert_eq!(key.told(&id, "delivery-failed").await.len(), 1);
        assert_eq!(world.events("message.sent").await.len(), 1, "there is no second event");
        let next = key.sends(&id, "Hello?").await;
        after(world, WINDOW).await;
        assert_eq!(key.message(&id, &next).await["status"], "failed");
        assert_eq!(world.outbox.letters().len(), 1, "nothing more reaches a suppressed address");
    })
    .await;
}

/// proves: DREQ-7, DREQ-13, DREQ-19
#[tokio::test]
async fn a_request_opens_when_its_mail_leaves_and_reminds_on_days_two_four_and_seven() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let documents = json!([{ "label": "Passport" }, { "label": "Photo", "required": false }]);
        let draft = key.replies(&id, json!({ "body": "Please.", "documents": documents })).await;
        assert!(!key.message(&id, &draft).await["text"].as_str().unwrap().contains("https://"));
        acme.approve(acme.owner, &draft, Some("Please, dear Ada.")).await.unwrap();
        let first = link(&key.message(&id, &draft).await["text"]);
        acme.undo(acme.owner, &draft).await.unwrap();
        let text = key.message(&id, &draft).await["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("Please, dear Ada.") && text.contains("Passport"), "{text}");
        assert!(!text.contains("https://"), "a draft has no link: {text}");
        acme.approve(acme.owner, &draft, None).await.unwrap();
        let second = link(&key.message(&id, &draft).await["text"]);
        assert_ne!(first, second, "the link of the stopped mail is worth nothing");
        assert_eq!(world.requests().await, ["draft"]);
        after(world, WINDOW).await;
        assert_eq!(world.requests().await, ["open"]);
        let told = key.told(&id, "documents-requested").await;
        assert_eq!((&told[0]["messageId"], &told[0]["items"]), (&json!(draft), &json!(2)));

        let mut mails = 1;
        for (day, wait) in [(2, 2), (4, 2), (7, 3)] {
            after(world, TimeDelta::days(wait) - TimeDelta::milliseconds(1)).await;
            assert_eq!(world.outbox.letters().len(), mails, "not before day {day}");
            after(world, TimeDelta::milliseconds(1)).await;
            mails += 1;
            let letters = world.outbox.letters();
            assert_eq!(letters.len(), mails, "on day {day}");
            let reminder = &letters[mails - 1].text;
            assert!(reminder.contains("Passport") && !reminder.contains("Photo"), "{reminder}");
            assert_eq!(link(&json!(reminder)), second);
        }
        let sent = world.events("message.sent").await;
        assert_eq!(sent.len(), 4);
        assert_eq!(sent[3]["data"]["author"], json!(null), "a reminder is the service's own mail");
        assert_eq!(key.conversation(&id).await["status"], "waiting");
        after(world, TimeDelta::days(60)).await;
        assert_eq!(world.outbox.letters().len(), mails, "there is no fourth");
    })
    .await;
}

#[tokio::test]
async fn a_closed_conversation_gets_no_reminders() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        key.replies(&id, json!({ "body": "Please.", "documents": [{ "label": "Passport" }], "send": true }))
            .await;
        after(world, WINDOW).await;
        key.post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await;
        after(world, TimeDelta::days(8)).await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

/// Reminders are what the service writes by itself (D146). Notices to its own people are not counted.
#[tokio::test]
async fn an_address_gets_ten_automatic_mails_a_day_and_the_rest_when_the_day_is_over() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let ada = ["ada@customer.example"; 12];
        for from in ada.into_iter().chain(["ben@customer.example"]) {
            let id = acme.mail(inbox, from, "Loan", "Hello").await;
            let asked = json!({ "documents": [{ "label": "Passport" }], "send": true });
            let made = key.post(&format!("/conversations/{id}/document-requests"), asked).await;
            assert_eq!(made.status, 201, "{}", made.text);
        }
        after(world, WINDOW).await;
        let to =
            |name: &str| world.outbox.letters().iter().filter(|letter| letter.to.starts_with(name)).count();
        assert_eq!((to("ada"), to("ben")), (12, 1), "what people and agents send is not counted");
        after(world, TimeDelta::days(2)).await;
        assert_eq!((to("ada"), to("ben")), (12 + 10, 1 + 1));
        after(world, TimeDelta::days(1) - TimeDelta::milliseconds(1)).await;
        assert_eq!(to("ada"), 12 + 10);
        after(world, TimeDelta::milliseconds(1)).await;
        assert_eq!(to("ada"), 12 + 12, "nobody's reminder is lost");
        after(world, TimeDelta::days(1)).await;
        assert_eq!((to("ada"), to("ben")), (12 + 12 + 10, 1 + 2), "day four, and a new count");
        let counted: i64 = sqlx::query_scalar("select count(*) from automatic_mail")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(counted, 2, "days that are over leave nothing behind");
    })
    .await;
}

fn link(text: &Value) -> String {
    let text = text.as_str().unwrap();
    text[text.find("https://").expect("a link")..].split_whitespace().next().unwrap().to_owned()
}
