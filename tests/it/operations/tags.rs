//! `GET /tags`: the vocabulary and its counts.

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::{Key, Mode, Workspace, story};

async fn tags(key: &Key<'_>) -> Vec<(String, i64)> {
    let (status, list) = key.read("/tags", "list_tags", json!({})).await;
    assert_eq!(status, 200, "{list}");
    let tag = |item: &Value| {
        assert_eq!(item.as_object().unwrap().len(), 3, "{item}");
        assert!(item["id"].as_str().is_some_and(|id| id.starts_with("tag_")), "{item}");
        (item["name"].as_str().unwrap().to_owned(), item["count"].as_i64().expect("a whole number"))
    };
    list.as_array().expect("an array").iter().map(tag).collect()
}

fn counted(tags: &[(&str, i64)]) -> Vec<(String, i64)> {
    tags.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// proves: TAG-9
#[tokio::test]
async fn all_tags_are_listed_by_name_without_limit() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(tags(&key).await, []);
        let id = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        let mut wanted = Vec::new();
        for number in 0..120 {
            let name = format!("{} {number:03}", if number % 2 == 0 { "tag" } else { "TAG" });
            acme.tag(id, &name).await;
            wanted.push((name, 1));
        }
        assert_eq!(tags(&key).await, wanted);
        assert_eq!(key.get("/tags?limit=1").await.json().as_array().unwrap().len(), 120);
    })
    .await;
}

#[tokio::test]
async fn a_count_follows_the_tagged_conversations_in_every_status() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for status in ["open", "waiting", "closed"] {
            let id = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
            acme.set(id, &format!("status = '{status}'")).await;
            acme.tag(id, "vip").await;
            ids.push(id);
        }
        acme.tag(ids[0], "late").await;
        assert_eq!(tags(&key).await, counted(&[("late", 1), ("vip", 3)]));
        world.work().await;
        untag(&acme, ids[2], "vip").await;
        untag(&acme, ids[0], "late").await;
        let fewer = counted(&[("late", 0), ("vip", 2)]);
        assert_eq!(tags(&key).await, fewer, "a tag that nothing has stays listed");
        world.work().await;
        assert_eq!(tags(&key).await, fewer);
    })
    .await;
}

/// proves: VIS-8, VIS-18
#[tokio::test]
async fn counts_and_names_tell_nothing_of_what_the_key_cannot_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let theirs = other.mailbox("help@other.example", "Support").await;
        let tester = acme.key("tester", "write", Mode::Test).await;
        let seen = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        let hidden = acme.mail(adams, "anna@customer.example", "Hm", "Hello").await;
        let foreign = other.mail(theirs, "anna@customer.example", "Hm", "Hello").await;
        let sandbox = tester.simulate(json!({ "from": "a@b.test", "text": "Hello" })).await;
        let sandbox: ConversationId = sandbox.parse().unwrap();
        for (id, name) in [(seen, "both"), (hidden, "both"), (hidden, "secret")] {
            acme.tag(id, name).await;
        }
        other.tag(foreign, "foreign").await;
        let olga = acme.key("bot", "read", Mode::Live).await;
        let adam = acme.key_of(adam, "adam-bot", "read", Mode::Live).await;
        assert_eq!(tags(&tester).await, [], "nothing was ever tagged in the sandbox");
        acme.tag(sandbox, "both").await;
        acme.tag(sandbox, "trial").await;
        for _ in 0..2 {
            assert_eq!(tags(&olga).await, counted(&[("both", 1), ("trial", 0)]));
            assert_eq!(tags(&adam).await, counted(&[("both", 2), ("secret", 1), ("trial", 0)]));
            assert_eq!(tags(&tester).await, counted(&[("both", 1), ("trial", 1)]));
            world.work().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_name_that_was_typed_only_in_a_private_inbox_is_listed_only_for_its_owner() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let seen = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        let hidden = acme.mail(adams, "anna@customer.example", "Hm", "Hello").await;
        let olga = acme.key("bot", "write", Mode::Live).await;
        let adam = acme.key_of(adam, "adam-bot", "write", Mode::Live).await;
        let type_in = async |key: &Key<'_>, id: ConversationId, change: Value| {
            let reply = key.post(&format!("/conversations/{id}/tags"), change).await;
            assert_eq!((reply.status, reply.json()), (200, json!({ "ok": true })));
        };
        type_in(&adam, hidden, json!({ "add": ["Falcon"] })).await;
        type_in(&adam, hidden, json!({ "remove": ["Falcon"] })).await;
        assert_eq!(tags(&adam).await, counted(&[("Falcon", 0)]), "who typed it keeps it");
        assert_eq!(tags(&olga).await, []);
        // Whoever types the same name has the same tag from then on, and hears nothing of the other's use.
        type_in(&adam, hidden, json!({ "add": ["Falcon"] })).await;
        type_in(&olga, seen, json!({ "add": ["falcon"] })).await;
        assert_eq!(tags(&olga).await, counted(&[("Falcon", 1)]));
        assert_eq!(tags(&adam).await, counted(&[("Falcon", 2)]));
        type_in(&olga, seen, json!({ "remove": ["falcon"] })).await;
        assert_eq!(tags(&olga).await, counted(&[("Falcon", 0)]));
        let ids = [&olga, &adam].map(async |key| key.get("/tags").await.json()[0]["id"].clone());
        let [one, other] = ids;
        assert_eq!(one.await, other.await);
    })
    .await;
}

#[tokio::test]
async fn the_list_the_read_and_the_vocabulary_order_tags_alike() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        for name in ["zebra", "Éclair", "apple", "Fax", "eclair", "Ärger", "1st", "東京"] {
            acme.tag(id, name).await;
        }
        let vocabulary: Vec<_> = tags(&key).await.into_iter().map(|(name, _)| name).collect();
        assert_eq!(key.conversation(id).await["tags"], json!(vocabulary));
        assert_eq!(key.list("").await.1[0]["tags"], json!(vocabulary));
    })
    .await;
}

async fn untag(workspace: &Workspace<'_>, conversation: ConversationId, name: &str) {
    sqlx::query(
        "delete from conversation_tags using tags
         where tags.workspace_id = $1 and name = $3 and tag_id = tags.id
           and conversation_tags.workspace_id = $1 and conversation_id = $2",
    )
    .bind(workspace.id)
    .bind(conversation)
    .bind(name)
    .execute(&workspace.world.app.pool)
    .await
    .expect("a tag can be taken away");
}
