//! Bookings for machines: what can be booked, what is booked, and a link for a conversation, by REST and by MCP. Nothing of a
//! visitor is told, private inboxes stay private, and the sandbox has none.

use rookery_core::workspace::people::Role;
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::settings::Settings;
use rookery_product::bookings::types::{self, BookingTypeState};
use serde_json::{Value, json};

use rookery_world::{Mode, story};

#[tokio::test]
async fn an_agent_offers_times_and_sees_what_was_booked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("First call").await;
        let key = acme.key("Bot", "read,draft", Mode::Live).await;
        let (status, listed) = key.read("/booking-types", "list_booking_types", json!({})).await;
        assert_eq!(status, 200);
        let owner = json!({ "id": acme.owner, "name": "Olga Owner" });
        let expected = json!([{
            "id": call, "name": "First call", "about": "", "minutes": 30, "hosts": [owner], "active": true,
            "url": "https://rookery.example/book/acme/first-call",
        }]);
        assert_eq!(listed, expected);

        let ada = acme.mail(help, "ada@customer.example", "A call?", "When can we talk?").await;
        let body = json!({ "bookingTypeId": call });
        let offered = key.write(&ada.to_string(), "booking-links", "offer_times", body, 200).await;
        let url = offered["url"].as_str().unwrap();
        assert!(url.starts_with("https://rookery.example/b/"), "{url}");
        assert_eq!(key.read("/bookings", "list_bookings", json!({})).await, (200, json!([])));

        let booked = acme.books(call, "ada@customer.example", "2031-01-07T09:00:00Z", Some(ada)).await;
        acme.books(call, "eve@other.example", "2031-01-06T14:00:00Z", None).await;
        let (_, listed) = key.read("/bookings", "list_bookings", json!({})).await;
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[0]["conversationId"], Value::Null, "soonest first");
        assert_eq!(
            listed[1],
            json!({
                "id": booked.id, "bookingTypeId": call, "hostUserId": acme.owner, "conversationId": ada,
                "startsAt": "2031-01-07T09:00:00.000Z", "endsAt": "2031-01-07T09:30:00.000Z", "rsvp": null,
            })
        );
        let all = json!(listed).to_string();
        for word in ["ada", "eve", "customer.example", "order", "Kolkata"] {
            assert!(!all.contains(word), "nothing of the visitor: {word}");
        }
        let (_, one) = key.read("/bookings?limit=1", "list_bookings", json!({ "limit": 1 })).await;
        assert_eq!(one.as_array().unwrap().len(), 1);
        assert_eq!(key.read("/bookings?limit=0", "list_bookings", json!({ "limit": 0 })).await.0, 400);
    })
    .await;
}

#[tokio::test]
async fn what_is_private_paused_or_not_live_is_not_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let call = acme.bookable("Call").await;
        let hers = acme.mail(private, "ada@customer.example", "Private", "Hello").await;
        let theirs = acme.mail(help, "ada@customer.example", "Open", "Hello").await;
        acme.books(call, "ada@customer.example", "2031-01-07T09:00:00Z", Some(hers)).await;
        let (team, own) = (
            acme.key("Team", "read,draft", Mode::Live).await,
            acme.key_of(mia, "Hers", "read,draft", Mode::Live).await,
        );
        assert_eq!(team.read("/bookings", "list_bookings", json!({})).await.1, json!([]));
        let (_, seen) = own.read("/bookings", "list_bookings", json!({})).await;
        assert_eq!(seen.as_array().unwrap().len(), 1);

        let body = json!({ "bookingTypeId": call });
        let refused = team.refused(&hers.to_string(), "booking-links", "offer_times", body.clone()).await;
        assert_eq!(refused, (404, "No such conversation.".to_owned()));
        let nothing = json!({ "bookingTypeId": "bkt_0000000000009" });
        let refused = team.refused(&theirs.to_string(), "booking-links", "offer_times", nothing).await;
        assert_eq!(refused, (404, "No such booking type.".to_owned()));
        let reader = acme.key("Reader", "read", Mode::Live).await;
        let refused = reader.refused(&theirs.to_string(), "booking-links", "offer_times", body.clone()).await;
        assert_eq!(refused, (403, "This key lacks the draft scope.".to_owned()));

        // Another workspace's type is no type.
        let other = world.workspace("Other").await;
        other.mailbox("help@other.example", "Help").await;
        let foreign = other.bookable_with(Settings::new("Foreign", "", 30, other.owner)).await.unwrap();
        let foreign = json!({ "bookingTypeId": foreign });
        assert_eq!(team.refused(&theirs.to_string(), "booking-links", "offer_times", foreign).await.0, 404);

        // Bookings are live only (D279).
        let test = acme.key("Test", "read,write,draft", Mode::Test).await;
        let simulated =
            test.simulate(json!({ "from": "ada@customer.test", "subject": "A", "text": "B" })).await;
        assert_eq!(test.read("/booking-types", "list_booking_types", json!({})).await.1, json!([]));
        assert_eq!(test.read("/bookings", "list_bookings", json!({})).await.1, json!([]));
        assert_eq!(test.refused(&simulated, "booking-links", "offer_times", body.clone()).await.0, 404);

        let mut tx = world.app.begin(acme.id).await.unwrap();
        types::turn(&mut tx, Setter::Operator, call, BookingTypeState::Paused).await.unwrap();
        tx.commit().await.unwrap();
        let (_, listed) = team.read("/booking-types", "list_booking_types", json!({})).await;
        assert_eq!(listed[0]["active"], false);
        assert_eq!(team.refused(&theirs.to_string(), "booking-links", "offer_times", body).await.0, 404);
    })
    .await;
}
