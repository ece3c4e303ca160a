//! What people make of it: tick off, accept, ask again with a mail, more time, cancel; and that it is told and bounded.

use chrono::TimeDelta;
use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::customer::{asked, leaves, link_in, pdf};
use rookery_world::story;

fn request_of(link: &str) -> &str {
    link.split('/').nth(3).unwrap()
}

async fn does(browser: &Browser<'_>, link: &str, item: &str, act: &str) -> Shown {
    browser.post(&format!("/requests/{}/items/{item}", request_of(link)), &[("do", act)]).await
}

async fn card(browser: &Browser<'_>, id: ConversationId) -> String {
    let page = browser.get(&format!("/conversations/{id}")).await.page();
    page.split("aria-label=\"Documents asked for\"")
        .nth(1)
        .expect("a card")
        .split("</section>")
        .next()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_person_ticks_off_what_came_by_mail_and_it_is_complete() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = ada.items().await;
        let owner = world.browser(acme.id, acme.owner).await;
        ada.gives(&items[0], "passport").await;
        let before = card(&owner, id).await;
        assert!(
            before.contains("came, to be looked at")
                && before.contains("/documents/doc_")
                && before.contains("Tick off"),
            "{before}"
        );
        let done = does(&owner, &ada.link, &items[1], "tick").await;
        assert!(
            done.status == 303 && done.location().contains("done=document-ticked"),
            "{}",
            done.location()
        );
        assert_eq!(world.requests().await, ["completed"]);
        assert_eq!(world.events("ask.completed").await.len(), 1);
        assert!(ada.page().await.contains("We have it already."));
        assert_eq!(key.told(id, "document-ticked").await[0]["label"], "Payslip");
        // By mistake: it is open again, and reminded of; nobody is told a second time.
        does(&owner, &ada.link, &items[1], "back").await;
        assert_eq!(world.requests().await, ["open"]);
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert!(world.outbox.letters().pop().unwrap().text.contains("- Payslip"));
        ada.gives(&items[1], "payslip").await;
        assert_eq!(world.requests().await, ["completed"]);
        assert_eq!(world.events("ask.completed").await.len(), 1);
        // Days later people sign in anew.
        let owner = world.browser(acme.id, acme.owner).await;
        let accepted = does(&owner, &ada.link, &items[1], "accept").await;
        assert!(accepted.location().contains("done=document-accepted"), "{}", accepted.location());
        assert!(ada.page().await.contains("Somebody looked at it"));
        assert_eq!(does(&owner, &ada.link, &items[1], "accept").await.status, 409, "once is enough");
        assert_eq!(does(&owner, &ada.link, &items[1], "burn").await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_asked_for_again_with_a_mail() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let owner = world.browser(acme.id, acme.owner).await;
        let path = format!("/requests/{}/items/{item}/again", request_of(&ada.link));
        assert_eq!(owner.get(&path).await.status, 303, "nothing came yet");
        let unread = pdf("blurred");
        assert_eq!(ada.sends(&item, &[("blurred.pdf", &unread)]).await.status, 303);
        let question = owner.get(&path).await.page();
        assert!(question.contains("It can’t be read") && question.contains("Passport"), "{question}");
        assert_eq!(world.requests().await, ["completed"]);
        let fields = [("why", "unreadable"), ("words", "The photo is too dark.\nA scan is best.")];
        let done = owner.post(&path, &fields).await;
        assert!(done.status == 303 && done.location().contains("done=asked-again"), "{}", done.html);
        assert_eq!(world.requests().await, ["open"]);
        let page = ada.page().await;
        assert!(page.contains("What you sent could not be read.") && page.contains("0 of 1"), "{page}");
        assert!(!page.contains("too dark"), "no word of the mail");
        leaves(world).await;
        let letter = world.outbox.letters().pop().unwrap();
        assert_eq!(letter.to, "ada@customer.example");
        assert!(
            letter.text.contains("for sending “Passport”. Unfortunately, we couldn’t read it.")
                && letter.text.contains("A scan is best."),
            "{}",
            letter.text
        );
        assert_eq!(link_in(&letter.text), ada.link);
        let same = ada.sends(&item, &[("blurred.pdf", &unread)]).await;
        assert!(same.status == 422 && same.html.contains("You sent this very file before"), "{}", same.html);
        ada.gives(&item, "sharp").await;
        assert_eq!(world.requests().await, ["completed"]);
        assert_eq!(world.events("ask.completed").await.len(), 1, "once");
        let told = card(&owner, id).await;
        assert!(told.contains("Complete"), "{told}");
        assert_eq!(owner.post(&path, &[("why", "ugly")]).await.status, 400);
    })
    .await;
}

