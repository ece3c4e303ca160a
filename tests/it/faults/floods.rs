//! Everything a stranger or a tenant can flood us with, at once, from twenty addresses, while honest people of two tenants
//! go on: `attacks` has the floods, `honest` the people.
//!
//! Honest requests and mails are all answered in time, memory stays small, every 250 is there afterwards, and
//! soon after the flood nothing is left of it.

mod attacks;
mod codes;
mod honest;
mod upload;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rookery_base::ids::{ConversationId, DocumentRequestId, RequestItemId};
use rookery_base::net::fd_limit;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinSet;

use self::attacks::{FLOODS, Flood, Hits, Target};
use self::honest::{Honest, People, served};
use self::upload::long_upload;
use rookery_world::mail::dns::Zone;
use rookery_world::sink::Sink;
use rookery_world::site::{Node, Site, text};
use rookery_world::{Reply, ports};

/// The longest that one honest request or mail may take, for all but one in a hundred. Without optimisation, and beside
/// other tests, it only has to be an answer.
const IN_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 2 });
const AS_BEFORE: Duration = Duration::from_secs(30);
/// What the process may use, by how it was built: without optimisation the same work holds more at once.
const MOST_MEGABYTES: u64 = if cfg!(debug_assertions) { 400 } else { 300 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_people_are_served_under_all_floods_for_a_moment() {
    flooded(Duration::from_secs(8)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes two minutes: just floods"]
async fn honest_people_are_served_under_all_floods_for_a_minute() {
    flooded(Duration::from_secs(60)).await;
}

async fn flooded(time: Duration) {
    fd_limit::raise();
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    for (address, name) in [("help@acme.example", "Help"), ("quiet@acme.example", "Quiet")] {
        site.inbox(&workspace, address, name);
    }
    let (neighbour, its_owner) = another_workspace(&site, "Globex", NEIGHBOUR);
    let (asking, its_asker) = another_workspace(&site, "Initech", "ivy@initech.example");
    let (_, asking_key) = site.key(&asking, &its_asker, "elm", "test");
    let keys =
        [(&workspace, &owner), (&neighbour, &its_owner)].map(|(of, by)| site.key(of, by, "ash", "live").1);
    let [own_sandbox, sandbox, other_sandbox] =
        [(&workspace, &owner, "fir"), (&neighbour, &its_owner, "fir"), (&neighbour, &its_owner, "oak")]
            .map(|(of, by, name)| site.key(of, by, name, "test").1);
    codes::booking_page(&site, &workspace, &owner);
    let relay = Sink::start().await;
    let smtp = ports::free();
    let zone = Zone::serve(&[("slow.example", "SILENT")]).await;
    let (listen, dns) = (smtp.to_string(), zone.address.to_string());
    let relayed = relay.relay();
    let settings = [
        ("ROOKERY_RELAY", relayed.as_str()),
        ("ROOKERY_SMTP_LISTEN", &listen),
        ("ROOKERY_DNS", &dns),
        ("ROOKERY_SANDBOX_UNDO_WINDOW_SECONDS", "0"),
        // Honest people ask often here, so that there is something to measure.
        ("ROOKERY_RATE_LIMIT_REQUESTS", "100000"),
    ];
    let node = site.serve("flooded", &settings).await;
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let mut items = Vec::new();
    for _ in 0..3 {
        items.push(private_item(&site, &node, &pool, &sandbox).await);
    }
    let locked = a_conversation(&site, &node, &asking_key).await;
    // Whatever is written there waits until the floods are over.
    let mut lock = pool.acquire().await.unwrap();
    sqlx::query("begin").execute(&mut *lock).await.unwrap();
    sqlx::query("select from conversations where id = $1 for update")
        .bind(locked.parse::<ConversationId>().unwrap().0)
        .execute(&mut *lock)
        .await
        .unwrap();
    let target = Arc::new(Target {
        http: node.address.strip_prefix("http://").unwrap().parse().unwrap(),
        smtp,
        hook: connected_hook(&site, &workspace, &owner),
        newest: text(&site.get(&node, "/api/v1/events", &sandbox).await.json(), "next"),
        keys: vec![sandbox, other_sandbox],
        asking_key,
        locked,
        items,
        free_time: codes::a_free_time(&site, &node).await,
    });
    let item = private_item(&site, &node, &pool, &own_sandbox).await;
    let long_item = private_item(&site, &node, &pool, &own_sandbox).await;
    let people = People { keys: keys.into(), item };

    let honest = Arc::new(Honest::default());
    let before = served(&site, &node, smtp, &people, &honest, Duration::from_secs(2)).await;
    let quiet = connections(&node);

    let over = Arc::new(AtomicBool::new(false));
    let hits = Arc::new(Hits::default());
    let mut floods = JoinSet::new();
    let mut attacker = 0;
    for (name, attackers, flooding) in FLOODS {
        for _ in 0..*attackers {
            // Twenty addresses, whichever flood it is.
            attacker = attacker % 20 + 1;
            let from = IpAddr::V4(Ipv4Addr::new(127, 1, 0, attacker));
            let (target, over, hits) = (target.clone(), over.clone(), hits.clone());
            floods.spawn(flooding(Flood { name, number: attacker, from, target, over, hits }));
        }
    }
    let (during, link, uploaded) = futures::join!(
        served(&site, &node, smtp, &people, &honest, time),
        codes::sign_in_mail(&site, &node, &relay, NEIGHBOUR),
        long_upload(&node, &long_item, time)
    );
    println!("a sign-in mail of the other tenant: {link:?}");
    over.store(true, Ordering::Relaxed);
    sqlx::query("rollback").execute(&mut *lock).await.unwrap();
    drop(lock);
    let memory = peak_megabytes(&node);
    while floods.join_next().await.is_some() {}

    let ended = Instant::now();
    let after = loop {
        let after = served(&site, &node, smtp, &people, &honest, Duration::from_secs(2)).await;
        if (connections(&node) <= quiet + 20 && after.p99() < IN_TIME) || ended.elapsed() > AS_BEFORE {
            break after;
        }
    };
    println!("before {before}\nduring {during}\nafter  {after}, {:?} later", ended.elapsed());
    println!("peak {memory} MB; {hits}");
    assert!(hits.all(), "every flood came through to the door: {hits}");
    assert_eq!(uploaded, Some(303), "an upload that goes on all the time is taken");
    for (when, figures) in [("before", &before), ("during", &during), ("after", &after)] {
        assert_eq!(figures.failed, Vec::<String>::new(), "{when}: everybody honest is answered");
        assert!(figures.p99() < IN_TIME, "{when}: {figures}");
    }
    assert!(memory < MOST_MEGABYTES, "{memory} MB");
    assert!(ended.elapsed() < AS_BEFORE + Duration::from_secs(5), "as before in time");
    codes::were_capped(&pool).await;
    let stored: Vec<String> =
        sqlx::query_scalar("select subject from conversations where contact_email like '%@honest.example'")
            .fetch_all(&pool)
            .await
            .unwrap();
    let (told, stored_once) = (honest.acknowledged(), stored.iter().cloned().collect::<BTreeSet<_>>());
    assert_eq!(stored.len(), stored_once.len(), "nothing twice");
    assert_eq!(told, stored_once, "every 250 is there");
    // The flood's own mail does not hide honest mail from a search.
    let last = told.last().expect("mail was taken");
    let found = site.get(&node, &format!("/api/v1/conversations?q={last}"), &people.keys[0]).await;
    assert_eq!(found.status, 200, "{}", found.text);
    assert_eq!(text(&found.json()[0], "subject"), *last);
    pool.close().await;
}

/// Who signs in to the second tenant while the first is flooded.
const NEIGHBOUR: &str = "gil@globex.example";

/// Another tenant with its owner: their ids.
fn another_workspace(site: &Site, name: &str, owner: &str) -> (String, String) {
    let named = ["--name", name, "--plan", "pro"];
    let owned = ["--owner-email", owner, "--owner-name", "Gil"];
    let made = site.admin(&[&["create-workspace"], &named[..], &owned[..]].concat());
    (text(&made, "workspace"), text(&made, "owner"))
}

async fn post(site: &Site, node: &Node, key: &str, path: &str, body: Value) -> Value {
    let request = site.http.post(format!("{}/api/v1{path}", node.address)).bearer_auth(key).json(&body);
    let reply = Reply::of(request).await;
    assert!((200..300).contains(&reply.status), "{}", reply.text);
    reply.json()
}

/// Of the sandbox: its id.
async fn a_conversation(site: &Site, node: &Node, key: &str) -> String {
    let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
    text(&post(site, node, key, "/sandbox/inbound", mail).await, "conversationId")
}

/// The address of an item on a private page, to which a customer sends files.
async fn private_item(site: &Site, node: &Node, pool: &PgPool, key: &str) -> String {
    let path = format!("/conversations/{}/document-requests", a_conversation(site, node, key).await);
    let asks = json!({ "documents": [{ "label": "Letter" }], "send": true });
    let asked = post(site, node, key, &path, asks).await;
    let request = text(&asked, "requestId").parse::<DocumentRequestId>().unwrap().0;
    for _ in 0..600 {
        let found: Option<(String, i64)> = sqlx::query_as(
            "select m.text, i.id from document_requests r
             join messages m on m.workspace_id = r.workspace_id and m.id = r.message_id
             join document_request_items i on i.workspace_id = r.workspace_id and i.request_id = r.id
             where r.id = $1 and r.state = 'open'",
        )
        .bind(request)
        .fetch_optional(pool)
        .await
        .unwrap();
        if let Some((letter, item)) = found {
            let link = letter.split("/upload/").nth(1).unwrap().split_whitespace().next().unwrap();
            return format!("/upload/{link}/{}", RequestItemId(item));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the request never left");
}

/// The path of a real hook: what is sent there is checked against a secret.
fn connected_hook(site: &Site, workspace: &str, owner: &str) -> String {
    let token = site.folder.join("token");
    std::fs::write(&token, "secret").unwrap();
    let made = site
        .command(&["admin", "--json", "connect-sending-service", "--workspace", workspace, "--person", owner])
        .args(["--name", "Shop", "--content-url", "http://127.0.0.1:9/", "--token-file"])
        .arg(&token)
        .env("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let url: url::Url = text(&made, "url").parse().unwrap();
    url.path().to_owned()
}

/// Descriptors that the process holds.
fn connections(node: &Node) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", node.id())).map_or(0, Iterator::count)
}

/// The most memory it ever held.
fn peak_megabytes(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux tells the peak");
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
