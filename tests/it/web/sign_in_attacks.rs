//! What somebody tries who wants in: forms of other sites, planted sessions, links that are not theirs, floods of passwords.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use reqwest::Method;
use rookery_core::workspace::people::Role;

use rookery_world::pages::sign_in::{
    PASSWORD, by_password, cookie_pair, link, path_of, post_with, set_password, with_cookie_of,
};
use rookery_world::{Mode, story, story_with};

/// A form of another site that posts to us: the browser says where it comes from.
#[tokio::test]
async fn a_stolen_form_changes_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let theirs: [&[(&str, &str)]; 7] = [
            &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
            &[("origin", "https://evil.example")],
            &[("origin", "null")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "https://rookery.example")],
            &[("origin", "https://rookery.example.evil.example")],
            &[],
        ];
        for headers in theirs {
            let request = owner.request(Method::POST, "/profile");
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let shown = owner.send(request.body("name=Evil&zone=UTC&theme=dark")).await;
            assert_eq!(shown.status, 403, "{headers:?}");
        }
        assert!(owner.get("/profile").await.page().contains("Olga Owner"));
        // A GET of a form's address does nothing either.
        assert_eq!(owner.get("/sign-out").await.status, 405);
        assert_eq!(owner.get("/inbox").await.status, 200);
    })
    .await;
}

/// Somebody who gets a victim to sign in with a session they know gains nothing: every sign-in begins a new one.
#[tokio::test]
async fn a_planted_session_is_not_the_one_that_is_signed_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let planted = world.browser(acme.id, mia).await;
        let made_up = world.browser_with(&format!("{}.{}", acme.id, "ab".repeat(32)));
        for victim in [&planted, &made_up] {
            let fields = [("email", "mia@rookery.example"), ("password", PASSWORD)];
            let signed = victim.post("/sign-in/password", &fields).await;
            assert_eq!(signed.status, 303);
            assert!(!signed.cookie().contains(&victim.token), "a new token");
            assert_eq!(victim.get("/inbox").await.status, 303, "the old one opens nothing");
            let path = link(world, acme.id, mia).await;
            let again = with_cookie_of(world, &signed);
            assert_eq!(again.get("/inbox").await.status, 200);
            assert_eq!(again.post(&path, &[]).await.status, 303);
            assert_eq!(again.get("/inbox").await.status, 303, "signing in anew ends the session before");
        }
    })
    .await;
}

#[tokio::test]
async fn a_link_that_was_opened_stays_good_and_one_that_is_over_or_of_somebody_else_looks_like_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let globex = world.workspace("Globex").await;
        let mia = acme.person("Mia", Role::Member).await;
        let nobody = world.browser_with("");
        let path = link(world, acme.id, mia).await;
        for _ in 0..3 {
            assert_eq!(nobody.get(&path).await.status, 200, "a scanner opens it");
            assert_eq!(nobody.send(nobody.request(Method::HEAD, &path)).await.status, 200);
        }
        let (older, newer) = (link(world, acme.id, mia).await, link(world, acme.id, mia).await);
        assert_eq!(nobody.post(&path, &[]).await.status, 303);

        let ended = link(world, acme.id, mia).await;
        world.wait(TimeDelta::minutes(30));
        let moved = link(world, acme.id, mia).await;
        world.sql("update people set email = 'mia@elsewhere.example' where name = 'Mia'").await;
        let removed = link(world, globex.id, globex.owner).await;
        world
            .sql(&format!("update people set removed_at = now() where workspace_id = {}", globex.id.0))
            .await;
        let foreign = link(world, acme.id, mia).await.replace(&acme.id.to_string(), &globex.id.to_string());
        let nowhere = format!("/sign-in/wsp_0000000000001.{}", "0".repeat(64));
        let mut answers = Vec::new();
        for bad in [path, older, newer, ended, moved, removed, foreign, nowhere, "/sign-in/x".into()] {
            let (shown, posted) = (nobody.get(&bad).await, nobody.post(&bad, &[]).await);
            assert_eq!(posted.cookie(), "", "{bad}");
            answers.push((shown.status, shown.html, posted.status, posted.html));
        }
        assert_eq!(answers[0].0, 404);
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    })
    .await;
}

