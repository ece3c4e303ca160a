//! What a document request asks for (specification 2.9, 4.9): rows in the order of the checklist, each with a state.
//! docs/states.md has the states. What is missing is what nothing came for, or what came and will not do.

use serde::Serialize;

use crate::error::Result;
use crate::ids::{DocumentRequestId, RequestItemId};
use crate::store::db::Tx;

/// One thing that is asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    pub label: String,
    pub description: Option<String>,
    /// False marks it nice to have.
    pub required: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum ItemState {
    /// Nothing came yet.
    Open,
    /// Something came that a person should look at.
    Received,
    /// What came is right.
    Accepted,
    /// What came will not do, and the customer is asked again.
    Refused,
    /// A person ticked it off: it came another way.
    Ticked,
}

impl ItemState {
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Open | Self::Refused)
    }
}

/// An item of a request.
#[derive(Clone, Debug)]
pub struct Listed {
    pub id: RequestItemId,
    pub item: Item,
    pub state: ItemState,
}

/// Items as they are when they are asked for.
pub fn asked(tx: &Tx<'_>, items: Vec<Item>) -> Vec<Listed> {
    let open = |item| Listed { id: tx.mint(), item, state: ItemState::Open };
    items.into_iter().map(open).collect()
}

pub async fn add(tx: &mut Tx<'_>, request: DocumentRequestId, listed: &[Listed]) -> Result<()> {
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
pub async fn of(tx: &mut Tx<'_>, request: DocumentRequestId) -> Result<Vec<Listed>> {
    let workspace = tx.workspace().0;
    let rows = sqlx::query!(
        r#"select id as "id!: RequestItemId", label as "label!", description, required as "required!",
                  state as "state!: ItemState", position as "position!"
           from document_request_items where workspace_id = $1 and request_id = $2
           union all
           select requests.id + position, item ->> 'label', item ->> 'description', (item ->> 'required')::boolean,
                  'open', position
           from document_requests requests cross join jsonb_array_elements(items) with ordinality asked (item, position)
           where workspace_id = $1 and requests.id = $2 and not exists (
               select from document_request_items where workspace_id = $1 and request_id = $2)
           order by 6"#,
        workspace,
        request.0
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Listed {
            id: row.id,
            item: Item { label: row.label, description: row.description, required: row.required },
            state: row.state,
        })
        .collect())
}
