//! What a document request asks for stands in rows with states, and reminders name what is missing by them.

use chrono::TimeDelta;
use serde_json::json;
use sqlx::AssertSqlSafe;

use rookery_world::{Key, Mode, Workspace, World, story};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

/// Asks for three documents, the last of them nice to have, and lets the mail leave.
async fn asked<'w>(acme: &Workspace<'w>) -> (Key<'w>, String) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "write,draft,send", Mode::Live).await;
    let id = acme.mail(inbox, "ada@customer.example", "Loan", "Hello").await.to_string();
    let documents = json!([
        { "label": "Passport", "description": "both pages" },
        { "label": "Payslip" },
        { "label": "Photo", "required": false },
    ]);
    key.replies(&id, json!({ "body": "Please.", "documents": documents, "send": true })).await;
    after(acme.world, WINDOW).await;
    (key, id)
}

async fn after(world: &World, time: TimeDelta) {
    world.wait(time);
    world.work().await;
}

/// What no verb writes yet: something came, or a person decided.
async fn set(acme: &Workspace<'_>, label: &str, state: &str) {
    let more = match state {
        "open" => "received_at = null, decided_at = null, decided_by = null".to_owned(),
        "received" => "received_at = now()".to_owned(),
        "accepted" => "received_at = now(), decided_at = now()".to_owned(),
        "refused" => format!("received_at = now(), decided_at = now(), decided_by = {}", acme.owner.0),
        _ => format!("received_at = null, decided_at = now(), decided_by = {}", acme.owner.0),
    };
    let statement =
        format!("update document_request_items set state = '{state}', {more} where label = '{label}'");
    acme.world.sql(&statement).await;
}

fn reminder(world: &World) -> String {
    world.outbox.letters().pop().unwrap().text
}

#[tokio::test]
async fn every_item_of_a_request_is_a_row_in_the_order_of_its_checklist() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        asked(&acme).await;
        type Row = (i16, String, Option<String>, bool, String);
        let rows: Vec<Row> = sqlx::query_as(
            "select position, label, description, required, state from document_request_items order by id",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        let row = |position, label: &str, description: Option<&str>, required| {
            (position, label.to_owned(), description.map(str::to_owned), required, "open".to_owned())
        };
        assert_eq!(
            rows,
            [
                row(1, "Passport", Some("both pages"), true),
                row(2, "Payslip", None, true),
                row(3, "Photo", None, false)
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_reminder_lists_the_required_items_that_are_missing_and_none_leaves_when_none_is() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        asked(&acme).await;
        set(&acme, "Passport", "accepted").await;
        after(world, TimeDelta::days(2)).await;
        let text = reminder(world);
        assert!(
            text.contains("- Payslip") && !text.contains("Passport") && !text.contains("Photo"),
            "{text}"
        );
        set(&acme, "Passport", "refused").await;
        set(&acme, "Payslip", "received").await;
        after(world, TimeDelta::days(2)).await;
        let text = reminder(world);
        assert!(text.contains("- Passport\n  both pages") && !text.contains("Payslip"), "{text}");
        set(&acme, "Passport", "ticked").await;
        after(world, TimeDelta::days(3)).await;
        assert_eq!(world.outbox.letters().len(), 3, "a person looks at what came: nobody is reminded");
    })
    .await;
}

#[tokio::test]
async fn where_nothing_is_required_a_reminder_lists_what_is_missing_of_all() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        asked(&acme).await;
        world.sql("update document_request_items set required = false").await;
        set(&acme, "Payslip", "ticked").await;
        after(world, TimeDelta::days(2)).await;
        let text = reminder(world);
        assert!(text.contains("Passport") && text.contains("Photo") && !text.contains("Payslip"), "{text}");
    })
    .await;
}

/// The version before this one still writes while this one is brought in: the items, but no rows.
#[tokio::test]
async fn a_request_without_rows_is_read_from_what_was_asked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = asked(&acme).await;
        world.sql("delete from document_request_items").await;
        after(world, TimeDelta::days(2)).await;
        let text = reminder(world);
        assert!(text.contains("- Passport\n  both pages") && text.contains("- Payslip"), "{text}");
        let documents = json!([{ "label": "Contract" }]);
        let draft = key.replies(&id, json!({ "body": "Please.", "documents": documents })).await;
        world.sql("delete from document_request_items").await;
        acme.approve(acme.owner, &draft, None).await.unwrap();
        assert!(key.message(&id, &draft).await["text"].as_str().unwrap().contains("- Contract"));
    })
    .await;
}

#[tokio::test]
async fn a_state_of_an_item_has_its_times_and_only_a_person_refuses_or_ticks_off() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        asked(&acme).await;
        for assignment in [
            "state = 'lost'",
            "state = 'received'",
            "state = 'accepted', received_at = now()",
            "state = 'accepted', decided_at = now()",
            "state = 'refused', received_at = now(), decided_at = now()",
            "state = 'ticked', decided_at = now()",
            "received_at = now()",
            "position = 0",
        ] {
            let statement = format!("update document_request_items set {assignment} where label = 'Photo'");
            let refused = sqlx::query(AssertSqlSafe(statement)).execute(&world.app.pool).await.unwrap_err();
            let constraint = refused.as_database_error().and_then(|error| error.constraint());
            assert!(
                constraint.is_some_and(|name| name.starts_with("document_request_items_")),
                "{assignment}"
            );
        }
        for state in ["received", "accepted", "refused", "ticked", "open"] {
            set(&acme, "Photo", state).await;
        }
    })
    .await;
}
