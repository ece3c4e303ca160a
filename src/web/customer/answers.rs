//! Answers to customers: the headers that all of them have, and the plain notices. A page with a private link in its
//! address is found by no search engine, named to no other site and kept by no cache (D163).

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::error::{Error, Result};
use crate::http::answers::insert;
use crate::web::customer::language::Language;
use crate::web::customer::words::Word;
use crate::web::respond;
use crate::web::show::filters;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A page that says one thing.
#[derive(Template)]
#[template(path = "customer/notice.html")]
struct Notice {
    language: Language,
    title: &'static str,
    text: &'static str,
}

pub fn notice(language: Language, status: StatusCode, title: Word, text: Word) -> Result<Response> {
    let notice = Notice { language, title: language.say(title), text: language.say(text) };
    respond::page_with(status, &notice)
}

/// Where no link leads, whether it was altered or never was.
pub fn nothing(language: Language) -> Result<Response> {
    notice(language, StatusCode::NOT_FOUND, Word::NothingTitle, Word::NothingText)
}

pub fn ended(language: Language) -> Result<Response> {
    notice(language, StatusCode::GONE, Word::EndedTitle, Word::EndedText)
}

/// Whatever came of it, as a page with the headers of customers' pages.
pub fn answered(language: Language, answer: Result<Response>) -> Response {
    let mut response = answer.or_else(|error| refusal(language, &error)).unwrap_or_else(|error| {
        tracing::error!(%error, "a customer's page failed");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    });
    let headers = response.headers_mut();
    insert(headers, "content-security-policy", POLICY);
    insert(headers, "cache-control", "no-store");
    // No form of these pages needs an origin: the link is all there is, and no cookie is looked at.
    insert(headers, "referrer-policy", "no-referrer");
    insert(headers, "x-robots-tag", "noindex, nofollow, noarchive");
    insert(headers, "vary", "accept-language");
    insert(headers, "content-language", language.code());
    response
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
