//! Writing as a secure link: what was chosen stays chosen, whatever page the words come from, and nothing that was to be
//! sealed is sent as an ordinary email.

use chrono::TimeDelta;
use serde_json::json;

use super::{Desk, ROSA};
use rookery_world::canary::{CANARY, rows_with_it};
use rookery_world::pages::customer::link_in;
use rookery_world::pages::writing::{Composer, leaves, write};
use rookery_world::{Mode, story};

/// Files that are attached to drafts, as they lie in the store.
fn plain_files(desk: &Desk<'_>) -> usize {
    desk.world.files().into_iter().filter(|file| file.to_string_lossy().contains("/file/")).count()
}

fn letters_to_rosa(desk: &Desk<'_>) -> usize {
    desk.world.outbox.letters().iter().filter(|letter| letter.to == ROSA).count()
}

#[tokio::test]
async fn a_saved_reply_that_is_inserted_leaves_a_secure_draft_secure() {
    story(async |world| {
        let desk = Desk::new(world).await;
        desk.mia.post("/settings/saved-replies", &[("name", "Greeting"), ("body", "Kind regards.")]).await;
        let composer = desk.composer().await.set("secure", "1").set("proof", "passphrase");
        let composer = composer.set("body", &format!("It is {CANARY}."));
        composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        let list = format!(
            "/conversations/{}/saved-replies?kind=reply&draft={}",
            desk.id,
            desk.composer().await.get("draft")
        );
        let page = desk.mia.get(&list).await.page();
        let reply = page.split("name=\"insert\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = page.replace("<form class=\"compose\"", "<form id=\"composer-form\"");
        let inserted = Composer::of(form).press(&desk.mia, &write(desk.id), ("insert", reply)).await;
        assert_eq!(inserted.status, 303, "{}", inserted.html);
        assert_eq!(rows_with_it(&world.app.pool).await, Vec::<String>::new());
        let composer = desk.composer().await;
        assert!(composer.has("secure") && composer.get("proof") == "passphrase", "{}", composer.html);
        let body = composer.get("body");
        assert!(body.contains(CANARY) && body.contains("Kind regards."), "{body}");

        // Before anything was written, the conversation's own choice holds.
        desk.sent(&composer.set("passphrase", "blue horse 7")).await;
        let page = desk.mia.get(&format!("/conversations/{}/saved-replies?kind=reply", desk.id)).await.page();
        assert!(page.contains("name=\"secure\" value=\"1\""), "{page}");
    })
    .await;
}

#[tokio::test]
async fn what_opens_it_stays_chosen_and_without_a_passphrase_nothing_leaves() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends("Hello.").await);
        rosa.gets_in().await;
        let before = letters_to_rosa(&desk);
        let typed = desk.composer().await.set("secure", "1").set("proof", "passphrase").set("body", "4471");
        let typed = typed.set("passphrase", "blue horse 7");
        // An answer crosses it, so it is shown again, without the passphrase, which is kept nowhere.
        assert_eq!(rosa.replies("one", "Hello?", &[]).await.status, 303);
        let shown = typed.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        assert!(shown.location().contains("check=send"), "{}", shown.location());
        let composer = desk.composer().await;
        assert_eq!(composer.get("proof"), "passphrase", "{}", composer.html);
        assert!(!composer.html.contains("blue horse 7"));
        let shown = composer.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        assert!(shown.location().contains("passphrase=1"), "{}", shown.location());
        leaves(world).await;
        assert_eq!(letters_to_rosa(&desk), before);

        let composer = desk.composer().await.set("passphrase", "blue horse 7");
        let shown = composer.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        let message = shown.location().split("of=").nth(1).expect("it is sent").to_owned();
        desk.acme.undo(desk.acme.owner, &message).await.unwrap();
        desk.mia.post(&format!("/messages/{message}/take-over"), &[]).await;
        let composer = desk.composer().await;
        assert!(composer.has("secure") && composer.get("proof") == "passphrase", "{}", composer.html);
    })
    .await;
}

#[tokio::test]
async fn a_click_that_says_secure_never_sends_what_was_saved_as_an_ordinary_mail() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let page = desk.composer().await.set("page", "abc").set("body", "It is 4471.");
        page.clone().set("save", "2").press(&desk.mia, &write(desk.id), ("do", "save")).await;
        // The click's own words come late and change nothing, but it was meant to be secure.
        let click = page.set("save", "1").set("secure", "1").set("proof", "code");
        let shown = click.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        assert!(shown.location().contains("check=newer"), "{}", shown.location());
        leaves(world).await;
        assert_eq!(letters_to_rosa(&desk), 0);
    })
    .await;
}

