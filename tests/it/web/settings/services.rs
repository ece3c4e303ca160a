//! Sending services with the mouse: connecting one, its secret once, its key, the log with what became of each report,
//! pausing, replacing the secret, disconnecting.

use rookery_core::workspace::people::Role;
use rookery_product::app_mail::adapters::Provider;

use rookery_world::browser::Browser;
use rookery_world::mail::services::{ANNA, RESEND_KEY, Service};
use rookery_world::{Reply, World, story};

const LIST: &str = "/settings/services";

fn between<'p>(page: &'p str, before: &str) -> &'p str {
    let rest = page.split_once(before).unwrap_or_else(|| panic!("{before} in {page}")).1;
    rest.split(['<', '"']).next().unwrap()
}

/// Connects a service on the page; the page that follows, and the connection's own path.
async fn connect(browser: &Browser<'_>, service: &str, name: &str) -> (String, String) {
    let made = browser.post("/settings/services/new", &[("service", service), ("name", name)]).await;
    assert_eq!(made.status, 201, "{}", made.html);
    let path = format!("{LIST}/svc_{}", between(&made.html, r#"href="/settings/services/svc_"#));
    (made.html, path)
}

async fn audited(world: &World) -> Vec<String> {
    sqlx::query_scalar("select did || ' ' || actor_name || ' ' || subject_name from audit_entries where did like 'service.%' order by n")
        .fetch_all(&world.app.pool)
        .await
        .expect("the audit log can be read")
}

/// proves: APP-8
#[tokio::test]
async fn an_admin_connects_a_service_and_sees_what_becomes_of_its_reports() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let adam = world.browser(acme.id, adam).await;
        let empty = adam.get(LIST).await.page();
        assert!(empty.contains("No service is connected") && empty.contains("Connect the first service"));
        let offers = adam.get("/settings/services/new").await.page();
        for provider in Provider::ALL {
            let link = format!("/settings/services/new?service={}", provider.as_str());
            assert!(offers.contains(&link) && offers.contains(provider.name()), "{provider:?}");
            let form = adam.get(&link).await.page();
            assert!(form.contains(r#"name="name""#), "{provider:?}");
            assert_eq!(
                form.contains(r#"name="token""#),
                provider == Provider::Own || provider.content_url().is_some(),
                "{provider:?}"
            );
        }

        let (shown, path) = connect(&adam, "postmark", "Shop <b>mail</b>").await;
        let secret = between(&shown, r#"<code id="secret">"#).to_owned();
        assert!(secret.len() == 43 && shown.contains("Shop &#60;b&#62;mail&#60;/b&#62;"), "{shown}");
        let hook = between(&shown, r#"<code id="address" aria-labelledby="address-label">"#).to_owned();
        for page in [path.as_str(), LIST, "/settings/services/new"] {
            assert!(!adam.get(page).await.page().contains(&secret), "{page} shows the secret again");
        }
        let waits = adam.get(&path).await.page();
        assert!(waits.contains("Waits for a report") && waits.contains("No reports yet"), "{waits}");

        // The service reports, and somebody who is not the service tries to.
        let body = include_str!("../../../sending/postmark-delivery.json");
        let hook = hook.replace("https://rookery.example", "");
        let reports = async |secret: &str| {
            let request = world.ask("POST", &hook).basic_auth("rookery", Some(secret)).body(body);
            Reply::of(request).await.status
        };
        assert_eq!((reports("wrong").await, reports(&secret).await), (401, 200));
        let page = adam.get(&path).await.page();
        assert!(
            page.contains("Delivered") && page.contains(ANNA) && page.contains("On record from now on"),
            "{page}"
        );
        assert!(page.contains("was not signed with the key of this connection"), "why the other was refused");
        let list = adam.get(LIST).await.page();
        assert!(list.contains("1 report today") && list.contains("Working"), "{list}");

        // Paused, resumed, its secret replaced, disconnected after a question.
        assert_eq!(adam.post(&format!("{path}/pause"), &[]).await.status, 303);
        assert_eq!(reports(&secret).await, 503);
        assert!(adam.get(&path).await.page().contains("Reports are refused"));
        assert_eq!(adam.post(&format!("{path}/resume"), &[]).await.status, 303);
        assert!(adam.get(&format!("{path}/rotate")).await.page().contains("Both are valid for 24 hours"));
        let new = adam.post(&format!("{path}/rotate"), &[]).await.page();
        let new = between(&new, r#"<code id="secret">"#).to_owned();
        assert!(new != secret && reports(&secret).await == 200 && reports(&new).await == 200);
        assert!(adam.get(&path).await.page().contains("Two secrets are valid"));
        assert_eq!(adam.post(&format!("{path}/end-old-secret"), &[]).await.status, 303);
        assert_eq!((reports(&secret).await, reports(&new).await), (401, 200));
        assert!(adam.get(&format!("{path}/remove")).await.page().contains("This cannot be undone"));
        assert_eq!(reports(&new).await, 200, "asking changes nothing");
        assert_eq!(adam.post(&format!("{path}/remove"), &[]).await.status, 303);
        assert_eq!((reports(&new).await, adam.get(&path).await.status), (401, 404));
        let did = ["connected", "paused", "resumed", "rotated", "old_secret_ended", "disconnected"];
        let did: Vec<String> =
            did.iter().map(|did| format!("service.{did} Adam Admin Shop <b>mail</b>")).collect();
        assert_eq!(audited(world).await, did);
        let log = adam.get("/settings/audit").await.page();
        assert!(log.contains("connected the sending service"), "{log}");
    })
    .await;
}

/// proves: APP-8
#[tokio::test]
async fn a_service_with_a_key_of_its_own_is_taken_seriously_once_its_key_is_entered() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let made = olga.post("/settings/services/new", &[("service", "resend"), ("name", "Resend")]).await;
        assert_eq!(made.status, 303, "there is no secret to show");
        let id: i64 = world.scalar("select id from sending_services").await;
        let path = format!("{LIST}/{}", rookery_base::ids::SendingServiceId(id));
        let page = olga.get(&path).await.page();
        assert!(page.contains("Needs its key") && page.contains("whsec_"), "{page}");
        let mut service = Service::of(&world.workspace("Beta").await, Provider::Resend).await;
        service.path = format!("/hooks/sent-mail/{}/{}", acme.id, rookery_base::ids::SendingServiceId(id));
        assert_eq!(service.tells("n1", &service.sent()).await.status, 401);
        assert!(
            olga.get(&path).await.page().contains("A report came before the key of the service was entered")
        );
        for wrong in ["", "nonsense", "whsec_<script>"] {
            let refused = olga.post(&format!("{path}/key"), &[("key", wrong)]).await;
            assert_eq!(refused.status, 400, "{wrong}");
            assert!(
                refused.html.contains(r#"aria-invalid="true""#) && !refused.html.contains("<script>"),
                "{}",
                refused.html
            );
        }
        assert_eq!(olga.post(&format!("{path}/key"), &[("key", RESEND_KEY)]).await.status, 303);
        assert_eq!(service.tells("n1", &service.sent()).await.status, 200);
        let page = olga.get(&path).await.page();
        assert!(page.contains("Working") && page.contains("111-222-333@shop.example"), "{page}");
        assert!(!page.contains(&RESEND_KEY[6..]), "a key is never shown");
        assert_eq!(olga.get(&format!("{path}/rotate")).await.status, 404, "its secret is not ours");
        // Another workspace's connection is nothing here.
        let foreign = format!("{LIST}/{}", service.id);
        for (page, status) in [("", 404), ("/rotate", 404), ("/remove", 404)] {
            assert_eq!(olga.get(&format!("{foreign}{page}")).await.status, status);
        }
        for form in ["/key", "/pause", "/resume", "/rotate", "/remove", "/end-old-secret"] {
            let fields = [("key", RESEND_KEY)];
            assert_eq!(olga.post(&format!("{foreign}{form}"), &fields).await.status, 404, "{form}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_new_connection_is_said_and_nothing_is_lost() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let own =
            [("service", "own"), ("name", "Mailer"), ("content_url", "https://10.0.0.1/x"), ("token", "t")];
        let refused = olga.post("/settings/services/new", &own).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("must lead to a public address"), "{}", refused.html);
        assert!(
            refused.html.contains(r#"value="https://10.0.0.1/x""#)
                && refused.html.contains(r#"value="Mailer""#)
        );
        assert_eq!(olga.post("/settings/services/new", &[("service", "other")]).await.status, 400);
        assert_eq!(
            olga.post("/settings/services/new", &[("service", "ses"), ("name", " ")]).await.status,
            400
        );
        for number in 0..20 {
            let fields = [("service", "mailgun"), ("name", "Mailgun")];
            assert_eq!(olga.post("/settings/services/new", &fields).await.status, 303, "{number}");
        }
        let full = olga.post("/settings/services/new", &[("service", "mailgun"), ("name", "Mailgun")]).await;
        assert!(
            full.status == 400 && full.html.contains("there are 20 connections already"),
            "{}",
            full.html
        );
    })
    .await;
}
