//! The database's clock steps back, as it can when another server takes over.

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::ids::{Id, MessageId};
use rookery_base::random::Random;

use rookery_world::story;

#[tokio::test]
async fn a_nodes_time_goes_on_when_the_databases_clock_steps_back() {
    story(async |world| {
        // The database's clock, as far as the service can see, with a step in it.
        world
            .sql(
                "create table clock_step (by interval);
                 insert into clock_step values ('0');
                 grant select on clock_step to rookery_service;
                 create function public.clock_timestamp() returns timestamptz language sql volatile as
                     'select pg_catalog.clock_timestamp() + by from public.clock_step';
                 alter role rookery_service in database current set search_path = public, pg_catalog"
                    .replace("database current", &format!("database {}", world.database.name()))
                    .as_str(),
            )
            .await;
        let node = || App::new(world.app.config.clone(), Clock::system(), Random::seeded(9)).expect("an app");
        let app = node();
        app.follow_the_databases_clock().await.unwrap();
        let before = app.clock.now();
        let id = MessageId::mint(before, &app.random);

        world.sql("update clock_step set by = '-3 hours'").await;
        app.follow_the_databases_clock().await.unwrap();
        let after = app.clock.now();
        assert!(after >= before, "{before}, then {after}");
        assert!(MessageId::mint(after, &app.random) > id);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let later = app.clock.now();
        assert!(later > after, "it does not stand still: {after}, then {later}");
        app.follow_the_databases_clock().await.unwrap();
        assert!(app.clock.now() >= later);

        let fresh = node();
        fresh.follow_the_databases_clock().await.unwrap();
        assert!(
            fresh.clock.now() < before - TimeDelta::hours(2),
            "a node that starts now has the database's time"
        );
    })
    .await;
}
