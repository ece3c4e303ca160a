//! Nodes are killed while they erase a contact with very many conversations. It goes on where it was, ends, and leaves
//! nothing behind.

use std::time::{Duration, Instant};

use rookery_base::ids::WorkspaceId;
use sqlx::{AssertSqlSafe, PgPool};

use super::backups::left_of;
use rookery_world::canary::CANARY;
use rookery_world::site::Site;

/// Conversations of one contact, each with mail of theirs and ours, every fiftieth with a file and a note; and mail of
/// others, where every hundredth has the contact in copy.
async fn fill(site: &Site, workspace: WorkspaceId, mailbox: i64, count: i64) {
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let folder =
        site.folder.join("blobs").join("ws").join(workspace.to_string()).join("2026-01-01").join("file");
    std::fs::create_dir_all(&folder).unwrap();
    for n in (0..count).step_by(50) {
        std::fs::write(folder.join(format!("f{n}")), format!("{CANARY} {n}")).unwrap();
    }
    let statement = format!(
        "with made as (
             insert into conversations (workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, snippet,
                 status, announced_turn, created_at, last_message_at, message_count, last_item)
             select {w}, 1000 + n, {mailbox}, 0, 'Ada {CANARY}', 'ada@{CANARY}.example', '{CANARY} ' || n, '{CANARY}',
                 'open', 'ours', now(), now(), 2, 3 from generate_series(0, {count} - 1) n),
         came as (
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_name, from_email,
                 text, whole_text, attachments, id_hash, content_hash, rfc_message_id, raw)
             select {w}, 1000 + n, 10000000 + n, {mailbox}, 1, now(), 'inbound', 'Ada {CANARY}', 'ada@{CANARY}.example',
                 'I am {CANARY} ' || n, '{CANARY}',
                 case when n % 50 = 0 then jsonb_build_array(jsonb_build_object('filename', '{CANARY}.txt',
                     'contentType', 'text/plain', 'size', 20, 'blob', 'ws/{wsp}/2026-01-01/file/f' || n)) else '[]' end,
                 n, sha256(('in' || n)::bytea), n || '@{CANARY}.example', '{CANARY}'::bytea
             from generate_series(0, {count} - 1) n),
         went as (
             insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at, from_email,
                 text, rfc_message_id)
             select {w}, 1000 + n, 20000000 + n, {mailbox}, 2, now(), 'outbound', 'sent', now(), 'help@acme.example',
                 'Dear {CANARY}', 'out' || n || '@acme.example' from generate_series(0, {count} - 1) n),
         happened as (
             insert into timeline_events (workspace_id, conversation_id, item, at, actor, event, data)
             select {w}, 1000 + n, 3, now(), 'System', 'delivery-failed', jsonb_build_object('email', 'ada@{CANARY}.example')
             from generate_series(0, {count} - 1) n),
         spoken as (
             insert into notes (workspace_id, conversation_id, id, item, at, author, body)
             select {w}, 1000 + n, 30000000 + n, 4, now(), 'Olga', 'About {CANARY}' from generate_series(0, {count} - 1, 50) n),
         filed as (
             insert into documents (workspace_id, id, audience, conversation_id, title, filename, content_type, size,
                 content_hash, blob, created_at, searched, pieces)
             select {w}, 40000000 + n, 0, 1000 + n, '{CANARY}', '{CANARY}.txt', 'text/plain', 20, sha256(('doc' || n)::bytea),
                 'ws/{wsp}/2026-01-01/file/f' || n, now(), '{CANARY}', array[1::bigint] from generate_series(0, {count} - 1, 50) n),
         others as (
             insert into conversations (workspace_id, id, mailbox_id, audience, contact_email, subject, status, announced_turn,
                 created_at, last_message_at, message_count, last_item)
             select {w}, 50000000 + n, {mailbox}, 0, 'bob@other.example', 'Bob', 'open', 'ours', now(), now(), 1, 1
             from generate_series(0, {count} / 2) n)
         insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, from_email, text, whole_text,
             cc_addresses, id_hash, content_hash)
         select {w}, 50000000 + n, 60000000 + n, {mailbox}, 1, now(), 'inbound', 'bob@other.example', 'Bob speaks', 'quoted',
             case when n % 100 = 0 then array['ada@{CANARY}.example'] end, 1000000 + n, sha256(('bob' || n)::bytea)
         from generate_series(0, {count} / 2) n",
        w = workspace.0,
        wsp = workspace,
    );
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&pool).await.expect("they can be made");
    sqlx::raw_sql("analyze").execute(&pool).await.unwrap();
    pool.close().await;
}

async fn erased_by_dying_nodes(conversations: i64, kills: u32) {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let inbox = site.inbox(&workspace, "help@acme.example", "Help");
    let inbox: rookery_base::ids::MailboxId = inbox.parse().unwrap();
    fill(&site, workspace.parse().unwrap(), inbox.0, conversations).await;
    let address = format!("ada@{CANARY}.example");
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    let began = Instant::now();
    let done = async || -> bool {
        let left = sqlx::query_scalar("select count(*) from erasures where done_at is not null")
            .fetch_one(&pool)
            .await;
        left.unwrap_or(0_i64) == 1
    };
    // The command is killed like any other node; the server goes on.
    let mut command = site.command(&[
        "admin",
        "erase-contact",
        "--workspace",
        &workspace,
        "--person",
        &owner,
        "--address",
        &address,
    ]);
    let mut asking = command.spawn().unwrap();
    while sqlx::query_scalar::<_, i64>("select count(*) from erasures").fetch_one(&pool).await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let _ = asking.kill();
    asking.wait().unwrap();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut killed = 0;
    while killed < kills && !done().await {
        let mut node = site.serve(&format!("node{killed}"), &[]).await;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis((seed >> 33) % 700)).await;
        node.kill();
        killed += 1;
    }
    assert!(killed > 1, "it was too quick to be killed");
    let last = site.serve("last", &[]).await;
    let patience = Instant::now();
    while !done().await {
        assert!(patience.elapsed() < Duration::from_secs(600), "it does not end: {}", last.log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let took = began.elapsed();
    drop(last);
    let counted: (i32, i32, i32) = sqlx::query_as("select conversations, messages, documents from erasures")
        .fetch_one(&pool)
        .await
        .unwrap();
    eprintln!("{conversations} conversations, {killed} kills: {counted:?} in {took:?}");
    let in_copy = conversations / 2 / 100 + 1;
    assert_eq!(i64::from(counted.0), conversations + in_copy);
    assert_eq!(i64::from(counted.1), 2 * conversations);
    let bobs: i64 = sqlx::query_scalar("select count(*) from messages where text = 'Bob speaks'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(bobs, conversations / 2 + 1);
    pool.close().await;
    assert_eq!(left_of(&site).await, [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_survives_nodes_that_die() {
    erased_by_dying_nodes(3_000, 3).await;
}

/// `just erase-contact`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: just erase-contact"]
async fn an_erasure_of_70_000_conversations_survives_20_kills() {
    erased_by_dying_nodes(70_000, 20).await;
}
