//! Bounces and complaints, as mail servers write them.

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people;
use rookery_mail::incoming::return_path;
use rookery_product::replies::merge::merge;
use rookery_reading::mail::parse::{Bounce, Complaint, MailReport, RecipientFailure, parse};

use serde_json::{Value, json};

use rookery_world::Message;
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, mail, post, post_with};

const BOUNCE: &str = include_str!("../../mail/bounce-postfix.eml");
const DELAY: &str = include_str!("../../mail/bounce-delayed.eml");
const EXCHANGE: &str = include_str!("../../mail/bounce-exchange.eml");
const COMPLAINT: &str = include_str!("../../mail/complaint-arf.eml");

fn report(raw: &str) -> Option<MailReport> {
    parse(raw.replace('\n', "\r\n").as_bytes()).unwrap().report
}

#[test]
fn a_bounce_says_which_mail_failed_for_whom_and_whether_for_good() {
    let failure = |recipient: &str, permanent, status: &str| RecipientFailure {
        recipients: vec![recipient.into()],
        permanent,
        status: status.into(),
    };
    let message_id = Some("msg_1.0123456789abcdef@acme.example".to_owned());
    let failures = vec![
        failure("nobody@customer.example", true, "5.1.1"),
        failure("full@customer.example", false, "4.2.2"),
    ];
    assert_eq!(report(BOUNCE), Some(MailReport::Bounce(Bounce { message_id: message_id.clone(), failures })));
    let failures = vec![failure("slow@customer.example", false, "4.4.1")];
    assert_eq!(report(DELAY), Some(MailReport::Bounce(Bounce { message_id: message_id.clone(), failures })));
    let failures = vec![failure("gone@contoso.example", true, "5.1.10")];
    assert_eq!(report(EXCHANGE), Some(MailReport::Bounce(Bounce { message_id, failures })));
}

#[test]
fn a_complaint_says_what_about_and_by_whom() {
    let message_id = Some("msg_1.0123456789abcdef@acme.example".to_owned());
    let recipients = vec!["anna@customer.example".to_owned()];
    assert_eq!(
        report(COMPLAINT),
        Some(MailReport::Complaint(Complaint { kind: "abuse".into(), message_id, recipients }))
    );
}

#[test]
fn other_mail_and_broken_reports_are_none() {
    assert_eq!(report("From: a@b.example\nSubject: Undelivered Mail\n\nStatus: 5.1.1\n"), None);
    let no_parts = "From: a@b.example\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b--\n";
    assert_eq!(report(no_parts), None);
}

#[tokio::test]
async fn a_delay_stands_with_its_mail_and_moves_nothing() {
    post(&[], async |post| {
        let (id, return_path) = wrote_to(post, "anna@customer.example").await;
        let kept = post.takes("", &return_path, DELAY).await;
        assert_eq!((kept.conversation, kept.automatic), (id, true));
        assert_eq!(kept.placed, "joined as a report about our own mail");
        let conversation = post.key.conversation(id).await;
        assert_eq!(
            (&conversation["status"], &conversation["timeline"][1]["status"]),
            (&json!("waiting"), &json!("sent"))
        );
        assert!(post.world.events("client.replied").await.is_empty());
        assert_eq!(suppressed(post).await, Vec::<String>::new());
    })
    .await;
}

async fn suppressed(post: &Post<'_>) -> Vec<String> {
    let query = "select address || ' ' || reason from suppressed_addresses where livemode order by 1";
    sqlx::query_scalar(query).fetch_all(&post.world.app.pool).await.unwrap()
}

/// A conversation with this contact and a sent message of ours in it, and that message's return path.
async fn wrote_to(post: &Post<'_>, contact: &str) -> (ConversationId, String) {
    let raw = mail(contact, &format!("From {contact}"), "", "Hi");
    let first = post.takes(contact, "help@acme.example", &raw).await;
    post.tick();
    let rfc_message_id = Some("msg_1.0123456789abcdef@acme.example");
    let sent = Message { status: "sent", text: "Hello", rfc_message_id };
    let message = post.acme.outbound(first.conversation, sent).await;
    post.acme.set(first.conversation, "status = 'waiting', announced_turn = 'theirs'").await;
    let key = post.world.app.config.needs_secret_key().unwrap().newest();
    let return_path = return_path::make(key, post.acme.id, message, "help@acme.example");
    assert_ne!(return_path, "help@acme.example");
    (first.conversation, return_path)
}

fn happened(conversation: &Value) -> Vec<(String, Value)> {
    let items = conversation["timeline"].as_array().unwrap().iter().filter(|item| item["type"] == "event");
    items.map(|item| (item["event"].as_str().unwrap().to_owned(), item["data"].clone())).collect()
}

