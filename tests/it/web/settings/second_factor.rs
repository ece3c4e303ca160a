//! The second factor: codes of an authenticator app and recovery codes, asked for after a password and after a link, each
//! good once; and a workspace that asks everybody for one.

use chrono::TimeDelta;
use reqwest::Method;
use rookery_base::secrets::totp;
use rookery_core::workspace::people::Role;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::sign_in::{
    PASSWORD, by_password, cookie_pair, link, post_with, set_password, with_cookie_of,
};
use rookery_world::{World, story};

const PAGE: &str = "/profile/second-factor";

/// An authenticator app.
struct App {
    secret: Vec<u8>,
    recovery: Vec<String>,
}

impl App {
    fn code(&self, world: &World) -> String {
        totp::code(&self.secret, world.now())
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    text.split(before)
        .nth(1)
        .and_then(|rest| rest.split(after).next())
        .unwrap_or_else(|| panic!("{before} in {text}"))
}

fn unbase32(text: &str) -> Vec<u8> {
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| *letter != b' ') {
        let value = if letter.is_ascii_digit() { letter - b'2' + 26 } else { letter - b'A' };
        bits = bits << 5 | u32::from(value);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// Sets a second factor up as a person does. Gives the app and the answer, which has a new cookie.
async fn set_up(world: &World, browser: &Browser<'_>) -> (App, Shown) {
    let page = browser.get(PAGE).await.page();
    let secret = unbase32(between(&page, r#"<code class="break">"#, "</code>"));
    let sealed = between(&page, r#"name="setting_up" value=""#, "\"");
    let code = totp::code(&secret, world.now());
    let shown = browser
        .post(PAGE, &[("setting_up", sealed), ("code", &format!("{} {}", &code[..3], &code[3..]))])
        .await;
    assert_eq!(shown.status, 200, "{}", shown.html);
    let recovery = shown
        .html
        .split("<li><code>")
        .skip(1)
        .map(|rest| rest.split('<').next().unwrap().to_owned())
        .collect();
    (App { secret, recovery }, shown)
}

/// The second half, with the cookie of the first.
async fn with_code(world: &World, half: &Shown, code: &str) -> Shown {
    let cookie = half.cookie().split(';').next().expect("a cookie");
    assert!(cookie.starts_with("__Host-rookery-half="), "{cookie}");
    let nobody = world.browser_with("");
    let request = nobody.request(Method::POST, "/sign-in/code").header("origin", nobody.origin());
    let request =
        request.header("content-type", "application/x-www-form-urlencoded").header("cookie", cookie);
    nobody.send(request.body(format!("code={code}"))).await
}

#[tokio::test]
async fn a_code_is_asked_for_after_a_password_and_after_a_link_and_is_good_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let (here, there) = (world.browser(acme.id, mia).await, world.browser(acme.id, mia).await);
        let (app, on) = set_up(world, &here).await;
        assert_eq!(app.recovery.len(), 10);
        assert_eq!(there.get("/inbox").await.status, 303, "signed out everywhere else");
        assert_eq!(here.get("/inbox").await.status, 303, "the old token opens nothing");
        assert_eq!(with_cookie_of(world, &on).get("/inbox").await.status, 200);

        world.wait(TimeDelta::minutes(1));
        let path = link(world, acme.id, mia).await;
        let nobody = world.browser_with("");
        let asked = nobody.post("/sign-in", &[("email", "mia@rookery.example"), ("next", "/profile")]).await;
        let halves = [
            by_password(world, "mia@rookery.example", PASSWORD).await,
            post_with(&nobody, &path, &cookie_pair(&asked)).await,
        ];
        for half in &halves {
            assert!(half.location().starts_with("/sign-in/code"), "{}", half.location());
            // What it has opens nothing.
            let token = half.cookie().split_once('=').unwrap().1.split(';').next().unwrap();
            assert_eq!(world.browser_with(token).get("/inbox").await.status, 303);
        }
        assert!(halves[1].location().contains("next=%2Fprofile"));
        for wrong in ["000000", "", "aaaa-bbbb-cccc-dddd"] {
            let answer = with_code(world, &halves[0], wrong).await;
            assert_eq!((answer.status, answer.cookie()), (401, ""), "{wrong}");
        }
        let code = app.code(world);
        let signed = with_code(world, &halves[0], &code).await;
        assert_eq!((signed.status, signed.location()), (303, "/inbox"), "{}", signed.html);
        assert_eq!(with_cookie_of(world, &signed).get("/inbox").await.status, 200);
        // The very same code, by whoever looked over her shoulder.
        assert_eq!(with_code(world, &halves[1], &code).await.status, 401, "replayed");
        assert_eq!(
            with_code(world, &halves[0], &app.code(world)).await.location(),
            "/sign-in",
            "a half is used once"
        );
        world.wait(TimeDelta::seconds(31));
        assert_eq!(with_code(world, &halves[1], &app.code(world)).await.status, 303);
        let told: Vec<String> =
            sqlx::query_scalar("select data from audit_entries where did = 'person.signed_in' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(
            told,
            [
                r#"{"with":"password","second":"code","network":"127.0.0.0/24"}"#,
                r#"{"with":"link","second":"code","network":"127.0.0.0/24"}"#,
            ]
        );
    })
    .await;
}

/// Somebody comes to a laptop that was left open: with a factor of theirs its person would be locked out.
#[tokio::test]
async fn an_old_session_alone_does_not_turn_it_on() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let left_open = world.browser(acme.id, mia).await;
        world.wait(TimeDelta::minutes(61));
        let turn_on = async |browser: &Browser<'_>, sealed: &str, secret: &[u8], current: &str| {
            let code = totp::code(secret, world.now());
            browser.post(PAGE, &[("setting_up", sealed), ("code", &code), ("current", current)]).await
        };
        let page = left_open.get(PAGE).await.page();
        assert!(page.contains("Sign in again") && !page.contains("name=\"code\""), "{page}");
        let secret = unbase32(between(&page, r#"<code class="break">"#, "</code>"));
        let sealed = between(&page, r#"name="setting_up" value=""#, "\"");
        assert_eq!(turn_on(&left_open, sealed, &secret, "").await.status, 400, "she has no password");

        set_password(world, acme.id, mia, PASSWORD).await;
        assert!(left_open.get(PAGE).await.page().contains("Your password"));
        for wrong in ["", "a password of somebody else"] {
            let refused = turn_on(&left_open, sealed, &secret, wrong).await;
            assert!(refused.status == 400 && refused.html.contains("Incorrect password"), "{wrong}");
        }
        assert_eq!(turn_on(&left_open, sealed, &secret, PASSWORD).await.status, 200);
    })
    .await;
}

/// Somebody who is signed in confirms who they are: it takes the password and a code, as signing in does.
#[tokio::test]
async fn a_proof_takes_the_code_with_the_password_and_each_code_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let (app, on) = set_up(world, &world.browser(acme.id, acme.owner).await).await;
        let owner = with_cookie_of(world, &on);
        world.wait(TimeDelta::minutes(61));
        let asked = owner.get("/settings/keys/new").await;
        assert!(
            asked.html.contains(r#"name="password""#) && asked.html.contains(r#"name="code""#),
            "{}",
            asked.html
        );
        let prove = async |browser: &Browser<'_>, password: &str, code: &str| {
            browser.post("/sign-in/again", &[("password", password), ("code", code)]).await
        };
        let code = app.code(world);
        for (password, given, wrong) in [
            (PASSWORD, "", "That code"),
            ("", &*code, "Incorrect password"),
            (PASSWORD, "000000", "That code"),
        ] {
            let refused = prove(&owner, password, given).await;
            assert!(refused.status == 401 && refused.html.contains(wrong), "{given}: {}", refused.html);
            assert_eq!(owner.get("/settings/keys/new").await.status, 403, "{given}");
        }
        // A code that came with a wrong password is not used up.
        let proven = prove(&owner, PASSWORD, &code).await;
        assert_eq!(proven.status, 303, "{}", proven.html);
        let owner = with_cookie_of(world, &proven);
        assert_eq!(owner.get("/settings/keys/new").await.status, 200);
        assert_eq!(prove(&owner, PASSWORD, &code).await.status, 401, "replayed");
        let half = by_password(world, "olga@rookery.example", PASSWORD).await;
        assert_eq!(with_code(world, &half, &code).await.status, 401, "at the door too");
        let recovered = prove(&owner, PASSWORD, &app.recovery[0]).await;
        let owner = with_cookie_of(world, &recovered);
        assert_eq!(prove(&owner, PASSWORD, &app.recovery[0]).await.status, 401, "once");
        let noted: Vec<String> =
            sqlx::query_scalar("select data from audit_entries where did = 'person.signed_in' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let as_noted = |second: &str| {
            format!(r#"{{"with":"password","second":"{second}","network":"127.0.0.0/24","again":true}}"#)
        };
        assert_eq!(noted, [as_noted("code"), as_noted("recovery code")]);

        // Guesses are counted with those at the door.
        world.wait(TimeDelta::minutes(16));
        for guess in 0..9 {
            // Longer than the pause that grows with each.
            world.wait(TimeDelta::seconds(40));
            assert_eq!(prove(&owner, PASSWORD, &format!("00002{guess}")).await.status, 401, "{guess}");
        }
        assert_eq!(prove(&owner, PASSWORD, "000029").await.status, 429, "a pause");
        let half = by_password(world, "olga@rookery.example", PASSWORD).await;
        assert_eq!(with_code(world, &half, "000029").await.status, 429, "the same pause");
    })
    .await;
}

