//! Documents that are asked for, as the timeline shows them: a card with what was asked for, until when and what came; and
//! that the composer offers what the API offers.

use rookery_base::ids::ConversationId;
use serde_json::json;

use rookery_world::browser::Browser;
use rookery_world::{Mode, World, story};

/// Writes a reply that asks for documents, as the composer sends it.
async fn asks(browser: &Browser<'_>, id: ConversationId, documents: &str, due: &str, button: &str) -> String {
    let page = browser.get(&format!("/conversations/{id}?compose=reply")).await.page();
    let value = |name: &str| {
        let at = page.find(&format!("name=\"{name}\"")).unwrap_or_else(|| panic!("no field {name}"));
        page[at..].split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let (draft, version, seen) = (value("draft"), value("version"), value("seen"));
    let fields = [
        ("draft", draft.as_str()),
        ("version", &version),
        ("kind", "reply"),
        ("seen", &seen),
        ("to", "kim@customer.test"),
        ("body", "Please send:"),
        ("documents", documents),
        ("due", due),
        ("do", button),
    ];
    let shown = browser.post(&format!("/conversations/{id}/write"), &fields).await;
    assert_eq!(shown.status, 303, "{}", shown.html);
    shown.location().to_owned()
}

async fn leaves(world: &World) {
    world.app.clock.advance(chrono::TimeDelta::minutes(11));
    world.work().await;
}

#[tokio::test]
async fn a_request_for_documents_is_a_card_that_says_what_came() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "Lease", "Hello").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let to =
            asks(&owner, id, "Passport: both <b>pages</b>\nPayslip (optional)", "2031-05-09", "send").await;
        assert!(to.contains("done=sends"), "{to}");
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        for part in [
            "aria-label=\"Documents asked for\"",
            "0 of 2",
            "Due 9 May 2031",
            "Asked when this leaves",
            "both &#60;b&#62;pages&#60;/b&#62;",
            "nice to have",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        let page = page.split("id=\"timeline\"").nth(1).unwrap();
        assert!(
            !page.contains("/upload/") && page.contains("Show all of it"),
            "the words alone, and a way to the rest"
        );
        leaves(world).await;
        let [letter] = &world.outbox.letters()[..] else { panic!("one letter") };
        assert!(
            letter.text.contains("- Passport\n  both <b>pages</b>\n- Payslip (nice to have)"),
            "{}",
            letter.text
        );
        assert!(letter.text.contains("Please send them by 2031-05-09.") && letter.text.contains("/upload/"));
        let mut tx = world.app.begin(acme.id).await.unwrap();
        sqlx::query(
            "update document_request_items set state = 'received', received_at = now()
             where workspace_id = $1 and label = 'Passport'",
        )
        .bind(acme.id.0)
        .execute(&mut *tx)
        .await
        .unwrap();
        tx.commit().await.unwrap();
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(
            page.contains("1 of 2") && page.contains("came, to be looked at") && page.contains("not yet")
        );
        assert!(!page.contains("Documents were requested"), "the card says it");
        // Nothing that is needed is missing, so nothing is late; an open one would be.
        world.app.clock.advance(chrono::TimeDelta::days(400));
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Due 9 May 2031") && !page.contains("Was due"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_day_that_is_none_stops_the_send_and_keeps_the_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "Lease", "Hello").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let to = asks(&owner, id, "Passport", "next week", "send").await;
        let page = owner.get(to.split('#').next().unwrap()).await.page();
        assert!(page.contains("Write the day they are due as 2031-05-09"), "{page}");
        assert!(page.contains("value=\"next week\"") && page.contains("Passport</textarea>"));
        let to = asks(&owner, id, "", "2031-05-09", "send").await;
        let page = owner.get(to.split('#').next().unwrap()).await.page();
        assert!(page.contains("Name the documents to ask for"), "{page}");
        leaves(world).await;
        assert!(world.outbox.letters().is_empty());
    })
    .await;
}

/// What an agent asks for is not lost when a person writes on.
#[tokio::test]
async fn taking_a_draft_over_keeps_what_it_asks_for() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let key = acme.key("Lease Helper", "read,write,draft,send", Mode::Live).await;
        let id = acme.mail(help, "kim@customer.test", "Lease", "Hello").await;
        let input = json!({
            "documents": [{ "label": "Passport", "description": "both pages" }, { "label": "Payslip", "required": false }],
            "dueDate": "2031-05-09"
        });
        let asked = key.post(&format!("/conversations/{id}/document-requests"), input).await;
        let draft = asked.json()["messageId"].as_str().expect("a message").to_owned();
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("0 of 2") && page.contains("Due 9 May 2031"), "a draft has its card too");
        owner.post(&format!("/messages/{draft}/take-over"), &[]).await;
        let page = owner.get(&format!("/conversations/{id}?compose=reply")).await.page();
        assert!(page.contains("Passport: both pages\nPayslip (optional)</textarea>"), "{page}");
        assert!(page.contains("name=\"due\" value=\"2031-05-09\""));
    })
    .await;
}

/// A draft that a colleague changed after the page was shown is not let go unseen.
#[tokio::test]
async fn approving_on_the_timeline_is_for_the_words_that_were_shown() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let key = acme.key("Lease Helper", "read,write,draft,send", Mode::Live).await;
        let id = acme.mail(help, "kim@customer.test", "Lease", "Hello").await;
        let draft = key.replies(id, json!({ "body": "Ten euros.", "summary": "A price" })).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mia = acme.person("Mia", rookery_core::workspace::people::Role::Member).await;
        let hers = world.browser(acme.id, mia).await;
        let version = |page: &str| {
            let form = page.split(&format!("action=\"/messages/{draft}/approve\"")).nth(1).expect("a form");
            form.split("name=\"version\" value=\"")
                .nth(1)
                .expect("a version")
                .split('"')
                .next()
                .unwrap()
                .to_owned()
        };
        let approve = async |version: &str| {
            let here = id.to_string();
            let fields = [("from", "conversation"), ("conversation", here.as_str()), ("version", version)];
            owner.post(&format!("/messages/{draft}/approve"), &fields).await.location().to_owned()
        };
        let seen = version(&owner.get(&format!("/conversations/{id}")).await.page());
        assert_eq!(seen, "");
        hers.post(&format!("/messages/{draft}/edit"), &[("body", "A thousand euros."), ("version", "")])
            .await;
        let to = approve(&seen).await;
        assert!(to.starts_with(&format!("/approvals/{draft}")) && to.contains("done=crossed"), "{to}");
        assert_eq!(key.message(id, &draft).await["status"], "draft");
        let seen = version(&owner.get(&format!("/conversations/{id}")).await.page());
        assert!(approve(&seen).await.starts_with(&format!("/conversations/{id}")));
        assert_eq!(key.message(id, &draft).await["status"], "scheduled");
        assert_eq!(key.message(id, &draft).await["text"], "A thousand euros.");
    })
    .await;
}
