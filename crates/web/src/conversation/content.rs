//! The content origin (`ROOKERY_CONTENT_URL`): a host of its own for the HTML of mails and the pictures in it, so that
//! whatever a filter or a browser lets through is not where people are signed in. No cookie counts there.
//!
//! An address there is a ticket: signed, for one message, one reader and one session, and good for an hour at most.
//! The host answers with nothing else; hidden, ended, forged and unknown are the same 404.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header, uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower_http::compression::CompressionLayer;

use crate::conversation::images::Signer;
use crate::conversation::{files, frame, images};
use crate::visit::MemberRequest;
use rookery_base::app::App;
use rookery_base::error::{Error, NO_ENDPOINT, Result};
use rookery_base::ids::{MessageId, PersonId, SessionId, WorkspaceId};
use rookery_base::limits::fair_seats::Asker;
use rookery_base::live::streams::StreamSession;
use rookery_base::secrets::link_tokens;
use rookery_base::store::db::{Handle, Reading};
use rookery_core::conversations::messages::html;
use rookery_core::workspace::people::{self, Person};
use rookery_core::workspace::sessions;
use rookery_http::answers::{insert, refusal};

const PURPOSE: &str = "mail frame";
/// Time is cut into spans of half an hour, and a ticket is good until the end of the next span. Within a span the ticket
/// stays the same, so a page that is refreshed does not load its frames anew.
const SPAN_SECONDS: i64 = 30 * 60;

/// What an address of the content origin allows: one message, for one person and session, until a time.
struct Ticket {
    message: MessageId,
    workspace: WorkspaceId,
    person: PersonId,
    session: SessionId,
    images: bool,
    until: i64,
}

/// The address of the frame that shows a mail: on the content origin if there is one, else on this host.
pub fn address(asked: &MemberRequest, message: MessageId, images: bool) -> Result<String> {
    let Some(origin) = asked.app().config.content_origin() else {
        return Ok(format!("/messages/{message}/html{}", if images { "?images=on" } else { "" }));
    };
    let span = asked.app().clock.now().timestamp().div_euclid(SPAN_SECONDS);
    let ticket = Ticket {
        message,
        workspace: asked.person.workspace,
        person: asked.person.id,
        session: asked.session.id,
        images,
        until: (span + 2) * SPAN_SECONDS,
    };
    let said = ticket.said();
    let token = link_tokens::token(asked.app().config.needs_secret_key()?.newest(), PURPOSE, &said);
    Ok(format!("{origin}/mail/{said}.{token}"))
}

impl Ticket {
    fn said(&self) -> String {
        let Self { message, workspace, person, session, images, until } = self;
        format!("{message}.{workspace}.{person}.{session}.{}.{until}", u8::from(*images))
    }

    fn read(app: &App, text: &str) -> Option<Self> {
        let (said, token) = text.rsplit_once('.')?;
        if !link_tokens::is_ours(app.config.secret_key.as_ref()?, PURPOSE, said, token) {
            return None;
        }
        let mut parts = said.split('.');
        let ticket = Self {
            message: parts.next()?.parse().ok()?,
            workspace: parts.next()?.parse().ok()?,
            person: parts.next()?.parse().ok()?,
            session: parts.next()?.parse().ok()?,
            images: parts.next()? == "1",
            until: parts.next()?.parse().ok()?,
        };
        (ticket.until > app.clock.now().timestamp()).then_some(ticket)
    }
}

/// What a good ticket opens, for a reader who is still signed in and on the team, and can still see the message.
struct Opened {
    ticket: Ticket,
    person: Person,
    parts: html::Parts,
}

async fn open(app: &App, text: &str) -> Result<Opened> {
    let ticket = Ticket::read(app, text).ok_or(NO_ENDPOINT)?;
    let app = app.asked_by(Asker::Person(ticket.person));
    let mut conn =
        Reading::begin(app.connection_of(ticket.workspace).await?, app.frame(ticket.workspace)).await?;
    let session = StreamSession { workspace: ticket.workspace, id: ticket.session };
    if !sessions::good(&mut conn, &[session], app.clock.now()).await?.contains(&session) {
        return Err(NO_ENDPOINT);
    }
    let person = people::teammate(&mut conn, ticket.workspace, ticket.person).await?;
    let parts = html::parts(&mut conn, &person, ticket.message).await?;
    Ok(Opened { ticket, person, parts })
}

