//! Documents that are asked for, as the timeline shows them: a card with what was asked for, until when and what came; and
//! that the composer offers what the API offers.

use rookery_base::ids::ConversationId;
use serde_json::json;

use rookery_world::browser::Browser;
use rookery_world::pages::customer::{Customer, link_in};
use rookery_world::pages::writing::{Composer, reply, write};
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
        assert!(
            letter.text.contains("Please send them by Friday, 9 May 2031.")
                && letter.text.contains("/upload/")
        );
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
        assert!(page.contains("Enter the due date as 2031-05-09"), "{page}");
        assert!(page.contains("value=\"next week\"") && page.contains("Passport</textarea>"));
        let to = asks(&owner, id, "", "2031-05-09", "send").await;
        let page = owner.get(to.split('#').next().unwrap()).await.page();
        assert!(page.contains("Add at least one document, or clear the due date"), "{page}");
        leaves(world).await;
        assert!(world.outbox.letters().is_empty());
    })
    .await;
}

#[tokio::test]
async fn documents_are_asked_for_in_rows_and_in_the_language_of_the_customer() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let key = acme.key("bot", "read,write,draft,send", Mode::Live).await;
        let id = acme.mail(help, "kim@customer.test", "Mietvertrag", "Guten Tag").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let there = format!("/conversations/{id}/documents");
        let nothing_begun = owner.get(&there).await;
        assert!(nothing_begun.location().contains("compose=reply"), "there is no reply to put them into");
        let begun = Composer::open(&owner, &reply(id)).await.set("body", "Wir brauchen noch etwas.");
        let to = begun.press(&owner, &write(id), ("do", "documents")).await;
        assert_eq!(to.location(), there);
        let page = owner.get(&there).await.page();
        assert!(page.contains("name=\"name-2\"") && !page.contains("name=\"name-3\""), "three rows: {page}");
        let undecided = "<option value=\"\">Their browser decides</option><option value=\"en\" lang=\"en\">";
        assert!(page.contains(undecided), "nothing is known: {page}");
        let nobody_chose = [("name-0", "Reisepass"), ("language", ""), ("do", "ask")];
        assert_eq!(owner.post(&there, &nobody_chose).await.status, 303);
        let chosen = "select count(*) from written_drafts where documents_language is not null";
        assert_eq!(world.scalar(chosen).await, 0, "their browser decides");
        let row = [
            ("name-0", "Reisepass"),
            ("hint-0", "beide Seiten"),
            ("name-1", ""),
            ("name-2", "Lohnzettel"),
            ("optional-2", "1"),
            ("due", "2031-05-09"),
            ("language", "de"),
        ];
        let press = async |button| owner.post(&there, &[&row[..], &[button]].concat()).await;
        let page = press(("do", "add")).await.page();
        assert!(page.contains("name=\"name-3\"") && page.contains("value=\"beide Seiten\""), "{page}");
        let page = press(("remove", "0")).await.page();
        assert!(!page.contains("Reisepass") && page.contains("value=\"Lohnzettel\""), "{page}");
        let to = press(("do", "ask")).await;
        assert!(to.status == 303 && to.location().contains("compose=reply"), "{}", to.html);
        let composer = Composer::open(&owner, &reply(id)).await;
        assert!(composer.html.contains("due 9 May 2031 · Deutsch"), "{}", composer.html);
        assert_eq!(composer.get("documents"), "Reisepass: beide Seiten\nLohnzettel (optional)");
        assert_eq!(composer.get("body"), "Wir brauchen noch etwas.", "the text stays");
        composer.press(&owner, &write(id), ("do", "send")).await;
        leaves(world).await;
        let letter = world.outbox.letters().pop().unwrap().text;
        for part in [
            "Bitte senden Sie uns diese Unterlagen:\n\n- Reisepass\n  beide Seiten\n- Lohnzettel (wenn vorhanden)",
            "Bitte senden Sie sie bis Freitag, 9. Mai 2031.",
            "Hier können Sie sie hochladen, ohne Konto:",
        ] {
            assert!(letter.contains(part), "{part} is missing in {letter}");
        }
        let kim = Customer::with(world, &link_in(&letter));
        let shown = kim.opens_in(&kim.link, "fr").await;
        assert_eq!(shown.headers["content-language"], "de");
        assert!(shown.page().contains("Bitte senden Sie uns diese Unterlagen"));
        let chosen = kim.opens_in(&format!("{}?lang=fr", kim.link), "de").await;
        assert_eq!(chosen.headers["content-language"], "fr", "what the customer chooses comes first");
        world.wait(chrono::TimeDelta::days(2));
        world.work().await;
        let reminder = world.outbox.letters().pop().unwrap().text;
        assert!(reminder.contains("Eine freundliche Erinnerung"), "{reminder}");
        // Whoever asks next knows the language; an agent can choose another one.
        let next = acme.mail(help, "kim@customer.test", "Kaution", "Guten Tag").await;
        let path = format!("/conversations/{next}/document-requests");
        let mut body = json!({ "documents": [{ "label": "Konto" }] });
        let text = async |body: &serde_json::Value| {
            let asked = key.post(&path, body.clone()).await.json()["messageId"].as_str().unwrap().to_owned();
            key.message(next, &asked).await["text"].as_str().unwrap().to_owned()
        };
        let said = text(&body).await;
        assert!(said.contains("unten genannten Unterlagen") && said.contains("diese Unterlagen:"), "{said}");
        body["language"] = json!("nl");
        assert!(text(&body).await.contains("Stuur ons alstublieft deze documenten:"));
        body["language"] = json!("xx");
        assert_eq!(key.post(&path, body).await.status, 400);
    })
    .await;
}

