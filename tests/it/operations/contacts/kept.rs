//! Rows of contacts follow the conversations, whoever writes those: mail, merging, erasing, deleting, the migration that found
//! conversations there, and two of them at one moment.

use std::time::Duration;

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::{self, Role};
use rookery_product::replies::merge::merge;
use serde_json::json;

use super::{contact, contacts, emails, id_of, writes};
use rookery_world::verbs::erasing::erases;
use rookery_world::{Mode, World, story};

const FILL: &str = include_str!("../../../../migrations/0063_contacts_of_what_is_there.sql");

/// Everybody with a conversation has a row, and nobody else.
async fn is_true(world: &World) {
    let differ = world
        .scalar(
            "select count(*) from (
                 select distinct workspace_id, audience, contact_email as email from conversations where contact_email is not null
                 ) wanted full join contacts using (workspace_id, audience, email)
             where wanted.email is null or contacts.id is null
                or contacts.id <> contact_id(workspace_id, email)",
        )
        .await;
    // A full join keeps no trace of the side that lacks it, so both sides are counted as well.
    let (wanted, there) = (
        world
            .scalar("select count(distinct (workspace_id, audience, contact_email)) from conversations where contact_email is not null")
            .await,
        world.scalar("select count(*) from contacts").await,
    );
    assert_eq!((differ, wanted), (0, there));
}

#[tokio::test]
async fn a_contact_goes_with_the_last_conversation_and_comes_again_with_the_same_id() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let kept = writes(&acme, help, "Bob <bob@customer.example>", "Stays").await;
        let first = writes(&acme, help, "Ada <ada@customer.example>", "One").await;
        let second = writes(&acme, help, "Ada <ada@customer.example>", "Two").await;
        let ada = id_of(&key, "ada@customer.example").await;
        // One of two became part of Bob's, and then the other one did.
        for gone in [first, second] {
            assert_eq!(contact(&key, &ada).await.0, 200);
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let olga = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
            let (kept, gone): (ConversationId, ConversationId) =
                (kept.parse().unwrap(), gone.parse().unwrap());
            merge(&mut tx, &olga, kept, gone).await.unwrap();
            tx.commit().await.unwrap();
            is_true(world).await;
        }
        assert_eq!(contact(&key, &ada).await.0, 404);
        assert_eq!(emails(&key, &[]).await, ["bob@customer.example"]);
        writes(&acme, help, "Ada <ada@customer.example>", "Three").await;
        assert_eq!(id_of(&key, "ada@customer.example").await, ada);
        is_true(world).await;

        world.work().await;
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        assert_eq!(contact(&key, &ada).await, (404, json!({ "error": "No such contact." })));
        assert_eq!(contacts(&key, &[("q", "ada")]).await, json!([]));
        assert_eq!(world.scalar("select count(*) from contacts where email like 'ada%'").await, 0);
        is_true(world).await;
    })
    .await;
}

/// As when somebody leaves the team and another takes over their inbox.
#[tokio::test]
async fn a_conversation_that_others_see_from_now_on_takes_its_contact_along() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let private = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let (key, annas) =
            (acme.key("bot", "read", Mode::Live).await, acme.key_of(anna, "hers", "read", Mode::Live).await);
        let one = writes(&acme, private, "Ada Old <ada@customer.example>", "One").await;
        let two = writes(&acme, private, "Ada Old <ada@customer.example>", "Two").await;
        let everybody_sees = async |id: &str| {
            let id = id.parse::<ConversationId>().unwrap().0;
            world.sql(&format!("update conversations set audience = 0 where id = {id}")).await;
            is_true(world).await;
        };
        assert_eq!(emails(&key, &[]).await, [""; 0]);
        everybody_sees(&one).await;
        for query in [&[][..], &[("q", "ada")], &[("email", "ada@customer.example")]] {
            assert_eq!(emails(&key, query).await, ["ada@customer.example"]);
            assert_eq!(emails(&annas, query).await, ["ada@customer.example"], "and she has them once");
        }
        writes(&acme, help, "Ada New <ada@customer.example>", "Three").await;
        everybody_sees(&two).await;
        for key in [&key, &annas] {
            let list = contacts(key, &[]).await;
            assert_eq!((list.as_array().unwrap().len(), &list[0]["name"]), (1, &json!("Ada New")));
        }
    })
    .await;
}

/// Whoever brings a conversation and whoever takes the last other one away wait for each other, so none is missed.
#[tokio::test]
async fn a_conversation_that_comes_while_the_last_one_goes_keeps_its_contact() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let take = "delete from conversations where contact_email = 'ada@customer.example'";
        let bring = "insert into conversations (workspace_id, id, mailbox_id, audience, contact_email, subject, status,
                         announced_turn, created_at, last_message_at)
                     select workspace_id, id + 1, mailbox_id, audience, contact_email, 'Again', 'open', 'ours', created_at,
                         last_message_at
                     from conversations where contact_email = 'ada@customer.example'";
        for (first, second) in [(take, bring), (bring, take)] {
            writes(&acme, help, "Ada <ada@customer.example>", "One").await;
            let mut one = world.app.begin(acme.id).await.unwrap();
            let mut other = world.app.begin(acme.id).await.unwrap();
            sqlx::query(first).execute(&mut *one).await.unwrap();
            let waiting = tokio::spawn(async move {
                sqlx::query(second).execute(&mut *other).await.unwrap();
                other.commit().await.unwrap();
            });
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!waiting.is_finished(), "they wait for each other");
            one.commit().await.unwrap();
            waiting.await.unwrap();
            is_true(world).await;
            assert_eq!(world.scalar("select count(*) from contacts").await, 1);
        }
    })
    .await;
}

#[tokio::test]
async fn conversations_that_were_there_before_give_their_contacts_and_it_may_be_done_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (help, shop) = (
            acme.mailbox("help@acme.example", "Help").await,
            acme.mailbox("shop@acme.example", "Shop").await,
        );
        let key = acme.key("bot", "read", Mode::Live).await;
        for (inbox, from) in
            [(help, "Ada <a@x.example>"), (shop, "Ada Long <a@x.example>"), (shop, "b@x.example")]
        {
            writes(&acme, inbox, from, "Hi").await;
        }
        let before = contacts(&key, &[]).await;
        world.sql("delete from contacts").await;
        for _ in 0..2 {
            world.sql(FILL).await;
            is_true(world).await;
            assert_eq!(contacts(&key, &[]).await, before);
        }
        assert_eq!(emails(&key, &[("q", "long")]).await, ["a@x.example"], "their words follow");
        // Their mail was noted for its terms, which no search waits for.
        world.work().await;
    })
    .await;
}
