//! Whoever lets a mail go sees every word that leaves: on the page of one draft, of many, in the strip and in the question of MCP.
//! What an agent can set is taken from the schemas of the operations, so that a field that is new is tried too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use mail_parser::{MessageParser, MimeHeaders};
use rookery_api::operation::Needs;
use rookery_api::registry::{OPERATIONS, RegisteredOperation};
use rookery_base::ids::ConversationId;
use serde_json::{Value, json};

use rookery_world::browser::Browser;
use rookery_world::programs::mcp::{NEW, modern_able};
use rookery_world::{Key, Mode, World, story};

/// What is no word of the mail: it decides what becomes of it, or is for the team alone.
const NOT_OF_THE_MAIL: &[&str] = &["send", "dryRun", "summary", "language"];

/// A value for everything that can be given, each with a word of its own.
fn filled(schema: &Value, name: &str) -> Value {
    if let Some(fields) = schema["properties"].as_object() {
        // Of what is given one way or the other, the way that has the words.
        let without = |way: &Value, field: &str| way["properties"][field] == json!(false);
        let way = schema["oneOf"].as_array().and_then(|ways| ways.last()).cloned().unwrap_or_default();
        let given = fields.iter().filter(|(field, _)| !without(&way, field));
        let given = given.filter(|(field, _)| !NOT_OF_THE_MAIL.contains(&field.as_str()));
        return given
            .map(|(field, of)| (field.clone(), filled(of, &format!("{name}{field}"))))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    if schema["items"].is_object() {
        return json!([filled(&schema["items"], name)]);
    }
    if schema["format"] == "date" {
        return json!("2031-05-09");
    }
    let word = format!("zq{}", name.to_lowercase());
    let valid = jsonschema::validator_for(schema).unwrap();
    let tried = [
        json!(STANDARD.encode(&word)),
        json!(format!("Lines with\n{word}")),
        json!(word),
        json!(format!("text/x-{word}")),
        json!(false),
        json!(7),
    ];
    let is_base64 = schema["contentEncoding"] == "base64";
    let found = tried.into_iter().skip(usize::from(!is_base64)).find(|value| valid.is_valid(value));
    found.unwrap_or_else(|| panic!("{name} takes none of what is tried: {schema}"))
}

/// The text of a page, as somebody reads it or copies it out of a box.
fn text_of(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<') {
        let (tag, rest) = part.split_once('>').unwrap_or(("", part));
        // Files say what they are when somebody points at them.
        text.extend(tag.split("title=\"").nth(1).and_then(|title| title.split('"').next()));
        text.push(' ');
        text.push_str(rest);
    }
    let signs = [("&#38;", "&"), ("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'")];
    signs.iter().fold(text, |text, (code, sign)| text.replace(code, sign))
}

#[track_caller]
fn has_every_word(where_: &str, shown: &str, words: &[String]) {
    let missing: Vec<&String> = words.iter().filter(|word| !shown.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{where_} lacks {missing:?}: {shown}");
}

/// Every word of the last mail that left, but for the link that only the customer gets; and where the words of the quote begin.
fn words_of_the_mail(world: &World) -> (Vec<String>, Vec<String>) {
    let mails = world.outbox.mails();
    let raw = &mails.last().expect("a mail left").raw;
    let mail = MessageParser::new().parse(raw).unwrap();
    let text = mail.body_text(0).unwrap().replace("\r\n", "\n");
    let is_ours = |word: &&str| !word.contains("/upload/") && !word.trim_matches('>').is_empty();
    let split = |text: &str| text.split_whitespace().filter(is_ours).map(str::to_owned).collect::<Vec<_>>();
    let (own, quoted) = text.split_once("\nOn ").unwrap_or((&text, ""));
    let mut own = split(own);
    own.extend(split(mail.subject().unwrap()));
    let addresses = [mail.from(), mail.to(), mail.cc()].into_iter().flatten();
    own.extend(addresses.flat_map(|list| list.iter()).filter_map(|one| one.address().map(str::to_owned)));
    for file in mail.attachments() {
        own.extend(split(file.attachment_name().unwrap()));
        let kind = file.content_type().unwrap();
        own.push(format!("{}/{}", kind.ctype(), kind.subtype().unwrap()));
    }
    (own, split(quoted))
}

fn senders() -> impl Iterator<Item = &'static RegisteredOperation> {
    OPERATIONS.iter().filter(|entry| entry.spec.needs == Needs::DraftOrSend)
}

