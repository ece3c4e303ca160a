//! What a key cannot see does not exist for it: private inboxes, other workspaces, the other mode.

use chrono::TimeDelta;
use reqwest::header::HeaderMap;
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Reply, Workspace, World, story, story_with};

const ALL_SCOPES: &str = "read,write,draft,send,record";

/// An answer without what differs between any two answers.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl From<Reply> for Answer {
    fn from(mut reply: Reply) -> Self {
        for name in ["x-request-id", "date"] {
            assert!(reply.headers.remove(name).is_some(), "{name} is there");
        }
        Self { status: reply.status, headers: reply.headers, body: reply.text }
    }
}

/// The REST and the MCP answer to reading an id, each at the start of a fresh minute.
async fn read(key: &Key<'_>, id: &str) -> [Answer; 2] {
    key.world.wait(TimeDelta::minutes(5));
    let rest = key.get(&format!("/conversations/{id}")).await;
    key.world.wait(TimeDelta::minutes(5));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "get_conversation", "arguments": { "id": id } } });
    [rest.into(), key.mcp(call).await.into()]
}

/// A mail that opens a conversation with a document, found by every word of `text`.
async fn mail_with_document(acme: &Workspace<'_>, inbox: MailboxId, text: &str) -> ConversationId {
    let raw = format!(
        "From: anna@customer.example\nSubject: {text}\nContent-Type: multipart/mixed; boundary=b\n\n\
         --b\n\n{text}\n\
         --b\nContent-Type: application/pdf\n\
         Content-Disposition: attachment; filename=\"{text}.pdf\"\n\n{text}\n--b--\n"
    );
    match acme.receives(inbox, &raw).await {
        rookery_mail::incoming::delivery::Received::Stored(stored) => stored.conversation,
        other => panic!("not stored: {other:?}"),
    }
}

async fn remove(world: &World, person: PersonId) {
    sqlx::query("update people set removed_at = created_at where id = $1")
        .bind(person)
        .execute(&world.app.pool)
        .await
        .expect("a person can leave");
}

