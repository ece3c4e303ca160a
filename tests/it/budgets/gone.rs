//! Rows that are gone stay in the index while somebody's snapshot is open, as a backup's is for hours. What claims events and
//! deliveries does not read them. `just bench-outbox` asks the same with five million.

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::due::backoff::Aside;
use rookery_base::ids::{WorkspaceId, lowest_at};
use rookery_base::store::db::Across;
use rookery_core::events::take::{self, TakeLimits};
use rookery_webhooks::{claim, fan_out};
use sqlx::{Connection, PgConnection};

use rookery_world::load::buffers::{Reader, Statement};
use rookery_world::story_of_one_role;
use rookery_world::webhooks::deaf;
use rookery_world::webhooks::outbox::{begin_generation, held_snapshot};

const GONE: i64 = 60_000;
/// Of everything that a pass over one event asks of the outbox.
const BUDGET: i64 = 120;
const CLAIM: i64 = 60;

fn of_the_outbox(statements: &[Statement]) -> i64 {
    let asked = statements.iter().filter(|statement| statement.text.contains("unfanned_events"));
    asked.map(|statement| statement.buffers).sum()
}

#[tokio::test]
async fn an_event_costs_the_same_however_many_were_told_of_since_a_snapshot_began() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        world.work().await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let pass =
            async |app: &App| fan_out::run(app, &app.loops.backoff_of(fan_out::LOOP)).await.expect("a pass");
        // Remembers where it is.
        reader.explain_in(pass).await;
        let snapshot = held_snapshot(world).await;
        let (workspace, first) = (acme.id.0, lowest_at(world.now()));
        world
            .sql(&format!(
                "insert into unfanned_events (workspace_id, event_id, kind, livemode, audience)
                 select {workspace}, {first} + n, 'turn.changed', true, 0 from generate_series(1, {GONE}) n"
            ))
            .await;
        world.sql("delete from unfanned_events").await;
        begin_generation(world).await;
        // What statistics then say leads some plans astray.
        world.sql("vacuum analyze unfanned_events").await;
        reader.explain_in(pass).await;
        acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let ((), statements) = reader.explain_in(pass).await;
        let of_a_pass = of_the_outbox(&statements);
        assert_eq!(world.scalar("select count(*) from unfanned_events").await, 0, "it was taken");
        let from_the_beginning = async |app: &App| {
            let mut conn = app.connection().await.expect("a connection");
            let mut tx = Across::begin(&mut conn).await.expect("a transaction");
            let batch = TakeLimits { from: 0, after: WorkspaceId(i64::MIN), most: 10 };
            take::take(&mut tx, batch, &Aside::default()).await.expect("a look").events.len()
        };
        let (_, statements) = reader.explain_in(from_the_beginning).await;
        let of_all = of_the_outbox(&statements);
        println!("a pass: {of_a_pass} buffers of {BUDGET}; a look from the beginning: {of_all}");
        assert!(of_all > 2 * BUDGET, "they stand in the index: {of_all}");
        assert!(of_a_pass <= BUDGET, "{of_a_pass} buffers");
        snapshot.close().await.expect("the snapshot ends");
    })
    .await;
}

#[tokio::test]
async fn a_claim_of_deliveries_costs_the_same_however_many_were_made_since_a_snapshot_began() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let webhook = deaf(&acme).await;
        let snapshot: PgConnection = held_snapshot(world).await;
        world
            .sql(&format!(
                "insert into deliveries (workspace_id, webhook_id, event_id, kind, due_at, run)
                 select {}, {}, n, 'turn.changed', timestamptz '{}' - interval '1 hour', 0 from generate_series(1, {GONE}) n;
                 update webhook_lanes set next_due = null",
                acme.id.0,
                webhook.0,
                world.now()
            ))
            .await;
        world.sql("delete from deliveries").await;
        // The lane is held and given back once.
        acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        world.work().await;
        acme.mail(support, "anna@customer.example", "Again", "Hello").await;
        fan_out::run(&world.app, &world.app.loops.backoff_of(fan_out::LOOP)).await.expect("a pass");
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let claim = async |app: &App| {
            let lanes = claim::claim(app, 10, &Aside::default()).await.expect("a claim");
            lanes.iter().map(|lane| lane.rows.len()).sum::<usize>()
        };
        let (rows, statements) = reader.explain_in(claim).await;
        let most = statements.iter().map(|statement| statement.buffers).max().unwrap_or_default();
        println!("a claim of {rows}: {most} buffers of {CLAIM} for its dearest statement");
        assert!(rows > 0 && most <= CLAIM, "{rows} rows, {most} buffers");
        snapshot.close().await.expect("the snapshot ends");
        world.sql("delete from deliveries; update webhook_lanes set next_due = null, leased_until = null").await;
    })
    .await;
}
