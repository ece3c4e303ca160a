//! What leaves about a booking: one invitation for each, what a newer change makes of it, and the same mail on every try.

use chrono::TimeDelta;
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::Role;
use rookery_product::bookings::read::BookingReader;
use rookery_product::bookings::{cancel, read, reschedule};

use rookery_world::verbs::bookings::{a_type, at, bookable, books};
use rookery_world::{World, story};

/// Subjects of what left to an address, oldest first.
fn got(world: &World, address: &str) -> Vec<String> {
    let letters = world.outbox.letters();
    letters.into_iter().filter(|letter| letter.to == address).map(|letter| letter.subject).collect()
}

const ADA: &str = "ada@customer.example";
const OLGA: &str = "olga@rookery.example";

/// proves: APP-9
#[tokio::test]
async fn visitor_and_host_get_an_invitation_of_their_own_and_the_visitor_one_reminder() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        books(&world.app, &bookable, ADA, at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        world.work().await;
        world.work().await;
        assert_eq!(
            got(world, ADA),
            ["Booked: Call with Olga Owner, Thursday, 9 January, 15:00"],
            "in Kolkata"
        );
        assert_eq!(got(world, OLGA), ["Booked: Call with Ada, Thu 9 Jan, 10:30"], "in Berlin");
        let (letters, mails) = (world.outbox.letters(), world.outbox.mails());
        for (letter, mail) in letters.iter().zip(&mails) {
            let raw = String::from_utf8(mail.raw.clone()).unwrap();
            assert!(raw.contains("text/calendar") && raw.contains("method=\"REQUEST\""), "{raw}");
            assert!(
                raw.contains("application/ics") && raw.contains("Auto-Submitted: auto-generated"),
                "{raw}"
            );
            assert_eq!(letter.from, "help@acme.example");
            assert!(!letter.text.contains("The lease.") || letter.to == OLGA, "{}", letter.text);
        }
        let of_ada = letters.iter().find(|letter| letter.to == ADA).unwrap();
        assert!(of_ada.text.contains("https://rookery.example/booking/wsp_"), "{}", of_ada.text);
        world.wait(TimeDelta::days(2) + TimeDelta::hours(1));
        world.work().await;
        world.work().await;
        let all = got(world, ADA);
        assert_eq!(all.len(), 2);
        assert!(all[1].starts_with("Reminder: Call with Olga Owner"), "{all:?}");
    })
    .await;
}

#[tokio::test]
async fn what_a_newer_change_makes_wrong_never_leaves() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        let booked =
            books(&world.app, &bookable, ADA, at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let row = read::find(&mut tx, acme.id, booked.id).await.unwrap().unwrap();
        let moved =
            reschedule::move_to(&mut tx, &bookable, &row, at("2031-01-10T09:30:00Z")).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        assert_eq!(
            got(world, ADA),
            ["Moved: Call with Olga Owner, Friday, 10 January, 15:00"],
            "only the newer"
        );
        let other =
            books(&world.app, &bookable, ADA, at("2031-01-13T09:30:00Z"), None).await.unwrap().unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        cancel::by_host(&mut tx, &By::System, other.id, None).await.unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        assert_eq!(got(world, ADA).len(), 1, "what nobody was told of is cancelled without a word");
        let mut tx = world.app.begin(acme.id).await.unwrap();
        cancel::by_host(&mut tx, &By::System, moved.id, Some("I am ill.")).await.unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        let last = world.outbox.letters().into_iter().rfind(|letter| letter.to == ADA).unwrap();
        assert!(last.subject.starts_with("Cancelled:") && last.text.contains("I am ill."), "{last:?}");
        let raw = world.outbox.mails().pop().map(|mail| String::from_utf8(mail.raw).unwrap()).unwrap();
        assert!(raw.contains("METHOD:CANCEL") && raw.contains("SEQUENCE:2"), "{raw}");
        world.wait(TimeDelta::days(5));
        world.work().await;
        assert!(got(world, ADA).iter().all(|subject| !subject.starts_with("Reminder")), "nothing is ahead");
    })
    .await;
}

