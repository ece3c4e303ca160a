//! PostgreSQL: whether it is there, new enough, durable, at the schema of this version, and not about to run out of
//! connections, numbers or room because of something that was forgotten in it.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::error::Result;
use rookery_base::store::db::newest_migration;

const OLDEST: i32 = 15;
const CLOCK: TimeDelta = TimeDelta::seconds(2);
const QUICK: Duration = Duration::from_millis(20);
/// Transactions after which PostgreSQL refuses to write; it begins to warn shortly before.
const WRAPS: i64 = 2_000_000_000;
const LONGEST: f64 = 3_600.0;
/// Connections for operators and backups beside the pool.
const SPARE: i64 = 5;

pub async fn reach(app: &App) -> CheckRow {
    let judged = match app.connection().await {
        Ok(_) => right("it answers"),
        Err(error) => wrong(
            format!("it does not answer: {error}"),
            "Start PostgreSQL and check `ROOKERY_DATABASE_URL`: `psql \"$ROOKERY_DATABASE_URL\" -c 'select 1'`",
        ),
    };
    CheckRow::new("database", "PostgreSQL answers", judged)
}

/// What the server says of itself.
struct Server {
    version: i32,
    encoding: String,
    fsync: String,
    full_page_writes: String,
    autovacuum: String,
    connections: i32,
    others: i64,
}

/// What does not need our tables.
pub async fn inspect(app: &App) -> Vec<CheckRow> {
    let mut conn = match app.connection().await {
        Ok(conn) => conn,
        Err(error) => {
            return vec![CheckRow::from_result("database-version", "PostgreSQL 15 or newer", Err(error))];
        }
    };
    let mut rows = match server(&mut conn).await {
        Ok(server) => of_server(app, &server),
        Err(error) => vec![CheckRow::from_result("database-version", "PostgreSQL 15 or newer", Err(error))],
    };
    rows.push(CheckRow::from_result("migrations", "the schema of this version", migrations(&mut conn).await));
    rows.push(CheckRow::from_result(
        "clock",
        "this machine and the database agree to 2 seconds",
        clock(&mut conn).await,
    ));
    rows.push(CheckRow::from_result(
        "database-speed",
        "a question and its answer take under 20 ms",
        speed(&mut conn).await,
    ));
    rows.push(CheckRow::from_result(
        "transaction-age",
        "under 2,000,000,000 transactions",
        age(&mut conn).await,
    ));
    rows.push(CheckRow::from_result(
        "long-transactions",
        "none that is open for an hour",
        long(&mut conn).await,
    ));
    rows.push(CheckRow::from_result("prepared-transactions", "none", prepared(&mut conn).await));
    let archived = "off, or the last segment was archived";
    rows.push(CheckRow::from_result("wal-archiving", archived, archiving(&mut conn).await));
    rows.push(CheckRow::from_result("replication-slots", "none that nobody reads", slots(&mut conn).await));
    rows
}

/// What is about our tables.
pub async fn look_inside(app: &App) -> Vec<CheckRow> {
    let role = "a role that has rows, or the one that owns the schema";
    let mut conn = match app.connection().await {
        Ok(conn) => conn,
        Err(error) => return vec![CheckRow::from_result("database-role", role, Err(error))],
    };
    let mut rows = vec![
        CheckRow::from_result("database-role", role, role_of(&mut conn).await),
        CheckRow::from_result("days", "tables of tomorrow are there", days(&mut conn).await),
    ];
    drop(conn);
    rows.push(CheckRow::from_result(
        "directory",
        "every workspace is in the directory",
        directory(app).await,
    ));
    rows
}

async fn server(conn: &mut PgConnection) -> Result<Server> {
    let found: (i32, String, String, String, String, i32, i64) = sqlx::query_as(
        "select current_setting('server_version_num')::int, current_setting('server_encoding'), current_setting('fsync'),
                current_setting('full_page_writes'), current_setting('autovacuum'),
                current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
                (select count(*) from pg_stat_activity
                 where backend_type = 'client backend' and application_name <> 'rookery')",
    )
    .fetch_one(conn)
    .await?;
    let (version, encoding, fsync, full_page_writes, autovacuum, connections, others) = found;
    Ok(Server { version, encoding, fsync, full_page_writes, autovacuum, connections, others })
}

