//! What visitors' calendar programs answer: accepting is kept, declining cancels, and what anybody could have written is mail
//! like any other.

use rookery_base::ids::{BookingId, BookingTypeId, ConversationId, MailboxId};
use rookery_mail::incoming::delivery::Received;
use serde_json::json;

use rookery_world::{Mode, Workspace, World, story};

const ADA: &str = "ada@customer.example";

/// The mail of a calendar program.
fn mail(from: &str, uid: &str, sequence: i64, said: &str, attendee: &str) -> String {
    format!(
        "Message-ID: <{said}-{sequence}-{from}>\nFrom: Ada <{from}>\nTo: help@acme.example\nSubject: {said}: Call\n\
         MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n\
         Ada has answered.\n--b\nContent-Type: text/calendar; method=REPLY; charset=utf-8\n\n\
         BEGIN:VCALENDAR\nMETHOD:REPLY\nVERSION:2.0\nBEGIN:VEVENT\nUID:{uid}\nSEQUENCE:{sequence}\n\
         DTSTAMP:20310106T090000Z\nATTENDEE;PARTSTAT={said}:mailto:{attendee}\nEND:VEVENT\nEND:VCALENDAR\n--b--\n"
    )
}

struct House<'w> {
    acme: Workspace<'w>,
    help: MailboxId,
    call: BookingTypeId,
    talk: ConversationId,
    booking: BookingId,
    uid: String,
}

async fn booked(world: &World) -> House<'_> {
    let acme = world.workspace("Acme").await;
    let help = acme.mailbox("help@acme.example", "Help").await;
    let call = acme.bookable("Call").await;
    let talk = acme.mail(help, ADA, "A call?", "When can we talk?").await;
    let booking = acme.books(call, ADA, "2031-01-07T09:00:00Z", Some(talk)).await.id;
    let uid = rookery_product::bookings::invitation::uid(booking, &world.app.config.mail_name());
    House { acme, help, call, talk, booking, uid }
}

