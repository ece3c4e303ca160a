//! What strangers try in order to join a conversation, to be taken for a participant, or to read what others
//! wrote, and what happens instead.

use chrono::TimeDelta;
use mail_parser::MessageParser;
use rookery_base::ids::ConversationId;
use serde_json::json;

use super::verdicts::{key, signed_over};
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Kept, Post, mail, post};
use rookery_world::{Key, Message, Mode};

const SPF: &str = "v=spf1 ip4:127.0.0.1 -all";
const DMARC: &str = "v=DMARC1; p=reject";
const ZONE: &[(&str, &str)] = &[
    ("customer.example", SPF),
    ("_dmarc.customer.example", DMARC),
    ("victim.example", SPF),
    ("_dmarc.victim.example", DMARC),
    ("eve.example", SPF),
    ("_dmarc.eve.example", DMARC),
];
const HELP: &str = "help@acme.example";
const OURS: &str = "In-Reply-To: <out.1@acme.example>";
const RECORDED: &str = "In-Reply-To: <order-1@shop.example>";

/// A conversation with this contact that we have answered.
async fn answered(post: &Post<'_>, contact: &str, header: &str) -> ConversationId {
    let first = post.takes(contact, HELP, &mail(contact, "First", header, "My own words")).await;
    post.tick();
    let sent =
        Message { status: "sent", text: "We look into it", rfc_message_id: Some("out.1@acme.example") };
    post.acme.outbound(first.conversation, sent).await;
    first.conversation
}

async fn recorded(post: &Post<'_>) {
    let key = post.acme.key("app", "record", Mode::Live).await;
    let body = json!({ "messageId": "order-1@shop.example", "reference": "order-1",
        "to": ["anna@customer.example"], "subject": "Your order" });
    assert_eq!(key.post("/app-mail", body).await.status, 201);
}

/// The text of our next reply, as it leaves.
async fn next_reply(post: &Post<'_>, key: &Key<'_>, conversation: ConversationId) -> (String, String) {
    post.tick();
    key.sends(conversation, "Here you are.").await;
    post.world.wait(TimeDelta::minutes(11));
    post.world.work().await;
    let mails = post.world.outbox.mails();
    let mail = mails.last().expect("a mail");
    let text = MessageParser::new().parse(&mail.raw).unwrap().body_text(0).unwrap().into_owned();
    (mail.to.clone(), text)
}

async fn is_bare(post: &Post<'_>, kept: &Kept) -> bool {
    let read = post.key.conversation(kept.conversation).await;
    read.get("reference").is_none() && read.get("appSent").is_none()
}