#[tokio::test]
async fn a_recovery_code_signs_in_once_and_new_ones_end_the_old() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let (app, on) = set_up(world, &world.browser(acme.id, acme.owner).await).await;
        let owner = with_cookie_of(world, &on);
        let half = async || by_password(world, "olga@rookery.example", PASSWORD).await;
        let typed = app.recovery[0].to_uppercase().replace('-', " ");
        assert_eq!(with_code(world, &half().await, &typed).await.status, 303);
        assert_eq!(with_code(world, &half().await, &app.recovery[0]).await.status, 401, "once");
        assert!(owner.get(PAGE).await.page().contains("9 of 10 left"));

        world.wait(TimeDelta::minutes(1));
        assert_eq!(owner.post(PAGE, &[("do", "codes"), ("code", "000000")]).await.status, 400);
        let made = owner.post(PAGE, &[("do", "codes"), ("code", &app.code(world))]).await.page();
        assert_eq!(made.matches("<li><code>").count(), 10);
        assert!(!owner.get(PAGE).await.page().contains("<li><code>"), "they are shown once");
        assert_eq!(with_code(world, &half().await, &app.recovery[1]).await.status, 401, "the old ones are void");

        world.wait(TimeDelta::minutes(16));
        assert_eq!(owner.post(PAGE, &[("do", "off"), ("code", "000000")]).await.status, 400);
        assert_eq!(owner.post(PAGE, &[("do", "off"), ("code", &app.code(world))]).await.status, 303);
        assert_eq!(half().await.location(), "/inbox", "a password is enough again");
        let did: Vec<String> = sqlx::query_scalar(
            "select did from audit_entries where did like 'second_factor.%' or did like 'recovery%' order by n")
            .fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(did, ["second_factor.on", "recovery_codes.made", "second_factor.off"]);
    })
    .await;
}

