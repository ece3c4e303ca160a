//! Webhooks by the API: a key with the scope makes and manages them, hears no more than it sees, and no tool does.

use rookery_api::operation::Needs;
use rookery_api::registry::OPERATIONS;
use rookery_core::workspace::access;
use rookery_core::workspace::people::Role;
use rookery_webhooks::webhook::Scope;
use serde_json::{Value, json};

use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Key, Mode, story};

const HIDDEN: &str = "No such webhook in this workspace.";

/// Makes a webhook; gives its id and its secret.
async fn makes(key: &Key<'_>, body: Value) -> (String, String) {
    let made = key.post("/webhooks", body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["webhook"]["id"]), text(&made["secret"]))
}

async fn listed(key: &Key<'_>) -> Vec<Value> {
    let all = key.get("/webhooks").await;
    assert_eq!(all.status, 200, "{}", all.text);
    all.json().as_array().unwrap().clone()
}

async fn does(key: &Key<'_>, id: &str, what: &str) -> Value {
    let done = key.post(&format!("/webhooks/{id}/{what}"), json!({})).await;
    assert_eq!(done.status, 200, "{what}: {}", done.text);
    done.json()
}

#[tokio::test]
async fn a_key_makes_a_webhook_and_manages_it_like_a_person() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("deployer", "webhooks", Mode::Live).await;
        let receiver = Receiver::start().await;
        let (id, secret) =
            makes(&key, json!({ "url": receiver.url, "events": ["client.replied", "turn.changed"] })).await;
        assert!(secret.starts_with("whsec_"));
        let [webhook] = &listed(&key).await[..] else { panic!("one webhook") };
        assert_eq!((&webhook["id"], &webhook["url"]), (&json!(id), &json!(receiver.url)));
        assert_eq!(
            (&webhook["livemode"], &webhook["scope"], &webhook["state"]),
            (&json!(true), &json!("team"), &json!("active"))
        );
        assert_eq!(webhook["events"], json!(["client.replied", "turn.changed"]));
        assert!(!webhook.to_string().contains(&secret), "the secret is shown once");

        acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        world.work().await;
        assert_eq!(receiver.take().len(), 1);
        let test = does(&key, &id, "test").await["eventId"].as_str().unwrap().to_owned();
        world.work().await;
        assert_eq!(receiver.only().json()["id"], json!(test));
        let new = does(&key, &id, "rotate").await;
        assert_ne!(new["secret"], json!(secret));
        assert!(new["webhook"]["oldSecretUntil"].is_string(), "{new}");

        assert_eq!(does(&key, &id, "pause").await, json!({ "ok": true }));
        assert_eq!(listed(&key).await[0]["state"], "paused");
        acme.mail(inbox, "bob@other.example", "Hi", "Hello").await;
        world.work().await;
        assert!(receiver.take().is_empty());
        let again = key.post(&format!("/webhooks/{id}/redeliver"), json!({ "eventId": test })).await;
        assert_eq!((again.status, again.error().as_str()), (403, "The webhook is stopped. Resume it first."));
        does(&key, &id, "resume").await;
        let again = key.post(&format!("/webhooks/{id}/redeliver"), json!({ "eventId": test })).await;
        assert_eq!((again.status, again.json()), (200, json!({ "ok": true })));
        world.work().await;
        assert_eq!(receiver.only().json()["id"], json!(test));

        let log = key.get(&format!("/webhooks/{id}/deliveries?limit=1")).await;
        assert_eq!(log.json().as_array().map(Vec::len), Some(1));
        let mut states = Vec::new();
        let mut next = Some(format!("/webhooks/{id}/deliveries?limit=1"));
        while let Some(path) = next {
            let page = key.get(&path).await;
            assert_eq!(page.status, 200, "{}", page.text);
            for entry in page.json().as_array().unwrap() {
                states.push((
                    entry["type"].as_str().unwrap().to_owned(),
                    entry["state"].as_str().unwrap().to_owned(),
                ));
            }
            next = page.header("link").map(|link| {
                let address = link.trim_start_matches('<').split_once('>').unwrap().0;
                address.split_once("/api/v1").unwrap().1.to_owned()
            });
        }
        let entry = |kind: &str, state: &str| (kind.to_owned(), state.to_owned());
        assert_eq!(
            states,
            [
                entry("webhook.test", "delivered"),
                entry("turn.changed", "skipped"),
                entry("webhook.test", "delivered"),
                entry("turn.changed", "delivered"),
            ]
        );
        let skipped =
            key.get(&format!("/webhooks/{id}/deliveries?status=skipped&event=turn.changed")).await.json();
        assert_eq!((skipped.as_array().map(Vec::len), &skipped[0]["tries"]), (Some(1), &json!([])));

        let told: Vec<(String, String)> =
            sqlx::query_as("select actor_name, did from audit_entries where did like 'webhook.%' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(told.len(), 6, "{told:?}");
        assert!(told.iter().all(|(by, _)| by == "deployer"), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn a_webhook_of_a_key_hears_no_more_than_the_key_sees() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada Admin", Role::Admin).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let adas = acme.private_mailbox("ada@acme.example", "Ada", ada).await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let live = acme.key_of(ada, "live", "webhooks", Mode::Live).await;
        let test = acme.key_of(ada, "test", "webhooks", Mode::Test).await;
        let mut receivers = Vec::new();
        for (key, scope) in [(&live, "team"), (&live, "private"), (&test, "team")] {
            let receiver = Receiver::start().await;
            makes(key, json!({ "url": receiver.url, "scope": scope })).await;
            receivers.push(receiver);
        }
        let refused =
            test.post("/webhooks", json!({ "url": "https://app.example/", "scope": "private" })).await;
        assert_eq!(
            (refused.status, refused.error().as_str()),
            (400, "scope: must be team: the sandbox has no private inboxes")
        );
        let heard = async || -> Vec<usize> {
            world.work().await;
            receivers.iter().map(|receiver| receiver.take().len()).collect()
        };
        acme.mail(team, "a@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [1, 0, 0]);
        acme.mail(adas, "b@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [0, 1, 0]);
        acme.mail(olgas, "c@customer.example", "Hi", "Hello").await;
        assert_eq!(heard().await, [0, 0, 0]);
        acme.happens_in_sandbox().await;
        assert_eq!(heard().await, [0, 0, 1], "a test key's hears the sandbox and nothing else");

        // What a key cannot manage is as if it were not there.
        let private =
            acme.webhook_of(acme.owner, &receivers[0].url, Mode::Live, Scope::Private, &[]).await.unwrap();
        let of_test = acme.webhook(&receivers[2].url, Mode::Test).await;
        let others = world.workspace("Other").await.webhook(&receivers[0].url, Mode::Live).await;
        let mine: Vec<Value> =
            listed(&live).await.into_iter().map(|webhook| webhook["scope"].clone()).collect();
        assert_eq!(mine, ["team", "private"]);
        assert_eq!(listed(&test).await.len(), 2, "also what a person made");
        for id in [private.webhook, of_test.webhook, others.webhook, rookery_base::ids::WebhookId(7)] {
            for what in ["pause", "resume", "rotate", "test", "redeliver"] {
                let reply = live
                    .post(&format!("/webhooks/{id}/{what}"), json!({ "eventId": "evt_0000000000001" }))
                    .await;
                assert_eq!((reply.status, reply.error().as_str()), (404, HIDDEN), "{what}");
            }
            let log = live.get(&format!("/webhooks/{id}/deliveries")).await;
            assert_eq!((log.status, log.error().as_str()), (404, HIDDEN));
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_key_made_ends_with_the_key_and_its_makers_role() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada Admin", Role::Admin).await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key_of(ada, "deployer", "webhooks", Mode::Live).await;
        let (receiver, persons) = (Receiver::start().await, Receiver::start().await);
        let (id, _) = makes(&key, json!({ "url": receiver.url })).await;
        acme.webhook(&persons.url, Mode::Live).await;
        world.sql(&format!("update people set role = 'member' where id = {}", ada.0)).await;
        let sentence =
            "Only owners and admins manage webhooks, and the person who made this key is no longer one.";
        for reply in
            [key.get("/webhooks").await, key.post(&format!("/webhooks/{id}/rotate"), json!({})).await]
        {
            assert_eq!((reply.status, reply.error().as_str()), (403, sentence));
        }
        let made = key.post("/webhooks", json!({ "url": receiver.url })).await;
        assert_eq!((made.status, made.error().as_str()), (403, "Only owners and admins can make webhooks."));
        acme.revoke(&key).await;
        acme.mail(inbox, "a@customer.example", "Hi", "Hello").await;
        world.work().await;
        assert_eq!((receiver.take().len(), persons.take().len()), (0, 1));
        let id = id.parse().unwrap();
        assert_eq!(acme.state(id).await.status(), "off");
        // A person takes it over.
        acme.resume(id).await;
        acme.mail(inbox, "b@customer.example", "Hi", "Hello").await;
        world.work().await;
        assert_eq!(receiver.take().len(), 1);
    })
    .await;
}

/// What mail says must not be able to send events elsewhere, so no model is given a way to.
#[tokio::test]
async fn no_tool_manages_webhooks_whatever_the_key_may() {
    story(async |world| {
        let all = OPERATIONS.iter().filter(|entry| {
            entry.spec.needs == Needs::Scope(access::Scope::Webhooks) || entry.spec.path.contains("webhook")
        });
        let all: Vec<_> = all.map(|entry| &entry.spec).collect();
        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|spec| !spec.has_tool && spec.needs == Needs::Scope(access::Scope::Webhooks)));
        let acme = world.workspace("Acme").await;
        let scopes = access::Scope::ALL.map(access::Scope::as_str).join(",");
        let key = acme.key("everything", &scopes, Mode::Live).await;
        let list = key.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.json();
        let tools = list["result"]["tools"].as_array().unwrap();
        assert!(tools.len() > 10);
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            assert!(all.iter().all(|spec| spec.name != name), "{name}");
            // None takes an address that could be told of anything.
            assert!(tool["inputSchema"]["properties"].get("url").is_none(), "{name}");
        }
        for spec in all {
            let params = json!({ "name": spec.name, "arguments": { "url": "https://evil.example/" } });
            let called =
                key.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
            assert_eq!(called.json()["error"]["message"], "There is no such tool.", "{}", called.text);
        }
    })
    .await;
}