#[tokio::test]
async fn the_team_keeps_lists_of_documents_that_fill_the_rows() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "Account", "Hello").await;
        let mia = acme.person("Mia", rookery_core::workspace::people::Role::Member).await;
        let (owner, hers) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let there = format!("/conversations/{id}/documents");
        let two =
            [("name-0", "Passport"), ("hint-0", "both pages"), ("name-1", "Payslip"), ("optional-1", "1")];
        let saves = async |browser: &Browser<'_>, name: &str| {
            browser.post(&there, &[&two[..], &[("list-name", name), ("do", "save")]].concat()).await.page()
        };
        let page = saves(&owner, "New account").await;
        assert!(page.contains("List “New account” saved."), "{page}");
        let page = saves(&hers, "new account").await;
        assert!(page.contains("List “new account” replaced."), "everybody may: {page}");
        assert!(saves(&owner, " ").await.contains("The list name is required."));
        let nothing = owner.post(&there, &[("list-name", "None"), ("do", "save")]).await.page();
        assert!(nothing.contains("Add at least one document"), "{nothing}");
        let list = page.split("<option value=\"dls_").nth(1).unwrap().split('"').next().unwrap();
        let list = format!("dls_{list}");
        let fills = [("name-0", "Lease"), ("name-1", "passport"), ("saved", list.as_str()), ("do", "fill")];
        let page = owner.post(&there, &fills).await.page();
        assert!(page.contains("value=\"Lease\"") && page.contains("value=\"Payslip\""), "{page}");
        assert!(!page.contains("value=\"Passport\""), "what is there already is not asked for twice");
        // Another workspace has lists of its own.
        let other = world.workspace("Other").await;
        let inbox = other.mailbox("help@other.test", "Help").await;
        let foreign = other.mail(inbox, "bo@customer.test", "Account", "Hello").await;
        let theirs = world.browser(other.id, other.owner).await;
        let page = theirs.post(&format!("/conversations/{foreign}/documents"), &fills).await.page();
        assert!(page.contains("Select a saved list first.") && !page.contains("Payslip"), "{page}");
        assert_eq!(theirs.get(&there).await.status, 404);
        let saved = [&two[..], &[("list-name", "Theirs"), ("do", "save")]].concat();
        assert_eq!(theirs.post(&there, &saved).await.status, 404, "nothing is saved: they are counted below");
        let page = hers.post(&there, &[("saved", list.as_str()), ("do", "delete")]).await.page();
        assert!(page.contains("” deleted.") && page.contains("value=\"Passport\""), "{page}");
        assert_eq!(world.scalar("select count(*) from document_lists").await, 0);
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
