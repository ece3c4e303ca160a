//! Files on mail of ours: uploaded to the draft as they are chosen, so that nothing is lost with the page. A file is
//! stored first and named by a row after; names are cleaned, and all files of a mail together have a limit.

use std::ops::Range;

use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use sqlx::PgConnection;

use crate::documents::library;
use crate::replies::draft_end;
use crate::replies::drafts::NO_DRAFT;
use crate::replies::drafts::files::{self, LeftBlob};
use crate::replies::drafts::pictures;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{DraftFileId, DraftId, WorkspaceId};
use rookery_base::net::pictures::kind as picture_kind;
use rookery_base::secrets::hashes;
use rookery_base::store::db::Tx;
use rookery_base::store::held_blobs::held_blobs;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::people::Person;
use rookery_reading::text;

/// Bytes of all files of one mail. As mail they take a third more; what is larger than 25 MB then, most servers refuse.
pub const MOST_BYTES: i64 = 18 * 1024 * 1024;
pub const MOST_FILES: i64 = 30;
/// Pictures within the text, and bytes of each.
const MOST_PICTURES: i64 = 20;
const MOST_PICTURE_BYTES: i64 = 5 * 1024 * 1024;
const LONGEST_NAME: usize = 120;

/// Stores the bytes of a file. It is nobody's until a row names it.
pub async fn store<E: Into<Error>>(
    app: &App,
    workspace: WorkspaceId,
    filename: &str,
    content_type: &str,
    bytes: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Attachment> {
    let written =
        app.blobs.write(workspace, "file", bytes, MOST_BYTES as u64).await.map_err(|error| match error {
            Error::TooLarge => too_large(),
            other => other,
        })?;
    Ok(Attachment {
        filename: name(filename),
        content_type: media_type(content_type),
        size: written.length as i64,
        blob: written.key,
        content_id: None,
        borrowed: false,
        content_hash: Some(hashes::hex(&written.hash)),
        document: None,
    })
}

/// A stored file once more, as another mail's own: what one mail has does not end with another.
pub async fn copy(app: &App, workspace: WorkspaceId, file: &library::DocumentFile) -> Result<Attachment> {
    let bytes = app.blobs.read(&file.blob).await?.bytes;
    store(app, workspace, &file.filename, &file.content_type, bytes).await
}

/// Adds a stored file to a draft. One that is `inline` is a picture, which the text will show. `saved` is the version that was
/// saved with it: only by that are pictures known that the text no longer shows.
pub async fn attach(
    tx: &mut Tx<'_>,
    person: &Person,
    draft: DraftId,
    saved: Option<i32>,
    file: &Attachment,
    inline: bool,
) -> Result<DraftFileId> {
    let fate = draft_end::lock(tx, person, draft).await?;
    if fate.became.is_some() {
        return Err(NO_DRAFT);
    }
    if let Err(full) = check_room(tx, draft, file, inline).await? {
        let Some(version) = saved else { return Err(full) };
        pictures::drop_unshown(tx, draft, version, fate.conversation).await?;
        check_room(tx, draft, file, inline).await?.map_err(|_| full)?;
    }
    files::add(tx, draft, file, inline).await
}

async fn check_room(
    tx: &mut Tx<'_>,
    draft: DraftId,
    file: &Attachment,
    inline: bool,
) -> Result<Result<(), Error>> {
    let workspace = tx.workspace().0;
    let there = sqlx::query!(
        r#"select count(*) as "files!", count(*) filter (where inline) as "pictures!",
               coalesce(sum(size), 0)::bigint as "bytes!"
           from written_draft_files where workspace_id = $1 and draft_id = $2"#,
        workspace,
        draft.0
    )
    .fetch_one(&mut **tx)
    .await?;
    let problem = |what: String| Ok(Err(Error::problem("file", what)));
    if inline && there.pictures >= MOST_PICTURES {
        return problem(format!(
            "A mail has at most {MOST_PICTURES} pictures in its text. Attach others as files."
        ));
    }
    if inline && file.size > MOST_PICTURE_BYTES {
        let most = MOST_PICTURE_BYTES / 1024 / 1024;
        return problem(format!(
            "A picture in the text has at most {most} MB. Attach a larger one as a file."
        ));
    }
    if there.files >= MOST_FILES {
        return problem(format!("A mail has at most {MOST_FILES} files."));
    }
    Ok(if there.bytes + file.size > MOST_BYTES { Err(too_large()) } else { Ok(()) })
}

/// Makes sure that a stored file is a picture which mail programs show. Its bytes say what it is.
pub async fn as_picture(app: &App, file: Attachment) -> Result<Attachment> {
    let first = app.blobs.read(&file.blob).await?.bytes.try_next().await?.unwrap_or_default();
    let kind = picture_kind(&first).ok_or_else(|| {
        let what = "A picture in the text is a PNG, JPEG, GIF or WebP file. Attach other files instead.";
        Error::problem("file", what)
    })?;
    Ok(Attachment { content_type: kind.to_owned(), ..file })
}

fn too_large() -> Error {
    Error::problem("file", too_large_in_words())
}

pub fn too_large_in_words() -> String {
    let most = MOST_BYTES / 1024 / 1024;
    format!("The files of a mail have at most {most} MB together. Leave one out, or send it another way.")
}

/// Takes a file out of a draft. Gives the name of its bytes when nobody else names them, to be removed once this is
/// committed.
pub async fn detach(
    tx: &mut Tx<'_>,
    person: &Person,
    draft: DraftId,
    file: DraftFileId,
) -> Result<Vec<String>> {
    let fate = draft_end::lock(tx, person, draft).await?;
    if fate.became.is_some() {
        return Err(NO_DRAFT);
    }
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "delete from written_draft_files where workspace_id = $1 and draft_id = $2 and id = $3
         returning blob, borrowed",
        workspace,
        draft.0,
        file.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let left = row
        .filter(|row| !row.borrowed)
        .map(|row| LeftBlob { conversation: fate.conversation, blob: row.blob });
    files::unheld(tx, Vec::from_iter(left)).await
}

/// One plain name: never a path, never empty, nothing that hides its extension.
pub fn name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let seen: String = last.chars().filter(|letter| !is_hiding(*letter)).collect();
    let name = text::line(&seen);
    let name = name.trim_matches(['.', ' ']).replace(['"', '<', '>', '|', ':', '*', '?'], "_");
    match name.chars().count() {
        0 => "file".to_owned(),
        length if length > LONGEST_NAME => match name.rsplit_once('.') {
            Some((stem, extension)) if extension.chars().count() <= 16 => {
                let stem: String = stem.chars().take(LONGEST_NAME - extension.chars().count() - 1).collect();
                format!("{stem}.{extension}")
            }
            _ => name.chars().take(LONGEST_NAME).collect(),
        },
        _ => name,
    }
}