/// proves: WH-1
#[tokio::test]
async fn a_key_without_the_scope_manages_nothing_and_an_address_inside_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let without = acme.key("without", "write,draft,send,record", Mode::Live).await;
        for reply in [
            without.get("/webhooks").await,
            without.post("/webhooks", json!({ "url": "https://app.example/" })).await,
        ] {
            assert_eq!((reply.status, reply.error().as_str()), (403, "This key lacks the webhooks scope."));
        }
        let key = acme.key("deployer", "webhooks", Mode::Live).await;
        for url in [
            "https://127.0.0.1/",
            "https://10.0.0.1/",
            "http://app.example/",
            "https://[::1]/",
            "nonsense",
            "https://metadata.internal/",
        ] {
            let refused = key.post("/webhooks", json!({ "url": url })).await;
            assert_eq!(refused.status, 400, "{url}: {}", refused.text);
            assert!(refused.error().starts_with("url: "), "{url}: {}", refused.text);
        }
        let wrong = key.post("/webhooks", json!({ "url": "https://app.example/", "events": ["all"] })).await;
        assert!(
            wrong.status == 400 && wrong.error().starts_with("events[0]: must be one of"),
            "{}",
            wrong.text
        );
        assert_eq!(world.scalar("select count(*) from webhooks").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_webhook_that_is_asked_for_twice_with_a_key_is_made_once_and_its_secret_is_kept_sealed() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("deployer", "webhooks", Mode::Live).await;
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url });
        let first = key.post_once("deploy-1", "/webhooks", &body).await;
        let again = key.post_once("deploy-1", "/webhooks", &body).await;
        assert_eq!((first.status, &first.text), (again.status, &again.text));
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(listed(&key).await.len(), 1);
        let secret = first.json()["secret"].as_str().unwrap().to_owned();
        for (table, rows) in world.rows().await {
            assert!(rows.iter().all(|row| !row.contains(&secret)), "{table} has the secret");
        }
    })
    .await;
}
