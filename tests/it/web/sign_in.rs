//! Signing in by a link and by a password, and signing out.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;

use rookery_world::pages::sign_in::{
    PASSWORD, by_password, cookie_pair, path_of, post_with, set_password, with_cookie_of,
};
use rookery_world::site::{Site, text};
use rookery_world::{World, story};

/// Links in the mails that have left, oldest first.
async fn mailed(world: &World) -> Vec<(String, String)> {
    world.work().await;
    let letters = world.outbox.letters();
    letters
        .iter()
        .map(|letter| {
            let link = letter.text.lines().find(|line| line.starts_with("https://")).expect("a link");
            (letter.subject.clone(), path_of(link))
        })
        .collect()
}

#[tokio::test]
async fn a_link_by_mail_signs_in_once_and_leads_to_where_one_wanted_to_go() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let nobody = world.browser_with("");
        let asked = [("email", " Olga@Rookery.example "), ("next", "/profile?a=b")];
        let sent = nobody.post("/sign-in", &asked).await;
        let asker = cookie_pair(&sent);
        let sent = sent.page();
        assert!(sent.contains("olga@rookery.example") && sent.contains("30 minutes"), "{sent}");

        let mails = mailed(world).await;
        let [(subject, path)] = &mails[..] else { panic!("one mail: {mails:?}") };
        assert_eq!(subject, "Sign in to Acme");
        let page = nobody.get(path).await.page();
        assert_eq!(page.matches("<form").count(), 1);
        assert!(page.contains("Olga Owner") && page.contains("Acme"), "{page}");
        let action = path.split('?').next().unwrap();
        assert!(page.contains(&format!(r#"action="{action}""#)), "{page}");

        // A session that cannot begin does not use the link up.
        world.sql("alter table sessions add constraint none check (false) not valid").await;
        assert_eq!(nobody.post(action, &[]).await.status, 500);
        world.sql("alter table sessions drop constraint none").await;
        let signed = post_with(&nobody, action, &asker).await;
        assert_eq!((signed.status, signed.location()), (303, "/profile?a=b"));
        let cookies: Vec<&str> =
            signed.headers.get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok()).collect();
        let is_over = |cookie: &&str| cookie.contains("next=;") && cookie.contains("Max-Age=0");
        assert!(cookies.iter().any(is_over), "where it leads on to is for this once: {cookies:?}");
        let olga = with_cookie_of(world, &signed);
        assert!(olga.get("/profile").await.page().contains("olga@rookery.example"));
        assert_eq!(olga.get("/sign-in").await.location(), "/inbox", "who is in needs no door");
        assert_eq!(nobody.post(action, &[]).await.status, 404, "once");
        let _ = acme;
    })
    .await;
}

#[tokio::test]
async fn an_address_in_two_workspaces_gets_a_link_for_each() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let globex = world.workspace("Globex").await;
        world.browser_with("").post("/sign-in", &[("email", "olga@rookery.example")]).await;
        let mut mails = mailed(world).await;
        mails.sort();
        let subjects: Vec<_> = mails.iter().map(|(subject, _)| subject.as_str()).collect();
        assert_eq!(subjects, ["Sign in to Acme", "Sign in to Globex"]);
        for ((_, path), workspace) in mails.iter().zip([&acme, &globex]) {
            assert!(path.contains(&workspace.id.to_string()), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_password_signs_in_and_its_hash_is_made_anew_when_it_is_outdated() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let signed = by_password(world, "mia@rookery.example", PASSWORD).await;
        assert_eq!((signed.status, signed.location()), (303, "/inbox"));
        assert_eq!(with_cookie_of(world, &signed).get("/inbox").await.status, 200);

        let stored = async || -> String {
            sqlx::query_scalar("select hash from passwords").fetch_one(&world.app.pool).await.unwrap()
        };
        let before = stored().await;
        // The same password, as an earlier version with weaker parameters would have kept it.
        let weak = "$argon2id$v=19$m=8192,t=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$";
        let weak = format!("{weak}{}", weak_output(PASSWORD));
        sqlx::query("update passwords set hash = $1").bind(&weak).execute(&world.app.pool).await.unwrap();
        assert_eq!(by_password(world, "mia@rookery.example", PASSWORD).await.status, 303);
        let after = stored().await;
        assert!(after.starts_with("$argon2id$v=19$m=65536,t=3,p=1$") && after != before, "{after}");
        assert_eq!(by_password(world, "mia@rookery.example", PASSWORD).await.status, 303);
    })
    .await;
}

fn weak_output(password: &str) -> String {
    use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
    let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8192, 1, 1, None).unwrap());
    let hash = weak.hash_password_with_salt(password.as_bytes(), &[7; 16]).unwrap().to_string();
    hash.rsplit('$').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_ends_after_twelve_hours_unused_and_after_thirty_days_in_any_case() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let idle = world.browser(acme.id, acme.owner).await;
        let busy = world.browser(acme.id, acme.owner).await;
        for _ in 0..65 {
            world.wait(TimeDelta::hours(11));
            assert_eq!(busy.get("/settings").await.status, 200);
        }
        assert_eq!(idle.get("/settings").await.status, 303, "unused");
        world.wait(TimeDelta::hours(11));
        assert_eq!(busy.get("/settings").await.status, 303, "thirty days");
        world.work().await;
        let left: i64 =
            sqlx::query_scalar("select count(*) from sessions").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(left, 0, "what has ended is forgotten");
    })
    .await;
}

/// With the real program: the log says how the first owner gets in, and stops saying so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_owner_signs_in_with_a_link_that_the_command_line_prints() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let node = site.serve("one", &[]).await;
    let command = format!("rookery admin sign-in-link --workspace {workspace} --person {owner}");
    assert!(node.log().contains(&command), "{}", node.log());

    let made = site.admin(&["sign-in-link", "--workspace", &workspace, "--person", &owner]);
    assert_eq!(made.as_object().unwrap().len(), 1, "{made}");
    let url = text(&made, "url").replace("http://localhost:8080", &node.address);
    let page = site.http.get(&url).send().await.unwrap().text().await.unwrap();
    assert_eq!(page.matches("<form").count(), 1);
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let signed = http.post(&url).header("origin", "http://localhost:8080").send().await.unwrap();
    assert_eq!(signed.headers()["location"], "/inbox");
    let cookie = signed.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let inbox = http.get(format!("{}/inbox", node.address)).header("cookie", cookie).send().await.unwrap();
    assert_eq!(inbox.status(), 200);
    let again = http.post(&url).header("origin", "http://localhost:8080").send().await.unwrap();
    assert_eq!(again.status(), 404);
    drop(node);
    let node = site.serve("two", &[]).await;
    assert!(!node.log().contains("sign-in-link"), "{}", node.log());

    let stranger = "usr_0000000000001";
    let refused = site.run(&["admin", "sign-in-link", "--workspace", &workspace, "--person", stranger]);
    assert_eq!(String::from_utf8(refused.stderr).unwrap(), "rookery: No such person in this workspace.\n");
}
