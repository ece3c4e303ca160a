//! The conversation's page: every kind of entry looks its own way, everything a stranger wrote is text, and a thread of a
//! thousand messages is a small page.

use reqwest::Method;
use serde_json::json;

use super::{stored, with_html};
use rookery_world::{Mode, story};

const EVIL: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'";

/// proves: APP-3
#[tokio::test]
async fn every_kind_of_entry_is_told_from_the_others() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let key = acme.key("Lease Helper", "read,write,draft,send", Mode::Live).await;
        let id =
            acme.mail(help, "kim@customer.test", "My order", "Where is it?\n\nhttps://shop.test/1").await;
        let draft =
            key.replies(id, json!({ "body": "It is on its way.", "summary": "Says it is shipped" })).await;
        key.post(&format!("/conversations/{id}/notes"), json!({ "body": "@Olga please look" })).await;
        key.post(&format!("/conversations/{id}/tags"), json!({ "add": ["order"] })).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        for part in [
            "class=\"entry entry--in\"",
            "class=\"entry entry--draft\"",
            "Draft · needs approval",
            "Says it is shipped",
            "class=\"entry entry--note\"",
            "<span class=\"mention\">@Olga</span>",
            "<b>Lease Helper</b> added <b>order</b>",
            "aria-label=\"More actions for this message\"",
            "New: it answers no mail of this inbox.",
            "title=\"from kim@customer.test to ",
            "<a href=\"https://shop.test/1\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">",
            "data-live=\"conversation:cnv_",
        ] {
            assert!(page.contains(part), "{part} is missing");
        }
        // Every message has a link of its own; only why a mail came in is there to explain.
        assert_eq!(page.matches("Copy link to this message").count(), 2, "{page}");
        assert_eq!(page.matches("Why is this here?").count(), 1, "{page}");
        acme.approve(acme.owner, &draft, Some("It has left.")).await.unwrap();
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(
            page.contains("entry--scheduled") && page.contains("approved by Olga Owner, edited"),
            "{page}"
        );
        assert!(page.contains(&format!("id=\"{draft}\"")));
    })
    .await;
}

#[tokio::test]
async fn everything_a_stranger_wrote_is_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let raw = format!(
            "From: \"{0}\" <kim@customer.test>\r\nTo: help@acme.test\r\nSubject: {1}\r\n\r\n{1}\r\n",
            EVIL.replace('"', ""),
            EVIL
        );
        let (id, _) = stored(acme.receives(help, &raw).await);
        let key = acme.key("bot", "read,write,draft,send", Mode::Live).await;
        key.replies(&id, json!({ "body": EVIL, "summary": EVIL })).await;
        key.post(&format!("/conversations/{id}/notes"), json!({ "body": EVIL })).await;
        key.post(&format!("/conversations/{id}/tags"), json!({ "add": ["<b>x</b>"] })).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(
            !page.contains("<script>alert") && !page.contains("<img src=x") && !page.contains("<b>x</b>"),
            "{page}"
        );
        assert!(page.matches("alert(1)").count() >= 5);
    })
    .await;
}

#[tokio::test]
async fn text_is_one_click_from_html_and_html_from_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        // Written, not laid out: its text is shown first.
        let (id, message) =
            stored(acme.receives(help, &with_html("Plain", "<p>The <b>words</b>.</p>")).await);
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("The words.") && !page.contains("<iframe"), "{page}");
        assert!(page.contains(&format!("?html={message}#{message}")));
        let page = owner.get(&format!("/conversations/{id}?html={message}")).await.page();
        assert!(page.contains("<iframe") && page.contains(&format!("?text={message}#{message}")));
        let page = owner.get(&format!("/conversations/{id}?text={message}")).await.page();
        assert!(!page.contains("<iframe"));
        let frame = owner.get(&format!("/messages/{message}/html")).await.page();
        assert!(frame.contains("<p>The <b>words</b>.</p>"), "{frame}");
    })
    .await;
}