async fn question(key: &Key<'_>, tool: &RegisteredOperation, id: ConversationId, mut given: Value) -> String {
    (given["id"], given["send"]) = (json!(id), json!(true));
    let params = json!({ "name": tool.spec.name, "arguments": given });
    let able = json!({ "elicitation": {} });
    let asked = modern_able(key, "tools/call", Some(tool.spec.name), params, NEW, able).await.json();
    let asked = asked["result"]["inputRequests"]["send"]["params"]["message"].as_str().map(str::to_owned);
    asked.expect("a question")
}

async fn approves(browser: &Browser<'_>, message: &str) {
    let many = browser.post("/approvals/many", &[("id", message), ("do", "approve")]).await;
    assert!(many.location().contains("approved=1"), "{}", many.location());
}

#[tokio::test]
async fn everything_that_an_agent_can_set_is_seen_wherever_somebody_lets_it_go() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("helper", "read,draft", Mode::Live).await;
        let sender = acme.key("sender", "read,draft,send", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let mut left = 0;
        for tool in senders() {
            let id = acme
                .mail(help, "Ada <ada@customer.example>", "Our invoice", "Where is zqcustomers it?")
                .await;
            let given = filled(&tool.input.json, "");
            let asked = question(&sender, tool, id, given.clone()).await;
            let path = tool.spec.path.replace("{id}", &id.to_string());
            let made = bot.post(&path, given.clone()).await;
            assert_eq!(made.status, 201, "{}: {given}", made.text);
            let message = made.json()["messageId"].as_str().unwrap().to_owned();
            let one = text_of(&olga.get(&format!("/approvals/{message}")).await.page());
            let many = text_of(&olga.get(&format!("/approvals/many?id={message}")).await.page());
            let conversation = text_of(&olga.get(&format!("/conversations/{id}")).await.page());
            approves(&olga, &message).await;
            let strip = text_of(&olga.get("/inbox").await.page());
            let after = text_of(&olga.get(&format!("/approvals/{message}")).await.page());
            world.wait(TimeDelta::minutes(11));
            world.work().await;
            left += 1;
            assert_eq!(world.outbox.mails().len(), left);

            let (own, quoted) = words_of_the_mail(world);
            let agents = own.iter().filter(|word| word.starts_with("zq")).count();
            assert!(agents >= 2 && quoted.contains(&"zqcustomers".to_owned()), "{own:?} {quoted:?}");
            has_every_word("the strip", &strip, &own);
            // The card of what is asked for has its own words around those of the agent.
            let set: Vec<String> = own.iter().filter(|word| word.starts_with("zq")).cloned().collect();
            has_every_word("the conversation", &conversation, &set);
            let all: Vec<String> = own.into_iter().chain(quoted).collect();
            for (name, shown) in
                [("the page", one), ("many", many), ("the page after", after), ("the question", asked)]
            {
                has_every_word(&format!("{name} of {}", tool.spec.name), &shown, &all);
            }
        }
        assert_eq!(left, 2, "reply and request_documents");
    })
    .await;
}