/// proves: DREQ-14
#[tokio::test]
async fn a_cancelled_request_ends_its_link_and_its_reminders() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let owner = world.browser(acme.id, acme.owner).await;
        let path = format!("/requests/{}", request_of(&ada.link));
        let question = owner.get(&path).await.page();
        assert!(question.contains("Cancel the request?") && question.contains("2031-03-07"), "{question}");
        let letters = world.outbox.letters().len();
        let done = owner.post(&format!("{path}/cancel"), &[]).await;
        assert!(done.location().contains("done=request-cancelled"), "{}", done.html);
        assert_eq!(ada.opens(&ada.link).await.status, 410);
        assert_eq!(
            ada.sends(&item, &[("a.pdf", &rookery_world::pages::customer::pdf("a"))]).await.status,
            410
        );
        assert_eq!(owner.post(&format!("{path}/cancel"), &[]).await.status, 409);
        assert_eq!(does(&owner, &ada.link, &item, "tick").await.status, 409);
        world.wait(TimeDelta::days(8));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), letters);
        assert_eq!(key.told(id, "documents-cancelled").await.len(), 1);
        assert_eq!(world.events("ask.completed").await.len(), 0);
    })
    .await;
}

#[tokio::test]
async fn more_time_opens_an_ended_link_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        world.wait(TimeDelta::days(61));
        world.work().await;
        assert_eq!(ada.opens(&ada.link).await.status, 410);
        let owner = world.browser(acme.id, acme.owner).await;
        let path = format!("/requests/{}/extend", request_of(&ada.link));
        for ends in ["2031-03-01", "2040-01-01", "soon", ""] {
            assert_eq!(owner.post(&path, &[("due", ""), ("ends", ends)]).await.status, 400, "{ends}");
        }
        let done = owner.post(&path, &[("due", "2031-04-01"), ("ends", "2031-04-10")]).await;
        assert!(done.location().contains("done=request-extended"), "{}", done.html);
        let page = ada.page().await;
        assert!(page.contains("Tuesday, 1 April") && page.contains("Thursday, 10 April"), "{page}");
        ada.gives(&item, "late").await;
        assert_eq!(world.events("ask.completed").await.len(), 1);
        assert_eq!(key.told(id, "documents-extended").await.len(), 1);
    })
    .await;
}

/// Hidden, foreign and unknown requests are the same 404.
#[tokio::test]
async fn who_cannot_see_the_conversation_decides_nothing_in_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let mia = acme.person("Mia", Role::Member).await;
        world.sql(&format!("update conversations set audience = {}", acme.owner.0)).await;
        let (member, other) = (world.browser(acme.id, mia).await, world.workspace("Other").await);
        let stranger = world.browser(other.id, other.owner).await;
        let request = request_of(&ada.link);
        for browser in [&member, &stranger] {
            assert_eq!(browser.get(&format!("/requests/{request}")).await.status, 404);
            assert_eq!(browser.get(&format!("/requests/{request}/items/{item}/again")).await.status, 404);
            assert_eq!(browser.post(&format!("/requests/{request}/cancel"), &[]).await.status, 404);
            assert_eq!(
                browser.post(&format!("/requests/{request}/extend"), &[("ends", "2031-02-01")]).await.status,
                404
            );
            assert_eq!(does(browser, &ada.link, &item, "tick").await.status, 404);
        }
        assert_eq!(world.requests().await, ["open"]);
        world.sql("update conversations set audience = 0").await;
        assert_eq!(does(&member, &ada.link, &item, "tick").await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn whoever_follows_is_told_when_everything_is_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(&format!("/conversations/{id}/follow"), &[("follow", "1")]).await;
        ada.gives(&item, "passport").await;
        let told = owner.get("/notices").await.page();
        assert!(told.contains("All documents from Ada have arrived"), "{told}");
    })
    .await;
}