/// Two who press the button at the same moment.
#[tokio::test]
async fn a_link_signs_in_one_of_two_who_use_it_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for _ in 0..5 {
            let path = link(world, acme.id, acme.owner).await;
            let (one, two) = (world.browser_with(""), world.browser_with(""));
            let (first, second) = tokio::join!(one.post(&path, &[]), two.post(&path, &[]));
            let mut told = [first.status, second.status];
            told.sort();
            assert_eq!(told, [303, 404]);
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_tells_whether_an_address_is_somebodys() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        acme.person("Ben", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let nobody = world.browser_with("");
        // With a password, without one, and nobody.
        let addresses = ["mia@rookery.example", "ben@rookery.example", "kim@rookery.example"];
        let (mut wrong, mut sent, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for address in addresses {
            // The quickest of some: what else the machine does at the moment takes time too.
            let (mut hashed, mut mailed) = (Duration::MAX, Duration::MAX);
            for _ in 0..3 {
                let begun = Instant::now();
                let shown = by_password(world, address, "not the right one").await;
                hashed = hashed.min(begun.elapsed());
                wrong.push((shown.status, shown.html.replace(address, "")));
                let begun = Instant::now();
                let shown = nobody.post("/sign-in", &[("email", address)]).await;
                mailed = mailed.min(begun.elapsed());
                sent.push((shown.status, shown.html.replace(address, "")));
            }
            times.push((hashed, mailed));
        }
        for answers in [wrong, sent] {
            assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
        }
        // A hash that is not made, or a mail that is waited for, would show as a multiple.
        type One = fn(&(Duration, Duration)) -> Duration;
        let each: [One; 2] = [|(hashed, _)| *hashed, |(_, mailed)| *mailed];
        for of in each {
            let (least, most) = (times.iter().map(of).min().unwrap(), times.iter().map(of).max().unwrap());
            assert!(most < least * 5 + Duration::from_millis(300), "{times:?}");
            assert!(least > Duration::from_millis(15), "{times:?}");
        }
        world.work().await;
        let to: Vec<_> = world.outbox.letters().iter().map(|letter| letter.to.clone()).collect();
        let count = |address: &str| to.iter().filter(|to| *to == address).count();
        assert_eq!(addresses.map(count), [3, 3, 0]);
    })
    .await;
}

/// Requests of this test come from one address, which the proxy in front names.
const PROXY: (&str, &str) = ("TRUSTED_PROXIES", "127.0.0.0/8");

#[tokio::test]
async fn a_flood_of_passwords_is_held_by_account_and_network_and_locks_nobody_out() {
    story_with(&[PROXY], async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let ben = acme.person("Ben", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        set_password(world, acme.id, ben, PASSWORD).await;
        let browser = world.browser_with("");
        let tries = async |from: &str, email: &str, password: &str| {
            let body = format!("email={email}&password={}", password.replace(' ', "+"));
            let request =
                browser.request(Method::POST, "/sign-in/password").header("origin", browser.origin());
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            browser.send(request.header("x-forwarded-for", from).body(body)).await
        };

        // One account from everywhere: three are free, then the pause grows.
        let mut told = Vec::new();
        for number in 0..6 {
            told.push(
                tries(&format!("198.51.100.{number}"), "mia@rookery.example", "guess number one")
                    .await
                    .status,
            );
        }
        assert_eq!(told, [401, 401, 401, 401, 429, 429]);
        let held = tries("203.0.113.1", "mia@rookery.example", PASSWORD).await;
        assert_eq!(held.status, 429, "also with the right one");
        assert_eq!(held.headers["retry-after"], "1");
        assert!(held.html.contains("sign-in link"), "another way is named");
        assert_eq!(tries("203.0.113.1", "ben@rookery.example", PASSWORD).await.status, 303, "others get in");
        let sent = browser.post("/sign-in", &[("email", "mia@rookery.example")]).await;
        assert_eq!(sent.status, 200, "and she does by a link");
        world.wait(TimeDelta::seconds(1));
        assert_eq!(
            tries("203.0.113.1", "mia@rookery.example", PASSWORD).await.status,
            303,
            "or a moment later"
        );

        // One network, many accounts. What is judged before the body is not even read.
        for number in 0..10 {
            let shown = tries("192.0.2.7", &format!("kim{number}@rookery.example"), "guess number one").await;
            assert_eq!(shown.status, 401, "{number}");
        }
        let begun = Instant::now();
        for number in 0..200 {
            let shown = tries("192.0.2.7", &format!("lee{number}@rookery.example"), "guess number one").await;
            assert_eq!(shown.status, 429);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "none was hashed: {:?}", begun.elapsed());
        assert_eq!(tries("192.0.2.8", "ben@rookery.example", PASSWORD).await.status, 303, "another network");
        let six = |last: u32| format!("2001:db8:0:1::{last:x}");
        for number in 0..10 {
            assert_eq!(
                tries(&six(number), &format!("amy{number}@x.example"), "guess number one").await.status,
                401
            );
        }
        assert_eq!(
            tries(&six(99), "amy99@x.example", "guess number one").await.status,
            429,
            "a /64 is one network"
        );
        world.wait(TimeDelta::minutes(15));
        assert_eq!(
            tries("192.0.2.7", "mia@rookery.example", PASSWORD).await.status,
            303,
            "it ends by itself"
        );
    })
    .await;
}

