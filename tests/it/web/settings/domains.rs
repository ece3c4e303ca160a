//! Domains in the browser: the key, the rows for the DNS, and each difference marked. Against a real name server.

use rookery_world::zone::Zone;
use rookery_world::{story, story_with};

#[tokio::test]
async fn the_rows_of_a_domain_are_compared_with_what_name_servers_say() {
    let zone = Zone::start().await;
    let dns = zone.address.to_string();
    story_with(&[("DNS", &dns)], async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/settings/domains").await.page();
        assert!(page.contains("Email from acme.example isn’t signed."), "{page}");

        assert_eq!(owner.post("/settings/domains", &[("domain", "no domain")]).await.status, 400);
        let added = owner.post("/settings/domains", &[("domain", "acme.example")]).await;
        let page = owner.get(added.location()).await.page();
        assert!(page.contains("4 of 4 records need attention."), "{page}");
        let selector: String = sqlx::query_scalar("select selector from sending_domains")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let key: String = sqlx::query_scalar("select public_key from sending_domains")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();

        // A DNS page that adds the domain to the name by itself.
        let name = format!("{selector}._domainkey.acme.example");
        zone.text(&format!("{name}.acme.example"), &format!("v=DKIM1; k=rsa; p={key}"));
        zone.text("acme.example", "v=spf1 +all");
        let checked = owner.post("/settings/domains/acme.example/check", &[]).await;
        assert_eq!(checked.location(), "/settings/domains#acme-example");
        let page = owner.get("/settings/domains").await.page();
        assert!(page.contains(&format!("Enter only {selector}._domainkey as the name")), "{page}");
        assert!(page.contains("<del>+all</del>") && page.contains("<ins>"), "{page}");

        zone.text(&name, &format!("v=DKIM1; k=rsa; p={key}"));
        owner.post("/settings/domains/acme.example/check", &[]).await;
        let page = owner.get("/settings/domains").await.page();
        assert!(page.contains("3 of 4 records need attention."), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_domain_of_another_workspace_is_not_there() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let theirs = world.browser(other.id, other.owner).await;
        let mine = world.browser(acme.id, acme.owner).await;
        theirs.post("/settings/domains", &[("domain", "other.example")]).await;
        assert!(!mine.get("/settings/domains").await.page().contains("other.example"));
        assert_eq!(mine.post("/settings/domains/other.example/check", &[]).await.status, 404);
    })
    .await;
}
