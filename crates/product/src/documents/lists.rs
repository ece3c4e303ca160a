//! Saved lists of documents that a team asks for often, such as those for a new account. Everybody on the team may use, save and
//! delete them, like saved replies. Saving under a name that is there already replaces that list.

use sqlx::PgConnection;
use sqlx::types::Json;

use crate::documents::items::ChecklistItem;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DocumentListId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::people::{Person, a_name};

const NO_LIST: Error = Error::Missing("No such list of documents.");
pub const LONGEST_NAME: usize = 100;
/// Lists of a workspace.
const MOST: i64 = 200;
/// People who save at the same time may end up with a few more. These can be seen and deleted too.
const MOST_SHOWN: i64 = MOST + 50;

#[derive(Clone, Debug)]
pub struct DocumentList {
    pub id: DocumentListId,
    pub name: String,
    pub items: Vec<ChecklistItem>,
}

/// By name.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<DocumentList>> {
    let rows = sqlx::query!(
        r#"select id as "id: DocumentListId", name, items as "items: Json<Vec<ChecklistItem>>"
           from document_lists where workspace_id = $1 order by lower(name) limit $2"#,
        workspace.0,
        MOST_SHOWN
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().map(|row| DocumentList { id: row.id, name: row.name, items: row.items.0 }).collect())
}

/// True if it took the place of one with this name.
pub async fn save(tx: &mut Tx<'_>, person: &Person, name: &str, items: &[ChecklistItem]) -> Result<bool> {
    let name = a_name("name", name, LONGEST_NAME)?;
    if items.is_empty() {
        return Err(Error::problem("documents", "Add at least one document before you save the list."));
    }
    let (workspace, id, now) = (tx.workspace().0, tx.mint::<DocumentListId>(), tx.now());
    let kept = sqlx::query_scalar!(
        r#"insert into document_lists (workspace_id, id, name, items, changed_by, changed_at)
           select $1, $2, $3, $4, $5, $6
           where exists (select from document_lists where workspace_id = $1 and lower(name) = lower($3))
              or (select count(*) from document_lists where workspace_id = $1) < $7
           on conflict (workspace_id, lower(name)) do update
               set name = excluded.name, items = excluded.items, changed_by = excluded.changed_by,
                   changed_at = excluded.changed_at
           returning id as "id: DocumentListId""#,
        workspace,
        id.0,
        name,
        Json(items) as _,
        person.id.0,
        now,
        MOST
    )
    .fetch_optional(&mut **tx)
    .await?;
    let full = || {
        let what = format!("You’ve reached the limit of {MOST} lists. Delete one first.");
        Error::problem("documents", what)
    };
    Ok(kept.ok_or_else(full)? != id)
}

pub async fn remove(tx: &mut Tx<'_>, id: DocumentListId) -> Result<()> {
    let workspace = tx.workspace().0;
    let gone =
        sqlx::query!("delete from document_lists where workspace_id = $1 and id = $2", workspace, id.0)
            .execute(&mut **tx)
            .await?;
    if gone.rows_affected() == 0 { Err(NO_LIST) } else { Ok(()) }
}
