//! Files of messages and documents. A download is always an attachment of no type; a preview is what its bytes show to be
//! a picture or a PDF. Neither the sender's name for its type nor its content can make a browser run it.
//!
//! A file is found by the query that knows what the person can see: hidden, foreign and unknown are the same 404.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use crate::visit::MemberRequest;
use rookery_base::app::App;
use rookery_base::error::{NO_ENDPOINT, NO_MESSAGE, Result};
use rookery_base::ids::{MessageId, SignatureFileId};
use rookery_base::net::pictures;
use rookery_base::store::blobs::Blob;
use rookery_core::conversations::messages::html;
use rookery_core::conversations::secure::files as secure;
use rookery_core::conversations::secure::vault::Vault;
use rookery_core::conversations::timeline::Attachment;
use rookery_http::answers::insert;
use rookery_http::files::{SANDBOX, attached, disposition};
use rookery_product::replies::drafts::leaving;
use rookery_product::replies::ready::signature;

/// A picture up to this size is its own thumbnail.
pub const MOST_THUMB: i64 = 400_000;
/// Largest picture or PDF that is shown; larger ones can only be downloaded.
pub const MOST_PREVIEW: i64 = 25_000_000;

/// The policy of a PDF. It has no `sandbox`, because that would keep the browser's PDF viewer from starting.
const PDF: &str = "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'; frame-ancestors 'none'; \
                   base-uri 'none'; form-action 'none'";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preview {
    Picture,
    Pdf,
}

/// A file as pages show it.
pub struct Chip {
    pub address: String,
    pub name: String,
    pub kind: String,
    /// The media type that recipients of the file are told.
    pub content_type: String,
    pub size: i64,
    pub icon: &'static str,
    /// The address at which the browser shows it, if it is a picture or a PDF.
    pub preview: Option<String>,
    /// It opens in the viewer of pictures.
    pub is_picture: bool,
    /// Small enough to be its own thumbnail.
    pub is_thumb: bool,
}

/// `GET /messages/{id}/files/{n}`
pub async fn download(asked: MemberRequest) -> Result<Response> {
    let found = found(&asked, i64::MAX).await?;
    Ok(attached(found.bytes, &found.filename))
}

/// `GET /messages/{id}/files/{n}/preview`: pictures and PDF. What says it is one and is none is not there.
pub async fn preview(asked: MemberRequest) -> Result<Response> {
    let found = found(&asked, MOST_PREVIEW).await?;
    let mut response = shown(found.bytes, &found.filename).await?;
    if found.is_secure {
        // No browser keeps a plain copy of what is sealed here.
        insert(response.headers_mut(), "cache-control", "private, no-store");
    }
    Ok(response)
}

/// `GET /pictures/{id}`: a picture within the text of a draft, for its writer, or one of a signature.
pub async fn drafted(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let file = match asked.id::<SignatureFileId>("id") {
        Ok(id) => signature::find_picture(&mut reading, &asked.person, id).await?,
        Err(_) => leaving::find_picture(&mut reading, &asked.person, asked.id("id")?).await?,
    };
    drop(reading);
    picture(asked.app(), &file).await
}

/// A picture that a mail brought, and nothing but a picture.
pub async fn picture(app: &App, file: &Attachment) -> Result<Response> {
    if file.size > MOST_PREVIEW {
        return Err(NO_MESSAGE);
    }
    let shown = shown(app.blobs.read(&file.blob).await?, &file.filename).await?;
    let is_pdf = shown.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/pdf");
    if is_pdf { Err(NO_MESSAGE) } else { Ok(shown) }
}

struct MessageFile {
    filename: String,
    bytes: Blob,
    is_secure: bool,
}

