//! The log of a webhook with 100,000 deliveries over its 30 days: every filter and every page of it costs the same few
//! buffers, and so does the picture of its last day.

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::ids::{DeliveryId, WebhookId, lowest_at};
use rookery_base::store::db::{Handle, Snapshot};
use rookery_core::workspace::access::By;
use rookery_webhooks::health;
use rookery_webhooks::log::{self, LogFilter, LogPlace, Status};
use sqlx::AssertSqlSafe;

use rookery_world::load::buffers::Reader;
use rookery_world::{Workspace, story_of_one_role};

const MANY: i64 = 100_000;
/// The most that a page of the log may cost, whatever it is asked for: a look at every day's end for every state and kind.
const LOG: i64 = 4_000;
const PICTURE: i64 = 60;

/// A webhook with this many deliveries, most of them delivered, a few of each other state.
async fn busy(workspace: &Workspace<'_>, id: i64, many: i64) -> WebhookId {
    let (world, of) = (workspace.world, workspace.id.0);
    let (first, step) = (lowest_at(world.now() - TimeDelta::days(29)), 29 * 86_400_000 / many);
    let sql = format!(
        "insert into webhooks (workspace_id, id, maker_id, livemode, scope, url, secret, created_at)
             values ({of}, {id}, {owner}, true, 'team', 'https://app.example/{id}', 'x', now());
         insert into webhook_lanes (workspace_id, webhook_id) values ({of}, {id});
         insert into delivery_log (workspace_id, webhook_id, state, kind, id, event_id, tries)
         select {of}, {id}, case when n % 50 = 0 then 'failed' when n % 50 = 1 then 'skipped' else 'delivered' end,
                (array['client.replied', 'message.sent', 'turn.changed', 'conversation.assigned'])[1 + n % 4],
                {first} + ((n * {step}) << 22) + {id}, {first} + ((n * {step}) << 22),
                '[{{\"at\": \"2031-01-06T09:00:00.000Z\", \"duration\": 40, \"status\": 200, \"answer\": \"ok\"}}]'
         from generate_series(1::bigint, {many}) n;
         insert into webhook_hours select {of}, {id}, timestamptz '2031-01-06 09:00Z' - n * interval '1 hour', 100, 1
         from generate_series(0, 47) n",
        owner = workspace.owner.0,
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&world.app.pool).await.expect("the log is filled");
    WebhookId(id)
}

#[tokio::test]
async fn a_page_of_a_log_of_100_000_deliveries_costs_what_one_of_a_thousand_does() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        // The days of the log before today, as they would have been made.
        world
            .sql(
                "do $$ begin for n in 2..30 loop
                     execute format('create table delivery_log_b%s partition of delivery_log for values from (%s) to (%s)', n,
                         (extract(epoch from date '2031-01-06' - n)::bigint * 1000 - 1577836800000) << 22,
                         (extract(epoch from date '2031-01-06' - n + 1)::bigint * 1000 - 1577836800000) << 22);
                 end loop; end $$",
            )
            .await;
        let (few, many) = (busy(&acme, 101, 1_000).await, busy(&acme, 102, MANY).await);
        world.sql("vacuum analyze delivery_log").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let middle = LogPlace::Ended(DeliveryId(lowest_at(world.now() - TimeDelta::days(15))));
        type Asks = fn(LogPlace) -> LogFilter;
        let asked: [(&str, Asks); 6] = [
            ("newest", |_| LogFilter::default()),
            ("failed", |_| LogFilter { outcome: Some(Status::Failed), ..LogFilter::default() }),
            ("of a kind", |_| LogFilter { kind: Some("message.sent".into()), ..LogFilter::default() }),
            ("of a kind that never came", |_| LogFilter { kind: Some("scout.held".into()), ..LogFilter::default() }),
            ("in the middle", |middle| LogFilter { before: Some(middle), ..LogFilter::default() }),
            ("failed of a kind in the middle", |middle| LogFilter {
                outcome: Some(Status::Failed),
                kind: Some("turn.changed".into()),
                before: Some(middle),
                ..LogFilter::default()
            }),
        ];
        for (name, filter) in asked {
            let page = async |webhook: WebhookId| {
                let ask = async |app: &App| {
                    let conn = app.connection().await.expect("the connection");
                    let mut instant = Snapshot::begin(conn, app.frame(acme.id)).await.expect("an instant");
                    let filter = LogFilter { most: 10, ..filter(middle) };
                    let read = log::read(&mut instant, &By::System, webhook, &filter).await.expect("a page");
                    instant.finish().await.expect("the end");
                    read.len()
                };
                reader.explain_in(ask).await;
                let (rows, statements) = reader.explain_in(ask).await;
                (rows, statements.iter().map(|statement| statement.buffers).sum::<i64>())
            };
            let (of_few, of_many) = (page(few).await, page(many).await);
            println!("{name}: {of_few:?} and {of_many:?} rows and buffers");
            let rows = if name.contains("never") { 0 } else { 10 };
            assert!(of_many.0 == rows || name.contains("failed"), "{name}: {} rows", of_many.0);
            assert!(of_many.1 > 0 && of_many.1 <= LOG, "{name}: {} buffers of {LOG}", of_many.1);
            assert!(of_many.1 <= 2 * of_few.1 + 200, "{name}: {} and {} buffers", of_few.1, of_many.1);
        }
        let picture = async |app: &App| {
            let mut conn = app.connection().await.expect("the connection");
            health::last_day(&mut conn, acme.id, app.clock.now()).await.expect("a day").len()
        };
        reader.explain_in(picture).await;
        let (days, statements) = reader.explain_in(picture).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("the picture of {days} webhooks: {buffers} buffers");
        assert!(days == 2 && buffers <= PICTURE, "{buffers} buffers of {PICTURE}");
    })
    .await;
}
