//! SPF, DKIM and DMARC over a real name server: only a pass is a pass.

use mail_auth::common::crypto::{RsaKey, Sha256};
use mail_auth::common::headers::HeaderWriter;
use mail_auth::dkim::DkimSigner;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, mail, post, post_with};

const SPF: &str = "v=spf1 ip4:127.0.0.1 -all";

/// A fresh key: its private half, and the record that publishes the other.
pub fn key() -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key.pem").display().to_string();
    let run = |arguments: &[&str]| {
        let done = std::process::Command::new("openssl").args(arguments).output().expect("openssl is there");
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    run(&["genrsa", "-traditional", "-out", &file, "2048"]);
    let public = run(&["rsa", "-in", &file, "-pubout"]);
    let public: String = public.lines().filter(|line| !line.starts_with('-')).collect();
    (std::fs::read_to_string(&file).unwrap(), format!("v=DKIM1; k=rsa; p={public}"))
}

fn signed(raw: &str, key: &str, domain: &str) -> String {
    signed_over(&["From", "Subject", "Message-ID"], raw, key, domain)
}

/// Signs these fields, each as often as it is named.
pub fn signed_over(fields: &[&str], raw: &str, key: &str, domain: &str) -> String {
    sign(fields, false, raw, key, domain)
}

/// The same with the length of the body (`l=`), so that more can be written under it.
pub fn signed_to_here(fields: &[&str], raw: &str, key: &str, domain: &str) -> String {
    sign(fields, true, raw, key, domain)
}

fn sign(fields: &[&str], with_length: bool, raw: &str, key: &str, domain: &str) -> String {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let key = RsaKey::<Sha256>::from_key_der(key).unwrap();
    let raw = raw.replace('\n', "\r\n");
    let signature = DkimSigner::from_key(key)
        .domain(domain)
        .selector("s1")
        .headers(fields.iter().copied())
        .body_length(with_length)
        .sign(raw.as_bytes())
        .unwrap();
    format!("{}{raw}", signature.to_header()).replace("\r\n", "\n")
}