/// Many at once, from as many networks: some are hashed, two at a time, the rest is told to come back, and pages go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_passwords_at_once_take_turns_and_pages_go_on() {
    story_with(&[PROXY], async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let asking = (0..200).map(|number| {
            let browser = world.browser_with("");
            let request =
                browser.request(Method::POST, "/sign-in/password").header("origin", browser.origin());
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let request =
                request.header("x-forwarded-for", format!("198.51.{}.{}", number / 100, number % 100));
            let body = format!("email=kim{number}%40rookery.example&password=guess+number+{number}");
            async move { browser.send(request.body(body)).await.status }
        });
        let flood = async { futures::future::join_all(asking).await };
        let reading = async {
            let begun = Instant::now();
            for _ in 0..5 {
                assert_eq!(owner.get("/settings").await.status, 200);
            }
            begun.elapsed()
        };
        let (told, read) = tokio::join!(flood, reading);
        assert!(told.iter().all(|status| [401, 429].contains(status)), "{told:?}");
        assert!(told.iter().filter(|status| **status == 401).count() >= 64, "{told:?}");
        assert!(read < Duration::from_secs(60), "{read:?}");
    })
    .await;
}

#[tokio::test]
async fn links_are_sent_so_often_to_one_address() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Member).await;
        let nobody = world.browser_with("");
        for address in ["mia@rookery.example", "kim@rookery.example"] {
            let mut told = Vec::new();
            for _ in 0..8 {
                told.push(nobody.post("/sign-in", &[("email", address)]).await.status);
                world.wait(TimeDelta::seconds(10));
            }
            assert_eq!(told, [200, 200, 200, 200, 200, 429, 429, 429], "{address}");
        }
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 5);
        world.wait(TimeDelta::minutes(15));
        assert_eq!(nobody.post("/sign-in", &[("email", "mia@rookery.example")]).await.status, 200);
    })
    .await;
}

/// Whoever reads the database, or a backup of it, gets in nowhere: no token and no password stands there.
#[tokio::test]
async fn the_database_holds_nothing_that_opens_the_door() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let nobody = world.browser_with("");
        nobody.post("/sign-in", &[("email", "olga@rookery.example")]).await;
        let owner = world.browser(acme.id, acme.owner).await;
        world.work().await;
        let letters = world.outbox.letters();
        let mailed = letters[0].text.lines().find(|line| line.starts_with("https://")).map(path_of).unwrap();
        let secrets = [owner.token.rsplit('.').next().unwrap(), mailed.rsplit('.').next().unwrap(), PASSWORD];
        let rows: Vec<String> = sqlx::query_scalar(
            "select row_to_json(t)::text from sessions t union all select row_to_json(t)::text from sign_in_links t
             union all select row_to_json(t)::text from notices t union all select row_to_json(t)::text from passwords t",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(rows.len(), 4, "{rows:?}");
        for secret in secrets {
            assert!(rows.iter().all(|row| !row.contains(secret)));
        }
        assert_eq!(nobody.post(&mailed, &[]).await.status, 303, "it is the link of the mail");
    })
    .await;
}

/// A mail that could not leave for half an hour carries no link any more.
#[tokio::test]
async fn a_mail_that_comes_too_late_is_not_sent() {
    story(async |world| {
        world.workspace("Acme").await;
        world.browser_with("").post("/sign-in", &[("email", "olga@rookery.example")]).await;
        world.wait(TimeDelta::minutes(31));
        world.work().await;
        assert!(world.outbox.letters().is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_cookie_is_bound_to_this_host_and_hidden_from_script() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let signed = world.browser_with("").post(&link(world, acme.id, acme.owner).await, &[]).await;
        let cookie = signed.cookie();
        let (name, rest) = cookie.split_once('=').unwrap();
        let (value, flags) = rest.split_once("; ").unwrap();
        assert_eq!(name, "__Host-rookery");
        assert!(value.rsplit('.').next().unwrap().len() == 64, "256 bits");
        assert_eq!(flags, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(signed.headers["cache-control"], "private, no-store");

        let olga = with_cookie_of(world, &signed);
        let out = olga.post("/sign-out", &[]).await;
        assert_eq!(out.cookie(), "__Host-rookery=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(olga.get("/inbox").await.status, 303, "the session is over, whatever the browser keeps");
    })
    .await;
}

#[tokio::test]
async fn the_session_of_a_removed_person_ends_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let hers = world.browser(acme.id, mia).await;
        let path = link(world, acme.id, mia).await;
        assert_eq!(hers.get("/inbox").await.status, 200);
        world.sql("update people set removed_at = now() where name = 'Mia'").await;
        assert_eq!(hers.get("/inbox").await.status, 303);
        assert_eq!(hers.post("/profile", &[("name", "Still here")]).await.status, 303);
        assert_eq!(hers.post(&path, &[]).await.status, 404);
        assert_eq!(by_password(world, "mia@rookery.example", PASSWORD).await.status, 401);
    })
    .await;
}

