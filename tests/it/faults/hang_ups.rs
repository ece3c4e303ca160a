//! Clients that hang up in the middle, beside a workspace that lets nobody in although it has work due: no
//! connection goes back to the pool inside a transaction, and none serves what an earlier borrower began. What a
//! client asked for is done although it is gone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::join_all;
use rookery::routes;
use rookery::worker;
use rookery_base::shutdown::Stop;
use rookery_core::workspace::keys;
use rookery_http::connections::Connections;
use rookery_http::serve;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use rookery_world::site::until;
use rookery_world::{Mode, World, story, story_with};

const HANG_UPS: usize = 2_000;
const AT_ONCE: usize = 16;
const CONNECTIONS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_hang_ups_beside_a_fenced_workspace_leave_no_transaction_behind() {
    let settings = [("RATE_LIMIT_REQUESTS", "10000000"), ("DATABASE_CONNECTIONS", "5")];
    story_with(&settings, async |world| {
        let (acme, fenced) = (world.workspace("Acme").await, world.workspace("Fenced").await);
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let revoked = acme.key("old", "read", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Where is my parcel?" })).await;
        let other = fenced.key("bot", "read,write,draft,send", Mode::Test).await;
        let due = other.simulate(json!({ "from": "ben@customer.test", "text": "Hello" })).await;
        other.sends(&due, "Hello Ben").await;
        world.wait(TimeDelta::minutes(1));
        fence(world, "fenced_at = now()").await;

        let app = world.app.clone();
        let working = tokio::spawn(worker::run(app));
        join_all((0..4 * CONNECTIONS).map(|_| key.get("/me"))).await;
        let before = backends(world).await;
        for round in 0..HANG_UPS / AT_ONCE {
            let cut = (0..AT_ONCE).map(|number| {
                let request = request(&key.text, &id, round * AT_ONCE + number);
                hang_up(world, request, (round * 7 + number * 13) % 23)
            });
            join_all(cut).await;
            if round == HANG_UPS / AT_ONCE / 2 {
                acme.revoke(&revoked).await;
            }
        }
        let after = backends(world).await;
        assert!(before.is_subset(&after), "no connection had to be closed: {before:?}, {after:?}");
        // The loops are cut off too, wherever they are.
        working.abort();

        let mut open = vec![(0, String::new())];
        for _ in 0..100 {
            open = sqlx::query_as(
                "select pid, state from pg_stat_activity
                 where datname = current_database() and application_name = 'rookery' and pid <> pg_backend_pid()
                   and state <> 'idle'",
            )
            .fetch_all(&world.app.pool)
            .await
            .expect("activity can be read");
            if open.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(open, [], "every connection is idle and outside a transaction");
        // All of them at once, so that each is asked.
        let mut all = join_all((0..CONNECTIONS).map(|_| world.app.connection())).await;
        for conn in &mut all {
            let conn = conn.as_mut().expect("a connection");
            for (key, opens) in [(&revoked, false), (&key, true)] {
                let actor = keys::authenticate(conn, acme.id, keys::hash(&key.text)).await.unwrap();
                assert_eq!(actor.is_some(), opens, "a revoked key is refused, and one that stands is not");
            }
            let mut transaction = async || {
                let id = sqlx::query_scalar::<_, String>("select pg_current_xact_id()::text");
                id.fetch_one(&mut **conn).await.unwrap()
            };
            assert_ne!(transaction().await, transaction().await, "it is outside a transaction");
        }
        drop(all);
        let asked = join_all((0..4 * CONNECTIONS).map(|_| revoked.get("/me"))).await;
        assert!(asked.iter().all(|reply| reply.status == 401), "a revoked key is refused");
        let asked = join_all((0..4 * CONNECTIONS).map(|_| key.get("/me"))).await;
        assert!(asked.iter().all(|reply| reply.status == 200), "a key that stands is served");
        fence(world, "fenced_at = null").await;
        // What could not be done there was put off.
        world.wait(TimeDelta::hours(1));
    })
    .await;
}

/// The processes of the database behind the pool.
async fn backends(world: &World) -> BTreeSet<i32> {
    let pids: Vec<i32> = sqlx::query_scalar(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'rookery'",
    )
    .fetch_all(&world.app.pool)
    .await
    .expect("activity can be read");
    pids.into_iter().collect()
}

async fn fence(world: &World, change: &str) {
    world.sql(&format!("update workspaces set {change} where name = 'Fenced'")).await;
}

fn request(key: &str, conversation: &str, number: usize) -> String {
    let (method, path, body) = match number % 4 {
        0 => ("GET", format!("/conversations/{conversation}"), String::new()),
        1 => ("GET", "/conversations?q=parcel".to_owned(), String::new()),
        2 => ("POST", format!("/conversations/{conversation}/notes"), json!({ "body": "Hm." }).to_string()),
        _ => {
            let status = if number % 8 == 3 { "closed" } else { "open" };
            ("POST", format!("/conversations/{conversation}/status"), json!({ "status": status }).to_string())
        }
    };
    let length = body.len();
    format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Sends the request and is gone so many milliseconds later, whatever has become of it.
async fn hang_up(world: &World, request: String, milliseconds: usize) {
    let address = world.address.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("the request leaves");
    tokio::time::sleep(Duration::from_millis(milliseconds as u64)).await;
    let _ = stream.set_zero_linger();
    drop(stream);
}

/// The whole service on a socket of its own, so that it can be told to stop.
async fn serves(world: &World) -> (String, Stop, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let (stop, app) = (Stop::not_yet(), &world.app);
    let serving = serve::serve(
        listener,
        routes::router(app.clone()),
        Connections::from_config(&app.config),
        stop.clone(),
    );
    (address, stop, tokio::spawn(serving))
}

#[tokio::test]
async fn a_change_whose_client_hangs_up_is_made_all_the_same_and_the_service_stops_after_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        world.work().await;
        let (address, stop, serving) = serves(world).await;
        // Somebody else is at the conversation, so that the request is caught in the middle.
        let mut held = PgConnection::connect(world.database.url()).await.unwrap();
        sqlx::raw_sql("begin; select from conversations for update").execute(&mut held).await.unwrap();
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(request(&key.text, &id, 2).as_bytes()).await.unwrap();
        let waits = "select exists (select from pg_stat_activity
                                    where datname = current_database() and wait_event_type = 'Lock')";
        until(&world.app.pool, waits).await;
        stream.set_zero_linger().unwrap();
        drop(stream);
        // The door has noticed, and has nobody else to serve.
        tokio::time::sleep(Duration::from_millis(300)).await;
        stop.tell();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!serving.is_finished(), "a request is under way");
        sqlx::raw_sql("commit").execute(&mut held).await.unwrap();
        serving.await.unwrap();
        let notes: i64 =
            sqlx::query_scalar("select count(*) from notes").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(notes, 1);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_for_events_leaves_its_place() {
    let settings = [("HTTP_CONNECTIONS", "3"), ("RATE_LIMIT_REQUESTS", "100000")];
    story_with(&settings, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Test).await;
        let next = key.get("/sandbox/events").await.json()["next"].as_str().unwrap().to_owned();
        let (address, stop, serving) = serves(world).await;
        let wait = format!(
            "GET /api/v1/sandbox/events?after={next}&wait=15 HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {}\r\n\r\n",
            key.text
        );
        let began = Instant::now();
        let mut served = 0;
        // Three have all places; more can come only when those that left are given up.
        while served < 12 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.write_all(wait.as_bytes()).await.unwrap();
            // Whoever finds no place is closed at once; whoever waits hears nothing.
            let heard = tokio::time::timeout(Duration::from_millis(100), stream.read(&mut [0; 64])).await;
            served += usize::from(heard.is_err());
            let _ = stream.set_zero_linger();
            assert!(began.elapsed() < Duration::from_secs(14), "{served} served");
        }
        stop.tell();
        serving.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_client_that_hangs_up_in_the_middle_of_its_body_is_given_up() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        world.work().await;
        let (address, stop, serving) = serves(world).await;
        let whole = request(&key.text, &id, 2);
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(&whole.as_bytes()[..whole.len() - 2]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        stream.set_zero_linger().unwrap();
        drop(stream);
        stop.tell();
        let stopped = tokio::time::timeout(Duration::from_secs(5), serving).await;
        assert!(stopped.is_ok(), "nobody waits for the rest of a body");
        let notes: i64 =
            sqlx::query_scalar("select count(*) from notes").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(notes, 0);
    })
    .await;
}
