//! `/messages/msg_…/html`: the HTML of a mail as a page of its own, for the frame on the conversation's page. Its answer
//! carries a policy by which nothing of it runs, sends, or loads but from here, whatever the filter let through.

use std::collections::HashMap;

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use url::Url;

use crate::conversation::images::Signer;
use crate::respond;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, NO_ENDPOINT, NO_MESSAGE, Result};
use rookery_base::ids::MessageId;
use rookery_core::conversations::messages::html;
use rookery_core::conversations::timeline::Attachment;
use rookery_http::answers::insert;
use rookery_reading::html::sanitise::{Images, sanitise};

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'; \
                      sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin";

#[derive(Template)]
#[template(path = "conversation/frame.html")]
struct Frame {
    body: Safe<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    // With an origin for mail, it is shown there and nowhere else.
    if asked.app().config.content_url.is_some() {
        return Err(NO_ENDPOINT);
    }
    let id: MessageId = asked.id("id")?;
    let parts = html::parts(&mut *asked.reading().await?, &asked.person, id).await?;
    let remote = match asked.query("images") {
        Some("on") => Some(Signer::for_message(asked.app(), &asked.person, id)?),
        _ => None,
    };
    let pictures =
        Pictures::from_files(&parts.attachments, |n| format!("/messages/{id}/files/{n}/preview"), remote);
    let mut response = page(parts.html, pictures).await?;
    let headers = response.headers_mut();
    insert(headers, "content-security-policy", POLICY);
    insert(headers, "x-frame-options", "SAMEORIGIN");
    insert(headers, "referrer-policy", "no-referrer");
    Ok(response)
}

/// The page of a mail's HTML. Whoever answers with it says what it may do.
pub async fn page(source: Option<String>, pictures: Pictures) -> Result<Response> {
    let source = source.ok_or(NO_MESSAGE)?;
    // Parsing a large mail would keep a thread of the runtime.
    let body =
        tokio::task::spawn_blocking(move || sanitise(&source, pictures)).await.map_err(Error::internal)?;
    respond::page(&Frame { body: Safe(body) })
}

/// Where the pictures of a mail are.
pub struct Pictures {
    /// By Content-ID.
    inline: HashMap<String, String>,
    remote: Option<Signer>,
}

impl Pictures {
    pub fn from_files(
        files: &[Attachment],
        address: impl Fn(usize) -> String,
        remote: Option<Signer>,
    ) -> Self {
        let named = files.iter().enumerate();
        let inline = named.filter_map(|(n, file)| Some((file.content_id.clone()?, address(n))));
        Self { inline: inline.collect(), remote }
    }
}

impl Images for Pictures {
    fn inline(&self, content_id: &str) -> Option<String> {
        self.inline.get(content_id).cloned()
    }

    fn remote(&self, address: &Url) -> Option<String> {
        self.remote.as_ref().map(|signer| signer.address(address))
    }
}
