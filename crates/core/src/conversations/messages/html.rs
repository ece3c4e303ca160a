//! The HTML of a mail, kept as it came (docs/decisions/mail-html.md). Whoever shows it makes it safe first: `html/sanitise`.
//! Mail without HTML, and mail of before it was kept, has no row. Of mail of ours it is how its writer formatted their own words
//! (`html/written`), and holds as long as the text of the mail begins with these.

use std::sync::Arc;

use sqlx::PgConnection;
use sqlx::types::Json;

use crate::conversations::timeline::Attachment;
use crate::workspace::access::Actor;
use rookery_base::error::{NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::html::paragraphs::paragraphs;
use rookery_reading::html::written;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Html {
    pub source: Arc<str>,
    /// Laid out with tables or pictures: a reader sees it first, else the text.
    pub laid_out: bool,
    /// It names pictures on the web.
    pub remote_images: bool,
}

/// One statement for all of them; none when there is none.
pub async fn keep(tx: &mut Tx<'_>, mails: &[(MessageId, &Html)]) -> Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    let workspace = tx.workspace().0;
    let messages: Vec<i64> = mails.iter().map(|(message, _)| message.0).collect();
    let sources: Vec<&str> = mails.iter().map(|(_, html)| &*html.source).collect();
    let laid_out: Vec<bool> = mails.iter().map(|(_, html)| html.laid_out).collect();
    let remote: Vec<bool> = mails.iter().map(|(_, html)| html.remote_images).collect();
    sqlx::query!(
        "insert into message_html (workspace_id, message_id, html, laid_out, remote_images)
         select $1, * from unnest($2::bigint[], $3::text[], $4::boolean[], $5::boolean[])",
        workspace,
        &messages,
        &sources as &[&str],
        &laid_out,
        &remote
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// How somebody formatted a mail that they wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailFormatting {
    pub html: String,
    /// The signature at its end, if that is formatted.
    pub signature: Option<String>,
}

/// What somebody wrote themselves, in the formatting that they gave it.
pub async fn keep_formatting(
    tx: &mut Tx<'_>,
    message: MessageId,
    html: &str,
    signature: Option<&str>,
) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into message_html (workspace_id, message_id, html, laid_out, remote_images, formatted, signature)
         values ($1, $2, $3, true, false, true, $4)",
        workspace,
        message.0,
        html,
        signature
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// How somebody formatted a mail that they wrote, if they did.
pub async fn formatting(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<MailFormatting>> {
    Ok(sqlx::query_as!(
        MailFormatting,
        "select html, signature from message_html where workspace_id = $1 and message_id = $2 and formatted",
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?)
}

/// What came with a message beside its text.
#[derive(Debug)]
pub struct Parts {
    pub conversation: ConversationId,
    pub html: Option<String>,
    pub attachments: Vec<Attachment>,
}

/// Of a message that somebody can see. Hidden, foreign and unknown ones are the same error.
pub async fn parts(conn: &mut PgConnection, who: &Actor, message: MessageId) -> Result<Parts> {
    let row = sqlx::query!(
        r#"select m.conversation_id as "conversation: ConversationId",
               m.attachments as "attachments: Json<Vec<Attachment>>", coalesce(m.written, m.text) as "text!",
               h.html as "html?", h.formatted as "formatted?"
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           left join message_html h on h.workspace_id = $1 and h.message_id = m.id
           where m.workspace_id = $1 and m.id = $2 and c.audience = any($3)"#,
        who.workspace.0,
        message.0,
        &who.audiences()
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MESSAGE)?;
    // Without a private link that leaves under it.
    let html = row.html.map(|html| if row.formatted == Some(true) { whole(&html, &row.text) } else { html });
    Ok(Parts { conversation: row.conversation, html, attachments: row.attachments.0 })
}

/// A formatted mail with all that its text says: as text alone, when the formatting says something else.
pub fn whole(stored: &str, text: &str) -> String {
    written::whole(stored, text).unwrap_or_else(|| paragraphs(text))
}
