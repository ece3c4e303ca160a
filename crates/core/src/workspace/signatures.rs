//! Signatures of inboxes. What a person has of their own goes first; without any, a mail ends with its last line.
//! An inbox that somebody cannot see is not there for them.

use sqlx::PgConnection;

use crate::workspace::access::Actor;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text;

pub const LONGEST: usize = 1_000;

pub struct Signed {
    pub mailbox: MailboxId,
    pub name: String,
    pub address: String,
    pub signature: String,
}

/// The signature of an inbox, empty when it has none.
pub async fn of_mailbox(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    mailbox: MailboxId,
) -> Result<String> {
    let found = sqlx::query_scalar!(
        "select signature from mailboxes where workspace_id = $1 and id = $2",
        workspace.0,
        mailbox.0
    );
    Ok(found.fetch_optional(conn).await?.flatten().unwrap_or_default())
}

/// The inboxes that somebody can see, by name, with what they sign.
pub async fn list(conn: &mut PgConnection, who: &Actor) -> Result<Vec<Signed>> {
    Ok(sqlx::query_as!(
        Signed,
        r#"select id as "mailbox: MailboxId", name, address, coalesce(signature, '') as "signature!" from mailboxes
           where workspace_id = $1 and audience = any($2) order by lower(name), id"#,
        who.workspace.0,
        &who.audiences()
    )
    .fetch_all(conn)
    .await?)
}

/// Sets what an inbox that somebody can see signs with; nothing when it is empty.
pub async fn set(tx: &mut Tx<'_>, who: &Actor, mailbox: MailboxId, signature: &str) -> Result<()> {
    let signature = text::lines(signature).trim().to_owned();
    if signature.chars().count() > LONGEST {
        return Err(Error::problem("signature", format!("must be at most {LONGEST} characters")));
    }
    let workspace = tx.workspace().0;
    let changed = sqlx::query!(
        "update mailboxes set signature = nullif($4, '') where workspace_id = $1 and id = $2 and audience = any($3)",
        workspace,
        mailbox.0,
        &who.audiences(),
        signature
    )
    .execute(&mut **tx)
    .await?;
    if changed.rows_affected() == 0 { Err(NO_MAILBOX) } else { Ok(()) }
}
