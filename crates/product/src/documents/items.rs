//! What a document request asks for (specification 2.9, 4.9): rows in the order of the checklist, each with a state.
//! docs/states.md has the states. What is missing is what nothing came for, or what came and will not do.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{DocumentRequestId, RequestItemId, WorkspaceId};
use rookery_base::store::db::Tx;

/// One thing that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistItem {
    pub label: String,
    pub description: Option<String>,
    /// False marks it nice to have.
    pub required: bool,
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum ItemState {
        /// Nothing came yet.
        Open = "open",
        /// Something came that a person should look at.
        Received = "received",
        /// What came is right.
        Accepted = "accepted",
        /// What came will not do, and the customer is asked again.
        Refused = "refused",
        /// A person ticked it off: it came another way.
        Ticked = "ticked",
    }
}

impl ItemState {
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Open | Self::Refused)
    }
}

/// Why what came will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum ItemRefusal {
    Unreadable,
    /// Pages are missing.
    Incomplete,
    /// It is another document.
    Wrong,
}

/// An item of a request.
#[derive(Clone, Debug)]
pub struct RequestItem {
    pub id: RequestItemId,
    pub item: ChecklistItem,
    pub state: ItemState,
    /// Of a refused one.
    pub why: Option<ItemRefusal>,
    /// When it last was: what came before does not count any more.
    pub refused_at: Option<DateTime<Utc>>,
}

/// What is still wanted of a request: the required items that are missing, or all that are when none is required.
pub fn missing(items: &[RequestItem]) -> impl Iterator<Item = &ChecklistItem> {
    let any_required = items.iter().any(|listed| listed.item.required);
    let wanted =
        move |listed: &&RequestItem| listed.state.is_missing() && (listed.item.required || !any_required);
    items.iter().filter(wanted).map(|listed| &listed.item)
}

/// Items as they are when they are asked for.
pub fn asked(tx: &Tx<'_>, items: Vec<ChecklistItem>) -> Vec<RequestItem> {
    let open =
        |item| RequestItem { id: tx.mint(), item, state: ItemState::Open, why: None, refused_at: None };
    items.into_iter().map(open).collect()
}

pub async fn add(tx: &mut Tx<'_>, request: DocumentRequestId, listed: &[RequestItem]) -> Result<()> {
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = listed.iter().map(|listed| listed.id.0).collect();
    let labels: Vec<&str> = listed.iter().map(|listed| listed.item.label.as_str()).collect();
    let descriptions: Vec<Option<&str>> =
        listed.iter().map(|listed| listed.item.description.as_deref()).collect();
    let required: Vec<bool> = listed.iter().map(|listed| listed.item.required).collect();
    sqlx::query!(
        "insert into document_request_items
             (workspace_id, request_id, id, position, label, description, required)
         select $1, $2, id, position, label, description, required
         from unnest($3::bigint[], $4::text[], $5::text[], $6::boolean[])
             with ordinality asked (id, label, description, required, position)",
        workspace,
        request.0,
        &ids,
        &labels as &[&str],
        &descriptions as &[Option<&str>],
        &required
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// All items of a request, in the order of its checklist. What the version before this one asks for has no rows yet.
pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    request: DocumentRequestId,
) -> Result<Vec<RequestItem>> {
    let rows = sqlx::query!(
        r#"select id as "id!: RequestItemId", label as "label!", description, required as "required!",
                  state as "state!: ItemState", position as "position!", refused_why as "why: ItemRefusal",
                  refused_at
           from document_request_items where workspace_id = $1 and request_id = $2
           union all
           select requests.id + position, item ->> 'label', item ->> 'description', (item ->> 'required')::boolean,
                  'open', position, null, null
           from document_requests requests cross join jsonb_array_elements(items) with ordinality asked (item, position)
           where workspace_id = $1 and requests.id = $2 and not exists (
               select from document_request_items where workspace_id = $1 and request_id = $2)
           order by 6"#,
        workspace.0,
        request.0
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RequestItem {
            id: row.id,
            item: ChecklistItem { label: row.label, description: row.description, required: row.required },
            state: row.state,
            why: row.why,
            refused_at: row.refused_at,
        })
        .collect())
}

/// Gives items that have no rows yet their rows, with the ids they are read by.
pub async fn write_down(tx: &mut Tx<'_>, request: DocumentRequestId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into document_request_items (workspace_id, request_id, id, position, label, description, required)
         select $1, requests.id, requests.id + position, position,
             item ->> 'label', item ->> 'description', (item ->> 'required')::boolean
         from document_requests requests cross join jsonb_array_elements(items) with ordinality asked (item, position)
         where workspace_id = $1 and requests.id = $2 and not exists (
             select from document_request_items where workspace_id = $1 and request_id = $2)",
        workspace,
        request.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
