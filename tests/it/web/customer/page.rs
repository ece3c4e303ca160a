//! The private page itself: what it shows and to whom, in which language, what its answers carry, when it ends.

use chrono::TimeDelta;
use serde_json::json;

use rookery_world::pages::customer::{Customer, asked, leaves, link_in};
use rookery_world::{Mode, story};

fn three() -> serde_json::Value {
    json!([
        { "label": "Passport <b>", "description": "both pages" },
        { "label": "Payslip" },
        { "label": "Photo", "required": false },
    ])
}

/// proves: DREQ-9
#[tokio::test]
async fn the_page_shows_the_checklist_without_login_and_no_word_of_the_mail() {
    story(async |world| {
        let acme = world.workspace("Larkfield Homes").await;
        let (_, _, ada) = asked(&acme, three()).await;
        let shown = ada.opens(&ada.link).await;
        assert!(!shown.headers.contains_key("set-cookie"));
        let page = shown.page();
        for part in [
            "Larkfield Homes",
            "Passport &#60;b&#62;",
            "both pages",
            "Payslip",
            "Nice to have",
            "Photo",
            "0 of 2",
            "Monday, 20 January",
            "Friday, 7 March",
            "capture=\"environment\"",
            "enctype=\"multipart/form-data\"",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        for secret in [
            "ada@customer.example",
            "Olga",
            "Please send us the documents listed below",
            "Loan",
            "/inbox",
            "/sign-in",
        ] {
            assert!(!page.contains(secret), "{secret}");
        }
        assert!(!page.contains("<script>") && !page.contains(" style="), "{page}");
        assert_eq!(
            world.scalar("select count(*) from timeline_events where event like 'document-%'").await,
            0,
            "to open it changes nothing"
        );
    })
    .await;
}

#[tokio::test]
async fn the_page_speaks_the_browsers_language_or_the_one_that_is_chosen() {
    story(async |world| {
        let acme = world.workspace("Larkfield Homes").await;
        let (_, _, ada) = asked(&acme, three()).await;
        for (languages, code, words) in [
            ("de-AT,de;q=0.9", "de", "Bitte bis <b>Montag, 20. Januar</b>."),
            ("fr", "fr", "lundi 20 janvier"),
            ("es-MX", "es", "lunes, 20 de enero"),
            ("it", "it", "luned\u{ec} 20 gennaio"),
            ("nl", "nl", "maandag 20 januari"),
            ("pt-BR,pt;q=0.8", "pt", "segunda-feira, 20 de janeiro"),
            ("ja", "en", "Please send them by <b>Monday, 20 January</b>."),
        ] {
            let shown = ada.opens_in(&ada.link, languages).await;
            assert_eq!(shown.headers["content-language"], code);
            let page = shown.page();
            assert!(
                page.contains(&format!("<html lang=\"{code}\">")) && page.contains(words),
                "{languages}: {page}"
            );
        }
        let chosen = ada.opens_in(&format!("{}?lang=nl", ada.link), "de").await.page();
        assert!(
            chosen.contains("<html lang=\"nl\">") && chosen.contains("?lang=nl\">"),
            "its forms stay in it: {chosen}"
        );
        let nothing = ada.opens_in("/upload/wsp_1/req_1/x", "de").await;
        assert!(nothing.status == 404 && nothing.html.contains("Hier ist nichts"), "{}", nothing.html);
    })
    .await;
}

/// proves: DREQ-10
#[tokio::test]
async fn a_guessed_altered_or_foreign_link_is_the_same_nothing_and_guessing_ends_soon() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, three()).await;
        let [_, _, workspace, request, token] = ada.link.split('/').collect::<Vec<_>>()[..] else {
            panic!("{}", ada.link)
        };
        assert_eq!(token.len(), 43, "256 bits");
        let other = key
            .replies(id, json!({ "body": "More.", "documents": [{ "label": "Contract" }], "send": true }))
            .await;
        let text = key.message(id, &other).await["text"].as_str().unwrap().to_owned();
        let not_sent_yet = link_in(&text);
        leaves(world).await;
        let sound = link_in(&world.outbox.letters().pop().unwrap().text);
        assert_eq!(sound, not_sent_yet);
        let foreign = sound.split('/').nth(3).unwrap();
        let altered: String = token.chars().rev().collect();
        let nothing = ada.opens(&format!("/upload/{workspace}/req_zzzzzzzzzzzzz/{token}")).await;
        assert_eq!(nothing.status, 404);
        for path in [
            format!("/upload/{workspace}/{request}/{altered}"),
            format!("/upload/{workspace}/{request}/{}", &token[1..]),
            format!("/upload/{workspace}/{request}/x"),
            format!("/upload/{workspace}/{foreign}/{token}"),
            format!("/upload/wsp_0000000000001/{request}/{token}"),
            format!("/upload/cnv_1/{request}/{token}"),
        ] {
            let refused = ada.opens(&path).await;
            assert_eq!((refused.status, &refused.html), (404, &nothing.html), "{path}");
            let items = ada.items().await;
            let refused = ada
                .posts(
                    &format!("{path}/{}", items[0]),
                    &[("a.pdf", &rookery_world::pages::customer::pdf("a"))],
                )
                .await;
            assert_eq!(refused.status, 404, "{path}");
        }
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        let mut statuses = Vec::new();
        for n in 0..60 {
            statuses.push(ada.opens(&format!("/upload/{workspace}/{request}/guess{n}")).await.status);
        }
        assert!(statuses.contains(&429) && !statuses.contains(&200), "{statuses:?}");
        world.wait(TimeDelta::minutes(16));
        ada.page().await;
    })
    .await;
}

