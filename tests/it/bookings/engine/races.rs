//! Many visitors for one time on two nodes, and many who move at once: one booking each, nobody waits in a circle, nobody is
//! told anything but "taken". `just book-race` does it with a thousand, a hundred times.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::Result;
use rookery_base::ids::BookingId;
use rookery_base::random::Random;
use rookery_core::workspace::people::Role;
use rookery_product::bookings::book::BookingRefusal;
use rookery_product::bookings::schedule::Bookable;
use rookery_product::bookings::{read, reschedule};

use rookery_world::verbs::bookings::{a_type, at, bookable, books};
use rookery_world::{World, story};

/// Another node on the same database.
fn node(world: &World, seed: u64) -> Arc<App> {
    let config = Config { database_connections: 20, ..world.app.config.clone() };
    let mut app = App::new(config, world.app.clock.clone(), Random::seeded(seed)).expect("a node");
    app.mailer = world.outbox.clone();
    Arc::new(app)
}

/// How many got the time; everybody else was told that it is taken.
async fn contend(nodes: &[Arc<App>; 2], bookable: &Bookable, starts_at: DateTime<Utc>, many: usize) -> usize {
    let tries = (0..many).map(|n| {
        let (app, bookable) = (nodes[n % 2].clone(), bookable.clone());
        tokio::spawn(async move {
            // Nobody comes twice: an address may have only so many.
            let visitor = format!("v{n}-{}@customer.example", starts_at.timestamp());
            books(&app, &bookable, &visitor, starts_at, None).await
        })
    });
    let mut got = 0;
    for tried in join_all(tries).await {
        match tried.expect("no panic").expect("no error") {
            Ok(_) => got += 1,
            Err(refused) => assert_eq!(refused, BookingRefusal::Taken),
        }
    }
    got
}

async fn overlaps(world: &World) -> i64 {
    world
        .scalar(
            "select count(*) from bookings a join bookings b on a.workspace_id = b.workspace_id
               and a.host_id = b.host_id and a.id < b.id and a.held && b.held
             where a.state = 'booked' and b.state = 'booked'",
        )
        .await
}

async fn one_time_for_many(runs: i64, many: usize) {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner]).await).await;
        let nodes = [node(world, 11), node(world, 12)];
        for run in 0..runs {
            // Tuesday to Friday of eight weeks, eight hours a day.
            let starts_at = at("2031-01-07T08:00:00Z")
                + TimeDelta::weeks(run / 32)
                + TimeDelta::days(run / 8 % 4)
                + TimeDelta::hours(run % 8);
            assert_eq!(contend(&nodes, &bookable, starts_at, many).await, 1, "run {run}");
        }
        assert_eq!(world.scalar("select count(*) from bookings").await, runs);
        assert_eq!(world.events("booking.created").await.len() as i64, runs);
        println!("{runs} runs with {many} visitors on two nodes: {runs} bookings");
    })
    .await;
}

/// True when it has another time now.
async fn moves_to(app: &App, bookable: &Bookable, series: BookingId, to: DateTime<Utc>) -> Result<bool> {
    let mut tx = app.begin(bookable.workspace).await?;
    let booking = read::newest(&mut tx, bookable.workspace, series).await?.expect("it is there");
    let moved = reschedule::move_to(&mut tx, bookable, &booking, to).await?;
    if moved.is_ok() {
        tx.commit().await?;
    }
    Ok(moved.is_ok())
}

/// Each moves to where somebody else is, or was.
async fn moves(rounds: usize, many: usize) {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let tomas = acme.person("Tomas Herrera", Role::Member).await;
        let bookable = bookable(&world.app, acme.id, a_type(&acme, &[acme.owner, tomas]).await).await;
        let nodes = [node(world, 11), node(world, 12)];
        let times: Vec<DateTime<Utc>> = (0..20)
            .map(|n| at("2031-01-07T08:00:00Z") + TimeDelta::days(n / 10) + TimeDelta::minutes(30 * (n % 10)))
            .collect();
        let mut all = Vec::new();
        for (n, starts_at) in times.iter().take(14).enumerate() {
            let booked =
                books(&world.app, &bookable, &format!("v{n}@customer.example"), *starts_at, None).await;
            all.push(booked.unwrap().expect("it is free").series);
        }
        let (mut moved, mut taken) = (0, 0);
        for round in 0..rounds {
            let tries = (0..many).map(|n| {
                let (app, bookable) = (nodes[n % 2].clone(), bookable.clone());
                let (series, to) = (all[(n * 7 + round) % all.len()], times[(n * 3 + round) % times.len()]);
                tokio::spawn(async move { moves_to(&app, &bookable, series, to).await })
            });
            for tried in join_all(tries).await {
                if tried.expect("no panic").expect("no deadlock and no other error") {
                    moved += 1;
                } else {
                    taken += 1;
                }
            }
        }
        assert_eq!(overlaps(world).await, 0);
        let booked = world.scalar("select count(*) from bookings where state = 'booked'").await;
        assert_eq!(booked, all.len() as i64, "nobody has none, nobody has two");
        assert!(moved > 0 && taken > 0, "{moved} moved, {taken} did not");
        println!("{rounds} times {many} moves at once: {moved} moved, {taken} were told no, no overlap");
    })
    .await;
}

/// proves: APP-9
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_visitors_for_one_time_on_two_nodes_one_gets_it() {
    one_time_for_many(3, 60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a hundred times a thousand visitors take minutes: just book-race"]
async fn of_a_thousand_visitors_for_one_time_one_gets_it_a_hundred_times() {
    one_time_for_many(100, 1000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn visitors_who_move_at_once_never_overlap_and_never_wait_in_a_circle() {
    moves(1, 60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "five hundred at once: just book-race"]
async fn five_hundred_moves_at_once_never_overlap() {
    moves(3, 500).await;
}
