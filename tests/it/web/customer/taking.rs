//! Files over the private page: checked before they count, documents of the conversation then, complete once.

use std::sync::Arc;

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use rookery_world::pages::customer::{Customer, asked, leaves, link_in, pdf};
use rookery_world::{Mode, ToolAnswer, story, story_with};

/// proves: DREQ-12, DREQ-15, DREQ-16
#[tokio::test]
async fn files_become_documents_and_when_the_required_ones_are_in_it_is_told_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let documents =
            json!([{ "label": "Passport" }, { "label": "Payslip" }, { "label": "Photo", "required": false }]);
        let (key, id, ada) = asked(&acme, documents).await;
        let items = ada.items().await;
        let answer =
            ada.sends(&items[0], &[("my passport.pdf", &pdf("one")), ("page 2.pdf", &pdf("two"))]).await;
        assert_eq!(answer.status, 303, "{}", answer.html);
        assert_eq!(answer.location(), format!("{}#{}", ada.link, items[0]));
        let page = ada.page().await;
        assert!(
            page.contains("1 of 2") && page.contains("my passport.pdf") && page.contains("Received."),
            "{page}"
        );
        assert!(!page.contains("/documents/"), "nothing can be downloaded");
        assert_eq!(world.events("ask.completed").await.len(), 0);
        let listed = key.get("/documents").await.json();
        let names: Vec<_> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["filename"].as_str().unwrap(), one["conversationId"] == json!(id.to_string())))
            .collect();
        assert_eq!(names, [("page 2.pdf", true), ("my passport.pdf", true)]);
        ada.gives(&items[1], "payslip").await;
        assert!(ada.page().await.contains("Thank you. Everything is here."));
        let told = world.events("ask.completed").await;
        assert_eq!(told.len(), 1);
        let request = ada.link.split('/').nth(3).unwrap();
        assert_eq!(told[0]["data"]["ask_id"], request);
        assert_eq!(told[0]["data"]["kind"], "documents");
        assert_eq!(told[0]["data"]["conversation_id"], id.to_string());
        assert_eq!(world.requests().await, ["completed"]);
        ada.gives(&items[2], "photo").await;
        ada.gives(&items[1], "payslip, second page").await;
        assert_eq!(world.events("ask.completed").await.len(), 1);
        assert_eq!(key.told(id, "document-uploaded").await.len(), 5);
        assert_eq!(key.told(id, "documents-completed").await, [json!({ "requestId": request })]);
        assert_eq!(key.conversation(id).await["status"], "waiting", "a file alone moves nothing");
        let notices: i64 =
            world.scalar("select count(*) from notifications where reason = 'documents'").await;
        assert_eq!(notices, 0, "an agent asked, and nobody follows");
    })
    .await;
}

/// proves: DREQ-14
#[tokio::test]
async fn no_reminder_leaves_after_everything_is_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = ada.items().await;
        ada.gives(&items[0], "passport").await;
        world.wait(TimeDelta::days(2));
        world.work().await;
        let reminder = world.outbox.letters().pop().unwrap().text;
        assert!(reminder.contains("- Payslip") && !reminder.contains("Passport"), "{reminder}");
        assert_eq!(link_in(&reminder), ada.link);
        ada.gives(&items[1], "payslip").await;
        let letters = world.outbox.letters().len();
        world.wait(TimeDelta::days(20));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), letters);
    })
    .await;
}

/// proves: DREQ-17
#[tokio::test]
async fn documents_asked_for_in_a_reply_have_the_same_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Loan", "Hello").await;
        let documents = json!([{ "label": "Passport" }]);
        key.replies(id, json!({ "body": "Please.", "documents": documents, "send": true })).await;
        leaves(world).await;
        let ada = Customer::with(world, &link_in(&world.outbox.letters().pop().unwrap().text));
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 2, "it is reminded of");
        let item = ada.items().await.remove(0);
        ada.gives(&item, "x").await;
        assert_eq!(world.events("ask.completed").await.len(), 1);
    })
    .await;
}

