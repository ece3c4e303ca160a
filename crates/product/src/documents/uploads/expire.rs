//! The end of a request that nobody answered (D162): 60 days after its mail left, or when a person said. The worker writes
//! it down; the link itself is over at the very time.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::documents::progress::RequestState;
use crate::documents::request::LINK_LIVES;
use crate::documents::uploads::locked;
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DocumentRequestId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;

/// The worker's loop.
pub const LOOP: &str = "end document requests";

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = due(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for (workspace, request) in due {
            let ending = async {
                let mut tx = app.begin(workspace).await?;
                expire(&mut tx, request).await?;
                tx.commit().await?;
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, request.0), ending).await?;
        }
    }
}

pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(link_ends_at) from document_requests where state = 'open'")
        .fetch_one(conn)
        .await?)
}

async fn due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, DocumentRequestId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: DocumentRequestId" from document_requests
           where state = 'open' and (link_ends_at <= $1 or (link_ends_at is null and opened_at <= $2))
             and id not in (select unnest($3::bigint[])) and workspace_id not in (select unnest($4::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by link_ends_at limit 100"#,
        now,
        now - LINK_LIVES,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

async fn expire(tx: &mut Tx<'_>, request: DocumentRequestId) -> Result<()> {
    let request = match locked::any(tx, request).await {
        Err(Error::Missing(_)) => return Ok(()),
        other => other?,
    };
    let (workspace, now) = (tx.workspace().0, tx.now());
    if request.state != RequestState::Open || request.ends_at > now {
        return Ok(());
    }
    sqlx::query!(
        "update document_requests set state = 'expired', ended_at = $3, remind_at = null
         where workspace_id = $1 and id = $2",
        workspace,
        request.id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({ "requestId": request.id });
    timeline::append(tx, request.conversation.id, &By::System, "documents-expired", data).await
}
