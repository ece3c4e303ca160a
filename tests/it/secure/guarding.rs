//! Those who are not meant: scanners, guessers, whoever a link was passed on to, links of another kind.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::json;

use super::{Desk, Guest, ROSA, an_hour, code_in_mail};
use rookery_world::pages::customer::link_in;
use rookery_world::{Mode, story};

const WORDS: &str = "Your account ends with 4471.";

/// Opens, heads and follows everything, and presses every button, as scanners of mail do.
async fn scans(robot: &Guest<'_>) {
    for method in [Method::HEAD, Method::GET, Method::OPTIONS] {
        robot.asks(method, &robot.link).await;
    }
    let page = robot.opens().await.html;
    for part in page.split("href=\"").skip(1) {
        let path = part.split('"').next().unwrap();
        if path.starts_with("/secure/") {
            robot.get(path).await;
        }
    }
    for what in ["code", "open", "lock", "reply", "code"] {
        robot.posts(what, &[]).await;
        let shown = robot.opens().await;
        assert!(!shown.html.contains("4471"), "{}", shown.html);
    }
    robot.get(&format!("{}?step=code", robot.link)).await;
    robot.tries("").await;
}

#[tokio::test]
async fn a_scanner_that_presses_every_button_reads_nothing_and_burns_nothing() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        let link = desk.sends(WORDS).await;
        let rosa = desk.guest(&link);
        let code = rosa.asks_for_code().await;
        for _ in 0..3 {
            scans(&desk.guest(&link)).await;
            world.wait(TimeDelta::minutes(2));
            world.work().await;
        }
        assert_eq!(code_in_mail(world), code, "asked for again, it is the same code");
        assert_eq!(key.told(desk.id, "secure-read").await, Vec::<serde_json::Value>::new());
        assert!(desk.page().await.contains("not read yet"));
        let wrong = world.scalar("select wrong_tries::bigint from secure_pages").await;
        assert_eq!(wrong, 0, "a button without a code is no try");
        assert_eq!(rosa.tries(&code).await.status, 303, "the first code is good still");
        assert!(rosa.opens().await.page().contains("4471"));
        assert_eq!(key.told(desk.id, "secure-read").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn guessing_a_code_locks_the_page_and_at_last_ends_the_link() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        let link = desk.sends(WORDS).await;
        let (rosa, eve) = (desk.guest(&link), desk.guest(&link));
        for round in 0..4 {
            let code = rosa.asks_for_code().await;
            let wrong = if code == "000000" { "000001" } else { "000000" };
            for n in 1..=4 {
                let shown = eve.tries(wrong).await;
                assert_eq!(shown.status, 422, "{}", shown.html);
                assert!(shown.html.contains(&format!("Tries left: {}.", 5 - n)), "{}", shown.html);
            }
            let fifth = eve.tries(wrong).await;
            if round == 3 {
                assert_eq!(fifth.status, 410, "twenty end it");
                break;
            }
            assert_eq!(fifth.status, 429, "{}", fifth.html);
            assert_eq!(rosa.tries(&code).await.status, 429, "also for the right one");
            world.wait(TimeDelta::minutes(16));
            assert_eq!(rosa.tries(&code).await.status, 422, "by then the code is over too");
            world.wait(an_hour());
        }
        assert_eq!(rosa.opens().await.status, 410);
        let told = key.told(desk.id, "secure-ended").await;
        assert_eq!(told[0]["reason"], json!("guessed"), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn a_right_code_forgives_what_was_mistyped() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        let code = rosa.asks_for_code().await;
        let wrong = if code == "000000" { "000001" } else { "000000" };
        for _ in 0..4 {
            rosa.tries(wrong).await;
        }
        let spaced = format!(" {} {}", &code[..3], &code[3..]);
        assert_eq!(rosa.tries(&spaced).await.status, 303);
        assert_eq!(world.scalar("select wrong_tries::bigint from secure_pages").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_thousand_passphrases_at_once_are_five() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let link = desk.sends_with("blue horse 7", WORDS).await;
        let guests: Vec<Guest<'_>> = (0..40).map(|_| desk.guest(&link)).collect();
        let tries = guests
            .iter()
            .enumerate()
            .map(async |(n, guest)| guest.tries(&format!("guess number {n}")).await.status);
        let statuses = futures::future::join_all(tries).await;
        let looked_at = statuses.iter().filter(|status| **status == 422).count();
        assert!(looked_at <= 4, "{statuses:?}");
        assert_eq!(world.scalar("select wrong_tries::bigint from secure_pages").await, 5);
        assert_eq!(desk.guest(&link).tries("blue horse 7").await.status, 429);
        world.wait(TimeDelta::minutes(16));
        assert_eq!(desk.guest(&link).tries("blue horse 7").await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn a_link_that_was_passed_on_has_its_code_sent_to_the_one_who_is_meant() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let eve = desk.guest(&desk.sends(WORDS).await);
        let shown = eve.posts("code", &[("address", "eve@evil.example"), ("to", "eve@evil.example")]).await;
        assert_eq!(shown.status, 303);
        world.work().await;
        let letter = world.outbox.letters().pop().unwrap();
        assert_eq!(letter.to, ROSA);
        assert!(letter.copies.all().next().is_none());
        assert!(
            letter.subject.contains("Acme") && !letter.text.contains("eve") && !letter.text.contains("4471")
        );
        assert!(!eve.opens().await.page().contains("4471"));
    })
    .await;
}

#[tokio::test]
async fn nobody_is_mailed_more_than_six_codes_an_hour_and_two_clicks_are_one_mail() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let link = desk.sends(WORDS).await;
        let before = world.outbox.letters().len();
        let eve = desk.guest(&link);
        for _ in 0..3 {
            eve.posts("code", &[]).await;
        }
        world.work().await;
        assert_eq!(world.outbox.letters().len(), before + 1, "within a minute");
        let mut statuses = Vec::new();
        for _ in 0..6 {
            world.wait(TimeDelta::minutes(3));
            statuses.push(eve.posts("code", &[]).await.status);
            world.work().await;
        }
        assert_eq!(world.outbox.letters().len(), before + 6, "{statuses:?}");
        let noted = world.scalar("select count(*) from secure_visits where what = 'code-sent'").await;
        assert_eq!(noted, 6, "only what was mailed is noted");
        assert_eq!(statuses.last(), Some(&429));
        world.wait(an_hour());
        assert_eq!(eve.posts("code", &[]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn tokens_and_cookies_of_anything_else_open_nothing() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read,write,draft,send", Mode::Live).await;
        let first = desk.sends(WORDS).await;
        let second = desk.sends_with("blue horse 7", "The other ends with 9902.").await;
        let rosa = desk.guest(&first);
        rosa.gets_in().await;
        let cookie = rosa.cookie();
        assert!(rosa.opens().await.page().contains("4471"));

        let other = desk.guest(&second);
        other.takes_cookie(cookie.clone());
        assert!(!other.opens().await.page().contains("9902"), "the cookie of one page opens no other");
        let page = rosa.opens().await.page();
        assert!(!page.contains("9902"), "what a passphrase guards stands on no other page: {page}");

        let (place, token) = first.rsplit_once('/').unwrap();
        let (other_place, _) = second.rsplit_once('/').unwrap();
        let asked = json!({ "documents": [{ "label": "Lease" }], "send": true });
        key.post(&format!("/conversations/{}/document-requests", desk.id), asked).await;
        rookery_world::pages::writing::leaves(world).await;
        let upload = link_in(&world.outbox.letters().pop().unwrap().text);
        let upload_token = upload.rsplit('/').next().unwrap();
        let visit = cookie.as_deref().unwrap().split_once('=').unwrap().1;
        for (place, token) in [
            (other_place, token),
            (place, upload_token),
            (place, visit),
            (place, &token[1..]),
            (place, ""),
            ("/upload/wsp_0000000000001/req_0000000000001", token),
        ] {
            let shown = desk.guest("/").get(&format!("{place}/{token}")).await;
            assert_eq!(shown.status, 404, "{place}/{token}");
        }
        let forged = Guest::with(world, &first);
        for value in [token.to_owned(), format!("9999999999.{token}"), "9999999999.".into(), String::new()] {
            forged.takes_cookie(Some(format!("secure_visit={value}")));
            assert!(!forged.opens().await.page().contains("4471"), "{value}");
        }
        let flags = rosa.posts("lock", &[]).await;
        assert!(
            flags.cookie().contains(&format!("Path={first}; Max-Age=0; HttpOnly; SameSite=Lax")),
            "{}",
            flags.cookie()
        );
        rosa.takes_cookie(None);
        assert!(!rosa.opens().await.page().contains("4471"));
    })
    .await;
}

