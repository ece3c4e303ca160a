//! The service's database role owns nothing: it reads and writes rows, and its daily partitions are made and
//! dropped for it. Every world of these tests runs as such a role; here are what it cannot do, and the operator's
//! way there.

use rookery::cli::migrate::GRANTS;
use rookery_base::store::partitions;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use rookery_world::site::{Site, text};
use rookery_world::{Mode, story};

/// The service's role cannot change the schema.
#[tokio::test]
async fn the_services_role_cannot_alter_the_schema() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let attempts = [
            "create table mine (x int)",
            "create function mine() returns int language sql as 'select 1'",
            "create table directory.mine (x int)",
            "alter table events add column mine int",
            "alter table webhooks disable trigger all",
            "drop table events",
            "drop table events_20310106",
            "alter table events detach partition events_20310106",
            "truncate events",
            "truncate events_20310106",
            "create index mine on events (kind)",
            "create trigger mine after insert on events for each row execute function count_open()",
            "create or replace function current_day() returns date language sql as $$ select date '2099-01-01' $$",
            "create or replace function enter_workspace(entered bigint) returns void language sql as 'select'",
            "alter function keep_day(text) reset search_path",
            "insert into _sqlx_migrations (version, description, checksum, execution_time, success)
             values (9999, '', '', 0, true)",
            "delete from _sqlx_migrations",
            "set role postgres",
        ];
        for attempt in attempts {
            let error = sqlx::raw_sql(AssertSqlSafe(attempt)).execute(&world.app.pool).await.err();
            let code = error.as_ref().and_then(|error| error.as_database_error()?.code());
            assert_eq!(code.as_deref(), Some("42501"), "{attempt}: {error:?}");
        }
        assert_eq!(world.event_count().await, 1);
    })
    .await;
}

/// The function that drops daily partitions takes no day as an argument, and nothing in the caller's session
/// changes what it sees.
#[tokio::test]
async fn nobody_can_make_the_days_function_drop_a_day_that_is_not_over() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let mut conn = PgConnection::connect(&world.app.config.database_url.0).await.unwrap();
        for tampering in [
            "set timezone = 'Pacific/Kiritimati'",
            "set search_path = pg_temp, public",
            "create temp table pg_inherits (inhrelid oid, inhparent oid)",
            "create temp table events (id bigint)",
            "create function pg_temp.current_day() returns date language sql as $$ select date '2099-01-01' $$",
            "create function pg_temp.lowest_id_on(date) returns bigint language sql as 'select 1::bigint'",
        ] {
            sqlx::raw_sql(AssertSqlSafe(tampering)).execute(&mut conn).await.expect(tampering);
            partitions::maintain(&mut conn).await.unwrap();
        }
        for other in ["webhooks", "public.events", "events_20310106", "events; drop table notes", ""] {
            let done = sqlx::query("select keep_day($1)").bind(other).execute(&mut conn).await;
            assert!(done.is_err(), "{other}");
        }
        assert_eq!(world.event_count().await, 1);
        let days: i64 = sqlx::query_scalar("select count(*) from pg_catalog.pg_inherits where inhparent = 'public.events'::regclass")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(days, 10, "nine days and the default");
        conn.close().await.unwrap();
    })
    .await;
}