/// proves: DREQ-11
#[tokio::test]
async fn what_does_not_pass_its_checks_is_refused_in_words_and_leaves_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let before = world.files().len();
        let large = vec![b'x'; 25_000_001];
        for (name, bytes, status, words) in [
            ("a.zip", &b"PK\x03\x04nothing"[..], 422, "It is an archive"),
            ("page.pdf", b"<!DOCTYPE html><script>alert(1)</script>", 422, "Please send it as PDF"),
            ("a.svg", b"<svg onload=alert(1)>", 422, "Please send it as PDF"),
            ("run.pdf", b"MZ\x90\0\x03", 422, "Please send it as PDF"),
            ("a.pdf", b"%PDF-1.4\ntrailer << /Encrypt 1 0 R >>", 422, "It needs a password"),
            ("empty.pdf", b"", 422, "It is empty."),
            ("large.txt", &large, 413, "A file may have 25 MB at most"),
        ] {
            let answer = ada.sends(&item, &[(name, bytes)]).await;
            assert_eq!(answer.status, status, "{name}: {}", answer.html);
            assert!(answer.html.contains(words) && answer.html.contains(name), "{name}: {}", answer.html);
            assert!(answer.html.contains("0 of 1"), "{name}");
        }
        let hostile = ada.sends(&item, &[("<img src=x onerror=alert(1)>.zip", b"PK\x03\x04x")]).await;
        assert!(!hostile.html.contains("<img"), "{}", hostile.html);
        let none = ada.sends(&item, &[]).await;
        assert!(none.status == 422 && none.html.contains("Choose a file first"), "{}", none.html);
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        assert_eq!(world.files().len(), before, "no bytes are left");

        // What a file is called does not make it one: the document has the type of its bytes.
        assert_eq!(ada.sends(&item, &[("photo.exe", &pdf("photo"))]).await.status, 303);
        let named: (String, String) = sqlx::query_as("select filename, content_type from documents")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(named, ("photo.exe.pdf".to_owned(), "application/pdf".to_owned()));
        assert_eq!(world.files().len(), before + 1);
    })
    .await;
}

#[tokio::test]
async fn the_same_file_twice_is_one_and_there_is_an_end_to_files() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = ada.items().await;
        for _ in 0..3 {
            assert_eq!(ada.sends(&items[0], &[("a.pdf", &pdf("same"))]).await.status, 303);
        }
        assert_eq!(ada.sends(&items[1], &[("b.pdf", &pdf("same"))]).await.status, 303, "it may be for both");
        assert_eq!(world.scalar("select count(*) from documents").await, 1);
        assert_eq!(world.scalar("select count(*) from document_request_files").await, 2);
        assert_eq!(world.files().iter().filter(|file| file.to_string_lossy().contains("/file/")).count(), 1);
        assert_eq!(key.told(id, "document-uploaded").await.len(), 2);
        assert_eq!(world.events("ask.completed").await.len(), 1);
        for n in 1..10 {
            ada.gives(&items[0], &format!("page {n}")).await;
        }
        let full = ada.sends(&items[0], &[("eleven.pdf", &pdf("eleven"))]).await;
        assert!(full.status == 422 && full.html.contains("There are enough files here"), "{}", full.html);
        assert!(!ada.page().await.contains(&format!("{}/{}?", ada.link, items[0])), "no more is offered");
    })
    .await;
}

#[tokio::test]
async fn two_tabs_at_once_complete_it_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = Arc::new(ada.items().await);
        let tabs = (0..3).map(|n| {
            let (item, ada) = (items[n % 2].clone(), &ada);
            async move { ada.sends(&item, &[("a.pdf", &pdf(&format!("tab {n}")))]).await.status }
        });
        let answers = join_all(tabs).await;
        assert!(answers.iter().all(|status| *status == 303), "{answers:?}");
        assert_eq!(world.events("ask.completed").await.len(), 1);
        assert_eq!(world.requests().await, ["completed"]);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_cut_leaves_nothing_and_the_next_try_is_taken() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let before = world.files().len();
        let host = world.address.trim_start_matches("http://");
        let mut peer = tokio::net::TcpStream::connect(host).await.unwrap();
        let head = format!(
            "POST {}/{item} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=edge\r\n\
             Content-Length: 900000\r\n\r\n--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n",
            ada.link
        );
        peer.write_all(head.as_bytes()).await.unwrap();
        peer.write_all(&pdf(&"half a file ".repeat(50_000))).await.unwrap();
        peer.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = peer.read_to_end(&mut answer).await;
        drop(peer);
        assert!(!answer.starts_with(b"HTTP/1.1 303"), "half a file is none");
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        assert_eq!(world.files().len(), before, "half a file leaves no bytes");
        ada.gives(&item, "whole").await;
    })
    .await;
}

