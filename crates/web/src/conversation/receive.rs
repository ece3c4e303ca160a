//! Reads a form with files: each is stored as it comes, and what was stored of a form that breaks off is removed again. The words
//! are bounded together, the files one by one.

use std::time::Duration;

use axum::extract::multipart::Field;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::StatusCode;
use futures::TryStreamExt;
use tokio::time::timeout;

use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_core::conversations::timeline::Attachment;
use rookery_product::replies::upload;

/// Bytes of a form with a file.
const MOST_UPLOAD: usize = upload::MOST_BYTES as usize + (1 << 20);
/// An upload that takes longer is given up.
const UPLOAD_TIME: Duration = Duration::from_secs(15 * 60);
/// Bytes of the text fields of a form with files.
const MOST_WORDS: usize = 2 << 20;
/// Bytes that each field counts in addition to its text.
const FIELD: usize = 64;

pub(crate) async fn receive(asked: &MemberRequest) -> Result<(FormFields, Vec<Attachment>)> {
    let _place = asked.app().uploads.begin(asked.person.workspace, asked.session.id)?;
    let mut request = Request::new(asked.take_body());
    *request.headers_mut() = asked.parts.headers.clone();
    DefaultBodyLimit::max(MOST_UPLOAD).apply(&mut request);
    let not_a_form = |_| Error::problem("file", "choose a file and try again");
    let mut parts = Multipart::from_request(request, &()).await.map_err(not_a_form)?;
    let (mut fields, mut files) = (Vec::new(), Vec::new());
    let read = async {
        let mut words = 0;
        while let Some(mut part) = parts.next_field().await.map_err(broken)? {
            let name = part.name().unwrap_or_default().to_owned();
            if name != "file" {
                words += name.len() + FIELD;
                let text = text_of(&mut part, MOST_WORDS.saturating_sub(words)).await?;
                words += text.len();
                fields.push((name, text));
                continue;
            }
            let filename = part.file_name().unwrap_or_default().to_owned();
            let kind = part.content_type().unwrap_or_default().to_owned();
            // A form without a chosen file has an empty one.
            if filename.is_empty() {
                while part.chunk().await.map_err(broken)?.is_some() {}
                continue;
            }
            if files.len() as i64 >= upload::MOST_FILES {
                return Err(Error::problem("file", "these are too many files at once"));
            }
            let bytes = part.map_err(broken);
            files.push(upload::store(asked.app(), asked.person.workspace, &filename, &kind, bytes).await?);
        }
        Ok(())
    };
    let too_long = |_| Error::problem("file", "the upload took too long; try again");
    match timeout(UPLOAD_TIME, read).await.map_err(too_long).flatten() {
        Ok(()) => Ok((FormFields::from_pairs(fields), files)),
        Err(error) => {
            let blobs: Vec<String> = files.into_iter().map(|file: Attachment| file.blob).collect();
            asked.app().blobs.discard(&blobs).await;
            Err(error)
        }
    }
}

/// The words of a field, as long as all words together may still be.
async fn text_of(part: &mut Field<'_>, most: usize) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(piece) = part.chunk().await.map_err(broken)? {
        if bytes.len() + piece.len() > most {
            return Err(Error::TooLarge);
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| Error::problem("file", "the upload broke off; try again"))
}

fn broken(error: axum::extract::multipart::MultipartError) -> Error {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge,
        _ => Error::problem("file", "the upload broke off; try again"),
    }
}
