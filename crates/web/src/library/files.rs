//! A document's file, to be saved as it came; and a picture of it to look at, without what a camera wrote into it. Pictures
//! are made in a confined child and are pictures by their bytes, whatever the file says it is.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;

use crate::library::sheet::{MOST_SHOWN, size_to_show};
use crate::visit::MemberRequest;
use rookery_base::confined::job::Job;
use rookery_base::confined::run::RunOutcome;
use rookery_base::error::Result;
use rookery_base::ids::DocumentId;
use rookery_base::limits::fair_seats::Sitter;
use rookery_base::net::pictures;
use rookery_http::answers::insert;
use rookery_http::files::{SANDBOX, attached, disposition};
use rookery_product::documents::library::{self, DocumentFile, NO_DOCUMENT};

/// `GET /documents/{id}/file`
pub async fn download(asked: MemberRequest) -> Result<Response> {
    let file = find(&asked).await?;
    Ok(attached(asked.app().blobs.read(&file.blob).await?, &file.filename))
}

/// `GET /documents/{id}/preview?page=1`: a picture, or the scan of a page.
pub async fn preview(asked: MemberRequest) -> Result<Response> {
    let file = find(&asked).await?;
    if file.size > MOST_SHOWN {
        return Err(NO_DOCUMENT);
    }
    let page = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let _seat = asked.app().confined.seat(Sitter::by_workspace(asked.person.workspace)).await?;
    let bytes: Bytes = asked.app().blobs.get(&file.blob).await?.into();
    let job = if bytes.starts_with(b"%PDF-") { Job::Scan(page) } else { Job::Picture };
    let RunOutcome::Said(picture) = asked.app().confined.run(&job, bytes).await? else {
        return Err(NO_DOCUMENT);
    };
    let kind = pictures::kind(&picture).filter(|_| size_to_show(&picture).is_some()).ok_or(NO_DOCUMENT)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    insert(headers, "content-length", &picture.len().to_string());
    insert(headers, "content-disposition", &disposition("inline", &file.filename));
    insert(headers, "content-security-policy", SANDBOX);
    insert(headers, "cache-control", "private, max-age=86400");
    *response.body_mut() = Body::from(picture);
    Ok(response)
}

async fn find(asked: &MemberRequest) -> Result<DocumentFile> {
    let id: DocumentId = asked.id("id")?;
    library::find_visible(&mut *asked.reading().await?, &asked.person, id).await
}
