//! Whose a request is. Its path alone decides which one thing says so: the key of a program, the id in a private link, the name
//! of a booking page, the short address of an offer, the cookie of a session or of signing in. Nothing else counts: what
//! stands in the query, in other headers or in other cookies can be anybody's words.

use axum::http::Method;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use url::form_urlencoded;

use rookery_api::oauth::TOKEN_PATH;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::sha256;
use rookery_product::bookings::link::SHORT;
use rookery_product::bookings::link::token::OfferToken;
use rookery_web::session::half_cookie;
use rookery_web::visit::cookie_name;

const PREFIX: &str = "wsp_";
/// Length of an id as it is written.
const LENGTH: usize = PREFIX.len() + 13;
/// Forms that name only a mail address, which may be known in any cell.
const ASKED_OF_ALL: [&str; 3] = ["/sign-in", "/sign-in/password", "/sign-in/passkey"];
/// Where programs come with a key or a token.
const OF_PROGRAMS: [&str; 2] = ["/api/", "/mcp"];
/// Where links lead that carry a workspace in their next part: alone, or with the rest of a token or a ticket.
const OF_LINKS: [&str; 9] = [
    "/upload/",
    "/booking/",
    "/secure/",
    "/files/",
    "/mail/",
    "/join/",
    "/hooks/sent-mail/",
    "/sign-in/sso/",
    "/sign-in/",
];
/// Public booking pages have a name instead of an id.
const OF_BOOKING_PAGES: &str = "/book/";
/// Here somebody has proven the first of two things. Their session may be an older one, of another workspace.
const HALF_WAY: &str = "/sign-in/code";

pub async fn workspace(app: &App, parts: &Parts) -> Result<Option<WorkspaceId>> {
    let (directory, path) = (&app.directory, parts.uri.path());
    if OF_PROGRAMS.iter().any(|start| path.starts_with(start)) {
        return match bearer(parts) {
            // Tokens of clients name their workspace; keys stand in the directory.
            Some(token) if token.starts_with(PREFIX) => Ok(named_in(token)),
            Some(key) => directory.workspace_of_key(sha256(key)).await,
            None => Ok(None),
        };
    }
    if let Some(named) = of_link(path) {
        return Ok(Some(named));
    }
    if let Some(offer) = path.strip_prefix(SHORT) {
        return Ok(OfferToken::read(offer).map(|offer| offer.workspace));
    }
    if let Some(slug) = path.strip_prefix(OF_BOOKING_PAGES).and_then(|rest| rest.split('/').next()) {
        return directory.workspace_of_slug(slug).await;
    }
    Ok(of_session(half_cookie(app), cookie_name(app), parts))
}

/// Of the cookie of a sign-in that is half done, where it is finished, or else of the session.
fn of_session(half: &str, session: &str, parts: &Parts) -> Option<WorkspaceId> {
    let half = if parts.uri.path() == HALF_WAY { of_cookie(half, parts) } else { None };
    half.or_else(|| of_cookie(session, parts))
}

fn of_link(path: &str) -> Option<WorkspaceId> {
    let rest = OF_LINKS.iter().find_map(|start| path.strip_prefix(start))?;
    named_in(rest.split('/').next().unwrap_or_default())
}

/// Whether a code or a refresh token in the form says whose it is: clients send them so, without a header or a cookie.
pub fn stands_in_form(parts: &Parts) -> bool {
    parts.method == Method::POST && parts.uri.path() == TOKEN_PATH
}

pub fn of_form(form: &[u8]) -> Option<WorkspaceId> {
    let fields = form_urlencoded::parse(form).filter(|(name, _)| name == "code" || name == "refresh_token");
    fields.filter_map(|(_, value)| named_in(&value)).next()
}

/// Of the first cookie of this name, as pages read it.
fn of_cookie(name: &str, parts: &Parts) -> Option<WorkspaceId> {
    let lines = parts.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).and_then(|(_, value)| named_in(value))
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
    fn a_link_says_whose_it_is_in_the_part_that_is_its_own() {
        let workspace = WorkspaceId(7);
        for path in [
            format!("/upload/{workspace}/req_1/x"),
            format!("/sign-in/{workspace}.abc"),
            format!("/sign-in/sso/{workspace}/callback"),
            format!("/files/doc_0000000000001.{workspace}.agt_0000000000001.1925456401000.abc"),
            format!("/hooks/sent-mail/{workspace}/svc_1"),
        ] {
            assert_eq!(of_link(&path), Some(workspace), "{path}");
        }
        for path in [
            "/".to_owned(),
            "/upload/".to_owned(),
            "/upload/wsp_!!!!!!!!!!!!!/x".to_owned(),
            format!("/upload/x/{workspace}"),
            format!("/images/msg_1.abc.{workspace}"),
            format!("/conversations/{workspace}"),
            format!("/inbox?next={workspace}"),
        ] {
            assert_eq!(of_link(&path), None, "{path}");
        }
    }

    #[test]
    fn every_page_for_people_without_a_session_is_found_by_its_path() {
        let pages = include_str!("../../../web/src/door.rs").lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (path, who) = (words.next()?.trim_matches('"'), words.next()?);
            (path.contains('{') && ["Anyone", "Customer"].contains(&who)).then_some(path)
        });
        let pages: Vec<&str> = pages.collect();
        assert!(pages.len() > 10, "{pages:?}");
        // It makes the first workspace: there is none to be found.
        let known = OF_LINKS.iter().chain([&OF_BOOKING_PAGES, &SHORT, &"/welcome/"]);
        let known: Vec<&&str> = known.collect();
        for page in pages {
            assert!(
                known.iter().any(|start| page.starts_with(**start)),
                "{page} is looked for in the first cell"
            );
        }
    }

    #[test]
    fn of_cookies_only_the_one_that_the_page_reads_counts() {
        let (own, other) = (WorkspaceId(7), WorkspaceId(8));
        let of = |name: &str| {
            let cookies = format!("theme={other}.c; session={own}.a; half={other}.b; session={other}.d");
            let request = axum::http::Request::get("/inbox").header(COOKIE, cookies).body(()).unwrap();
            of_cookie(name, &request.into_parts().0)
        };
        assert_eq!((of("session"), of("half"), of("nothing")), (Some(own), Some(other), None));
    }

    #[test]
    fn on_the_way_in_an_older_session_of_another_workspace_does_not_count() {
        let (old, new) = (WorkspaceId(7), WorkspaceId(8));
        let at = |path: &str, cookies: String| {
            let request = axum::http::Request::get(path).header(COOKIE, cookies).body(()).unwrap();
            of_session("half", "session", &request.into_parts().0)
        };
        let both = format!("session={old}.a; half={new}.b");
        assert_eq!((at("/inbox", both.clone()), at(HALF_WAY, both)), (Some(old), Some(new)));
        assert_eq!(at(HALF_WAY, format!("session={old}.a")), Some(old));
    }
}
