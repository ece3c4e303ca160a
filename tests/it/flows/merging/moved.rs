//! A person moves a conversation to another inbox: what is sent from where afterwards, which later email joins, what is counted
//! where, who cannot move what, and two who do it at once.

use chrono::TimeDelta;
use rookery_base::error::{NO_CONVERSATION, NO_MAILBOX, Result};
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_core::conversations::inboxes;
use rookery_core::workspace::people::{self, Role};
use serde_json::json;

use super::{answer, desk, merges, rfc_id, stored};
use rookery_world::{Workspace, story};

async fn moves(
    acme: &Workspace<'_>,
    person: PersonId,
    id: ConversationId,
    to: MailboxId,
) -> Result<ConversationId> {
    let mut tx = acme.world.app.begin(acme.id).await?;
    let person = people::teammate(&mut tx, acme.id, person).await?;
    let id = inboxes::move_to(&mut tx, &person, &id.to_string(), &to.to_string()).await?;
    tx.commit().await?;
    Ok(id)
}

#[tokio::test]
async fn replies_are_sent_from_the_new_inbox_and_answers_to_either_join() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let id = acme.mail(help, "ada@x.example", "Order", "Where is it?").await;
        let before = key.sends(id, "Soon.").await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        acme.set(id, "reference = 'order-17'").await;
        let draft = key.drafts(id, "A draft.").await;
        let waiting = key.sends(id, "Written before.").await;

        moves(&acme, acme.owner, id, sales).await.unwrap();
        let read = key.conversation(id).await;
        assert_eq!(read["mailbox"], "sales@acme.example");
        assert_eq!(key.listed("view=all&reference=order-17").await, [id.to_string()]);
        acme.set(id, "reference = null").await;
        assert_eq!(key.message(id, &draft).await["from"]["email"], "sales@acme.example");
        assert_eq!(key.message(id, &waiting).await["from"]["email"], "help@acme.example");
        let told = key.told(id, "moved").await;
        let expected =
            json!({ "from": { "id": help, "name": "Help" }, "to": { "id": sales, "name": "Sales" } });
        assert_eq!(told, [expected]);

        let after = key.sends(id, "From the other one.").await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let letters = world.outbox.letters();
        let from: Vec<_> = letters.iter().map(|letter| letter.from.as_str()).collect();
        assert_eq!(from.iter().filter(|from| **from == "help@acme.example").count(), 2);
        assert_eq!(from.iter().filter(|from| **from == "sales@acme.example").count(), 1);

        let old = answer("ada@x.example", &rfc_id(world, &before).await, 1);
        assert_eq!(stored(acme.receives(help, &old).await), id, "to the inbox that it was in");
        let new = answer("ada@x.example", &rfc_id(world, &after).await, 2);
        assert_eq!(stored(acme.receives(sales, &new).await), id);
        let stranger = answer("eve@elsewhere.example", &rfc_id(world, &before).await, 3);
        assert_ne!(stored(acme.receives(help, &stranger).await), id, "nobody else is let in by it");
    })
    .await;
}

#[tokio::test]
async fn it_is_counted_where_it_is_and_moving_it_back_leaves_nothing_behind() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let id = acme.mail(help, "ada@x.example", "Order", "Where is it?").await;
        let open = async || {
            let boxes = key.get("/mailboxes").await.json();
            let count = |name: &str| {
                let all = boxes.as_array().unwrap();
                all.iter().find(|one| one["name"] == name).unwrap()["open"].as_i64().unwrap()
            };
            (count("Help"), count("Sales"))
        };
        assert_eq!(open().await, (1, 0));
        for _ in 0..2 {
            moves(&acme, acme.owner, id, sales).await.unwrap();
            assert_eq!(open().await, (0, 1));
            moves(&acme, acme.owner, id, help).await.unwrap();
            assert_eq!(open().await, (1, 0));
        }
        moves(&acme, acme.owner, id, help).await.unwrap();
        assert_eq!(key.told(id, "moved").await.len(), 4, "where it is already, nothing happens");
        let rows = world.scalar("select count(*) from merged_conversations").await;
        assert_eq!(rows, 2, "each inbox is remembered once");
        let other = acme.mail(sales, "ada@x.example", "Order again", "Hello?").await;
        moves(&acme, acme.owner, id, sales).await.unwrap();
        merges(&acme, acme.owner, other, id).await.unwrap();
        assert_eq!(key.conversation(id).await["id"], other.to_string());
        assert_eq!(open().await, (0, 1));
    })
    .await;
}

#[tokio::test]
async fn only_to_an_inbox_of_the_same_people_and_only_what_one_sees() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let second = acme.private_mailbox("mia2@acme.example", "Mia too", mia).await;
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.example", "Theirs").await;
        let (team, private) = (
            acme.mail(help, "ada@x.example", "Team", "Hello.").await,
            acme.mail(own, "ada@x.example", "Private", "Hello.").await,
        );
        let (no_inbox, no_conversation) = (NO_MAILBOX.sentence(), NO_CONVERSATION.sentence());
        for (person, id, to, sentence) in [
            (mia, team, own, &no_inbox),
            (mia, private, help, &no_inbox),
            (acme.owner, team, own, &no_inbox),
            (acme.owner, team, theirs, &no_inbox),
            (acme.owner, team, MailboxId(1), &no_inbox),
            (acme.owner, private, help, &no_conversation),
            (acme.owner, ConversationId(1), help, &no_conversation),
        ] {
            assert_eq!(moves(&acme, person, id, to).await.unwrap_err().sentence(), *sentence);
        }
        assert!(key.told(team, "moved").await.is_empty());
        moves(&acme, mia, private, second).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn of_two_who_move_it_at_once_the_second_moves_what_the_first_left() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let billing = acme.mailbox("billing@acme.example", "Billing").await;
        let id = acme.mail(help, "ada@x.example", "Order", "Where is it?").await;
        let (one, two, arrived) = tokio::join!(
            moves(&acme, acme.owner, id, sales),
            moves(&acme, acme.owner, id, billing),
            acme.receives(help, "Message-ID: <n@x.example>\nFrom: ada@x.example\nSubject: New\n\nHello.\n"),
        );
        one.unwrap();
        two.unwrap();
        assert_ne!(stored(arrived), id);
        let told = key.told(id, "moved").await;
        assert_eq!(told.len(), 2);
        assert_eq!(told[0]["to"], told[1]["from"], "{told:?}");
        let now =
            if told[1]["to"]["name"] == "Sales" { "sales@acme.example" } else { "billing@acme.example" };
        assert_eq!(key.conversation(id).await["mailbox"], now);
    })
    .await;
}
