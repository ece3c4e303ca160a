//! Messages that are due now among many more that are due later, and what a claim of them may cost.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::app::App;
use rookery_core::conversations::messages::sending;
use rookery_core::workspace::create;
use rookery_core::workspace::plan::Plan;
use sqlx::{AssertSqlSafe, PgConnection};

const WORKSPACES: usize = 20;
/// Buffers of a claim of a hundred, however many are due later. Each message's row moves, and with it its
/// entries in four indexes; that is what it is spent on.
pub const BUDGET: i64 = 5_000;

/// Sandbox conversations of several workspaces with `future` and `due` scheduled messages.
pub async fn load(app: &App, future: usize, due: usize) {
    for number in 0..WORKSPACES {
        let name = format!("Workspace {number}");
        create::create(app, &name, Plan::Pro, "olga@acme.example", "Olga Owner").await.expect("a workspace");
    }
    let mut conn = app.connection().await.expect("a connection");
    run(&mut conn, "set statement_timeout = 0").await;
    run(
        &mut conn,
        "insert into conversations (workspace_id, id, mailbox_id, audience, contact_email, subject, status,
             announced_turn, created_at, last_message_at)
         select workspace_id, n, id, -1, n || '@customer.test', 'Case', 'open', 'ours', now(), now()
         from mailboxes, generate_series(1, 1000) n where kind = 'sandbox'",
    )
    .await;
    let statement = format!(
        "with spread as (select workspace_id, id, mailbox_id, row_number() over () - 1 as number from conversations)
         insert into messages (workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sends_at,
             due_at, from_email, text, rfc_message_id)
         select workspace_id, spread.id, n, mailbox_id, 1, now(), 'outbound', 'scheduled', due, due,
             'sandbox@acme.test', 'Hello', n || '@acme.test'
         from generate_series(1, {future} + {due}) n
         join spread on spread.number = n % {conversations},
         lateral (select case when n <= {due} then '{now}'::timestamptz - interval '1 day' + n * interval '1 millisecond'
                         else '{now}'::timestamptz + interval '1 day' + random() * interval '1 year' end as due) time",
        conversations = WORKSPACES * 1000,
        now = app.clock.now(),
    );
    run(&mut conn, &statement).await;
    for statement in ["vacuum analyze messages", "analyze conversations", "set statement_timeout = '5s'"] {
        run(&mut conn, statement).await;
    }
}

/// One claim of a hundred; gives how many it took.
pub async fn claim(conn: &mut PgConnection, now: DateTime<Utc>) -> usize {
    sending::claim(conn, false, now, now + TimeDelta::hours(1)).await.expect("a claim").len()
}

async fn run(conn: &mut PgConnection, statement: &str) {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(conn).await.expect("the statement is sound");
}
