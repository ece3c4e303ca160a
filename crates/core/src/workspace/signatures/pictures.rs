//! Pictures of signatures: files of an inbox or of a person, which the formatting of the signature names by their ids
//! (docs/decisions/formatted-mail.md). When one goes that a saved signature showed, its bytes stay: mail that was sent with it
//! names them. Saving takes away what the signature does not show, so what is here and not shown never was.

use std::ops::Range;

use sqlx::PgConnection;

use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::{MailboxId, PersonId, SignatureFileId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_base::store::held_blobs::held_blobs;
use rookery_reading::html::written;

/// Pictures of one signature, and bytes of each: every mail carries them.
pub(super) const MOST: usize = 2;
const MOST_BYTES: i64 = 200 * 1024;
/// Pictures that the signature does not show, or not yet: it may still be written.
const MOST_WAITING: usize = 10;

/// Whose signature it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureOwner {
    Mailbox(MailboxId),
    Person(PersonId),
}

impl SignatureOwner {
    fn mailbox(self) -> Option<i64> {
        match self {
            Self::Mailbox(id) => Some(id.0),
            Self::Person(_) => None,
        }
    }

    fn person(self) -> Option<i64> {
        match self {
            Self::Mailbox(_) => None,
            Self::Person(id) => Some(id.0),
        }
    }
}

#[derive(Clone, Debug)]
pub struct SignaturePicture {
    pub filename: String,
    pub content_type: String,
    pub size: i64,
    pub blob: String,
}

/// Whether a file of a mail of ours is a picture of its signature, by the id under which the formatting names it.
pub fn is_signature_picture(content_id: &str) -> bool {
    content_id.parse::<SignatureFileId>().is_ok()
}

