//! People take messages back in the very moment they leave: of the two, exactly one wins each time.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures::{StreamExt, stream};
use rookery_base::ids::MessageId;
use rookery_mail::outgoing::send;
use sqlx::AssertSqlSafe;

use rookery_world::{World, story_with};

const MANY_CONNECTIONS: &[(&str, &str)] = &[("DATABASE_CONNECTIONS", "16")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_at_the_last_moment_wins_or_loses_and_never_both() {
    story_with(MANY_CONNECTIONS, async |world| race(world, 1_000).await).await;
}

/// `just undo-race`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute"]
async fn ten_thousand_undos_at_the_last_moment() {
    story_with(MANY_CONNECTIONS, async |world| race(world, 10_000).await).await;
}

async fn race(world: &World, messages: usize) {
    let acme = world.workspace("Acme").await;
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let conversations = acme.many(inbox, messages as i64, "anything").await;
    let statement = format!(
        "update conversations set contact_email = 'ada@customer.example';
         insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at,
             due_at, from_email, text, rfc_message_id)
         select workspace_id, id, id, mailbox_id, 1, '{now}', 'outbound', 'scheduled', '{due}', '{due}',
             'help@acme.example', 'Hello', id || '@acme.example' from conversations",
        now = world.now(),
        due = world.now() + TimeDelta::minutes(10),
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&world.app.pool).await.unwrap();
    world.wait(TimeDelta::minutes(10));

    let undos = stream::iter(&conversations).map(async |conversation| {
        let message = MessageId(conversation.0);
        (message, acme.undo(acme.owner, &message.to_string()).await)
    });
    let (undone, sent) = futures::join!(undos.buffer_unordered(4).collect::<Vec<_>>(), async {
        send::send_due(&world.app, 4).await
    });
    sent.unwrap();
    world.work().await;

    let mut stopped = BTreeSet::new();
    for (message, outcome) in undone {
        match outcome {
            Ok(()) => {
                stopped.insert(message);
            }
            Err(error) => assert_eq!(error.sentence(), "message: is already on its way"),
        }
    }
    let left: Vec<MessageId> = world.outbox.letters().iter().map(|letter| letter.message).collect();
    let once: BTreeSet<MessageId> = left.iter().copied().collect();
    assert_eq!(left.len(), once.len(), "none left twice");
    assert!(once.is_disjoint(&stopped), "a stopped message reached the carrier");
    assert_eq!(once.len() + stopped.len(), messages, "each was sent or stopped");
    let rows: Vec<(MessageId, String)> =
        sqlx::query_as("select id, status from messages").fetch_all(&world.app.pool).await.unwrap();
    for (message, status) in rows {
        assert_eq!(status, if stopped.contains(&message) { "draft" } else { "sent" });
    }
    println!("{messages} races: {} sent, {} stopped", once.len(), stopped.len());
    let least = messages / 50;
    assert!(once.len() >= least && stopped.len() >= least, "there was hardly a race");
}
