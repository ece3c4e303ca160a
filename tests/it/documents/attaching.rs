//! Files by the API: which document an attachment is, the address of a document's file that needs no key, and files that go
//! with a reply, by a document's id or with their content.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::delivery::Received;
use serde_json::{Value, json};

use rookery_world::verbs::erasing::erases;
use rookery_world::{Key, Message, Mode, Reply, Workspace, World, story};

const PDF: &str = "%PDF-1.4 the contract";
const HIDDEN: &str = "No such document.";

/// A mail with a contract and a small picture of its signature, which is not filed.
async fn mail_with_files(
    acme: &Workspace<'_>,
    inbox: MailboxId,
    id: &str,
    answers: Option<&str>,
) -> ConversationId {
    let answers = answers.map(|to| format!("In-Reply-To: <{to}>\n")).unwrap_or_default();
    let raw = format!(
        "Message-ID: <{id}@customer.example>\nFrom: ada@customer.example\nSubject: Contract\n{answers}\
         Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHere it is.\n\
         --b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"contract.pdf\"\n\n{PDF}\n\
         --b\nContent-Type: image/png\nContent-Disposition: inline; filename=\"logo.png\"\n\nsmall\n--b--\n"
    );
    let Received::Stored(stored) = acme.receives(inbox, &raw).await else {
        panic!("the mail was not stored")
    };
    stored.conversation
}

async fn only_document(key: &Key<'_>) -> String {
    let (_, list) = key.read("/documents", "search_documents", json!({})).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    list[0]["id"].as_str().unwrap().to_owned()
}

async fn address(key: &Key<'_>, document: &str) -> Value {
    let path = format!("/documents/{document}/download");
    let (status, answer) = key.read(&path, "get_document_download", json!({ "id": document })).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Follows an address as somebody without a key.
async fn follow(world: &World, url: &str) -> Reply {
    let here = world.app.config.public_url.as_str().trim_end_matches('/');
    let path = url.strip_prefix(here).expect("an address of this service");
    Reply::of(world.ask("GET", path)).await
}

fn files(message: &Value) -> Vec<(&str, Option<&str>)> {
    let all = message["attachments"].as_array().unwrap().iter();
    all.map(|file| (file["filename"].as_str().unwrap(), file["documentId"].as_str())).collect()
}

#[tokio::test]
async fn an_attachment_says_which_document_it_is_however_often_the_same_file_came() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = mail_with_files(&acme, inbox, "first", None).await;
        let ours = "ours@acme.example";
        acme.outbound(id, Message { status: "sent", text: "We got it.", rfc_message_id: Some(ours) }).await;
        assert_eq!(mail_with_files(&acme, inbox, "second", Some(ours)).await, id);
        let document = only_document(&key).await;
        let whole = key.conversation(id).await;
        let messages: Vec<&Value> =
            whole["timeline"].as_array().unwrap().iter().filter(|item| item["direction"] == "inbound").collect();
        assert_eq!(messages.len(), 2);
        for message in messages {
            assert_eq!(files(message), [("contract.pdf", Some(&*document)), ("logo.png", None)], "{message}");
            assert!(message["attachments"][1].get("documentId").is_none(), "left out, and not null");
        }
        // Mail that came before hashes were kept is known by where its bytes are.
        let forget = "update messages set attachments = (select coalesce(jsonb_agg(file - 'contentHash'), '[]') from jsonb_array_elements(attachments) file)";
        world.sql(forget).await;
        let whole = key.conversation(id).await;
        assert_eq!(files(&whole["timeline"][0])[0].1, Some(&*document));
    })
    .await;
}

#[tokio::test]
async fn an_address_gives_the_file_to_whoever_has_it_for_a_quarter_of_an_hour_and_never_shows_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        mail_with_files(&acme, inbox, "first", None).await;
        let document = only_document(&key).await;
        let given = address(&key, &document).await;
        assert_eq!(given["endsAt"], rookery_base::clock::written(world.now() + TimeDelta::minutes(15)));
        assert_eq!((&given["filename"], &given["size"]), (&json!("contract.pdf"), &json!(PDF.len())));
        let url = given["url"].as_str().unwrap();
        assert!(url.contains(&acme.id.to_string()), "a fleet finds its cell by it: {url}");
        let file = follow(world, url).await;
        assert_eq!((file.status, file.text.as_str()), (200, PDF));
        assert_eq!(file.header("content-type"), Some("application/octet-stream"));
        assert!(
            file.header("content-disposition").unwrap().starts_with("attachment; filename=\"contract.pdf\"")
        );
        assert_eq!(file.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(file.header("cache-control"), Some("no-store"));
        assert_eq!(file.header("referrer-policy"), Some("no-referrer"));

        let (said, token) = url.rsplit_once('.').unwrap();
        let later = said.replace(said.rsplit_once('.').unwrap().1, "9999999999999");
        for altered in [
            format!("{later}.{token}"),
            format!("{said}.{}", "A".repeat(43)),
            format!("{said}."),
            said.into(),
        ] {
            let refused = follow(world, &altered).await;
            assert_eq!((refused.status, refused.error().as_str()), (404, "No such endpoint."), "{altered}");
        }
        world.wait(TimeDelta::minutes(14));
        assert_eq!(follow(world, url).await.status, 200);
        world.wait(TimeDelta::minutes(1));
        assert_eq!(follow(world, url).await.status, 404, "it has ended");
    })
    .await;
}

