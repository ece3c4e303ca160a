//! A workspace proves a domain by its DNS, and the operator says whose it is. Against a real name server.

use super::{makes, recipient, smtp};
use rookery_world::browser::Browser;
use rookery_world::site::{Site, text};
use rookery_world::zone::Zone;
use rookery_world::{World, story, story_with};

const CHECK: &str = "/settings/domains/mallory.example/check";

/// The text of the row that proves a domain, as the page shows it.
async fn record(browser: &Browser<'_>) -> String {
    let page = browser.get("/settings/domains").await.page();
    let from = page.find("rookery-workspace=").unwrap_or_else(|| panic!("no record: {page}"));
    page[from..].split(['<', '&', '"']).next().unwrap().trim().to_owned()
}

async fn holder(world: &World) -> Vec<String> {
    world.column("select domain || ' ' || proof from directory.domains order by 1").await
}

#[tokio::test]
async fn a_domain_that_names_the_workspace_is_the_workspaces() {
    let zone = Zone::start().await;
    let dns = zone.address.to_string();
    story_with(&[("DNS", &dns)], async |world| {
        let (_acme, mallory) = (world.workspace("Acme").await, world.workspace("Mallory").await);
        let browser = world.browser(mallory.id, mallory.owner).await;
        let inbox = makes(&browser, "hello@mallory.example").await.unwrap();
        assert_eq!(browser.post("/settings/domains", &[("domain", "mallory.example")]).await.status, 303);
        let page = browser.get("/settings/domains").await.page();
        assert!(page.contains("_rookery.mallory.example"), "{page}");
        assert!(page.contains("5 of 5 records need attention."), "{page}");
        let record = record(&browser).await;

        // What another workspace was told to add proves nothing here.
        zone.text("_rookery.mallory.example", "rookery-workspace=somebody-else");
        browser.post(CHECK, &[]).await;
        let page = browser.get("/settings/domains").await.page();
        assert!(page.contains("says something else"), "{page}");
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "hello@mallory.example").await, 450);

        zone.text("_rookery.mallory.example", &record);
        browser.post(CHECK, &[]).await;
        assert_eq!(holder(world).await, ["mallory.example dns"]);
        let page = browser.get("/settings/domains").await.page();
        assert!(page.contains("Proven to be yours") && !page.contains("rookery-workspace="), "{page}");
        assert!(!browser.get(&format!("/settings/inboxes/{inbox}")).await.page().contains("not proven"));
        assert_eq!(recipient(smtp, "hello@mallory.example").await, 250);
        // What is below it is theirs too.
        makes(&browser, "hello@shop.mallory.example").await.unwrap();
        assert_eq!(recipient(smtp, "hello@shop.mallory.example").await, 250);
        let told = world.scalar("select count(*) from audit_entries where did = 'domain.proven'").await;
        assert_eq!(told, 1);

        // A record that goes later cuts nobody off.
        zone.clear();
        browser.post(CHECK, &[]).await;
        assert_eq!(holder(world).await, ["mallory.example dns"]);
    })
    .await;
}

#[tokio::test]
async fn the_key_that_signs_a_domains_mail_proves_it_too() {
    let zone = Zone::start().await;
    let dns = zone.address.to_string();
    story_with(&[("DNS", &dns)], async |world| {
        let (_acme, mallory) = (world.workspace("Acme").await, world.workspace("Mallory").await);
        let browser = world.browser(mallory.id, mallory.owner).await;
        browser.post("/settings/domains", &[("domain", "mallory.example")]).await;
        let rows: Vec<String> =
            world.column("select selector || ' v=DKIM1; k=rsa; p=' || public_key from sending_domains").await;
        let (selector, key) = rows[0].split_once(' ').unwrap();
        zone.text(&format!("{selector}._domainkey.mallory.example"), key);
        browser.post(CHECK, &[]).await;
        assert_eq!(holder(world).await, ["mallory.example dns"]);
    })
    .await;
}