/// Somebody who has the password and guesses codes: five for each half, and ten in a quarter of an hour in all.
#[tokio::test]
async fn codes_cannot_be_guessed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let (app, _) = set_up(world, &world.browser(acme.id, acme.owner).await).await;
        world.wait(TimeDelta::minutes(1));
        let half = by_password(world, "olga@rookery.example", PASSWORD).await;
        let mut answers = Vec::new();
        for guess in 0..7 {
            world.wait(TimeDelta::seconds(40));
            let answer = with_code(world, &half, &format!("00000{guess}")).await;
            answers.push((answer.status, answer.location().to_owned()));
        }
        let wrong = (401, String::new());
        assert!(answers[..5].iter().all(|answer| *answer == wrong), "{answers:?}");
        assert_eq!(answers[5], (303, "/sign-in".to_owned()), "begin anew");
        let half = by_password(world, "olga@rookery.example", PASSWORD).await;
        let mut refused = 0;
        for guess in 0..8 {
            refused += u32::from(with_code(world, &half, &format!("00001{guess}")).await.status == 429);
        }
        assert!(refused >= 6, "{refused}");
        world.wait(TimeDelta::minutes(16));
        let half = by_password(world, "olga@rookery.example", PASSWORD).await;
        assert_eq!(
            with_code(world, &half, &app.code(world)).await.status,
            303,
            "nobody is locked out for good"
        );
        let late = by_password(world, "olga@rookery.example", PASSWORD).await;
        world.wait(TimeDelta::minutes(10));
        assert_eq!(
            with_code(world, &late, &app.code(world)).await.location(),
            "/sign-in",
            "a half ends after ten minutes"
        );
    })
    .await;
}

