//! What an operator's commands do for people: approve, discard and undo, connect a sending service, with the real
//! program.

use serde_json::{Value, json};

use rookery_world::Reply;
use rookery_world::site::{Node, Site, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_approves_discards_and_undoes_for_a_person() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let mailbox = site.inbox(&workspace, "help@acme.example", "Help");
    let mail = site.folder.join("hello.eml");
    std::fs::write(&mail, "Message-ID: <1@x>\r\nFrom: ada@customer.example\r\nSubject: Hi\r\n\r\nHello\r\n")
        .unwrap();
    let fixed = ["import-mail", "--workspace", &workspace, "--mailbox", &mailbox];
    site.admin(&[&fixed[..], &[mail.to_str().unwrap()]].concat());
    let node = site.serve("one", &[]).await;
    let listed = site.get(&node, "/api/v1/conversations", &key).await.json();
    let id = text(&listed[0], "id");
    let draft = reply(&site, &node, &key, &id).await;
    let command = |verb: &str, message: &str, more: &[&str]| {
        let named = [verb, "--workspace", &workspace, "--message", message, "--person", &owner];
        site.run(&[&["admin", "--json"], &named[..], more].concat())
    };

    let words = site.folder.join("words.txt");
    std::fs::write(&words, "Better words.\n").unwrap();
    let approved = command("approve", &draft, &["--body-file", words.to_str().unwrap()]);
    let object: Value = serde_json::from_slice(&approved.stdout).unwrap();
    assert_eq!((&object["message"], &object["status"]), (&json!(draft), &json!("scheduled")));
    assert!(object["sendsAt"].as_str().unwrap().ends_with('Z'), "{object}");
    let read = site.get(&node, &format!("/api/v1/conversations/{id}"), &key).await;
    assert!(read.text.contains("Better words."), "{}", read.text);

    let undone = command("undo", &draft, &[]);
    let object: Value = serde_json::from_slice(&undone.stdout).unwrap();
    assert_eq!(object, json!({ "message": draft, "status": "draft" }));
    let again = command("undo", &draft, &[]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(String::from_utf8(again.stderr).unwrap(), "rookery: message: is a draft already\n");

    let gone = command("discard", &draft, &[]);
    let object: Value = serde_json::from_slice(&gone.stdout).unwrap();
    assert_eq!(object, json!({ "message": draft, "discarded": true }));
    let nothing = command("approve", &draft, &[]);
    assert_eq!(String::from_utf8(nothing.stderr).unwrap(), "rookery: No such message.\n");
}

/// The example of docs/mail.md is run as it stands there, with the secret and address that the command printed.
///
/// proves: MAIL-23
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_connects_a_sending_service_that_then_tells_what_it_sent() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let named =
        ["--workspace", &workspace, "--email", "mia@acme.example", "--name", "Mia", "--role", "member"];
    let member = text(&site.admin(&[&["create-user"], &named[..]].concat()), "user");
    std::fs::write(site.folder.join("token"), "a-token\n").unwrap();
    let connect = |person: &str| {
        let who = ["connect-sending-service", "--workspace", &workspace, "--person", person];
        let what = ["--name", "Mailer", "--content-url", "https://1.1.1.1/emails", "--token-file", "token"];
        site.run(&[&["admin", "--json"], &who[..], &what[..]].concat())
    };
    let refused = connect(&member);
    assert_eq!(refused.status.code(), Some(1));
    let why = "rookery: Only owners and admins can connect a sending service.\n";
    assert_eq!(String::from_utf8(refused.stderr).unwrap(), why);
    let made: Value = serde_json::from_slice(&connect(&owner).stdout).unwrap();
    let service = text(&made, "service");
    let listed = site.admin(&["list-sending-services", "--workspace", &workspace]);
    let [one] = &listed["services"].as_array().unwrap()[..] else { panic!("one service: {listed}") };
    assert_eq!(
        (&one["service"], &one["contentUrl"]),
        (&json!(service), &json!("https://1.1.1.1/emails/{id}"))
    );

    let node = site.serve("one", &[]).await;
    let url = text(&made, "url").replace("http://localhost:8080", &node.address);
    let page = include_str!("../../../docs/mail.md");
    let example = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let given = format!("secret={}\nurl={url}\n", text(&made, "secret"));
    let lines: Vec<&str> = example.lines().collect();
    assert!(lines[0].starts_with("secret=") && lines[1].starts_with("url="), "{example}");
    let script = format!("{given}{}", lines[2..].join("\n"));
    let tell = || {
        let done = std::process::Command::new("sh").args(["-euc", &script]).output().expect("a shell");
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    assert_eq!(tell(), (r#"{"ok":true}"#.into(), String::new()));

    let named = ["--workspace", &workspace, "--person", &owner, "--service", &service];
    let ended = site.admin(&[&["disconnect-sending-service"], &named[..]].concat());
    assert_eq!(ended, json!({ "service": service, "disconnected": true }));
    assert_eq!(tell().0, r#"{"error":"This is not signed by a connected service."}"#);
}

async fn reply(site: &Site, node: &Node, key: &str, id: &str) -> String {
    let url = format!("{}/api/v1/conversations/{id}/replies", node.address);
    let made = Reply::of(site.http.post(url).bearer_auth(key).json(&json!({ "body": "Hasty words." }))).await;
    text(&made.json(), "messageId")
}
