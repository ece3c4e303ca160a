//! `/messages/msg_…/html`: the HTML of a mail as a page of its own, for the frame on the conversation's page. Its answer
//! carries a policy by which nothing of it runs, sends, or loads but from here, whatever the filter let through.

use std::collections::HashMap;

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use url::Url;

use crate::conversations::messages::html;
use crate::error::{Error, NO_MESSAGE, Result};
use crate::html::sanitise::{Images, sanitise};
use crate::http::answers::insert;
use crate::ids::MessageId;
use crate::web::conversation::images::Signer;
use crate::web::respond;
use crate::web::visit::Asked;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'; \
                      sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin";

#[derive(Template)]
#[template(path = "conversation/frame.html")]
struct Frame {
    body: Safe<String>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let id: MessageId = asked.id("id")?;
    let parts = html::parts(&mut *asked.reading().await?, &asked.person, id).await?;
    let source = parts.html.ok_or(NO_MESSAGE)?;
    let named = parts.attachments.into_iter().enumerate();
    let inline =
        named.filter_map(|(n, file)| Some((file.content_id?, format!("/messages/{id}/files/{n}/preview"))));
    let remote = match asked.query("images") {
        Some("on") => Some(Signer::of(&asked, id)?),
        _ => None,
    };
    let pictures = Pictures { inline: inline.collect(), remote };
    // Parsing a large mail would keep a thread of the runtime.
    let body =
        tokio::task::spawn_blocking(move || sanitise(&source, pictures)).await.map_err(Error::internal)?;
    let mut response = respond::page(&Frame { body: Safe(body) })?;
    let headers = response.headers_mut();
    insert(headers, "content-security-policy", POLICY);
    insert(headers, "x-frame-options", "SAMEORIGIN");
    insert(headers, "referrer-policy", "no-referrer");
    Ok(response)
}

struct Pictures {
    /// By Content-ID.
    inline: HashMap<String, String>,
    remote: Option<Signer>,
}

impl Images for Pictures {
    fn inline(&self, content_id: &str) -> Option<String> {
        self.inline.get(content_id).cloned()
    }

    fn remote(&self, address: &Url) -> Option<String> {
        self.remote.as_ref().map(|signer| signer.address(address))
    }
}
