//! Browser access: the developer site may call the API, no other page may, and scripts are not browsers.

use serde_json::json;

use rookery_world::probe::{NOBODY, operations};
use rookery_world::{Mode, Reply, World, story, story_with};

/// The service's own origin, which is the developer site's where no other is set.
const OURS: &str = "https://rookery.example";

/// Every address a page might call: method and path.
fn doors() -> Vec<(&'static str, String)> {
    let known =
        operations(NOBODY).map(|(entry, path)| (entry.spec.method.as_str(), format!("/api/v1{path}")));
    known.chain([("GET", "/api/v1/nothing".to_owned()), ("POST", "/mcp".to_owned())]).collect()
}

async fn preflight(world: &World, path: &str, origin: &str) -> Reply {
    let request = world
        .ask("OPTIONS", path)
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type");
    Reply::of(request).await
}

fn cors_headers(reply: &Reply) -> Vec<&str> {
    reply
        .headers
        .keys()
        .map(|name| name.as_str())
        .filter(|name| name.starts_with("access-control-"))
        .collect()
}

/// proves: CORS-1
#[tokio::test]
async fn a_preflight_from_the_developer_site_is_allowed_without_a_key() {
    story(async |world| {
        for (_, path) in doors() {
            let reply = preflight(world, &path, OURS).await;
            assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{path}");
            assert_eq!(reply.header("access-control-allow-origin"), Some(OURS));
            assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST"));
            assert_eq!(
                reply.header("access-control-allow-headers"),
                Some("Authorization, Content-Type, Idempotency-Key")
            );
            assert_eq!(reply.header("access-control-max-age"), Some("600"));
            assert_eq!(reply.header("access-control-allow-credentials"), None);
            assert_eq!(reply.header("vary"), Some("Origin"));
        }
    })
    .await;
}

/// proves: CORS-2
#[tokio::test]
async fn an_answer_to_the_developer_site_names_its_origin_and_never_a_star() {
    let sites = "https://docs.rookery.example,http://localhost:3000";
    story_with(&[("DEVELOPER_ORIGINS", sites)], async |world| {
        let key = world.workspace("Acme").await.key("bot", "read", Mode::Live).await;
        for origin in sites.split(',') {
            for (method, path) in doors() {
                let asked = [world.ask(method, &path), world.ask(method, &path).bearer_auth(&key.text)];
                for (request, has_key) in asked.into_iter().zip([false, true]) {
                    let reply = Reply::of(request.header("origin", origin)).await;
                    assert_eq!(reply.status == 401, !has_key, "{path}");
                    assert_eq!(reply.header("access-control-allow-origin"), Some(origin), "{path}");
                    assert_eq!(reply.header("vary"), Some("Origin"));
                    let exposed = reply.header("access-control-expose-headers").expect("some are exposed");
                    assert!(exposed.contains("Retry-After") && exposed.contains("RateLimit"), "{exposed}");
                }
            }
        }
        // The list replaces the service's own origin.
        assert_eq!(preflight(world, "/api/v1/me", OURS).await.status, 403);
    })
    .await;
}

/// proves: CORS-3
#[tokio::test]
async fn a_page_from_anywhere_else_is_refused_whatever_its_key() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write", Mode::Test).await;
        let before = world.rows().await;
        for origin in [
            "https://evil.example",
            "null",
            "http://rookery.example",
            "https://rookery.example:8443",
            "https://docs.rookery.example",
            "https://rookery.example.evil.example",
            "https://rookery.example/",
            "https://ROOKERY.example",
            "*",
            "",
        ] {
            for (method, path) in doors() {
                let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
                for request in [world.ask(method, &path), world.ask(method, &path).bearer_auth(&key.text)] {
                    let reply = Reply::of(request.header("origin", origin).json(&mail)).await;
                    assert_eq!(reply.status, 403, "{path} from {origin:?}: {}", reply.text);
                    reply.error();
                    assert_eq!(cors_headers(&reply), [""; 0], "{path} from {origin:?}");
                }
                let reply = preflight(world, &path, origin).await;
                assert_eq!((reply.status, cors_headers(&reply).len()), (403, 0), "{path} from {origin:?}");
            }
        }
        assert_eq!(world.rows().await, before, "a refused page's mail was stored");
    })
    .await;
}

/// proves: CORS-4
#[tokio::test]
async fn scripts_without_an_origin_are_unaffected() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read,write", Mode::Test).await;
        let reply = key.get("/me").await;
        assert_eq!((reply.status, cors_headers(&reply).len()), (200, 0));
        key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let tools = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        assert_eq!(key.mcp(tools).await.status, 200);
    })
    .await;
}
