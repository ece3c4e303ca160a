//! Answers to customers: the headers that all of them have, and the plain notices. A page with a private link in its
//! address is found by no search engine, named to no other site and kept by no cache (D163).

use askama::Template;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use rookery_base::error::{Error, Result};
use rookery_base::languages::{Language, Phrase};
use rookery_http::answers::insert;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors";

/// A page that says one thing.
#[derive(Template)]
#[template(path = "customer/notice.html")]
struct Notice {
    language: Language,
    title: &'static str,
    text: &'static str,
}

pub fn notice<W: Phrase>(language: Language, status: StatusCode, title: W, text: W) -> Result<Response> {
    let notice = Notice { language, title: language.say(title), text: language.say(text) };
    respond::page_with(status, &notice)
}

/// The 404 page for a link that is altered or never existed.
pub fn nothing(language: Language) -> Result<Response> {
    notice(language, StatusCode::NOT_FOUND, Word::NothingTitle, Word::NothingText)
}

/// The same page for any unknown address, if the client asks for HTML, as browsers do. None for programs, which get JSON.
pub fn nothing_for_browsers(headers: &HeaderMap) -> Option<Response> {
    let said = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let language = Language::accepted(said(header::ACCEPT_LANGUAGE));
    said(header::ACCEPT).contains("text/html").then(|| answered(language, nothing(language)))
}

pub fn ended(language: Language) -> Result<Response> {
    notice(language, StatusCode::GONE, Word::EndedTitle, Word::EndedText)
}

/// The result as a response with the headers of customers' pages. An error becomes a page, too.
pub fn answered(language: Language, answer: Result<Response>) -> Response {
    answered_in_frame(language, answer, &[])
}

/// The same, for a page that sites of these origins may show in a frame.
pub fn answered_in_frame(language: Language, answer: Result<Response>, origins: &[String]) -> Response {
    let mut response = answer.or_else(|error| refusal(language, &error)).unwrap_or_else(|error| {
        tracing::error!(%error, "a customer's page failed");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    });
    let headers = response.headers_mut();
    let origins: Vec<&str> = origins.iter().map(String::as_str).filter(|origin| is_origin(origin)).collect();
    let framed_by = if origins.is_empty() { "'none'".to_owned() } else { origins.join(" ") };
    // A file has its own, which is stricter.
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        insert(headers, "content-security-policy", &format!("{POLICY} {framed_by}"));
    }
    insert(headers, "cache-control", "no-store");
    // No form of these pages needs an origin: the link is all there is. The one cookie, of secure pages, comes along with
    // nothing that another site sends.
    insert(headers, "referrer-policy", "no-referrer");
    insert(headers, "x-robots-tag", "noindex, nofollow, noarchive");
    insert(headers, "vary", "accept-language");
    insert(headers, "content-language", language.code());
    response
}

/// Whether it is exactly one origin, so that it cannot change the rest of the policy.
fn is_origin(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'\''));
    is_plain && url::Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == text)
}

fn refusal(language: Language, error: &Error) -> Result<Response> {
    let (status, title, text) = match error {
        Error::Missing(_) => return nothing(language),
        Error::SlowDown { .. } => (StatusCode::TOO_MANY_REQUESTS, Word::BusyTitle, Word::BusyText),
        Error::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, Word::TroubleTitle, Word::TooLarge),
        other => {
            tracing::error!(error = %other, "a customer's page failed");
            (StatusCode::INTERNAL_SERVER_ERROR, Word::TroubleTitle, Word::TroubleText)
        }
    };
    let mut response = notice(language, status, title, text)?;
    respond::retry_after(&mut response, error);
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        insert(response.headers_mut(), "retry-after", "5");
    }
    Ok(response)
}
