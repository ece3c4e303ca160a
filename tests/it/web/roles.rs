//! The table of pages as a whole: who may open what, and what every answer carries.

use rookery_core::workspace::people::Role;
use rookery_web::door::{PAGES, PageRoute};

use rookery_world::browser::{Browser, Shown};
use rookery_world::story;

/// An address of the page that names nothing that is there.
fn path(page: &PageRoute) -> String {
    let parts = page.path.split('/').map(|part| match part {
        "{token}" => format!("wsp_0000000000001.{}", "0".repeat(64)),
        part if part.starts_with('{') => "cnv_0000000000001".to_owned(),
        part => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

async fn open(browser: &Browser<'_>, page: &PageRoute) -> Shown {
    let request = browser.request(page.method.clone(), &path(page)).header("origin", browser.origin());
    let answer = request.send().await.expect("the service answers");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    // A stream has no end.
    let html =
        if kind.starts_with("text/html") { answer.text().await.expect("a text") } else { String::new() };
    Shown { status, headers, html }
}

#[tokio::test]
async fn a_member_opens_no_page_of_owners_and_admins() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let member = world.browser(acme.id, mia).await;
        let nothing = member.get("/nothing-is-here").await;
        assert_eq!(nothing.status, 404);
        for page in PAGES.iter().filter(|page| page.who.is_for_admins()) {
            let refused = open(&member, page).await;
            assert_eq!(refused.status, 404, "{} {}", page.method, page.path);
            assert!(refused.html.contains("There is nothing here, or nothing that you can see."));
        }
    })
    .await;
}

/// A role is looked at on every request.
#[tokio::test]
async fn who_is_not_an_admin_any_more_is_refused_at_the_next_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.sql("update people set role = 'member'").await;
        for page in PAGES.iter().filter(|page| page.who.is_for_admins()) {
            assert_eq!(open(&owner, page).await.status, 404, "{} {}", page.method, page.path);
        }
        assert!(owner.get("/profile").await.page().contains("Member"));
    })
    .await;
}

/// Streams and frames have a policy of their own; none allows script or style that stands in the page.
#[tokio::test]
async fn every_page_forbids_what_it_does_not_need() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (owner, nobody) = (world.browser(acme.id, acme.owner).await, world.browser_with(""));
        for page in PAGES.iter().filter(|page| page.path != "/sign-out") {
            for browser in [&owner, &nobody] {
                let shown = open(browser, page).await;
                let (headers, name) = (&shown.headers, format!("{} {}", page.method, page.path));
                let policy = headers["content-security-policy"].to_str().unwrap();
                assert!(policy.contains("default-src 'none'"), "{name}: {policy}");
                assert!(policy.contains("base-uri 'none'"), "{name}: {policy}");
                assert!(policy.contains("frame-ancestors"), "{name}: {policy}");
                assert!(
                    !policy.contains("unsafe-eval") && !policy.contains("script-src 'unsafe"),
                    "{name}: {policy}"
                );
                assert_eq!(headers["x-content-type-options"], "nosniff", "{name}");
                let kept = headers["cache-control"].to_str().unwrap();
                assert!(kept.contains("private") || kept.contains("no-store"), "{name}: {kept}");
                assert!(headers.contains_key("strict-transport-security"), "{name}");
                assert!(headers.contains_key("referrer-policy"), "{name}");
                assert!(headers.contains_key("cross-origin-opener-policy"), "{name}");
                for inline in ["<style", " style=", " onclick=", " onload=", "javascript:", "<script>"] {
                    assert!(!shown.html.contains(inline), "{name}: {inline}");
                }
            }
        }
    })
    .await;
}
