//! Takes away files that no row names: a node died while storing the bytes or between them and the row, or could
//! not remove them when the row failed. A day is looked through once, two days later, when nothing of it can still
//! be on its way.

use std::collections::HashSet;

use chrono::{Days, NaiveDate};
use sqlx::PgConnection;

use crate::app::App;
use crate::error::Result;
use crate::ids::{self, WorkspaceId};
use crate::put_off::{PutOff, Work};
use crate::work_off::{Pass, Progress};
use crate::workspace::swept;

const LATER: Days = Days::new(2);

/// Looks through every day that is due.
pub async fn sweep(app: &App, put_off: &PutOff) -> Result<()> {
    let last = app.clock.now().date_naive() - LATER;
    let mut pass = Pass::begin(app, put_off);
    loop {
        let behind = swept::behind(&mut *app.connection().await?, last, &pass.aside()).await?;
        if pass.is_over(&behind) {
            return Ok(());
        }
        for (workspace, done) in behind {
            let sweeping = async {
                for day in done.iter_days().skip(1).take_while(|day| *day <= last) {
                    sweep_day(app, workspace, day).await?;
                }
                let mut tx = app.begin(workspace).await?;
                swept::note(&mut tx, last).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Work::Workspace(workspace), sweeping).await?;
        }
    }
}

async fn sweep_day(app: &App, workspace: WorkspaceId, day: NaiveDate) -> Result<()> {
    let unfinished = app.blobs.discard_unfinished(workspace, day).await?;
    if unfinished > 0 {
        tracing::info!(%workspace, %day, files = unfinished, "files that were never finished are removed");
    }
    let mut left = app.blobs.of_day(workspace, day).await?;
    if left.is_empty() {
        return Ok(());
    }
    let named = named(&mut *app.connection().await?, workspace, day).await?;
    left.retain(|blob| !named.contains(blob));
    if !left.is_empty() {
        tracing::info!(%workspace, %day, files = left.len(), "files that no row names are removed");
        app.blobs.discard(&left).await;
    }
    Ok(())
}

/// What rows of that day name. A row's id is made within moments of its files, so a day around it is plenty.
async fn named(conn: &mut PgConnection, workspace: WorkspaceId, day: NaiveDate) -> Result<HashSet<String>> {
    let names = sqlx::query_scalar!(
        r#"select raw_blob as "blob!" from messages
           where workspace_id = $1 and id >= $2 and id < $3 and raw_blob is not null
           union all
           select jsonb_array_elements(attachments)->>'blob' from messages
           where workspace_id = $1 and id >= $2 and id < $3
           union all
           select blob from documents where workspace_id = $1 and id >= $2 and id < $3"#,
        workspace.0,
        ids::lowest_on(day - Days::new(1)),
        ids::lowest_on(day + Days::new(2))
    )
    .fetch_all(conn)
    .await?;
    Ok(names.into_iter().collect())
}