#[tokio::test]
async fn an_address_ends_with_its_key_and_with_what_the_key_can_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let bea = acme.person("Bea", Role::Admin).await;
        let private = acme.private_mailbox("bea@acme.example", "Bea", bea).await;
        let hers = acme.key_of(bea, "hers", "read", Mode::Live).await;
        let key = acme.key("bot", "read", Mode::Live).await;
        mail_with_files(&acme, private, "private", None).await;
        let hidden = only_document(&hers).await;
        let path = format!("/documents/{hidden}/download");
        let never = key.get("/documents/doc_0000000000001/download").await;
        let refused = key.get(&path).await;
        assert_eq!(
            (refused.status, refused.text),
            (never.status, never.text),
            "hidden is the same as unknown"
        );
        let of_hers = address(&hers, &hidden).await;
        let url = of_hers["url"].as_str().unwrap();
        assert_eq!(follow(world, url).await.status, 200);
        // It went to an inbox that she cannot see.
        world.sql("update documents set audience = 77").await;
        assert_eq!(follow(world, url).await.status, 404);
        world.sql("delete from documents").await;

        mail_with_files(&acme, inbox, "open", None).await;
        let document = only_document(&key).await;
        let (mine, hers_too) = (address(&key, &document).await, address(&hers, &document).await);
        acme.revoke(&key).await;
        assert_eq!(follow(world, mine["url"].as_str().unwrap()).await.status, 404);
        assert_eq!(follow(world, hers_too["url"].as_str().unwrap()).await.status, 200);
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        world.work().await;
        assert_eq!(follow(world, hers_too["url"].as_str().unwrap()).await.status, 404, "she was erased");
    })
    .await;
}

#[tokio::test]
async fn a_draft_with_files_shows_them_to_whoever_approves_it_and_they_leave_with_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let bea = acme.person("Bea", Role::Member).await;
        let theirs = mail_with_files(&acme, inbox, "first", None).await;
        let document = only_document(&bot).await;
        let other = acme.mail(inbox, "bob@other.example", "Hello", "May I see the contract?").await;
        let body = json!({ "body": "Here you are.", "attachments": [
            { "documentId": document },
            { "filename": "../terms \u{202e}.txt", "contentType": "text/plain", "content": STANDARD.encode("Our terms.") },
        ] });
        let draft = bot.write(&other.to_string(), "replies", "reply", body.clone(), 201).await;
        let message = draft["messageId"].as_str().unwrap();
        let read = bot.message(other, message).await;
        assert_eq!(files(&read), [("contract.pdf", None), ("terms .txt", None)], "it is a document elsewhere");
        assert_eq!(read["to"], json!(["bob@other.example"]));
        let same = bot.replies(theirs, body).await;
        assert_eq!(files(&bot.message(theirs, &same).await)[0], ("contract.pdf", Some(&*document)));

        let browser = world.browser(acme.id, bea).await;
        let page = browser.get(&format!("/approvals/{message}")).await.page();
        assert!(page.contains("contract.pdf") && page.contains("terms .txt"), "{page}");
        let file = browser.get(&format!("/messages/{message}/files/1")).await;
        assert_eq!(file.html, "Our terms.");
        assert!(file.headers["content-disposition"].to_str().unwrap().starts_with("attachment;"));

        // What the mail has is its own: it leaves whatever became of the document.
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        world.work().await;
        acme.approve(bea, message, None).await.unwrap();
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let mails = world.outbox.mails();
        let mail = mails.iter().find(|mail| mail.to == "bob@other.example").expect("it left");
        let raw = String::from_utf8_lossy(&mail.raw);
        assert!(raw.contains("contract.pdf") && raw.contains("terms .txt"), "{raw}");
        assert!(raw.contains(&STANDARD.encode(PDF)) && raw.contains("Our terms."), "{raw}");
    })
    .await;
}