/// proves: MSG-8
#[tokio::test]
async fn a_bounce_turns_its_message_failed_and_an_address_that_is_not_there_is_not_written_to_again() {
    post(&[], async |post| {
        let (id, return_path) = wrote_to(post, "nobody@customer.example").await;
        let kept = post.takes("", &return_path, BOUNCE).await;
        assert_eq!(kept.conversation, id);
        let conversation = post.key.conversation(id).await;
        assert_eq!(conversation["timeline"][1]["status"], "failed");
        assert_eq!(happened(&conversation)[0].0, "delivery-failed");
        assert_eq!(suppressed(post).await, ["nobody@customer.example bounce"]);
        assert!(post.world.events("client.replied").await.is_empty());
        // The same report again is the same mail.
        let again = Client::greeted(post.smtp).await.mail("", &return_path, BOUNCE).await;
        assert_eq!(again.code, 250);
        assert_eq!(happened(&post.key.conversation(id).await).len(), happened(&conversation).len());
    })
    .await;
}

#[tokio::test]
async fn a_bounce_of_mail_from_before_a_merge_is_about_who_got_it() {
    post(&[], async |post| {
        let (gone, return_path) = wrote_to(post, "nobody@customer.example").await;
        let raw = mail("anna@customer.example", "Another", "", "Hi");
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await.conversation;
        let mut tx = post.world.app.begin(post.acme.id).await.unwrap();
        let owner = people::teammate(&mut tx, post.acme.id, post.acme.owner).await.unwrap();
        merge(&mut tx, &owner, kept, gone).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(post.takes("", &return_path, BOUNCE).await.conversation, kept);
        assert_eq!(suppressed(post).await, ["nobody@customer.example bounce"]);
        let told = happened(&post.key.conversation(kept).await);
        let failed = told.iter().find(|(event, _)| event == "delivery-failed").unwrap();
        assert_eq!(failed.1["email"], "nobody@customer.example");
    })
    .await;
}

#[tokio::test]
async fn a_bounce_about_another_address_or_an_unknown_mail_suppresses_nobody() {
    post(&[], async |post| {
        // The contact is not who the report speaks of: the message failed, but who is gone is not known.
        let (id, return_path) = wrote_to(post, "anna@customer.example").await;
        post.takes("", &return_path, BOUNCE).await;
        assert_eq!(post.key.conversation(id).await["timeline"][1]["status"], "failed");
        assert_eq!(suppressed(post).await, Vec::<String>::new());
        let unknown = EXCHANGE.replace("0123456789abcdef", "ffffffffffffffff");
        let kept = post.takes("", "help@acme.example", &unknown).await;
        assert_ne!(kept.conversation, id);
    })
    .await;
}

#[tokio::test]
async fn a_failure_that_says_nothing_of_the_address_fails_the_message_alone() {
    post(&[], async |post| {
        let (id, return_path) = wrote_to(post, "nobody@customer.example").await;
        post.takes("", &return_path, &BOUNCE.replace("5.1.1", "5.7.1")).await;
        assert_eq!(post.key.conversation(id).await["timeline"][1]["status"], "failed");
        assert_eq!(suppressed(post).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_complaint_is_told_and_its_address_is_not_written_to_again() {
    let zone = [("isp.example", "v=spf1 ip4:127.0.0.1 -all"), ("_dmarc.isp.example", "v=DMARC1; p=reject")];
    post_with(&[("FEEDBACK_SOURCES", "isp.example")], &zone, async |post| {
        let (id, _) = wrote_to(post, "anna@customer.example").await;
        let not_spam = COMPLAINT.replace("abuse\n", "not-spam\n").replace("arf.1@", "arf.0@");
        post.takes("feedback@isp.example", "help@acme.example", &not_spam).await;
        assert_eq!(suppressed(post).await, Vec::<String>::new());
        let kept = post.takes("feedback@isp.example", "help@acme.example", COMPLAINT).await;
        assert_eq!((kept.conversation, kept.automatic), (id, true));
        let conversation = post.key.conversation(id).await;
        let told = happened(&conversation);
        assert_eq!(told[0].0, "spam-complaint");
        assert_eq!(told[0].1["email"], "anna@customer.example");
        assert_eq!(suppressed(post).await, ["anna@customer.example complaint"]);
        // What was sent stays sent.
        assert_eq!(conversation["timeline"][1]["status"], "sent");
    })
    .await;
}

/// A server that sends back no part of the mail still uses its return path.
#[tokio::test]
async fn a_bounce_that_quotes_nothing_is_known_by_the_address_it_came_to() {
    post(&[], async |post| {
        let (id, return_path) = wrote_to(post, "nobody@customer.example").await;
        let (bare, _) = BOUNCE.split_once("Content-Description: Undelivered Message").unwrap();
        let bare =
            format!("{}\n", bare.trim_end().trim_end_matches("--9B095B5ADDD.1200000000/mx.customer.example"));
        let bare = format!("{bare}--9B095B5ADDD.1200000000/mx.customer.example--\n");
        assert!(!bare.contains("msg_1."));
        let forged = return_path.replacen("r=", "r=0", 1);
        let apart = post.takes("", &forged, &bare.replace("ABCDEF", "FORGED")).await;
        assert_ne!(apart.conversation, id, "nobody else can make such an address");
        let kept = post.takes("", &return_path, &bare).await;
        assert_eq!(kept.conversation, id);
        let read = post.key.conversation(id).await;
        assert_eq!(read["timeline"][1]["status"], "failed");
        assert_eq!(suppressed(post).await, ["nobody@customer.example bounce"]);
    })
    .await;
}
