//! The log can be followed: one line for every mail that comes, is refused or leaves, with its ids and what became of it, and
//! without the part of an address that names a person; requests with the client they came from.

use std::time::Duration;

use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::mail::client::Client;
use rookery_world::mail::dns::Zone;
use rookery_world::mail::post::mail;
use rookery_world::ports;
use rookery_world::sink::Sink;
use rookery_world::site::{Node, Site};

const SENDER: &str = "anna.private@customer.example";
const INBOX: &str = "help@acme.example";

/// A node with doors for mail and a relay, to which three mails came: one is kept, one is for nobody, one is answered.
struct Told {
    node: Node,
    /// Its folder has the log.
    _site: Site,
    workspace: String,
    message: String,
}

async fn told(settings: &[(&str, &str)]) -> Told {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    site.inbox(&workspace, INBOX, "Help");
    let (smtp, zone, relay) = (ports::free(), Zone::serve(&[]).await, Sink::start().await);
    let (listen, dns, relay_url) = (smtp.to_string(), zone.address.to_string(), relay.relay());
    let own = [
        ("ROOKERY_SMTP_LISTEN", &*listen),
        ("ROOKERY_DNS", &dns),
        ("ROOKERY_RELAY", &relay_url),
        ("ROOKERY_UNDO_WINDOW_SECONDS", "0"),
    ];
    let node = site.serve("one", &[&own[..], settings].concat()).await;
    let raw = mail(SENDER, "Where is my order?", "", "It has not come.");
    let mut client = Client::greeted(smtp).await;
    assert_eq!(client.mail(SENDER, INBOX, &raw).await.code, 250);
    assert_eq!(client.mail(SENDER, "nobody.here@acme.example", &raw).await.code, 550);
    let list = site.get(&node, "/api/v1/conversations", &key).await;
    let conversation = list.json()[0]["id"].as_str().unwrap().to_owned();
    let reply = site
        .http
        .post(format!("{}/api/v1/conversations/{conversation}/replies", node.address))
        .bearer_auth(&key)
        .header("x-forwarded-for", "192.0.2.7")
        .json(&json!({ "body": "On its way.", "send": true }));
    let reply = Reply::of(reply).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    for _ in 0..100 {
        if !relay.taken().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let whole = site.get(&node, &format!("/api/v1/conversations/{conversation}"), &key).await;
    let whole = whole.json();
    let mail =
        whole["timeline"].as_array().unwrap().iter().find(|item| item["direction"] == "inbound").unwrap();
    let message = mail["id"].as_str().unwrap().to_owned();
    Told { node, _site: site, workspace, message }
}

impl Told {
    /// Lines of that event, once there are so many.
    async fn lines(&self, event: &str, wanted: usize) -> Vec<Value> {
        for _ in 0..100 {
            let lines: Vec<Value> = self
                .node
                .log()
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .filter(|line: &Value| line["message"] == event)
                .collect();
            if lines.len() >= wanted {
                return lines;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{event} is not {wanted} times in {}", self.node.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mail_leaves_one_line_with_its_ids_and_verdict_and_nobodys_name() {
    let told = told(&[]).await;
    let [kept, refused] = &told.lines("mail in", 2).await[..] else { panic!("{}", told.node.log()) };
    assert_eq!(kept["verdict"], "accepted");
    assert_eq!(kept["workspace"], told.workspace);
    assert_eq!(kept["message_id"], told.message);
    assert_eq!((&kept["from"], &kept["to"]), (&json!("customer.example"), &json!("acme.example")));
    assert_eq!(kept["client"], "127.0.0.1");
    assert!(kept["dmarc"].is_string() && kept["bytes"].as_u64() > Some(0), "{kept}");
    // The id that the sender was told.
    assert_eq!(kept["answer"], format!("250 2.0.0 Ok, {}", kept["mail"].as_str().unwrap()));
    assert_eq!((&refused["verdict"], &refused["to"]), (&json!("no_such_inbox"), &json!("acme.example")));

    let [sent] = &told.lines("mail out", 1).await[..] else { panic!("{}", told.node.log()) };
    assert_eq!((&sent["verdict"], &sent["to"]), (&json!("accepted"), &json!("customer.example")));
    assert_eq!(sent["workspace"], told.workspace);
    assert!(sent["message_id"].as_str().unwrap().starts_with("msg_"), "{sent}");

    let requests = told.lines("request", 3).await;
    assert!(requests.iter().any(|line| line["client"] == "192.0.2.7"), "{requests:?}");
    for word in ["anna.private", "nobody.here", "Where is my order"] {
        assert!(!told.node.log().contains(word), "the log holds {word}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whole_addresses_stand_in_the_log_only_when_they_are_asked_for() {
    let told = told(&[("ROOKERY_LOG_ADDRESSES", "true")]).await;
    let lines = told.lines("mail in", 2).await;
    assert_eq!((&lines[0]["from"], &lines[0]["to"]), (&json!(SENDER), &json!(INBOX)));
    assert_eq!(lines[1]["to"], "nobody.here@acme.example");
    assert_eq!(told.lines("mail out", 1).await[0]["to"], SENDER);
}