#[tokio::test]
async fn the_api_takes_no_cookie_and_the_app_no_key() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let api = owner.send(owner.request(Method::GET, "/api/v1/me")).await;
        assert_eq!(api.status, 401);
        let mcp = owner.request(Method::POST, "/mcp").header("content-type", "application/json").body("{}");
        assert_eq!(owner.send(mcp).await.status, 401);
        let nobody = world.browser_with("");
        let app = nobody.send(nobody.request(Method::GET, "/inbox").bearer_auth(&key.text)).await;
        assert_eq!(app.status, 303);
        let as_cookie = world.browser_with(&key.text);
        assert_eq!(as_cookie.get("/inbox").await.status, 303);
        let as_key = nobody.request(Method::GET, "/api/v1/me").bearer_auth(&owner.token);
        assert_eq!(nobody.send(as_key).await.status, 401);
    })
    .await;
}

/// Where somebody goes after signing in is a page of ours, whatever a link says.
#[tokio::test]
async fn signing_in_leads_to_no_other_site() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let nobody = world.browser_with("");
        let long = format!("/{}", "x".repeat(2000));
        let bad = [
            "https://evil.example/",
            "//evil.example/",
            "/\\evil.example",
            "javascript:alert(1)",
            "\\\\evil.example",
            "/a\r\nset-cookie: x=y",
            "evil",
            "",
            " /inbox",
            "/\t/evil.example",
            &long,
        ];
        for next in bad {
            let path = link(world, acme.id, acme.owner).await;
            let shown = nobody.get(&format!("{path}?next={}", encoded(next))).await.page();
            assert!(!shown.contains(r#"name="next""#), "{next}");
            let signed = nobody.post(&path, &[("next", next)]).await;
            assert_eq!((signed.status, signed.location()), (303, "/inbox"), "{next}");
            let form = nobody.get(&format!("/sign-in?with=password&next={}", encoded(next))).await.page();
            assert!(!form.contains("evil"), "{next}");
        }
        let fields = [("email", "olga@rookery.example"), ("password", PASSWORD), ("next", "//evil.example/")];
        assert_eq!(nobody.post("/sign-in/password", &fields).await.location(), "/inbox");
    })
    .await;
}

/// Anybody can have a link mailed to somebody. Where it leads on to is known by the browser that asked, and it never leads to
/// the page that lets a program in.
#[tokio::test]
async fn a_stranger_who_asks_for_somebodys_link_does_not_say_where_it_leads() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (stranger, olga) = (world.browser_with(""), world.browser_with(""));
        let consent = "/oauth/authorize?response_type=code&client_id=evil&redirect_uri=https://evil.example/";
        for next in ["/settings/keys/new", consent] {
            stranger.post("/sign-in", &[("email", "olga@rookery.example"), ("next", next)]).await.page();
            world.work().await;
            let letter = world.outbox.letters().pop().unwrap();
            assert!(letter.subject == "Sign in to Acme" && !letter.text.contains("next="), "{}", letter.text);
            let path = link(world, acme.id, acme.owner).await;
            let tried = format!("{path}?next={}", encoded(next));
            assert!(!olga.get(&tried).await.page().contains("next"), "{next}");
            let signed = olga.post(&tried, &[("next", next)]).await;
            assert_eq!((signed.status, signed.location()), (303, "/inbox"), "{next}");
        }
        // In the browser that asked it leads there, and to the page about programs only by hand.
        let asked = [("email", "olga@rookery.example"), ("next", "/settings/keys/new")];
        let sent = olga.post("/sign-in", &asked).await;
        let path = link(world, acme.id, acme.owner).await;
        let signed = post_with(&olga, &path, &cookie_pair(&sent)).await;
        assert_eq!(signed.location(), "/settings/keys/new");
        for next in [consent, "/x/../oauth/authorize?a=b", "/%6Fauth/authorize", "/OAuth/authorize"] {
            world.wait(TimeDelta::minutes(16));
            let sent = olga.post("/sign-in", &[("email", "olga@rookery.example"), ("next", next)]).await;
            assert!(sent.html.contains("go on here"), "{next}: {}", sent.html);
            let path = link(world, acme.id, acme.owner).await;
            let forged = format!("__Host-rookery-next={}", encoded(next));
            for cookie in [cookie_pair(&sent), forged] {
                let path = link(world, acme.id, acme.owner).await;
                let signed = post_with(&olga, &path, &cookie).await;
                assert_eq!((signed.status, signed.location()), (303, "/inbox"), "{next}");
            }
            assert_eq!(olga.get(&path).await.status, 404, "the others are used up with it");
        }
    })
    .await;
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
