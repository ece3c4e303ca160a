//! Money: the worst case is set aside before a call, so the limit holds however many ask at once; owners are told once, and
//! everything falls back to rules.

use futures::future::join_all;
use rookery_assistants::settings::{self, Engine};
use rookery_assistants::spend::{self, NotTaken};
use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::random::Random;
use serde_json::json;

use super::{agrees, desk, owner, told};
use rookery_world::model_server::{Does, ModelServer};
use rookery_world::{World, story, story_with};

/// Another node on the same database and clock.
fn another_node(world: &World) -> App {
    let settings = [
        ("ROOKERY_DATABASE_URL".to_owned(), world.app.config.database_url.0.clone()),
        ("ROOKERY_BLOBS".to_owned(), world.app.config.blobs.to_string()),
        ("ROOKERY_DATABASE_CONNECTIONS".to_owned(), "5".to_owned()),
    ];
    let config = Config::load(None, settings.into_iter()).unwrap();
    App::new(config, world.app.clock.clone(), Random::seeded(8)).unwrap()
}

#[tokio::test]
async fn nodes_that_ask_at_once_never_spend_more_than_the_limit() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        settings::limit(&mut tx, &olga, 1, 1_000).await.unwrap();
        tx.commit().await.unwrap();
        let other = another_node(world);
        let nodes = [&*world.app, &other];
        // 300,000 millionths at a time: three fit into one.
        let taken = join_all((0..20).map(|n| spend::take(nodes[n % 2], acme.id, 300_000))).await;
        let taken: Vec<_> = taken.into_iter().map(|taken| taken.unwrap()).collect();
        assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), 3);
        assert!(taken.iter().all(|taken| !matches!(taken, Err(NotTaken::Calls | NotTaken::Stopped))));
        assert_eq!(world.scalar("select spent from assistant_spend").await, 900_000);
        let one = taken.into_iter().find_map(|taken| taken.ok()).unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        spend::settle(&mut tx, one, 5_000).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(world.scalar("select spent from assistant_spend").await, 605_000);
        assert!(
            spend::take(&other, acme.id, 300_000).await.unwrap().is_ok(),
            "what was put right can be used"
        );
        let notices = "select count(*) from notices where kind = 'assistants-limit'";
        assert_eq!(world.scalar(notices).await, 1, "told once");
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_day_end_and_begin_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        settings::limit(&mut tx, &olga, 0, 2).await.unwrap();
        tx.commit().await.unwrap();
        for _ in 0..2 {
            assert!(
                spend::take(&world.app, acme.id, 0).await.unwrap().is_ok(),
                "what is free needs no money"
            );
        }
        assert_eq!(spend::take(&world.app, acme.id, 0).await.unwrap().unwrap_err(), NotTaken::Calls);
        assert_eq!(world.scalar("select calls::bigint from assistant_calls").await, 2);
        world.wait(chrono::TimeDelta::days(1));
        assert!(spend::take(&world.app, acme.id, 0).await.unwrap().is_ok());
    })
    .await;
}

#[tokio::test]
async fn at_the_limit_the_rules_go_on_alone() {
    let model = ModelServer::start(Does::Answers(
        |_, _| json!({ "topic": "complaint", "urgency": "low", "suspicious": false }),
    ))
    .await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        agrees(&acme, inbox, Engine::Model, Engine::Off).await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        settings::limit(&mut tx, &olga, 0, 100).await.unwrap();
        tx.commit().await.unwrap();
        let text = "Hello, where is my order? The tracking has not moved for a week.";
        let id = acme.mail(inbox, "ada@customer.example", "Order 4411", text).await;
        world.work().await;
        assert_eq!(told(&key, id).await, (json!("order"), json!("normal")));
        assert_eq!(model.questions().len(), 0, "nothing was asked that could not be paid");
        let mut tx = world.app.begin(acme.id).await.unwrap();
        settings::limit(&mut tx, &olga, 1, 100).await.unwrap();
        tx.commit().await.unwrap();
        let id = acme.mail(inbox, "bob@customer.example", "Order 4412", text).await;
        world.work().await;
        assert_eq!(told(&key, id).await.0, json!("complaint"));
        // 500 tokens in at 1 and 20 out at 2 for a million.
        assert_eq!(world.scalar("select spent from assistant_spend").await, 540);
        assert_eq!(world.scalar("select sum(cost)::bigint from assistant_runs").await, 540);
    })
    .await;
}
