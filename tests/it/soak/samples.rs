//! What may not grow: memory, how late the worker's loops are, the tables that are queues, and what a message takes. Looked at
//! forty times, printed, and judged after the first tenth.

use std::time::{Duration, Instant};

use rookery::worker::metrics;
use sqlx::{Connection, PgConnection};

use super::SPEED;
use super::doing::Doing;
use rookery_world::World;
use rookery_world::sink::Sink;

const SAMPLES: u32 = 40;
const MB: f64 = 1024.0 * 1024.0;
/// How much the last quarter may have over the second.
const MOST_GROWTH: f64 = 1.15;
/// Tables of work to do are empty again and again; what vacuum has not got to yet is small.
const MOST_QUEUES: f64 = 64.0;
/// How late a loop may be in real seconds.
const LATEST: f64 = 30.0;

/// Tables that hold what is still to do.
const QUEUES: &str = "unindexed_conversations,unindexed_messages,unindexed_notes,unsorted_messages,count_changes,unfanned_events,\
                      webhook_lanes,deliveries,notices";

/// Its rows have the database's time, which is not the clock's here. What it leaves shows in the queues.
const BY_THE_DATABASE: &str = "fold counts";

pub struct Samples<'w> {
    world: &'w World,
    every: Duration,
    taken: Vec<Sample>,
}

struct Sample {
    memory: f64,
    /// The loop that is latest, and by how many real seconds.
    late: (&'static str, f64),
    queues: f64,
    /// Bytes of tables, indexes and toast for each message, without what is kept by day.
    message: f64,
    /// Rows that are dead and not yet cleared away, of all tables.
    dead: f64,
    days: i64,
}

impl<'w> Samples<'w> {
    pub fn begin(world: &'w World, time: Duration) -> Self {
        Self { world, every: time / SAMPLES, taken: Vec::new() }
    }

    pub async fn take(&mut self, doing: &Doing<'_>, sink: &Sink) {
        println!(
            "| day | mails | replies | left | events | pages | memory MB | latest loop, real s | queues MB | bytes a message | dead rows | days kept |"
        );
        println!("|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|");
        let began = Instant::now();
        for number in 1..=SAMPLES {
            let at = began + self.every * number;
            tokio::time::sleep(at.saturating_duration_since(Instant::now())).await;
            doing.clear(sink);
            let sample = self.look().await;
            let day = began.elapsed().as_secs_f64() * f64::from(SPEED) / 86_400.0;
            println!(
                "| {day:.1} | {} | {:.0} | {} {:.1} | {:.1} | {:.0} | {:.0} | {} |",
                doing.told(),
                sample.memory,
                sample.late.0,
                sample.late.1,
                sample.queues,
                sample.message,
                sample.dead,
                sample.days
            );
            self.taken.push(sample);
        }
    }

    async fn look(&self) -> Sample {
        let mut lags = metrics::lags(&self.world.app).await;
        lags.retain(|(name, _)| *name != BY_THE_DATABASE);
        let late = lags.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(("none", 0.0));
        let mut conn = PgConnection::connect(self.world.database.url()).await.expect("the database answers");
        let (queues, kept, messages, dead, days): (i64, i64, i64, f64, i64) = sqlx::query_as(
            "with tables as (
                 select c.oid, c.relname::text as name, pg_total_relation_size(c.oid) as size,
                     exists (select from pg_inherits i where i.inhrelid = c.oid) as by_day
                 from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r')
             select (select coalesce(sum(size), 0)::bigint from tables where name = any(string_to_array($1, ','))),
                 (select coalesce(sum(size), 0)::bigint from tables where not by_day),
                 (select count(*) from messages),
                 (select coalesce(sum(n_dead_tup), 0)::float8 from pg_stat_user_tables),
                 (select count(*) from tables where by_day)",
        )
        .bind(QUEUES)
        .fetch_one(&mut conn)
        .await
        .expect("sizes");
        Sample {
            memory: memory() / MB,
            late: (late.0, late.1 / f64::from(SPEED)),
            queues: queues as f64 / MB,
            message: kept as f64 / messages.max(1) as f64,
            dead,
            days,
        }
    }

    /// The last quarter against the second; what comes before is a service that has just begun.
    pub fn judge(&self) {
        let quarter = self.taken.len() / 4;
        let mean = |of: &[Sample], figure: fn(&Sample) -> f64| {
            of.iter().map(figure).sum::<f64>() / of.len().max(1) as f64
        };
        let (second, last) = (&self.taken[quarter..2 * quarter], &self.taken[3 * quarter..]);
        for (name, figure) in
            [("memory", (|of| of.memory) as fn(&Sample) -> f64), ("bytes a message", |of| of.message)]
        {
            let (before, after) = (mean(second, figure), mean(last, figure));
            println!("soak: {name}: {before:.0} in the second quarter, {after:.0} in the last");
            assert!(after <= before * MOST_GROWTH, "{name} has grown: {before:.0}, then {after:.0}");
        }
        for sample in &self.taken[self.taken.len() / 10..] {
            assert!(sample.late.1 <= LATEST, "{} was {:.1} s late", sample.late.0, sample.late.1);
            assert!(sample.queues <= MOST_QUEUES, "the queues had {:.0} MB", sample.queues);
        }
    }
}

fn memory() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("a system with /proc");
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).expect("pages") * 4096.0
}
