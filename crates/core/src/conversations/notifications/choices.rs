//! What somebody wants to be told of, and whether a mail may tell them: by kind, for all inboxes, and otherwise for
//! single ones. Whoever chose nothing is told of everything in the app, and by mail of what stays unread.

use sqlx::PgConnection;

use crate::workspace::people::Person;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Tx;

pub const KINDS: [&str; 3] = ["assigned", "mentioned", "following"];
pub const CHOICES: [&str; 3] = ["mail", "app", "off"];

/// A choice for one inbox, or for all.
pub struct NotificationChoice {
    pub mailbox: Option<MailboxId>,
    pub kind: String,
    pub choice: String,
}

pub async fn load(conn: &mut PgConnection, person: &Person) -> Result<Vec<NotificationChoice>> {
    Ok(sqlx::query_as!(
        NotificationChoice,
        r#"select nullif(mailbox_id, 0) as "mailbox: MailboxId", kind, choice from notification_choices
           where workspace_id = $1 and person_id = $2"#,
        person.workspace.0,
        person.id.0
    )
    .fetch_all(conn)
    .await?)
}

/// Without a choice, an inbox does as all do, and all as is usual.
pub async fn choose(
    tx: &mut Tx<'_>,
    person: &Person,
    mailbox: Option<MailboxId>,
    kind: &str,
    choice: Option<&str>,
) -> Result<()> {
    if !KINDS.contains(&kind) || choice.is_some_and(|choice| !CHOICES.contains(&choice)) {
        return Err(Error::problem(kind, "must be one of mail, app, off"));
    }
    let (workspace, mailbox) = (tx.workspace().0, mailbox.map_or(0, |mailbox| mailbox.0));
    match choice {
        Some(choice) => {
            sqlx::query!(
                "insert into notification_choices (workspace_id, person_id, mailbox_id, kind, choice)
                 values ($1, $2, $3, $4, $5)
                 on conflict (workspace_id, person_id, mailbox_id, kind) do update set choice = $5",
                workspace,
                person.id.0,
                mailbox,
                kind,
                choice
            )
            .execute(&mut **tx)
            .await?
        }
        None => {
            sqlx::query!(
                "delete from notification_choices
                 where workspace_id = $1 and person_id = $2 and mailbox_id = $3 and kind = $4",
                workspace,
                person.id.0,
                mailbox,
                kind
            )
            .execute(&mut **tx)
            .await?
        }
    };
    Ok(())
}