#[tokio::test]
async fn the_link_of_mail_that_has_not_left_or_was_stopped_opens_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Loan", "Hello").await;
        let body = json!({ "body": "Please.", "documents": [{ "label": "Passport" }], "send": true });
        let message = key.replies(id, body).await;
        let first = link_in(key.message(id, &message).await["text"].as_str().unwrap());
        let ada = Customer::with(world, &first);
        assert_eq!(ada.opens(&first).await.status, 404, "nobody has it yet");
        acme.undo(acme.owner, &message).await.unwrap();
        acme.approve(acme.owner, &message, None).await.unwrap();
        leaves(world).await;
        assert_eq!(ada.opens(&first).await.status, 404, "it was never mailed");
        let second = link_in(&world.outbox.letters().pop().unwrap().text);
        assert_eq!(ada.opens(&second).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn every_answer_is_for_nobody_else() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, three()).await;
        let item = ada.items().await.remove(0);
        let mut answers = vec![
            ada.opens(&ada.link).await,
            ada.opens("/upload/wsp_1/req_1/x").await,
            ada.sends(&item, &[("a.zip", b"PK\x03\x04")]).await,
            ada.sends(&item, &[]).await,
            ada.sends(&item, &[("a.pdf", &rookery_world::pages::customer::pdf("a"))]).await,
            ada.sends(&item, &[("large.txt", &vec![b'x'; 25_000_001])]).await,
        ];
        world.wait(TimeDelta::days(61));
        answers.push(ada.opens(&ada.link).await);
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [200, 404, 422, 422, 303, 413, 410]);
        for answer in answers {
            let header = |name: &str| answer.headers[name].to_str().unwrap();
            assert!(header("x-robots-tag").contains("noindex"));
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("x-frame-options"), "DENY");
            let policy = header("content-security-policy");
            for part in [
                "default-src 'none'",
                "script-src 'self'",
                "form-action 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
            ] {
                assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
            }
            assert!(!answer.headers.contains_key("set-cookie"));
        }
    })
    .await;
}

/// proves: DREQ-18
#[tokio::test]
async fn a_link_ends_sixty_days_after_the_mail_or_fourteen_after_everything_is_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        world.wait(TimeDelta::days(60) - TimeDelta::seconds(1));
        ada.page().await;
        world.wait(TimeDelta::seconds(1));
        let ended = ada.opens(&ada.link).await;
        assert!(ended.status == 410 && ended.html.contains("This link has ended"), "{}", ended.html);
        assert!(!ended.html.contains("Passport"));
        let refused = ada.sends(&item, &[("a.pdf", &rookery_world::pages::customer::pdf("a"))]).await;
        assert_eq!(refused.status, 410);
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        world.work().await;
        assert_eq!(world.requests().await, ["expired"]);
        assert_eq!(key.told(id, "documents-expired").await.len(), 1);
        assert_eq!(ada.opens(&ada.link).await.status, 410);

        let (_, _, bob) = {
            let body = json!({ "documents": [{ "label": "Contract" }], "send": true });
            key.post(&format!("/conversations/{id}/document-requests"), body).await;
            leaves(world).await;
            let link = link_in(&world.outbox.letters().pop().unwrap().text);
            ((), (), Customer::with(world, &link))
        };
        let item = bob.items().await.remove(0);
        world.wait(TimeDelta::days(50));
        bob.gives(&item, "one").await;
        assert!(bob.page().await.contains("Thank you. Everything is here."));
        world.wait(TimeDelta::days(14) - TimeDelta::seconds(1));
        bob.gives(&item, "another page").await;
        world.wait(TimeDelta::seconds(1));
        assert_eq!(bob.opens(&bob.link).await.status, 410);
        world.work().await;
        assert_eq!(world.events("ask.completed").await.len(), 1);
    })
    .await;
}