fn of_server(app: &App, server: &Server) -> Vec<CheckRow> {
    let Server { version, connections, others, .. } = *server;
    let (major, minor) = (version / 10_000, version % 10_000);
    let wanted = i64::from(app.config.database_connections);
    let free = i64::from(connections) - others;
    let (fsync, pages) = (server.fsync == "on", server.full_page_writes == "on");
    vec![
        CheckRow::new(
            "database-version",
            format!("PostgreSQL {OLDEST} or newer"),
            either(
                major >= OLDEST,
                format!("PostgreSQL {major}.{minor}"),
                "Upgrade it with `pg_upgradecluster` or `pg_upgrade`.",
            ),
        ),
        CheckRow::new(
            "database-encoding",
            "UTF8",
            either(
                server.encoding == "UTF8",
                server.encoding.clone(),
                "Make a database with it and restore into that: `createdb --encoding=UTF8 --template=template0 NAME`",
            ),
        ),
        CheckRow::new(
            "database-connections",
            format!("{wanted} free for ROOKERY_DATABASE_CONNECTIONS, and {SPARE} more"),
            either(
                free >= wanted + SPARE,
                format!("{connections} in all, {others} used by others"),
                "Raise `max_connections` of PostgreSQL, or lower `ROOKERY_DATABASE_CONNECTIONS`.",
            ),
        ),
        CheckRow::new(
            "database-durability",
            "fsync and full_page_writes are on",
            either(
                fsync && pages,
                format!("fsync {}, full_page_writes {}", server.fsync, server.full_page_writes),
                "A power failure loses everything. In psql: `alter system reset fsync; alter system reset full_page_writes; \
                 select pg_reload_conf()`",
            ),
        ),
        CheckRow::new(
            "autovacuum",
            "on",
            either(
                server.autovacuum == "on",
                server.autovacuum.clone(),
                "In psql: `alter system reset autovacuum; select pg_reload_conf()`",
            ),
        ),
    ]
}

/// Without archiving the last backup is all there is, which may be meant; with it, it has to work.
async fn archiving(conn: &mut PgConnection) -> Result<RowJudgement> {
    let (mode, failing, segment): (String, bool, String) = sqlx::query_as(
        "select current_setting('archive_mode'),
                coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false),
                coalesce(last_failed_wal, '') from pg_stat_archiver",
    )
    .fetch_one(conn)
    .await?;
    Ok(match (mode.as_str(), failing) {
        ("off", _) => right("off: after a loss, the last backup is all that comes back"),
        (_, false) => right("on, and it works"),
        (_, true) => wrong(
            format!("the segment {segment} cannot be archived"),
            "Check PostgreSQL's log and fix `archive_command`: `pgbackrest --stanza=rookery check`",
        ),
    })
}

async fn migrations(conn: &mut PgConnection) -> Result<RowJudgement> {
    let newest = newest_migration();
    let there: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *conn)
        .await?;
    if !there {
        return Ok(wrong("there is no schema", "Make it: `rookery migrate`"));
    }
    let (applied, failed): (Option<i64>, i64) = sqlx::query_as(
        "select max(version) filter (where success), count(*) filter (where not success) from _sqlx_migrations",
    )
    .fetch_one(conn)
    .await?;
    let applied = applied.unwrap_or_default();
    Ok(match (failed, applied >= newest) {
        (0, true) => right(format!("migration {applied}")),
        (0, false) => {
            wrong(format!("migration {applied} of {newest}"), "Bring it to this version: `rookery migrate`")
        }
        _ => wrong(
            format!("{failed} migrations failed"),
            "It says why, and can be run again: `rookery migrate`",
        ),
    })
}

async fn clock(conn: &mut PgConnection) -> Result<RowJudgement> {
    // The machine's own clock, which follows nobody.
    let wall = Clock::system();
    let before = wall.now();
    let database: DateTime<Utc> = sqlx::query_scalar("select clock_timestamp()").fetch_one(conn).await?;
    let after = wall.now();
    let apart = if database < before { before - database } else { (database - after).max(TimeDelta::zero()) };
    Ok(either(
        apart <= CLOCK,
        format!("{:.1} s apart", apart.num_milliseconds() as f64 / 1000.0),
        "Let both machines take the time from a time server: `timedatectl set-ntp true`",
    ))
}

async fn speed(conn: &mut PgConnection) -> Result<RowJudgement> {
    let mut quickest = Duration::MAX;
    for _ in 0..20 {
        let asked = Instant::now();
        sqlx::query("select 1").execute(&mut *conn).await?;
        quickest = quickest.min(asked.elapsed());
    }
    Ok(either(
        quickest <= QUICK,
        format!("{:.1} ms", quickest.as_secs_f64() * 1000.0),
        "Put the service and its database onto one network: a page asks several times.",
    ))
}

