//! Which files of a draft leave with it. Pictures within its text do only while the formatting shows them: what is undone and
//! redone while one writes must not lose them.

use std::collections::HashSet;

use sqlx::PgConnection;

use crate::replies::drafts::{Draft, DraftFile, NO_DRAFT};
use rookery_base::error::Result;
use rookery_base::ids::DraftFileId;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::people::Person;
use rookery_reading::html::written;

impl Draft {
    /// The files that go with the mail.
    pub fn leaving_files(&self) -> impl Iterator<Item = &DraftFile> {
        leaving(&self.files, self.words.formatting())
    }
}

/// Of these files of a draft those that would go with it: all but pictures that its formatting does not show.
pub fn leaving<'a>(files: &'a [DraftFile], html: &str) -> impl Iterator<Item = &'a DraftFile> + use<'a> {
    let shown: HashSet<String> = written::pictures(html).into_iter().collect();
    files.iter().filter(move |file| file.attachment.content_id.as_ref().is_none_or(|id| shown.contains(id)))
}

/// A picture that its writer put into a text that is not sent yet.
pub async fn find_picture(conn: &mut PgConnection, person: &Person, file: DraftFileId) -> Result<Attachment> {
    let row = sqlx::query!(
        "select filename, f.content_type, size, blob
         from written_draft_files f join written_drafts d on d.workspace_id = $1 and d.id = f.draft_id
         where f.workspace_id = $1 and f.id = $2 and inline and d.person_id = $3 and became is null",
        person.workspace.0,
        file.0,
        person.id.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_DRAFT)?;
    Ok(Attachment {
        filename: row.filename,
        content_type: row.content_type,
        size: row.size,
        blob: row.blob,
        content_id: Some(file.to_string()),
        borrowed: false,
        content_hash: None,
        document: None,
    })
}
