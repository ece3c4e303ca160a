//! The case at size: 1.2 million messages, 150,000 of them in one conversation, 130,000 conversations in the trash. Erasing, doing
//! it again after a restore, removing what is over and looking for holds all end, with the service's own limit for a statement.

use std::time::Instant;

use rookery_base::ids::MailboxId;
use rookery_core::conversations::keeping::holds::{self, Covers};
use rookery_core::conversations::keeping::retention::{leaving, trashed};
use rookery_upkeep::erasures::{ask, preview, replay, retention, work};

use rookery_world::verbs::erasing::olga;
use rookery_world::{Workspace, story_of_one_role};

const CONVERSATIONS: i64 = 130_000;
const EACH: i64 = 8;
const LONG: i64 = 150_000;

/// Mail that came 400 days ago, so many in each of so many conversations whose ids begin there. The first contact is `p1`.
async fn fills(acme: &Workspace<'_>, inbox: MailboxId, from: i64, conversations: i64, each: i64) {
    let (w, m, now) = (acme.id.0, inbox.0, acme.world.now());
    acme.world
        .sql(&format!(
            "set session_replication_role = replica; set synchronous_commit = off;
             insert into conversations (workspace_id, id, mailbox_id, audience, contact_email, subject, status, announced_turn,
                 created_at, last_message_at, last_item_at, message_count, last_item)
             select {w}, {from} + n, {m}, 0, 'p' || {from} + n || '@x.example', 'Case', 'closed', 'done', moment, moment, moment,
                 {each}, {each}
             from (select n, '{now}'::timestamptz - interval '400 days' + n * interval '1 second' as moment
                   from generate_series(1, {conversations}) n) n;
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_email, to_addresses, text,
                 whole_text, raw, id_hash, content_hash)
             select {w}, {from} + n, 1000000000000 + {from} * 10 + n * {each} + k, {m}, k, '{now}'::timestamptz - interval '400 days', 'inbound',
                 'p' || {from} + n || '@x.example', array['help@acme.example'], repeat('Where is my order? ', 20), 'quoted',
                 convert_to(repeat(md5(random()::text), 16), 'UTF8'), {from} * 10 + n * {each} + k,
                 sha256(({from} * 10 + n * {each} + k)::text::bytea)
             from generate_series(1, {conversations}) n, generate_series(0, {each} - 1) k",
        ))
        .await;
}

/// `just erase-giant`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: just erase-giant"]
async fn a_workspace_of_a_million_messages_erases_keeps_and_removes() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let (app, olga) = (&world.app, olga(&acme).await);
        let mut before = Instant::now();
        let mut says = |what: &str| {
            println!("{what}: {:.2} s", before.elapsed().as_secs_f64());
            before = Instant::now();
        };
        fills(&acme, help, 0, CONVERSATIONS, EACH).await;
        fills(&acme, help, 1_000_000, 1, LONG).await;
        fills(&acme, help, 2_000_000, 1, LONG).await;
        world.sql("analyze conversations, messages").await;
        says("filled");

        let mut tx = app.begin(acme.id).await.unwrap();
        for held in ["eve@x.example", "p7@x.example", "p1000001@x.example"] {
            holds::place(&mut tx, &olga, held, Covers::Contact(held)).await.unwrap();
        }
        tx.commit().await.unwrap();
        says("three holds placed, one on whom the 150,000 are from");
        for who in ["p9@x.example", "p2000001@x.example"] {
            let against = holds::against(&mut app.connection().await.unwrap(), acme.id, who).await.unwrap();
            assert_eq!(against, [] as [String; 0]);
            says(&format!("a look for holds against {who}"));
        }
        let mut tx = app.begin(acme.id).await.unwrap();
        let id = ask::erase(&mut tx, &olga, "p9@x.example", "").await.unwrap();
        tx.commit().await.unwrap();
        work::to_the_end(app, acme.id, id).await.unwrap();
        says("erased somebody of 8 messages, with the holds");
        world.sql("update holds set ended_at = now()").await;

        let keys = app.config.needs_secret_key().unwrap();
        let who = "p1000001@x.example";
        let seen = preview::preview(&mut app.connection().await.unwrap(), keys, &olga, who).await.unwrap();
        println!("a preview counts {} messages", seen.messages);
        says("a preview of whom the 150,000 are from");
        let mut tx = app.begin(acme.id).await.unwrap();
        let id = ask::erase(&mut tx, &olga, who, "").await.unwrap();
        tx.commit().await.unwrap();
        work::to_the_end(app, acme.id, id).await.unwrap();
        says("erased whom the 150,000 are from");
        let theirs = world.scalar("select count(*) from messages where conversation_id = 1000001").await;
        assert_eq!(theirs, 0);

        world.sql("delete from conversations where id = 1000001; delete from erasures").await;
        fills(&acme, help, 1_000_000, 1, LONG).await;
        world.sql("analyze conversations, messages").await;
        says("an older backup is back");
        assert_eq!(replay::replay(app).await.unwrap(), 2);
        says("both were erased again");
        let theirs = world.scalar("select count(*) from messages where conversation_id = 1000001").await;
        assert_eq!(theirs, 0);

        world
            .sql(&format!(
                "insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at)
                 select workspace_id, id, mailbox_id, moment - interval '8 days',
                        moment + case when id <= 5000 or id > 2000000 then interval '-1 day' else interval '1 day' end
                 from conversations, (select '{}'::timestamptz as moment) now;
                 update mailboxes set keep_days = 30, keep_from = created_at; analyze trash",
                world.now()
            ))
            .await;
        let mut tx = app.begin(acme.id).await.unwrap();
        holds::place(&mut tx, &olga, "eve", Covers::Contact("eve@x.example")).await.unwrap();
        tx.commit().await.unwrap();
        says("all lie in the trash, and a hold stands");
        leaving(&mut app.connection().await.unwrap(), &olga, world.now()).await.unwrap();
        says("what an inbox will lose, counted for the page");
        trashed(&mut app.connection().await.unwrap(), &olga, 50).await.unwrap();
        says("the first fifty of the trash");
        retention::fill(app, &app.loops.backoff_of(retention::FILLING)).await.unwrap();
        says("a round through the trash and the inbox");
        retention::work_off(app, &app.loops.backoff_of(retention::LOOP)).await.unwrap();
        says("5,000 and the one of 150,000 are removed");
        assert_eq!(world.scalar("select count(*) from trash where conversation_id <= 5000").await, 0);
        assert_eq!(world.scalar("select count(*) from messages where conversation_id = 2000001").await, 0);
        let failed = [work::LOOP, retention::FILLING, retention::LOOP].map(|name| app.loops.backoff_of(name).counted());
        assert!(failed.iter().all(|counted| counted.put_off == 0), "{failed:?}");
    })
    .await;
}
