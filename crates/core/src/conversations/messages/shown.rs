//! What people see of messages beside what a read has: who wrote one of ours, when it leaves, why mail was filed here, what
//! of it was quoted history, and whether it came as HTML (specification 2.4, APP-3).

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::messages::message::{Author, Channel, Origin};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};

#[derive(Debug)]
pub struct MessageDetails {
    /// Of a message of ours.
    pub author: Option<Author>,
    pub author_name: Option<String>,
    pub summary: Option<String>,
    pub sends_at: Option<DateTime<Utc>>,
    /// When a person last changed it, before it left.
    pub edited_at: Option<DateTime<Utc>>,
    /// What was written above something of ours in it, such as a checklist; no more than `most` characters of it.
    pub written: Option<String>,
    pub channel: Channel,
    /// Of a message of ours: its author wrote it in the composer and sent it, and nobody approved it.
    pub is_composed: bool,
    /// Of mail that came in: why it was filed here, and what its sender's domain says of it.
    pub placed: Option<String>,
    pub verdict: Option<serde_json::Value>,
    pub automatic: bool,
    /// Of a message of ours: the inbox answered by itself.
    pub auto_reply: bool,
    /// The text with its quoted history, when some was taken out; no more than `most` characters of it.
    pub whole_text: Option<String>,
    /// It has more text than was asked for.
    pub is_cut: bool,
    pub html: Option<Kept>,
    /// How its writer formatted it, in the form of `html/written`. One that is very long is shown in a frame, as mail that came in.
    pub formatted: Option<String>,
}

/// Bytes of a formatted mail that are shown within the page.
const LONGEST_FORMATTED: i32 = 64 << 10;

/// There is HTML of this mail.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub laid_out: bool,
    pub remote_images: bool,
}

/// Of these messages of one conversation; texts up to so many characters.
pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    messages: &[MessageId],
    most: i32,
) -> Result<HashMap<MessageId, MessageDetails>> {
    let rows = sqlx::query!(
        r#"select m.id as "id: MessageId", origin as "origin: Origin", author_type, author_id, summary, sends_at, edited_at,
               left(written, $4) as written,
               channel as "channel: Channel", placed, verdict, automatic,
               coalesce(origin = 'service' and answers is not null, false) as "auto_reply!",
               direction = 'outbound' as "ours!", composed and approved_by is null as "is_composed!", char_length(text) > $4 as "is_cut!",
               left(whole_text, $4) as whole_text, laid_out as "laid_out?", remote_images as "remote_images?",
               case when html.formatted and octet_length(html.html) <= $5 then html.html end as formatted,
               case author_type
                   when 'user' then (select name from people where workspace_id = $1 and people.id = author_id)
                   when 'agent' then (select name from agents where workspace_id = $1 and agents.id = author_id)
               end as author_name
           from messages m
           left join message_html html on html.workspace_id = $1 and html.message_id = m.id
           where m.workspace_id = $1 and m.conversation_id = $2 and m.id = any($3)"#,
        workspace.0,
        conversation.0,
        messages as &[MessageId],
        most,
        LONGEST_FORMATTED
    )
    .fetch_all(conn)
    .await?;
    let shown = rows.into_iter().map(|row| {
        let author = Author::stored(row.origin, row.author_type.as_deref(), row.author_id);
        let shown = MessageDetails {
            author: row.ours.then_some(author),
            author_name: row.author_name,
            summary: row.summary,
            sends_at: row.sends_at,
            edited_at: row.edited_at,
            written: row.written,
            channel: row.channel,
            is_composed: row.is_composed,
            placed: row.placed,
            verdict: row.verdict,
            automatic: row.automatic,
            auto_reply: row.auto_reply,
            whole_text: row.whole_text,
            is_cut: row.is_cut,
            formatted: row.formatted,
            html: row
                .laid_out
                .zip(row.remote_images)
                .map(|(laid_out, remote_images)| Kept { laid_out, remote_images }),
        };
        (row.id, shown)
    });
    Ok(shown.collect())
}

/// The whole text of one of them, with its quoted history.
pub async fn whole_text(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
    message: MessageId,
) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(whole_text, text) as "text!" from messages
           where workspace_id = $1 and conversation_id = $2 and id = $3"#,
        workspace.0,
        conversation.0,
        message.0
    )
    .fetch_optional(conn)
    .await?)
}