#[tokio::test]
async fn a_file_that_cannot_go_with_a_reply_is_refused_before_anything_is_stored() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let bea = acme.person("Bea", Role::Admin).await;
        let private = acme.private_mailbox("bea@acme.example", "Bea", bea).await;
        mail_with_files(&acme, private, "private", None).await;
        let hidden = only_document(&acme.key_of(bea, "hers", "read", Mode::Live).await).await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let id = acme.mail(inbox, "bob@other.example", "Hello", "Hello").await.to_string();
        let (rows, stored) = (world.rows().await, world.files());
        let own = json!({ "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" });
        let with = |files: Value| json!({ "body": "x", "attachments": files });
        let both = json!({ "documentId": hidden, "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" });
        let shape = "attachments[0]: must have documentId, or filename, contentType and content";
        let large = json!({ "filename": "a", "contentType": "text/plain", "content": "A".repeat(4_700_000) });
        for (files, status, start) in [
            (json!([{ "documentId": hidden }]), 404, HIDDEN),
            (json!([own, { "documentId": "doc_0000000000001" }]), 404, HIDDEN),
            (json!([{ "documentId": "doc_zzzzzzzzzzzzzzzzzzzzzzzz" }]), 404, HIDDEN),
            (json!([{ "documentId": "cnv_1" }]), 400, "attachments[0].documentId: must be a document's id"),
            (json!([{}]), 400, shape),
            (json!([both]), 400, shape),
            (json!([{ "documentId": hidden, "filename": "a.txt" }]), 400, shape),
            (json!([{ "filename": "a.txt", "content": "YQ==" }]), 400, shape),
            (json!([{ "filename": "a", "contentType": "text/plain", "content": "YQ" }]), 400, "attachments[0].content: must be base64"),
            (json!([{ "filename": " ", "contentType": "text/plain", "content": "YQ==" }]), 400, "attachments[0].filename: must not be blank"),
            (json!([{ "filename": "a", "contentType": "text", "content": "YQ==" }]), 400, "attachments[0].contentType: must look like application/pdf"),
            (Value::Array(vec![own.clone(); 31]), 400, "attachments: must have at most 30 items"),
            (json!("x"), 400, "attachments: must be a list"),
        ] {
            let (got, sentence) = bot.refused(&id, "replies", "reply", with(files.clone())).await;
            assert_eq!(got, status, "{files}: {sentence}");
            assert!(sentence.starts_with(start), "{files}: {sentence}");
        }
        let path = format!("/conversations/{id}/replies");
        let refused = bot.post(&path, with(Value::Array(vec![large; 3]))).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "attachments: must be at most 10 MB together"));
        // What the path names comes first, and then what is stored is removed again.
        let nobody = bot.post("/conversations/cnv_0000000000001/replies", with(json!([own]))).await;
        assert_eq!((nobody.status, nobody.error().as_str()), (404, "No such conversation."));
        assert_eq!(world.files(), stored, "a file was left behind");
        assert_eq!(world.rows().await, rows);
    })
    .await;
}

/// Documents can be larger than a mail may be: they are looked at before a byte is copied.
#[tokio::test]
async fn files_of_a_mail_have_eighteen_megabytes_together() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let id = mail_with_files(&acme, inbox, "first", None).await.to_string();
        let document = only_document(&bot).await;
        world.sql("update documents set size = 18 * 1024 * 1024").await;
        let body = json!({ "body": "x", "attachments": [{ "documentId": document },
            { "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" }] });
        let (status, sentence) = bot.refused(&id, "replies", "reply", body).await;
        assert_eq!(status, 400);
        assert!(
            sentence.starts_with("attachments: The files of a mail have at most 18 MB together."),
            "{sentence}"
        );
    })
    .await;
}

#[tokio::test]
async fn in_the_sandbox_files_go_with_a_reply_and_nothing_leaves() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write,draft,send", Mode::Test).await;
        let id = key
            .simulate(json!({ "from": "ada@customer.test", "text": "Hello", "attachments": [
                { "filename": "contract.pdf", "contentType": "application/pdf", "content": STANDARD.encode(PDF) }] }))
            .await;
        let document = only_document(&key).await;
        assert_eq!(follow(world, address(&key, &document).await["url"].as_str().unwrap()).await.text, PDF);
        let body = json!({ "body": "Signed.", "send": true, "attachments": [{ "documentId": document }] });
        let sent = key.write(&id, "replies", "reply", body, 201).await;
        world.wait(TimeDelta::seconds(6));
        world.work().await;
        let message = key.message(&id, sent["messageId"].as_str().unwrap()).await;
        assert_eq!(message["status"], "sent");
        assert_eq!(files(&message), [("contract.pdf", Some(&*document))]);
        assert_eq!(world.outbox.mails(), []);
    })
    .await;
}