/// What is stored is sealed or hashed, and a page that was open too long, or is somebody else's, sets up nothing.
#[tokio::test]
async fn a_dump_has_no_secret_and_a_set_up_belongs_to_its_person() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (olgas, mias) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let page = mias.get(PAGE).await.page();
        let secret = unbase32(between(&page, r#"<code class="break">"#, "</code>"));
        let sealed = between(&page, r#"name="setting_up" value=""#, "\"").to_owned();
        let code = totp::code(&secret, world.now());
        assert_eq!(
            olgas.post(PAGE, &[("setting_up", &sealed), ("code", &code)]).await.status,
            400,
            "not hers"
        );
        assert_eq!(mias.post(PAGE, &[("setting_up", "AAAA"), ("code", &code)]).await.status, 400);
        let wrong = mias.post(PAGE, &[("setting_up", &sealed), ("code", "000000")]).await;
        assert!(wrong.status == 400 && wrong.html.contains(&sealed), "the same picture again");
        world.wait(TimeDelta::minutes(31));
        let code = totp::code(&secret, world.now());
        assert_eq!(
            mias.post(PAGE, &[("setting_up", &sealed), ("code", &code)]).await.status,
            400,
            "too late"
        );
        let (app, _) = set_up(world, &world.browser(acme.id, mia).await).await;
        let dump = format!("{:?}", world.rows().await).to_lowercase();
        let hex: String = app.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!dump.contains(&hex) && !dump.contains(&totp::base32(&app.secret).to_lowercase()));
        assert!(
            app.recovery
                .iter()
                .all(|code| !dump.contains(code.as_str()) && !dump.contains(&code.replace('-', "")))
        );
    })
    .await;
}

#[tokio::test]
async fn an_owner_asks_everybody_for_one_and_nobody_goes_on_without() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let require = "/settings/people/second-factor";
        let (olgas, mias) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        assert_eq!(mias.post(require, &[("required", "on")]).await.status, 403, "only owners");
        assert_eq!(olgas.post(require, &[("required", "on")]).await.status, 400, "who has one themselves");
        let (_, on) = set_up(world, &olgas).await;
        let olgas = with_cookie_of(world, &on);
        assert_eq!(olgas.post(require, &[("required", "on")]).await.status, 303);
        for path in ["/inbox", "/settings/people", "/live", "/profile", "/search?q=x"] {
            assert_eq!(mias.get(path).await.location(), PAGE, "{path}");
        }
        assert_eq!(mias.post("/settings/people/roles", &[]).await.location(), PAGE);
        assert_eq!(mias.post(require, &[]).await.location(), PAGE);
        let (app, on) = set_up(world, &mias).await;
        let mias = with_cookie_of(world, &on);
        assert_eq!(mias.get("/inbox").await.status, 200);
        world.wait(TimeDelta::minutes(1));
        assert_eq!(
            mias.post(PAGE, &[("do", "off"), ("code", &app.code(world))]).await.status,
            400,
            "it stays on"
        );

        // A phone in the sea: whoever manages her turns it off, and she sets up another.
        let question = format!("/settings/people/{mia}/second-factor");
        assert!(olgas.get(&question).await.page().contains("Turn off two-step verification for Mia?"));
        assert_eq!(mias.get(&format!("/settings/people/{}/second-factor", acme.owner)).await.status, 403);
        assert_eq!(
            mias.post(&format!("/settings/people/{}/second-factor", acme.owner), &[]).await.status,
            403
        );
        world
            .sql(
                "insert into passkeys (workspace_id, id, person_id, credential_id, public_key, counter, name, created_at)
                 select workspace_id, 7, id, 'c', 'k', 0, 'Phone', now() from people where name = 'Mia'",
            )
            .await;
        assert_eq!(olgas.post(&question, &[]).await.status, 303);
        assert_eq!(world.scalar("select count(*) from passkeys").await, 0, "it was on the phone");
        assert_eq!(mias.get("/inbox").await.location(), "/sign-in?next=%2Finbox", "signed out everywhere");
        world.work().await;
        let letters = world.outbox.letters();
        let subjects: Vec<_> = letters
            .iter()
            .filter(|letter| letter.to == "mia@rookery.example")
            .map(|letter| letter.subject.as_str())
            .collect();
        let told = ["Two-step verification is on", "A passkey was removed from your account", "Two-step verification is off"];
        assert_eq!(subjects, told);
    })
    .await;
}
