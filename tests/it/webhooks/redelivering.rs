//! Sending again all that failed: the log is read in steps, and whoever asks twice meanwhile is told that it is under way.

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::due::backoff::Aside;
use rookery_base::ids::{WebhookId, lowest_at};
use rookery_core::workspace::access::By;
use rookery_webhooks::redeliver_failed::{self, RedeliveryRequest, Resending};
use rookery_webhooks::{claim, manage};

use rookery_world::load::buffers::Reader;
use rookery_world::webhooks::deaf;
use rookery_world::{Workspace, story_of_one_role};

/// Of a fortnight: 30,000 lines, of which every tenth failed, and every twentieth was delivered on the next day.
const LINES: i64 = 30_000;
const LOST: i64 = LINES / 20;
/// What one statement may read: the lines of a step, and the index around them.
const BUDGET: i64 = 8_000;

async fn busy(acme: &Workspace<'_>) -> WebhookId {
    let id = deaf(acme).await;
    let (first, step) = (lowest_at(acme.world.now() - TimeDelta::days(15)), 14 * 86_400_000 / LINES);
    let (workspace, day) = (acme.id.0, 86_400_000_i64 << 22);
    acme.world
        .sql(&format!(
            "insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
             select {workspace}, {id}, case when n % 10 = 0 then 'failed' else 'delivered' end, 'turn.changed',
                    {first} + ((n * {step}) << 22), {first} + ((n * {step}) << 22), '[]'
             from generate_series(1::bigint, {LINES}) n;
             insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
             select workspace_id, webhook_id, 'delivered', kind, id + {day}, event_id, '[]' from delivery_log
             where state = 'failed' and ((id - {first}) >> 22) / {step} % 20 = 0;
             analyze delivery_log",
            id = id.0
        ))
        .await;
    id
}

async fn ask(app: &App, acme: &Workspace<'_>, id: WebhookId) -> Resending {
    let again = RedeliveryRequest { since: app.clock.now() - TimeDelta::days(29), skipped: false };
    redeliver_failed::ask(app, acme.id, &By::System, id, again).await.expect("it can be asked for")
}

#[tokio::test]
async fn what_failed_is_sent_again_once_in_steps_however_long_the_log_is() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let id = busy(&acme).await;
        assert_eq!(ask(&world.app, &acme, id).await, Resending::Begun);
        assert_eq!(ask(&world.app, &acme, id).await, Resending::WasUnderWay);
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let work = async |app: &App| {
            redeliver_failed::work_off(app, &app.loops.backoff_of(redeliver_failed::LOOP))
                .await
                .expect("it is worked off");
        };
        let ((), statements) = reader.explain_in(work).await;
        let dearest = statements.iter().max_by_key(|statement| statement.buffers).expect("statements");
        println!("{} statements, {} buffers of {BUDGET} at most", statements.len(), dearest.buffers);
        assert!(dearest.buffers <= BUDGET, "{} buffers: {}", dearest.buffers, dearest.text);
        assert_eq!(world.scalar("select count(*) from deliveries").await, LOST);
        let wrong =
            "select count(*) from deliveries join delivery_log log using (workspace_id, webhook_id, event_id)
                     where log.state = 'delivered'";
        assert_eq!(world.scalar(wrong).await, 0, "nothing that was delivered later");
        assert_eq!(world.scalar("select count(*) from redeliveries").await, 0, "it is done");
        assert_eq!(world.scalar("select count(*) from failed_events").await, 0);
        let lanes = claim::claim(&world.app, 10, &Aside::default()).await.expect("a claim");
        assert!(!lanes.is_empty(), "whoever delivers was woken");
        // What waits in the queue is not queued anew.
        assert_eq!(ask(&world.app, &acme, id).await, Resending::Begun);
        work(&world.app).await;
        assert_eq!(world.scalar("select count(*) from deliveries").await, LOST);
        // A webhook that is stopped meanwhile gets nothing more.
        world.sql("delete from deliveries").await;
        assert_eq!(ask(&world.app, &acme, id).await, Resending::Begun);
        manage::pause(&world.app, acme.id, &By::System, id).await.expect("a pause");
        work(&world.app).await;
        let left = "select (select count(*) from deliveries) + (select count(*) from redeliveries)
                         + (select count(*) from failed_events)";
        assert_eq!(world.scalar(left).await, 0);
        world
            .sql("delete from delivery_log; update webhook_lanes set next_due = null, leased_until = null")
            .await;
    })
    .await;
}
