//! A workspace with one of everything that an answer can contain, live and in the sandbox.

use rookery_api::operation::Needs;
use rookery_api::registry::RegisteredOperation;
use rookery_base::ids::ConversationId;
use serde_json::{Value, json};

use super::{Key, Message, Mode, Workspace, World};

pub struct Furnished<'w> {
    pub workspace: Workspace<'w>,
    /// Both have every scope.
    pub live: Key<'w>,
    pub test: Key<'w>,
    /// It has a note, a tag, a draft, a sent reply, an attachment, an assignee, a reference and a warning.
    pub full: ConversationId,
    /// Nobody has touched it, and its sender has no name.
    pub bare: ConversationId,
    /// A sandbox conversation that a reply has reopened.
    pub sandbox: String,
}

const ALL_SCOPES: &str = "read,write,draft,send,record,webhooks";

const INVOICE: &str = "Message-ID: <invoice@customer.example>
From: Ada Lovelace <ada@customer.example>
To: help@rookery.example
Subject: Our invoice
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/plain

The invoice is attached.
--cut
Content-Type: application/pdf; name=invoice.pdf
Content-Disposition: attachment; filename=invoice.pdf
Content-Transfer-Encoding: base64

JVBERi0xLjQK
--cut--
";

pub async fn furnished(world: &World) -> Furnished<'_> {
    let acme = world.workspace("Acme").await;
    let live = acme.key("billing-bot", ALL_SCOPES, Mode::Live).await;
    let test = acme.key("tester", ALL_SCOPES, Mode::Test).await;
    let help = acme.mailbox("help@rookery.example", "Help").await;
    acme.receives(help, INVOICE).await;
    let listed = live.listed("").await;
    let full: ConversationId = listed[0].parse().expect("the invoice opened a conversation");
    let bare = acme.mail(help, "zoe@customer.example", "Hello", "Only asking.").await;

    acme.note(full, "billing-bot", "Looks right.").await;
    acme.tag(full, "vip").await;
    acme.outbound(full, Message { status: "sent", text: "Thank you.", rfc_message_id: None }).await;
    acme.outbound(full, Message { status: "draft", text: "Paid today.", rfc_message_id: None }).await;
    let assignment = format!(
        "reference = 'inv-1042', topic = 'billing', urgency = 'high', risk = 'phishing',
         risk_reasons = '{{A link hides its address.}}', snoozed_until = '2031-02-01T10:00:00Z',
         assignee_type = 'agent', assignee_id = {}",
        live.agent.0
    );
    acme.set(full, &assignment).await;
    world
        .sql("update documents set kind = 'invoice', fields = '{\"vendor\": \"Acme\", \"amount\": 12.5, \"dueDate\": null}'")
        .await;

    let call = acme.bookable("First call").await;
    acme.books(call, "zoe@customer.example", "2031-01-07T09:00:00Z", None).await;

    let first = json!({ "from": "ada@customer.test", "text": "Where is my order?" });
    let sandbox = test.simulate(first).await;
    world.sql("update conversations set status = 'closed' where audience = -1").await;
    test.simulate(json!({ "from": "ada@customer.test", "text": "Again.", "conversationId": sandbox })).await;
    Furnished { workspace: acme, live, test, full, bare, sandbox }
}

/// Live keys cannot call it.
pub fn needs_test_key(entry: &RegisteredOperation) -> bool {
    matches!(entry.spec.needs, Needs::TestKey(_))
}

impl<'w> Furnished<'w> {
    /// A key with every scope that may call the operation.
    pub fn key_for(&self, entry: &RegisteredOperation) -> &Key<'w> {
        if needs_test_key(entry) { &self.test } else { &self.live }
    }

    /// Every read of both keys: the operation's name and its answer.
    pub async fn answers(&self) -> Vec<(&'static str, Value)> {
        let full = self.full.to_string();
        let sides =
            [(&self.live, full.as_str()), (&self.live, &self.bare.to_string()), (&self.test, &self.sandbox)];
        let mut answers = Vec::new();
        for (key, id) in sides {
            for (entry, path) in super::probe::operations(id) {
                if entry.spec.method.as_str() != "GET"
                    || (needs_test_key(entry) && key.agent != self.test.agent)
                {
                    continue;
                }
                let views: &[&str] = match entry.spec.name {
                    "list_conversations" => &["", "?view=snoozed", "?view=all&reference=inv-1042"],
                    _ => &[""],
                };
                for view in views {
                    let reply = key.get(&format!("{path}{view}")).await;
                    assert_eq!(reply.status, 200, "{path}{view}: {}", reply.text);
                    answers.push((entry.spec.name, reply.json()));
                }
            }
        }
        for key in [&self.live, &self.test] {
            for contact in key.get("/contacts").await.json().as_array().unwrap() {
                let reply = key.get(&format!("/contacts/{}", contact["id"].as_str().unwrap())).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                answers.push(("get_contact", reply.json()));
            }
            let reply = key.get(&format!("/agents/{}/day", key.agent)).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            answers.push(("get_agent_day", reply.json()));
            for document in key.get("/documents").await.json().as_array().unwrap() {
                let reply = key.get(&format!("/documents/{}", document["id"].as_str().unwrap())).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                answers.push(("get_document", reply.json()));
                let reply =
                    key.get(&format!("/documents/{}/download", document["id"].as_str().unwrap())).await;
                answers.push(("get_document_download", reply.json()));
            }
        }
        answers
    }
}
