//! Whoever is erased is forgotten by what they booked, and what was to come is cancelled without a mail. Exports tell of bookings.

use chrono::TimeDelta;
use rookery_base::ids::ErasureId;
use rookery_core::workspace::people::Role;
use rookery_product::bookings::{cancel, link};

use rookery_world::pages::customer::Customer;
use rookery_world::story;
use rookery_world::verbs::erasing::{erases, made, unpacked};
use rookery_world::verbs::house::at;

const ADA: &str = "ada@customer.example";

#[tokio::test]
async fn bookings_of_the_erased_keep_their_time_and_nothing_else() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let talk = acme.mail(help, ADA, "A call?", "When?").await;
        let ahead = acme.books(call, ADA, "2031-01-07T09:00:00Z", Some(talk)).await;
        acme.books(call, ADA, "2031-01-07T11:00:00Z", None).await;
        acme.books(call, "bob@other.example", "2031-01-07T10:00:00Z", None).await;
        let _: ErasureId = erases(&acme, ADA).await;
        world.work().await;
        type Row = (i64, String, Option<String>, Option<String>, Option<String>);
        let kept: Vec<Row> =
            sqlx::query_as("select id, state, email, name, note from bookings order by starts_at")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(kept.len(), 3);
        assert_eq!(kept[0].0, ahead.id.0);
        for gone in [&kept[0], &kept[2]] {
            assert_eq!((gone.1.as_str(), &gone.2, &gone.3, &gone.4), ("cancelled", &None, &None, &None));
        }
        assert_eq!((kept[1].1.as_str(), kept[1].2.as_deref()), ("booked", Some("bob@other.example")));
        assert!(acme.free_times(call).await.contains(&at("2031-01-07T09:00:00Z")));
        assert_eq!(world.events("booking.cancelled").await.len(), 2, "apps keep their calendars right");
        assert_eq!(
            world.scalar("select count(*) from booking_mail m join bookings b on b.id = m.booking_id where b.email is null").await,
            0,
            "nobody is written to"
        );
    })
    .await;
}

#[tokio::test]
async fn an_export_of_a_contact_has_what_they_booked_as_far_as_the_asker_sees_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let call = acme.bookable("Call").await;
        let talk = acme.mail(help, ADA, "A call?", "When?").await;
        let secret = acme.mail(private, ADA, "Secret", "When?").await;
        acme.books(call, ADA, "2031-01-07T09:00:00Z", Some(talk)).await;
        acme.books(call, ADA, "2031-01-08T09:00:00Z", Some(secret)).await;
        acme.books(call, "bob@other.example", "2031-01-09T09:00:00Z", None).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(
            owner.post("/settings/data/exports", &[("what", "contact"), ("who", ADA)]).await.status,
            303
        );
        world.work().await;
        let id = made(&owner.get("/settings/data").await.page());
        let (names, text) =
            unpacked(world, &owner, &format!("/settings/data/exports/{id}/download"), &[]).await;
        assert!(names.iter().any(|name| name == "bookings.jsonl"), "{names:?}");
        assert!(
            text.contains("\"startsAt\":\"2031-01-07T09:00:00.000Z\"") && text.contains("About my order"),
            "{text}"
        );
        assert!(!text.contains("2031-01-08T09:00") && !text.contains("2031-01-09T09:00"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_conversation_goes_only_when_nothing_of_it_is_ahead_and_takes_what_was_booked_with_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let talk = acme.mail(help, ADA, "A call?", "When?").await;
        acme.books(call, ADA, "2031-01-07T09:00:00Z", Some(talk)).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let talk = talk.to_string();
        let delete = [("id", talk.as_str())];
        let kept = owner.post("/settings/data/conversation", &delete).await;
        assert!(kept.status == 409 && kept.html.contains("still to come"), "{} {}", kept.status, kept.html);
        world.wait(TimeDelta::days(3));
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        let gone = owner.post("/settings/data/conversation", &delete).await;
        assert_eq!(gone.status, 303, "{}", gone.html);
        let left: (Option<i64>, Option<String>, Option<String>, String) =
            sqlx::query_as("select conversation_id, email, note, state from bookings")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(left, (None, None, None, "booked".to_owned()), "that there was one stays");
    })
    .await;
}

#[tokio::test]
async fn what_an_erased_visitor_had_cancelled_cannot_be_taken_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let booked = acme.books(call, ADA, "2031-01-07T09:00:00Z", None).await;
        let link = link::manage_link(&world.app, acme.id, booked.series, booked.generation).unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        assert!(cancel::by_visitor(&mut tx, booked.id, "time").await.unwrap());
        tx.commit().await.unwrap();
        erases(&acme, ADA).await;
        world.work().await;
        let customer = Customer::with(world, link.strip_prefix("https://rookery.example").unwrap());
        assert_eq!(customer.submits(&format!("{}/back", customer.link), &[]).await.status, 404);
        assert_eq!(world.scalar("select count(*) from bookings where state = 'booked'").await, 0);
    })
    .await;
}
