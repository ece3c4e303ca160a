//! What came over a page is kept like everything else of a conversation: merged, exported, erased with it, and swept when no
//! row names it.

use serde_json::json;

use rookery_world::pages::customer::{asked, pdf};
use rookery_world::story;
use rookery_world::verbs::erasing::{erases, made, unpacked};

#[tokio::test]
async fn an_erasure_takes_uploads_with_the_contact() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        ada.gives(&item, "zanzibarcanary").await;
        assert_eq!(world.scalar("select count(*) from document_request_files").await, 1);
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        world.work().await;
        let left: i64 = world
            .scalar("select (select count(*) from document_request_files) + (select count(*) from documents) + (select count(*) from document_requests)")
            .await;
        assert_eq!(left, 0);
        let kept = world.files().into_iter().filter(|file| {
            std::fs::read(file).unwrap().windows(14).any(|part| part == b"zanzibarcanary")
        });
        assert_eq!(kept.count(), 0, "its bytes are gone");
        assert_eq!(ada.opens(&ada.link).await.status, 404, "nothing is known of it");
    })
    .await;
}

#[tokio::test]
async fn merging_keeps_what_came_once_and_its_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = ada.items().await;
        let file = pdf("the same");
        assert_eq!(ada.sends(&items[0], &[("a.pdf", &file)]).await.status, 303);
        let inbox: i64 = world.scalar("select id from mailboxes where address = 'help@acme.example'").await;
        let other = acme.mail(rookery_base::ids::MailboxId(inbox), "ada@customer.example", "Other", "Hi").await;
        // The other one has the same bytes, by another way.
        world
            .sql(&format!(
                "insert into documents (workspace_id, id, audience, conversation_id, title, filename, content_type, size,
                     content_hash, blob, created_at, searched, pieces)
                 select workspace_id, id + 1, audience, {}, title, filename, content_type, size, content_hash, 'ws/none',
                     created_at, searched, pieces from documents",
                other.0
            ))
            .await;
        let owner = world.browser(acme.id, acme.owner).await;
        let merged = owner.post(&format!("/conversations/{other}/merge"), &[("with", &id.to_string())]).await;
        assert_eq!(merged.status, 303, "{}", merged.html);
        assert_eq!(world.scalar("select count(*) from documents").await, 1);
        assert_eq!(world.scalar("select count(*) from document_request_files").await, 1);
        assert_eq!(world.scalar("select count(*) from doomed_files").await, 1, "bytes that nothing names any more go");
        assert!(ada.page().await.contains("1 of 2"));
        ada.gives(&items[1], "payslip").await;
        let told = world.events("ask.completed").await;
        assert_eq!(told[0]["data"]["conversation_id"], other.to_string());
        assert_eq!(key.told(other, "documents-completed").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_export_has_what_came_over_the_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let file = pdf("the bytes of the passport");
        assert_eq!(ada.sends(&item, &[("my passport.pdf", &file)]).await.status, 303);
        let owner = world.browser(acme.id, acme.owner).await;
        let fields = [("what", "contact"), ("who", "ada@customer.example")];
        assert_eq!(owner.post("/settings/data/exports", &fields).await.status, 303);
        world.work().await;
        let export = made(&owner.get("/settings/data").await.page());
        let path = format!("/settings/data/exports/{export}/download");
        let (names, text) = unpacked(world, &owner, &path, &[]).await;
        let folder = format!("conversations/{id}/documents/doc_");
        assert!(
            names.iter().any(|name| name.starts_with(&folder) && name.ends_with("-my passport.pdf")),
            "{names:?}"
        );
        assert!(
            text.contains("the bytes of the passport") && text.contains("\"label\": \"Passport\""),
            "{text}"
        );
    })
    .await;
}
