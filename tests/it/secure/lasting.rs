//! A secure page over time: what locks whom out and what does not, what a proof is worth when something fails, what is kept
//! of an answer, and what leaves with an export.

use chrono::TimeDelta;
use rookery_base::ids::MessageId;
use rookery_base::limits::customers::Visits;
use rookery_base::secrets::hashes::sha256;
use rookery_core::conversations::secure::answer::{self, AnswerRefusal, SecureAnswer};
use rookery_core::conversations::secure::page;
use rookery_core::conversations::secure::vault::Vault;

use super::{Desk, ROSA, code_in_mail};
use rookery_world::pages::writing::{leaves, write};
use rookery_world::story;
use rookery_world::verbs::erasing::{made, unpacked};

const WORDS: &str = "Your account ends with 4471.";

#[tokio::test]
async fn whoever_names_an_address_elsewhere_locks_nobody_out_of_their_page() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        let elsewhere = Visits::CodesOfAddress(sha256(ROSA));
        while world.app.customers.count(elsewhere, world.now()).is_ok() {}
        rosa.gets_in().await;
        assert!(rosa.opens().await.page().contains("4471"));
    })
    .await;
}

#[tokio::test]
async fn however_often_somebody_guesses_the_team_sees_when_it_was_read_and_locked() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        let code = rosa.asks_for_code().await;
        world
            .sql(
                "insert into secure_visits (workspace_id, message_id, id, at, what)
                 select workspace_id, message_id, n, now(), 'wrong' from secure_pages, generate_series(1, 300) n",
            )
            .await;
        let wrong = if code == "000000" { "000001" } else { "000000" };
        for _ in 0..5 {
            rosa.tries(wrong).await;
        }
        let noted = world.scalar("select count(*) from secure_visits where what = 'wrong'").await;
        assert_eq!(noted, 300, "more of the same is noise");
        world.wait(TimeDelta::minutes(16));
        rosa.gets_in().await;
        let page = desk.page().await;
        assert!(page.contains(": locked for 15 minutes<") && page.contains(": read<"), "{page}");
        assert_eq!(page.matches(": a wrong try<").count(), 10, "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_bounce_that_comes_after_the_mail_has_left_ends_no_link() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        rosa.gets_in().await;
        world.sql("update messages set status = 'failed' where sealed is not null").await;
        assert!(rosa.opens().await.page().contains("4471"));
        assert_eq!(rosa.replies("one", "Thank you.", &[]).await.status, 303);
        assert!(desk.page().await.contains("Revoke link"));
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_on_its_way_when_the_link_was_taken_back_is_not_taken() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let link = desk.sends(WORDS).await;
        let message = MessageId(world.scalar("select message_id from secure_pages").await);
        let keys = world.app.config.secret_key.as_ref().unwrap();
        let mut conn = world.app.connection().await.unwrap();
        let token = link.rsplit('/').next().unwrap();
        let page = page::find(&mut conn, keys, desk.acme.id, message, token).await.unwrap().unwrap();
        assert_eq!(desk.mia.post(&format!("/messages/{message}/revoke"), &[]).await.status, 303);
        let mut tx = world.app.begin(desk.acme.id).await.unwrap();
        let vault = Vault::must(&mut tx, keys, desk.acme.id).await.unwrap();
        let late = SecureAnswer { text: "Mine ends with 9902.", files: &[], once: "one" };
        let written = answer::write(&mut tx, &vault, &page, late).await.unwrap();
        assert!(matches!(written, Err(AnswerRefusal::Ended)), "{written:?}");
    })
    .await;
}

#[tokio::test]
async fn the_last_try_opens_the_page_when_it_is_right_and_ends_the_link_when_it_is_not() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let (right, wrong) = ("blue horse 7", "red horse 8");
        let link = desk.sends_with(right, WORDS).await;
        let guesses = async || {
            let guest = desk.guest(&link);
            for n in 1..20 {
                let expected = if n % 5 == 0 { 429 } else { 422 };
                assert_eq!(guest.tries(wrong).await.status, expected, "{n}");
                if n % 5 == 0 {
                    world.wait(TimeDelta::minutes(16));
                }
            }
        };
        guesses().await;
        assert_eq!(desk.guest(&link).tries(right).await.status, 303);
        guesses().await;
        assert_eq!(desk.guest(&link).tries(wrong).await.status, 410);
        assert_eq!(desk.guest(&link).tries(right).await.status, 410);
    })
    .await;
}

#[tokio::test]
async fn a_passphrase_is_the_same_however_a_keyboard_puts_its_letters_together() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends_with("Bl\u{fc}tenpferd 7", WORDS).await);
        assert_eq!(rosa.tries("BLU\u{308}TENPFERD\u{a0}\u{ff17}").await.status, 303);
        assert!(rosa.opens().await.page().contains("4471"));
    })
    .await;
}

#[tokio::test]
async fn a_code_that_is_used_up_opens_the_page_also_when_the_receipt_cannot_be_written() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        let code = rosa.asks_for_code().await;
        world
            .sql(
                "create function refuse() returns trigger language plpgsql as
                     $$ begin raise exception 'poison' using errcode = '22000'; end $$;
                 create trigger refuse before update on secure_pages for each row
                     when (new.first_read_at is not null) execute function refuse()",
            )
            .await;
        assert_eq!(rosa.tries(&code).await.status, 303);
        world.sql("drop function refuse cascade").await;
        assert!(rosa.opens().await.page().contains("4471"), "no other code is needed");
        assert!(!desk.page().await.contains("not read yet"));
    })
    .await;
}

