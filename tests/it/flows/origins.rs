//! Every message of ours says who wrote it, and every message what carries it; what is told of it follows from that.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use rookery_world::{Key, Mode, Workspace, World, story};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

async fn case<'w>(acme: &Workspace<'w>) -> (Key<'w>, String) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let key = acme.key("bot", "write,draft,send", Mode::Live).await;
    let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
    (key, id.to_string())
}

async fn origins(world: &World) -> Vec<(Option<String>, String)> {
    sqlx::query_as("select origin, channel from messages order by id")
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
}

/// What no verb writes yet: as the drafting assistant's, or as a secure page's.
async fn set(world: &World, assignment: &str) {
    world.sql(&format!("update messages set {assignment} where direction = 'outbound'")).await;
}

async fn leaves(world: &World) -> Value {
    world.wait(WINDOW);
    world.work().await;
    world.events("message.sent").await.pop().unwrap()["data"].clone()
}

#[tokio::test]
async fn a_message_of_ours_says_who_wrote_it_and_a_customers_mail_has_no_origin() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        let documents = json!([{ "label": "Passport" }]);
        key.replies(&id, json!({ "body": "Please.", "documents": documents, "send": true })).await;
        world.wait(WINDOW);
        world.work().await;
        world.wait(TimeDelta::days(2));
        world.work().await;
        let mail = |origin: Option<&str>| (origin.map(str::to_owned), "mail".to_owned());
        assert_eq!(origins(world).await, [mail(None), mail(Some("agent")), mail(Some("service"))]);
    })
    .await;
}

#[tokio::test]
async fn mail_that_an_assistant_drafted_is_not_the_services_own() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let (key, id) = case(&acme).await;
        let draft = key.drafts(&id, "Hello Ada.").await;
        set(world, "origin = 'assistant', author_type = null, author_id = null").await;
        acme.approve(mia, &draft, None).await.unwrap();
        let approved = world.events("draft.approved").await.pop().unwrap();
        assert_eq!(approved["data"]["drafted_by"], json!({ "type": null, "id": null }));
        assert_eq!(leaves(world).await["author"], json!({ "type": "agent", "id": null }));
        assert_eq!(key.conversation(&id).await["status"], "waiting", "a person let it go: it is an answer");
        let mail = world.outbox.mails().pop().unwrap();
        let mail = String::from_utf8_lossy(&mail.raw).into_owned();
        assert!(!mail.contains("Auto-Submitted"), "{mail}");
    })
    .await;
}

/// The version before this one still writes while this one is brought in: without an origin.
#[tokio::test]
async fn a_message_without_an_origin_is_its_authors() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        key.sends(&id, "Hello Ada.").await;
        set(world, "origin = null").await;
        let author = json!({ "type": "agent", "id": key.agent.to_string() });
        assert_eq!(leaves(world).await["author"], author);
        key.sends(&id, "A notice.").await;
        set(world, "origin = null, author_type = null, author_id = null").await;
        assert_eq!(leaves(world).await["author"], json!(null));
    })
    .await;
}

#[tokio::test]
async fn no_row_can_say_two_things_about_who_wrote_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id) = case(&acme).await;
        key.drafts(&id, "Hello Ada.").await;
        for (rows, assignment) in [
            ("outbound", "origin = 'person'"),
            ("outbound", "origin = 'service'"),
            ("outbound", "origin = 'assistant'"),
            ("outbound", "origin = 'agent', author_type = null, author_id = null"),
            ("outbound", "origin = 'customer'"),
            ("outbound", "channel = 'telegram'"),
            ("inbound", "origin = 'agent'"),
            ("inbound", "origin = 'service'"),
        ] {
            let statement = format!("update messages set {assignment} where direction = '{rows}'");
            let refused = sqlx::query(AssertSqlSafe(statement)).execute(&world.app.pool).await.unwrap_err();
            let constraint = refused.as_database_error().and_then(|error| error.constraint());
            assert_eq!(constraint, Some("messages_hold"), "{rows}: {assignment}");
        }
    })
    .await;
}
