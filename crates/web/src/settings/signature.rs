//! Signatures as pages have them: what the form of an inbox's or of one's own says, and the pictures that are put into it. Without
//! script a signature is its text, and its formatting stays as long as nobody changes that.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sqlx::PgConnection;

use crate::conversation::receive::receive;
use crate::visit::{Form, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, SignatureFileId};
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::signatures::TypedSignature;
use rookery_core::workspace::signatures::pictures::{self, SignatureOwner, SignaturePicture};
use rookery_http::answers::insert;
use rookery_product::replies::upload;

/// What a form says. Only the editor of a page says `rich`.
pub fn typed(form: &Form) -> TypedSignature<'_> {
    let html = form.get("html").filter(|_| form.flag("rich"));
    TypedSignature { text: form.get("signature").unwrap_or_default(), html }
}

/// The inbox that the path names, if this person may say what it signs with: owners and admins for those of the team, everybody
/// for their own.
pub async fn inbox(asked: &MemberRequest, conn: &mut PgConnection) -> Result<MailboxId> {
    let id: MailboxId = asked.id("id")?;
    let mailbox = mailboxes::find_visible(conn, &asked.person, &id.to_string()).await?;
    if mailbox.audience == TEAM && !asked.person.role.administers() {
        return Err(Error::Forbidden(
            "Only owners and admins can change the signatures of team inboxes.".into(),
        ));
    }
    Ok(id)
}

/// `POST /profile/signature/pictures`
pub async fn add_to_own(asked: MemberRequest) -> Result<Response> {
    add(&asked, SignatureOwner::Person(asked.person.id)).await
}

/// `POST /settings/signatures/{id}/pictures`
pub async fn add_to_inbox(asked: MemberRequest) -> Result<Response> {
    let mut conn = asked.reading().await?;
    let inbox = inbox(&asked, &mut conn).await?;
    drop(conn);
    add(&asked, SignatureOwner::Mailbox(inbox)).await
}

/// The page learns what the picture is called, or what is wrong with it.
async fn add(asked: &MemberRequest, owner: SignatureOwner) -> Result<Response> {
    let (_, files) = receive(asked).await?;
    let named = name(asked, owner, &files).await;
    if named.as_ref().is_err_and(|error| !error.is_uncertain()) {
        let blobs: Vec<String> = files.into_iter().map(|file| file.blob).collect();
        asked.app().blobs.discard(&blobs).await;
    }
    match named {
        Ok(named) => {
            let mut response = StatusCode::NO_CONTENT.into_response();
            insert(response.headers_mut(), "x-draft-file", &named.to_string());
            Ok(response)
        }
        Err(Error::Problems(problems)) => {
            let sentences: Vec<String> = problems.into_iter().map(|problem| problem.what).collect();
            Ok((StatusCode::BAD_REQUEST, sentences.join(" ")).into_response())
        }
        Err(error) => Err(error),
    }
}

async fn name(asked: &MemberRequest, owner: SignatureOwner, files: &[Attachment]) -> Result<SignatureFileId> {
    let [file] = files else { return Err(Error::problem("file", "Add one picture at a time.")) };
    let file = upload::as_picture(asked.app(), file.clone()).await?;
    let picture = SignaturePicture {
        filename: file.filename,
        content_type: file.content_type,
        size: file.size,
        blob: file.blob,
    };
    let mut tx = asked.tx().await?;
    let named = pictures::add(&mut tx, owner, &picture).await?;
    // The inbox may have changed hands while the file came. Now its row is locked.
    if let SignatureOwner::Mailbox(_) = owner {
        inbox(asked, &mut tx).await?;
    }
    tx.commit().await?;
    Ok(named)
}
