//! Loads whole workspaces by COPY: a million conversations in a few minutes, the same for the same seed.
//!
//! Workspaces, people, inboxes and keys are made by the product's own verbs; the mail comes in bulk with
//! triggers and foreign keys off and the secondary indexes taken down, and the counts are written to match.

pub mod buffers;
mod mail;
mod rows;
pub mod texts;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rookery_base::app::App;
use rookery_base::ids::{Id, TagId};
use rookery_core::workspace::access::{By, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::people::{self, Role};
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, keys, mailboxes};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::sync::mpsc;

use self::mail::{Batch, Inbox, Member, TABLES, Workspace};
use self::rows::Rows;
use self::texts::Vocabulary;

/// Seals the keys of the workspaces that are made here and in the tests; a server on their data needs it too.
pub const SECRET: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

const TEAM_INBOXES: usize = 20;
const PRIVATE_INBOXES: usize = 3;
const PEOPLE: usize = 24;
const AGENTS: usize = 6;
const TAGS: usize = 200;
/// Conversations made and sent at once.
const BATCH: usize = 1_000;

/// A workspace that was loaded, and what a reader needs to know of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Loaded {
    pub name: String,
    pub conversations: usize,
    pub workspace: i64,
    /// A key with all scopes, of the agent that most is assigned to.
    pub key: String,
    /// What the key sees: the team's inboxes and one private one.
    pub audiences: Vec<i64>,
    /// The id of the team inbox with most mail.
    pub mailbox: String,
    /// On two closed conversations of that inbox.
    pub reference: String,
    /// A conversation with 200 items.
    pub long_conversation: String,
}

/// Loads workspaces of these names and sizes into a migrated database.
pub async fn load(app: &App, sizes: &[(String, usize)], shown: bool) -> Vec<Loaded> {
    let mut conn =
        PgConnection::connect(&app.config.database_url.0).await.expect("the database can be reached");
    run(&mut conn, "set session_replication_role = replica").await;
    run(&mut conn, "set synchronous_commit = off").await;
    let vocabulary = Arc::new(Vocabulary::new());
    let indexes = take_down_indexes(&mut conn).await;
    let mut all = Vec::new();
    for (seed, (name, conversations)) in sizes.iter().enumerate() {
        let (workspace, loaded) =
            found_workspace(app, name, *conversations, seed as u64 + 1, &vocabulary).await;
        let bar = bar(shown, *conversations as u64, name);
        add_tags(&mut conn, &workspace).await;
        add_mail(&mut conn, workspace, &bar).await;
        bar.finish();
        all.push(loaded);
    }
    let bar = bar(shown, indexes.len() as u64 + 2, "indexes");
    bar.enable_steady_tick(Duration::from_secs(1));
    for definition in &indexes {
        run(&mut conn, definition).await;
        bar.inc(1);
    }
    // Vacuum can mark pages as visible to all only once their commits have reached the log.
    run(&mut conn, "set synchronous_commit = on").await;
    count(&mut conn).await;
    bar.inc(1);
    // A GIN index answers from its pending list until somebody folds it in; vacuum does.
    run(&mut conn, "vacuum (analyze)").await;
    bar.inc(1);
    bar.finish();
    conn.close().await.expect("the connection closes");
    all
}

async fn found_workspace(
    app: &App,
    name: &str,
    conversations: usize,
    seed: u64,
    vocabulary: &Arc<Vocabulary>,
) -> (Workspace, Loaded) {
    let made = create::create(app, name, Plan::Team, "olga@rookery.example", "Olga Owner")
        .await
        .expect("a workspace");
    let id = made.workspace;
    let mut dice = texts::Dice::new(seed);
    let mut users = vec![made.owner];
    let mut names = vec!["Olga Owner".to_owned()];
    let mut tx = app.begin(id).await.expect("the workspace can be entered");
    for number in 1..PEOPLE {
        let name = vocabulary.name(&mut dice);
        let email = format!("person{number}@rookery.example");
        users.push(people::add(&mut tx, &By::System, &email, &name, Role::Member).await.expect("a person"));
        names.push(name);
    }
    tx.commit().await.expect("a commit");

    let mut agents = Vec::new();
    for number in 0..AGENTS {
        let name = format!("Agent {number}");
        let wanted =
            keys::KeyChoices { name: &name, scopes: &Scope::ALL, livemode: true, caps: Caps::default() };
        let made = keys::create(app, id, &By::System, made.owner, wanted).await.expect("a key");
        agents.push((made, name));
    }
    let first = &agents[0].0;
    let member = |(agent, name): &(keys::NewKey, String)| ("agent", agent.agent.0, name.clone());
    let members: Vec<Member> = agents
        .iter()
        .map(member)
        .chain(users.iter().zip(&names).map(|(user, name)| ("user", user.0, name.clone())))
        .collect();

    let mut inboxes = Vec::new();
    for number in 0..TEAM_INBOXES + PRIVATE_INBOXES {
        let owner = number.checked_sub(TEAM_INBOXES).map(|place| users[place]);
        let address = format!("inbox{number}@{id}.example");
        let name = format!("Inbox {number}");
        let mailbox =
            mailboxes::create(app, id, &By::System, &address, &name, owner).await.expect("an inbox");
        inboxes.push(Inbox { id: mailbox.0, audience: owner.map_or(0, |owner| owner.0), address });
    }
    let now = app.clock.now();
    let workspace = Workspace {
        id,
        seed: seed << 32,
        conversations,
        now,
        team_inboxes: TEAM_INBOXES,
        members,
        // Two ids of one millisecond may be the same; these must not be.
        tags: (0..TAGS as i64).map(|n| TagId::mint(now - TimeDelta::seconds(n), &app.random).0).collect(),
        vocabulary: vocabulary.clone(),
        inboxes,
    };
    let loaded = Loaded {
        name: name.to_owned(),
        conversations,
        workspace: id.0,
        key: first.key.clone(),
        audiences: vec![0, made.owner.0],
        mailbox: rookery_base::ids::MailboxId(workspace.inboxes[0].id).to_string(),
        reference: workspace.reference(),
        long_conversation: workspace.long_conversation().to_string(),
    };
    (workspace, loaded)
}

