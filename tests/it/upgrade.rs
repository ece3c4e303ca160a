//! What an earlier version wrote is brought to the schema of this one.

use std::sync::Arc;
use std::time::Duration;

use rookery_base::store::db::MIGRATIONS;
use sqlx::PgPool;

use rookery_world::cluster::cluster;
use rookery_world::site::{Site, until};

/// A database as an earlier version has it.
async fn as_of(version: i64) -> (rookery_world::cluster::TestDatabase, PgPool) {
    let database = cluster().database("template1").await;
    let pool = PgPool::connect(database.url()).await.unwrap();
    MIGRATIONS.run_to(version, &pool).await.unwrap();
    sqlx::raw_sql(
        "insert into workspaces (id, name, slug, plan, created_at) values (1, 'Acme', 'acme', 'pro', now());
         insert into mailboxes (workspace_id, id, kind, address, name, created_at)
             values (1, 1, 'team', 'help@acme.example', 'Help', now());
         insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn, created_at,
                 last_message_at)
             select 1, n, 1, 0, 'Hi', 'open', 'ours', now(), now() from generate_series(1, 3) n",
    )
    .execute(&pool)
    .await
    .unwrap();
    (database, pool)
}

/// More messages than are looked at in one go.
#[tokio::test]
async fn messages_of_ours_get_the_origin_that_their_author_tells() {
    let (_database, pool) = as_of(17).await;
    sqlx::raw_sql(
        "insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at,
                 from_email, text, author_type, author_id, id_hash, content_hash)
             select 1, 1 + n % 3, n, 1, n, now(), case n % 4 when 0 then 'inbound' else 'outbound' end,
                    case n % 4 when 0 then null else 'sent' end, now(), 'a@b.example', 'Hello',
                    case n % 4 when 1 then 'agent' when 2 then 'user' end, case when n % 4 in (1, 2) then 7 end,
                    case n % 4 when 0 then n end, case n % 4 when 0 then '\\x00'::bytea end
             from generate_series(1, 25000) n",
    )
    .execute(&pool)
    .await
    .unwrap();
    MIGRATIONS.run(&pool).await.unwrap();
    type Row = (String, Option<String>, Option<String>, String, i64);
    let told: Vec<Row> = sqlx::query_as(
        "select direction, author_type, origin, channel, count(*) from messages group by 1, 2, 3, 4 order by 1, 2, 3",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|(direction, author, origin, channel, n)| {
            (direction.as_str(), author.as_deref(), origin.as_deref(), channel.as_str(), *n)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("inbound", None, None, "mail", 6250),
            ("outbound", Some("agent"), Some("agent"), "mail", 6250),
            ("outbound", Some("user"), Some("person"), "mail", 6250),
            ("outbound", None, Some("service"), "mail", 6250),
        ]
    );
    let validated: bool =
        sqlx::query_scalar("select convalidated from pg_constraint where conname = 'messages_hold'")
            .fetch_one(&pool)
            .await
            .unwrap();
    assert!(validated);
    pool.close().await;
}

#[tokio::test]
async fn what_was_asked_for_becomes_rows_in_its_order() {
    let (_database, pool) = as_of(17).await;
    sqlx::raw_sql(
        r#"insert into document_requests (workspace_id, id, conversation_id, state, items, created_at, opened_at)
           values (1, 100, 1, 'open', '[{"label": "Passport", "description": "both pages", "required": true},
                                        {"label": "Photo", "description": null, "required": false}]', now(), now()),
                  (1, 101, 2, 'draft', '[{"label": "Payslip", "required": true}]', now(), null)"#,
    )
    .execute(&pool)
    .await
    .unwrap();
    MIGRATIONS.run(&pool).await.unwrap();
    type Row = (i64, i64, i16, String, Option<String>, bool, String);
    let rows: Vec<Row> = sqlx::query_as(
        "select request_id, id, position, label, description, required, state from document_request_items
         order by request_id, position",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let row = |request, id, position, label: &str, description: Option<&str>, required| {
        let description = description.map(str::to_owned);
        (request, id, position, label.to_owned(), description, required, "open".to_owned())
    };
    assert_eq!(
        rows,
        [
            row(100, 101, 1, "Passport", Some("both pages"), true),
            row(100, 102, 2, "Photo", None, false),
            row(101, 102, 1, "Payslip", None, true),
        ]
    );
    pool.close().await;
}

