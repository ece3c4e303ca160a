//! What a secure page shows: of its conversation the secure messages to and of its address, and nothing else. Each belongs to
//! a page of ours, an answer to the one it was written on, and is shown as long as that page lives.
//!
//! Pages that a code opens show each other's messages, because the same proof opens them. A page with a passphrase shows its
//! own alone, and no other page shows those.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::messages::message::Direction;
use crate::conversations::secure::files::{self, SecureFile};
use crate::conversations::secure::page::{SecurePage, Way};
use crate::conversations::secure::vault::{SealedKind, Vault};
use rookery_base::error::Result;
use rookery_base::ids::MessageId;
use rookery_base::secrets::key_ring::KeyRing;

/// The newest of them.
const MOST: i64 = 100;

#[derive(Debug)]
pub struct SecureMessage {
    pub id: MessageId,
    pub at: DateTime<Utc>,
    pub direction: Direction,
    /// Who of the team wrote it.
    pub author: Option<String>,
    pub text: String,
    pub files: Vec<SecureFile>,
}

/// For somebody who has proved to be meant.
pub async fn read(
    conn: &mut PgConnection,
    keys: &KeyRing,
    page: &SecurePage,
    now: DateTime<Utc>,
) -> Result<Vec<SecureMessage>> {
    let rows = sqlx::query!(
        r#"select m.id as "id: MessageId", m.at, m.direction as "direction: Direction", m.sealed as "sealed!",
               (select people.name from people
                where people.workspace_id = $1 and people.id = m.author_id and m.author_type = 'user') as author
           from messages m
           join secure_pages p on p.workspace_id = $1
               and p.message_id = case when m.direction = 'inbound' then m.answers else m.id end
           where m.workspace_id = $1 and m.conversation_id = $2 and m.sealed is not null
             and case when m.direction = 'inbound' then lower(m.from_email) = $3
                      else (m.status in ('sending', 'sent') or (m.status = 'failed' and m.sent_at is not null))
                           and lower(m.to_addresses[1]) = $3 end
             and p.revoked_at is null and p.expires_at > $4
             and (p.message_id = $5 or (p.proof = 'code' and $6))
           order by m.at desc, m.item desc limit $7"#,
        page.workspace.0,
        page.conversation.0,
        page.address,
        now,
        page.message.0,
        page.way == Way::Code,
        MOST
    )
    .fetch_all(&mut *conn)
    .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let vault = Vault::must(conn, keys, page.workspace).await?;
    let ids: Vec<MessageId> = rows.iter().map(|row| row.id).collect();
    let mut named = files::load(conn, &vault, &ids).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows.into_iter().rev() {
        let (own, others) = named.into_iter().partition(|file| file.message == row.id);
        named = others;
        shown.push(SecureMessage {
            text: vault.open_text(SealedKind::Words, row.id, &row.sealed)?,
            id: row.id,
            at: row.at,
            direction: row.direction,
            author: row.author,
            files: own,
        });
    }
    Ok(shown)
}
