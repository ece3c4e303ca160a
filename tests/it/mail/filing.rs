//! Where mail from outside is filed, and the plain reason that is kept with it.

use rookery_base::ids::ConversationId;
use rookery_mail::incoming::delivery::Received;

use rookery_world::Message;
use rookery_world::mail::post::{Post, mail, post};

async fn wrote(post: &Post<'_>, conversation: ConversationId, id: &str) {
    let rfc_message_id = Some(id);
    post.acme
        .outbound(conversation, Message { status: "sent", text: "We look into it", rfc_message_id })
        .await;
}

/// proves: MSG-12, MSG-13
#[tokio::test]
async fn every_message_says_why_it_stands_where_it_stands() {
    post(&[], async |post| {
        let to = "help@acme.example";
        let first =
            post.takes("anna@customer.example", to, &mail("anna@customer.example", "One", "", "Hi")).await;
        assert_eq!(first.placed, "started: it answers no mail of this inbox");
        wrote(post, first.conversation, "out.1@acme.example").await;
        for (subject, header, why) in [
            ("Two", "In-Reply-To: <out.1@acme.example>", "joined by In-Reply-To"),
            ("Three", "In-Reply-To: <x@y>\nReferences: <out.1@acme.example> <x@y>", "joined by References"),
        ] {
            let kept = post
                .takes("anna@customer.example", to, &mail("anna@customer.example", subject, header, "Hi"))
                .await;
            assert_eq!((kept.conversation, kept.placed.as_str()), (first.conversation, why));
        }
        let same_subject = mail("anna@customer.example", "Re: One", "", "Hi");
        let kept = post.takes("anna@customer.example", to, &same_subject).await;
        assert_ne!(kept.conversation, first.conversation);
    })
    .await;
}

/// proves: MAIL-1, MAIL-5, MAIL-18
#[tokio::test]
async fn a_reference_in_the_address_starts_and_joins_by_sender() {
    post(&[], async |post| {
        let to = "help+INV-1042@acme.example";
        let first =
            post.takes("anna@customer.example", to, &mail("anna@customer.example", "One", "", "Hi")).await;
        assert_eq!(post.key.conversation(first.conversation).await["reference"], "inv-1042");
        let again =
            post.takes("anna@customer.example", to, &mail("anna@customer.example", "Two", "", "Hi")).await;
        assert_eq!(again.conversation, first.conversation);
        assert_eq!(
            again.placed,
            "joined by the reference in its address and its sender, who is not confirmed"
        );
        // Anyone who writes to that address gets its reference, in a conversation of their own.
        let other =
            post.takes("ben@customer.example", to, &mail("ben@customer.example", "Three", "", "Hi")).await;
        assert_ne!(other.conversation, first.conversation);
        assert_eq!(post.key.conversation(other.conversation).await["reference"], "inv-1042");
        let replied = post.world.events("client.replied").await;
        assert_eq!(replied.len(), 3);
        assert!(replied.iter().all(|event| event["data"]["reference"] == "inv-1042"), "{replied:?}");
        // Another reference is another matter, whatever the mail answers.
        wrote(post, first.conversation, "out.1@acme.example").await;
        let raw = mail("anna@customer.example", "Four", "In-Reply-To: <out.1@acme.example>", "Hi");
        let kept = post.takes("anna@customer.example", "help+inv-2@acme.example", &raw).await;
        assert_ne!(kept.conversation, first.conversation);
        let why = "refused to join: its address names another reference (it answers a mail in ";
        assert!(kept.placed.starts_with(why), "{}", kept.placed);
    })
    .await;
}

