//! Fairness, small: one webhook with thousands of deliveries that hang, one that always fails, and quiet ones that
//! must not notice. `just bench-webhooks` does it with half a million.

use std::time::{Duration, Instant};

use rookery::worker;

use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::{Mode, story_with};

const NOISY: usize = 2_000;
/// Long enough that a busy machine answers in time.
const ANSWER_SECONDS: u64 = 5;
const QUIET: usize = 20;
const EACH: usize = 10;

/// proves: WH-31
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_webhooks_are_served_while_another_hangs_with_thousands_waiting() {
    let seconds = ANSWER_SECONDS.to_string();
    let settings = [("WEBHOOK_ALLOW", "127.0.0.0/8"), ("WEBHOOK_ANSWER_SECONDS", seconds.as_str())];
    story_with(&settings, async |world| {
        let (hanging, failing, ok) =
            (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        hanging.answers_with(Answering { after: Duration::from_secs(60), ..Answering::with(200) });
        failing.answers(500);
        let noisy = world.workspace("Noisy").await;
        noisy.webhook(&hanging.url, Mode::Live).await;
        noisy.webhook(&failing.url, Mode::Live).await;
        let quiet = world.workspace("Quiet").await;
        for _ in 0..QUIET {
            quiet.webhook(&ok.url, Mode::Live).await;
        }
        for (workspace, count) in [(&noisy, NOISY), (&quiet, EACH)] {
            let first = rookery_base::ids::lowest_at(world.now());
            world
                .sql(&format!(
                    "insert into events
                     select {0}, {first} + n, 'turn.changed', true, 0, null, '{1}', '{{\"n\":' || n || '}}'
                     from generate_series(1, {count}) n;
                     insert into unfanned_events
                     select {0}, {first} + n, 'turn.changed', true, 0 from generate_series(1, {count}) n",
                    workspace.id.0,
                    world.now().to_rfc3339(),
                ))
                .await;
        }
        let started = Instant::now();
        let work = tokio::spawn(worker::run(world.app.clone()));
        let arrived = async |count: usize| {
            while ok.count() < count {
                assert!(started.elapsed() < Duration::from_secs(40), "{} of {count} arrived", ok.count());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        arrived(QUIET * EACH).await;
        // What happens now is told within two seconds, to every quiet webhook.
        let support = quiet.mailbox("help@quiet.example", "Support").await;
        for number in 1..=3 {
            quiet.mail(support, &format!("a{number}@customer.example"), "Hi", "Hello").await;
            let committed = Instant::now();
            arrived(QUIET * (EACH + number)).await;
            let took = committed.elapsed();
            assert!(took < Duration::from_secs(2), "{took:?} from commit to the last first try");
        }
        let most = 10 * (1 + (started.elapsed().as_secs() / ANSWER_SECONDS) as usize);
        assert!(hanging.count() <= most, "ten at once, each until it is given up: {}", hanging.count());
        // The other loops of the worker have their work done too before it is told to stop.
        let left = "select (select count(*) from unindexed_messages) + (select count(*) from count_changes)";
        while sqlx::query_scalar::<_, i64>(left).fetch_one(&world.app.pool).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        world.app.stop.tell();
        work.await.unwrap().unwrap();
        // The story's last look works off all that is due; thousands that hang would keep it for minutes.
        world.sql("delete from deliveries; update webhook_lanes set next_due = null").await;
    })
    .await;
}
