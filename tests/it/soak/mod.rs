//! A long day: everything at once with a clock that runs 300 times as fast, two hours for 25 days. Customers write, people
//! and agents answer, webhooks and the relay fail, days come and go. Nothing grows that should not, and by the ledger
//! nothing is lost and nothing comes twice.

mod doing;
mod ledger;
mod samples;

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rookery::worker;

use self::doing::{Doing, Hook};
use self::samples::Samples;
use rookery_world::mail::post::post_with;
use rookery_world::sink::{Does, Sink, Step};
use rookery_world::{Mode, World};

/// How much faster the clock runs.
const SPEED: u32 = 300;
/// An hour of the clock: what the worker does hourly is done as often as that.
const HOUR: Duration = Duration::from_secs(3600 / SPEED as u64);
/// How long what was begun may take to come to its end, which is a day of retries and more.
const LAST: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes two hours: just soak"]
async fn after_twenty_five_days_of_everything_nothing_has_grown_and_nothing_is_lost() {
    let minutes = std::env::vars().find(|(name, _)| name == "MINUTES");
    let minutes = minutes.map_or(120, |(_, minutes)| minutes.parse().expect("a number of minutes"));
    soaked(Duration::from_secs(minutes * 60), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_an_hour_of_everything_nothing_is_lost() {
    soaked(HOUR, false).await;
}

async fn soaked(time: Duration, judges: bool) {
    let sink = Sink::start().await;
    let relay = sink.relay();
    let hook = Hook::start().await;
    // Leases and the patience with webhooks go by the clock, but the network is as slow as ever.
    let lease = (180 * SPEED).to_string();
    let settings = [
        ("RELAY", relay.as_str()),
        ("LEASE_SECONDS", &lease),
        ("WEBHOOK_ALLOW", "127.0.0.0/8"),
        ("WEBHOOK_ANSWER_SECONDS", "3000"),
        ("DATABASE_CONNECTIONS", "20"),
        ("SEARCH_PATIENCE_MILLISECONDS", "250"),
    ];
    post_with(&settings, &[], async |post| {
        let world = post.world;
        let doing = Doing::begin(post, hook.clone(), Instant::now() + time).await;
        // One that never answers, which is turned off by itself.
        post.acme.webhook("http://127.0.0.1:9/nobody", Mode::Live).await;
        let mut samples = Samples::begin(world, time);
        let working = tokio::spawn(worker::run(world.app.clone()));
        let all = async {
            futures::join!(doing.all(), troubles(&sink, &hook, doing.until), samples.take(&doing, &sink));
            doing.ends(&sink, LAST).await;
        };
        tokio::select! {
            () = all => {}
            () = runs(world) => unreachable!("the clock does not stop"),
            () = keeps_hours(world) => unreachable!("nor does the worker"),
        }
        doing.reckon(&sink).await;
        if judges {
            samples.judge();
        }
        world.app.stop.tell();
        working.await.expect("the worker does not fall").expect("and ends in order");
    })
    .await;
}

async fn runs(world: &World) {
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let passed = since.elapsed();
        since += passed;
        world.wait(TimeDelta::from_std(passed * SPEED).expect("a short time"));
    }
}

/// Whatever loops do by the hour, and the database's day. An hour's work goes from loop to loop, so the next hour begins
/// without waiting for it: one loop with much to do holds up no other, as in the service.
async fn keeps_hours(world: &World) {
    let mut hours = FuturesUnordered::new();
    let mut hour = tokio::time::interval(HOUR);
    loop {
        tokio::select! {
            _ = hour.tick() => hours.push(world.works()),
            Some(worked) = hours.next() => {
                if let Err(error) = worked {
                    println!("soak: an hour's work: {error}");
                }
            }
        }
    }
}

/// Every day the relay and the webhook's receiver are away for two hours each.
async fn troubles(sink: &Sink, hook: &Hook, until: Instant) {
    let mut hour = 0;
    while Instant::now() < until {
        match hour % 24 {
            9 => sink.does(Step::Recipient, Does::Says("451 come back later")),
            11 => sink.behaves(),
            14 => hook.falls(true),
            16 => hook.falls(false),
            _ => {}
        }
        hour += 1;
        tokio::time::sleep(HOUR.min(until.saturating_duration_since(Instant::now()))).await;
    }
    sink.behaves();
    hook.falls(false);
}
