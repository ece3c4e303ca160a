//! The words of secure messages: sealed in the message's row, opened for people, and for agents where an owner allows it.
//! In the open such a message says the same two words always.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::conversations::secure::files::{self, SecureFile};
use crate::conversations::secure::vault::{SealedKind, Vault};
use crate::conversations::timeline::{SHOWN_TEXT, TimelinePiece};
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::store::db::Tx;

/// A secure message, opened.
#[derive(Debug, Default)]
pub struct Opened {
    pub text: String,
    pub files: Vec<SecureFile>,
}

/// Seals the words of a message that was just written, in the same transaction.
pub async fn keep(tx: &mut Tx<'_>, vault: &Vault, message: MessageId, words: &str) -> Result<()> {
    let random = tx.frame().random.clone();
    let sealed = vault.seal(&random, SealedKind::Words, message, words.as_bytes())?;
    sqlx::query!(
        "update messages set channel = 'secure', sealed = $3 where workspace_id = $1 and id = $2",
        vault.workspace.0,
        message.0,
        sealed
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Those of these messages that are secure and somebody's own: they wrote it, or it left to them and nobody else.
pub async fn of_contact(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    contact: &str,
    messages: &[MessageId],
) -> Result<Vec<MessageId>> {
    Ok(sqlx::query_scalar!(
        r#"select id as "id: MessageId" from messages
           where workspace_id = $1 and id = any($2) and sealed is not null
             and case when direction = 'inbound' then lower(from_email) = $3
                      else cardinality(to_addresses || cc_addresses || bcc_addresses) = 1 and lower(to_addresses[1]) = $3
                           and (status in ('sending', 'sent') or (status = 'failed' and sent_at is not null)) end"#,
        workspace.0,
        messages as &[MessageId],
        contact
    )
    .fetch_all(conn)
    .await?)
}

/// Those of these messages that are secure, with their files.
pub async fn open(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    messages: &[MessageId],
) -> Result<HashMap<MessageId, Opened>> {
    if messages.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = sqlx::query!(
        r#"select id as "id: MessageId", sealed as "sealed!" from messages
           where workspace_id = $1 and id = any($2) and sealed is not null"#,
        workspace.0,
        messages as &[MessageId]
    )
    .fetch_all(&mut *conn)
    .await?;
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let vault = Vault::must(conn, keys, workspace).await?;
    let mut opened = HashMap::new();
    for row in rows {
        let text = vault.open_text(SealedKind::Words, row.id, &row.sealed)?;
        opened.insert(row.id, Opened { text, files: Vec::new() });
    }
    for file in files::load(conn, &vault, messages).await? {
        if let Some(own) = opened.get_mut(&file.message) {
            own.files.push(file);
        }
    }
    Ok(opened)
}

/// For whom a timeline is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadReader {
    /// All of it, with its files: nothing else would show them the rest.
    Person,
    /// As much of it as of any message.
    Agent,
}

/// Opens the secure messages of a timeline in their place.
pub async fn open_items(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    workspace: WorkspaceId,
    items: &mut [TimelinePiece],
    reader: ThreadReader,
) -> Result<()> {
    let secure: Vec<MessageId> = items
        .iter()
        .filter_map(|item| match item {
            TimelinePiece::Message(message) if message.secure => Some(message.id),
            _ => None,
        })
        .collect();
    let Some(keys) = keys.filter(|_| !secure.is_empty()) else { return Ok(()) };
    let mut opened = open(conn, keys, workspace, &secure).await?;
    for item in items {
        if let TimelinePiece::Message(message) = item
            && let Some(own) = opened.remove(&message.id)
        {
            match reader {
                ThreadReader::Person => {
                    message.text = own.text;
                    message.attachments = own.files.iter().map(SecureFile::attachment).collect();
                }
                ThreadReader::Agent => message.text = own.text.chars().take(SHOWN_TEXT as usize).collect(),
            }
        }
    }
    Ok(())
}

/// Whether the team's newest mail of a conversation was secure: then so is the next, unless its writer says otherwise.
pub async fn is_remembered(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
) -> Result<bool> {
    let secure = sqlx::query_scalar!(
        r#"select channel = 'secure' as "secure!" from messages
           where workspace_id = $1 and conversation_id = $2 and direction = 'outbound' and status <> 'draft'
             and origin is distinct from 'service' and forwards is null
           order by at desc, item desc limit 1"#,
        workspace.0,
        conversation.id.0
    );
    Ok(secure.fetch_optional(conn).await?.unwrap_or_default())
}
