//! Whose a request is: the workspace of its key, of the link in its address, or of its session. Everything that leads to a
//! workspace carries it in plain sight: private links, tickets, tokens of sessions and of signing in.

use axum::http::Method;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use url::form_urlencoded;

use crate::api::oauth::TOKEN_PATH;
use crate::app::App;
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::secrets::hashes::sha256;
use crate::web::visit::cookie_name;

const PREFIX: &str = "wsp_";
/// Length of an id as it is written.
const LENGTH: usize = PREFIX.len() + 13;
/// Forms that name only a mail address, which may be known in any cell.
const ASKED_OF_ALL: [&str; 3] = ["/sign-in", "/sign-in/password", "/sign-in/passkey"];

pub async fn workspace(app: &App, parts: &Parts) -> Result<Option<WorkspaceId>> {
    let directory = &app.directory;
    if let Some(key) = bearer(parts) {
        // Tokens of clients name their workspace; keys stand in the directory.
        if key.starts_with(PREFIX) {
            return Ok(named_in(key));
        }
        return directory.workspace_of_key(sha256(key)).await;
    }
    let address = parts.uri.path_and_query().map_or("", |address| address.as_str());
    if let Some(named) = named_in(address) {
        return Ok(Some(named));
    }
    // Public booking pages have a name instead of an id.
    if let Some(slug) = parts.uri.path().strip_prefix("/book/").and_then(|rest| rest.split('/').next())
        && let Some(found) = directory.workspace_of_slug(slug).await?
    {
        return Ok(Some(found));
    }
    Ok(of_cookies(cookie_name(app), parts))
}

/// Whether a code or a refresh token in the form says whose it is: clients send them so, without a header or a cookie.
pub fn stands_in_form(parts: &Parts) -> bool {
    parts.method == Method::POST && parts.uri.path() == TOKEN_PATH
}

pub fn of_form(form: &[u8]) -> Option<WorkspaceId> {
    let fields = form_urlencoded::parse(form).filter(|(name, _)| name == "code" || name == "refresh_token");
    fields.filter_map(|(_, value)| named_in(&value)).next()
}

/// Of the session; on the way in, of whatever else was begun there, because the session may be an older one of another
/// workspace.
fn of_cookies(session: &str, parts: &Parts) -> Option<WorkspaceId> {
    let lines = parts.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (sessions, others): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| *name == session);
    let ordered = match parts.uri.path().starts_with("/sign-in") {
        true => [others, sessions],
        false => [sessions, others],
    };
    ordered.into_iter().flatten().filter_map(|(_, value)| named_in(value)).next()
}

/// Whether it has to be asked of every cell who this is.
pub fn is_anybodys(parts: &Parts) -> bool {
    parts.method == Method::POST && ASKED_OF_ALL.contains(&parts.uri.path())
}

fn bearer(parts: &Parts) -> Option<&str> {
    let (scheme, key) = parts.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The first id of a workspace in a text.
fn named_in(text: &str) -> Option<WorkspaceId> {
    let starts = text.match_indices(PREFIX).map(|(at, _)| at);
    starts.filter_map(|at| text.get(at..at + LENGTH)?.parse().ok()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_found_wherever_it_stands() {
        let workspace = WorkspaceId(7);
        for text in [
            format!("/upload/{workspace}/req_1/x"),
            format!("/sign-in/{workspace}.abc"),
            format!("/files/doc_0000000000001.{workspace}.agt_0000000000001.1925456401000.abc"),
            format!("theme=dark; __Host-session={workspace}.ab"),
            format!("wsp_short/{workspace}"),
        ] {
            assert_eq!(named_in(&text), Some(workspace), "{text}");
        }
        for text in ["", "wsp_", "/inbox", "wsp_!!!!!!!!!!!!!"] {
            assert_eq!(named_in(text), None, "{text}");
        }
    }

    #[test]
    fn on_the_way_in_an_older_session_of_another_workspace_does_not_count() {
        let (old, new) = (WorkspaceId(7), WorkspaceId(8));
        let of = |path: &str| {
            let cookies = format!("theme=dark; session={old}.a; half={new}.b");
            let request = axum::http::Request::get(path).header(COOKIE, cookies).body(()).unwrap();
            of_cookies("session", &request.into_parts().0)
        };
        assert_eq!((of("/inbox"), of("/sign-in/code")), (Some(old), Some(new)));
    }
}
