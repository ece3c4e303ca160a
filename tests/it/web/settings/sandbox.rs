//! The sandbox's page: simulated mail from a form, what test webhooks heard, what left, and the wall to everything live.

use rookery_mail::sandbox::magic::{MAGIC, Magic};
use serde_json::json;

use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::Receiver;
use rookery_world::{Mode, story};

const PAGE: &str = "/settings/sandbox";
const FORM: &str = "/settings/sandbox/inbound";

/// proves: SBX-8, SBX-29
#[tokio::test]
async fn a_mail_from_the_form_reaches_test_keys_and_test_webhooks_alone() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("ci-tests", "write", Mode::Test).await;
        let live = acme.key("live-bot", "read", Mode::Live).await;
        let (test_receiver, live_receiver) = (Receiver::start().await, Receiver::start().await);
        acme.webhook(&test_receiver.url, Mode::Test).await;
        acme.webhook(&live_receiver.url, Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let page = olga.get(PAGE).await.page();
        assert!(page.contains(&acme.sandbox_address) && page.contains("ci-tests"), "{page}");
        assert!(!page.contains("live-bot") && !page.contains(&live_receiver.url), "nothing live");
        assert!(!page.contains(&key.text), "a key is never shown again");

        let fields = [
            ("from", "priya@customer.test"),
            ("name", "Priya"),
            ("subject", "Deposit?"),
            ("text", "Where does it go?"),
            ("dmarc", "fail"),
        ];
        let sent = olga.post(FORM, &fields).await;
        assert!(sent.location().starts_with("/settings/sandbox?taken=cnv_"), "{}", sent.html);
        let conversation =
            sent.location().split_once("taken=").unwrap().1.split('&').next().unwrap().to_owned();
        world.work().await;
        let page = olga.get(sent.location()).await.page();
        assert!(page.contains(&format!(r#"<code id="cnv">{conversation}</code>"#)), "{page}");
        assert!(page.contains("turn.changed") && page.contains("200 · "), "the delivery: {page}");
        let whole = key.get(&format!("/conversations/{conversation}")).await.json();
        assert_eq!((&whole["subject"], &whole["contact"]["name"]), (&json!("Deposit?"), &json!("Priya")));
        assert_eq!(test_receiver.only().json()["livemode"], false);
        assert!(live_receiver.take().is_empty(), "the wall");
        assert_eq!(live.get(&format!("/conversations/{conversation}")).await.status, 404);
        assert_eq!(
            olga.get(&format!("/conversations/{conversation}")).await.status,
            404,
            "nowhere else in the app"
        );

        // An answer joins, and the page's own conversation is the sandbox's only.
        let fields =
            [("from", "priya@customer.test"), ("text", "Hello?"), ("conversation", conversation.as_str())];
        assert!(olga.post(FORM, &fields).await.location().contains(&conversation));
    })
    .await;
}

/// proves: SBX-3, SBX-6, SBX-9
#[tokio::test]
async fn what_the_operation_refuses_the_form_refuses_with_a_sentence_and_nothing_typed_is_lost() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let support = acme.mailbox("help@acme.example", "Support").await;
        let live = acme.mail(support, "a@customer.example", "Hi", "Hello").await.to_string();
        let foreign = other.happens_in_sandbox().await;
        let olga = world.browser(acme.id, acme.owner).await;
        let long = "x".repeat(201);
        type Fields<'a> = &'a [(&'a str, &'a str)];
        let wrong: &[(Fields<'_>, u16, &str)] = &[
            (
                &[("from", "priya@customer.example"), ("text", "kept <b>")],
                400,
                "From must be a mail address on a .test domain.",
            ),
            (&[("from", "\"a\" <x@y.test>"), ("text", "kept <b>")], 400, "From must be"),
            (&[("from", ""), ("text", "kept <b>")], 400, "From must be"),
            (
                &[("from", "a@b.test"), ("text", "  \n"), ("name", "kept <b>")],
                400,
                "The text must not be blank.",
            ),
            (
                &[("from", "a@b.test"), ("text", "kept <b>"), ("name", &long)],
                400,
                "The name must be at most 200 characters.",
            ),
            (
                &[("from", "a@b.test"), ("text", "kept <b>"), ("conversation", &live)],
                404,
                "no such conversation in the sandbox",
            ),
            (
                &[("from", "a@b.test"), ("text", "kept <b>"), ("conversation", &foreign)],
                404,
                "no such conversation in the sandbox",
            ),
            (
                &[("from", "a@b.test"), ("text", "kept <b>"), ("conversation", "cnv_nosuch")],
                404,
                "no such conversation in the sandbox",
            ),
        ];
        let stored: i64 = world.scalar("select count(*) from messages").await;
        for (fields, status, sentence) in wrong {
            let sent = olga.post(FORM, fields).await;
            assert_eq!(sent.status, *status, "{fields:?} {}", sent.html);
            assert!(
                sent.html.contains(sentence) && sent.html.contains("kept &#60;b&#62;"),
                "{fields:?}: {}",
                sent.html
            );
        }
        for taken in [live.as_str(), &foreign, "cnv_<script>"] {
            let page = olga.get(&format!("{PAGE}?taken={taken}")).await.page();
            assert!(!page.contains("Taken in"), "{taken} is not of this sandbox");
        }
        let now: i64 = world.scalar("select count(*) from messages").await;
        assert_eq!(now, stored, "nothing was taken in");
        let mut answers = Vec::new();
        for _ in 0..121 {
            answers.push(olga.post(FORM, &[("from", "a@b.test"), ("text", "Hello")]).await.status);
        }
        assert_eq!(answers[..120], [303; 120]);
        assert_eq!(answers[120], 429, "as many as by the API");
    })
    .await;
}

/// proves: SBX-10
#[tokio::test]
async fn what_left_in_the_sandbox_is_listed_by_pages_and_each_magic_word_is_told() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write,draft,send", Mode::Test).await;
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(olga.get(PAGE).await.page().contains("Nothing has left the sandbox yet."));
        for number in 0..23 {
            let from = format!("delivered+{number}@customer.test");
            let subject = format!("Case {number}");
            let id = key.simulate(json!({ "from": from, "subject": subject, "text": "Hello" })).await;
            key.post(&format!("/conversations/{id}/replies"), json!({ "body": "Hi", "send": true })).await;
        }
        world.wait(chrono::TimeDelta::seconds(10));
        world.work().await;
        let page = olga.get(PAGE).await.page();
        assert_eq!(page.matches("delivered+").count(), 20, "{page}");
        let next =
            page.split_once(r#"" rel="next">"#).expect("more").0.rsplit('"').next().unwrap().to_owned();
        assert_eq!(olga.get(&next).await.page().matches("delivered+").count(), 3);
        assert!(world.outbox.letters().is_empty(), "nothing left for real");
        for word in MAGIC {
            assert!(
                page.contains(&format!("<code>{}@acme.test</code>", word.word)) && page.contains(word.about)
            );
        }
        let known = ["bounce", "complaint", "reply", "docs", "ooo"]
            .map(|word| Magic::from_address(&format!("{word}@x.test")));
        assert!(known.iter().all(|magic| *magic != Magic::Delivered));
    })
    .await;
}