#[tokio::test]
async fn a_reply_that_comes_after_eight_hours_goes_along_through_the_way_in() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(WORDS).await);
        rosa.gets_in().await;
        world.wait(TimeDelta::hours(9));
        let typed = "Mine ends with 9902.\nThank you.";
        let late = rosa.replies("one", typed, &[("a.pdf", b"%PDF-1.4")]).await;
        assert_eq!(late.status, 422);
        let carried = format!("name=\"kept\">\n{typed}</textarea>");
        assert!(late.html.contains(&carried) && late.html.contains("not sent yet"), "{}", late.html);
        let asked = rosa.posts("code", &[("kept", typed)]).await;
        assert!(asked.status == 200 && asked.html.contains(&carried), "{}", asked.html);
        world.work().await;
        let wrong = rosa.posts("open", &[("proof", "12"), ("kept", typed)]).await;
        assert!(wrong.status == 422 && wrong.html.contains(&carried), "{}", wrong.html);
        let opened = rosa.posts("open", &[("proof", &code_in_mail(world)), ("kept", typed)]).await;
        assert_eq!(opened.status, 200, "{}", opened.html);
        let reply = format!("name=\"text\" rows=\"4\" dir=\"auto\">\n{typed}</textarea>");
        assert!(opened.html.contains("4471") && opened.html.contains(&reply), "{}", opened.html);
        assert_eq!(world.scalar("select count(*) from secure_files").await, 0);
        assert_eq!(rosa.replies("one", typed, &[]).await.status, 303);
        assert_eq!(world.events("client.replied").await.len(), 1);

        // What is longer than a form of a stranger is shown, so that it can be copied.
        world.wait(TimeDelta::hours(9));
        let long = rosa.replies("two", &"word ".repeat(8_000), &[]).await;
        assert_eq!(long.status, 422);
        assert!(long.html.contains("word word") && !long.html.contains("name=\"kept\""));
    })
    .await;
}

#[tokio::test]
async fn files_run_nothing_and_no_browser_keeps_them() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer = desk.composer().await.set("secure", "1").set("proof", "code").set("body", "See it.");
        composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        desk.attaches("settlement.pdf", b"%PDF-1.4 settlement").await;
        let link = desk.sent(&desk.composer().await.set("proof", "code")).await;
        let rosa = desk.guest(&link);
        rosa.gets_in().await;
        let page = rosa.opens().await;
        assert!(page.headers["content-security-policy"].to_str().unwrap().contains("script-src 'self'"));
        let file = page.html.split("/files/").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let given = rosa.get(&format!("{link}/files/{file}")).await;
        assert_eq!(given.headers["content-security-policy"], "sandbox; default-src 'none'");
        assert_eq!(given.headers["cache-control"], "no-store");
        let message = MessageId(world.scalar("select message_id from secure_pages").await);
        for what in ["", "/preview"] {
            let seen = desk.mia.get(&format!("/messages/{message}/files/0{what}")).await;
            assert_eq!(seen.status, 200, "{what}");
            assert_eq!(seen.headers["cache-control"], "private, no-store", "{what}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_export_of_somebody_has_their_own_secure_words_and_files_and_one_of_the_workspace_has_none() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer = desk.composer().await.set("secure", "1").set("proof", "code").set("body", WORDS);
        composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        desk.attaches("settlement.txt", b"settlement 2340").await;
        let rosa = desk.guest(&desk.sent(&desk.composer().await.set("proof", "code")).await);
        rosa.gets_in().await;
        assert_eq!(rosa.replies("one", "Mine ends with 9902.", &[]).await.status, 303);
        let other =
            desk.composer().await.set("secure", "1").set("proof", "code").set("body", "For you: 7007.");
        desk.sent(&other.set("to", "lawyer@firm.example")).await;
        let stopped =
            desk.composer().await.set("secure", "1").set("proof", "code").set("body", "Not yet: 5150.");
        let shown = stopped.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        let message = shown.location().split("of=").nth(1).unwrap().to_owned();
        desk.acme.undo(desk.acme.owner, &message).await.unwrap();
        leaves(world).await;

        let mia = world.browser(desk.acme.id, desk.acme.owner).await;
        let export = async |fields: &[(&str, &str)]| {
            assert_eq!(mia.post("/settings/data/exports", fields).await.status, 303);
            world.work().await;
            let id = made(&mia.get("/settings/data").await.page());
            unpacked(world, &mia, &format!("/settings/data/exports/{id}/download"), &[]).await
        };
        let (names, text) = export(&[("what", "contact"), ("who", ROSA)]).await;
        for own in [WORDS, "Mine ends with 9902.", "settlement 2340"] {
            assert!(text.contains(own), "{own}: {text}");
        }
        assert!(names.iter().any(|name| name.ends_with("-0-settlement.txt")), "{names:?}");
        for others in ["For you: 7007.", "Not yet: 5150."] {
            assert!(!text.contains(others), "{others}: {text}");
        }
        world.wait(TimeDelta::minutes(1));
        let (_, text) = export(&[("what", "workspace")]).await;
        for word in [WORDS, "Mine ends with 9902.", "settlement 2340", "For you: 7007.", "Not yet: 5150."] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(text.contains("Secure message"));
    })
    .await;
}
