//! What gives others power takes a proof of the last 60 minutes, and asks for it in place without losing what was typed.

use chrono::TimeDelta;
use reqwest::Method;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::sessions::{self, SignedInWith};
use rookery_web::door::{PAGES, PageRoute, Who};

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::sign_in::{PASSWORD, by_password, set_password, with_cookie_of};
use rookery_world::{root, story};

const AGAIN: &str = "/sign-in/again";

/// A browser that was left open for a while reads everything and hands nothing on.
#[tokio::test]
async fn a_browser_that_was_left_open_is_not_enough_to_give_others_power() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        let mut guarded = Vec::new();
        for page in PAGES.iter().filter(|page| page.who == Who::Fresh) {
            let path = page.path.replace("{id}", "whk_0000000000001");
            let shown = match page.method.as_str() {
                "GET" => owner.get(&path).await,
                _ => owner.post(&path, &[("a<b", "\"typed\"")]).await,
            };
            assert_eq!(shown.status, 403, "{} {path}", page.method);
            assert!(shown.html.contains("Confirm it’s you"), "{} {path}: {}", page.method, shown.html);
            if page.method.as_str() == "POST" {
                assert!(shown.html.contains(r#"name="a&#60;b" value="&#34;typed&#34;""#), "{}", shown.html);
            }
            guarded.push(page.path);
        }
        // Keys, webhooks, members: web.md, Safety 4. The provider, passkeys and private inboxes ask themselves.
        for path in [
            "/settings/keys",
            "/settings/webhooks/new",
            "/settings/people/invite",
            "/settings/people/roles",
            "/settings/data/exports/{id}/download",
        ] {
            assert!(guarded.contains(&path), "{path}");
        }
        // Whatever makes, shows or takes a secret that goes on working when the session is over.
        let areas = ["/settings/keys", "/settings/webhooks", "/settings/services", "/settings/assistants"];
        let secrets = ["/keys", "/new", "/rotate", "/key", "/address", "/model", "/agree"];
        for page in PAGES.iter().filter(|page| areas.iter().any(|area| page.path.starts_with(area))) {
            let is_list = page.method.as_str() == "GET" && areas.contains(&page.path);
            let is_secret = !is_list && secrets.iter().any(|end| page.path.ends_with(end));
            assert!(!is_secret || page.who == Who::Fresh, "{} {}", page.method, page.path);
        }
        assert_eq!(
            owner.post("/settings/services/new", &[("service", "postmark"), ("name", "Shop")]).await.status,
            403
        );
        assert_eq!(world.scalar("select count(*) from sending_services").await, 0);
        let private = [("address", "me@acme.example"), ("name", "Me"), ("private", "on")];
        let asked = owner.post("/settings/inboxes", &private).await;
        assert!(asked.status == 403 && asked.html.contains("me@acme.example"), "{}", asked.html);
        assert_eq!(
            owner.post("/settings/inboxes", &private[..2]).await.status,
            303,
            "one of the team's is no secret"
        );
        // What takes power away at once is never asked about.
        assert_eq!(owner.get("/settings/keys").await.status, 200);
        assert_eq!(owner.post("/settings/agents/stop", &[]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn who_signs_in_again_goes_on_with_what_was_typed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let email: String = sqlx::query_scalar("select email from people where id = $1")
            .bind(acme.owner.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        let typed = [("emails", "lea@example.com"), ("role", "admin")];
        let asked = owner.post("/settings/people/invite", &typed).await;
        assert!(asked.html.contains("/sign-in?again=on&#38;next=%2Fsigned-in"), "{}", asked.html);
        assert_eq!(world.scalar("select count(*) from invitations").await, 0);

        // Every page of the door keeps in mind that they are in already.
        let door = owner.get("/sign-in?again=on&next=%2Fsigned-in").await.page();
        let way = "/sign-in?with=password&#38;again=on&#38;next=%2Fsigned-in";
        assert!(door.contains(way) && door.contains("Sign in again"), "{door}");
        let way = way.replace("&#38;", "&");
        let page = owner.get(&way).await.page();
        assert!(page.contains(r#"action="/sign-in/password""#) && page.contains(r#"name="again""#), "{page}");
        let form = |password| {
            [("email", email.as_str()), ("password", password), ("again", "on"), ("next", "/signed-in")]
        };
        let wrong = owner.post("/sign-in/password", &form("not the password")).await;
        assert!(wrong.status == 401 && wrong.html.contains(r#"name="again""#), "{}", wrong.html);
        let mailed =
            owner.post("/sign-in", &[("email", &email), ("again", "on"), ("next", "/signed-in")]).await;
        assert!(mailed.html.contains("/sign-in?again=on&#38;next=%2Fsigned-in"), "{}", mailed.html);

        let signed = owner.post("/sign-in/password", &form(PASSWORD)).await;
        assert_eq!((signed.status, signed.location()), (303, "/signed-in"), "{}", signed.html);
        let owner = with_cookie_of(world, &signed);
        assert!(owner.get("/signed-in").await.page().contains("Confirmed"));
        assert_eq!(owner.post("/settings/people/invite", &typed).await.status, 303);
        assert_eq!(world.scalar("select count(*) from invitations where role = 'admin'").await, 1);
        // A page is led back to.
        world.wait(TimeDelta::minutes(61));
        let asked = owner.get("/settings/keys/new?from=list").await;
        let way = "/sign-in?again=on&#38;next=%2Fsettings%2Fkeys%2Fnew%3Ffrom%3Dlist";
        assert!(asked.html.contains(way) && !asked.html.contains("Continue"), "{}", asked.html);
    })
    .await;
}

/// What the script of the dialog sends.
async fn in_dialog(browser: &Browser<'_>, method: Method, fields: &[(&str, &str)]) -> Shown {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request =
        browser.request(method, AGAIN).header("origin", browser.origin()).header("x-proof", "dialog");
    browser.send(request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
}

/// Without script: the page that asks carries what was typed, through a wrong password too, and hands it on.
#[tokio::test]
async fn a_password_confirms_on_the_page_and_what_was_typed_goes_on_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        let typed = [("emails", "lea@example.com"), ("role", "admin")];
        let asked = owner.post("/settings/people/invite", &typed).await;
        let waiting = "emails=lea%40example.com&role=admin";
        let kept = r#"name="waiting_fields" value="emails=lea%40example.com&#38;role=admin""#;
        assert!(asked.status == 403 && asked.html.contains(kept), "{}", asked.html);
        assert!(
            asked.html.contains(r#"name="waiting_for" value="/settings/people/invite""#),
            "{}",
            asked.html
        );
        assert!(!asked.html.contains(r#"name="code""#), "she has no second factor: {}", asked.html);

        let with = |password| {
            [("password", password), ("waiting_for", "/settings/people/invite"), ("waiting_fields", waiting)]
        };
        let wrong = owner.post(AGAIN, &with("not the password")).await;
        assert!(wrong.status == 401 && wrong.html.contains(kept), "{}", wrong.html);
        assert!(wrong.html.contains("Incorrect password."), "{}", wrong.html);
        assert!(!wrong.html.contains("not the password") && wrong.cookie().is_empty(), "{}", wrong.html);
        assert_eq!(owner.post("/settings/people/invite", &typed).await.status, 403, "nothing is proven");

        let right = owner.post(AGAIN, &with(PASSWORD)).await;
        assert!(right.status == 200 && !right.html.contains(PASSWORD), "{}", right.html);
        assert!(right.html.contains(r#"action="/settings/people/invite""#), "{}", right.html);
        assert!(right.html.contains(r#"name="emails" value="lea@example.com""#), "{}", right.html);
        assert_eq!(
            world.scalar("select count(*) from invitations").await,
            0,
            "the person goes on, not the page"
        );
        assert_eq!(owner.get("/inbox").await.status, 303, "a copy of the old cookie opens nothing");
        let owner = with_cookie_of(world, &right);
        assert_eq!(owner.post("/settings/people/invite", &typed).await.status, 303);
        assert_eq!(world.scalar("select count(*) from invitations where role = 'admin'").await, 1);
        let noted: Vec<String> =
            sqlx::query_scalar("select data from audit_entries where did = 'person.signed_in' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(noted, [r#"{"with":"password","second":null,"network":"127.0.0.0/24","again":true}"#]);

        // It lasts an hour, in this session only.
        let other = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(59));
        assert_eq!(owner.get("/settings/keys/new").await.status, 200);
        world.wait(TimeDelta::minutes(2));
        assert_eq!(owner.get("/settings/keys/new").await.status, 403);
        assert_eq!(other.get("/settings/keys/new").await.status, 403);
        let proven = owner.post(AGAIN, &[("password", PASSWORD), ("next", "/settings/keys/new")]).await;
        assert_eq!((proven.status, proven.location()), (303, "/settings/keys/new"), "a page is led back to");
        assert_eq!(with_cookie_of(world, &proven).get("/settings/keys/new").await.status, 200);
        assert_eq!(other.get("/settings/keys/new").await.status, 403, "another session proves nothing");
    })
    .await;
}

/// With script: the dialog asks first whether it has to, and is answered without a page.
#[tokio::test]
async fn the_dialog_learns_whether_to_ask_and_is_answered_in_place() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(in_dialog(&owner, Method::GET, &[]).await.status, 204, "it is known who asks");
        let led = owner.get("/sign-in/again?next=%2Fsettings%2Fkeys%2Fnew").await;
        assert_eq!((led.status, led.location()), (303, "/settings/keys/new"));
        world.wait(TimeDelta::minutes(61));
        let asks = in_dialog(&owner, Method::GET, &[]).await;
        assert!(asks.status == 200 && asks.html.contains("data-proof-part"), "{}", asks.html);
        assert!(
            asks.html.contains(r#"target="_blank""#),
            "no way on takes what was typed away: {}",
            asks.html
        );
        let wrong = in_dialog(&owner, Method::POST, &[("password", "not the password")]).await;
        assert!(wrong.status == 401 && wrong.html.contains(r#"aria-invalid="true""#), "{}", wrong.html);
        let right = in_dialog(&owner, Method::POST, &[("password", PASSWORD)]).await;
        assert_eq!((right.status, right.html.as_str()), (204, ""));
        let owner = with_cookie_of(world, &right);
        assert_eq!(in_dialog(&owner, Method::GET, &[]).await.status, 204);
        assert_eq!(in_dialog(&owner, Method::POST, &[("password", PASSWORD)]).await.status, 204);
        assert_eq!(in_dialog(&owner, Method::GET, &[]).await.status, 303, "the token of before");

        // Somebody who signs in by email gets the link, and no field.
        let mia = acme.person("Mia", Role::Admin).await;
        let mias = world.browser(acme.id, mia).await;
        world.wait(TimeDelta::minutes(61));
        let asks = in_dialog(&mias, Method::GET, &[]).await;
        assert!(asks.html.contains("we’ll send you a link") && !asks.html.contains(r#"name="password""#));
        assert_eq!(in_dialog(&mias, Method::POST, &[("password", "")]).await.status, 403);
        assert_eq!(in_dialog(&mias, Method::POST, &[("password", PASSWORD)]).await.status, 403, "Olga’s");
    })
    .await;
}

/// A proof is guessed no more often than a sign-in: both are counted together.
#[tokio::test]
async fn tries_at_a_proof_are_counted_with_those_at_signing_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        for guess in 0..10 {
            // Longer than the pause that grows with each.
            world.wait(TimeDelta::seconds(40));
            let answer = owner.post(AGAIN, &[("password", &format!("guess number {guess}"))]).await;
            assert_eq!(answer.status, 401, "{guess}");
        }
        let held = owner.post(AGAIN, &[("password", PASSWORD), ("next", "/settings/keys")]).await;
        assert!(held.status == 429 && held.headers.contains_key("retry-after"), "{}", held.html);
        assert!(held.html.contains(r#"name="next" value="/settings/keys""#), "{}", held.html);
        assert_eq!(by_password(world, "olga@rookery.example", PASSWORD).await.status, 429, "at the door too");
        world.wait(TimeDelta::minutes(16));
        for guess in 0..10 {
            world.wait(TimeDelta::seconds(40));
            by_password(world, "olga@rookery.example", &format!("guess number {guess}")).await;
        }
        assert_eq!(owner.post(AGAIN, &[("password", PASSWORD)]).await.status, 429, "and the other way round");
        world.wait(TimeDelta::minutes(16));
        assert_eq!(
            owner.post(AGAIN, &[("password", PASSWORD)]).await.status,
            303,
            "nobody is locked out for good"
        );
    })
    .await;
}

/// Another site asks in a person's name, or an address that somebody was sent.
#[tokio::test]
async fn a_proof_is_asked_for_by_our_pages_only_and_leads_nowhere_else() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let elsewhere = ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"];
        for next in elsewhere {
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            assert_eq!(owner.get(&format!("{AGAIN}?next={next}")).await.location(), "/inbox", "{next}");
        }
        // An address fills in no form, so that nobody is one press away from what they never typed.
        let planted = "waiting_for=/settings/people/invite&waiting_fields=emails%3Deve%2540evil.example";
        assert_eq!(owner.get(&format!("{AGAIN}?{planted}")).await.location(), "/inbox");
        world.wait(TimeDelta::minutes(61));
        let asked = owner.get(&format!("{AGAIN}?{planted}")).await.page();
        assert!(!asked.contains("evil.example"), "{asked}");
        for origin in ["https://evil.example", "null"] {
            let request = owner.request(Method::POST, AGAIN).header("origin", origin);
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let body = format!("password={}", PASSWORD.replace(' ', "+"));
            assert_eq!(owner.send(request.body(body)).await.status, 403, "{origin}");
        }
        assert_eq!(owner.get("/settings/keys/new").await.status, 403, "nothing was proven");
        for next in elsewhere {
            let proven = owner.post(AGAIN, &[("password", "wrong"), ("next", next)]).await;
            assert!(!proven.html.contains("evil.example") && !proven.html.contains("javascript:"), "{next}");
            world.wait(TimeDelta::minutes(16));
        }
        let fields = [("password", PASSWORD), ("waiting_for", "//evil.example"), ("waiting_fields", "a=b")];
        let proven = owner.post(AGAIN, &fields).await;
        assert!(proven.status == 200 && !proven.html.contains("evil.example"), "{}", proven.html);
        assert_eq!(world.browser_with("").post(AGAIN, &fields).await.location(), "/sign-in");
    })
    .await;
}

/// Where a code is required of everybody, a password of somebody without one opens nothing but its page.
#[tokio::test]
async fn a_password_proves_nothing_where_it_would_not_sign_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        world.sql("update workspaces set second_factor_required = true").await;
        // By a passkey she is in without a code.
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let token = sessions::begin(&mut tx, acme.owner, "a test", SignedInWith::Passkey).await.unwrap();
        tx.commit().await.unwrap();
        let owner = world.browser_with(&token);
        world.wait(TimeDelta::minutes(61));
        let asked = owner.get("/settings/keys/new").await;
        assert!(asked.status == 403 && !asked.html.contains(r#"name="password""#), "{}", asked.html);
        let refused = owner.post(AGAIN, &[("password", PASSWORD)]).await;
        assert!(refused.status == 403 && refused.html.contains("Sign in another way"), "{}", refused.html);
        assert_eq!(owner.get("/settings/keys/new").await.status, 403);
    })
    .await;
}

/// The dialog knows by its mark which form and link to ask about; without one, the person would see a page instead.
#[test]
fn every_form_and_link_that_takes_a_proof_has_the_mark_of_the_dialog() {
    let (mut folders, mut marked, mut bare) = (vec![root().join("crates/web/templates")], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let text = std::fs::read_to_string(&entry).unwrap();
            for tag in text.split('<').skip(1).filter(|tag| tag.starts_with("a ") || tag.starts_with("form "))
            {
                let (attribute, method) =
                    if tag.starts_with("a ") { (" href=\"", "GET") } else { (" action=\"", "POST") };
                let Some(path) = tag.split(attribute).nth(1).and_then(|rest| rest.split('"').next()) else {
                    continue;
                };
                let takes_proof = |page: &PageRoute| {
                    page.who == Who::Fresh && page.method.as_str() == method && is_of(page.path, path)
                };
                if !PAGES.iter().any(takes_proof) || tag.contains("method=\"get\"") {
                    continue;
                }
                marked += 1;
                if !tag.contains(" data-proof") {
                    bare.push(format!("{}: {path}", entry.display()));
                }
            }
        }
    }
    assert!(marked > 25, "{marked}");
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}

/// Whether an address in a template leads to a page.
fn is_of(page: &str, written: &str) -> bool {
    let (page, written) = (page.split('/'), written.split(['?', '#']).next().unwrap_or_default().split('/'));
    let (page, written) = (page.collect::<Vec<_>>(), written.collect::<Vec<_>>());
    page.len() == written.len()
        && page
            .iter()
            .zip(&written)
            .all(|(own, other)| own == other || (own.starts_with('{') && other.starts_with("{{")))
}