/// Characters that reorder or hide text.
fn is_hiding(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What the browser says it is, if that is a type at all. Nobody trusts it: it only tells the reader's program.
fn media_type(given: &str) -> String {
    let plain = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphanumeric())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
    };
    match plain.split_once('/') {
        Some((kind, of)) if plain.len() <= 100 && is_word(kind) && is_word(of) => plain,
        _ => "application/octet-stream".to_owned(),
    }
}

/// Which of these blobs files of drafts with such ids name.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    held_blobs!(conn, "written_draft_files", workspace, ids, blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_one_plain_name() {
        for (given, wanted) in [
            ("lease.pdf", "lease.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\Ada\\lease.pdf", "lease.pdf"),
            ("a\r\nBcc: eve@x.example.pdf", "aBcc_ eve@x.example.pdf"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            ("\"><script>.html", "___script_.html"),
            ("", "file"),
            ("...", "file"),
            ("  two   words .txt ", "two words .txt"),
        ] {
            assert_eq!(name(given), wanted, "{given:?}");
        }
        let long = format!("{}.pdf", "x".repeat(300));
        assert!(name(&long).len() == 120 && name(&long).ends_with(".pdf"));
    }

    #[test]
    fn a_type_is_two_words() {
        assert_eq!(media_type("application/PDF; name=x"), "application/pdf");
        for wrong in ["", "pdf", "a/b/c", "text/html\r\nX: y", "../x", "text/ html"] {
            assert_eq!(media_type(wrong), "application/octet-stream", "{wrong:?}");
        }
    }
}
