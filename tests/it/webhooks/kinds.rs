//! The kinds of event that no verb of the product causes yet, recorded as their verbs will, and received.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::ids::{
    AgentId, BookingId, BookingTypeId, ConversationId, DocumentRequestId, MailboxId, MessageId,
};
use rookery_core::events::event::{
    AskCompleted, AskKind, Author, Booking, Doer, DraftApproved, Drafter, Event, MemberKind, MessageSent,
};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::TEAM;
use serde_json::{Value, json};

use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, Workspace};

async fn happens(acme: &Workspace<'_>, conversation: Option<ConversationId>, event: Event) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let place = EventContext { audience: TEAM, livemode: true, conversation, inbox: "Support" };
    record(&mut tx, place, &event).await.unwrap();
    tx.commit().await.unwrap();
}

/// proves: EVT-3, EVT-4, EVT-10, EVT-11, EVT-12, EVT-13, EVT-18
#[tokio::test]
async fn each_kind_tells_its_fields_a_summary_and_a_link() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        acme.webhook(&receiver.url, Mode::Live).await;
        let (conversation, message, inbox) = (ConversationId(5), MessageId(6), MailboxId(7));
        let told = async |conversation: Option<ConversationId>, event: Event| -> Value {
            let kind = event.kind().name();
            let happened = world.now();
            happens(&acme, conversation, event).await;
            world.wait(TimeDelta::seconds(90));
            world.work().await;
            let body = receiver.only().json();
            assert_eq!((&body["type"], &body["version"]), (&json!(kind), &json!(1)));
            assert_eq!(
                body["created_at"],
                rookery_base::clock::written(happened),
                "when it happened, not when it was sent"
            );
            body["data"].clone()
        };
        let url = format!("https://rookery.example/conversations/{conversation}");

        let ask = AskCompleted {
            ask_id: DocumentRequestId(8),
            kind: AskKind::Documents,
            conversation_id: conversation,
        };
        let data = json!({
            "ask_id": "req_0000000000008", "kind": "documents", "conversation_id": conversation.to_string(),
            "summary": "Everything asked for in Support is in.", "url": url,
        });
        assert_eq!(told(Some(conversation), Event::AskCompleted(ask)).await, data);

        let approved = DraftApproved {
            conversation_id: conversation,
            message_id: message,
            drafted_by: Drafter { r#type: Some(MemberKind::Agent), id: Some(AgentId(9).to_string()) },
            approved_by: Doer::User { id: Some(acme.owner), name: "Olga Owner".into() },
            edited: true,
        };
        let data = json!({
            "conversation_id": conversation.to_string(), "message_id": message.to_string(),
            "drafted_by": { "type": "agent", "id": "agt_0000000000009" },
            "approved_by": { "type": "user", "id": acme.owner.to_string(), "name": "Olga Owner" },
            "edited": true, "summary": "Olga Owner approved a draft in Support.", "url": url,
        });
        assert_eq!(told(Some(conversation), Event::DraftApproved(approved.clone())).await, data);
        let helper = DraftApproved { drafted_by: Drafter { r#type: None, id: None }, ..approved };
        let data = told(Some(conversation), Event::DraftApproved(helper)).await;
        assert_eq!(data["drafted_by"], json!({ "type": null, "id": null }));

        let sent = MessageSent {
            conversation_id: conversation,
            message_id: message,
            mailbox_id: inbox,
            author: Some(Author { r#type: MemberKind::Agent, id: Some(AgentId(9).to_string()) }),
            secure: false,
        };
        let data = json!({
            "conversation_id": conversation.to_string(), "message_id": message.to_string(),
            "mailbox_id": inbox.to_string(), "author": { "type": "agent", "id": "agt_0000000000009" },
            "secure": false, "summary": "An email went out from Support.", "url": url,
        });
        assert_eq!(told(Some(conversation), Event::MessageSent(sent.clone())).await, data);
        let service = MessageSent { author: None, ..sent };
        assert_eq!(told(Some(conversation), Event::MessageSent(service)).await["author"], Value::Null);

        let starts: DateTime<Utc> = "2031-02-03T10:00:00Z".parse().unwrap();
        let booking = Booking {
            booking_id: BookingId(1),
            booking_type_id: BookingTypeId(2),
            host_user_id: acme.owner,
            conversation_id: None,
            starts_at: starts,
            ends_at: starts + TimeDelta::minutes(30),
        };
        let data = told(None, Event::BookingCreated(booking.clone())).await;
        let mut wanted = json!({
            "booking_id": "bkg_0000000000001", "booking_type_id": "bkt_0000000000002",
            "host_user_id": acme.owner.to_string(), "conversation_id": null,
            "starts_at": "2031-02-03T10:00:00.000Z", "ends_at": "2031-02-03T10:30:00.000Z",
            "summary": "A time with Support was booked.",
        });
        assert_eq!(data, wanted, "no conversation, no link");
        let within = Booking { conversation_id: Some(conversation), ..booking };
        let data = told(Some(conversation), Event::BookingCancelled(within)).await;
        wanted["conversation_id"] = json!(conversation.to_string());
        wanted["summary"] = json!("A time with Support was cancelled.");
        wanted["url"] = json!(url);
        assert_eq!(data, wanted);
    })
    .await;
}

/// proves: WH-28
#[tokio::test]
async fn no_body_that_is_sent_holds_a_word_of_the_mail() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        acme.webhook(&receiver.url, Mode::Test).await;
        let key = acme.key("tester", "read,write,draft,send", Mode::Test).await;
        let file =
            json!({ "filename": "canary.pdf", "contentType": "application/pdf", "content": "Y2FuYXJ5" });
        let mail = json!({
            "from": "canary@canary.test", "name": "Canary", "subject": "canary", "text": "canary",
            "attachments": [file],
        });
        let id = key.simulate(mail.clone()).await;
        key.post(&format!("/conversations/{id}/notes"), json!({ "body": "canary" })).await;
        key.post(&format!("/conversations/{id}/tags"), json!({ "add": ["canary"] })).await;
        key.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await;
        key.post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await;
        let mut reply = mail;
        reply["conversationId"] = json!(id);
        key.simulate(reply).await;
        world.work().await;
        let got = receiver.take();
        assert!(got.len() >= 4, "{}", got.len());
        for got in got {
            let text = String::from_utf8(got.body.to_vec()).unwrap();
            assert!(!text.to_lowercase().contains("canary"), "{text}");
        }
    })
    .await;
}