/// A file that the person can see, if it is not larger than `most`. Files of a secure message are decrypted.
async fn found(asked: &MemberRequest, most: i64) -> Result<MessageFile> {
    let id: MessageId = asked.id("id")?;
    let n: usize = asked.id("n")?;
    let mut reading = asked.reading().await?;
    let parts = html::parts(&mut reading, &asked.person, id).await?;
    if let Some(file) = parts.attachments.into_iter().nth(n) {
        drop(reading);
        is_small(file.size, most)?;
        let bytes = asked.app().blobs.read(&file.blob).await?;
        return Ok(MessageFile { filename: file.filename, bytes, is_secure: false });
    }
    let (workspace, keys) = (asked.person.workspace, asked.visit.app().config.secret_key.as_ref());
    let vault = match keys {
        Some(keys) => Vault::find(&mut reading, keys, workspace).await?.ok_or(NO_ENDPOINT)?,
        None => return Err(NO_ENDPOINT),
    };
    let file = secure::load(&mut reading, &vault, &[id]).await?.into_iter().nth(n).ok_or(NO_ENDPOINT)?;
    drop(reading);
    is_small(file.size, most)?;
    let bytes = secure::read(asked.app(), &vault, &file).await?;
    Ok(MessageFile { filename: file.filename, bytes, is_secure: true })
}

fn is_small(size: i64, most: i64) -> Result<()> {
    if size > most { Err(NO_MESSAGE) } else { Ok(()) }
}

pub async fn shown(mut blob: Blob, filename: &str) -> Result<Response> {
    // The first piece tells what it is.
    let first: Bytes = blob.bytes.try_next().await?.unwrap_or_default();
    let (content_type, policy) = match pictures::kind(&first) {
        Some(picture) => (picture, SANDBOX),
        None if first.starts_with(b"%PDF-") => ("application/pdf", PDF),
        None => return Err(NO_MESSAGE),
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    insert(headers, "content-length", &blob.length.to_string());
    insert(headers, "content-disposition", &disposition("inline", filename));
    insert(headers, "content-security-policy", policy);
    // A file never changes; only whoever may see it asks for it.
    insert(headers, "cache-control", "private, max-age=86400");
    let bytes = stream::once(async { Ok(first) }).chain(blob.bytes);
    *response.body_mut() = Body::from_stream(bytes);
    Ok(response)
}

/// Files of a message, as pages show them.
pub fn chips(message: MessageId, attachments: &[Attachment]) -> Vec<Chip> {
    let chip = |(n, file): (usize, &Attachment)| {
        let address = format!("/messages/{message}/files/{n}");
        let preview = preview_of(&file.content_type);
        Chip {
            name: file.filename.clone(),
            kind: kind_of(&file.filename, &file.content_type),
            content_type: file.content_type.clone(),
            size: file.size,
            icon: icon_of(&file.content_type),
            is_picture: preview == Some(Preview::Picture) && file.size <= MOST_PREVIEW,
            is_thumb: preview == Some(Preview::Picture) && file.size <= MOST_THUMB,
            preview: preview.map(|_| format!("{address}/preview")),
            address,
        }
    };
    attachments.iter().enumerate().map(chip).collect()
}

/// How a file of this declared type would be previewed. When it is shown, its bytes decide what it really is.
pub fn preview_of(content_type: &str) -> Option<Preview> {
    match content_type {
        "image/png" | "image/jpeg" | "image/jpg" | "image/gif" | "image/webp" => Some(Preview::Picture),
        "application/pdf" => Some(Preview::Pdf),
        _ => None,
    }
}

/// What a person calls such a file: `PDF`, `JPEG`, `Word`, else its ending.
pub fn kind_of(filename: &str, content_type: &str) -> String {
    let ending = filename.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 5);
    match (content_type, ending) {
        ("application/pdf", _) => "PDF".to_owned(),
        ("image/jpeg", _) => "JPEG".to_owned(),
        (_, Some(ending)) => ending.to_uppercase(),
        ("message/rfc822", _) => "Mail".to_owned(),
        _ => "File".to_owned(),
    }
}

pub fn icon_of(content_type: &str) -> &'static str {
    match content_type.split('/').next() {
        Some("image") => "image",
        _ => "file-text",
    }
}
