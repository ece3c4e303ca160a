//! Who hears what: live and test, the team's inboxes and private ones, chosen kinds.

use rookery_base::ids::{BookingId, BookingTypeId};
use rookery_core::events::event::{Booking, Event};
use rookery_core::events::record::{EventContext, record};
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::people::Role;
use rookery_webhooks::webhook::Scope;
use serde_json::json;

use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, Workspace};

/// An event that belongs to no inbox.
async fn book(acme: &Workspace<'_>) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let booking = Booking {
        booking_id: BookingId(1),
        booking_type_id: BookingTypeId(2),
        host_user_id: acme.owner,
        conversation_id: None,
        starts_at: tx.now(),
        ends_at: tx.now(),
    };
    let place = EventContext { audience: TEAM, livemode: true, conversation: None, inbox: "Olga Owner" };
    record(&mut tx, place, &Event::BookingCreated(booking)).await.unwrap();
    tx.commit().await.unwrap();
}

/// proves: WH-9, WH-25, WH-26, WH-27, SBX-29
#[tokio::test]
async fn team_private_and_sandbox_never_mix() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada Admin", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let adas = acme.private_mailbox("ada@acme.example", "Ada", ada).await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let other = world.workspace("Other").await;
        let foreign = Receiver::start().await;
        other.webhook(&foreign.url, Mode::Live).await;
        let [team, private, tests, private_tests] = [
            (acme.owner, Mode::Live, Scope::Team),
            (ada, Mode::Live, Scope::Private),
            (ada, Mode::Test, Scope::Team),
            (ada, Mode::Test, Scope::Private),
        ];
        let mut receivers = Vec::new();
        for (maker, mode, scope) in [team, private, tests, private_tests] {
            let receiver = Receiver::start().await;
            acme.webhook_of(maker, &receiver.url, mode, scope, &[]).await.unwrap();
            receivers.push(receiver);
        }
        let heard = async || -> Vec<usize> {
            world.work().await;
            assert!(foreign.take().is_empty(), "another workspace hears nothing");
            receivers.iter().map(|receiver| receiver.take().len()).collect()
        };
        acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [1, 0, 0, 0], "a team inbox");
        acme.mail(adas, "b@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [0, 1, 0, 0], "the maker's private inbox");
        acme.mail(olgas, "c@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [0, 0, 0, 0], "somebody else's private inbox");
        book(&acme).await;
        assert_eq!(heard().await, [1, 0, 0, 0], "what belongs to the whole workspace");
        acme.happens_in_sandbox().await;
        world.work().await;
        let got = receivers[2].only();
        assert_eq!(got.json()["livemode"], json!(false));
        assert_eq!(heard().await, [0, 0, 0, 0], "the sandbox");

        // A private inbox whose owner has left is heard by nobody.
        world.sql(&format!("update people set removed_at = now() where id = {}", ada.0)).await;
        acme.mail(adas, "d@customer.example", "Hi", "Hello").await;
        acme.happens_in_sandbox().await;
        assert_eq!(heard().await, [0, 0, 1, 0]);
    })
    .await;
}

/// proves: WH-24, EVT-15
#[tokio::test]
async fn a_test_event_goes_to_its_webhook_alone_whatever_it_chose() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        for mode in [Mode::Live, Mode::Test] {
            let (wanted, bystander) = (Receiver::start().await, Receiver::start().await);
            let kinds = ["message.sent"];
            let made = acme.webhook_of(acme.owner, &wanted.url, mode, Scope::Team, &kinds).await.unwrap();
            acme.webhook(&bystander.url, mode).await;
            let event = acme.test(made.webhook).await;
            world.work().await;
            let got = wanted.only();
            assert!(got.verifies(&made.secret));
            let body = got.json();
            assert_eq!(
                (&body["id"], &body["type"], &body["livemode"]),
                (&json!(event.to_string()), &json!("webhook.test"), &json!(mode == Mode::Live))
            );
            let data = json!({ "endpoint_id": made.webhook.to_string(), "summary": "Test event." });
            assert_eq!(body["data"], data);
            assert!(bystander.take().is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn only_chosen_kinds_are_sent() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let receiver = Receiver::start().await;
        let kinds = ["conversation.assigned", "scout.held"];
        acme.webhook_of(acme.owner, &receiver.url, Mode::Live, Scope::Team, &kinds).await.unwrap();
        let id = acme.mail(support, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        assert!(receiver.take().is_empty(), "turn.changed was not chosen");
        key.post(&format!("/conversations/{id}/assign"), json!({ "to": "me" })).await;
        world.work().await;
        assert_eq!(receiver.only().json()["type"], "conversation.assigned");
    })
    .await;
}