#[tokio::test]
async fn a_proof_holds_eight_hours_in_every_tab_and_a_double_click_is_one_message() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let link = desk.sends(WORDS).await;
        let (one, two) = (desk.guest(&link), desk.guest(&link));
        let code = one.asks_for_code().await;
        assert_eq!(one.tries(&code).await.status, 303);
        assert_eq!(two.tries(&code).await.status, 422, "in another browser the code is used up");
        two.takes_cookie(one.cookie());
        assert_eq!(two.tries(&code).await.status, 303, "in another tab it does not matter");
        let clicks = (0..2).map(|_| one.replies("same", "Thank you.", &[("a.pdf", b"%PDF-1.4")]));
        let shown = futures::future::join_all(clicks).await;
        assert!(shown.iter().all(|shown| shown.status == 303), "{shown:?}");
        assert_eq!(world.events("client.replied").await.len(), 1);
        assert_eq!(world.scalar("select count(*) from secure_files").await, 1);
        assert_eq!(two.replies("other", "Thank you.", &[]).await.status, 303);
        assert_eq!(
            world.events("client.replied").await.len(),
            2,
            "the same words on another form are another message"
        );
        world.wait(TimeDelta::hours(8));
        assert!(!one.opens().await.page().contains("4471"));
        let late = one.replies("late", "Too late", &[]).await;
        assert_eq!(late.status, 422, "the way in");
        assert!(late.html.contains("Too late") && !late.html.contains("4471"), "{}", late.html);
        assert_eq!(world.events("client.replied").await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_page_shows_its_own_address_and_conversation_and_nothing_of_others() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        rosa.gets_in().await;
        let plain = desk.composer().await.without("secure").set("body", "An ordinary mail 5150.");
        plain.press(&desk.mia, &rookery_world::pages::writing::write(desk.id), ("do", "send")).await;
        let other = desk.composer().await.set("secure", "1").set("proof", "code");
        let other = other.set("to", "lawyer@firm.example").set("body", "For the lawyer 7007.");
        rookery_world::pages::writing::leaves(world).await;
        let lawyer = desk.guest(&desk.sent(&other).await);
        let page = rosa.opens().await.page();
        assert!(page.contains("4471") && !page.contains("5150") && !page.contains("7007"), "{page}");
        let code = lawyer.asks_for_code().await;
        assert_eq!(world.outbox.letters().pop().unwrap().to, "lawyer@firm.example");
        assert_eq!(lawyer.tries(&code).await.status, 303);
        let page = lawyer.opens().await.page();
        assert!(page.contains("7007") && !page.contains("4471"), "{page}");
    })
    .await;
}