#[tokio::test]
async fn each_check_is_kept_with_the_message() {
    let (secret, public) = key();
    let zone = [
        ("customer.example", SPF),
        ("_dmarc.customer.example", "v=DMARC1; p=reject"),
        ("s1._domainkey.customer.example", public.as_str()),
        ("s1._domainkey.other.example", public.as_str()),
        ("strict.example", "v=spf1 -all"),
        ("_dmarc.strict.example", "v=DMARC1; p=reject; adkim=s"),
        ("s1._domainkey.mail.strict.example", public.as_str()),
        ("broken.example", "SERVFAIL"),
        ("_dmarc.broken.example", "SERVFAIL"),
        ("s1._domainkey.broken.example", "SERVFAIL"),
    ];
    post(&zone, async |post| {
        // Sender, signed by, envelope sender, and what is expected of SPF, DKIM and DMARC.
        for (number, (from, by, envelope, expected)) in [
            ("anna@customer.example", None, "anna@customer.example", ["pass", "none", "pass"]),
            ("anna@customer.example", Some("customer.example"), "x@strict.example", ["fail", "pass", "pass"]),
            ("anna@customer.example", Some("other.example"), "x@other.example", ["none", "pass", "fail"]),
            ("anna@customer.example", None, "x@strict.example", ["fail", "none", "fail"]),
            ("anna@sub.customer.example", None, "anna@customer.example", ["pass", "none", "pass"]),
            (
                "anna@strict.example",
                Some("mail.strict.example"),
                "x@strict.example",
                ["fail", "pass", "fail"],
            ),
            (
                "anna@customer.example",
                Some("unknown.example"),
                "x@unknown.example",
                ["none", "permerror", "fail"],
            ),
            ("anna@nowhere.example", None, "x@nowhere.example", ["none", "none", "none"]),
            (
                "anna@broken.example",
                Some("broken.example"),
                "x@broken.example",
                ["temperror", "temperror", "temperror"],
            ),
            ("anna@customer.example", None, "", ["none", "none", "fail"]),
        ]
        .into_iter()
        .enumerate()
        {
            let raw = mail(from, &format!("Mail {number}"), "", "Hello");
            let raw = by.map_or(raw.clone(), |domain| signed(&raw, &secret, domain));
            post.tick();
            let mut client = Client::connect(post.smtp).await.0;
            client.say("EHLO helo.example").await;
            let answer = client.mail(envelope, "help@acme.example", &raw).await;
            assert_eq!(answer.code, 250, "{answer:?}");
            let verdict = post.newest().await.verdict;
            let found = ["spf", "dkim", "dmarc"].map(|check| verdict[check].as_str().unwrap().to_owned());
            assert_eq!(found, expected, "{number}: {from} signed by {by:?} through {envelope}: {verdict}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_changed_mail_fails_and_too_many_signatures_are_not_looked_at() {
    let (secret, public) = key();
    let zone = [
        ("_dmarc.customer.example", "v=DMARC1; p=reject"),
        ("s1._domainkey.customer.example", public.as_str()),
    ];
    post(&zone, async |post| {
        let good = signed(&mail("anna@customer.example", "Good", "", "Pay Ben"), &secret, "customer.example");
        let changed = good.replace("Pay Ben", "Pay Eve");
        let kept = post.takes("anna@customer.example", "help@acme.example", &changed).await;
        assert_eq!((&kept.verdict["dkim"], &kept.verdict["dmarc"]), (&"fail".into(), &"fail".into()));
        let signature = good.split("Message-ID: <").next().unwrap();
        let many = format!("{}{}", signature.repeat(30), good.replace("Good", "Many"));
        let kept = post.takes("anna@customer.example", "help@acme.example", &many).await;
        assert_eq!((&kept.verdict["dkim"], &kept.verdict["dmarc"]), (&"permerror".into(), &"fail".into()));
    })
    .await;
}

#[tokio::test]
async fn a_front_server_says_whose_address_to_ask_about() {
    let zone = [("customer.example", "v=spf1 ip4:192.0.2.7 ip6:2001:db8::7 -all")];
    post(&zone, async |post| {
        for (number, (forward, expected)) in [
            ("", "none"),
            ("XFORWARD ADDR=192.0.2.7 HELO=customer.example", "pass"),
            ("XFORWARD NAME=x ADDR=IPv6:2001:db8::7 PROTO=ESMTP", "pass"),
            ("XFORWARD ADDR=192.0.2.8", "fail"),
            ("XFORWARD ADDR=[UNAVAILABLE]", "none"),
        ]
        .into_iter()
        .enumerate()
        {
            post.tick();
            let mut client = Client::connect(post.lmtp).await.0;
            client.say("LHLO front.acme.example").await;
            if !forward.is_empty() {
                assert_eq!(client.say(forward).await.code, 250);
            }
            let raw = mail("anna@customer.example", &format!("Mail {number}"), "", "Hello");
            assert_eq!(client.mail("anna@customer.example", "help@acme.example", &raw).await.code, 250);
            assert_eq!(post.newest().await.verdict["spf"], expected, "{forward}");
        }
        // The world may not say such a thing.
        assert_eq!(Client::greeted(post.smtp).await.say("XFORWARD ADDR=192.0.2.7").await.code, 500);
    })
    .await;
}

/// What became of mail "from" a domain that asks to refuse what it does not confirm, and of the same mail under other
/// wishes: the answer's code, and the risk of the conversation it opened.
async fn under_each_policy(post: &Post<'_>) -> Vec<(&'static str, u16, Option<String>)> {
    let mut found = Vec::new();
    for (from, envelope) in [
        ("anna@rejects.example", "x@strict.example"),
        ("anna@sub.rejects.example", "x@strict.example"),
        ("anna@missing.rejects.example", "x@strict.example"),
        ("anna@quarantines.example", "x@strict.example"),
        ("anna@rejects.example", "anna@rejects.example"),
        ("anna@rejects.example", "x@broken.rejects.example"),
    ] {
        post.tick();
        let before = post.count().await;
        let raw = mail(from, &format!("Mail {}", found.len()), "", "Hello");
        let answer = Client::greeted(post.smtp).await.mail(envelope, "help@acme.example", &raw).await;
        let mut risk = None;
        if answer.code == 250 {
            let conversation = post.newest().await.conversation;
            let row: (Option<String>, bool) =
                sqlx::query_as("select risk, held_at is not null from conversations where id = $1")
                    .bind(conversation.0)
                    .fetch_one(&post.world.app.pool)
                    .await
                    .unwrap();
            risk = Some(row.0.unwrap_or_default() + if row.1 { " held" } else { "" });
        } else {
            assert_eq!(post.count().await, before, "what is refused is not stored");
        }
        found.push((from, answer.code, risk));
    }
    found
}

const WISHES: &[(&str, &str)] = &[
    ("rejects.example", SPF),
    // Subdomains that do not exist are another matter than those that do.
    ("_dmarc.rejects.example", "v=DMARC1; p=reject; sp=none; np=reject"),
    ("sub.rejects.example", "A 192.0.2.1"),
    ("broken.rejects.example", "SERVFAIL"),
    ("_dmarc.broken.rejects.example", "SERVFAIL"),
    ("_dmarc.quarantines.example", "v=DMARC1; p=quarantine"),
    ("strict.example", "v=spf1 -all"),
];

#[tokio::test]
async fn what_a_domain_asks_to_refuse_is_delivered_held_or_refused_as_the_operator_wants() {
    let (label, held) = (Some("impersonation".to_owned()), Some("impersonation held".to_owned()));
    for (setting, codes, risk) in [("deliver", 250, &label), ("hold", 250, &held), ("refuse", 550, &None)] {
        post_with(&[("DMARC_REJECT", setting)], WISHES, async |post| {
            let found = under_each_policy(post).await;
            let expected = [
                ("anna@rejects.example", codes, risk.clone()),
                ("anna@sub.rejects.example", 250, label.clone()),
                ("anna@missing.rejects.example", codes, risk.clone()),
                ("anna@quarantines.example", 250, label.clone()),
                ("anna@rejects.example", 250, Some(String::new())),
                // What could not be looked up is never held against anybody.
                ("anna@rejects.example", 250, Some(String::new())),
            ];
            assert_eq!(found, expected, "{setting}");
        })
        .await;
    }
}

#[tokio::test]
async fn mail_that_is_held_for_its_domain_is_not_announced_as_a_reply() {
    post_with(&[("DMARC_REJECT", "hold")], WISHES, async |post| {
        let raw = mail("anna@rejects.example", "Order", "", "Hello");
        post.takes("x@strict.example", "help+inv-1@acme.example", &raw).await;
        assert_eq!(post.world.events("client.replied").await.len(), 0);
        assert_eq!(post.world.events("scout.held").await.len(), 1);
    })
    .await;
}
