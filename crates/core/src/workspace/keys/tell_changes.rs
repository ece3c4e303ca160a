//! Everybody who made a key that works is told of breaking changes by mail, once for each (specification 9.3).
//! Who makes a first key later is told then.

use sqlx::PgConnection;

use crate::workspace::notices::{self, Notice};
use rookery_base::app::App;
use rookery_base::breaking_changes::BreakingChange;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::store::db::Tx;

pub const LOOP: &str = "tell of breaking changes";

pub async fn tell(app: &App, put_off: &Backoff) -> Result<()> {
    let today = app.clock.now().date_naive();
    for change in app.breaking_changes.iter().filter(|change| change.ends > today) {
        let mut pass = Pass::begin(app, put_off);
        loop {
            let untold = untold(&mut *app.connection().await?, change, &pass.aside()).await?;
            if pass.is_over(&untold) {
                break;
            }
            for (workspace, maker) in untold {
                let telling = async {
                    let mut tx = app.begin(workspace).await?;
                    tell_one(&mut tx, change, maker).await?;
                    tx.commit().await?;
                    Ok(PassProgress::Done)
                };
                pass.turn(BackoffPiece::Row(workspace, maker.0), telling).await?;
            }
        }
    }
    Ok(())
}

async fn untold(
    conn: &mut PgConnection,
    change: &BreakingChange,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, PersonId)>> {
    let makers = sqlx::query!(
        r#"select distinct workspace_id as "workspace: WorkspaceId", maker_id as "maker: PersonId" from agents a
           where revoked_at is null
             and not exists (
                 select from told_changes t
                 where t.workspace_id = a.workspace_id and t.person_id = a.maker_id and t.change = $1)
             and maker_id <> all ($2) and workspace_id <> all ($3)
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           limit 100"#,
        change.name,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(makers.into_iter().map(|maker| (maker.workspace, maker.maker)).collect())
}

async fn tell_one(tx: &mut Tx<'_>, change: &BreakingChange, maker: PersonId) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let told = sqlx::query!(
        "insert into told_changes (workspace_id, person_id, change, told_at) values ($1, $2, $3, $4)
         on conflict do nothing",
        workspace.0,
        maker.0,
        change.name,
        now
    )
    .execute(&mut **tx)
    .await?;
    if told.rows_affected() == 0 {
        return Ok(());
    }
    let keys = sqlx::query_scalar!(
        "select name || case when livemode then '' else ' (test)' end as \"name!\" from agents
         where workspace_id = $1 and maker_id = $2 and revoked_at is null order by name limit 20",
        workspace.0,
        maker.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let page = tx.frame().public_url.join("settings/keys").map_err(Error::internal)?;
    let subject = format!("The API changes on {}: {}", change.ends, change.title);
    let calls = match change.operations {
        [] => "all calls".to_owned(),
        some => some.join(", "),
    };
    let body = format!(
        "You made API keys, and programs that use them may have to change before {ends}.\n\n\
         What changes: {title}.\nWhat to do: {instead}\nCalls concerned: {calls}\nYour keys: {keys}\n\n\
         Until then everything works as it does now, and answers to these calls have the headers Deprecation and \
         Sunset.\n\nKeys, and when each was last used: {page}\n",
        ends = change.ends,
        title = change.title,
        instead = change.instead,
        keys = keys.join(", "),
    );
    let notice = Notice { to: maker, kind: "breaking-change", subject: &subject, body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}
