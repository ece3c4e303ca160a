//! `POST /conversations/changes` and its tool: many conversations in one call, each with a result of its own.

mod counted;

use rookery_core::rules::definition::{Action, Becomes};
use rookery_core::workspace::people::{self, Role};
use rookery_product::replies::merge::merge;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::verbs::rules::{on_tag, rule};
use rookery_world::{Key, Mode, ToolAnswer, story, story_with};

const PATH: &str = "/conversations/changes";
const TOOL: &str = "change_conversations";
const MISSING: &str = "No such conversation.";
const NOBODY: &str = "to: nobody of that id can be given this conversation";

fn done(id: &str) -> Value {
    json!({ "id": id, "ok": true })
}

fn not_done(id: &str, status: u16, error: &str) -> Value {
    json!({ "id": id, "ok": false, "status": status, "error": error })
}

/// By REST and then by MCP, which finds everything done and says the same.
async fn changed(key: &Key<'_>, body: Value) -> Value {
    let reply = key.post(PATH, body.clone()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let ToolAnswer::Done { text, structured } = key.tool(TOOL, body).await else { panic!("{}", reply.text) };
    assert_eq!((text, structured), (reply.text.clone(), reply.json()));
    reply.json()["results"].clone()
}

/// What a timeline tells, without when.
async fn told(key: &Key<'_>, id: &str) -> Vec<Value> {
    let read = key.conversation(id).await;
    let events = read["timeline"].as_array().unwrap().iter().filter(|item| item["type"] == "event");
    events.map(|item| json!([item["actor"], item["event"], item["data"]])).collect()
}

#[tokio::test]
async fn what_is_done_to_many_is_what_single_calls_do_and_what_is_not_there_stops_nothing() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let private = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let other = world.workspace("Other").await;
        let inbox = other.mailbox("help@other.example", "Help").await;
        let from = "ada@customer.example";
        let (one, two) =
            (acme.mail(help, from, "Hi", "Hello").await, acme.mail(help, from, "Ho", "Hello").await);
        let single = acme.mail(help, from, "He", "Hello").await.to_string();
        let hidden = acme.mail(private, from, "Hi", "Hello").await.to_string();
        let foreign = other.mail(inbox, from, "Hi", "Hello").await.to_string();
        let test = acme.key("bot", "write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let key = acme.key("bot", "write", Mode::Live).await;

        key.write(&single, "tags", "tag_conversation", json!({ "add": ["vip"] }), 200).await;
        key.write(&single, "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        let before =
            (world.events("turn.changed").await.len(), world.events("conversation.assigned").await.len());
        key.write(&single, "status", "set_status", json!({ "status": "waiting" }), 200).await;

        let (one, two) = (one.to_string(), two.to_string());
        let absent = [&hidden, &foreign, &simulated, "cnv_0000000000001", "nonsense", ""];
        let ids: Vec<&str> = [&*one].into_iter().chain(absent).chain([&*two, &*one]).collect();
        let results =
            changed(&key, json!({ "ids": ids, "status": "waiting", "add": ["vip"], "to": "me" })).await;
        let mut wanted = vec![done(&one)];
        wanted.extend(absent.iter().map(|id| not_done(id, 404, MISSING)));
        wanted.extend([done(&two), done(&one)]);
        assert_eq!(results, Value::Array(wanted));

        for id in [&one, &two] {
            let read = key.conversation(id).await;
            assert_eq!((&read["status"], &read["tags"]), (&json!("waiting"), &json!(["vip"])), "{id}");
            assert_eq!(told(&key, id).await, told(&key, &single).await, "the timeline of single calls");
        }
        let after =
            (world.events("turn.changed").await.len(), world.events("conversation.assigned").await.len());
        assert_eq!(after, (before.0 + 3, before.1 + 2), "one event each, as of single calls");
        let of_anna = acme.key_of(anna, "hers", "read", Mode::Live).await;
        assert_eq!(of_anna.conversation(&hidden).await["tags"], json!([]), "what is hidden is untouched");
    })
    .await;
}

