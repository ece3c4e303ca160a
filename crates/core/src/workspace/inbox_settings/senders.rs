//! The addresses that mail of an inbox may leave from: its own, and further ones that receivers trust as much. That is those of
//! the inbox's own domain, and those of another domain of the workspace whose DKIM record was found.

use sqlx::PgConnection;

use crate::workspace::mailboxes::Mailbox;
use rookery_base::error::Result;
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::store::addresses::domain_of;
use rookery_base::store::db::Tx;

/// A further address of an inbox that its mail may leave from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherSender {
    pub mailbox: MailboxId,
    pub address: String,
}

/// Those of these inboxes.
pub async fn further(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    mailboxes: &[MailboxId],
) -> Result<Vec<FurtherSender>> {
    let rows = sqlx::query!(
        r#"select a.mailbox_id as "mailbox: MailboxId", a.address, m.address as own,
               array(select domain from sending_domains d
                     where d.workspace_id = $1 and d.findings @> '[{"purpose": "DKIM", "ok": true}]') as "signed!"
           from mailbox_aliases a join mailboxes m on m.workspace_id = $1 and m.id = a.mailbox_id
           where a.workspace_id = $1 and a.mailbox_id = any($2) and a.unproven_at is null
           order by a.address"#,
        workspace.0,
        mailboxes as &[MailboxId]
    )
    .fetch_all(conn)
    .await?;
    let may_send = rows.into_iter().filter(|row| {
        let domain = domain_of(&row.address);
        domain == domain_of(&row.own) || row.signed.contains(&domain)
    });
    Ok(may_send.map(|row| FurtherSender { mailbox: row.mailbox, address: row.address }).collect())
}

/// All of one inbox, its own first.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId, mailbox: &Mailbox) -> Result<Vec<String>> {
    let further = further(conn, workspace, &[mailbox.id]).await?;
    Ok(std::iter::once(mailbox.address.clone()).chain(further.into_iter().map(|one| one.address)).collect())
}

/// Until the transaction ends nobody takes the address from its inbox.
pub async fn hold(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        r#"select 1 as "held!" from mailbox_aliases where workspace_id = $1 and address = $2 for key share"#,
        workspace,
        address
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(())
}