/// An index is made beside whoever reads and writes, and then waits for those who were there before, however long: whoever gave up
/// would make it anew each time, and beside reader after reader would never be done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_was_begun_beside_a_backup_is_finished_after_it() {
    let site = Arc::new(Site::empty().await);
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    MIGRATIONS.run_to(68, &pool).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut backup = pool.begin().await.unwrap();
    sqlx::raw_sql("set transaction isolation level repeatable read; select from contacts")
        .execute(&mut *backup)
        .await
        .unwrap();
    let migrating = tokio::task::spawn_blocking({
        let site = site.clone();
        move || site.run(&["migrate"])
    });
    until(&pool, "select exists (select from pg_index where not indisvalid)").await;
    let begun = "select indexrelid::bigint from pg_index where not indisvalid";
    let begun: i64 = sqlx::query_scalar(begun).fetch_one(&pool).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    backup.rollback().await.unwrap();
    let done = migrating.await.unwrap();
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        !said.contains("Trying again") && said.contains("waits for earlier transactions to end"),
        "{said}"
    );
    let finished = "select 'contacts_without_words'::regclass::oid::bigint";
    assert_eq!(sqlx::query_scalar::<_, i64>(finished).fetch_one(&pool).await.unwrap(), begun, "made once");
    let made = "select indisvalid from pg_index where indexrelid = 'contacts_without_words'::regclass";
    assert!(sqlx::query_scalar::<_, bool>(made).fetch_one(&pool).await.unwrap());
}

/// As beside a backup: it reads every table for as long as it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_waits_for_a_reader_without_making_others_wait() {
    let site = Arc::new(Site::empty().await);
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    MIGRATIONS.run_to(17, &pool).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut backup = pool.begin().await.unwrap();
    sqlx::query("lock table messages, timeline_events in access share mode")
        .execute(&mut *backup)
        .await
        .unwrap();
    let migrating = tokio::task::spawn_blocking({
        let site = site.clone();
        move || site.run(&["migrate"])
    });
    let waits = "select exists (select from pg_stat_activity
                                 where datname = current_database() and wait_event_type = 'Lock')";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(&pool).await.unwrap() {
        assert!(!migrating.is_finished(), "it cannot be done yet");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Whoever comes now stands behind the migration, until it gives up.
    let mut reader = pool.acquire().await.unwrap();
    sqlx::query("set lock_timeout = '30s'").execute(&mut *reader).await.unwrap();
    sqlx::query("select from timeline_events").execute(&mut *reader).await.unwrap();
    sqlx::query("select from messages").execute(&mut *reader).await.unwrap();
    assert!(!migrating.is_finished(), "the backup is still there");
    backup.rollback().await.unwrap();
    let done = migrating.await.unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("Trying again"), "{done:?}");
}

/// The way back after an upgrade: the older package runs its own `migrate` before it serves.
#[tokio::test]
async fn an_older_version_migrates_and_serves_what_a_later_one_has_migrated() {
    let site = Site::migrated().await;
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    // What a later version has begun to build is not this one's to drop.
    sqlx::raw_sql(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
             values (9000, 'later', true, '\\x00', 0);
         create index unfinished on people (name);
         update pg_index set indisvalid = false where indexrelid = 'unfinished'::regclass",
    )
    .execute(&pool)
    .await
    .unwrap();
    let done = site.run(&["migrate"]);
    assert!(done.status.success(), "{done:?}");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("schema of a later version") && said.contains("serves it as it is"), "{said}");
    let kept = "select to_regclass('unfinished') is not null";
    assert!(sqlx::query_scalar::<_, bool>(kept).fetch_one(&pool).await.unwrap());
    site.serve("older", &[]).await;
}

/// Reading ahead is asked for when a connection begins. A host may refuse what the question needs.
#[tokio::test]
async fn a_database_that_does_not_tell_its_size_is_served() {
    let site = Site::migrated().await;
    let pool = PgPool::connect(site.database.url()).await.unwrap();
    sqlx::raw_sql(
        "create function pg_temp_refuse() returns bigint language plpgsql as
             $$ begin raise insufficient_privilege; end $$;
         create schema hidden;
         create function hidden.pg_database_size(name) returns bigint language sql as $$ select pg_temp_refuse() $$",
    )
    .execute(&pool)
    .await
    .unwrap();
    // The tests' role is a superuser, to whom nothing is refused: another function of that name refuses it instead.
    let database: String =
        sqlx::query_scalar("select quote_ident(current_database())").fetch_one(&pool).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
        "alter database {database} set search_path = hidden, pg_catalog, public"
    )))
    .execute(&pool)
    .await
    .unwrap();
    site.serve("one", &[]).await;
}