#[tokio::test]
async fn mail_without_a_sender_to_answer_is_automatic() {
    post(&[], async |post| {
        let to = "help@acme.example";
        for (subject, envelope, header, automatic) in [
            ("One", "anna@customer.example", "", false),
            ("Two", "", "", true),
            ("Three", "anna@customer.example", "Auto-Submitted: auto-replied", true),
            ("Four", "anna@customer.example", "Auto-Submitted: no", false),
            ("Five", "anna@customer.example", "List-Id: <news.customer.example>", true),
            ("Six", "anna@customer.example", "Precedence: bulk", true),
        ] {
            let kept = post.takes(envelope, to, &mail("anna@customer.example", subject, header, "Hi")).await;
            assert_eq!(kept.automatic, automatic, "{subject}");
        }
        // An inbox of ours is no customer; somebody else of our domain may be one.
        post.acme.mailbox("sales@acme.example", "Sales").await;
        for (subject, from, automatic) in
            [("Seven", "sales@acme.example", true), ("Eight", "olga@acme.example", false)]
        {
            let kept = post.takes(from, to, &mail(from, subject, "", "Hi")).await;
            assert_eq!(kept.automatic, automatic, "{from}");
        }
    })
    .await;
}

/// proves: DOC-8, CONV-16
#[tokio::test]
async fn an_attachment_becomes_a_document_of_its_conversation() {
    post(&[], async |post| {
        let header = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
        let body = "--b\nContent-Type: text/plain\n\nSee the bill\n--b\nContent-Type: application/pdf\n\
            Content-Transfer-Encoding: base64\nContent-Disposition: attachment; filename=\"bill.pdf\"\n\n\
            JVBERi0xLjQK\n--b--";
        let raw = mail("anna@customer.example", "Bill", header, body);
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        let documents = post.key.get("/documents").await.json();
        let kind = "application/pdf";
        let expected = serde_json::json!([
            { "filename": "bill.pdf", "contentType": kind, "size": 9, "documentId": documents[0]["id"] },
        ]);
        assert_eq!(conversation["timeline"][0]["attachments"], expected);
        assert_eq!(documents[0]["conversationId"], kept.conversation.to_string());
    })
    .await;
}

/// proves: CONV-14, CONV-15
#[tokio::test]
async fn quoted_history_is_taken_away_and_long_mail_is_cut_when_shown() {
    post(&[], async |post| {
        let body = "Thanks, that works.\n\nOn Mon, 6 Jan 2031 at 08:00, Support <help@acme.example> wrote:\n> Try this.\n";
        let raw = mail("anna@customer.example", "Re: Parcel", "", body);
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        assert_eq!(conversation["timeline"][0]["text"], "Thanks, that works.");
        let long = "äbc ".repeat(3_000);
        let raw = mail("anna@customer.example", "Long", "Content-Type: text/plain; charset=utf-8", &long);
        let kept = post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        let text: String = long.chars().take(8_000).collect();
        assert_eq!(conversation["timeline"][0]["text"].as_str().unwrap(), text);
        let whole: String = sqlx::query_scalar("select text from messages where conversation_id = $1")
            .bind(kept.conversation)
            .fetch_one(&post.world.app.pool)
            .await
            .unwrap();
        assert_eq!(whole, long.trim_end());
    })
    .await;
}

#[tokio::test]
async fn mail_without_an_id_is_told_apart_by_its_content_however_much_there_is() {
    post(&[], async |post| {
        let raw = |number: usize| format!("From: anna@customer.example\nSubject: {number}\n\nHello\n");
        for number in 0..150 {
            post.tick();
            post.acme.receives(post.support, &raw(number)).await;
        }
        // Every one of them again, as a sender does that did not hear our answer.
        for number in (0..150).step_by(10) {
            let again = post.acme.receives(post.support, &raw(number)).await;
            assert!(matches!(again, Received::Duplicate(_)), "{number}: {again:?}");
        }
        assert_eq!(post.count().await, 150);
        let flagged: i64 = sqlx::query_scalar("select count(*) from conversations where risk is not null")
            .fetch_one(&post.world.app.pool)
            .await
            .unwrap();
        assert_eq!(flagged, 0, "having no id is no pretence");
    })
    .await;
}
