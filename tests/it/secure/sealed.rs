//! Where the words of secure messages stand: on the page of whoever proved to be meant and before the team, and nowhere else.

use serde_json::json;

use super::{Desk, Guest};
use rookery_world::canary::{CANARY, stands_in};
use rookery_world::pages::writing::{leaves, write};
use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, story};

/// A secure message with a file, and an answer with one, all of them full of the canary.
async fn exchanged<'w>(desk: &Desk<'w>) -> Guest<'w> {
    let body = format!("The word is {CANARY}.");
    let composer = desk.composer().await.set("secure", "1").set("proof", "code").set("body", &body);
    composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
    let rows = rookery_world::canary::rows_with_it(&desk.world.app.pool).await;
    assert_eq!(rows, Vec::<String>::new(), "while it is written");
    let composer = desk.composer().await;
    assert_eq!(composer.get("body"), body);
    let file = format!("{CANARY} ").repeat(40_000);
    desk.attaches(&format!("{CANARY}.pdf"), file.as_bytes()).await;
    let rosa = desk.guest(&desk.sent(&desk.composer().await.set("proof", "code")).await);
    rosa.gets_in().await;
    let file = format!("%PDF-1.4 {CANARY}");
    let sent = rosa
        .replies("one", &format!("Mine is {CANARY}."), &[(&format!("{CANARY}.pdf"), file.as_bytes())])
        .await;
    assert_eq!(sent.status, 303, "{}", sent.html);
    desk.world.work().await;
    rosa
}

#[tokio::test]
async fn no_row_no_file_no_mail_no_webhook_and_no_search_has_a_word_of_it() {
    local_story(async |world| {
        let desk = Desk::new(world).await;
        let receiver = Receiver::start().await;
        desk.acme.webhook(&receiver.url, Mode::Live).await;
        let key = desk.acme.key("bot", "read,write,draft,send", Mode::Live).await;
        let rosa = exchanged(&desk).await;
        let page = rosa.opens().await.page();
        assert!(page.matches(CANARY).count() >= 4, "the canary can be seen at all: {page}");
        assert!(desk.page().await.matches(CANARY).count() >= 4);

        // A person answers plainly, an agent drafts, search catches up, notices of what is unread leave.
        let plain = desk.composer().await.without("secure").set("body", "Thank you.");
        plain.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        key.drafts(desk.id, "Shall I?").await;
        leaves(world).await;
        world.wait(chrono::TimeDelta::days(2));
        world.work().await;

        assert_eq!(world.left_of_canary().await, Vec::<String>::new());
        for mail in world.outbox.mails() {
            assert!(!stands_in(&String::from_utf8_lossy(&mail.raw)), "a mail to {}", mail.to);
        }
        let got = receiver.got();
        let kinds: Vec<String> =
            got.iter().map(|got| got.json()["type"].as_str().unwrap().to_owned()).collect();
        assert!(kinds.iter().any(|kind| kind == "client.replied"), "the answer is told of: {kinds:?}");
        assert!(got.iter().all(|got| !stands_in(&format!("{got:?}"))), "{got:?}");
        for view in ["open", "waiting", "closed"] {
            assert_eq!(key.listed(&format!("view={view}&q={CANARY}")).await, Vec::<String>::new());
        }
        let found = key.listed("view=waiting&q=deposit").await;
        assert_eq!(found, [desk.id.to_string()], "what is no secret is found");
        let mia = world.browser(desk.acme.id, desk.acme.owner).await;
        let found = mia.get(&format!("/search?q={CANARY}")).await.page();
        assert!(!found.contains(&desk.id.to_string()), "{found}");
        let told = key.conversation(desk.id).await;
        assert!(!stands_in(&told.to_string()), "{told}");
    })
    .await;
}

#[tokio::test]
async fn after_it_was_taken_back_nothing_is_reached_not_even_by_who_has_it_open() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        let rosa = exchanged(&desk).await;
        let page = rosa.opens().await.page();
        let file = page.split("/files/").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let shown = desk.page().await;
        let revoke = shown.split("action=\"/messages/").nth(1).unwrap().split('"').next().unwrap();
        assert!(revoke.ends_with("/revoke"), "{revoke}");
        assert_eq!(desk.mia.post(&format!("/messages/{revoke}"), &[]).await.status, 303);
        for path in
            [rosa.link.clone(), format!("{}/files/{file}", rosa.link), format!("{}?lang=de", rosa.link)]
        {
            let over = rosa.get(&path).await;
            assert_eq!(over.status, 410, "{path}");
            assert!(!stands_in(&over.html), "{}", over.html);
        }
        for what in ["code", "open", "lock"] {
            assert_eq!(rosa.posts(what, &[("proof", "123456")]).await.status, 410, "{what}");
        }
        assert_eq!(rosa.replies("two", "Hello?", &[]).await.status, 410);
        let told = key.told(desk.id, "secure-ended").await;
        assert_eq!(told[0]["reason"], json!("revoked"), "{told:?}");
        assert!(desk.page().await.contains("taken back"));
        assert_eq!(world.events("client.replied").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn after_thirty_days_nothing_is_reached() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = exchanged(&desk).await;
        world.wait(chrono::TimeDelta::days(30) - chrono::TimeDelta::minutes(5));
        rosa.takes_cookie(None);
        rosa.gets_in().await;
        assert!(stands_in(&rosa.opens().await.page()));
        world.wait(chrono::TimeDelta::minutes(6));
        let over = rosa.opens().await;
        assert_eq!(over.status, 410);
        assert!(!stands_in(&over.html));
        let mia = world.browser(desk.acme.id, desk.acme.owner).await;
        let page = mia.get(&format!("/conversations/{}", desk.id)).await.page();
        assert!(stands_in(&page), "the team has it still");
    })
    .await;
}
