//! Bounces and complaints, as mail servers write them.

use rookery::mail::parse::{Bounce, Complaint, Failure, Report, parse};

use super::post::{mail, post};
use crate::world::Message;

const BOUNCE: &str = include_str!("../../mail/bounce-postfix.eml");
const DELAY: &str = include_str!("../../mail/bounce-delayed.eml");
const EXCHANGE: &str = include_str!("../../mail/bounce-exchange.eml");
const COMPLAINT: &str = include_str!("../../mail/complaint-arf.eml");

fn report(raw: &str) -> Option<Report> {
    parse(raw.replace('\n', "\r\n").as_bytes()).unwrap().report
}

#[test]
fn a_bounce_says_which_mail_failed_for_whom_and_whether_for_good() {
    let failure = |recipient: &str, permanent, status: &str| Failure {
        recipient: recipient.into(),
        permanent,
        status: status.into(),
    };
    let message_id = Some("msg_1.0123456789abcdef@acme.example".to_owned());
    let failures = vec![
        failure("nobody@customer.example", true, "5.1.1"),
        failure("full@customer.example", false, "4.2.2"),
    ];
    assert_eq!(report(BOUNCE), Some(Report::Bounce(Bounce { message_id: message_id.clone(), failures })));
    let failures = vec![failure("slow@customer.example", false, "4.4.1")];
    assert_eq!(report(DELAY), Some(Report::Bounce(Bounce { message_id: message_id.clone(), failures })));
    let failures = vec![failure("gone@contoso.example", true, "5.1.10")];
    assert_eq!(report(EXCHANGE), Some(Report::Bounce(Bounce { message_id, failures })));
}

#[test]
fn a_complaint_says_what_about_and_by_whom() {
    let message_id = Some("msg_1.0123456789abcdef@acme.example".to_owned());
    let recipients = vec!["anna@customer.example".to_owned()];
    assert_eq!(
        report(COMPLAINT),
        Some(Report::Complaint(Complaint { kind: "abuse".into(), message_id, recipients }))
    );
}

#[test]
fn other_mail_and_broken_reports_are_none() {
    assert_eq!(report("From: a@b.example\nSubject: Undelivered Mail\n\nStatus: 5.1.1\n"), None);
    let no_parts = "From: a@b.example\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b--\n";
    assert_eq!(report(no_parts), None);
}

#[tokio::test]
async fn a_bounce_stands_with_the_mail_that_bounced_and_moves_nothing() {
    post(&[], async |post| {
        let raw = mail("anna@customer.example", "One", "", "Hi");
        let first = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let rfc_message_id = Some("msg_1.0123456789abcdef@acme.example");
        post.acme
            .outbound(first.conversation, Message { status: "sent", text: "Hello", rfc_message_id })
            .await;
        post.acme.set(first.conversation, "status = 'waiting'").await;
        let kept = post.takes("", "help@acme.example", BOUNCE).await;
        assert_eq!((kept.conversation, kept.automatic), (first.conversation, true));
        assert_eq!(kept.placed, "joined as a report about our own mail");
        assert_eq!(post.key.conversation(first.conversation).await["status"], "waiting");
        assert!(post.world.events("client.replied").await.is_empty());
    })
    .await;
}