#[tokio::test]
async fn a_scanner_that_finds_something_or_is_away_keeps_a_file_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let scanning = tokio::spawn(async move {
        // The third file meets a scanner that hangs up.
        for answer in ["stream: OK\0", "stream: Eicar-Test-Signature FOUND\0", ""] {
            let (mut peer, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            let mut part = [0; 4096];
            while !heard.ends_with(&[0; 4]) {
                let many = peer.read(&mut part).await.unwrap();
                heard.extend(&part[..many]);
            }
            peer.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    story_with(&[("CLAMD", address.as_str())], async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }, { "label": "Payslip" }])).await;
        let items = ada.items().await;
        ada.gives(&items[0], "clean").await;
        let found = ada.sends(&items[1], &[("b.pdf", &pdf("bad"))]).await;
        assert!(
            found.status == 422 && found.html.contains("Our virus scanner found something"),
            "{}",
            found.html
        );
        for _ in 0..2 {
            let away = ada.sends(&items[1], &[("c.pdf", &pdf("unknown"))]).await;
            assert!(
                away.status == 503 && away.html.contains("could not be checked just now"),
                "{}",
                away.html
            );
        }
        assert_eq!(world.scalar("select count(*) from documents").await, 1);
    })
    .await;
    scanning.await.unwrap();
}

/// proves: DREQ-15
#[tokio::test]
async fn in_the_sandbox_a_request_is_asked_answered_and_completed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let live = acme.key("live", "read", Mode::Live).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let body = json!({ "documents": [{ "label": "Passport" }], "send": true });
        let message = key.post(&format!("/conversations/{id}/document-requests"), body).await.json();
        let text = key.message(&id, message["messageId"].as_str().unwrap()).await["text"]
            .as_str()
            .unwrap()
            .to_owned();
        leaves(world).await;
        let ada = Customer::with(world, &link_in(&text));
        let item = ada.items().await.remove(0);
        ada.gives(&item, "sandbox").await;
        let told = world.events("ask.completed").await;
        assert_eq!((told.len(), &told[0]["livemode"]), (1, &json!(false)), "{told:?}");
        assert_eq!(key.get("/documents").await.json().as_array().unwrap().len(), 1);
        assert_eq!(live.get("/documents").await.json().as_array().unwrap().len(), 0);
    })
    .await;
}

/// proves: DREQ-14, DREQ-15, DREQ-18
#[tokio::test]
async fn in_the_sandbox_a_test_key_does_what_a_person_would() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let live = acme.key("live", "read,write", Mode::Live).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let body = json!({ "documents": [{ "label": "Passport" }, { "label": "Payslip" }], "send": true });
        let written = key.post(&format!("/conversations/{id}/document-requests"), body).await.json();
        let text = key.message(&id, written["messageId"].as_str().unwrap()).await["text"].clone();
        let place =
            format!("/sandbox/document-requests/{}/decisions", written["requestId"].as_str().unwrap());
        let decide = async |body: serde_json::Value| key.post(&place, body).await;
        let states = |answer: &serde_json::Value| -> Vec<String> {
            let each = answer["documents"].as_array().unwrap().iter();
            each.map(|document| document["state"].as_str().unwrap().to_owned()).collect()
        };
        let early = decide(json!({ "decision": "accept", "item": 1 })).await;
        assert_eq!(early.status, 400);
        assert!(early.error().starts_with("decision: "), "{}", early.error());
        leaves(world).await;
        let ada = Customer::with(world, &link_in(text.as_str().unwrap()));
        let items = ada.items().await;
        ada.gives(&items[0], "blurred").await;

        let again =
            decide(json!({ "decision": "ask-again", "item": 1, "message": "All corners, please." })).await;
        assert_eq!(again.status, 200, "{}", again.text);
        let again = again.json();
        assert_eq!(states(&again), ["refused", "open"]);
        let mail = key.message(&id, again["messageId"].as_str().unwrap()).await;
        let said = mail["text"].as_str().unwrap();
        assert!(said.contains("All corners, please.") && said.contains(&ada.link), "{said}");
        ada.gives(&items[0], "sharp").await;
        let ticked = decide(json!({ "decision": "tick-off", "item": 2 })).await.json();
        assert_eq!(
            (states(&ticked), &ticked["state"]),
            (vec!["received".into(), "ticked".into()], &json!("completed"))
        );
        let told = world.events("ask.completed").await;
        assert_eq!((told.len(), &told[0]["livemode"]), (1, &json!(false)), "{told:?}");
        assert_eq!(
            states(&decide(json!({ "decision": "accept", "item": 1 })).await.json()),
            ["accepted", "ticked"]
        );
        let back = decide(json!({ "decision": "put-back", "item": 2 })).await.json();
        assert_eq!((states(&back), &back["state"]), (vec!["accepted".into(), "open".into()], &json!("open")));
        let ends = (world.now() + TimeDelta::days(60)).format("%Y-%m-%d").to_string();
        assert_eq!(decide(json!({ "decision": "extend", "linkEnds": ends })).await.status, 200);
        world.wait(TimeDelta::days(50));
        assert!(ada.page().await.contains("Payslip"), "the link lives on");
        assert_eq!(decide(json!({ "decision": "cancel" })).await.json()["state"], "cancelled");
        assert_eq!(ada.opens(&ada.link).await.status, 410, "the link has ended");

        for (body, problem) in [
            (json!({ "decision": "accept" }), "item: is required"),
            (json!({ "decision": "extend" }), "linkEnds: is required"),
            (json!({ "decision": "accept", "item": 3 }), "item: is not one of the checklist"),
        ] {
            assert_eq!(decide(body).await.error(), problem);
        }
        assert_eq!(live.post(&place, json!({ "decision": "cancel" })).await.status, 403);
        let unknown = "/sandbox/document-requests/req_1/decisions";
        assert_eq!(key.post(unknown, json!({ "decision": "cancel" })).await.status, 404);
    })
    .await;
}