async fn age(conn: &mut PgConnection) -> Result<RowJudgement> {
    let oldest: i32 = sqlx::query_scalar("select coalesce(max(age(datfrozenxid)), 0) from pg_database")
        .fetch_one(conn)
        .await?;
    Ok(either(
        i64::from(oldest) < WRAPS,
        format!("{oldest}"),
        "Autovacuum does not keep up. Look for what holds it back (long transactions), then: `vacuumdb --all --freeze`",
    ))
}

async fn long(conn: &mut PgConnection) -> Result<RowJudgement> {
    let seconds: f64 = sqlx::query_scalar(
        "select coalesce(extract(epoch from now() - min(xact_start)), 0)::float8 from pg_stat_activity
         where backend_type = 'client backend' and state <> 'idle' and application_name not in ('pg_dump', 'rookery backup')",
    )
    .fetch_one(conn)
    .await?;
    Ok(either(
        seconds < LONGEST,
        format!("the longest is open for {seconds:.0} s"),
        "It keeps old rows from being removed. Find it: `select pid, xact_start, query from pg_stat_activity order by 2` \
         and end it: `select pg_terminate_backend(PID)`",
    ))
}

async fn prepared(conn: &mut PgConnection) -> Result<RowJudgement> {
    let names: Vec<String> =
        sqlx::query_scalar("select gid from pg_prepared_xacts order by 1 limit 5").fetch_all(conn).await?;
    Ok(if names.is_empty() {
        right("none")
    } else {
        wrong(names.join(", "), "Nobody here prepares transactions. End each: `rollback prepared 'NAME'`")
    })
}

async fn slots(conn: &mut PgConnection) -> Result<RowJudgement> {
    let names: Vec<String> = sqlx::query_scalar(
        "select slot_name::text from pg_replication_slots where not active order by 1 limit 5",
    )
    .fetch_all(conn)
    .await?;
    Ok(if names.is_empty() {
        right("none")
    } else {
        wrong(
            format!("nobody reads {}, and the disk fills", names.join(", ")),
            "Start the replica again, or: `select pg_drop_replication_slot('NAME')`",
        )
    })
}

async fn role_of(conn: &mut PgConnection) -> Result<RowJudgement> {
    let (role, owns, may): (String, bool, bool) = sqlx::query_as(
        "select current_user::text, relowner = (select oid from pg_roles where rolname = current_user),
                pg_has_role(current_user, relowner, 'MEMBER')
         from pg_class where oid = 'workspaces'::regclass",
    )
    .fetch_one(conn)
    .await?;
    Ok(match (owns, may) {
        (true, _) => right(format!("{role} owns the schema")),
        (false, false) => right(format!("{role} has rows, not the schema")),
        (false, true) => wrong(
            format!(
                "{role} can alter a schema that another role owns: it is a superuser or a member of the owner"
            ),
            "Serve with a role of its own: `create role rookery_service login` then: `rookery migrate --grant-to rookery_service`",
        ),
    })
}

async fn days(conn: &mut PgConnection) -> Result<RowJudgement> {
    let missing: Vec<String> = sqlx::query_scalar(
        "select t.name from unnest(array['events', 'sandbox_mail', 'delivery_log', 'answered_requests', 'event_feed', 'agent_calls']) as t (name)
         where to_regclass(t.name || '_' || to_char(current_day() + 1, 'YYYYMMDD')) is null",
    )
    .fetch_all(conn)
    .await?;
    Ok(if missing.is_empty() {
        right("they are there")
    } else {
        wrong(
            format!("not of {}", missing.join(", ")),
            "The service makes them when it starts and every hour. Is it running? `systemctl status rookery`",
        )
    })
}

async fn directory(app: &App) -> Result<RowJudgement> {
    let workspaces: Vec<i64> = sqlx::query_scalar("select id from workspaces order by id desc limit 10000")
        .fetch_all(&mut *app.connection().await?)
        .await?;
    let missing = app.directory.missing(&workspaces).await?;
    Ok(either(
        missing == 0,
        format!("{} of {} are there", workspaces.len() as i64 - missing, workspaces.len()),
        "Restore the directory's database from a backup of the same time: `rookery backup restore`",
    ))
}
