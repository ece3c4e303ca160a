//! A person's own page: what they choose, their password, and where they are signed in.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::preferences;

use rookery_world::pages::sign_in::{PASSWORD, by_password, link, set_password, with_cookie_of};
use rookery_world::{Mode, story};

const NEW: &str = "another horse another staple";

#[tokio::test]
async fn a_person_chooses_name_zone_theme_keys_and_signature() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/profile").await.page();
        assert!(page.contains(r#"<option selected>UTC</option>"#), "the workspace's zone");
        assert!(!page.contains("data-theme") && !page.contains("data-keys"), "as the device has it");

        let fields = [
            ("name", " Olga <b>Ovchinnikova</b> "),
            ("zone", "Europe/Berlin"),
            ("theme", "dark"),
            ("signature", "Olga\r\n+49 30 1234"),
        ];
        let saved = owner.post("/profile", &fields).await;
        assert!(saved.location().starts_with("/profile?done=saved"), "{}", saved.location());
        let page = owner.get(saved.location()).await.page();
        assert!(
            page.contains("Olga &#60;b&#62;Ovchinnikova&#60;/b&#62;") && page.contains("Saved."),
            "{page}"
        );
        assert!(page.contains(r#" data-theme="dark" data-keys="off">"#), "{page}");
        assert!(page.contains("10:00"), "nine in the morning in Berlin");
        let mut conn = world.app.connection().await.unwrap();
        let chosen = preferences::load(&mut conn, acme.id, acme.owner).await.unwrap();
        assert_eq!(
            (chosen.zone.as_str(), chosen.signature.text.as_str()),
            ("Europe/Berlin", "Olga\n+49 30 1234")
        );

        // What is wrong is said, and nothing that was typed is lost.
        let long = "x".repeat(2001);
        let wrong: [[(&str, &str); 4]; 4] = [
            [("name", " "), ("zone", "UTC"), ("theme", "light"), ("signature", "kept words")],
            [("name", "Olga"), ("zone", "Mars/Olympus"), ("theme", "light"), ("signature", "kept words")],
            [("name", "Olga"), ("zone", "UTC"), ("theme", "pink"), ("signature", "kept words")],
            [("name", "Olga"), ("zone", "UTC"), ("theme", "light"), ("signature", &long)],
        ];
        for fields in wrong {
            let shown = owner.post("/profile", &fields).await;
            assert_eq!(shown.status, 400, "{fields:?}");
            assert!(
                shown.html.contains(r#"role="alert""#) && shown.html.contains(fields[3].1),
                "{}",
                shown.html
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_new_password_needs_the_old_one_and_signs_out_everywhere_else() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let here = with_cookie_of(world, &by_password(world, "mia@rookery.example", PASSWORD).await);
        let there = world.browser(acme.id, mia).await;
        let olgas = world.browser(acme.id, acme.owner).await;
        assert!(here.get("/profile").await.page().contains(r#"name="current""#));

        let change = "/profile/password";
        let wrong = here.post(change, &[("current", "not the right one"), ("password", NEW)]).await;
        assert_eq!(wrong.status, 400);
        assert!(wrong.html.contains("Current password: is not right"), "{}", wrong.html);
        let short = here.post(change, &[("current", PASSWORD), ("password", "elevenchars")]).await;
        assert!(short.status == 400 && short.html.contains("at least 12 characters"), "{}", short.html);
        assert_eq!(there.get("/settings").await.status, 200, "nothing has changed");

        let changed = here.post(change, &[("current", PASSWORD), ("password", NEW)]).await;
        assert!(changed.location().contains("done=password"), "{}", changed.location());
        assert_eq!(here.get("/settings").await.status, 303, "the old token opens nothing");
        assert_eq!(there.get("/settings").await.status, 303, "signed out there");
        assert_eq!(olgas.get("/settings").await.status, 200, "others are not touched");
        assert_eq!(with_cookie_of(world, &changed).get("/settings").await.status, 200);
        assert_eq!(by_password(world, "mia@rookery.example", PASSWORD).await.status, 401);
        assert_eq!(by_password(world, "mia@rookery.example", NEW).await.status, 303);
    })
    .await;
}

/// Who forgot their password has just read their mail.
#[tokio::test]
async fn who_came_by_a_link_sets_a_password_without_the_old_one_for_an_hour() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let path = link(world, acme.id, acme.owner).await;
        let owner = with_cookie_of(world, &world.browser_with("").post(&path, &[]).await);
        let change = "/profile/password";
        world.wait(TimeDelta::minutes(60));
        assert_eq!(owner.post(change, &[("password", NEW)]).await.status, 400, "too late");
        let path = link(world, acme.id, acme.owner).await;
        let owner = with_cookie_of(world, &world.browser_with("").post(&path, &[]).await);
        assert!(!owner.get("/profile").await.page().contains(r#"name="current""#));
        assert_eq!(owner.post(change, &[("password", NEW)]).await.status, 303);
        assert_eq!(by_password(world, "olga@rookery.example", NEW).await.status, 303);
    })
    .await;
}

/// Somebody comes to a laptop that was left open: with a password of theirs they would come back.
#[tokio::test]
async fn the_first_password_takes_a_new_session() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let left_open = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        let page = left_open.get("/profile").await.page();
        assert!(page.contains("signed in for a while") && !page.contains(r#"name="password""#), "{page}");
        let refused = left_open.post("/profile/password", &[("password", NEW)]).await;
        assert!(
            refused.status == 403 && refused.html.contains("Confirm it’s you first, then set a password."),
            "{}",
            refused.html
        );
        assert_eq!(by_password(world, "olga@rookery.example", NEW).await.status, 401);
        let fresh = world.browser(acme.id, acme.owner).await;
        assert_eq!(fresh.post("/profile/password", &[("password", NEW)]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn a_person_sees_where_they_are_signed_in_and_signs_out_of_each() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let olgas = world.browser(acme.id, acme.owner).await;
        let browsers = [
            world.browser(acme.id, mia).await,
            world.browser(acme.id, mia).await,
            world.browser(acme.id, mia).await,
        ];
        let [here, there, elsewhere] = &browsers;
        world.sql("update sessions set browser = '<script>alert(1)</script>'").await;
        let page = here.get("/profile").await.page();
        assert_eq!(page.matches("Now, this one").count(), 1);
        assert!(page.contains("&#60;script&#62;") && !page.contains("<script>alert"), "{page}");
        let ends: Vec<&str> = page
            .split(r#"action=""#)
            .filter_map(|rest| rest.split('"').next())
            .filter(|action| action.ends_with("/end"))
            .collect();
        assert_eq!(ends.len(), 2, "{ends:?}");

        // Another person's session is as if it were not there.
        let answer = olgas.post(ends[0], &[]).await;
        assert_eq!(answer.status, 303);
        assert_eq!(
            (there.get("/settings").await.status, elsewhere.get("/settings").await.status),
            (200, 200)
        );

        assert_eq!(here.post(ends[0], &[]).await.status, 303);
        let mut left = [there.get("/settings").await.status, elsewhere.get("/settings").await.status];
        left.sort();
        assert_eq!(left, [200, 303], "one of them");
        here.post("/profile/sessions/end-others", &[]).await;
        let left = [there.get("/settings").await.status, elsewhere.get("/settings").await.status];
        assert_eq!((left, here.get("/settings").await.status), ([303, 303], 200));
        assert_eq!(olgas.get("/settings").await.status, 200, "others are not touched");
    })
    .await;
}

#[tokio::test]
async fn dates_are_written_as_the_person_reads_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/profile").await.page();
        for way in ["16 Nov 2026", "Nov 16, 2026", "16.11.2026", "2026-11-16"] {
            assert!(page.contains(&format!(">{way}</option>")), "{way}: {page}");
        }
        assert!(page.contains(r#"title="Monday 6 January 2031, 09:00""#), "{page}");
        let fields = |dates: &'static str, hours: &'static str| {
            [
                ("name", "Olga"),
                ("zone", "America/New_York"),
                ("theme", "auto"),
                ("dates", dates),
                ("hours", hours),
            ]
        };
        assert_eq!(owner.post("/profile", &fields("month_day", "12")).await.status, 303);
        let page = owner.get("/profile").await.page();
        assert!(page.contains(r#"title="Monday, January 6, 2031, 4:00 AM""#), "{page}");
        assert!(page.contains("It is 4:00 AM there."), "{page}");
        let list = owner.get("/settings/people").await.page();
        assert!(list.contains("Monday, January 6, 2031, 4:00 AM"), "{list}");
        assert_eq!(owner.post("/profile", &fields("iso", "24")).await.status, 303);
        assert!(owner.get("/profile").await.page().contains("Monday 2031-01-06, 04:00"));
        assert_eq!(owner.post("/profile", &fields("roman", "24")).await.status, 400);
        // A page that was open since before says nothing of it.
        let old = [("name", "Olga"), ("zone", "UTC"), ("theme", "auto")];
        assert_eq!(owner.post("/profile", &old).await.status, 303);
        assert!(owner.get("/profile").await.page().contains("Monday 2031-01-06, 09:00"));
    })
    .await;
}

#[tokio::test]
async fn colleagues_see_who_is_out_of_office_until_they_are_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let conversation = acme.mail(help, "ada@x.example", "Parcel", "Hello").await;
        let (mias, olgas) = (world.browser(acme.id, mia).await, world.browser(acme.id, acme.owner).await);
        let key = acme.key("reader", "read", Mode::Live).await;
        let day = |days| (world.now() + TimeDelta::days(days)).format("%Y-%m-%dT17:00").to_string();
        let form = "/profile/away";
        let (long, coming, over) = ("x".repeat(5001), day(2), day(5));
        for (fields, says) in [
            (vec![("text", "Kept words")], "“Until” is required."),
            (vec![("until", "never"), ("text", "Kept words")], "“Until” must be a day and a time."),
            (vec![("until", "2001-01-01T09:00"), ("text", "Kept words")], "“Until” must be in the future."),
            (
                vec![("until", "9990-01-01T09:00"), ("text", "Kept words")],
                "“Until” must be within five years.",
            ),
            (
                vec![("until", over.as_str()), ("text", long.as_str())],
                "The text must be at most 5000 characters.",
            ),
        ] {
            let refused = mias.post(form, &fields).await;
            assert!(refused.status == 400 && refused.html.contains(says), "{says}: {}", refused.html);
            assert!(refused.html.contains(fields.last().unwrap().1), "what was typed stays");
        }

        assert_eq!(
            mias.post(form, &[("from", coming.as_str()), ("until", over.as_str()), ("text", "I am away.")])
                .await
                .status,
            303
        );
        let pages = [
            format!("/conversations/{conversation}"),
            format!("/conversations/{conversation}?compose=note"),
            "/settings/people".to_owned(),
        ];
        for page in &pages {
            assert!(!olgas.get(page).await.page().contains("Away until"), "{page}: not yet");
        }
        let people = key.conversation(conversation).await["team"]["people"].clone();
        assert!(people.as_array().unwrap().iter().all(|person| person.get("away").is_none()), "{people}");

        // Sessions end without use.
        world.wait(TimeDelta::days(3));
        let (mias, olgas) = (world.browser(acme.id, mia).await, world.browser(acme.id, acme.owner).await);
        for page in &pages {
            let shown = olgas.get(page).await.page();
            assert!(shown.contains("Away until") && !shown.contains("I am away."), "{page}: {shown}");
        }
        // Also where somebody is chosen in a field.
        let tom = acme.person("Tom", Role::Member).await;
        acme.set(conversation, &format!("assignee_type = 'user', assignee_id = {}", tom.0)).await;
        let question = olgas.get(&format!("/settings/people/{tom}/remove")).await.page();
        assert!(question.contains("Mia (out until ") && !question.contains("Olga Owner (out"), "{question}");
        for action in ["assign", "notify"] {
            let typed = [("name", "New"), ("new_then", action), ("do", "add-then")];
            let rule = olgas.post("/settings/rules/new", &typed).await.page();
            assert!(rule.contains("Mia (out until ") && !rule.contains("Tom (out"), "{action}: {rule}");
        }
        let people = key.conversation(conversation).await["team"]["people"].clone();
        let away: Vec<_> =
            people.as_array().unwrap().iter().filter(|person| person.get("away").is_some()).collect();
        assert!(
            away.len() == 1 && away[0]["name"] == "Mia" && away[0]["away"]["until"].is_string(),
            "{people}"
        );
        let own = mias.get("/profile").await.page();
        assert!(own.contains("You’re away until") && own.contains("I am away."), "{own}");

        // Another workspace's people are theirs, and the dates are Mia's alone to change.
        let other = world.workspace("Other").await;
        assert!(
            !world
                .browser(other.id, other.owner)
                .await
                .get("/settings/people")
                .await
                .page()
                .contains("Away until")
        );
        let ended = mias.post(form, &[("do", "end")]).await;
        assert!(ended.location().contains("done=away-ended"), "{}", ended.location());
        for page in &pages {
            assert!(!olgas.get(page).await.page().contains("Away until"), "{page}: she is back");
        }
        assert!(mias.get("/profile").await.page().contains("I am away."), "the text stays for the next time");
    })
    .await;
}
