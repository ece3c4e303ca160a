//! The conversation of mail servers: what is offered, what is refused and when, and that 250 means stored.

use std::sync::Arc;

use serde_json::json;
use tokio_rustls::rustls::{self, pki_types::ServerName};

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{mail, post, post_with};

#[tokio::test]
async fn a_mail_that_was_acknowledged_can_be_read() {
    post(&[], async |post| {
        let raw = mail("Anna <anna@customer.example>", "Parcel", "", "Where is it?\n.\n..dots");
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        assert_eq!(conversation["timeline"][0]["text"], "Where is it?\n.\n..dots");
        assert_eq!(
            conversation["timeline"][0]["from"],
            json!({ "name": "Anna", "email": "anna@customer.example" })
        );
        // The bytes are there as they came, behind the lines that say how they came.
        let text = kept.raw;
        assert!(text.ends_with(&raw.replace('\n', "\r\n")), "{text}");
        let trace = text.strip_suffix(&raw.replace('\n', "\r\n")).unwrap();
        assert!(
            trace.starts_with("Return-Path: <anna@customer.example>\r\nDelivered-To: help@acme.example\r\n")
        );
        assert!(trace.contains(
            "\r\nReceived: from customer.example ([127.0.0.1])\r\n\tby mx.rookery.example with ESMTP"
        ));
    })
    .await;
}

#[tokio::test]
async fn a_large_mail_goes_over_disk_to_the_blob_store_and_an_endless_text_to_the_files() {
    post(&[], async |post| {
        let line = "All work and no play makes Jack a dull boy.\n";
        let raw = mail("anna@customer.example", "Long", "", &line.repeat(60_000));
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        assert!(kept.raw.ends_with(&raw.replace('\n', "\r\n")));
        let conversation = post.key.conversation(kept.conversation).await;
        let attachment = &conversation["timeline"][0]["attachments"][0];
        assert_eq!(attachment["filename"], "message.txt");
        assert_eq!(attachment["size"], line.len() * 60_000 - 1);
        assert!(conversation["timeline"][0]["text"].as_str().unwrap().starts_with(line));
    })
    .await;
}

#[tokio::test]
async fn the_greeting_names_what_is_offered() {
    post(&[], async |post| {
        let (mut client, greeting) = Client::connect(post.smtp).await;
        assert_eq!(greeting.text, "220 mx.rookery.example ESMTP Rookery\r\n");
        let answer = client.say("EHLO customer.example").await;
        assert_eq!(
            answer.text,
            "250-mx.rookery.example\r\n250-PIPELINING\r\n250-SIZE 41943040\r\n250-ENHANCEDSTATUSCODES\r\n\
             250-8BITMIME\r\n250 SMTPUTF8\r\n"
        );
        assert_eq!(client.say("HELO customer.example").await.text, "250 mx.rookery.example\r\n");
        assert_eq!(client.say("LHLO customer.example").await.code, 502);
        assert_eq!(client.say("STARTTLS").await.code, 502);
        assert_eq!(client.say("AUTH PLAIN AGEAYg==").await.code, 502);
        assert_eq!(client.say("EXPN staff").await.code, 502);
        assert_eq!(client.say("VRFY help").await.code, 252);
        assert_eq!(client.say("NOOP").await.code, 250);
        assert_eq!(client.say("QUIT").await.code, 221);
        assert_eq!(client.hear().await.code, 0);
    })
    .await;
}

#[tokio::test]
async fn commands_out_of_order_are_refused() {
    post(&[], async |post| {
        let (mut client, _) = Client::connect(post.smtp).await;
        assert_eq!(client.say("MAIL FROM:<a@b.example>").await.code, 503);
        assert_eq!(client.say("EHLO x").await.code, 250);
        assert_eq!(client.say("RCPT TO:<help@acme.example>").await.code, 503);
        assert_eq!(client.say("DATA").await.code, 503);
        assert_eq!(client.say("MAIL FROM:<a@b.example>").await.code, 250);
        assert_eq!(client.say("MAIL FROM:<a@b.example>").await.code, 503);
        assert_eq!(client.say("DATA").await.code, 554);
        assert_eq!(client.say("RSET").await.code, 250);
        assert_eq!(client.say("RCPT TO:<help@acme.example>").await.code, 503);
    })
    .await;
}