#[tokio::test]
async fn of_two_who_prove_one_domain_the_first_has_it_and_the_operator_decides() {
    let zone = Zone::start().await;
    let dns = zone.address.to_string();
    story_with(&[("DNS", &dns)], async |world| {
        let (one, two) = (world.workspace("One").await, world.workspace("Two").await);
        let mut browsers = Vec::new();
        for workspace in [&one, &two] {
            let browser = world.browser(workspace.id, workspace.owner).await;
            browser.post("/settings/domains", &[("domain", "mallory.example")]).await;
            zone.text("_rookery.mallory.example", &record(&browser).await);
            browsers.push(browser);
        }
        let (first, second) = tokio::join!(browsers[0].post(CHECK, &[]), browsers[1].post(CHECK, &[]));
        assert_eq!((first.status, second.status), (303, 303));
        assert_eq!(holder(world).await, ["mallory.example dns"], "one of them");
        let pages = [
            browsers[0].get("/settings/domains").await.page(),
            browsers[1].get("/settings/domains").await.page(),
        ];
        let has = |words: &str| pages.iter().filter(|page| page.contains(words)).count();
        assert_eq!(
            (has("Proven to be yours"), has("It belongs to another workspace of this server.")),
            (1, 1)
        );

        let loser = if pages[0].contains("Proven to be yours") { two.id } else { one.id };
        rookery_core::workspace::domains::assign(&world.app, loser, "mallory.example").await.unwrap();
        assert_eq!(holder(world).await, ["mallory.example assigned"]);
        let winner = usize::from(loser == one.id);
        let page = browsers[winner].get("/settings/domains").await.page();
        assert!(page.contains("It belongs to another workspace of this server."), "{page}");
        browsers[winner].post(CHECK, &[]).await;
        assert_eq!(holder(world).await, ["mallory.example assigned"], "what the operator says goes");
    })
    .await;
}

#[tokio::test]
async fn a_domain_that_another_proved_cannot_be_added() {
    story(async |world| {
        let (acme, mallory) = (world.workspace("Acme").await, world.workspace("Mallory").await);
        acme.mailbox("help@acme.example", "Help").await;
        let browser = world.browser(mallory.id, mallory.owner).await;
        let refused = browser.post("/settings/domains", &[("domain", "acme.example")]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("belongs to another workspace of this server"), "{}", refused.html);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_assigns_a_domain_by_a_command() {
    let site = Site::migrated().await;
    let (acme, _) = site.workspace();
    let (other, _) = site.workspace();
    site.inbox(&acme, "help@acme.example", "Help");
    let make = |workspace: &str, address: &str| {
        let named = ["create-mailbox", "--workspace", workspace, "--address", address, "--name", "X"];
        site.run(&[&["admin"], &named[..]].concat())
    };
    let refused = String::from_utf8(make(&other, "sales@acme.example").stderr).unwrap();
    assert!(
        refused.contains(&format!("belongs to {acme}")) && refused.contains("assign-domain"),
        "{refused}"
    );
    let reserved = String::from_utf8(make(&acme, "postmaster@localhost").stderr).unwrap();
    assert!(reserved.contains("is an address of the server itself"), "{reserved}");

    let assign = ["assign-domain", "--workspace", &other, "--domain", "ACME.example."];
    let told = site.admin(&assign);
    assert_eq!((text(&told, "domain"), text(&told, "before")), ("acme.example".into(), acme.clone()));
    assert!(site.admin(&assign)["before"].is_null(), "safe to repeat");
    assert!(make(&other, "sales@acme.example").status.success());
    let refused = String::from_utf8(make(&acme, "more@acme.example").stderr).unwrap();
    assert!(refused.contains(&format!("belongs to {other}")), "{refused}");
    let nobody =
        site.run(&["admin", "assign-domain", "--workspace", "wsp_0000000000001", "--domain", "x.example"]);
    assert_eq!(nobody.status.code(), Some(1));
}