#[tokio::test]
async fn words_of_another_window_are_sealed_with_the_draft_that_becomes_secure() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let (one, two) = (desk.composer().await, desk.composer().await);
        one.set("body", "It is.").press(&desk.mia, &write(desk.id), ("do", "save")).await;
        let other = two.set("body", &format!("Other words: {CANARY}."));
        other.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        assert_eq!(rows_with_it(&world.app.pool).await.len(), 1, "kept beside, and plain so far");
        let composer = desk.composer().await.set("secure", "1");
        composer.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        assert_eq!(rows_with_it(&world.app.pool).await, Vec::<String>::new());
        assert!(desk.composer().await.html.contains(CANARY), "nobody's words are lost");
        // A window that knows nothing of the choice crosses it.
        other.press(&desk.mia, &write(desk.id), ("do", "save")).await;
        assert_eq!(rows_with_it(&world.app.pool).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn files_of_a_secure_draft_that_is_thrown_away_go_at_once_and_others_within_days() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let thrown_away = async |secure: bool| {
            desk.attaches("settlement.pdf", b"settlement 2340").await;
            assert_eq!(plain_files(&desk), 1);
            let composer = desk.composer().await;
            let composer = if secure { composer.set("secure", "1") } else { composer.without("secure") };
            composer.press(&desk.mia, &write(desk.id), ("do", "discard")).await;
            world.work().await;
        };
        thrown_away(true).await;
        assert_eq!(plain_files(&desk), 0);
        thrown_away(false).await;
        assert_eq!(plain_files(&desk), 1, "it can be brought back");
        world.wait(TimeDelta::days(8));
        world.work().await;
        assert_eq!(plain_files(&desk), 0, "also when its writer sends nothing any more");
    })
    .await;
}

#[tokio::test]
async fn the_team_reads_a_long_message_to_its_end_and_an_agent_as_much_as_of_any() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read", Mode::Live).await;
        let body = format!("{} and it ends with 4471.", "word ".repeat(2_000));
        desk.sends(&body).await;
        assert!(desk.page().await.contains("and it ends with 4471."));
        desk.mia.post("/settings/agents/secure", &[("read", "yes")]).await;
        let read = key.get(&format!("/conversations/{}", desk.id)).await;
        assert!(read.text.contains("word word") && !read.text.contains("ends with 4471"), "{}", read.text);
    })
    .await;
}

#[tokio::test]
async fn a_link_is_taken_back_when_it_has_left_and_before_that_the_message_is_stopped() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let composer = desk.composer().await.set("secure", "1").set("proof", "code").set("body", "4471");
        let shown = composer.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        let message = shown.location().split("of=").nth(1).unwrap().to_owned();
        let refused = desk.mia.post(&format!("/messages/{message}/revoke"), &[]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.html.contains("Stop the message instead"), "{}", refused.html);
        leaves(world).await;
        let link = link_in(&world.outbox.letters().pop().unwrap().text);
        assert_eq!(desk.guest(&link).opens().await.status, 200);
        let taken = desk.mia.post(&format!("/messages/{message}/revoke"), &[]).await;
        assert_eq!(taken.status, 303, "{}", taken.html);
        assert_eq!(desk.guest(&link).opens().await.status, 410);

        // However it came to be, no mail carries a link that opens nothing.
        let composer = desk.composer().await.set("secure", "1").set("proof", "code").set("body", "9902");
        composer.press(&desk.mia, &write(desk.id), ("do", "send")).await;
        world.sql("update secure_pages set revoked_at = now(), generation = 1 where generation = 0").await;
        let before = letters_to_rosa(&desk);
        leaves(world).await;
        assert_eq!(letters_to_rosa(&desk), before);
        assert!(desk.page().await.contains("taken back before the mail had left"));
    })
    .await;
}

#[tokio::test]
async fn an_agents_draft_is_taken_over_as_the_team_wrote_last_and_approving_it_says_that_it_is_no_secure_link()
 {
    story(async |world| {
        let desk = Desk::new(world).await;
        let key = desk.acme.key("bot", "read,draft", Mode::Live).await;
        let plain = key.drafts(desk.id, "Shall I?").await;
        let warning = "is sent as an ordinary email";
        let page = desk.mia.get(&format!("/approvals/{plain}")).await.page();
        assert!(!page.contains(warning), "{page}");
        desk.sends("Your account ends with 4471.").await;
        let page = desk.mia.get(&format!("/approvals/{plain}")).await.page();
        assert!(page.contains(warning), "{page}");
        let taken = desk.mia.post(&format!("/messages/{plain}/take-over"), &[]).await;
        assert_eq!(taken.status, 303, "{}", taken.html);
        let composer = desk.composer().await;
        assert!(composer.has("secure") && composer.get("body").contains("Shall I?"), "{}", composer.html);
        assert_eq!(key.told(desk.id, "draft-discarded").await[0]["reason"], json!("taken-over"));
    })
    .await;
}
