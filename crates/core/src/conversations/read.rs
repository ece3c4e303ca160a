//! One conversation, whole (specification 2.4, 4.3): itself, its timeline, the team it can be given to and, when one was
//! recorded, the email an app sent that it answers.
//!
//! All of it is of one instant, so it takes a snapshot. Reading changes nothing and leaves no trace that others could see.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Conversation, Member};
use crate::conversations::secure::words::{self, ThreadReader};
use crate::conversations::team;
use crate::conversations::timeline::{self, Attachment, SHOWN_TEXT, TimelineCursor, TimelinePiece};
use crate::workspace::agents::secure_words;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentId, WorkspaceId};
use rookery_base::store::db::{Handle, Snapshot};

#[derive(Debug)]
pub struct WholeConversation {
    pub conversation: Conversation,
    /// The newest of it, oldest first.
    pub timeline: timeline::TimelinePage,
    /// Whom it can be given to, by name; of absences those that hold.
    pub team: Vec<Member>,
    pub app_sent: Option<AppSent>,
}

/// An email that an app sent by itself, as the conversation of its replies shows it.
#[derive(Debug)]
pub struct AppSent {
    pub message_id: String,
    pub reference: Option<String>,
    pub recipients: Vec<String>,
    pub subject: String,
    /// When it left, or was recorded when only that is known.
    pub sent_at: DateTime<Utc>,
    pub text: Option<String>,
}

/// Of a conversation that was found for somebody, in the same snapshot; of its timeline what is before the cursor.
pub async fn whole(
    snapshot: &mut Snapshot,
    conversation: Conversation,
    before: Option<TimelineCursor>,
) -> Result<WholeConversation> {
    let workspace = snapshot.frame().workspace;
    let mut timeline = timeline::read(snapshot, workspace, conversation.id, before, timeline::MOST).await?;
    if secure_words::may_read(snapshot, workspace).await? {
        let keys = snapshot.frame().keys.clone();
        words::open_items(snapshot, keys.as_deref(), workspace, &mut timeline.items, ThreadReader::Agent)
            .await?;
    }
    name_documents(snapshot, workspace, &conversation, &mut timeline.items).await?;
    let mut team = team::for_conversation(snapshot, workspace, &conversation).await?;
    let now = snapshot.now();
    team.iter_mut().for_each(|member| member.absence = member.away(&now));
    let app_sent = app_sent(snapshot, workspace, conversation.id).await?;
    Ok(WholeConversation { conversation, timeline, team, app_sent })
}

/// Says of each file which document of the conversation it is. The same bytes are one document, however often they came; mail
/// that was stored before hashes were kept is known by where its bytes are.
async fn name_documents(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    items: &mut [TimelinePiece],
) -> Result<()> {
    let messages = items.iter_mut().filter_map(|item| match item {
        TimelinePiece::Message(message) => Some(&mut message.attachments),
        _ => None,
    });
    let mut files: Vec<&mut Attachment> = messages.flatten().collect();
    if files.is_empty() {
        return Ok(());
    }
    let blobs: Vec<String> = files.iter().map(|file| file.blob.clone()).collect();
    let hashes: Vec<String> = files.iter().filter_map(|file| file.content_hash.clone()).collect();
    let documents = sqlx::query!(
        r#"select id as "id: DocumentId", blob, encode(content_hash, 'hex') as "hash!" from documents
           where workspace_id = $1 and conversation_id = $2 and audience = $3
             and (blob = any($4) or content_hash = any(array(select decode(hash, 'hex') from unnest($5::text[]) as t (hash))))"#,
        workspace.0,
        conversation.id.0,
        conversation.audience,
        &blobs,
        &hashes
    )
    .fetch_all(conn)
    .await?;
    for file in &mut files {
        let is_it = |hash: &str, blob: &str| file.content_hash.as_deref() == Some(hash) || file.blob == blob;
        file.document = documents.iter().find(|own| is_it(&own.hash, &own.blob)).map(|own| own.id);
    }
    Ok(())
}

pub async fn app_sent(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: ConversationId,
) -> Result<Option<AppSent>> {
    Ok(sqlx::query_as!(
        AppSent,
        r#"select message_id, reference, recipients, subject, coalesce(sent_at, recorded_at) as "sent_at!",
                  left(body_text, $3) as text
           from app_mail where workspace_id = $1 and conversation_id = $2"#,
        workspace.0,
        conversation.0,
        SHOWN_TEXT
    )
    .fetch_optional(conn)
    .await?)
}
