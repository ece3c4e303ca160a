//! The outbox is read from a remembered mark on: nothing that is committed late, comes from elsewhere or was left stands before
//! it for good. And five million notes that are gone, under a held snapshot: how long an event takes.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::due::mark::BEGINNING;
use rookery_base::ids::lowest_at;
use rookery_core::events::outbox;
use rookery_webhooks::fan_out;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::webhooks::LOCAL;
use rookery_world::webhooks::outbox::{NEXT_GENERATION, begin_generation, held_snapshot};
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, World, story, story_with};

async fn pass(app: &App) {
    fan_out::run(app, &app.loops.backoff_of(fan_out::LOOP)).await.expect("a pass");
}

async fn whole(app: &App) {
    fan_out::run_whole(app, &app.loops.backoff_of(fan_out::LOOP)).await.expect("a look at the whole");
}

async fn noted(world: &World) -> i64 {
    world.scalar("select count(*) from unfanned_events").await
}

/// A note as another transaction would write it, now or in an earlier generation.
fn note(workspace: i64, number: i64, generation: &str) -> String {
    format!(
        "insert into unfanned_events (workspace_id, event_id, kind, livemode, audience, generation)
         values ({workspace}, {number}, 'turn.changed', true, 0, {generation})"
    )
}

#[tokio::test]
async fn a_note_whose_transaction_ends_long_after_those_that_began_later_is_taken() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        world.work().await;
        pass(&world.app).await;
        let first = lowest_at(world.now());
        let mut late = PgConnection::connect(world.database.url()).await.unwrap();
        let begin = format!("begin; {}", note(acme.id.0, first, "default"));
        sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut late).await.unwrap();
        for number in 1..4 {
            let mut other = PgConnection::connect(world.database.url()).await.unwrap();
            sqlx::raw_sql(NEXT_GENERATION).execute(&mut other).await.unwrap();
            let later = note(acme.id.0, first + number, "default");
            sqlx::raw_sql(AssertSqlSafe(later)).execute(&mut other).await.unwrap();
            pass(&world.app).await;
            assert_eq!(noted(world).await, 0);
        }
        sqlx::raw_sql("commit").execute(&mut late).await.unwrap();
        assert_eq!(noted(world).await, 1);
        pass(&world.app).await;
        assert_eq!(noted(world).await, 0, "the mark waited for it");
    })
    .await;
}

#[tokio::test]
async fn what_stands_before_the_mark_is_found_by_a_look_at_the_whole() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        begin_generation(world).await;
        world.work().await;
        pass(&world.app).await;
        assert!(world.app.outbox.place() > BEGINNING, "a place is remembered");
        // As after a restore from a database whose transactions are counted otherwise.
        world.sql(&note(acme.id.0, lowest_at(world.now()), "0")).await;
        pass(&world.app).await;
        whole(&world.app).await;
        assert_eq!(noted(world).await, 1, "nobody looks before the mark in the same hour");
        world.wait(TimeDelta::hours(1));
        whole(&world.app).await;
        assert_eq!(noted(world).await, 0);
        // After an outage, and in a node that has just started, at once.
        world.sql(&note(acme.id.0, lowest_at(world.now()), "0")).await;
        world.app.outbox.forget();
        whole(&world.app).await;
        assert_eq!(noted(world).await, 0);
        // A database whose transactions are counted from an earlier number.
        world.app.outbox.set(i64::MAX / 2);
        pass(&world.app).await;
        assert_eq!(world.app.outbox.place(), BEGINNING, "it begins anew");
    })
    .await;
}

#[tokio::test]
async fn notes_that_came_with_a_workspace_count_from_when_it_opens() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        world.work().await;
        world.sql("update workspaces set fenced_at = now()").await;
        world.sql(&note(acme.id.0, lowest_at(world.now()), "0")).await;
        world.sql(NEXT_GENERATION).await;
        pass(&world.app).await;
        pass(&world.app).await;
        assert_eq!(noted(world).await, 1);
        let opens = "update workspaces set fenced_at = null";
        world.sql(&format!("{}; {opens}", outbox::written_anew(acme.id))).await;
        pass(&world.app).await;
        assert_eq!(noted(world).await, 0);
    })
    .await;
}

/// How long an event takes to its webhook, and where a node that starts now finds it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: just bench-outbox"]
async fn five_million_notes_that_are_gone_do_not_slow_an_event_down() {
    #[expect(clippy::disallowed_methods, reason = "how many is the operator's choice")]
    let many: i64 = std::env::var("NOTES").map_or(5_000_000, |many| many.parse().expect("a number"));
    story_with(LOCAL, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let receiver = Receiver::start().await;
        acme.webhook(&receiver.url, Mode::Live).await;
        world.work().await;
        receiver.take();
        let work = tokio::spawn(rookery::worker::run(world.app.clone()));
        let told = async |name: &str| {
            let mut took = Vec::new();
            for number in 0..8 {
                acme.mail(support, &format!("{name}{number}@customer.example"), "Hi", "Hello").await;
                let committed = Instant::now();
                while receiver.count() == 0 {
                    assert!(committed.elapsed() < Duration::from_secs(120), "the event does not come");
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                took.push(committed.elapsed());
                receiver.take();
            }
            took.sort();
            println!("{name}: an event takes {:.0?} in the middle, {:.0?} at most", took[4], took[7]);
            took[7]
        };
        told("before").await;
        let snapshot = held_snapshot(world).await;
        let (workspace, first, began) = (acme.id.0, lowest_at(world.now()) - (1 << 40), Instant::now());
        let mut conn = PgConnection::connect(world.database.url()).await.unwrap();
        for low in (0..many).step_by(100_000) {
            let come_and_gone = format!(
                "insert into unfanned_events (workspace_id, event_id, kind, livemode, audience)
                     select {workspace} - 1, {first} + n, 'turn.changed', true, 0
                     from generate_series({low} + 1, {low} + 100000) n;
                 delete from unfanned_events where workspace_id = {workspace} - 1"
            );
            sqlx::raw_sql(AssertSqlSafe(come_and_gone)).execute(&mut conn).await.unwrap();
            sqlx::raw_sql(NEXT_GENERATION).execute(&mut conn).await.unwrap();
        }
        println!("{many} notes came and went in {:.0?}, a snapshot is open", began.elapsed());
        let held = told("under the snapshot").await;
        // The same node as if it had just started.
        world.app.outbox.forget();
        let started = told("after a start").await;
        let look = Instant::now();
        world.app.outbox.forget();
        whole(&world.app).await;
        println!("a look at the whole takes {:.1?}, and nobody waits for it", look.elapsed());
        snapshot.close().await.unwrap();
        let left = "select (select count(*) from unindexed_messages) + (select count(*) from count_changes)
                         + (select count(*) from unsorted_messages) + (select count(*) from deliveries)
                         + (select count(*) from webhook_lanes where leased_until is not null)";
        while world.scalar(left).await > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        world.app.stop.tell();
        work.await.unwrap().unwrap();
        assert!(held < Duration::from_secs(2) && started < Duration::from_secs(2), "{held:?}, {started:?}");
    })
    .await;
}