#[tokio::test]
async fn an_unknown_recipient_is_refused_before_the_mail_is_sent() {
    post(&[], async |post| {
        post.acme.mailbox("sales+eu@acme.example", "Sales").await;
        post.acme.mailbox("hilfe@müller.example", "Hilfe").await;
        let mut client = Client::greeted(post.smtp).await;
        assert_eq!(client.say("MAIL FROM:<anna@customer.example> BODY=8BITMIME SMTPUTF8").await.code, 250);
        for (address, code) in [
            ("help@acme.example", 250),
            ("HELP@ACME.example", 250),
            ("help+inv-1@acme.example", 250),
            ("help+a+b@acme.example", 250),
            ("sales+eu@acme.example", 250),
            ("sales+eu+inv-1@acme.example", 550),
            ("sales@acme.example", 550),
            ("hilfe@müller.example", 250),
            ("hilfe@xn--mller-kva.example", 250),
            ("nobody@acme.example", 550),
            ("help@other.example", 550),
            ("helpacme.example", 553),
            // Simulated mail comes by the API only.
            (post.acme.sandbox_address.as_str(), 550),
        ] {
            let answer = client.say(&format!("RCPT TO:<{address}>")).await;
            assert_eq!(answer.code, code, "{address}: {answer:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_connection_carries_several_mails_and_pipelined_commands() {
    post(&[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        for number in 0..3 {
            client.send(b"MAIL FROM:<anna@customer.example>\r\nRCPT TO:<help@acme.example>\r\nRCPT TO:<x@acme.example>\r\nDATA\r\n").await;
            let codes = [client.hear().await.code, client.hear().await.code, client.hear().await.code];
            assert_eq!(codes, [250, 250, 550]);
            assert_eq!(client.hear().await.code, 354);
            let raw = mail("anna@customer.example", &format!("Mail {number}"), "", "Hello");
            // What comes with the end of a mail is the next command.
            client.send(format!("{}.\r\nNOOP\r\n", raw.replace('\n', "\r\n")).as_bytes()).await;
            assert_eq!([client.hear().await.code, client.hear().await.code], [250, 250]);
        }
        assert_eq!(post.count().await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_mail_to_two_inboxes_is_in_both_and_to_two_addresses_of_one_is_once() {
    post(&[], async |post| {
        post.acme.mailbox("sales@acme.example", "Sales").await;
        let other = post.world.workspace("Other").await;
        other.mailbox("info@other.example", "Info").await;
        let mut client = Client::greeted(post.smtp).await;
        client.say("MAIL FROM:<anna@customer.example>").await;
        for to in ["help@acme.example", "help+inv-7@acme.example", "sales@acme.example", "info@other.example"]
        {
            assert_eq!(client.say(&format!("RCPT TO:<{to}>")).await.code, 250);
        }
        client.say("DATA").await;
        client.send(mail("anna@customer.example", "All", "", "Hello").replace('\n', "\r\n").as_bytes()).await;
        assert_eq!(client.say(".").await.code, 250);
        assert_eq!(post.count().await, 3);
        let references: Vec<Option<String>> =
            sqlx::query_scalar("select reference from conversations order by reference")
                .fetch_all(&post.world.app.pool)
                .await
                .unwrap();
        assert_eq!(references, [Some("inv-7".to_owned()), None, None]);
    })
    .await;
}

/// proves: MSG-15
#[tokio::test]
async fn the_same_mail_again_is_acknowledged_and_stored_once() {
    post(&[], async |post| {
        let raw = mail("anna@customer.example", "Parcel", "", "Hello");
        post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let again =
            Client::greeted(post.smtp).await.mail("anna@customer.example", "help@acme.example", &raw).await;
        assert_eq!((again.code, post.count().await), (250, 1));
    })
    .await;
}

#[tokio::test]
async fn lmtp_answers_for_each_recipient() {
    post(&[], async |post| {
        post.acme.mailbox("sales@acme.example", "Sales").await;
        let (mut client, _) = Client::connect(post.lmtp).await;
        assert_eq!(client.say("EHLO front.acme.example").await.code, 502);
        let offers = client.say("LHLO front.acme.example").await;
        assert!(offers.text.contains("250-XFORWARD ADDR HELO\r\n"), "{offers:?}");
        client.say("MAIL FROM:<anna@customer.example>").await;
        for to in ["help@acme.example", "help+x1@acme.example", "sales@acme.example"] {
            assert_eq!(client.say(&format!("RCPT TO:<{to}>")).await.code, 250);
        }
        client.say("DATA").await;
        client.send(mail("anna@customer.example", "All", "", "Hello").replace('\n', "\r\n").as_bytes()).await;
        let answers = [client.say(".").await.code, client.hear().await.code, client.hear().await.code];
        assert_eq!((answers, post.count().await), ([250; 3], 2));
    })
    .await;
}

#[tokio::test]
async fn what_is_too_large_is_refused_by_its_announcement_or_at_its_end() {
    post(&[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        assert_eq!(client.say("MAIL FROM:<a@b.example> SIZE=41943041").await.code, 552);
        assert_eq!(client.say("MAIL FROM:<a@b.example> SIZE=1000").await.code, 250);
        client.say("RCPT TO:<help@acme.example>").await;
        assert_eq!(client.say("DATA").await.code, 354);
        let line = format!("{}\r\n", "x".repeat(998)).repeat(1_000);
        for _ in 0..42 {
            client.send(line.as_bytes()).await;
        }
        assert_eq!(client.say(".").await.code, 552);
        assert_eq!(client.say("NOOP").await.code, 250);
        assert_eq!(post.count().await, 0);
    })
    .await;
}

#[tokio::test]
async fn mail_that_no_parser_should_touch_is_refused_with_the_reason() {
    post(&[], async |post| {
        let hops = "Received: from a by b\n".repeat(51);
        for (header, code, reason) in [
            (hops.trim_end(), 554, "5.4.6 This mail went through more than 50 servers"),
            (format!("X-Rookery-Loop: {}", post.support).as_str(), 554, "5.4.6"),
        ] {
            let raw = mail("anna@customer.example", "Loop", header, "Hello");
            let answer = Client::greeted(post.smtp)
                .await
                .mail("anna@customer.example", "help@acme.example", &raw)
                .await;
            assert_eq!(answer.code, code, "{answer:?}");
            assert!(answer.text.contains(reason), "{answer:?}");
        }
        let answer =
            Client::greeted(post.smtp).await.mail("a@b.example", "help@acme.example", "\n\nnothing").await;
        assert_eq!(answer.code, 554, "{answer:?}");
        assert_eq!(post.count().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_errs_too_often_or_takes_too_many_seats_is_shown_out() {
    post_with(&[("SMTP_PEER_CONNECTIONS", "3")], &[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        client.say("MAIL FROM:<a@b.example>").await;
        let mut codes = Vec::new();
        for number in 0..25 {
            codes.push(client.say(&format!("RCPT TO:<guess{number}@acme.example>")).await.code);
        }
        assert_eq!(codes[..20], [550; 20]);
        assert_eq!(codes[20..22], [421, 0]);
        let mut seats = Vec::new();
        for _ in 0..3 {
            seats.push(Client::connect(post.smtp).await);
        }
        assert!(seats.iter().all(|(_, greeting)| greeting.code == 220));
        assert_eq!(Client::connect(post.smtp).await.1.code, 421);
        drop(seats.pop());
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert_eq!(Client::connect(post.smtp).await.1.code, 220);
    })
    .await;
}

#[tokio::test]
async fn who_says_nothing_is_not_waited_for() {
    post_with(&[("SMTP_TIMEOUT_SECONDS", "1")], &[], async |post| {
        let (mut silent, _) = Client::connect(post.smtp).await;
        assert_eq!(silent.hear().await.code, 421);
        let mut client = Client::greeted(post.smtp).await;
        client.say("MAIL FROM:<a@b.example>").await;
        client.say("RCPT TO:<help@acme.example>").await;
        client.say("DATA").await;
        client.send(b"Subject: half\r\n\r\nand then").await;
        assert_eq!([client.hear().await.code, client.hear().await.code], [421, 0]);
        assert_eq!(post.count().await, 0);
    })
    .await;
}

/// A certificate for `mx.rookery.example` in a folder that goes with it.
fn certificate() -> (tempfile::TempDir, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
        ])
        .args(["-subj", "/CN=mx.rookery.example", "-addext", "subjectAltName=DNS:mx.rookery.example"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate])
        .output()
        .expect("openssl is there");
    assert!(made.status.success(), "{made:?}");
    (folder, certificate, key)
}

#[tokio::test]
async fn starttls_protects_the_mail_and_forgets_what_was_said_in_the_clear() {
    let (_folder, certificate, key) = certificate();
    let settings = [("TLS_CERTIFICATE", certificate.as_str()), ("TLS_KEY", key.as_str())];
    post_with(&settings, &[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        assert_eq!(client.say("MAIL FROM:<a@b.example>").await.code, 250);
        assert_eq!(client.say("STARTTLS").await.code, 220);
        let mut roots = rustls::RootCertStore::empty();
        use rustls::pki_types::pem::PemObject;
        roots.add(rustls::pki_types::CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("mx.rookery.example").unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(name, client.into_stream())
            .await
            .expect("the certificate is good");
        let mut client = Client::with(stream);
        assert_eq!(client.say("RCPT TO:<help@acme.example>").await.code, 503);
        assert_eq!(client.say("MAIL FROM:<a@b.example>").await.code, 503);
        let offers = client.say("EHLO customer.example").await;
        assert!(!offers.text.contains("STARTTLS"), "{offers:?}");
        let raw = mail("anna@customer.example", "Secret", "", "Hello");
        assert_eq!(client.mail("anna@customer.example", "help@acme.example", &raw).await.code, 250);
        let kept = post.newest().await;
        assert!(kept.raw.contains(" with ESMTPS id "));
    })
    .await;
}
