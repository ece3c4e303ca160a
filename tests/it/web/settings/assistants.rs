//! The page of the assistants: engines, limit, model and agreement, topics, a test question, and the stop.

use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::model_server::{Does, ModelServer};
use rookery_world::{story, story_with};

const PAGE: &str = "/settings/assistants";

#[tokio::test]
async fn an_owner_names_a_model_agrees_and_chooses() {
    let model = ModelServer::start(Does::Answers(|_, _| json!({ "colour": "blue" }))).await;
    let settings = [("ASSISTANTS_ALLOW", "127.0.0.0/8"), ("ASSISTANTS_SECONDS", "2")];
    story_with(&settings, async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await.to_string();
        let olga = world.browser(acme.id, acme.owner).await;
        let page = olga.get(PAGE).await.page();
        assert!(page.contains("Three built-in assistants") && page.contains("disabled"), "{page}");
        let three = [("sorting", "rules"), ("drafting", "model"), ("reading", "rules")];
        let refused = olga.post(PAGE, &three).await;
        assert_eq!(refused.status, 400, "nobody has agreed to anything");
        let typed = [
            ("base", "https://10.0.0.1/v1"),
            ("model", "m"),
            ("key", ""),
            ("price_in", "1"),
            ("price_out", "2"),
        ];
        let refused = olga.post("/settings/assistants/model", &typed).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("public address"), "{}", refused.html);
        let typed = [
            ("base", model.url.as_str()),
            ("model", "scripted"),
            ("key", "sk-only-for-tests"),
            ("price_in", "1"),
            ("price_out", "2,5"),
        ];
        assert_eq!(olga.post("/settings/assistants/model", &typed).await.status, 303);
        assert_eq!(
            olga.post("/settings/assistants/limit", &[("limit", "40"), ("calls", "800")]).await.status,
            303
        );
        assert_eq!(olga.post("/settings/assistants/agree", &[("inbox", inbox.as_str())]).await.status, 303);
        assert_eq!(olga.post(PAGE, &three).await.status, 303);
        let page = olga.get(PAGE).await.page();
        for words in ["Olga Owner</bdi> on", "scripted at 127.0.0.1", "value=\"40\"", "Stored and sealed"] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("sk-only-for-tests"));
        let dump = format!("{:?}", world.rows().await);
        assert!(!dump.contains("sk-only-for-tests"), "sealed");
        let asked = olga.post("/settings/assistants/ask", &[]).await.page();
        assert!(asked.contains("form right"), "{asked}");
        model.is_content();
        model.does(Does::Says("no"));
        let asked = olga.post("/settings/assistants/ask", &[]).await.page();
        assert!(asked.contains("not in the form"), "{asked}");
        // Another model needs another word.
        let other = [
            ("base", model.url.as_str()),
            ("model", "another"),
            ("key", ""),
            ("price_in", "1"),
            ("price_out", "2"),
        ];
        assert_eq!(olga.post("/settings/assistants/model", &other).await.status, 303);
        let page = olga.get(PAGE).await.page();
        assert!(page.contains("Nobody yet. Tick the inboxes"), "{page}");
        let audited: Vec<String> =
            sqlx::query_scalar("select did from audit_entries where did like 'assistants.%' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let kinds = [
            "assistants.model",
            "assistants.limited",
            "assistants.agreed",
            "assistants.changed",
            "assistants.model",
        ];
        assert_eq!(audited, kinds);
    })
    .await;
}

#[tokio::test]
async fn only_owners_agree_and_members_see_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Admin", Role::Admin).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let anna = world.browser(acme.id, anna).await;
        let mia = world.browser(acme.id, mia).await;
        assert!(anna.get(PAGE).await.page().contains("Only an owner can change this"));
        let typed = [("base", ""), ("model", ""), ("key", "")];
        let refused = anna.post("/settings/assistants/model", &typed).await;
        assert!(refused.html.contains("Only an owner"), "{}", refused.html);
        assert_eq!(mia.get(PAGE).await.status, 404);
        for path in ["stop", "start", "limit", "topics", "discard", "ask"] {
            assert_eq!(mia.post(&format!("{PAGE}/{path}"), &[]).await.status, 404, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn topics_of_ones_own_are_kept_and_offered() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let refused = olga.post("/settings/assistants/topics", &[("topics", "a\na")]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("names a topic twice"));
        let saved =
            olga.post("/settings/assistants/topics", &[("topics", "Deposit: money kept\n<b>keys</b>")]).await;
        assert_eq!(saved.status, 303);
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("value=\"deposit\"") && page.contains("&#60;b&#62;keys"), "{page}");
        assert!(!page.contains("value=\"billing\""));
    })
    .await;
}