#[tokio::test]
async fn a_mail_that_is_tried_again_is_the_same_mail_and_a_lost_node_sends_nothing_twice() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        books(&world.app, &bookable, ADA, at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        world.outbox.answers(Handover::Later);
        world.work().await;
        world.wait(TimeDelta::minutes(2));
        world.outbox.answers(Handover::Accepted);
        world.work().await;
        let of_ada: Vec<_> = world.outbox.mails().into_iter().filter(|mail| mail.to == ADA).collect();
        assert_eq!(of_ada.len(), 2);
        assert_eq!(of_ada[0], of_ada[1], "byte for byte");
        // A node that claimed and died: its lease ends, another one sends.
        let other = books(&world.app, &bookable, ADA, at("2031-01-13T09:30:00Z"), None).await.unwrap().unwrap();
        world.sql(&format!("update booking_mail set claim = 1, due_at = '{}' where booking_id = {} and kind = 'invitation'",
            world.now() + TimeDelta::minutes(3), other.id.0)).await;
        world.work().await;
        assert_eq!(got(world, ADA).len(), 2, "somebody has it");
        world.wait(TimeDelta::minutes(4));
        world.work().await;
        world.work().await;
        assert_eq!(got(world, ADA).len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_host_hears_that_their_visitor_cannot_be_written_to() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        books(&world.app, &bookable, ADA, at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        world.outbox.answers(Handover::Refused(Refusal::NoSuchAddress));
        world.work().await;
        world.outbox.answers(Handover::Accepted);
        world.work().await;
        let told = got(world, OLGA);
        assert!(
            told.iter().any(|subject| subject.starts_with("Your visitor could not be written to")),
            "{told:?}"
        );
        assert_eq!(world.scalar("select count(*) from bookings where state = 'booked'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn hosts_take_turns_and_a_move_to_a_colleague_tells_both() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tomas = acme.person("Tomas Herrera", Role::Member).await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner, tomas]).await).await;
        let mut hosts = Vec::new();
        for n in 0..4 {
            world.wait(TimeDelta::minutes(1));
            let day = at("2031-01-09T09:00:00Z") + TimeDelta::minutes(30 * n);
            let booked = books(&world.app, &bookable, &format!("v{n}@customer.example"), day, None)
                .await
                .unwrap()
                .unwrap();
            let row = read::find(&mut world.app.connection().await.unwrap(), acme.id, booked.id)
                .await
                .unwrap()
                .unwrap();
            hosts.push(row.host);
        }
        assert_eq!(
            (hosts[0] != hosts[1], hosts[0] == hosts[2], hosts[1] == hosts[3]),
            (true, true, true),
            "{hosts:?}"
        );
        // At ten the second host is booked; the first visitor's own host is taken at half past nine by the third.
        world.work().await;
        let first = read::upcoming(
            &mut world.app.connection().await.unwrap(),
            acme.id,
            world.now(),
            None,
            BookingReader { audiences: &[0], person: None },
            None,
            10,
        )
        .await
        .unwrap();
        assert_eq!(first.len(), 4);
        let (mine, at_ten) = (&first[0], &first[2]);
        assert_eq!(mine.host, at_ten.host);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let moved = reschedule::move_to(&mut tx, &bookable, mine, at_ten.starts_at).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        let row =
            read::find(&mut world.app.connection().await.unwrap(), acme.id, moved.id).await.unwrap().unwrap();
        assert_ne!(row.host, mine.host);
        let told = got(world, &mine.host_email);
        assert!(told.last().unwrap().starts_with("Given to a colleague: Call"), "{told:?}");
        assert!(got(world, &row.host_email).last().unwrap().starts_with("Moved: Call with Ada"));
    })
    .await;
}

#[tokio::test]
async fn a_host_hears_of_a_visitor_whose_mail_came_back_or_is_not_written_to_any_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        books(&world.app, &bookable, ADA, at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        world.work().await;
        let sent = world.outbox.mails().into_iter().find(|mail| mail.to == ADA).unwrap();
        let notices = |world: &World| {
            got(world, OLGA).iter().filter(|subject| subject.starts_with("Your visitor could not")).count()
        };
        assert_eq!(notices(world), 0);
        let bounce = |who: &str| {
            format!(
                "From: <MAILER-DAEMON@mx.example>\nTo: <{}>\nSubject: Undelivered Mail\nMessage-ID: <{who}>\n\
                 MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n\
                 --b\nContent-Type: text/plain\n\nIt did not arrive.\n--b\nContent-Type: message/delivery-status\n\n\
                 Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; {who}\nAction: failed\nStatus: 5.1.1\n--b--\n",
                sent.return_path
            )
        };
        acme.receives_returned(&sent.return_path, &bounce(OLGA)).await;
        world.work().await;
        assert_eq!(notices(world), 0, "that was the host's own");
        acme.receives_returned(&sent.return_path, &bounce(ADA)).await;
        world.work().await;
        assert_eq!(notices(world), 1);
        assert_eq!(world.scalar("select count(*) from suppressed_addresses").await, 1);
        // From now on nothing leaves to her, and the host does not wait in vain.
        books(&world.app, &bookable, ADA, at("2031-01-10T09:30:00Z"), None).await.unwrap().unwrap();
        world.work().await;
        world.work().await;
        assert_eq!(got(world, ADA).len(), 1);
        assert_eq!(notices(world), 2);
    })
    .await;
}