/// Roles are the cluster's, so each test has names of its own.
fn owner_and_service(site: &Site) -> [(String, String); 2] {
    ["owner", "service"].map(|kind| {
        let role = format!("{kind}_of_{}", site.database.name());
        let url = site.database.url().replace("//postgres@", &format!("//{role}@"));
        (role, url)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_serves_with_a_role_that_owns_nothing() {
    let site = Site::empty().await;
    let [(owner, owner_url), (service, service_url)] = owner_and_service(&site);
    let mut admin = PgConnection::connect(site.database.url()).await.unwrap();
    let roles =
        format!("create role {owner} login; alter database {} owner to {owner}", site.database.name());
    sqlx::raw_sql(AssertSqlSafe(roles)).execute(&mut admin).await.unwrap();
    let migrate = |more: &[&str]| {
        let mut command = site.command(&[&["migrate"], more].concat());
        let done = command
            .env("ROOKERY_MIGRATE_URL", &owner_url)
            .env("ROOKERY_DATABASE_URL", &service_url)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let (code, said) = migrate(&["--grant-to", &service]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with(&format!("rookery: There is no role {service}. Make it first: create role")),
        "{said}"
    );
    assert!(migrate(&["--grant-to", &owner]).1.contains("owns the schema"));
    sqlx::raw_sql(AssertSqlSafe(format!("create role {service} login"))).execute(&mut admin).await.unwrap();
    for _ in 0..2 {
        assert_eq!(migrate(&["--grant-to", &service]), (Some(0), String::new()), "safe to repeat");
    }
    assert_eq!(migrate(&[]), (Some(0), String::new()));
    // A table of a later version, made by the owner, is the service's to use without another word.
    let mut conn = PgConnection::connect(&owner_url).await.unwrap();
    let later =
        "create table of_a_later_version (x int); create table events_20200105 (like events including all);
                 alter table events attach partition events_20200105 for values from (1) to (2)";
    sqlx::raw_sql(later).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();

    let run = |arguments: &[&str]| {
        let mut command = site.command(&[&["admin", "--json"], arguments].concat());
        let done = command.env("ROOKERY_DATABASE_URL", &service_url).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        serde_json::from_slice::<serde_json::Value>(&done.stdout).unwrap()
    };
    let made = run(&[
        "create-workspace",
        "--name",
        "Acme",
        "--plan",
        "pro",
        "--owner-email",
        "olga@acme.example",
        "--owner-name",
        "Olga",
    ]);
    let (workspace, person) = (text(&made, "workspace"), text(&made, "owner"));
    let named = [
        "--workspace",
        &workspace,
        "--maker",
        &person,
        "--name",
        "bot",
        "--scopes",
        "write",
        "--mode",
        "test",
    ];
    let key = text(&run(&[&["create-key"], &named[..]].concat()), "key");
    let node = site.serve("one", &[("ROOKERY_DATABASE_URL", &service_url)]).await;
    let asked = site.http.post(format!("{}/api/v1/sandbox/inbound", node.address)).bearer_auth(&key);
    let answer = asked.json(&json!({ "from": "ada@customer.test", "text": "Hello" })).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert!(!node.log().contains("WARN") && !node.log().contains("ERROR"), "{}", node.log());
    let mut conn = PgConnection::connect(&service_url).await.unwrap();
    let parts: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_inherits join pg_class on oid = inhrelid where inhparent = 'events'::regclass",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    assert_eq!(parts.len(), 10, "nine days were made and the old one dropped: {parts:?}");
    assert!(!parts.contains(&"events_20200105".to_owned()));
    sqlx::raw_sql("insert into of_a_later_version values (1)").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    drop(node);

    // Roles stay with the cluster unless they lose what they have.
    let gone = format!(
        "drop owned by {service}; drop role {service}; reassign owned by {owner} to postgres; drop role {owner}"
    );
    sqlx::raw_sql(AssertSqlSafe(gone)).execute(&mut admin).await.unwrap();
    admin.close().await.unwrap();
}

/// One role for everything works as ever; the log says once at start that there is another way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_role_for_everything_needs_no_new_setting() {
    let site = Site::migrated().await;
    let node = site.serve("one", &[]).await;
    let line = node.log().lines().find(|line| line.contains("owns the schema")).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains("\"INFO\"")), "{}", node.log());
}

#[test]
fn the_manual_has_the_grants_that_the_command_makes() {
    let manual = include_str!("../../docs/operating.md");
    for line in GRANTS.lines() {
        let line = line.replace("{schema}", "public").replace("{role}", "rookery_service");
        assert!(manual.contains(&format!("    {line}\n")), "docs/operating.md lacks: {line}");
    }
}
