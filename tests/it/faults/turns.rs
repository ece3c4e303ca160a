//! What is due is taken by turns: however much of one workspace waits, and however much longer, the next batch has some of every
//! other; and sign-in mail comes before all else.

use chrono::TimeDelta;
use rookery_base::ids::WorkspaceId;
use rookery_core::conversations::messages::sending;
use rookery_core::workspace::notices;
use rookery_core::workspace::people::Role;
use rookery_product::bookings::mails;

use rookery_world::verbs::bookings::{a_type, at, bookable, books};
use rookery_world::{World, story};

const LEASE: TimeDelta = TimeDelta::minutes(3);

/// How many of what was taken belong to each.
fn shares(taken: &[WorkspaceId], of: [WorkspaceId; 2]) -> [usize; 2] {
    of.map(|workspace| taken.iter().filter(|own| **own == workspace).count())
}

/// Notices that have waited since before everybody else's.
async fn waiting_notices(world: &World, workspace: WorkspaceId, kind: &str, many: usize) {
    let first = rookery_base::ids::lowest_at(world.now());
    let due = world.now() - TimeDelta::minutes(10);
    world
        .sql(&format!(
            "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
             select {0}, {first} + n, 'v' || n || '@x.example', '{kind}', 'Your code', 'None', '{due}', '{due}'
             from generate_series(1, {many}) n",
            workspace.0
        ))
        .await;
}

#[tokio::test]
async fn a_thousand_codes_of_one_workspace_delay_no_sign_in_mail_and_no_notice_of_another() {
    story(async |world| {
        let (noisy, quiet) = (world.workspace("Noisy").await, world.workspace("Quiet").await);
        waiting_notices(world, noisy.id, "one_time_code", 1200).await;
        waiting_notices(world, quiet.id, "export", 2).await;
        quiet.person("Mia", Role::Member).await;
        world.browser_with("").post("/sign-in", &[("email", "mia@rookery.example")]).await.page();
        let (now, mut conn) = (world.now(), world.app.connection().await.unwrap());
        let first = notices::claim(&mut conn, now, now + LEASE).await.unwrap();
        assert_eq!((first[0].workspace, first[0].kind.as_str()), (quiet.id, "sign_in"), "at once");
        let taken: Vec<_> = first.iter().map(|notice| notice.workspace).collect();
        assert_eq!(shares(&taken, [noisy.id, quiet.id]), [4, 3], "and the others take turns");
        // Whoever is alone has the whole batch.
        let second = notices::claim(&mut conn, now, now + LEASE).await.unwrap();
        assert_eq!(second.len(), 8);
        // A flood of sign-in mail leaves room for another workspace's, and for other notices.
        world.wait(TimeDelta::minutes(16));
        waiting_notices(world, noisy.id, "sign_in", 100).await;
        world.browser_with("").post("/sign-in", &[("email", "mia@rookery.example")]).await.page();
        let third = notices::claim(&mut conn, world.now(), world.now() + LEASE).await.unwrap();
        let of = |kind: &str| third.iter().filter(|notice| notice.kind == kind).count();
        assert!(third.iter().any(|notice| notice.workspace == quiet.id && notice.kind == "sign_in"));
        assert!(of("sign_in") >= 5 && of("one_time_code") + of("export") > 0, "{}", third.len());
        world.sql("delete from notices").await;
    })
    .await;
}

#[tokio::test]
async fn a_thousand_messages_of_one_workspace_leave_half_of_the_next_batch_to_another() {
    story(async |world| {
        let (noisy, quiet) = (world.workspace("Noisy").await, world.workspace("Quiet").await);
        let now = world.now();
        for (workspace, name, many, late) in [(&noisy, "noisy", 1000, 10), (&quiet, "quiet", 3, 1)] {
            let inbox = workspace.mailbox(&format!("help@{name}.example"), "Help").await;
            let conversation = workspace.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
            let due = now - TimeDelta::minutes(late);
            world
                .sql(&format!(
                    "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status,
                         sends_at, due_at, from_email, text, rfc_message_id)
                     select {}, {}, n, {}, 100 + n, '{now}', 'outbound', 'scheduled', '{due}', '{due}',
                         'help@{name}.example', 'Hello', n || '@{name}.example' from generate_series(1, {many}) n",
                    workspace.id.0, conversation.0, inbox.0
                ))
                .await;
        }
        let mut conn = world.app.connection().await.unwrap();
        let taken = sending::claim(&mut conn, false, now, now + LEASE).await.unwrap();
        let taken: Vec<_> = taken.iter().map(|message| message.letter.workspace).collect();
        assert_eq!(shares(&taken, [noisy.id, quiet.id]), [50, 3]);
        let taken = sending::claim(&mut conn, false, now, now + LEASE).await.unwrap();
        assert_eq!(taken.len(), 100, "whoever is alone has the whole batch");
        world.sql("delete from messages where direction = 'outbound'").await;
    })
    .await;
}

#[tokio::test]
async fn booking_mail_of_one_workspace_leaves_room_for_that_of_another() {
    story(async |world| {
        let (noisy, quiet) = (world.workspace("Noisy").await, world.workspace("Quiet").await);
        let id = a_type(&quiet, &[quiet.owner]).await;
        let bookable = bookable(&world.app, quiet.id, id).await;
        // The same rows in the other workspace, and many of them.
        let inbox = noisy.mailbox("help@noisy.example", "Help").await;
        let (workspace, host, now) = (noisy.id.0, noisy.owner.0, world.now());
        world
            .sql(&format!(
                "insert into booking_types (workspace_id, id, mailbox_id, slug, name, place, minutes, step, questions, created_at)
                 values ({workspace}, 1, {}, 'call', 'Call', '', 30, 30, '[]', '{now}');
                 insert into booking_hosts (workspace_id, person_id, time_zone) values ({workspace}, {host}, 'UTC');
                 insert into bookings (workspace_id, id, type_id, host_id, series_id, starts_at, ends_at, held, name, email,
                     answers, time_zone, created_at)
                 select {workspace}, n, 1, {host}, n, t, t + interval '30 minutes',
                     tstzrange(t, t + interval '30 minutes'), 'V', 'v' || n || '@x.example', '[]', 'UTC', '{now}'
                 from generate_series(1, 200) n, lateral (select '{now}'::timestamptz + n * interval '1 hour' as t) time;
                 insert into booking_mail (workspace_id, booking_id, recipient, kind, due_at)
                 select {workspace}, n, 'visitor', 'invitation', '{now}'::timestamptz - interval '10 minutes'
                 from generate_series(1, 200) n",
                inbox.0
            ))
            .await;
        books(&world.app, &bookable, "ada@x.example", at("2031-01-09T09:30:00Z"), None).await.unwrap().unwrap();
        let mut conn = world.app.connection().await.unwrap();
        let taken = mails::claim(&mut conn, world.now(), world.now() + LEASE).await.unwrap();
        let taken: Vec<_> = taken.iter().map(|mail| mail.workspace).collect();
        assert_eq!(shares(&taken, [noisy.id, quiet.id]), [10, 2]);
    })
    .await;
}
