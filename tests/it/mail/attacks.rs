//! What others send to break in: each row of the table of attacks on mail, and the answer it gets.

use serde_json::json;

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, mail, post, post_with};

/// Sends the bytes after a 354 and gives every answer until the connection is closed.
async fn after_data(post: &Post<'_>, bytes: &[u8]) -> Vec<u16> {
    let mut client = Client::greeted(post.smtp).await;
    client.say("MAIL FROM:<eve@customer.example>").await;
    client.say("RCPT TO:<help@acme.example>").await;
    assert_eq!(client.say("DATA").await.code, 354);
    client.send(bytes).await;
    client.send(b"QUIT\r\n").await;
    let mut codes = Vec::new();
    loop {
        match client.hear().await.code {
            0 => return codes,
            code => codes.push(code),
        }
    }
}

#[tokio::test]
async fn a_mail_cannot_smuggle_another_one_in() {
    post(&[], async |post| {
        let ends = ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\r\r\n.\r\r\n", "\r\n\0.\r\n", "\n\n.\n\n"];
        for end in ends {
            let smuggled = format!(
                "From: eve@customer.example\r\nSubject: one\r\n\r\nHello{end}MAIL FROM:<boss@acme.example>\r\n\
                 RCPT TO:<help@acme.example>\r\nDATA\r\nFrom: boss@acme.example\r\nSubject: two\r\n\r\nPay Eve\r\n.\r\n"
            );
            let codes = after_data(post, smuggled.as_bytes()).await;
            assert_eq!(codes, [554, 221], "{end:?}");
            assert_eq!(post.count().await, 0, "{end:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_may_talk_ahead_of_an_answer_it_has_to_wait_for() {
    post(&[], async |post| {
        // A mail sent before 354 may be commands in disguise.
        let mut client = Client::greeted(post.smtp).await;
        client
            .send(b"MAIL FROM:<a@b.example>\r\nRCPT TO:<help@acme.example>\r\nDATA\r\nSubject: x\r\n\r\nx\r\n.\r\n")
            .await;
        let codes = [client.hear().await.code, client.hear().await.code, client.hear().await.code];
        assert_eq!(codes, [250, 250, 503]);
        assert_eq!(client.hear().await.code, 0);
        let mut client = Client::greeted(post.smtp).await;
        client.send(b"EHLO again\r\nMAIL FROM:<a@b.example>\r\n").await;
        assert_eq!([client.hear().await.code, client.hear().await.code], [503, 0]);
        assert_eq!(post.count().await, 0);
    })
    .await;
}

#[tokio::test]
async fn commands_behind_starttls_are_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    let made = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout"])
        .args([key.as_os_str(), "-out".as_ref(), certificate.as_os_str()])
        .output();
    assert!(made.unwrap().status.success());
    let settings = [("TLS_CERTIFICATE", certificate.to_str().unwrap()), ("TLS_KEY", key.to_str().unwrap())];
    post_with(&settings, &[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        client.send(b"STARTTLS\r\nMAIL FROM:<a@b.example>\r\n").await;
        assert_eq!([client.hear().await.code, client.hear().await.code], [503, 0]);
    })
    .await;
}

#[tokio::test]
async fn commands_with_other_line_ends_or_controls_or_without_end_are_refused() {
    post(&[], async |post| {
        for bytes in [
            b"NOOP\n".to_vec(),
            b"NOOP\rNOOP\r\n".to_vec(),
            b"MAIL FROM:<a\0@b.example>\r\n".to_vec(),
            b"MAIL FROM:<a@b.example>\x0b\r\n".to_vec(),
            [b"NOOP ".as_slice(), &[b'x'; 3_000], b"\r\n"].concat(),
            vec![b'x'; 100_000],
        ] {
            let mut client = Client::greeted(post.smtp).await;
            client.send(&bytes).await;
            assert_eq!(
                [client.hear().await.code, client.hear().await.code],
                [500, 0],
                "{:?}",
                &bytes[..10.min(bytes.len())]
            );
        }
    })
    .await;
}

/// Passes DMARC by SPF for `customer.example`.
const ZONE: &[(&str, &str)] = &[
    ("customer.example", "v=spf1 ip4:127.0.0.1 -all"),
    ("_dmarc.customer.example", "v=DMARC1; p=reject"),
    ("eve.example", "v=spf1 ip4:127.0.0.1 -all"),
    ("_dmarc.eve.example", "v=DMARC1; p=reject"),
];

async fn recorded(post: &Post<'_>) {
    let key = post.acme.key("app", "read,record", rookery_world::Mode::Live).await;
    let body = json!({ "messageId": "order-1@shop.example", "reference": "order-1",
        "to": ["anna@customer.example"], "subject": "Your order" });
    let reply = key.post("/app-mail", body).await;
    assert!(reply.status < 300, "{}", reply.text);
}

#[tokio::test]
async fn several_senders_or_tricks_in_from_are_stored_flagged_and_never_join() {
    post(ZONE, async |post| {
        recorded(post).await;
        for (number, from) in [
            "anna@customer.example\nFrom: eve@eve.example",
            "eve@eve.example\nFrom: anna@customer.example",
            "anna@customer.example, eve@eve.example",
            "anna@customer.example, ben@customer.example",
            "Group: anna@customer.example;",
            "=?utf-8?q?anna=40customer.example?= <eve@eve.example>",
            "\"anna@customer.example\" <eve@eve.example>",
            "(anna@customer.example) eve@eve.example",
            "<anna@customer.example> <eve@eve.example>",
            "anna@customer.example <eve@eve.example>",
        ]
        .iter()
        .enumerate()
        {
            let raw = mail(from, &format!("Trick {number}"), "In-Reply-To: <order-1@shop.example>", "Pay me");
            let kept = post.takes("eve@eve.example", "help@acme.example", &raw).await;
            assert!(kept.placed.starts_with("refused to join"), "{from}: {}", kept.placed);
            let conversation = post.key.conversation(kept.conversation).await;
            assert!(conversation.get("reference").is_none_or(|it| it.is_null()), "{from}");
            assert!(conversation.get("appSent").is_none_or(|it| it.is_null()), "{from}");
        }
    })
    .await;
}

/// proves: MAIL-15, MAIL-16, MAIL-26
#[tokio::test]
async fn naming_a_recorded_mail_helps_only_its_recipient_and_only_with_dmarc() {
    post(ZONE, async |post| {
        recorded(post).await;
        let answers = "In-Reply-To: <order-1@shop.example>";
        for (sender, envelope, why) in [
            ("eve@eve.example", "eve@eve.example", "refused to join: the sender is not on the app's mail"),
            ("anna@customer.example", "eve@eve.example", "refused to join: DMARC fail"),
            ("anna@nowhere.example", "eve@eve.example", "refused to join: DMARC none"),
        ] {
            let raw = mail(sender, &format!("From {sender} by {envelope}"), answers, "Hello");
            let kept = post.takes(envelope, "help@acme.example", &raw).await;
            assert_eq!(kept.placed, why);
            let conversation = post.key.conversation(kept.conversation).await;
            assert!(conversation.get("reference").is_none_or(|it| it.is_null()), "{conversation}");
            assert!(conversation.get("appSent").is_none_or(|it| it.is_null()), "{conversation}");
        }
        let raw = mail("anna@customer.example", "Thanks", answers, "Hello");
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        assert_eq!(kept.placed, "started: the first reply to the app's mail");
        let conversation = post.key.conversation(kept.conversation).await;
        assert_eq!(conversation["reference"], "order-1");
        assert_eq!(conversation["appSent"]["messageId"], "order-1@shop.example");
    })
    .await;
}

#[tokio::test]
async fn what_other_servers_wrote_about_the_sender_is_not_believed() {
    post(ZONE, async |post| {
        recorded(post).await;
        let forged = "Authentication-Results: mx.rookery.example; spf=pass; dkim=pass; dmarc=pass\n\
            ARC-Authentication-Results: i=1; mx.rookery.example; dmarc=pass\n\
            ARC-Seal: i=1; a=rsa-sha256; cv=none; d=customer.example; s=x; t=1; b=AAAA\n\
            Received-SPF: pass\nIn-Reply-To: <order-1@shop.example>";
        let raw = mail("anna@customer.example", "Forged", forged, "Hello");
        let kept = post.takes("eve@eve.example", "help@acme.example", &raw).await;
        assert_eq!(kept.verdict["dmarc"], "fail");
        assert_ne!(kept.verdict["arc"], "pass");
        assert_eq!(kept.placed, "refused to join: DMARC fail");
    })
    .await;
}

/// proves: MAIL-2, MAIL-3
#[tokio::test]
async fn a_plus_tag_that_is_no_reference_is_an_ordinary_address() {
    post(&[], async |post| {
        for (number, tag) in
            [&"7".repeat(41), "news", "a/1", "a%1", "ünï1", "a.1", "a=1"].into_iter().enumerate()
        {
            let raw = mail("anna@customer.example", &format!("Tag {number}"), "", "Hello");
            let kept = post.takes("anna@customer.example", &format!("help+{tag}@acme.example"), &raw).await;
            let conversation = post.key.conversation(kept.conversation).await;
            assert!(conversation.get("reference").is_none_or(|it| it.is_null()), "{tag}");
        }
    })
    .await;
}

#[tokio::test]
async fn bombs_are_refused_and_odd_file_names_are_data() {
    post(&[], async |post| {
        let deep: String = (0..1_000).map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n")).collect();
        let wide = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n\nx\n".repeat(10_000));
        for (what, body) in [("deep", deep), ("wide", wide)] {
            let raw = format!("From: eve@eve.example\nSubject: {what}\n{body}");
            let answer = Client::greeted(post.smtp).await.mail("eve@eve.example", "help@acme.example", &raw).await;
            assert_eq!(answer.code, 554, "{what}: {answer:?}");
        }
        let names = ["../../etc/passwd", "..\\\\..\\\\x", ".htaccess", "a\u{202e}fdp.exe", "a\u{200b}.pdf", "con"];
        let parts: String = names
            .iter()
            .map(|name| format!("--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=\"{name}\"\n\nx\n"))
            .collect();
        let raw = format!(
            "From: eve@eve.example\nSubject: names\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n"
        );
        let kept = post.takes("eve@eve.example", "help@acme.example", &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        let attachments = conversation["timeline"][0]["attachments"].as_array().unwrap().clone();
        assert_eq!(attachments.len(), names.len());
        for attachment in attachments {
            let name = attachment["filename"].as_str().unwrap();
            assert!(!name.contains(['/', '\\', '\u{202e}', '\u{200b}']), "{name:?}");
        }
        let keys: Vec<String> = sqlx::query_scalar("select blob from documents").fetch_all(&post.world.app.pool).await.unwrap();
        assert!(keys.iter().all(|key| !key.contains("..") && !key.contains("pdf")), "{keys:?}");
    })
    .await;
}
