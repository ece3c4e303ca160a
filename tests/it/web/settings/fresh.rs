//! What gives others power takes a proof of the last quarter of an hour, and asks for it without losing what was typed.

use chrono::TimeDelta;
use rookery_web::door::{PAGES, Who};

use rookery_world::pages::sign_in::{PASSWORD, set_password, with_cookie_of};
use rookery_world::story;

/// A browser that was left open for a while reads everything and hands nothing on.
#[tokio::test]
async fn a_browser_that_was_left_open_is_not_enough_to_give_others_power() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(16));
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
        // Keys, webhooks, members: web.md, Safety 4. The provider, passkeys, exports and private inboxes ask themselves.
        for path in
            ["/settings/keys", "/settings/webhooks/new", "/settings/people/invite", "/settings/people/roles"]
        {
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
        world.wait(TimeDelta::minutes(16));
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
        assert!(owner.get("/signed-in").await.page().contains("It is you"));
        assert_eq!(owner.post("/settings/people/invite", &typed).await.status, 303);
        assert_eq!(world.scalar("select count(*) from invitations where role = 'admin'").await, 1);
        // A page is led back to.
        world.wait(TimeDelta::minutes(16));
        let asked = owner.get("/settings/keys/new?from=list").await;
        let way = "/sign-in?again=on&#38;next=%2Fsettings%2Fkeys%2Fnew%3Ffrom%3Dlist";
        assert!(asked.html.contains(way) && !asked.html.contains("Go on"), "{}", asked.html);
    })
    .await;
}