async fn document_names(key: &Key<'_>, query: &str) -> Vec<String> {
    let arguments = match query.strip_prefix("q=") {
        Some(words) => json!({ "q": words }),
        None => json!({}),
    };
    let (_, list) = key.read(&format!("/documents?{query}"), "search_documents", arguments).await;
    let names = list.as_array().expect("an array").iter().map(|item| item["filename"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

async fn inbox_names(key: &Key<'_>) -> Vec<String> {
    let (_, list) = key.read("/mailboxes", "list_mailboxes", json!({})).await;
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

/// Everything the key can list, with every filter, must be these conversations.
async fn sees(key: &Key<'_>, conversations: &[ConversationId], hidden_inboxes: &[MailboxId]) {
    let mut wanted = crate::operations::written(conversations);
    wanted.sort();
    for query in [
        "",
        "limit=100",
        "assigned=unassigned",
        "reference=ref-1",
        "view=all&reference=ref-1",
        "q=parcel",
        "q=parcel&assigned=unassigned",
        "q=anna&reference=REF-1",
    ] {
        let mut listed = key.listed(query).await;
        listed.sort();
        assert_eq!(listed, wanted, "{query}");
    }
    for inbox in hidden_inboxes {
        for more in ["", "&q=parcel", "&assigned=unassigned", "&view=all&reference=ref-1"] {
            let answer = key.list(&format!("mailbox={inbox}{more}")).await;
            assert_eq!(answer, (404, json!({ "error": "No such inbox." })));
        }
    }
    assert_eq!(document_names(key, "").await.len(), conversations.len());
    assert_eq!(document_names(key, "q=parcel").await.len(), conversations.len());
}

/// proves: VIS-4, VIS-12, VIS-15, VIS-20, MCP-12
#[tokio::test]
async fn every_id_that_names_nothing_for_the_key_gets_the_very_same_answer() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let theirs = other.mailbox("help@other.example", "Support").await;
        let live = acme.key("bot", ALL_SCOPES, Mode::Live).await;
        let test = acme.key("tester", ALL_SCOPES, Mode::Test).await;
        let seen = acme.mail(support, "anna@customer.example", "Hm", "Hello").await.to_string();
        let hidden = acme.mail(adams, "anna@customer.example", "Hm", "Hello").await.to_string();
        let foreign = other.mail(theirs, "anna@customer.example", "Hm", "Hello").await.to_string();
        let sandbox = test.simulate(json!({ "from": "a@b.test", "text": "Hello" })).await;
        let never = "cnv_0000000000001".to_owned();
        let message = live.conversation(&seen).await["timeline"][0]["id"].as_str().unwrap().to_owned();
        let names_nothing = [
            foreign,
            hidden.clone(),
            message,
            support.to_string(),
            seen.to_uppercase(),
            seen[..seen.len() - 1].to_owned(),
            format!("{seen}0"),
            "cnv_".into(),
            "cnv_zzzzzzzzzzzzz".into(),
            "cnv_%00".into(),
            "-1".into(),
            "undefined".into(),
            "x".repeat(2_000),
        ];
        for (key, visible, invisible) in [(&live, &seen, &sandbox), (&test, &sandbox, &seen)] {
            let [rest, mcp] = read(key, &never).await;
            assert_eq!((rest.status, rest.body.as_str()), (404, r#"{"error":"No such conversation."}"#));
            assert!(mcp.body.contains("404 No such conversation."), "{}", mcp.body);
            assert_ne!(read(key, visible).await, [rest, mcp], "what is there reads otherwise");
            let unknown = read(key, &never).await;
            for id in names_nothing.iter().chain([invisible]) {
                assert_eq!(read(key, id).await, unknown, "{id}");
            }
        }
        let adams_key = acme.key_of(adam, "adam-bot", "read", Mode::Live).await;
        assert_eq!(adams_key.conversation(&hidden).await["id"], *hidden, "its owner's key reads it");
    })
    .await;
}

/// proves: VIS-1, VIS-2, VIS-3, VIS-6, VIS-7, VIS-10
#[tokio::test]
async fn a_private_inbox_is_there_for_the_keys_its_owner_made_and_for_no_other() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let mias = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let mut ids = Vec::new();
        for inbox in [support, olgas, adams, mias] {
            let id = mail_with_document(&acme, inbox, &format!("parcel {inbox}")).await;
            acme.set(id, "reference = 'ref-1'").await;
            ids.push(id);
        }
        let olgas_key = acme.key("olga-bot", ALL_SCOPES, Mode::Live).await;
        let adams_key = acme.key_of(adam, "adam-bot", ALL_SCOPES, Mode::Live).await;
        sees(&olgas_key, &[ids[0], ids[1]], &[adams, mias]).await;
        sees(&adams_key, &[ids[0], ids[2]], &[olgas, mias]).await;
        assert_eq!(inbox_names(&olgas_key).await, ["Olga", "Support"]);
        assert_eq!(inbox_names(&adams_key).await, ["Adam", "Support"]);
        assert_eq!(olgas_key.listed(&format!("mailbox={olgas}")).await, [ids[1].to_string()]);
        assert_eq!(document_names(&olgas_key, &format!("q={adams}")).await, [""; 0]);
        assert_eq!(document_names(&adams_key, &format!("q={adams}")).await, [format!("parcel {adams}.pdf")]);
        // An assignment does not open it either.
        acme.set(ids[2], &format!("assignee_type = 'agent', assignee_id = {}", olgas_key.agent.0)).await;
        assert_eq!(olgas_key.listed("assigned=me").await, [""; 0]);
        let hidden = olgas_key.get(&format!("/conversations/{}", ids[2])).await;
        assert_eq!(hidden.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_key_whose_maker_has_left_opens_nothing_and_sends_nothing_any_more() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", Role::Admin).await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key_of(adam, "adam-bot", ALL_SCOPES, Mode::Live).await;
        let test = acme.key_of(adam, "adam-test", ALL_SCOPES, Mode::Test).await;
        let olgas = acme.key("olga-bot", ALL_SCOPES, Mode::Live).await;
        let id = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        let message = key.sends(id, "On my way.").await;
        let assigned = json!({ "to": format!("agent:{}", key.agent) });
        assert_eq!(olgas.post(&format!("/conversations/{id}/assign"), assigned.clone()).await.status, 200);
        remove(world, adam).await;
        for key in [&key, &test] {
            let never = Key { world, agent: key.agent, text: format!("{}x", key.text) };
            let (gone, unknown) = (key.get("/me").await, never.get("/me").await);
            assert_eq!((gone.status, gone.text), (401, unknown.text), "as one that never was");
        }
        let read = olgas.conversation(id).await;
        assert_eq!(read["team"]["agents"].as_array().unwrap().len(), 1, "{}", read["team"]);
        assert_eq!(olgas.post(&format!("/conversations/{id}/assign"), assigned).await.status, 400);
        world.work().await;
        assert_eq!(olgas.message(id, &message).await["status"], "draft");
        assert_eq!(olgas.told(id, "send-stopped").await[0]["reason"], "key-revoked");
        assert_eq!(olgas.conversation(id).await["assignee"], Value::Null);
        let told: Vec<(String, String)> =
            sqlx::query_as("select recipient, body from notices where kind = 'keys-ended'")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let [(owner, body)] = &told[..] else { panic!("one notice: {told:?}") };
        assert_eq!(owner, "olga@rookery.example");
        assert!(
            body.contains("adam-bot") && body.contains("adam-test") && body.contains("Adam Admin"),
            "{body}"
        );
        world.work().await;
        let all: i64 =
            sqlx::query_scalar("select count(*) from notices").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(all, 1, "told once");
    })
    .await;
}

/// proves: VIS-11, VIS-13, VIS-14
#[tokio::test]
async fn live_and_sandbox_never_see_each_other() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let live = acme.key("bot", ALL_SCOPES, Mode::Live).await;
        let test = acme.key("tester", ALL_SCOPES, Mode::Test).await;
        let mut real = Vec::new();
        for inbox in [support, olgas] {
            real.push(mail_with_document(&acme, inbox, "parcel").await);
        }
        let file = json!({ "filename": "parcel.pdf", "contentType": "application/pdf", "content": "eA==" });
        let mail = json!({ "from": "anna@customer.test", "text": "parcel", "attachments": [file] });
        let simulated: ConversationId = test.simulate(mail).await.parse().unwrap();
        for id in real.iter().chain([&simulated]) {
            acme.set(*id, "reference = 'ref-1'").await;
        }
        let (_, list) = test.read("/mailboxes", "list_mailboxes", json!({})).await;
        let sandbox: MailboxId = list[0]["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(
            list,
            json!([{ "id": sandbox.to_string(), "address": acme.sandbox_address, "name": "Sandbox", "open": 1 }])
        );
        sees(&test, &[simulated], &[support, olgas]).await;
        sees(&live, &real, &[sandbox]).await;
        assert_eq!(inbox_names(&live).await, ["Olga", "Support"]);
    })
    .await;
}

