//! Who can get a customer's address suppressed: the receiving server, with proof, and nobody else.

use rookery_base::ids::{ConversationId, MessageId};
use rookery_mail::incoming::return_path;
use serde_json::{Value, json};

use super::keeping::{admin, object, says};
use rookery_world::mail::post::{Post, mail, post, post_with};
use rookery_world::{Message, Mode};

const BOUNCE: &str = include_str!("../../mail/bounce-postfix.eml");
const COMPLAINT: &str = include_str!("../../mail/complaint-arf.eml");
const OURS: &str = "msg_1.0123456789abcdef@acme.example";
const SPF: &str = "v=spf1 ip4:127.0.0.1 -all";
const DMARC: &str = "v=DMARC1; p=reject";

/// A conversation with this contact, and a message of ours in it that went out as `rfc_message_id`.
async fn wrote_to(post: &Post<'_>, contact: &str, rfc_message_id: &str) -> (ConversationId, MessageId) {
    let raw = mail(contact, &format!("From {contact}"), "", "Hi");
    let first = post.takes(contact, "help@acme.example", &raw).await;
    post.tick();
    let sent = Message { status: "sent", text: "Hello", rfc_message_id: Some(rfc_message_id) };
    let message = post.acme.outbound(first.conversation, sent).await;
    (first.conversation, message)
}

fn return_path_of(post: &Post<'_>, message: MessageId, inbox: &str) -> String {
    let key = post.world.app.config.needs_secret_key().unwrap().newest();
    return_path::make(key, post.acme.id, message, inbox)
}

async fn suppressed(post: &Post<'_>) -> Vec<String> {
    let query = "select address || ' ' || reason from suppressed_addresses where livemode order by 1";
    sqlx::query_scalar(query).fetch_all(&post.world.app.pool).await.unwrap()
}

async fn status_of(post: &Post<'_>, message: MessageId) -> String {
    let query = sqlx::query_scalar("select status from messages where id = $1").bind(message.0);
    query.fetch_one(&post.world.app.pool).await.unwrap()
}

fn named(report: &str, number: &str) -> String {
    report.replace("20310106090000.", &format!("{number}.")).replace("arf.1@", &format!("arf.{number}@"))
}

/// Everybody who got a mail of ours, was in its Cc or sees it quoted knows its Message-ID.
#[tokio::test]
async fn a_bounce_that_only_names_our_mail_silences_nobody() {
    post(&[], async |post| {
        let (_, message) = wrote_to(post, "nobody@customer.example", OURS).await;
        post.takes("", "help@acme.example", BOUNCE).await;
        // The first has a sender, so it is not a bounce; the second guesses the return path.
        let path = return_path_of(post, message, "help@acme.example");
        post.takes("eve@elsewhere.example", &path, &named(BOUNCE, "1")).await;
        let guessed = format!("{}0@acme.example", &path[..path.find('@').unwrap() - 1]);
        post.takes("", &guessed, &named(BOUNCE, "2")).await;
        assert_eq!(suppressed(post).await, [] as [&str; 0]);
        assert_eq!(status_of(post, message).await, "sent");
        // The receiving server knows the return path of our mail.
        post.takes("", &path, &named(BOUNCE, "3")).await;
        assert_eq!(suppressed(post).await, ["nobody@customer.example bounce"]);
        assert_eq!(status_of(post, message).await, "failed");
    })
    .await;
}

#[tokio::test]
async fn the_proof_of_one_message_says_nothing_of_another() {
    post(&[], async |post| {
        let (_, other) = wrote_to(post, "nobody@customer.example", OURS).await;
        let (_, own) = wrote_to(post, "eve@elsewhere.example", "msg_2.fedcba@acme.example").await;
        let path = return_path_of(post, own, "help@acme.example");
        let answers = BOUNCE.replacen("MIME-Version", &format!("In-Reply-To: <{OURS}>\nMIME-Version"), 1);
        for (number, raw) in [BOUNCE, &answers].into_iter().enumerate() {
            post.takes("", &path, &named(raw, &number.to_string())).await;
        }
        assert_eq!(suppressed(post).await, [] as [&str; 0], "it speaks of somebody else's address");
        assert_eq!(status_of(post, other).await, "sent");
        assert_eq!(status_of(post, own).await, "failed", "who has the proof may say so of their own mail");
    })
    .await;
}

