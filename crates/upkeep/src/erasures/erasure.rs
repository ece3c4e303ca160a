//! An erasure that is under way, as its row has it: the step it is at, and where it is in a conversation that goes part by
//! part. Whoever does a part holds the row.

use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, ErasureId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;

pub(super) struct Erasure {
    pub id: ErasureId,
    pub hash: Vec<u8>,
    pub sealed: Option<Vec<u8>>,
    pub step: String,
    pub after: i64,
    /// Done once before, when no hold stood against it.
    pub replayed: bool,
    part_of: Option<ConversationId>,
    part_before: Option<MessageId>,
    part_own: bool,
}

/// Where an erasure is in a conversation that is longer than a transaction takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongConversation {
    pub id: ConversationId,
    pub is_own: bool,
    /// Mail from there on is done.
    pub before: MessageId,
}

impl Erasure {
    /// It is in the midst of this one.
    pub fn long(&self) -> Option<LongConversation> {
        let (id, before) = (self.part_of?, self.part_before?);
        Some(LongConversation { id, is_own: self.part_own, before })
    }
}

pub(super) async fn find(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: ErasureId,
) -> Result<Option<Erasure>> {
    Ok(sqlx::query_as!(
        Erasure,
        r#"select id as "id: ErasureId", address_hash as hash, address as sealed, step, after_id as after, replayed,
               part_of as "part_of: ConversationId", part_before as "part_before: MessageId", part_own
           from erasures
           where workspace_id = $1 and id = $2 and done_at is null"#,
        workspace.0,
        id.0
    )
    .fetch_optional(conn)
    .await?)
}

pub(super) async fn lock(tx: &mut Tx<'_>, id: ErasureId) -> Result<Option<Erasure>> {
    let workspace = tx.workspace();
    sqlx::query!("select from erasures where workspace_id = $1 and id = $2 for update", workspace.0, id.0)
        .fetch_optional(&mut **tx)
        .await?;
    find(tx, workspace, id).await
}