#[tokio::test]
async fn one_that_cannot_be_given_to_somebody_is_not_changed_at_all_and_stops_no_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let anna = acme.person("Anna Berg", Role::Member).await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let shared = acme.mail(help, "ada@customer.example", "Hi", "Hello").await.to_string();
        let hers = acme.mail(private, "ada@customer.example", "Hi", "Hello").await.to_string();
        let before = key.conversation(&hers).await;
        let to = format!("user:{anna}");
        let body = json!({ "ids": [hers, shared], "status": "closed", "add": ["vip"], "to": to });
        assert_eq!(changed(&key, body).await, json!([not_done(&hers, 400, NOBODY), done(&shared)]));
        assert_eq!(key.conversation(&hers).await, before, "neither its tags nor its status");
        let read = key.conversation(&shared).await;
        assert_eq!((&read["assignee"]["name"], &read["status"]), (&json!("Anna Berg"), &json!("closed")));
    })
    .await;
}

#[tokio::test]
async fn the_input_has_its_limits() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let ids = |count: usize| (0..count).map(|number| format!("cnv_{number}")).collect::<Vec<_>>();
        for (body, problem) in [
            (json!({ "status": "open" }), "ids: "),
            (json!({ "ids": [], "status": "open" }), "ids: "),
            (json!({ "ids": ids(101), "status": "open" }), "ids: "),
            (json!({ "ids": [7], "status": "open" }), "ids[0]: "),
            (json!({ "ids": ids(1) }), "status: is required, or one of add, remove and to"),
            (json!({ "ids": ids(1), "status": null, "to": null }), "status: is required"),
            (json!({ "ids": ids(1), "status": "snoozed" }), "status: "),
            (json!({ "ids": ids(1), "add": ["x".repeat(41)] }), "add[0]: "),
            (json!({ "ids": ids(1), "to": "anna" }), "to: must be me, none, user:usr_… or agent:agt_…"),
        ] {
            let reply = key.post(PATH, body.clone()).await;
            let sentence = reply.error();
            assert_eq!(reply.status, 400, "{body}");
            assert!(sentence.starts_with(problem), "{body}: {sentence}");
            assert_eq!(key.tool(TOOL, body).await, ToolAnswer::Failed { status: 400, sentence });
        }
        let reply = key.post(PATH, json!({ "ids": ids(100), "status": "open" })).await;
        assert_eq!(reply.json()["results"].as_array().unwrap().len(), 100);
        let reader = acme.key("reader", "read", Mode::Live).await;
        let refused = reader.post(PATH, json!({ "ids": ids(1), "status": "open" })).await;
        assert_eq!((refused.status, refused.error().as_str()), (403, "This key lacks the write scope."));
    })
    .await;
}

/// A rule that a tag wakes may assign and close: whoever asks for something else in the same call gets that.
#[tokio::test]
async fn rules_hear_of_the_tags_and_what_was_asked_for_comes_after_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let closes = on_tag("spam", vec![Action::Status { status: Becomes::Closed }]);
        rule(&acme, acme.owner, "Spam", closes).await;
        let (one, two) = (
            acme.mail(help, "ada@customer.example", "Hi", "Hello").await.to_string(),
            acme.mail(help, "ada@customer.example", "Ho", "Hello").await.to_string(),
        );
        changed(&key, json!({ "ids": [one], "add": ["spam"] })).await;
        assert_eq!(key.conversation(&one).await["status"], "closed");
        changed(&key, json!({ "ids": [two], "add": ["spam"], "status": "waiting" })).await;
        assert_eq!(key.conversation(&two).await["status"], "waiting");
    })
    .await;
}

#[tokio::test]
async fn an_id_of_one_that_became_part_of_another_leads_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let kept = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let gone = acme.mail(help, "ada@customer.example", "Ho", "Hello").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let person = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
        merge(&mut tx, &person, kept, gone).await.unwrap();
        tx.commit().await.unwrap();
        let (kept, gone) = (kept.to_string(), gone.to_string());
        let results = changed(&key, json!({ "ids": [gone, kept], "status": "closed" })).await;
        assert_eq!(results, json!([done(&gone), done(&kept)]));
        assert_eq!(key.told(&kept, "status").await.len(), 1, "it was closed once");
    })
    .await;
}
