//! Making a key: its name, what it may do and on what it works; then the one page that shows it, with lines that are ready
//! to be pasted. That page is the answer to the form: it has no address, so the key stands in none.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::outgoing::clock::stop_time;
use crate::respond;
use crate::settings::agents::limits::{self, Limit};
use crate::settings::keys::words::{self, ScopeChoice};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::AgentId;
use rookery_core::workspace::access::{Scope, USUAL};
use rookery_core::workspace::agents::caps::{Caps, Used};
use rookery_core::workspace::{inbox_settings, keys};

/// Longest name of the MCP server in the configuration of client programs.
const LONGEST_SERVER: usize = 30;

#[derive(Template)]
#[template(path = "settings/keys/new.html")]
struct NewPage {
    shell: Shell,
    page: &'static str,
    name: String,
    live: bool,
    choices: Vec<ScopeChoice>,
    /// Inboxes that a live key will see: the team's, and those of its maker.
    sees: Vec<String>,
    limits: Vec<Limit>,
    counts: bool,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "settings/keys/shown.html")]
struct ShownPage {
    shell: Shell,
    page: &'static str,
    agent: AgentId,
    name: String,
    key: String,
    may: String,
    sends: bool,
    limits: Option<String>,
    live: bool,
    sees: Vec<String>,
    /// Where the API is.
    url: String,
    /// The name of the MCP server in the configuration of client programs.
    server: String,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&form(&asked, "", true, &USUAL, None).await?)
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    let fields = asked.form().await?;
    let name = fields.get("name").unwrap_or_default();
    let live = fields.get("mode") != Some("test");
    // `read` is part of every key; a ticked box that is fixed is not sent.
    let chosen: std::result::Result<Vec<Scope>, _> = fields.all("scope").map(str::parse).collect();
    let scopes = chosen.map(|chosen| [vec![Scope::Read], chosen].concat());
    let scopes = scopes.map_err(|what| Error::problem("scope", what));
    let (app, person, caps) = (asked.app(), &asked.person, limits::read(&fields));
    let made = match &scopes {
        Ok(scopes) => {
            let wanted = keys::KeyChoices { name, scopes, livemode: live, caps };
            keys::create(app, person.workspace, &person.by(), person.id, wanted).await
        }
        Err(_) => Err(Error::problem("scope", "must be one of those that are offered")),
    };
    let made = match made {
        Ok(made) => made,
        Err(error @ (Error::Problems(_) | Error::Forbidden(_))) => {
            let ticked = scopes.unwrap_or_default();
            let mut page = form(&asked, name, live, &ticked, Some(error.sentence())).await?;
            limits::keep_typed(&mut page.limits, &fields);
            return respond::page_with(respond::status_of(&error), &page);
        }
        Err(error) => return Err(error),
    };
    let scopes = scopes?;
    let shell = Shell::frame(&asked, Here::Settings);
    let page = ShownPage {
        page: super::PATH,
        agent: made.agent,
        name: name.trim().to_owned(),
        key: made.key,
        may: words::may(&in_order(&scopes)),
        sends: words::sends(&scopes),
        limits: limits::in_words(&caps),
        live,
        sees: sees(&asked, live).await?,
        url: app.config.public_url.as_str().trim_end_matches('/').to_owned(),
        server: server(&shell.workspace),
        shell,
    };
    respond::page_with(StatusCode::CREATED, &page)
}

async fn form(
    asked: &MemberRequest,
    name: &str,
    live: bool,
    ticked: &[Scope],
    problem: Option<String>,
) -> Result<NewPage> {
    let shell = Shell::frame(asked, Here::Settings);
    Ok(NewPage {
        page: super::PATH,
        name: name.to_owned(),
        live,
        choices: words::choices(ticked, &stop_time(asked)),
        sees: sees(asked, true).await?,
        limits: limits::with_usage(Caps::default(), Used::default()),
        counts: false,
        problem,
        shell,
    })
}

fn in_order(scopes: &[Scope]) -> Vec<Scope> {
    Scope::ALL.into_iter().filter(|scope| scopes.contains(scope)).collect()
}

/// What its maker sees: the same inboxes.
async fn sees(asked: &MemberRequest, live: bool) -> Result<Vec<String>> {
    if !live {
        return Ok(vec!["The sandbox".to_owned()]);
    }
    let (inboxes, _) = inbox_settings::list(&mut *asked.reading().await?, &asked.person).await?;
    Ok(inboxes.into_iter().map(|inbox| inbox.name).collect())
}

/// A name for the MCP server, of characters that every client program accepts.
fn server(workspace: &str) -> String {
    let mut name = String::new();
    for letter in rookery_base::search_terms::fold(workspace).chars() {
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(LONGEST_SERVER);
    match name.trim_matches('-') {
        "" => "rookery".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn a_server_is_called_by_letters_that_every_program_takes() {
        assert_eq!(server("Larkfield Homes"), "larkfield-homes");
        assert_eq!(server("Café \"Müller\" & $(rm -rf /)"), "cafe-muller-rm-rf");
        assert_eq!(server("田中"), "rookery");
    }
}
