//! The documentation that the binary serves: for people, for programs that read, and for whoever found a hole.

use chrono::{DateTime, Utc};
use rookery_api::registry::OPERATIONS;

use rookery_world::{Mode, Reply, World, story};

async fn get(world: &World, path: &str) -> Reply {
    Reply::of(world.ask("GET", path)).await
}

async fn as_markdown(world: &World, path: &str) -> Reply {
    Reply::of(world.ask("GET", path).header("accept", "text/markdown, text/html;q=0.5")).await
}

/// Every address behind `href="` or `](` in a text.
fn links(text: &str) -> Vec<&str> {
    let links = ["href=\"", "]("].into_iter().flat_map(|before| text.split(before).skip(1));
    links.filter_map(|rest| rest.split(['"', ')', '#']).next()).collect()
}

#[tokio::test]
async fn anyone_reads_the_pages_as_html_and_as_markdown() {
    story(async |world| {
        for path in [
            "/docs",
            "/docs/start",
            "/docs/webhooks",
            "/docs/using-the-api",
            "/docs/api",
            "/docs/decisions/ids",
        ] {
            let page = get(world, path).await;
            assert_eq!(
                (page.status, page.header("content-type")),
                (200, Some("text/html; charset=utf-8")),
                "{path}"
            );
            assert!(
                page.text.contains("<h1") && page.text.contains("rel=\"alternate\" type=\"text/markdown\""),
                "{path}"
            );
            let policy = page.header("content-security-policy").unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
                "{policy}"
            );
            assert!(page.header("link").unwrap().contains("rel=\"describedby\""), "{path}");
            assert_eq!(page.header("set-cookie"), None);
            let text = as_markdown(world, path).await;
            assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"), "{path}");
            assert!(text.text.starts_with("# ") && !text.text.contains("<h1"), "{path}");
            if path != "/docs" {
                let twin = get(world, &format!("{path}.md")).await;
                assert_eq!((twin.status, &twin.text), (200, &text.text), "{path}.md");
            }
        }
        for path in ["/docs/never-was", "/docs/never-was.md", "/docs/../Cargo.toml", "/docs/start/"] {
            assert_eq!(get(world, path).await.status, 404, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_linked_is_there() {
    story(async |world| {
        let index = get(world, "/llms.txt").await;
        assert_eq!(index.header("content-type"), Some("text/plain; charset=utf-8"));
        assert!(index.text.starts_with("# Rookery\n\n> "), "{}", index.text);
        let own = "https://rookery.example";
        let mut paths: Vec<String> = links(&index.text)
            .into_iter()
            .filter_map(|link| link.strip_prefix(own))
            .map(str::to_owned)
            .collect();
        assert!(paths.len() > 10 && paths.iter().any(|path| path == "/docs/start.md"), "{paths:?}");
        for page in ["/docs", "/docs/start", "/docs/api"] {
            let text = get(world, page).await.text;
            paths
                .extend(links(&text).into_iter().filter(|link| link.starts_with("/docs")).map(str::to_owned));
        }
        paths.sort();
        paths.dedup();
        for path in paths {
            assert_eq!(get(world, &path).await.status, 200, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_search_finds_the_part_of_a_page() {
    story(async |world| {
        let found = get(world, "/docs/search?q=retry-after").await;
        assert_eq!(found.status, 200);
        assert!(found.text.contains("/docs/using-the-api#errors"), "{}", found.text);
        assert!(found.text.to_lowercase().contains("<mark>retry-after</mark>"));
        assert!(
            get(world, "/docs/search?q=simulate_inbound").await.text.contains("/docs/api#simulate_inbound")
        );
        let nothing = get(world, "/docs/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
        assert!(
            !nothing.text.contains("<script>alert")
                && nothing.text.contains("No page has all of these words")
        );
        assert_eq!(get(world, "/docs/search").await.status, 200);
        let long = format!("/docs/search?q={}", "a+".repeat(300));
        assert_eq!(get(world, &long).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn the_reference_has_every_operation_twice() {
    story(async |world| {
        let (page, text) = (get(world, "/docs/api").await.text, get(world, "/docs/api.md").await.text);
        for entry in OPERATIONS.iter() {
            let (name, path) = (entry.spec.name, entry.spec.path);
            assert!(
                page.contains(&format!("id=\"{name}\"")) && page.contains(&format!("data-path=\"{path}\"")),
                "{name}"
            );
            assert!(text.contains(&format!("### {} {path}", entry.spec.method.as_str())), "{name}");
        }
        // What is said with backticks is shown as code.
        assert!(page.contains("the <code>draft</code> scope") && !page.contains("`draft`"));
        assert!(page.contains("id=\"schema-Conversation\"") && page.contains("href=\"#schema-Contact\""));
    })
    .await;
}

/// There was a second reference, which other sites and notes may still name.
#[tokio::test]
async fn the_old_address_of_the_explorer_leads_to_the_reference() {
    story(async |world| {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let moved = Reply::of(http.get(format!("{}/docs/api/explore", world.address))).await;
        assert_eq!((moved.status, moved.header("location")), (308, Some("/docs/api")));
        let page = get(world, "/docs/api/explore").await;
        assert!(page.status == 200 && page.text.contains("id=\"list_conversations\""), "{}", page.status);
        assert!(!get(world, "/docs").await.text.contains("/docs/api/explore"));
    })
    .await;
}

#[tokio::test]
async fn the_changelog_has_a_feed() {
    story(async |world| {
        let feed = get(world, "/docs/changelog.atom").await;
        assert_eq!(feed.header("content-type"), Some("application/atom+xml; charset=utf-8"));
        assert!(
            feed.text.contains("<feed xmlns=\"http://www.w3.org/2005/Atom\">")
                && feed.text.contains("<entry>")
        );
        assert!(get(world, "/docs").await.text.contains("href=\"/docs/changelog.atom\""));
    })
    .await;
}

#[tokio::test]
async fn whoever_found_a_hole_is_told_where_to_go() {
    story(async |world| {
        let told = get(world, "/.well-known/security.txt").await;
        assert_eq!((told.status, told.header("content-type")), (200, Some("text/plain; charset=utf-8")));
        let field = |name: &str| {
            let mut lines = told.text.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(own, _)| *own == name).unwrap_or_else(|| panic!("no {name}: {}", told.text)).1
        };
        assert_eq!(field("Contact"), "https://rookery.example/docs/security");
        assert_eq!(field("Canonical"), "https://rookery.example/.well-known/security.txt");
        let until: DateTime<Utc> = field("Expires").parse().unwrap();
        let days = (until - world.now()).num_days();
        assert!((90..365).contains(&days), "it holds for {days} days");
        assert_eq!(get(world, "/docs/security").await.status, 200);
    })
    .await;
}

/// "Try it" sends from a page of ours: the API takes its calls with a key, and a cookie counts for nothing.
#[tokio::test]
async fn a_page_of_ours_may_call_the_api() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("reader", "write", Mode::Test).await;
        let asked = world
            .ask("POST", "/api/v1/sandbox/inbound")
            .bearer_auth(&key.text)
            .header("origin", "https://rookery.example")
            .header("sec-fetch-site", "same-origin")
            .body(r#"{"from":"ada@customer.test","text":"Hello"}"#);
        assert_eq!(Reply::of(asked).await.status, 201);
    })
    .await;
}