#[tokio::test]
async fn a_bounce_without_an_address_is_about_the_one_the_mail_went_to() {
    post(&[], async |post| {
        let (_, message) = wrote_to(post, "anna@customer.example", OURS).await;
        let path = return_path_of(post, message, "help@acme.example");
        let bare: String = BOUNCE
            .lines()
            .filter(|line| !line.starts_with("Final-Recipient") && !line.starts_with("Original-Recipient"))
            .map(|line| format!("{line}\n"))
            .collect();
        post.takes("", &path, &bare).await;
        assert_eq!(suppressed(post).await, ["anna@customer.example bounce"]);
    })
    .await;
}

/// Names that have no room for much, or a plus of their own.
#[tokio::test]
async fn every_inbox_gets_its_bounces() {
    post(&[], async |post| {
        let long = "customer-care-and-returns-of-acme@acme.example";
        for (number, inbox) in [long, "support+vip@acme.example"].into_iter().enumerate() {
            let mailbox = post.acme.mailbox(inbox, "Other").await;
            let contact = format!("gone{number}@customer.example");
            let conversation = post.acme.mail(mailbox, &contact, "Hello", "Hi").await;
            post.tick();
            let id = format!("msg_{number}.0123@acme.example");
            let sent = Message { status: "sent", text: "Hello", rfc_message_id: Some(&id) };
            let message = post.acme.outbound(conversation, sent).await;
            let path = return_path_of(post, message, inbox);
            let raw = BOUNCE
                .replace("nobody@", &format!("gone{number}@"))
                .replace("Nobody@", &format!("gone{number}@"));
            let kept = post.takes("", &path, &named(&raw.replace(OURS, &id), &number.to_string())).await;
            assert_eq!(status_of(post, message).await, "failed", "{path}");
            assert_eq!(kept.conversation, conversation);
        }
        assert_eq!(
            suppressed(post).await,
            ["gone0@customer.example bounce", "gone1@customer.example bounce"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_complaint_that_only_names_our_mail_silences_nobody() {
    let zone = [("isp.example", SPF), ("_dmarc.isp.example", DMARC)];
    post(&zone, async |post| {
        let (conversation, _) = wrote_to(post, "anna@customer.example", OURS).await;
        let kept = post.takes("feedback@isp.example", "help@acme.example", COMPLAINT).await;
        assert_eq!(kept.verdict["dmarc"], "pass", "whoever sent it is who they say, but anybody is somebody");
        assert_eq!(suppressed(post).await, [] as [&str; 0]);
        assert_eq!(post.key.told(conversation, "spam-complaint").await, [] as [Value; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_complaint_counts_from_a_feedback_source_that_is_who_it_says() {
    let sources = [("FEEDBACK_SOURCES", "fbl.elsewhere.example,Feedback@isp.example")];
    let zone = [
        ("isp.example", SPF),
        ("_dmarc.isp.example", DMARC),
        ("fbl.elsewhere.example", SPF),
        ("eve.example", SPF),
        ("_dmarc.eve.example", DMARC),
    ];
    post_with(&sources, &zone, async |post| {
        let (conversation, message) = wrote_to(post, "anna@customer.example", OURS).await;
        let forged = [
            ("eve@eve.example", named(COMPLAINT, "1")),
            // Of the same provider, but not its feedback.
            ("eve@isp.example", named(COMPLAINT, "2").replace("feedback@isp", "eve@isp")),
            ("eve@eve.example", named(COMPLAINT, "3").replace("feedback@isp", "eve@eve")),
            // About somebody else's address, or no mail of ours.
            ("feedback@isp.example", named(COMPLAINT, "4").replace("Anna@", "ben@")),
            ("feedback@isp.example", named(COMPLAINT, "5").replace("0123456789abcdef", "ffff")),
        ];
        for (from, raw) in &forged {
            post.takes(from, "help@acme.example", raw).await;
            assert_eq!(suppressed(post).await, [] as [&str; 0], "{from}: {raw}");
        }
        post.takes("feedback@isp.example", "help@acme.example", &named(COMPLAINT, "7")).await;
        assert_eq!(suppressed(post).await, ["anna@customer.example complaint"]);
        let told = post.key.told(conversation, "spam-complaint").await;
        assert_eq!(told, [json!({ "messageId": message, "email": "anna@customer.example" })]);
        // A whole domain, without a DMARC row, and a report that names nobody.
        wrote_to(post, "ben@customer.example", "msg_2.fedcba@acme.example").await;
        let raw = named(COMPLAINT, "6").replace(OURS, "msg_2.fedcba@acme.example");
        let raw = raw.replace("feedback@isp.example", "any@fbl.elsewhere.example");
        let raw = raw.replace("Original-Rcpt-To: <Anna@customer.example>\n", "");
        post.takes("any@fbl.elsewhere.example", "help@acme.example", &raw).await;
        let both = ["anna@customer.example complaint", "ben@customer.example complaint"];
        assert_eq!(suppressed(post).await, both);
    })
    .await;
}

#[tokio::test]
async fn a_person_who_writes_again_lifts_a_bounce_and_never_a_complaint() {
    let sources = [("FEEDBACK_SOURCES", "isp.example")];
    let zone = [("isp.example", SPF), ("customer.example", SPF), ("_dmarc.customer.example", DMARC)];
    post_with(&sources, &zone, async |post| {
        let (_, message) = wrote_to(post, "nobody@customer.example", OURS).await;
        wrote_to(post, "anna@customer.example", "msg_2.fedcba@acme.example").await;
        post.takes("", &return_path_of(post, message, "help@acme.example"), BOUNCE).await;
        let raw = COMPLAINT.replace(OURS, "msg_2.fedcba@acme.example");
        post.takes("feedback@isp.example", "help@acme.example", &raw).await;
        let both = ["anna@customer.example complaint", "nobody@customer.example bounce"];
        assert_eq!(suppressed(post).await, both);
        // A machine, and somebody who only says to be that address, lift nothing.
        let machine = mail("nobody@customer.example", "Away", "Auto-Submitted: auto-replied", "I am away");
        post.takes("nobody@customer.example", "help@acme.example", &machine).await;
        let forged = mail("nobody@customer.example", "Forged", "", "Me");
        post.takes("eve@elsewhere.example", "help@acme.example", &forged).await;
        assert_eq!(suppressed(post).await, both);
        for (number, from) in ["nobody@customer.example", "anna@customer.example"].into_iter().enumerate() {
            let raw = mail(from, &format!("Again {number}"), "", "Here I am");
            let kept = post.takes(from, "help@acme.example", &raw).await;
            let lifted = post.key.told(kept.conversation, "suppression-lifted").await;
            assert_eq!(lifted.len(), 1 - number, "{from}");
        }
        assert_eq!(suppressed(post).await, ["anna@customer.example complaint"]);
    })
    .await;
}

#[tokio::test]
async fn mail_that_comes_together_lifts_too_and_a_complaint_outweighs_a_bounce() {
    let zone = [("customer.example", SPF), ("_dmarc.customer.example", DMARC)];
    post_with(&[("FEEDBACK_SOURCES", "customer.example")], &zone, async |post| {
        let addresses: Vec<String> = (0..30).map(|n| format!("c{n}@customer.example")).collect();
        for address in &addresses {
            post.world
                .sql(&format!(
                    "insert into suppressed_addresses (workspace_id, livemode, address, reason, at)
                     values ({}, true, '{address}', 'bounce', now())",
                    post.acme.id.0
                ))
                .await;
        }
        let (_, message) = wrote_to(post, "c0@customer.example", OURS).await;
        assert_eq!(suppressed(post).await.len(), 29, "it was lifted by writing");
        post.takes(
            "",
            &return_path_of(post, message, "help@acme.example"),
            &BOUNCE.replace("obody@", "c0@").replace("Nc0@", "c0@").replace("nc0@", "c0@"),
        )
        .await;
        let raw = COMPLAINT.replace("feedback@isp", "feedback@customer").replace("Anna@", "c0@");
        post.takes("feedback@customer.example", "help@acme.example", &raw).await;
        let write = async |address: &String| {
            let raw = mail(address, &format!("Again {address}"), "", "Here I am");
            rookery_world::mail::client::Client::greeted(post.smtp)
                .await
                .mail(address, "help@acme.example", &raw)
                .await
                .code
        };
        let codes = futures::future::join_all(addresses.iter().map(write)).await;
        assert!(codes.iter().all(|code| *code == 250), "{codes:?}");
        assert_eq!(suppressed(post).await, ["c0@customer.example complaint"]);
    })
    .await;
}

#[tokio::test]
async fn suppressed_addresses_are_listed_and_lifted_by_the_operator() {
    post(&[], async |post| {
        let (conversation, message) = wrote_to(post, "nobody@customer.example", OURS).await;
        let tester = post.acme.key("tester", "send,write", Mode::Test).await;
        let sandboxed = tester.simulate(json!({ "from": "complaint@x.test", "text": "Hello" })).await;
        tester.sends(&sandboxed, "Hello").await;
        post.world.wait(chrono::TimeDelta::seconds(6));
        post.world.work().await;
        post.takes("", &return_path_of(post, message, "help@acme.example"), BOUNCE).await;
        let listed = object(&admin(post, &["list-suppressed", "--json"]));
        let [one] = &listed["suppressed"].as_array().unwrap()[..] else { panic!("one, and live: {listed}") };
        let shown = json!({
            "address": "nobody@customer.example",
            "reason": "bounce",
            "at": one["at"],
            "message": message,
            "conversation": conversation,
        });
        assert_eq!(*one, shown);
        let line = says(&admin(post, &["list-suppressed"]));
        assert!(line.contains("nobody@customer.example") && line.contains("bounce"), "{line}");

        let lift = |address: &str| object(&admin(post, &["unsuppress", "--json", "--address", address]));
        let address = "nobody@customer.example";
        assert_eq!(lift("Nobody@Customer.Example"), json!({ "address": address, "lifted": true }));
        assert_eq!(lift(address), json!({ "address": address, "lifted": false }), "repeating is harmless");
        assert_eq!(lift("complaint@x.test")["lifted"], false, "the sandbox's are its own");
        assert_eq!(says(&admin(post, &["list-suppressed"])), "No suppressed addresses.\n");
        let sent = post.acme.key("sender", "send", Mode::Live).await.sends(conversation, "Hello?").await;
        post.world.wait(chrono::TimeDelta::minutes(11));
        post.world.work().await;
        assert_eq!(post.key.message(conversation, &sent).await["status"], "sent");

        let history: Vec<(String, String, String)> = sqlx::query_as(
            "select change, reason, done_by from suppression_changes where livemode order by change desc",
        )
        .fetch_all(&post.world.app.pool)
        .await
        .unwrap();
        let row =
            |change: &str, reason: &str, by: &str| (change.to_owned(), reason.to_owned(), by.to_owned());
        assert_eq!(history, [row("suppressed", "bounce", "System"), row("lifted", "asked", "Operator")]);
    })
    .await;
}
