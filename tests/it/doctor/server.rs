//! The program and its database, broken one at a time.

use std::net::SocketAddr;
use std::time::Duration;

use rookery_upkeep::doctor::given::Given;
use sqlx::{Connection, PgConnection};

use super::healthy::{Healthy, NEW_KEY, OLD_KEY, slow};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_and_its_keys() {
    let healthy = Healthy::start().await;
    let old = Given { released: "2020-02-29".parse().unwrap(), ..healthy.given() };
    healthy.off("version", &[], old).await;
    healthy.breaks("settings", &[("RATE_LIMIT_REQUESTS", "7")]).await;
    healthy.off("file-descriptors", &[], Given { descriptors: 256, ..healthy.given() }).await;
    healthy.breaks("secret-key", &[("SECRET_KEY", "")]).await;
    healthy.breaks("newest-key", &[("SECRET_KEY", &format!("{NEW_KEY},{OLD_KEY}"))]).await;

    healthy.sql("update audit_heads set key = set_byte(key, 25, get_byte(key, 25) # 1)").await;
    healthy.only("sealed-values").await;
    healthy.sql("update audit_heads set key = set_byte(key, 25, get_byte(key, 25) # 1)").await;

    healthy.sql("update audit_heads set broken_n = 1, broken_why = 'it was changed'").await;
    healthy.only("audit-log").await;
    healthy.sql("update audit_heads set broken_n = null, broken_why = null").await;
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_and_what_is_in_it() {
    let healthy = Healthy::start().await;
    healthy.breaks("database", &[("DATABASE_URL", "postgres://postgres@127.0.0.1:1/gone")]).await;
    healthy.breaks("database-connections", &[("DATABASE_CONNECTIONS", "100000")]).await;
    let late =
        slow(SocketAddr::from(([127, 0, 0, 1], healthy.cluster.port())), Duration::from_millis(30)).await;
    let url = healthy.database.url().replace(&healthy.cluster.port().to_string(), &late.port().to_string());
    healthy.breaks("database-speed", &[("DATABASE_URL", &url)]).await;

    let newest = "version = (select max(version) from _sqlx_migrations)";
    healthy.sql(&format!("update _sqlx_migrations set success = false where {newest}")).await;
    healthy.only("migrations").await;
    healthy.sql(&format!("update _sqlx_migrations set success = true where {newest}")).await;

    healthy.sql("create role another_superuser superuser login").await;
    let url = healthy.database.url().replace("//postgres@", "//another_superuser@");
    healthy.breaks("database-role", &[("DATABASE_URL", &url)]).await;

    healthy
        .sql("insert into workspaces (id, name, slug, plan, created_at) values (1, 'Lost', 'lost', 'pro', now())")
        .await;
    healthy.only("directory").await;
    healthy.sql("delete from workspaces where id = 1").await;

    let west = "insert into directory.cells (name, address, mail_address)";
    healthy.sql(&format!("{west} values ('west', 'http://127.0.0.1:1/', '127.0.0.1:1')")).await;
    healthy.only("cells").await;
    healthy.breaks("cells", &[("CELL", "main")]).await;
    let nodes = healthy.plain;
    healthy
        .sql(&format!(
            "update directory.cells set address = 'http://{nodes}/', mail_address = null where name = 'west'"
        ))
        .await;
    healthy.breaks("cells", &[("CELL", "main")]).await;
    healthy
        .breaks("cells", &[("CELL", "main"), ("CELLS", "west=postgres://postgres@127.0.0.1:1/gone")])
        .await;
    healthy.sql(&format!("update directory.cells set mail_address = '{nodes}' where name = 'west'")).await;
    healthy.is_well_with(&[("CELL", "main")]).await;

    healthy.sql("update directory.workspaces set cell = 'west'").await;
    healthy.breaks("places", &[("CELL", "main")]).await;
    let lost = "insert into directory.workspaces (id, slug, cell) values (2, 'lost', 'main')";
    healthy.sql(&format!("update directory.workspaces set cell = 'main'; {lost}")).await;
    healthy.breaks("places", &[("CELL", "main")]).await;
    healthy.sql("delete from directory.workspaces where id = 2").await;

    let begun = "insert into directory.moves (workspace_id, from_cell, to_cell, begun_at)";
    healthy
        .sql(&format!(
            "{begun} select id, 'main', 'west', now() - interval '2 hours' from directory.workspaces"
        ))
        .await;
    healthy.breaks("moves", &[("CELL", "main")]).await;
    healthy.sql("update directory.moves set begun_at = now() - interval '50 minutes'").await;
    healthy.is_well_with(&[("CELL", "main")]).await;
    healthy.sql("delete from directory.moves; delete from directory.cells where name = 'west'").await;

    healthy
        .sql("do $$ begin execute 'drop table events_' || to_char(current_day() + 1, 'YYYYMMDD'); end $$")
        .await;
    healthy.only("days").await;
    healthy.sql("select keep_day('events')").await;
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_the_domains_are() {
    let healthy = Healthy::start().await;
    healthy
        .sql(
            "insert into mailbox_aliases (workspace_id, mailbox_id, address, created_at)
              select workspace_id, id, 'postmaster@mail.acme.example', now() from mailboxes where kind = 'team'",
        )
        .await;
    healthy.only("reserved-addresses").await;
    healthy.sql("delete from mailbox_aliases").await;

    // Only on a server with several workspaces does a domain have to be somebody's.
    healthy
        .sql("insert into directory.workspaces (id, slug, cell) values (3, 'second', 'main');
              insert into workspaces (id, name, slug, plan, created_at) values (3, 'Second', 'second', 'pro', now());
              update directory.domains set proof = 'kept'")
        .await;
    healthy.only("unproven-domains").await;
    healthy.sql("delete from workspaces where id = 3; delete from directory.workspaces where id = 3").await;
    healthy.is_well().await;
}

/// PostgreSQL of another version, encoding, time or age is not at hand: functions of its name say that it is so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_not_what_it_should_be() {
    let healthy = Healthy::start().await;
    let setting = |name: &str, value: &str| {
        format!(
            "current_setting(text) returns text language sql stable as
             $$ select case $1 when '{name}' then '{value}' else pg_catalog.current_setting($1) end $$"
        )
    };
    healthy.shadow(&setting("server_version_num", "140012")).await;
    healthy.only("database-version").await;
    healthy.unshadow().await;
    healthy.shadow(&setting("server_version_num", "990001")).await;
    healthy.only("backup-programs").await;
    healthy.unshadow().await;
    healthy.shadow(&setting("server_encoding", "SQL_ASCII")).await;
    healthy.only("database-encoding").await;
    healthy.unshadow().await;
    healthy
        .shadow(
            "clock_timestamp() returns timestamptz language sql volatile as
             $$ select pg_catalog.clock_timestamp() + interval '1 minute' $$",
        )
        .await;
    healthy.only("clock").await;
    healthy.unshadow().await;
    healthy.shadow("age(xid) returns int language sql stable as $$ select 2100000000 $$").await;
    healthy.only("transaction-age").await;
    healthy.unshadow().await;
    healthy
        .shadow("now() returns timestamptz language sql stable as $$ select pg_catalog.now() + interval '2 hours' $$")
        .await;
    healthy.only("long-transactions").await;
    healthy.unshadow().await;
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_operator_changed_or_forgot_in_the_cluster() {
    let healthy = Healthy::start().await;
    healthy.alter_system("fsync", "off").await;
    healthy.only("database-durability").await;
    healthy.alter_system("fsync", "on").await;
    healthy.alter_system("autovacuum", "off").await;
    healthy.only("autovacuum").await;
    healthy.alter_system("autovacuum", "on").await;

    healthy.sql("begin; prepare transaction 'forgotten'").await;
    healthy.only("prepared-transactions").await;
    healthy.sql("rollback prepared 'forgotten'").await;

    healthy.sql("select pg_create_physical_replication_slot('left_behind', true)").await;
    healthy.only("replication-slots").await;
    healthy.sql("select pg_drop_replication_slot('left_behind')").await;
    healthy.is_well().await;

    healthy.alter_system("archive_command", "/bin/false").await;
    healthy.sql("create table filler (x int)").await;
    healthy.sql("drop table filler").await;
    healthy.sql("select pg_switch_wal()").await;
    let mut conn = PgConnection::connect(healthy.database.url()).await.unwrap();
    let failed = "select failed_count > 0 from pg_stat_archiver";
    for tries in 0.. {
        if sqlx::query_scalar::<_, bool>(failed).fetch_one(&mut conn).await.unwrap() {
            break;
        }
        assert!(tries < 300, "nothing was archived");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    conn.close().await.unwrap();
    healthy.only("wal-archiving").await;
}
