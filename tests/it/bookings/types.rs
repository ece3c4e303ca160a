//! Setting up what can be booked: who may, what is refused, what the audit log keeps, and what happens when a host leaves.

use rookery_base::error::Error;
use rookery_base::ids::PersonId;
use rookery_core::workspace::access::By;
use rookery_core::workspace::inbox_settings::hours::HoursSpan;
use rookery_core::workspace::people::{self, Role};
use rookery_product::bookings::hosts::{self, Week};
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types::settings::Settings;
use rookery_product::bookings::types::{self, BookingTypeState};
use rookery_upkeep::departures::remove::{HandOver, remove};

use rookery_world::verbs::house::at;
use rookery_world::{Workspace, story};

async fn set_week(
    acme: &Workspace<'_>,
    by: PersonId,
    of: PersonId,
    zone: &str,
    week: Week,
) -> Result<(), Error> {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let person = people::teammate(&mut tx, acme.id, by).await.unwrap();
    hosts::set_week(&mut tx, Setter::Person(&person), of, zone, week).await?;
    tx.commit().await
}

/// Nobody could be mailed what became of it: neither an invitation nor a link to cancel.
#[tokio::test]
async fn what_its_inbox_cannot_confirm_cannot_be_booked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        let times = acme.free_times(call).await;
        assert!(!times.is_empty());
        world.sql("update mailboxes set unproven_at = now() where kind = 'team'").await;
        assert!(acme.free_times(call).await.is_empty());
        let page = world.browser_with("").get("/book/acme/call").await;
        assert!(page.status == 200 && !page.html.contains("?at="), "{}", page.html);
        world.sql("update mailboxes set unproven_at = null").await;
        assert_eq!(acme.free_times(call).await, times);
    })
    .await;
}

#[tokio::test]
async fn members_set_up_what_only_they_host_and_admins_everything() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let (max, mia) = (acme.person("Max", Role::Member).await, acme.person("Mia", Role::Admin).await);
        let own = acme.bookable_by(max, Settings::new("Max's hour", "", 60, max)).await.unwrap();
        for hosts in [vec![mia], vec![max, mia]] {
            let refused = acme
                .bookable_by(max, Settings { hosts, ..Settings::new("Theirs", "", 30, mia) })
                .await
                .unwrap_err();
            assert_eq!(refused.status(), 403);
        }
        let both = Settings { hosts: vec![max, mia], ..Settings::new("Both", "", 30, mia) };
        let theirs = acme.bookable_by(mia, both).await.unwrap();

        // Not by changing, pausing or removing what is not theirs alone either.
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let member = people::teammate(&mut tx, acme.id, max).await.unwrap();
        let setter = Setter::Person(&member);
        let taken_over = Settings::new("Mine now", "", 30, max);
        assert_eq!(types::change(&mut tx, setter, theirs, taken_over).await.unwrap_err().status(), 403);
        assert_eq!(
            types::turn(&mut tx, setter, theirs, BookingTypeState::Removed).await.unwrap_err().status(),
            403
        );
        types::turn(&mut tx, setter, own, BookingTypeState::Paused).await.unwrap();
        tx.commit().await.unwrap();

        assert_eq!(set_week(&acme, max, mia, "UTC", Week::usual()).await.unwrap_err().status(), 403);
        set_week(&acme, max, max, "Asia/Kolkata", Week::usual()).await.unwrap();
        set_week(&acme, mia, max, "Europe/Berlin", Week::usual()).await.unwrap();
        let recorded: Vec<String> =
            sqlx::query_scalar("select did from audit_entries where did like 'booking%' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let expected = [
            "booking_type.made",
            "booking_type.made",
            "booking_type.paused",
            "booking_hours.set",
            "booking_hours.set",
        ];
        assert_eq!(recorded, expected);
    })
    .await;
}

