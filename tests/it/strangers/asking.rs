//! The database: what strangers make the service ask of it takes one connection at a time, so the others are free
//! for those with a key.

use std::time::{Duration, Instant};

use futures::future::join_all;

use rookery_world::programs::raw::{LONG, made_up};
use rookery_world::site::{Node, Site};
use rookery_world::{Mode, story};

/// While a table cannot be read, two hundred strangers ask for something in it, and somebody with a key for
/// something else. Gives the codes that strangers got.
async fn asked_behind_a_lock(site: &Site, node: &Node, key: &str, table: &str, path: &str) -> Vec<u16> {
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut tx = pool.begin().await.unwrap();
    let lock = format!("lock table {table} in access exclusive mode");
    sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *tx).await.unwrap();
    let strangers =
        join_all((0..200).map(async |number| site.get(node, path, &made_up(number)).await.status));
    let honest = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let started = Instant::now();
        let status = site.get(node, "/api/v1/me", key).await.status;
        let took = started.elapsed();
        tx.rollback().await.unwrap();
        (status, took)
    };
    let (codes, (status, took)) = futures::join!(strangers, honest);
    assert_eq!(status, 200, "while strangers wait for {path}");
    assert!(took < Duration::from_secs(2), "it waited for strangers: {took:?}");
    pool.close().await;
    codes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_do_not_take_the_connections_to_the_database() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let node = site.serve("one", &[]).await;
    assert_eq!(site.get(&node, "/api/v1/me", &key).await.status, 200);
    for (table, path, code) in
        [("directory.api_keys", "/api/v1/me", 401), ("_sqlx_migrations", "/readyz", 200)]
    {
        let codes = asked_behind_a_lock(&site, &node, &key, table, path).await;
        assert_eq!(codes, vec![code; 200], "{path}");
    }
}

#[tokio::test]
async fn a_key_made_among_thousands_of_made_up_ones_is_served_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let started = Instant::now();
        for round in 0..5 {
            let key = acme.key(&format!("bot {round}"), "read", Mode::Live).await;
            let strangers = join_all((0..200).map(async |number| {
                let made_up = made_up(round * 1000 + number);
                world.ask("GET", "/api/v1/me").bearer_auth(made_up).send().await.unwrap().status().as_u16()
            }));
            let (codes, reply) = futures::join!(strangers, key.get("/me"));
            assert_eq!((codes, reply.status), (vec![401; 200], 200));
        }
        assert!(started.elapsed() < LONG * 2);
    })
    .await;
}
