//! Answers to browsers: a page, a redirect after a form, an error page, and the headers that all of them have.
//! No inline script or style runs, nothing is loaded from elsewhere, and nobody frames us.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::show::filters;
use crate::toast::Toast;
use rookery_base::error::{Error, Result};
use rookery_http::answers::{insert, status};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; frame-src 'self'";

/// The Content-Security-Policy of pages. Frames show mail, which may have an origin of its own.
pub fn policy(content: Option<&str>) -> HeaderValue {
    let frames = content.and_then(|origin| HeaderValue::from_str(&format!("{POLICY} {origin}")).ok());
    frames.unwrap_or(HeaderValue::from_static(POLICY))
}

/// A page, or a part of one.
pub fn page(template: &impl Template) -> Result<Response> {
    page_with(StatusCode::OK, template)
}

pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response> {
    let html = template.render().map_err(Error::internal)?;
    Ok((status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// After a form: the page to go on with.
pub fn see_other(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    insert(response.headers_mut(), "location", path);
    response
}

/// The same, with a message on that page that says what was done.
pub fn see_other_with(path: &str, toast: Toast) -> Response {
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let joint = if path.contains('?') { '&' } else { '?' };
    let hash = if fragment.is_empty() { "" } else { "#" };
    see_other(&format!("{path}{joint}{toast}{hash}{fragment}"))
}

/// An empty answer, for a form that a script sent in the background.
pub fn nothing() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    title: &'static str,
    sentence: String,
}

/// The page of an error. The cause of a 500 is only logged.
pub fn refusal(error: &Error) -> Response {
    if let Error::Internal(cause) = error {
        tracing::error!(%cause, "a page failed");
    }
    let (title, sentence) = match error {
        // What is not there and what somebody may not see are told alike.
        Error::Missing(_) => ("Not found", "There is nothing here, or nothing that you can see.".to_owned()),
        Error::Problems(_) => ("That did not work", error.sentence()),
        Error::Forbidden(_) => ("Not allowed", error.sentence()),
        Error::Conflict(_) | Error::Unprocessable(_) => ("Not now", error.sentence()),
        Error::SlowDown { .. } => ("A moment, please", error.sentence()),
        Error::TooLarge => ("Too large", "What you sent is too large.".to_owned()),
        Error::Unauthorized => ("Not signed in", "Sign in to see this page.".to_owned()),
        Error::Method(_) => ("Not found", "There is nothing here, or nothing that you can see.".to_owned()),
        Error::Internal(_) | Error::AnsweredBefore { .. } => ("Something went wrong", error.sentence()),
    };
    let mut response = page_with(status_of(error), &ErrorPage { title, sentence })
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response());
    retry_after(&mut response, error);
    response
}

pub fn status_of(error: &Error) -> StatusCode {
    status(error.status())
}

/// When to come back, if the error says so.
pub fn retry_after(response: &mut Response, error: &Error) {
    if let Error::SlowDown { retry_after, .. } = error {
        let seconds = (retry_after.as_secs_f64().ceil() as u64).max(1);
        insert(response.headers_mut(), "retry-after", &seconds.to_string());
    }
}

/// The headers of every page. What a page set itself stays.
pub fn dress(mut response: Response<Body>, policy: &HeaderValue) -> Response {
    response.headers_mut().entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| policy.clone());
    let fixed = [
        ("cache-control", "private, no-store"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        // Not `no-referrer`: with that, browsers send `Origin: null` with forms.
        ("referrer-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ];
    // A page that others may show in a frame says so in its policy, and not otherwise.
    let policy = response.headers().get(header::CONTENT_SECURITY_POLICY).and_then(|own| own.to_str().ok());
    let is_framed = policy.is_some_and(|own| own.contains("frame-ancestors http"));
    for (name, value) in fixed {
        if is_framed && name == "x-frame-options" {
            continue;
        }
        let headers = response.headers_mut();
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}