#[tokio::test]
async fn a_held_conversation_says_why_and_a_person_releases_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let raw = "From: Olga Owner <olga@acrne.test>\r\nTo: help@acme.test\r\nSubject: Urgent wire\r\n\r\n\
            Please pay the invoice today to our new bank account. The IBAN changed. Keep this confidential, I cannot talk. \
            Buy gift cards and send the codes.\r\n";
        let (id, _) = stored(acme.receives(help, raw).await);
        sqlx::query("update conversations set risk = 'payment-fraud', risk_reasons = '{\"A <b>new</b> account\"}', held_at = now()")
            .execute(&world.app.pool)
            .await
            .unwrap();
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Check before you pay") && page.contains("A &#60;b&#62;new&#60;/b&#62; account"), "{page}");
        let done = owner.post(&format!("/conversations/{id}/release"), &[]).await;
        assert_eq!(done.status, 303);
        assert!(done.location().starts_with(&format!("/conversations/{id}?done=released")), "{}", done.location());
        let page = owner.get(done.location()).await.page();
        assert!(!page.contains("banner--risk") && page.contains("marked this as not a scam"), "{page}");
    })
    .await;
}

/// proves: APP-4
#[tokio::test]
async fn earlier_conversations_are_those_the_reader_can_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let mia = acme.person("Mia", rookery_core::workspace::people::Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let team = acme.mail(help, "kim@customer.test", "First of all", "One").await;
        let private = acme.mail(own, "kim@customer.test", "Only for Mia", "Two").await;
        acme.mail(help, "other@customer.test", "Of somebody else", "Three").await;
        let now = acme.mail(help, "kim@customer.test", "And now", "Four").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{now}")).await.page();
        let panel = page.split_once("id=\"contact\"").unwrap().1;
        assert!(panel.contains(&team.to_string()) && panel.contains("First of all"));
        assert!(!panel.contains(&private.to_string()) && !panel.contains("Only for Mia"));
        assert!(!panel.contains("Of somebody else") && !panel.contains(&format!("/conversations/{now}\"")));
        let hers = world.browser(acme.id, mia).await;
        let page = hers.get(&format!("/conversations/{now}")).await.page();
        assert!(page.contains("Only for Mia"));
    })
    .await;
}

#[tokio::test]
async fn a_thread_of_a_thousand_messages_is_a_small_page_and_all_of_it_can_be_reached() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let (id, first) = stored(acme.receives(help, &with_html("Long", "<p>x</p>")).await);
        // Written down by one statement: a thousand mails would take the test a minute.
        sqlx::query(
            "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email,
                 text, whole_text, attachments, automatic, rfc_message_id, id_hash, content_hash, also_to, verdict, placed)
             select workspace_id, conversation_id, id + n, mailbox_id, 1 + n, at + n * interval '1 minute', direction, from_name,
                 from_email, repeat('Words of mail number ' || n || '. ', 25), repeat('> An older mail, number ' || n || '. ', 60),
                 attachments, automatic, null, n, content_hash, also_to, verdict, placed
             from messages, generate_series(1, 999) n where id = $1",
        )
        .bind(first.0)
        .execute(&world.app.pool)
        .await
        .unwrap();
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        let request = owner.request(Method::GET, &format!("/conversations/{id}")).header("accept-encoding", "gzip");
        let pressed = request.send().await.unwrap();
        assert_eq!(pressed.headers()["content-encoding"], "gzip");
        let size = pressed.bytes().await.unwrap().len();
        assert!(size <= 40_000, "{size} bytes");
        println!("a thread of 1,000 messages: {} bytes, {size} gzipped", page.len());
        assert!(page.contains("timeline--long") && page.contains("mail number 999."));
        let (mut pages, mut seen, mut page) = (1, page.matches("class=\"entry entry--in\"").count(), page);
        while let Some((_, rest)) = page.split_once("id=\"earlier\"><a href=\"") {
            let earlier = rest.split('"').next().unwrap().to_owned();
            page = owner.get(&earlier).await.page();
            seen += page.matches("class=\"entry entry--in\"").count();
            pages += 1;
        }
        assert_eq!((pages, seen), (21, 1_000));
        assert!(page.contains(&format!("id=\"{first}\"")));
    })
    .await;
}