#[tokio::test]
async fn an_address_is_one_types_until_that_is_removed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let settings = Settings::new("First call", "call", 30, acme.owner);
        let no_inbox = acme.bookable_with(settings.clone()).await.unwrap_err();
        assert!(no_inbox.sentence().starts_with("Inbox: "), "{no_inbox}");
        acme.mailbox("help@acme.example", "Help").await;
        let first = acme.bookable_with(settings.clone()).await.unwrap();
        let taken = acme.bookable_with(settings.clone()).await.unwrap_err();
        assert!(taken.sentence().starts_with("Address: is taken"), "{taken}");
        // Another workspace has addresses of its own.
        let other = world.workspace("Other").await;
        other.mailbox("help@other.example", "Help").await;
        other.bookable_with(Settings { hosts: vec![other.owner], ..settings.clone() }).await.unwrap();

        let mut tx = world.app.begin(acme.id).await.unwrap();
        types::turn(&mut tx, Setter::Operator, first, BookingTypeState::Removed).await.unwrap();
        assert_eq!(
            types::turn(&mut tx, Setter::Operator, first, BookingTypeState::Active)
                .await
                .unwrap_err()
                .status(),
            404
        );
        tx.commit().await.unwrap();
        acme.bookable_with(settings.clone()).await.unwrap();
        // A stranger is no host, and another's private inbox sends no invitations.
        let stranger =
            Settings { hosts: vec![other.owner], ..Settings::new("Stranger", "", 30, other.owner) };
        assert_eq!(acme.bookable_with(stranger).await.unwrap_err().status(), 404);
        let mia = acme.person("Mia", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let from_hers = |host| Settings { mailbox: Some(private), ..Settings::new("Private", "", 30, host) };
        assert!(acme.bookable_with(from_hers(acme.owner)).await.is_err());
        acme.bookable_with(from_hers(mia)).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn hours_days_and_pauses_are_what_can_be_booked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let call = acme.bookable("Call").await;
        // It is Monday, nine o'clock; four hours' notice.
        assert_eq!(acme.free_times(call).await.first(), Some(&at("2031-01-06T13:00:00Z")));

        let mut week = Week::default();
        week.0[1] = vec![HoursSpan(600, 660), HoursSpan(780, 840)];
        set_week(&acme, acme.owner, acme.owner, "Europe/Berlin", week).await.unwrap();
        let free = acme.free_times(call).await;
        let tuesday = ["09:00", "09:15", "09:30", "12:00", "12:15", "12:30"];
        let tuesday = tuesday.map(|time| at(&format!("2031-01-07T{time}:00Z")));
        assert_eq!(free[..6], tuesday, "by the clock in Berlin");

        let mut tx = world.app.begin(acme.id).await.unwrap();
        let closed = "2031-01-07".parse().unwrap();
        hosts::set_day(&mut tx, Setter::Operator, acme.owner, closed, Some(Vec::new())).await.unwrap();
        let open = "2031-01-08".parse().unwrap();
        hosts::set_day(&mut tx, Setter::Operator, acme.owner, open, Some(vec![HoursSpan(480, 510)]))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(acme.free_times(call).await[..1], [at("2031-01-08T07:00:00Z")]);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        hosts::set_day(&mut tx, Setter::Operator, acme.owner, closed, None).await.unwrap();
        types::turn(&mut tx, Setter::Operator, call, BookingTypeState::Paused).await.unwrap();
        tx.commit().await.unwrap();
        assert!(acme.free_times(call).await.is_empty());
        let mut tx = world.app.begin(acme.id).await.unwrap();
        types::turn(&mut tx, Setter::Operator, call, BookingTypeState::Active).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(acme.free_times(call).await[0], tuesday[0]);

        for week in [
            vec![HoursSpan(600, 660), HoursSpan(650, 700)],
            vec![HoursSpan(0, 1), HoursSpan(2, 3), HoursSpan(4, 5), HoursSpan(6, 7), HoursSpan(8, 9)],
        ] {
            let mut wrong = Week::default();
            wrong.0[0] = week;
            assert_eq!(
                set_week(&acme, acme.owner, acme.owner, "UTC", wrong).await.unwrap_err().status(),
                400
            );
        }
        let nowhere = set_week(&acme, acme.owner, acme.owner, "Mars/Base", Week::usual()).await.unwrap_err();
        assert!(nowhere.sentence().starts_with("Time zone: "), "{nowhere}");
    })
    .await;
}

#[tokio::test]
async fn whoever_leaves_the_team_hosts_nothing_any_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let hers = acme.bookable_with(Settings::new("Hers", "", 30, mia)).await.unwrap();
        let both = Settings { hosts: vec![mia, acme.owner], ..Settings::new("Both", "", 30, mia) };
        let both = acme.bookable_with(both).await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        remove(&mut tx, &By::System, mia, HandOver::default()).await.unwrap();
        tx.commit().await.unwrap();
        assert!(acme.free_times(hers).await.is_empty());
        assert!(!acme.free_times(both).await.is_empty());
        let states: Vec<(String, String)> =
            sqlx::query_as("select name, state from booking_types order by name")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let states: Vec<(&str, &str)> = states.iter().map(|(name, state)| (&**name, &**state)).collect();
        assert_eq!(states, [("Both", "active"), ("Hers", "paused")]);
        assert_eq!(
            world.scalar("select count(*) from audit_entries where did = 'booking_type.paused'").await,
            1
        );
    })
    .await;
}
