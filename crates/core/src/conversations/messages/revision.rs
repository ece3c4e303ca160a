//! What people make of a draft before it leaves (specification 3.3): their changes to it, and who let it go. What was
//! drafted stays beside what is sent, so that everybody can see what was changed.

use chrono::{DateTime, Utc};

use crate::conversations::conversation::Locked;
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, PersonId};
use rookery_base::store::db::Tx;

/// A draft as somebody wants it: what the customer will read, and what was written above something of ours in it.
#[derive(Clone, Copy, Debug)]
pub struct Revised<'a> {
    pub text: &'a str,
    pub written: Option<&'a str>,
    /// What stood there before.
    pub before: &'a str,
}

/// When a person last changed it.
pub async fn edited_at(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
) -> Result<Option<DateTime<Utc>>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        "select edited_at from messages where workspace_id = $1 and conversation_id = $2 and id = $3",
        workspace,
        conversation.id.0,
        message.0
    )
    .fetch_optional(&mut **tx)
    .await?
    .flatten())
}

/// Keeps a person's changes to a draft, and gives when they were made.
pub async fn revise(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    person: PersonId,
    revised: Revised<'_>,
) -> Result<DateTime<Utc>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_scalar!(
        r#"update messages set text = $4, written = $5, drafted_body = coalesce(drafted_body, $6), edited_by = $7,
             edited_at = $8
         where workspace_id = $1 and conversation_id = $2 and id = $3 and status = 'draft'
         returning edited_at as "edited_at!""#,
        workspace,
        conversation.id.0,
        message.0,
        revised.text,
        revised.written,
        revised.before,
        person.0,
        now
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Notes who let it go. `before` is what was there until then, if the person changed it. Gives what was drafted at first,
/// if it was ever changed.
pub async fn let_go(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    message: MessageId,
    person: PersonId,
    before: Option<&str>,
) -> Result<Option<String>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_scalar!(
        "update messages set approved_by = $4, approved_at = $5, drafted_body = coalesce(drafted_body, $6),
             edited_by = case when $6::text is null then edited_by else $4 end,
             edited_at = case when $6::text is null then edited_at else $5 end
         where workspace_id = $1 and conversation_id = $2 and id = $3
         returning drafted_body",
        workspace,
        conversation.id.0,
        message.0,
        person.0,
        now,
        before
    )
    .fetch_one(&mut **tx)
    .await?)
}
