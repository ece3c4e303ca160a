//! How much mail one sender, one network and one conversation may bring in a day: what is over it is answered "later",
//! so that nothing is lost, and nobody else is refused.

use chrono::TimeDelta;
use rookery_base::ids::ConversationId;

use rookery_world::Message;
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, mail, post_with};

async fn send(post: &Post<'_>, from: &str, subject: &str, header: &str, text: &str) -> (u16, String) {
    post.tick();
    let raw = mail(from, subject, header, text);
    let answer = Client::greeted(post.smtp).await.mail(from, "help@acme.example", &raw).await;
    (answer.code, answer.text)
}

async fn code(post: &Post<'_>, from: &str, subject: &str) -> u16 {
    send(post, from, subject, "", "Hello").await.0
}

#[tokio::test]
async fn a_sender_over_the_days_cap_is_told_later_and_its_mail_is_taken_the_next_day() {
    post_with(&[("MAIL_SENDER_DAILY_MAILS", "3")], &[], async |post| {
        for subject in ["One", "Two", "Three"] {
            assert_eq!(code(post, "anna@customer.example", subject).await, 250, "{subject}");
        }
        for from in ["anna@customer.example", "Anna@Customer.Example"] {
            let (code, text) = send(post, from, "Four", "", "Hello").await;
            assert_eq!((code, text.starts_with("452 4.2.2 ")), (452, true), "{text}");
        }
        assert_eq!(post.count().await, 3);
        assert_eq!(code(post, "ben@customer.example", "Five").await, 250, "another sender");
        let sales = post.acme.mailbox("sales@acme.example", "Sales").await;
        let raw = mail("anna@customer.example", "Six", "", "Hello");
        let answer =
            Client::greeted(post.smtp).await.mail("anna@customer.example", "sales@acme.example", &raw).await;
        assert_eq!(answer.code, 250, "another inbox, {sales}");
        post.world.wait(TimeDelta::days(1));
        assert_eq!(code(post, "anna@customer.example", "Four").await, 250, "the same mail, a day later");
        assert_eq!(post.count().await, 6);
    })
    .await;
}

#[tokio::test]
async fn bytes_count_as_well_as_mails() {
    post_with(&[("MAIL_SENDER_DAILY_MEGABYTES", "1")], &[], async |post| {
        let large = "All work and no play makes a dull day.\n".repeat(10_000);
        for (subject, wanted) in [("One", 250), ("Two", 250), ("Three", 452)] {
            let (code, text) = send(post, "anna@customer.example", subject, "", &large).await;
            assert_eq!(code, wanted, "{subject}: {text}");
        }
        assert_eq!(code(post, "anna@customer.example", "Small").await, 250, "there is room for a small one");
    })
    .await;
}

#[tokio::test]
async fn senders_that_are_made_up_share_the_cap_of_their_network() {
    post_with(&[("MAIL_NETWORK_DAILY_MAILS", "4")], &[], async |post| {
        for number in 0..6 {
            let wanted = if number < 4 { 250 } else { 452 };
            let (from, subject) = (format!("eve{number}@made{number}.example"), format!("Mail {number}"));
            assert_eq!(code(post, &from, &subject).await, wanted, "{number}");
        }
        // The front server hands over mail of everybody: without a word of where it is from it counts for no network.
        let mut client = Client::connect(post.lmtp).await.0;
        client.say("LHLO front.example").await;
        let raw = mail("zoe@customer.example", "By the front", "", "Hello");
        assert_eq!(client.mail("zoe@customer.example", "help@acme.example", &raw).await.code, 250);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_over_the_days_cap_says_so_once_on_its_timeline() {
    post_with(&[("MAIL_CONVERSATION_DAILY_MAILS", "3")], &[], async |post| {
        let anna = "anna@customer.example";
        assert_eq!(code(post, anna, "Parcel").await, 250);
        let id: ConversationId = post.newest().await.conversation;
        let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        post.acme.outbound(id, sent).await;
        let answers = "References: <ours@acme.example>";
        for (subject, wanted) in [("A", 250), ("B", 250), ("C", 250), ("D", 452), ("E", 452)] {
            let (code, text) = send(post, anna, subject, answers, "Hello").await;
            assert_eq!(code, wanted, "{subject}: {text}");
        }
        assert_eq!(post.key.told(id, "mail-limited").await.len(), 1, "told once");
        assert_eq!(code(post, anna, "Something else").await, 250, "another conversation of the same sender");
        post.world.wait(TimeDelta::days(1));
        let (code, text) = send(post, anna, "D", answers, "Hello").await;
        assert_eq!(code, 250, "the same mail, a day later: {text}");
        assert_eq!(post.newest().await.conversation, id);
        assert_eq!(post.key.told(id, "mail-limited").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_forger_uses_up_nothing_of_the_one_it_pretends_to_be() {
    let spf = "v=spf1 ip4:127.0.0.1 -all";
    let zone = [("customer.example", spf), ("_dmarc.customer.example", "v=DMARC1; p=none")];
    let caps = [("MAIL_SENDER_DAILY_MAILS", "2"), ("MAIL_CONVERSATION_DAILY_MAILS", "2")];
    post_with(&caps, &zone, async |post| {
        let anna = "anna@customer.example";
        let forged = async |subject: &str| {
            let raw = mail(anna, subject, "", "Hello");
            let mut client = Client::greeted(post.smtp).await;
            client.mail("eve@elsewhere.example", "help@acme.example", &raw).await.code
        };
        let codes = [forged("Forged one").await, forged("Forged two").await, forged("Forged three").await];
        assert_eq!(codes, [250, 250, 452]);
        assert_eq!(code(post, anna, "One").await, 250, "Anna herself");
        assert_eq!(code(post, anna, "Two").await, 250);
        assert_eq!(code(post, anna, "Three").await, 452);
    })
    .await;
}
