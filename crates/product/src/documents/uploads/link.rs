//! What a private link leads to. Whoever has it may see the page and nothing else. A link that never was and one that was
//! altered are the same nothing (D161); one that has ended says so (D162).

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::documents::items::{self, RequestItem};
use crate::documents::progress::{self, ReceivedFile, RequestState};
use crate::documents::request::{LINK_LIVES, PURPOSE, link_is_of};
use rookery_base::error::Result;
use rookery_base::ids::{DocumentRequestId, WorkspaceId};
use rookery_base::languages::Language;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_base::zone::Zone;

/// A link that is ours.
#[derive(Clone, Copy, Debug)]
pub struct UploadLink {
    pub workspace: WorkspaceId,
    pub request: DocumentRequestId,
    pub generation: i32,
}

/// The request behind a link, as far as its page may know it.
#[derive(Debug)]
pub struct Behind {
    pub link: UploadLink,
    pub workspace_name: String,
    pub zone: Zone,
    pub state: RequestState,
    pub due: Option<NaiveDate>,
    /// What the customer was written to in, if somebody chose it.
    pub language: Option<Language>,
    pub ends_at: DateTime<Utc>,
}

impl Behind {
    /// Nothing is shown or taken any more.
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        has_ended(self.state, self.ends_at, now)
    }
}

pub(super) fn has_ended(state: RequestState, ends_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    matches!(state, RequestState::Cancelled | RequestState::Expired) || ends_at <= now
}

/// Before its mail has left there is no link that anybody could have.
pub async fn find(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    request: DocumentRequestId,
    token: &str,
) -> Result<Option<Behind>> {
    let row = sqlx::query!(
        r#"select w.name, w.time_zone, r.state as "state: RequestState", due_date, link_generation, r.language as "language: Language",
               coalesce(opened_at, r.created_at) as "opened_at!", link_ends_at
           from document_requests r join workspaces w on w.id = r.workspace_id
           where r.workspace_id = $1 and r.id = $2 and r.state <> 'draft'"#,
        workspace.0,
        request.0
    )
    .fetch_optional(conn)
    .await?;
    // What is not there takes as long as what was altered.
    let generation = row.as_ref().map_or(0, |row| row.link_generation);
    let is_ours = link_tokens::is_ours(keys, PURPOSE, &link_is_of(workspace, request, generation), token);
    Ok(row.filter(|_| is_ours).map(|row| Behind {
        link: UploadLink { workspace, request, generation },
        workspace_name: row.name,
        zone: Zone::named(&row.time_zone),
        state: row.state,
        due: row.due_date,
        language: row.language,
        ends_at: row.link_ends_at.unwrap_or(row.opened_at + LINK_LIVES),
    }))
}

/// An item as the page shows it.
#[derive(Debug)]
pub struct UploadItem {
    pub listed: RequestItem,
    pub files: Vec<ReceivedFile>,
}

pub async fn items(conn: &mut PgConnection, link: UploadLink) -> Result<Vec<UploadItem>> {
    let listed = items::load(conn, link.workspace, link.request).await?;
    let mut shown: Vec<UploadItem> =
        listed.into_iter().map(|listed| UploadItem { listed, files: Vec::new() }).collect();
    for (item, file) in progress::files(conn, link.workspace, &[link.request]).await? {
        if let Some(own) = shown.iter_mut().find(|own| own.listed.id == item) {
            own.files.push(file);
        }
    }
    Ok(shown)
}
