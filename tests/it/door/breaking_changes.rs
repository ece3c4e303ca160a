//! A breaking change that is announced: everybody who made a key is told once, and calls, descriptions and pages say so
//! until its end. The real list is empty, so these nodes have one of their own.

use std::sync::Arc;

use chrono::NaiveDate;
use rookery::{routes, worker};
use rookery_base::app::App;
use rookery_base::breaking_changes::{BreakingChange, LIST, changelog};
use rookery_base::random::Random;
use rookery_core::workspace::people::Role;
use rookery_http::connections::Connections;
use rookery_http::serve;
use serde_json::{Value, json};

use rookery_world::{Mode, World, story};

const TAGS: BreakingChange = BreakingChange {
    name: "2027-tag-counts",
    title: "tags lose their counts",
    instead: "Count conversations with list_conversations.",
    operations: &["list_tags"],
    announced: day(2026, 1, 15),
    ends: day(2035, 8, 1),
    for_safety: false,
};
static AHEAD: &[BreakingChange] = &[TAGS];
static ENDED: &[BreakingChange] = &[BreakingChange { name: "2019-notes", ends: day(2020, 1, 1), ..TAGS }];

const fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

/// Another node of the same service, with this list. Its address and what its worker runs on.
async fn node(world: &World, list: &'static [BreakingChange]) -> (String, Arc<App>) {
    let mut app = App::new(world.app.config.clone(), world.app.clock.clone(), Random::seeded(8)).unwrap();
    app.breaking_changes = list;
    app.mailer = world.app.mailer.clone();
    let app = Arc::new(app);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = routes::router(app.clone());
    tokio::spawn(serve::serve(listener, router, Connections::from_config(&app.config), app.stop.clone()));
    (address, app)
}

async fn told(world: &World) -> Vec<(String, String)> {
    sqlx::query_as("select recipient, body from notices where kind = 'breaking-change' order by id")
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
}

/// proves: APP-11
#[tokio::test]
async fn each_maker_of_a_key_is_told_of_a_breaking_change_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Admin", Role::Admin).await;
        acme.person("Tom Teammate", Role::Member).await;
        acme.key("Helper", "read,write", Mode::Live).await;
        acme.key("Tester", "read", Mode::Test).await;
        let gone = acme.key_of(mia, "Old", "read", Mode::Live).await;
        acme.revoke(&gone).await;

        let (_, app) = node(world, AHEAD).await;
        worker::run_once(&app).await.unwrap();
        worker::run_once(&app).await.unwrap();
        let notices = told(world).await;
        assert_eq!(notices.len(), 1, "one maker, two keys, one mail: {notices:?}");
        let (to, words) = &notices[0];
        assert_eq!(to, "olga@rookery.example");
        for part in
            ["2035-08-01", TAGS.title, TAGS.instead, "list_tags", "Helper, Tester (test)", "/settings/keys"]
        {
            assert!(words.contains(part), "{part}: {words}");
        }

        acme.key_of(mia, "New", "read", Mode::Live).await;
        worker::run_once(&app).await.unwrap();
        assert_eq!(told(world).await.len(), 2, "who makes a first key later is told then");

        let (_, later) = node(world, ENDED).await;
        worker::run_once(&later).await.unwrap();
        assert_eq!(told(world).await.len(), 2, "what has ended is no news");
    })
    .await;
}

/// proves: APP-11, VER-3
#[tokio::test]
async fn calls_tools_and_pages_say_what_ends_and_when() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("Helper", "read,write", Mode::Live).await;
        let (address, _) = node(world, AHEAD).await;
        let get = async |path: &str| {
            world.http.get(format!("{address}{path}")).bearer_auth(&key.text).send().await.unwrap()
        };
        let tags = get("/api/v1/tags").await;
        assert_eq!(tags.headers()["deprecation"], "@1768435200");
        assert_eq!(tags.headers()["sunset"], "Wed, 01 Aug 2035 00:00:00 GMT");
        let me = get("/api/v1/me").await;
        assert!(!me.headers().contains_key("deprecation") && !me.headers().contains_key("sunset"));
        let now = world.http.get(format!("{}/api/v1/tags", world.address)).bearer_auth(&key.text).send();
        assert!(!now.await.unwrap().headers().contains_key("sunset"), "the real list has none");

        for path in ["/openapi.json", "/api/v1/openapi.json"] {
            let document: Value = get(path).await.json().await.unwrap();
            assert_eq!(document["paths"]["/tags"]["get"]["deprecated"], json!(true), "{path}");
            let about = document["paths"]["/tags"]["get"]["description"].as_str().unwrap();
            assert!(about.contains(&TAGS.sentence()) && about.contains("`read` scope"), "{about}");
            assert_eq!(document["paths"]["/me"]["get"].get("deprecated"), None);
        }
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let listed = world.http.post(format!("{address}/mcp")).bearer_auth(&key.text).json(&list);
        let listed = listed.header("accept", "application/json, text/event-stream").send().await.unwrap();
        let listed = listed.text().await.unwrap();
        assert_eq!(listed.matches(TAGS.instead).count(), 1, "{listed}");
    })
    .await;
}

/// proves: VER-3
#[test]
fn the_changelog_lists_what_the_code_lists() {
    let page = include_str!("../../../CHANGELOG.md");
    let section =
        page.split("## Breaking changes of API v1\n\n").nth(1).unwrap().split("\n## ").next().unwrap();
    assert_eq!(section, changelog(LIST));
    let lines = changelog(AHEAD);
    assert_eq!(
        lines,
        "- **tags lose their counts**: announced 2026-01-15, ends 2035-08-01. \
         Count conversations with list_conversations.\n"
    );
}