/// Adds a stored picture, which the signature can then show.
pub async fn add(
    tx: &mut Tx<'_>,
    owner: SignatureOwner,
    picture: &SignaturePicture,
) -> Result<SignatureFileId> {
    if picture.size > MOST_BYTES {
        let most = MOST_BYTES / 1024;
        let what = format!("Signature pictures can be up to {most} KB. Choose a smaller one.");
        return Err(Error::problem("file", what));
    }
    let html = lock(tx, owner).await?.unwrap_or_default();
    let workspace = tx.workspace().0;
    let there = sqlx::query_scalar!(
        r#"select id as "id: SignatureFileId" from signature_files
           where workspace_id = $1 and (mailbox_id = $2 or person_id = $3) order by id desc"#,
        workspace,
        owner.mailbox(),
        owner.person()
    )
    .fetch_all(&mut **tx)
    .await?;
    let shown = shown(&html);
    let gone: Vec<SignatureFileId> =
        there.into_iter().filter(|id| !shown.contains(id)).skip(MOST_WAITING - 1).collect();
    if !gone.is_empty() {
        let blobs = sqlx::query_scalar!(
            "delete from signature_files where workspace_id = $1 and id = any($2) returning blob",
            workspace,
            &gone as &[SignatureFileId]
        )
        .fetch_all(&mut **tx)
        .await?;
        doomed_files::doom(tx, &blobs).await?;
    }
    let id: SignatureFileId = tx.mint();
    sqlx::query!(
        "insert into signature_files (workspace_id, id, mailbox_id, person_id, filename, content_type, size, blob)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        workspace,
        id.0,
        owner.mailbox(),
        owner.person(),
        picture.filename,
        picture.content_type,
        picture.size,
        picture.blob
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}

/// How the signature is formatted now, with its row locked: pictures come and go with it.
pub(super) async fn lock(tx: &mut Tx<'_>, owner: SignatureOwner) -> Result<Option<String>> {
    let workspace = tx.workspace().0;
    let found =
        match owner {
            SignatureOwner::Mailbox(id) => sqlx::query_scalar!(
                "select signature_html from mailboxes where workspace_id = $1 and id = $2 for no key update",
                workspace,
                id.0
            )
            .fetch_optional(&mut **tx)
            .await?,
            SignatureOwner::Person(id) => {
                sqlx::query_scalar!(
                    "select signature_html from people where workspace_id = $1 and id = $2 for no key update",
                    workspace,
                    id.0
                )
                .fetch_optional(&mut **tx)
                .await?
            }
        };
    found.ok_or(NO_MAILBOX)
}

/// The formatting with pictures of this owner alone; others become the words that stand for them.
pub(super) async fn only_own(tx: &mut Tx<'_>, owner: SignatureOwner, html: &str) -> Result<String> {
    let named = shown(html);
    if named.is_empty() {
        return Ok(written::with_pictures(html, |_| None));
    }
    let workspace = tx.workspace().0;
    let own = sqlx::query_scalar!(
        r#"select id as "id: SignatureFileId" from signature_files
           where workspace_id = $1 and (mailbox_id = $2 or person_id = $3) and id = any($4)"#,
        workspace,
        owner.mailbox(),
        owner.person(),
        &named as &[SignatureFileId]
    )
    .fetch_all(&mut **tx)
    .await?;
    let own: Vec<String> = own.into_iter().map(|id| id.to_string()).collect();
    Ok(written::with_pictures(html, |id| own.iter().any(|own| own == id).then(|| format!("cid:{id}"))))
}

/// Those that the saved formatting does not show go. `before` is the formatting that was saved until now.
pub(super) async fn drop_unshown(
    tx: &mut Tx<'_>,
    owner: SignatureOwner,
    before: &str,
    html: &str,
) -> Result<()> {
    let (workspace, were_shown, shown) = (tx.workspace().0, shown(before), shown(html));
    let gone = sqlx::query!(
        r#"delete from signature_files
           where workspace_id = $1 and (mailbox_id = $2 or person_id = $3) and id <> all($4)
           returning id as "id: SignatureFileId", blob"#,
        workspace,
        owner.mailbox(),
        owner.person(),
        &shown as &[SignatureFileId]
    )
    .fetch_all(&mut **tx)
    .await?;
    let never_shown = gone.into_iter().filter(|picture| !were_shown.contains(&picture.id));
    let blobs: Vec<String> = never_shown.map(|picture| picture.blob).collect();
    doomed_files::doom(tx, &blobs).await
}

fn shown(html: &str) -> Vec<SignatureFileId> {
    written::pictures(html).iter().filter_map(|id| id.parse().ok()).collect()
}

/// One that somebody can see: their own, or of an inbox that they see.
pub async fn find(conn: &mut PgConnection, person: &Person, id: SignatureFileId) -> Result<SignaturePicture> {
    let found = sqlx::query_as!(
        SignaturePicture,
        "select filename, content_type, size, blob from signature_files f
         where workspace_id = $1 and id = $2
           and (person_id = $3 or exists (select from mailboxes m
                                          where m.workspace_id = $1 and m.id = f.mailbox_id and m.audience = any($4)))",
        person.workspace.0,
        id.0,
        person.id.0,
        &person.audiences()
    )
    .fetch_optional(conn)
    .await?;
    found.ok_or(Error::Missing("No such picture."))
}

/// What a mail carries that shows a signature: its pictures, by their ids.
pub async fn list(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    html: &str,
) -> Result<Vec<(SignatureFileId, SignaturePicture)>> {
    let shown = shown(html);
    if shown.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select id as "id: SignatureFileId", filename, content_type, size, blob from signature_files
           where workspace_id = $1 and id = any($2) order by id"#,
        workspace.0,
        &shown as &[SignatureFileId]
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| {
        let picture = SignaturePicture {
            filename: row.filename,
            content_type: row.content_type,
            size: row.size,
            blob: row.blob,
        };
        (row.id, picture)
    });
    Ok(each.collect())
}

/// Which of these blobs pictures with such ids name.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    held_blobs!(conn, "signature_files", workspace, ids, blobs)
}
