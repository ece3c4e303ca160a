//! `POST /conversations/{id}/assign` and its tool.

use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::{Mode, story};

/// proves: ASG-1, ASG-2, ASG-3, ASG-7, ASG-9, ASG-10, EVT-8, GEN-13
#[tokio::test]
async fn a_conversation_is_given_to_a_teammate_and_taken_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Member).await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await.to_string();
        let bot = json!({ "type": "agent", "id": key.agent, "name": "bot" });
        let person = json!({ "type": "user", "id": anna, "name": "Anna Berg" });
        let mut before = Value::Null;
        for (to, now) in [
            ("me".to_owned(), bot.clone()),
            (format!("user:{anna}"), person),
            (format!("agent:{}", key.agent), bot.clone()),
            ("none".to_owned(), Value::Null),
        ] {
            world.wait(chrono::TimeDelta::seconds(1));
            let told = world.events("conversation.assigned").await.len();
            assert_eq!(
                key.write(&id, "assign", "assign_conversation", json!({ "to": to }), 200).await,
                json!({ "ok": true })
            );
            let read = key.conversation(&id).await;
            assert_eq!(read["assignee"], now);
            let entry = read["timeline"].as_array().unwrap().last().unwrap().clone();
            assert_eq!((&entry["event"], &entry["actor"]), (&json!("assigned"), &json!("bot")));
            assert_eq!(entry["data"], json!({ "from": before, "to": now }));
            let events = world.events("conversation.assigned").await;
            assert_eq!(events.len(), told + 1);
            let data = &events.last().unwrap()["data"];
            assert_eq!((&data["assignee"], &data["assigned_by"]), (&now, &bot));
            before = now;
        }
        key.write(&id, "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        assert_eq!(key.listed("assigned=me").await, [id.as_str()]);
        assert!(key.listed("assigned=unassigned").await.is_empty());
    })
    .await;
}

/// proves: ASG-8
#[tokio::test]
async fn giving_it_to_who_has_it_already_changes_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        key.write(&id, "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        let (before, events) = (key.conversation(&id).await, world.event_count().await);
        key.write(&id, "assign", "assign_conversation", json!({ "to": "me" }), 200).await;
        assert_eq!(key.conversation(&id).await, before);
        assert_eq!(world.event_count().await, events);
    })
    .await;
}

/// proves: ASG-4, ASG-5, ASG-6, ASG-11
#[tokio::test]
async fn nobody_outside_the_team_can_be_given_it_and_all_of_them_answer_alike() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let anna = acme.person("Anna Berg", Role::Member).await;
        let other = world.workspace("Other").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let test = acme.key("bot", "write", Mode::Test).await;
        let of_anna = acme.person("Ada Admin", Role::Admin).await;
        let foreign = acme.key_of(of_anna, "other bot", "write", Mode::Live).await;
        let gone = acme.key("gone", "read", Mode::Live).await;
        acme.revoke(&gone).await;
        let hidden = acme.mail(private, "ada@customer.example", "Hi", "Hello").await.to_string();
        let simulated = test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;

        for to in
            ["anna", "", "usr_0000000000001", "user:agt_0000000000001", &anna.to_string(), &"x".repeat(81)]
        {
            let (status, sentence) =
                key.refused(&hidden, "assign", "assign_conversation", json!({ "to": to })).await;
            assert_eq!(status, 400);
            assert!(sentence.starts_with("to: "), "{sentence}");
        }
        let mut sentences = Vec::new();
        for to in [
            format!("user:{anna}"),
            format!("user:{}", other.owner),
            "user:usr_0000000000001".to_owned(),
            format!("agent:{}", foreign.agent),
            format!("agent:{}", test.agent),
            format!("agent:{}", gone.agent),
        ] {
            let (status, sentence) =
                key.refused(&hidden, "assign", "assign_conversation", json!({ "to": to })).await;
            assert_eq!(status, 400);
            sentences.push(sentence);
        }
        sentences.dedup();
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        for to in [format!("user:{}", acme.owner), format!("agent:{}", key.agent)] {
            assert_eq!(
                test.refused(&simulated, "assign", "assign_conversation", json!({ "to": to })).await.0,
                400
            );
        }
        test.write(
            &simulated,
            "assign",
            "assign_conversation",
            json!({ "to": format!("agent:{}", test.agent) }),
            200,
        )
        .await;
    })
    .await;
}

/// proves: CONV-7
#[tokio::test]
async fn everybody_in_team_can_be_given_the_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Anna Berg", Role::Member).await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        acme.key("second bot", "read", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await.to_string();
        let team = key.conversation(&id).await["team"].clone();
        let members: Vec<_> =
            ["people", "agents"].iter().flat_map(|kind| team[kind].as_array().unwrap()).collect();
        assert_eq!(members.len(), 4);
        for member in members {
            key.write(&id, "assign", "assign_conversation", json!({ "to": member["id"] }), 200).await;
            assert_eq!(key.conversation(&id).await["assignee"]["name"], member["name"]);
        }
    })
    .await;
}
