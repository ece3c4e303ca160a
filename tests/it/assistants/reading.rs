//! Documents are read as the workspace chose: not at all, by rules, or by rules and then by a model for what they leave
//! empty. What a model says counts only where it stands in the document, and never over a person's word.

use rookery_assistants::settings::{self, Engine, Engines};
use rookery_base::ids::{DocumentId, MailboxId};
use rookery_product::documents::correct;
use serde_json::{Value, json};

use super::{desk, owner};
use rookery_world::model_server::{Does, ModelServer};
use rookery_world::papers::with_file;
use rookery_world::{Key, Workspace, story, story_with};

/// The rules find a bill in it, but not who sent it: the name is in the middle of a sentence.
const BILL: &str = "Invoice\nInvoice number: A-77\nInvoice date: 2031-01-06\nTotal: 120.50 EUR\n\
    It was a pleasure to work for you, Blue Lamp Works thanks for the order.\n";

async fn chooses(acme: &Workspace<'_>, inbox: Option<MailboxId>, reading: Engine) {
    let (app, olga) = (&acme.world.app, owner(acme).await);
    let mut tx = app.begin(acme.id).await.unwrap();
    if let Some(inbox) = inbox {
        settings::agree(app, &mut tx, &olga, &[inbox]).await.unwrap();
        settings::limit(&mut tx, &olga, 100, 10_000).await.unwrap();
    }
    let engines = Engines { sorting: Engine::Off, drafting: Engine::Off, reading };
    settings::choose(app, &mut tx, &olga, engines).await.unwrap();
    tx.commit().await.unwrap();
}

async fn whole(key: &Key<'_>, filename: &str) -> Value {
    let all = key.get("/documents").await.json();
    let own = all.as_array().unwrap().iter().find(|one| one["filename"] == filename);
    let id = own.expect("it is filed")["id"].as_str().unwrap();
    key.get(&format!("/documents/{id}")).await.json()
}

/// proves: HLP-3
#[tokio::test]
async fn a_model_fills_in_what_the_rules_leave_empty_and_only_what_the_document_says() {
    let model = ModelServer::start(Does::Answers(|_, _| {
        json!({
            "kind": "receipt", "vendor": "Blue Lamp Works", "amount": "9999.00", "currency": "EUR",
            "date": "2031-01-06", "dueDate": "2031-02-01", "reference": "A-77",
        })
    }))
    .await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let other = acme.mailbox("other@acme.example", "Other").await;
        chooses(&acme, Some(inbox), Engine::Model).await;
        acme.receives(inbox, &with_file("a", "bill.txt", BILL.as_bytes())).await;
        acme.receives(other, &with_file("b", "other.txt", format!("{BILL}SECRET-OTHER").as_bytes())).await;
        world.work().await;
        let read = whole(&key, "bill.txt").await;
        assert_eq!(read["kind"], "invoice", "the rules said so: {read}");
        let fields = &read["fields"];
        assert_eq!(fields["vendor"], "Blue Lamp Works", "{read}");
        assert_eq!(fields["amount"], json!(120.5), "the rules' word stays");
        assert_eq!(fields["dueDate"], Value::Null, "nothing that the document does not say");
        let other = whole(&key, "other.txt").await;
        assert_eq!(other["fields"]["vendor"], Value::Null, "nobody agreed for that inbox");
        let asked = model.questions();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(!asked[0].to_string().contains("SECRET"));
        model.is_content();
        assert_eq!(world.scalar("select count(*) from assistant_runs where assistant = 'read'").await, 1);
    })
    .await;
}

/// proves: HLP-3
#[tokio::test]
async fn a_model_never_writes_over_what_a_person_set() {
    let model = ModelServer::start(Does::Hangs).await;
    story_with(&model.settings(), async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        chooses(&acme, Some(inbox), Engine::Model).await;
        acme.receives(inbox, &with_file("a", "bill.txt", BILL.as_bytes())).await;
        world.work().await;
        let id: DocumentId = whole(&key, "bill.txt").await["id"].as_str().unwrap().parse().unwrap();
        let olga = owner(&acme).await;
        for vendor in ["Nobody Ltd", ""] {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            correct::correct(&mut tx, &olga, acme.owner, id, &[("vendor", vendor.to_owned())]).await.unwrap();
            tx.commit().await.unwrap();
        }
        model.does(Does::Answers(|_, _| {
            json!({
                "kind": null, "vendor": "Blue Lamp Works", "amount": null, "currency": null, "date": null,
                "dueDate": null, "reference": null,
            })
        }));
        world.wait(chrono::TimeDelta::minutes(20));
        world.work().await;
        assert!(model.questions().len() > 1, "it was asked again");
        assert_eq!(
            whole(&key, "bill.txt").await["fields"]["vendor"],
            Value::Null,
            "there is none, they said"
        );
    })
    .await;
}

#[tokio::test]
async fn who_turned_reading_off_has_documents_that_nobody_read() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        chooses(&acme, None, Engine::Off).await;
        acme.receives(inbox, &with_file("a", "bill.txt", BILL.as_bytes())).await;
        world.work().await;
        let filed = whole(&key, "bill.txt").await;
        assert_eq!((&filed["kind"], &filed["fields"]), (&Value::Null, &json!({})), "{filed}");
        assert_eq!(world.scalar("select count(*) from unread_documents").await, 0, "nothing waits for ever");
        chooses(&acme, None, Engine::Rules).await;
        acme.receives(inbox, &with_file("b", "next.txt", BILL.as_bytes())).await;
        world.work().await;
        assert_eq!(whole(&key, "next.txt").await["kind"], "invoice");
    })
    .await;
}
