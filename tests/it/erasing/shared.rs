//! A contact in conversations of others: what goes with them, and what must not. Our own addresses are no contacts.

use rookery_base::ids::{ConversationId, MessageId};
use rookery_core::conversations::keeping::forget::{self, Portion};
use rookery_core::conversations::keeping::parts;
use rookery_core::workspace::people::{self, Role};
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use rookery_product::replies::suppress::{self, Reason};
use rookery_upkeep::erasures::ask;
use serde_json::json;

use rookery_world::canary::CANARY;
use rookery_world::verbs::erasing::erases;
use rookery_world::{Mode, Workspace, story};

const ADA: &str = "ada.zanzibarcanary@customer.example";

async fn refused(acme: &Workspace<'_>, address: &str) -> String {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
    ask::erase(&mut tx, &olga, address, "").await.expect_err("it is refused").sentence()
}

/// A mail of ours in a conversation that passes on another one, as the composer writes it.
async fn passes_on(acme: &Workspace<'_>, conversation: ConversationId, message: MessageId) -> MessageId {
    let words =
        format!("Look.\n\n---------- Forwarded message ----------\nFrom: Ada <{ADA}>\n\nI am {CANARY}.");
    let sent = rookery_world::Message { status: "sent", text: &words, rfc_message_id: None };
    let id = acme.outbound(conversation, sent).await;
    sqlx::query("update messages set forwards = $2, to_addresses = '{lawyer@law.example}' where id = $1")
        .bind(id.0)
        .bind(message.0)
        .execute(&acme.world.app.pool)
        .await
        .unwrap();
    id
}

/// proves: APP-12
#[tokio::test]
async fn an_address_of_our_own_is_no_contact_and_erases_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        world
            .sql(&format!(
                "insert into mailbox_aliases (workspace_id, address, mailbox_id, created_at)
                 values ({}, 'support@acme.example', {}, now())",
                acme.id.0, help.0
            ))
            .await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let first = acme.mail(help, ADA, "Hello", "Hello.").await;
        key.sends(first, "Dear Ada.").await;
        let ours =
            ["help@acme.example", "Help+INV-7@acme.example", "mia@acme.example", "support@acme.example"];
        for address in ours {
            let sentence = refused(&acme, address).await;
            assert!(sentence.contains("one of your own inboxes"), "{address}: {sentence}");
        }
        let sentence = refused(&acme, "mia@rookery.example").await;
        assert!(sentence.contains("of your team"), "{sentence}");
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/settings/data?who=mia%40acme.example").await;
        assert_eq!(page.status, 400, "{}", page.html);
        assert!(page.html.contains("one of your own inboxes") && !page.html.contains("Erase for good"));
        let form = [("address", "help@acme.example"), ("confirm", "help@acme.example"), ("why", "")];
        assert_eq!(owner.post("/settings/data/erase", &form).await.status, 400);
        // And were it asked for: our mail has our address as its sender, and does not go by that.
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let messages = parts::all(&mut tx, &[first]).await.unwrap();
        let portion = Portion { conversations: &[first], own: &[], messages: &messages };
        assert_eq!(forget::doomed(&mut tx, portion, "help@acme.example").await.unwrap(), []);
        drop(tx);
        assert_eq!(world.scalar("select count(*) from erasures").await, 0);
    })
    .await;
}

/// proves: APP-12
#[tokio::test]
async fn what_passes_on_a_contacts_mail_goes_with_it_once_and_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        // Ada writes in Bob's conversation.
        let bobs = acme.mail(help, "bob@other.example", "Bob's parcel", "Bob speaks.").await;
        let asked: String = key.sends(bobs, "Ada knows.").await;
        let asked: MessageId = asked.parse().unwrap();
        let rfc: String = sqlx::query_scalar("select rfc_message_id from messages where id = $1")
            .bind(asked.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        world.sql(&format!("update messages set to_addresses = '{{bob@other.example}}' where id = {}", asked.0)).await;
        let from_ada = |place: &str| {
            format!(
                "Message-ID: <{place}@customer.example>\nFrom: {ADA}\nTo: help@acme.example\nSubject: Re: Bob's parcel\n\
                 In-Reply-To: <{rfc}>\n\nI am {CANARY}.\n"
            )
        };
        let Received::Stored(hers) = acme.receives_confirmed(help, &from_ada("one")).await else { panic!("stored") };
        world
            .sql(&format!(
                "update messages set conversation_id = {bobs}, item = 50 where id = {}; update conversations set last_item = 60,
                     message_count = (select count(*) from messages where conversation_id = {bobs}) where id = {bobs}",
                hers.message.0, bobs = bobs.0
            ))
            .await;
        let once = passes_on(&acme, bobs, hers.message).await;
        passes_on(&acme, bobs, once).await;
        // A form sends her words for her, and a request of ours goes to her there.
        let form = format!(
            "Message-ID: <form@forms.example>\nFrom: noreply@forms.example\nReply-To: {ADA}\nTo: help@acme.example\n\
             Subject: A form\n\nName: {CANARY}\n"
        );
        acme.receives(help, &form).await;
        let asks = json!({ "documents": [{ "label": format!("Passport of {CANARY}") }], "message": "Please.", "send": true });
        assert_eq!(key.post(&format!("/conversations/{bobs}/document-requests"), asks).await.status, 201);
        world
            .sql(&format!(
                "update messages set to_addresses = '{{{ADA}}}' where id in (select message_id from document_requests)"
            ))
            .await;
        assert!(world.left_of_canary().await.len() > 5);
        erases(&acme, ADA).await;
        world.work().await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        let bob = world.scalar("select count(*) from messages where text like 'Bob speaks%' or text like 'Ada knows%'").await;
        assert_eq!(bob, 2, "what is not hers stays");
        assert_eq!(key.conversation(bobs).await["contact"]["email"], "bob@other.example");
    })
    .await;
}