impl House<'_> {
    async fn state(&self) -> (String, Option<String>, Option<String>) {
        sqlx::query_as("select state, rsvp, ended_by from bookings where workspace_id = $1 and id = $2")
            .bind(self.acme.id.0)
            .bind(self.booking.0)
            .fetch_one(&self.acme.world.app.pool)
            .await
            .unwrap()
    }

    async fn hears(&self, raw: &str) -> ConversationId {
        match self.acme.receives_confirmed(self.help, raw).await {
            Received::Stored(stored) => stored.conversation,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn accepting_is_kept_and_wakes_nobody() {
    story(async |world| {
        let house = booked(world).await;
        let key = house.acme.key("Bot", "read,write", Mode::Live).await;
        key.post(&format!("/conversations/{}/status", house.talk), json!({ "status": "closed" })).await;
        let before = world.events("client.replied").await.len();
        for (said, kept) in [("TENTATIVE", "tentative"), ("ACCEPTED", "accepted")] {
            let joined = house.hears(&mail(ADA, &house.uid, 0, said, ADA)).await;
            assert_eq!(joined, house.talk, "it stands where the times were offered");
            assert_eq!(house.state().await, ("booked".into(), Some(kept.into()), None));
        }
        assert_eq!(key.conversation(house.talk).await["status"], "closed", "a machine wrote");
        assert_eq!(world.events("client.replied").await.len(), before);
        let (_, listed) = key.read("/bookings", "list_bookings", json!({})).await;
        assert_eq!(listed[0]["rsvp"], "accepted");
    })
    .await;
}

#[tokio::test]
async fn declining_cancels_and_frees_the_time() {
    story(async |world| {
        let house = booked(world).await;
        let key = house.acme.key("Bot", "read", Mode::Live).await;
        let nine = rookery_world::verbs::house::at("2031-01-07T09:00:00Z");
        assert!(!house.acme.free_times(house.call).await.contains(&nine));
        house.hears(&mail(ADA, &house.uid, 0, "DECLINED", ADA)).await;
        assert_eq!(house.state().await, ("cancelled".into(), None, Some("reply".into())));
        assert!(house.acme.free_times(house.call).await.contains(&nine));
        assert_eq!(world.events("booking.cancelled").await.len(), 1);
        assert_eq!(key.told(house.talk, "booking-cancelled").await.len(), 1);
        // What comes after it changes nothing any more.
        house.hears(&mail(ADA, &house.uid, 0, "ACCEPTED", ADA)).await;
        assert_eq!(house.state().await.0, "cancelled");
    })
    .await;
}

#[tokio::test]
async fn forged_and_outdated_answers_are_mail_like_any_other() {
    story(async |world| {
        let house = booked(world).await;
        let eve = "eve@other.example";
        let own = mail(ADA, &house.uid, 0, "DECLINED", ADA);
        // Nobody vouches for the sender.
        let received = house.acme.receives(house.help, &own.replace("DECLINED-0", "unproven")).await;
        assert!(matches!(received, Received::Stored(_)), "{received:?}");
        let other_uid = house.uid.replace(&world.app.config.mail_name(), "elsewhere.example");
        let host_uid = rookery_product::bookings::invitation::uid_of_host(
            house.booking,
            house.acme.owner,
            &world.app.config.mail_name(),
        );
        for (what, raw) in [
            ("somebody else", mail(eve, &house.uid, 0, "DECLINED", eve)),
            ("somebody else in her name", mail(eve, &house.uid, 0, "DECLINED", ADA)),
            ("she for somebody else", mail(ADA, &house.uid, 0, "DECLINED", eve)),
            ("another's invitation", mail(ADA, &other_uid, 0, "DECLINED", ADA)),
            ("the host's invitation", mail(ADA, &host_uid, 0, "DECLINED", ADA)),
            ("one that never was", mail(ADA, "x@y", 0, "DECLINED", ADA)),
            ("a number that is not the newest", mail(ADA, &house.uid, 7, "DECLINED", ADA)),
            (
                "an invitation back",
                own.replace("METHOD:REPLY", "METHOD:REQUEST").replace("DECLINED-0", "asks"),
            ),
            (
                "two senders",
                own.replace("DECLINED-0", "two").replace("From: Ada <", "From: eve@x.example, <"),
            ),
        ] {
            house.hears(&raw).await;
            assert_eq!(house.state().await, ("booked".into(), None, None), "{what}");
        }
        assert_eq!(world.events("booking.cancelled").await.len(), 0);
        house.hears(&own).await;
        assert_eq!(house.state().await.0, "cancelled", "and the true one counts");
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_what_was_booked_on_the_public_page_counts_too() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let booking = acme.books(call, ADA, "2031-01-07T09:00:00Z", None).await.id;
        let uid = rookery_product::bookings::invitation::uid(booking, &world.app.config.mail_name());
        acme.receives_confirmed(help, &mail(ADA, &uid, 0, "DECLINED", ADA)).await;
        assert_eq!(world.scalar("select count(*) from bookings where ended_by = 'reply'").await, 1);
        // Another workspace's mail reaches no booking of this one.
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.example", "Help").await;
        let again = acme.books(call, ADA, "2031-01-08T09:00:00Z", None).await.id;
        let uid = rookery_product::bookings::invitation::uid(again, &world.app.config.mail_name());
        other.receives_confirmed(theirs, &mail(ADA, &uid, 0, "DECLINED", ADA)).await;
        assert_eq!(world.scalar("select count(*) from bookings where ended_by = 'reply'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn what_the_hosts_calendar_answers_is_no_customers_mail_and_declining_cancels() {
    story(async |world| {
        let house = booked(world).await;
        let host_uid = rookery_product::bookings::invitation::uid_of_host(
            house.booking,
            house.acme.owner,
            &world.app.config.mail_name(),
        );
        let olga = "olga@rookery.example";
        let before = world.events("client.replied").await.len();
        let joined = house.hears(&mail(olga, &host_uid, 0, "ACCEPTED", olga)).await;
        assert_eq!(joined, house.talk, "it starts no conversation of its own");
        assert_eq!(world.events("client.replied").await.len(), before);
        assert_eq!(house.state().await, ("booked".into(), None, None), "nobody else has answered");
        house.hears(&mail(olga, &host_uid, 0, "DECLINED", olga)).await;
        assert_eq!(house.state().await.0, "cancelled");
    })
    .await;
}