async fn add_tags(conn: &mut PgConnection, workspace: &Workspace) {
    let mut rows = Rows::new();
    for (number, tag) in workspace.tags.iter().enumerate() {
        let name = format!("{} {number}", workspace.vocabulary.word(number * 7));
        rows.row(4).bigint(workspace.id.0).bigint(*tag).text(&name).text(&name);
    }
    copy(conn, "tags", "workspace_id, id, name, folded", rows.finish()).await;
    let used = format!("update tags set audiences = '{{0}}' where workspace_id = {}", workspace.id.0);
    run(conn, &used).await;
}

/// Threads make batches, this one sends them, in the order of their numbers.
async fn add_mail(conn: &mut PgConnection, workspace: Workspace, bar: &ProgressBar) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let batches: Vec<_> = (0..workspace.conversations).step_by(BATCH).collect();
    let mut lines: Vec<mpsc::Receiver<Batch>> = Vec::new();
    for thread in 0..threads {
        let (send, receive) = mpsc::channel(2);
        let (workspace, mine) = (workspace.clone(), batches.clone());
        std::thread::spawn(move || {
            for start in mine.into_iter().skip(thread).step_by(threads) {
                let batch = workspace.batch(start..(start + BATCH).min(workspace.conversations));
                if send.blocking_send(batch).is_err() {
                    break;
                }
            }
        });
        lines.push(receive);
    }
    for (place, start) in batches.iter().enumerate() {
        let batch = lines[place % threads].recv().await.expect("a thread makes every batch");
        for ((table, columns), bytes) in TABLES.iter().zip(batch.finish()) {
            copy(conn, table, columns, bytes).await;
        }
        bar.set_position((start + BATCH).min(workspace.conversations) as u64);
    }
}

async fn copy(conn: &mut PgConnection, table: &str, columns: &str, bytes: Vec<u8>) {
    let statement = format!("copy {table} ({columns}) from stdin (format binary)");
    let mut copy = conn.copy_in_raw(&statement).await.expect("a copy begins");
    copy.send(bytes).await.unwrap_or_else(|error| panic!("{table}: {error}"));
    copy.finish().await.unwrap_or_else(|error| panic!("{table}: {error}"));
}

/// Drops every index of the loaded tables that no constraint needs, and gives their definitions.
async fn take_down_indexes(conn: &mut PgConnection) -> Vec<String> {
    let tables: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
    let found = sqlx::query(
        "select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
         from pg_index where indrelid::regclass::text = any($1)
           and not exists (select from pg_constraint where conindid = indexrelid)",
    )
    .bind(&tables)
    .fetch_all(&mut *conn)
    .await
    .expect("the indexes can be listed");
    let mut definitions = Vec::new();
    for row in found {
        run(conn, &format!("drop index {}", row.get::<String, _>("name"))).await;
        definitions.push(row.get("definition"));
    }
    definitions
}

/// What the triggers would have counted.
async fn count(conn: &mut PgConnection) {
    run(
        conn,
        "insert into counts (workspace_id, what, subject_id, audience, n)
         select workspace_id, 'open', mailbox_id, audience, count(*) from conversations
         where view = 'open' group by 1, 3, 4
         union all
         select workspace_id, 'tag', tag_id, audience, count(*) from conversation_tags group by 1, 3, 4
         order by 1, 2, 4, 3
         on conflict (workspace_id, what, subject_id, audience) do update set n = excluded.n",
    )
    .await;
}

async fn run(conn: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(conn)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn bar(shown: bool, length: u64, what: &str) -> ProgressBar {
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = "{prefix:>12} {wide_bar} {pos}/{len} in {elapsed}, {eta} to go";
    let style = ProgressStyle::with_template(style).expect("a template");
    ProgressBar::with_draw_target(Some(length), target).with_style(style).with_prefix(what.to_owned())
}