/// Adds the routes of the content origin. Its host serves only mail, and every other host everything but these routes.
pub fn apart(router: Router, app: Arc<App>) -> Router {
    let Some(url) = app.config.content_url.clone() else { return router };
    let mail = Router::new()
        .route("/mail/{ticket}", get(show))
        .route("/mail/{ticket}/files/{n}", get(inline))
        .route("/mail/{ticket}/images/{signed}", get(picture))
        .layer(CompressionLayer::new())
        .with_state(app);
    let host = url.host_str().unwrap_or_default().to_owned();
    router.merge(mail).layer(middleware::from_fn(move |request: Request, next: Next| {
        let is_there = host_of(&request).is_some_and(|asked| asked.eq_ignore_ascii_case(&host));
        async move {
            match (is_there, request.uri().path().starts_with("/mail/")) {
                (true, true) | (false, false) => next.run(request).await,
                (true, false) => missing(""),
                (false, true) => refusal(&NO_ENDPOINT),
            }
        }
    }))
}

/// The host a request names, without its port. Cookies ignore ports, so the content origin must have a host of its own.
fn host_of(request: &Request) -> Option<String> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let named = named.and_then(|host| host.parse::<uri::Authority>().ok());
    named.as_ref().or(request.uri().authority()).map(|authority| authority.host().to_owned())
}

/// `GET /mail/{ticket}`
async fn show(State(app): State<Arc<App>>, Path(text): Path<String>) -> Response {
    let shown = async {
        let Opened { ticket, person, parts } = open(&app, &text).await?;
        let under = format!("/mail/{text}");
        let remote = if ticket.images {
            Some(Signer::for_message(&app, &person, ticket.message)?.under(&under))
        } else {
            None
        };
        let pictures =
            frame::Pictures::from_files(&parts.attachments, |n| format!("{under}/files/{n}"), remote);
        let mut response = frame::page(parts.html, pictures).await?;
        let (content, own) = (app.config.content_origin(), app.config.public_url.origin());
        let policy = format!(
            "default-src 'none'; style-src 'unsafe-inline'; img-src {}; base-uri 'none'; form-action 'none'; \
             frame-ancestors {}; sandbox allow-popups allow-popups-to-escape-sandbox",
            content.unwrap_or_default(),
            own.ascii_serialization()
        );
        insert(response.headers_mut(), "content-security-policy", &policy);
        Ok(response)
    };
    dressed(shown.await)
}

/// `GET /mail/{ticket}/files/{n}`: a picture that the mail brought and shows. Its other files are not here.
async fn inline(State(app): State<Arc<App>>, Path((text, n)): Path<(String, usize)>) -> Response {
    let shown = async {
        let file = open(&app, &text).await?.parts.attachments.into_iter().nth(n);
        let file = file.filter(|file| file.content_id.is_some()).ok_or(NO_ENDPOINT)?;
        files::picture(&app, &file).await
    };
    dressed(shown.await)
}

/// `GET /mail/{ticket}/images/{signed}`: a picture of the web, through us.
async fn picture(State(app): State<Arc<App>>, Path((text, signed)): Path<(String, String)>) -> Response {
    let shown = async {
        let Opened { ticket, person, .. } = open(&app, &text).await?;
        if !ticket.images {
            return Err(NO_ENDPOINT);
        }
        let signer = Signer::for_message(&app, &person, ticket.message)?;
        images::fetch(&app, &signer, &signed).await
    };
    dressed(shown.await)
}

fn dressed(answer: Result<Response>) -> Response {
    let mut response = answer.unwrap_or_else(|error| {
        if let Error::Internal(cause) = &error {
            tracing::error!(%cause, "a mail's frame failed");
        }
        missing("Load the page again to see this mail.\n")
    });
    let headers = response.headers_mut();
    insert(headers, "referrer-policy", "no-referrer");
    insert(headers, "strict-transport-security", "max-age=31536000");
    insert(headers, "x-content-type-options", "nosniff");
    // The frame has no origin of its own, so its pictures are another's to the browser. Only who has a ticket has them.
    insert(headers, "cross-origin-resource-policy", "cross-origin");
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
    response
}

fn missing(words: &'static str) -> Response {
    let mut response = (StatusCode::NOT_FOUND, Body::from(words)).into_response();
    let headers = response.headers_mut();
    insert(headers, "content-type", "text/plain; charset=utf-8");
    insert(headers, "content-security-policy", "default-src 'none'; sandbox");
    insert(headers, "x-content-type-options", "nosniff");
    response
}