/// Whoever got what was passed on answers it, in a conversation of their own, and quotes her.
#[tokio::test]
async fn an_answer_to_what_was_passed_on_keeps_its_words_and_loses_the_quote() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.mail(help, ADA, "Hello", &format!("I am {CANARY}.")).await;
        let raw = format!(
            "Message-ID: <answer@law.example>\nFrom: lawyer@law.example\nTo: help@acme.example\nSubject: My advice\n\n\
             The lawyer speaks.\n\nOn Monday Ada <{ADA}> wrote:\n> I am {CANARY}.\n"
        );
        let Received::Stored(answer) = acme.receives(help, &raw).await else { panic!("stored") };
        acme.set(answer.conversation, &format!("answers_in = {}", own.0)).await;
        erases(&acme, ADA).await;
        world.work().await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        let left = world.scalar("select count(*) from messages where text like 'The lawyer speaks%' and raw is null").await;
        assert_eq!(left, 1);
    })
    .await;
}

/// Somebody who is in copy everywhere is taken out of a few conversations at a time, and of each.
#[tokio::test]
async fn a_walk_takes_a_few_conversations_at_a_time_and_passes_over_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mut made = Vec::new();
        for n in 0..5 {
            let raw = format!(
                "Message-ID: <{n}@other.example>\nFrom: bob{n}@other.example\nTo: help@acme.example\nCc: {ADA}\n\
                 Subject: Parcel {n}\n\nHello.\n"
            );
            let Received::Stored(stored) = acme.receives(help, &raw).await else { panic!("stored") };
            made.push(stored.conversation);
            acme.mail(help, &format!("eve{n}@other.example"), "Other", "Hello.").await;
        }
        let (mut after, mut taken) = (0, Vec::new());
        let mut tx = world.app.begin(acme.id).await.unwrap();
        loop {
            let (found, next) = forget::taking_part(&mut tx, ADA, after, 7, 2).await.unwrap();
            assert!(found.len() <= 2, "{found:?}");
            taken.extend(found);
            match next {
                Some(next) => assert!(std::mem::replace(&mut after, next) < next, "it goes on"),
                None => break,
            }
        }
        drop(tx);
        taken.dedup();
        assert_eq!(taken, made);
    })
    .await;
}

/// A conversation becomes part of another while the walk waits for it: its mail is found where it is then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_that_moves_while_the_walk_waits_is_found_where_it_went() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let hers = acme.mail(help, ADA, "Hers", "Hello.").await;
        let bobs = acme.mail(help, "bob@other.example", "Bob's", "Hello.").await;
        let mut merging = world.app.begin(acme.id).await.unwrap();
        let olga = people::teammate(&mut merging, acme.id, acme.owner).await.unwrap();
        merge(&mut merging, &olga, bobs, hers).await.unwrap();
        let (app, workspace) = (world.app.clone(), acme.id);
        let walking = tokio::spawn(async move {
            let mut tx = app.begin(workspace).await.unwrap();
            forget::taking_part(&mut tx, ADA, 0, 100, 100).await.unwrap().0
        });
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert!(!walking.is_finished(), "it waits");
        merging.commit().await.unwrap();
        assert_eq!(walking.await.unwrap(), [bobs]);
    })
    .await;
}

/// A mailbox that bounced is there again when its owner writes; that they were erased meanwhile changes nothing.
#[tokio::test]
async fn a_bounce_of_somebody_erased_is_over_when_they_write_again_and_pages_tell_until_then() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let first = acme.mail(help, ADA, "Hello", "Hello.").await;
        let message = key.sends(first, "Dear Ada.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        suppress::suppress(&mut tx, true, ADA, Reason::Bounce, Some(message.parse().unwrap())).await.unwrap();
        tx.commit().await.unwrap();
        erases(&acme, ADA).await;
        world.work().await;
        let among = async || {
            let keys = world.app.config.needs_secret_key().unwrap();
            let asked = [ADA.to_owned(), "bob@other.example".to_owned()];
            let mut conn = world.app.connection().await.unwrap();
            suppress::among(&mut conn, Some(keys), acme.id, true, &asked).await.unwrap()
        };
        assert_eq!(among().await, [ADA], "whoever would write to her is told");
        let raw = format!("Message-ID: <again@customer.example>\nFrom: {ADA}\nTo: help@acme.example\nSubject: Again\n\nIt is me.\n");
        let Received::Stored(anew) = acme.receives_confirmed(help, &raw).await else { panic!("stored") };
        assert_eq!(among().await, [] as [String; 0]);
        let message = key.sends(anew.conversation, "Welcome back.").await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        assert_eq!(key.message(anew.conversation, &message).await["status"], "sent");
    })
    .await;
}

/// A node died while it wrote an export: what it left goes with the erasure, and not two days later.
#[tokio::test]
async fn half_an_export_does_not_outlive_whom_it_is_about() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, ADA, "Hello", "Hello.").await;
        let day = format!("ws/{}/{}/export", acme.id, world.now().date_naive());
        world.leaves_file(&format!("{day}/aaaa#1"), CANARY.as_bytes());
        world.leaves_file(&format!("{day}/bbbb"), CANARY.as_bytes());
        erases(&acme, ADA).await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
    })
    .await;
}