/// What an agent that may not send put there: an account number below the label of a document.
#[tokio::test]
async fn the_words_below_a_label_are_on_every_page_that_can_send_them_and_the_bytes_of_files_behind_a_link() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("helper", "read,draft", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Hello", "Hi").await;
        let words =
            "Our bank has changed.\nPay to DE89 3704 0044 0532 0130 00\nhttps://acme-pay.evil.example/now";
        let message = bot
            .replies(
                id,
                json!({
                    "body": "We look into it.", "summary": "Friendly answer",
                    "documents": [{ "label": "Proof of address", "description": words }],
                    "attachments": [{ "filename": "terms.txt", "contentType": "text/plain",
                                      "content": STANDARD.encode("Pay twice.") }],
                }),
            )
            .await;
        for path in
            ["/approvals".to_owned(), format!("/approvals/many?id={message}"), format!("/conversations/{id}")]
        {
            let page = olga.get(&path).await.page();
            for word in ["DE89 3704 0044 0532 0130 00", "https://acme-pay.evil.example/now", "terms.txt"] {
                assert!(page.contains(word), "{path} lacks {word}: {page}");
            }
            assert!(page.contains(&format!("/messages/{message}/files/0")), "{path}");
        }
        assert_eq!(olga.get(&format!("/messages/{message}/files/0")).await.html, "Pay twice.");
    })
    .await;
}

#[tokio::test]
async fn what_is_long_or_has_a_gap_is_whole_and_says_so_before_it_is_approved() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let sender = acme.key("helper", "read,draft,send", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = acme.mail(help, "ada@customer.example", "Hello", "Hi").await;
        let gap = format!("Thank you.{}Pay to DE89.", "\n".repeat(40));
        let long = format!("{}The end: DE89.", "More and more words. ".repeat(2_000));
        for (body, warning) in [(gap, "a gap of 39 empty lines"), (long, "Read it to its end.")] {
            let tool = senders().find(|tool| tool.spec.name == "reply").unwrap();
            let asked = question(&sender, tool, id, json!({ "body": body })).await;
            let message = sender.drafts(id, &body).await;
            let one = olga.get(&format!("/approvals/{message}")).await.page();
            let many = olga.get(&format!("/approvals/many?id={message}")).await.page();
            for (name, shown) in [("question", &asked), ("one", &one), ("many", &many)] {
                assert!(shown.contains("DE89.") && shown.contains(warning), "{name}: {shown}");
            }
        }
        // On the conversation's page a long one is cut, so it is not approved there.
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert_eq!(page.matches("Approve and send").count(), 1, "{page}");
    })
    .await;
}

#[tokio::test]
async fn many_are_read_before_they_are_sent_and_what_cannot_go_with_others_is_not_among_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let bot = acme.key("helper", "read,draft", Mode::Live).await;
        let mut drafts = Vec::new();
        for (inbox, words) in
            [(help, "First words."), (help, "Second words."), (help, "Third words."), (own, "Hidden words.")]
        {
            let id = acme.mail(inbox, "ada@customer.example", "Hello", "Hi").await;
            drafts.push((id, bot.drafts(id, words).await));
        }
        world.sql(&format!("update conversations set risk = 'phishing' where id = {}", drafts[2].0.0)).await;
        let mia = world
            .browser(acme.id, acme.person("Mia", rookery_core::workspace::people::Role::Member).await)
            .await;
        let queue = mia.get("/approvals").await.page();
        assert!(
            queue.contains(r#"formmethod="get""#),
            "the button leads to the page that shows them: {queue}"
        );
        let ids: Vec<String> = drafts.iter().map(|(_, message)| format!("id={message}")).collect();
        let many = mia.get(&format!("/approvals/many?{}", ids.join("&"))).await.page();
        assert!(many.contains("First words.") && many.contains("Second words."), "{many}");
        assert!(!many.contains("Third words.") && !many.contains("Hidden words."), "{many}");
        assert!(many.contains("2 drafts are not included") && many.contains("Approve and send 2"), "{many}");
        assert_eq!(many.matches(r#"name="id" value="#).count(), 2, "{many}");
        let nothing = mia.get("/approvals/many").await;
        assert_eq!((nothing.status, nothing.location()), (303, "/approvals"));
    })
    .await;
}
