//! Releasing what looked like a scam: a person says that it is none.

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, PersonId};
use rookery_core::conversations::release_held::release;
use rookery_core::workspace::people::{self, Role};
use serde_json::{Value, json};

use rookery_world::site::{Site, text};
use rookery_world::{Message, Mode, Workspace, story};

const SCAM: &str = "Olga Owner here. Urgent: buy gift cards and send me the codes, strictly confidential.";

async fn releases(acme: &Workspace<'_>, person: PersonId, conversation: impl ToString) -> Result<bool> {
    let mut tx = acme.world.app.begin(acme.id).await?;
    let person = people::teammate(&mut tx, acme.id, person).await?;
    let released = release(&mut tx, &person, &conversation.to_string()).await?;
    tx.commit().await?;
    Ok(released)
}

/// A conversation that we answered, with held mail on it.
async fn held_replies(acme: &Workspace<'_>, number: usize) -> ConversationId {
    let support = acme.mailbox("help@acme.example", "Support").await;
    let id = acme.mail(support, "olga@elsewhere.example", "Parcel", "Hello").await;
    let rfc_message_id = Some("one@acme.example");
    acme.outbound(id, Message { status: "sent", text: "We look into it", rfc_message_id }).await;
    for number in 0..number {
        let raw = format!(
            "Message-ID: <{number}@x>\nFrom: Olga Owner <olga@elsewhere.example>\nIn-Reply-To: <one@acme.example>\n\n{SCAM}\n"
        );
        acme.receives(support, &raw).await;
    }
    id
}

#[tokio::test]
async fn a_released_conversation_has_no_risk_and_its_replies_are_told_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = held_replies(&acme, 2).await;
        let read = key.conversation(id).await;
        assert!(read["risk"].is_string(), "{read}");
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
        assert!(releases(&acme, acme.owner, id).await.unwrap());
        let read = key.conversation(id).await;
        assert_eq!((&read["risk"], &read["riskReasons"]), (&Value::Null, &json!([])));
        let last = read["timeline"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (&last["event"], &last["actor"], &last["data"]),
            (&json!("released"), &json!("Olga Owner"), &json!({}))
        );
        let replies: Vec<Value> = world
            .events("client.replied")
            .await
            .into_iter()
            .map(|event| event["data"]["message_id"].clone())
            .collect();
        let written: Vec<Value> = read["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["direction"] == "inbound")
            .map(|item| item["id"].clone())
            .collect();
        assert_eq!(replies, written[1..], "of the two replies, not of the mail that began it");
        let held: Option<i64> =
            sqlx::query_scalar("select count(*) from conversations where held_at is not null")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(held, Some(0));
        // Once more changes nothing and tells nobody.
        let before = world.rows().await;
        assert!(!releases(&acme, acme.owner, id).await.unwrap());
        assert_eq!(world.rows().await, before);
    })
    .await;
}

#[tokio::test]
async fn first_mail_and_a_label_alone_are_released_without_an_event() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let held = acme.mail(support, "Olga Owner <olga@elsewhere.example>", "Gift cards", SCAM).await;
        let marked = acme.mail(support, "x@elsewhere.example", "Hm", "We have new bank details.").await;
        for id in [held, marked] {
            assert!(key.conversation(id).await["risk"].is_string());
            assert!(releases(&acme, acme.owner, id).await.unwrap());
            assert_eq!(key.conversation(id).await["risk"], Value::Null);
            assert_eq!(key.told(id, "released").await.len(), 1);
        }
        assert_eq!(world.events("client.replied").await, [] as [Value; 0]);
    })
    .await;
}

#[tokio::test]
async fn only_who_can_see_it_releases_and_nobody_the_sandbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let hidden = acme.mail(adams, "Olga Owner <olga@elsewhere.example>", "Gift cards", SCAM).await;
        let test = acme.key("tester", "write", Mode::Test).await;
        let scam = json!({ "from": "olga@elsewhere.test", "name": "Olga Owner", "text": SCAM });
        let sandboxed = test.simulate(scam).await;
        assert!(test.conversation(&sandboxed).await["risk"].is_string());
        let before = world.rows().await;
        for id in [hidden.to_string(), sandboxed, "cnv_0000000000001".into()] {
            let error = releases(&acme, acme.owner, &id).await.unwrap_err();
            assert_eq!(error.to_string(), "No such conversation.", "{id}");
        }
        assert_eq!(world.rows().await, before);
        assert!(releases(&acme, adam, hidden).await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_releases_for_a_person() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let mailbox = site.inbox(&workspace, "help@acme.example", "Help");
    let mail = site.folder.join("scam.eml");
    std::fs::write(
        &mail,
        format!("From: Olga Owner <olga@elsewhere.example>\r\nSubject: Hi\r\n\r\n{SCAM}\r\n"),
    )
    .unwrap();
    site.admin(&["import-mail", "--workspace", &workspace, "--mailbox", &mailbox, mail.to_str().unwrap()]);
    let node = site.serve("one", &[]).await;
    let listed = site.get(&node, "/api/v1/conversations", &key).await.json();
    assert!(listed[0]["risk"].is_string(), "{listed}");
    let id = text(&listed[0], "id");
    let named = ["release", "--workspace", &workspace, "--conversation", &id, "--person", &owner];
    assert_eq!(site.admin(&named), json!({ "conversation": id, "released": true }));
    assert_eq!(site.admin(&named), json!({ "conversation": id, "released": false }));
    let listed = site.get(&node, "/api/v1/conversations", &key).await.json();
    assert_eq!(listed[0]["risk"], Value::Null);
    let unknown = site.run(&[
        "admin",
        "release",
        "--workspace",
        &workspace,
        "--conversation",
        "cnv_0000000000001",
        "--person",
        &owner,
    ]);
    assert_eq!(String::from_utf8(unknown.stderr).unwrap(), "rookery: No such conversation.\n");
}
