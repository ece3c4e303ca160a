//! `POST /conversations/{id}/tags` and its tool.

use serde_json::{Value, json};

use rookery_world::{Key, Mode, story};

/// proves: TAG-1, TAG-5, TAG-6, TAG-7, TAG-10, TAG-11, TAG-12, GEN-13
#[tokio::test]
async fn tags_are_made_put_on_and_taken_off_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let change = json!({ "add": ["VIP", "  vip ", "refund  due"], "remove": ["unknown"] });
        // The tool repeats the same call: nothing may be added twice.
        assert_eq!(key.write(&id, "tags", "tag_conversation", change, 200).await, json!({ "ok": true }));
        assert_eq!(key.conversation(&id).await["tags"], json!(["refund due", "VIP"]));
        assert_eq!(entries(&key, &id).await, [json!({ "added": ["refund due", "VIP"], "removed": [] })]);
        assert_eq!(counts(&key).await, [("refund due".into(), 1), ("VIP".into(), 1)]);

        key.write(&id, "tags", "tag_conversation", json!({ "remove": ["vIp"] }), 200).await;
        assert_eq!(key.conversation(&id).await["tags"], json!(["refund due"]));
        assert_eq!(counts(&key).await, [("refund due".into(), 1), ("VIP".into(), 0)], "the tag itself stays");
        assert_eq!(entries(&key, &id).await.last().unwrap(), &json!({ "added": [], "removed": ["VIP"] }));
    })
    .await;
}

/// proves: TAG-2, TAG-13
#[tokio::test]
async fn an_empty_call_changes_nothing_and_a_name_in_both_lists_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let before = key.conversation(&id).await;
        let address = format!("{}/api/v1/conversations/{id}/tags", world.address);
        assert_eq!(world.http.post(&address).bearer_auth(&key.text).send().await.unwrap().status(), 200);
        key.write(&id, "tags", "tag_conversation", json!({}), 200).await;
        key.write(&id, "tags", "tag_conversation", json!({ "add": [], "remove": null }), 200).await;
        assert_eq!(key.conversation(&id).await, before);
        key.write(&id, "tags", "tag_conversation", json!({ "add": ["a"], "remove": ["A"] }), 200).await;
        assert_eq!(key.conversation(&id).await["tags"], json!(["a"]));
    })
    .await;
}

/// proves: TAG-3, TAG-4, TAG-8
#[tokio::test]
async fn lists_and_names_have_their_limits() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let names = |count: usize| (0..count).map(|number| format!("tag {number}")).collect::<Vec<_>>();
        let wrong = [
            (json!({ "add": names(11) }), "add: "),
            (json!({ "remove": names(11) }), "remove: "),
            (json!({ "add": ["ok", ""] }), "add[1]: "),
            (json!({ "add": ["x".repeat(41)] }), "add[0]: "),
            (json!({ "add": "vip" }), "add: "),
            (json!({ "remove": [7] }), "remove[0]: "),
        ];
        for (body, start) in wrong {
            let (status, sentence) = key.refused(&id, "tags", "tag_conversation", body).await;
            assert_eq!(status, 400);
            assert!(sentence.starts_with(start), "{sentence}");
        }
        key.write(
            &id,
            "tags",
            "tag_conversation",
            json!({ "add": names(10), "remove": ["é".repeat(40)] }),
            200,
        )
        .await;
    })
    .await;
}

/// proves: VIS-17, VIS-18, SBX-25
#[tokio::test]
async fn live_and_sandbox_share_names_but_a_test_key_sees_only_its_own() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (live, test) =
            (acme.key("bot", "write", Mode::Live).await, acme.key("bot", "write", Mode::Test).await);
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let real = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await.to_string();
        live.write(&real, "tags", "tag_conversation", json!({ "add": ["VIP", "secret plan"] }), 200).await;
        let simulated = test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        test.write(&simulated, "tags", "tag_conversation", json!({ "add": ["vip"] }), 200).await;
        let (of_live, of_test) = (live.get("/tags").await.json(), test.get("/tags").await.json());
        assert_eq!(of_test.as_array().unwrap().len(), 1);
        assert_eq!((&of_test[0]["name"], &of_test[0]["count"]), (&json!("VIP"), &json!(1)));
        assert_eq!(of_test[0]["id"], of_live[1]["id"], "the same tag");
        assert_eq!(of_live[1]["count"], 1, "the sandbox does not count live");
    })
    .await;
}

async fn entries(key: &Key<'_>, id: &str) -> Vec<Value> {
    let timeline = key.conversation(id).await["timeline"].clone();
    let tags = timeline.as_array().unwrap().iter().filter(|item| item["event"] == "tags");
    tags.map(|item| item["data"].clone()).collect()
}

async fn counts(key: &Key<'_>) -> Vec<(String, i64)> {
    let (status, tags) = key.read("/tags", "list_tags", json!({})).await;
    assert_eq!(status, 200);
    let tags = tags.as_array().unwrap().clone();
    tags.iter().map(|tag| (tag["name"].as_str().unwrap().into(), tag["count"].as_i64().unwrap())).collect()
}