#[tokio::test]
async fn somebody_lured_into_answering_our_mail_does_not_join_the_lurers_conversation() {
    post(ZONE, async |post| {
        let key = post.acme.key("replies", "send", Mode::Live).await;
        let eves = answered(post, "eve@eve.example", "").await;
        let raw = mail("victim@victim.example", "Re: First", OURS, "The secret of the victim");
        let kept = post.takes("victim@victim.example", HELP, &raw).await;
        assert_ne!(kept.conversation, eves);
        assert!(kept.placed.contains(&eves.to_string()), "{}", kept.placed);
        let read = post.key.conversation(kept.conversation).await;
        assert_eq!(read["answersIn"], eves.to_string());
        assert!(
            read["contact"]["email"] == "victim@victim.example"
                && post.world.events("client.replied").await.is_empty()
        );
        let (to, text) = next_reply(post, &key, eves).await;
        assert_eq!(to, "eve@eve.example");
        assert!(text.contains("> My own words") && !text.contains("secret"), "{text}");
        let (to, text) = next_reply(post, &key, kept.conversation).await;
        assert_eq!(to, "victim@victim.example");
        assert!(text.contains("> The secret of the victim"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn what_a_copied_person_answers_is_not_quoted_to_those_it_was_not_sent_to() {
    post(ZONE, async |post| {
        let key = post.acme.key("replies", "send", Mode::Live).await;
        let eves = answered(post, "eve@eve.example", "Cc: victim@victim.example").await;
        let raw = mail("victim@victim.example", "Between us", OURS, "The secret of the victim");
        let kept = post.takes("victim@victim.example", HELP, &raw).await;
        assert_eq!(kept.conversation, eves, "she was written to");
        let (to, text) = next_reply(post, &key, eves).await;
        assert_eq!(to, "eve@eve.example");
        assert!(text.contains("> My own words") && !text.contains("secret"), "{text}");
        // What was sent to both may be quoted to both.
        let raw =
            mail("victim@victim.example", "To all", &format!("{OURS}\nCc: eve@eve.example"), "For everybody");
        post.takes("victim@victim.example", HELP, &raw).await;
        let (_, text) = next_reply(post, &key, eves).await;
        assert!(text.contains("> For everybody"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_colleague_of_the_contact_joins_and_is_shown_as_new_and_replies_say_whom_they_reach() {
    post(ZONE, async |post| {
        let key = post.acme.key("replies", "draft,send", Mode::Live).await;
        let id = answered(post, "anna@customer.example", "").await;
        let raw = mail("ben@customer.example", "Re: First", OURS, "I am her colleague");
        let kept = post.takes("ben@customer.example", HELP, &raw).await;
        assert_eq!(
            (kept.conversation, kept.placed.as_str()),
            (id, "joined as a colleague of the contact, who was not on the conversation")
        );
        let told = post.key.told(id, "new-sender").await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["email"], "ben@customer.example");
        // He takes part now.
        let raw = mail("ben@customer.example", "Once more", OURS, "Hello?");
        assert_eq!(post.takes("ben@customer.example", HELP, &raw).await.placed, "joined by In-Reply-To");
        assert_eq!(post.key.told(id, "new-sender").await.len(), 1);
        let written =
            key.post(&format!("/conversations/{id}/replies"), json!({ "body": "Hello" })).await.json();
        assert_eq!(written["to"], json!(["anna@customer.example"]));
        let draft = post.key.message(id, written["messageId"].as_str().unwrap()).await;
        assert_eq!((&draft["to"], draft.get("senderConfirmed")), (&json!(["anna@customer.example"]), None));
        let timeline = post.key.conversation(id).await["timeline"].clone();
        assert_eq!((&timeline[0]["senderConfirmed"], &timeline[0]["to"]), (&json!(true), &json!([HELP])));
    })
    .await;
}

#[tokio::test]
async fn a_forged_answer_joins_no_recorded_mail_and_its_copies_bring_nobody_in() {
    post(ZONE, async |post| {
        recorded(post).await;
        let raw = mail("anna@customer.example", "Thanks", RECORDED, "Hello");
        let genuine = post.takes("anna@customer.example", HELP, &raw).await;
        assert_eq!(post.world.events("client.replied").await.len(), 1);
        post.tick();
        let sent = Message { status: "sent", text: "Hello", rfc_message_id: Some("out.1@acme.example") };
        post.acme.outbound(genuine.conversation, sent).await;
        // By the address, by our own Message-ID and by both, with a copy to the forger.
        for (number, (to, header)) in
            [("help+order-1@acme.example", ""), (HELP, OURS), ("help+order-1@acme.example", OURS)]
                .into_iter()
                .enumerate()
        {
            let header = [header, "Cc: eve@eve.example"].into_iter().filter(|line| !line.is_empty());
            let header = header.collect::<Vec<_>>().join("\n");
            let raw = mail("anna@customer.example", &format!("Forged {number}"), &header, "Pay Eve");
            let kept = post.takes("x@eve.example", to, &raw).await;
            assert_eq!(kept.verdict["dmarc"], "fail");
            assert_ne!(kept.conversation, genuine.conversation, "{number}: {}", kept.placed);
            assert!(post.key.conversation(kept.conversation).await.get("appSent").is_none());
        }
        let heard = post.world.events("client.replied").await;
        let of_genuine =
            |event: &&serde_json::Value| event["data"]["conversation_id"] == genuine.conversation.to_string();
        assert_eq!(heard.iter().filter(of_genuine).count(), 1);
        // Eve was copied only by mail that is not authenticated.
        for header in [RECORDED, OURS] {
            let raw = mail("eve@eve.example", &format!("Eve {header}"), header, "Me too");
            let kept = post.takes("eve@eve.example", HELP, &raw).await;
            assert_ne!(kept.conversation, genuine.conversation, "{}", kept.placed);
            assert!(is_bare(post, &kept).await);
        }
    })
    .await;
}

#[tokio::test]
async fn naming_recorded_mail_without_a_right_to_it_gives_no_reference_at_its_address_either() {
    post(ZONE, async |post| {
        recorded(post).await;
        let to = "help+order-1@acme.example";
        for (from, envelope) in
            [("eve@eve.example", "eve@eve.example"), ("anna@customer.example", "x@eve.example")]
        {
            let raw = mail(from, &format!("Named by {from}"), RECORDED, "Hello");
            let kept = post.takes(envelope, to, &raw).await;
            assert!(is_bare(post, &kept).await, "{from}: {}", kept.placed);
            assert_eq!(post.world.events("client.replied").await.len(), 0, "{from}");
        }
        // Writing to the address gives the conversation its reference, for everybody.
        let kept = post.takes("eve@eve.example", to, &mail("eve@eve.example", "Alone", "", "Hello")).await;
        let read = post.key.conversation(kept.conversation).await;
        assert_eq!((&read["reference"], read.get("appSent")), (&json!("order-1"), None));
        // So it does for a sender whose domain has no DMARC; the reason says so when a second mail joins by the
        // reference.
        for (number, why) in [
            (1, "started"),
            (2, "joined by the reference in its address and its sender, who is not confirmed"),
        ] {
            let raw = mail("ada@nowhere.example", &format!("Ada {number}"), "", "Hello");
            let kept = post.takes("ada@nowhere.example", to, &raw).await;
            assert!(kept.placed.starts_with(why), "{}", kept.placed);
            let read = post.key.conversation(kept.conversation).await;
            assert_eq!(
                (&read["reference"], &read["timeline"][number - 1]["senderConfirmed"]),
                (&json!("order-1"), &json!(false))
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_signed_mail_to_somebody_else_counts_only_for_what_its_signature_covers() {
    let (secret, public) = key();
    let zone = [&[("s1._domainkey.customer.example", public.as_str())], ZONE].concat();
    post(&zone, async |post| {
        recorded(post).await;
        let signed = |subject: &str, fields: &[&str]| {
            let raw = mail("anna@customer.example", subject, "", "I agree, please go on")
                .replace(HELP, "bob@eve.example");
            signed_over(fields, &raw, &secret, "customer.example")
        };
        const SOME: &[&str] = &["From", "Subject", "Message-ID", "Date", "To"];
        const ANSWERS: &[&str] =
            &["From", "Subject", "Message-ID", "Date", "To", "In-Reply-To", "References"];
        const OVER: &[&str] = &["From", "Subject", "Message-ID", "Date", "To", "In-Reply-To", "In-Reply-To"];
        // Anna's mail to Bob, sent on by Eve with a line of her own.
        for (subject, fields, added, dmarc) in [
            ("One", SOME, "In-Reply-To: <order-1@shop.example>\n", "pass"),
            ("Two", SOME, "References: <order-1@shop.example>\n", "pass"),
            ("Three", OVER, "In-Reply-To: <order-1@shop.example>\n", "fail"),
        ] {
            let raw = format!("{added}{}", signed(subject, fields));
            let kept = post.takes("x@eve.example", HELP, &raw).await;
            assert_eq!(kept.verdict["dmarc"], dmarc, "{subject}");
            assert!(kept.placed.starts_with("refused to join"), "{subject}: {}", kept.placed);
            assert!(is_bare(post, &kept).await, "{subject}");
        }
        // Her own answer, by way of another server.
        let raw = mail("anna@customer.example", "Four", RECORDED, "Thank you");
        let raw = signed_over(ANSWERS, &raw, &secret, "customer.example");
        let genuine = post.takes("x@eve.example", HELP, &raw).await;
        assert_eq!(genuine.placed, "started: the first reply to the app's mail");
        // Nor is a mail to Bob one to the reference, whomever Eve hands it over for.
        let kept = post.takes("x@eve.example", "help+order-1@acme.example", &signed("Five", SOME)).await;
        assert_eq!(kept.verdict["dmarc"], "pass");
        assert_ne!(kept.conversation, genuine.conversation, "{}", kept.placed);
        assert!(post.key.conversation(kept.conversation).await.get("appSent").is_none());
        // And people whom she adds are not on the conversation.
        let raw = mail("anna@customer.example", "Six", RECORDED, "Once more");
        let raw = format!("Cc: eve@eve.example\n{}", signed_over(ANSWERS, &raw, &secret, "customer.example"));
        assert_eq!(post.takes("x@eve.example", HELP, &raw).await.conversation, genuine.conversation);
        let raw = mail("eve@eve.example", "Seven", RECORDED, "I was copied");
        assert!(is_bare(post, &post.takes("eve@eve.example", HELP, &raw).await).await);
    })
    .await;
}

#[tokio::test]
async fn a_copy_that_comes_first_does_not_take_the_place_of_the_genuine_mail() {
    post(ZONE, async |post| {
        recorded(post).await;
        let genuine = mail("anna@customer.example", "Thanks", RECORDED, "Hello");
        let other_place = genuine.replace(&format!("{RECORDED}\n"), "");
        for copy in [&genuine, &other_place] {
            let kept = post.takes("x@eve.example", HELP, copy).await;
            assert_eq!(kept.verdict["dmarc"], "fail");
            assert!(is_bare(post, &kept).await);
        }
        let kept = post.takes("anna@customer.example", HELP, &genuine).await;
        assert_eq!(kept.placed, "started: the first reply to the app's mail");
        let read = post.key.conversation(kept.conversation).await;
        assert_eq!(
            (&read["appSent"]["messageId"], &read["risk"]),
            (&json!("order-1@shop.example"), &json!(null))
        );
        assert_eq!(post.world.events("client.replied").await.len(), 1);
        // Now it is there: neither a retry nor one more copy is another mail.
        let before = post.count().await;
        for envelope in ["anna@customer.example", "x@eve.example", "anna@customer.example"] {
            post.tick();
            assert_eq!(Client::greeted(post.smtp).await.mail(envelope, HELP, &genuine).await.code, 250);
        }
        assert_eq!(post.count().await, before);
    })
    .await;
}