/// Neither a test key nor anybody decides on what is live there.
#[tokio::test]
async fn a_test_key_decides_nothing_about_a_live_request() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let key = acme.key("bot", "read,write", Mode::Test).await;
        let request = ada.link.split('/').nth(3).unwrap();
        let place = format!("/sandbox/document-requests/{request}/decisions");
        assert_eq!(key.post(&place, json!({ "decision": "cancel" })).await.status, 404);
        assert_eq!(world.requests().await, ["open"]);
    })
    .await;
}

#[tokio::test]
async fn a_link_takes_so_many_tries_and_the_page_says_when_it_is_too_much() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        for _ in 0..200 {
            assert_eq!(ada.sends(&item, &[]).await.status, 422);
        }
        let busy = ada.sends(&item, &[("a.pdf", &pdf("same"))]).await;
        assert!(busy.status == 429 && busy.html.contains("A moment, please"), "{}", busy.html);
        assert!(busy.headers.contains_key("retry-after"));
        world.wait(TimeDelta::minutes(16));
        ada.gives(&item, "later").await;
    })
    .await;
}

/// With the scanner of tests/peers/clamd, whose only signature is the EICAR text.
#[tokio::test]
#[ignore = "needs a real scanner: just clamd"]
async fn a_real_scanner_finds_what_it_has_a_signature_of() {
    let address = std::env::vars().find(|(name, _)| name == "TEST_CLAMD").expect("TEST_CLAMD").1;
    story_with(&[("CLAMD", address.as_str())], async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let parts = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
        let found = ada.sends(&item, &[("a.txt", parts.concat().as_bytes())]).await;
        assert!(
            found.status == 422 && found.html.contains("Our virus scanner found something"),
            "{}",
            found.html
        );
        let large = pdf(&"x".repeat(24_000_000));
        assert_eq!(ada.sends(&item, &[("large.pdf", &large)]).await.status, 303);
    })
    .await;
}

/// proves: DREQ-9, DREQ-12, DREQ-15
#[tokio::test]
async fn an_agent_asks_by_mcp_and_sees_what_came() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read,draft,send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Loan", "Hello").await;
        let arguments = json!({ "id": id.to_string(), "documents": [{ "label": "Passport" }], "send": true });
        let ToolAnswer::Done { structured, .. } = key.tool("request_documents", arguments).await else {
            panic!("it is asked")
        };
        leaves(world).await;
        let ada = Customer::with(world, &link_in(&world.outbox.letters().pop().unwrap().text));
        let item = ada.items().await.remove(0);
        ada.gives(&item, "passport").await;
        let (_, found) = key.read("/documents?q=pdf", "search_documents", json!({ "q": "pdf" })).await;
        assert_eq!(found[0]["conversationId"], id.to_string());
        let ToolAnswer::Done { structured: read, .. } =
            key.tool("get_conversation", json!({ "id": id.to_string() })).await
        else {
            panic!("it is read")
        };
        let timeline = read["timeline"].as_array().unwrap();
        let uploaded = timeline.iter().find(|one| one["event"] == "document-uploaded").expect("it is told");
        assert_eq!(uploaded["data"]["requestId"], structured["requestId"]);
        assert_eq!(uploaded["data"]["documentId"], found[0]["id"]);
        assert!(timeline.iter().any(|one| one["event"] == "documents-completed"));
        assert_eq!(world.events("ask.completed").await[0]["data"]["ask_id"], structured["requestId"]);
    })
    .await;
}
