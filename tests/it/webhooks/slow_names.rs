//! Name servers and receivers that take long: the time for both is part of a webhook's lease, whatever the settings
//! say of other leases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::mail::dns::Zone;
use rookery_world::site::Site;
use rookery_world::webhooks::receiver::{Answering, Receiver};

/// One name takes nine seconds; with the other, name and answer together take twice as long as other leases last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_server_that_takes_nine_seconds_does_not_keep_tries_from_counting() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let receiver = Receiver::start().await;
    receiver.answers_with(Answering { after: Duration::from_secs(4), ..Answering::with(500) });
    let rows = [
        ("slow.example", "SLOW 9"),
        ("slow.example", "A 127.0.0.1"),
        ("late.example", "SLOW 2"),
        ("late.example", "A 127.0.0.1"),
    ];
    let zone = Zone::serve(&rows).await;
    let dns = zone.address.to_string();
    let settings = [
        ("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8"),
        ("ROOKERY_DNS", dns.as_str()),
        ("ROOKERY_LEASE_SECONDS", "3"),
        ("ROOKERY_LOG", "warn"),
    ];
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    for name in ["slow.example", "late.example"] {
        let arguments = ["admin", "create-webhook", "--workspace", &workspace, "--maker", &owner];
        let arguments =
            [&arguments[..], &["--url", &receiver.url, "--mode", "test", "--scope", "team"]].concat();
        assert!(site.command(&arguments).envs(settings).status().unwrap().success());
        sqlx::query("update webhooks set url = replace(url, '127.0.0.1', $1)")
            .bind(name)
            .execute(&pool)
            .await
            .unwrap();
    }
    let node = site.serve("node", &settings).await;
    let happens = site.http.post(format!("{}/api/v1/sandbox/inbound", node.address)).bearer_auth(&key);
    let reply = Reply::of(happens.json(&json!({ "from": "ada@customer.test", "text": "Hello" }))).await;
    assert_eq!(reply.status, 201, "{}", reply.text);

    let started = Instant::now();
    let tries = async || {
        let rows: Vec<(String, Value)> = sqlx::query_as(
            "select url, tries -> 0 from deliveries
             join webhooks on webhooks.id = webhook_id where jsonb_array_length(tries) = 1",
        )
        .fetch_all(&pool)
        .await
        .unwrap();
        rows.into_iter().collect::<BTreeMap<_, _>>()
    };
    while tries().await.len() < 2 {
        assert!(started.elapsed() < Duration::from_secs(45), "{:?}: {}", tries().await, node.log());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let tries: Vec<Value> = tries().await.into_values().collect();
    assert_eq!(tries[0]["status"], 500, "{tries:?}");
    assert_eq!(tries[1]["status"], Value::Null, "{tries:?}");
}
