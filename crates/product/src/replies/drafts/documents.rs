//! What a reply that somebody is writing asks for: the documents and the language are put into their draft, and its text stays as it
//! is. An open page that does not know of it is asked before it overwrites it, as after any other save.

use crate::replies::drafts::NO_DRAFT;
use rookery_base::error::Result;
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::workspace::people::Person;
use rookery_reading::text;

/// The documents are lines, as `asking` writes them.
pub async fn ask(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &Conversation,
    documents: &str,
    language: Option<Language>,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let asked = sqlx::query!(
        "update written_drafts
         set documents = $4, documents_language = $5, version = version + 1, page = '', save = 0, saved_at = $6
         where workspace_id = $1 and person_id = $2 and conversation_id = $3 and kind = 'reply' and became is null",
        workspace,
        person.id.0,
        conversation.id.0,
        text::lines(documents),
        language.map(Language::as_str),
        now
    )
    .execute(&mut **tx)
    .await?;
    if asked.rows_affected() == 0 { Err(NO_DRAFT) } else { Ok(()) }
}