/// proves: VIS-19
#[tokio::test]
async fn nothing_of_another_workspace_can_be_reached() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let theirs = other.mailbox("help@other.example", "Theirs").await;
        let ours = mail_with_document(&acme, support, "parcel").await;
        let foreign = mail_with_document(&other, theirs, "parcel").await;
        acme.set(ours, "reference = 'ref-1'").await;
        other.set(foreign, "reference = 'ref-1'").await;
        other.tag(foreign, "secret").await;
        let live = acme.key("bot", ALL_SCOPES, Mode::Live).await;
        let test = acme.key("tester", ALL_SCOPES, Mode::Test).await;
        let their_test = other.key("tester", ALL_SCOPES, Mode::Test).await;
        let simulated = their_test.simulate(json!({ "from": "a@b.test", "text": "parcel" })).await;
        sees(&live, &[ours], &[theirs]).await;
        sees(&test, &[], &[theirs, support]).await;
        assert_eq!(inbox_names(&live).await, ["Support"]);
        let (_, tags) = live.read("/tags", "list_tags", json!({})).await;
        assert_eq!(tags, json!([]));
        for key in [&live, &test] {
            for id in [foreign.to_string(), simulated.clone()] {
                assert_eq!(key.get(&format!("/conversations/{id}")).await.status, 404);
            }
        }
        let body = json!({ "from": "a@b.test", "text": "Hi", "conversationId": simulated });
        assert_eq!(test.post("/sandbox/inbound", body).await.status, 404);
        let before = their_test.conversation(&simulated).await;
        assert_eq!(before["timeline"].as_array().map(Vec::len), Some(1));
        let team: Vec<&Value> = before["team"]["agents"].as_array().unwrap().iter().collect();
        assert_eq!(team, [&json!({ "id": format!("agent:{}", their_test.agent), "name": "tester" })]);
    })
    .await;
}
