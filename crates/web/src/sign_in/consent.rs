//! `/oauth/authorize`: a program that speaks MCP asks to be let in, and an owner or admin decides what it may do
//! (docs/decisions/client-sign-in.md). Each time anew: nothing is remembered of an earlier yes, and no GET says one.
//!
//! Everything in the address is a stranger's. What is wrong with it is said here: only a person's press leads out.

use askama::Template;
use axum::response::Response;
use url::Url;

use crate::outgoing::clock::stop_time;
use crate::settings::agents;
use crate::settings::keys::words::{self, ScopeChoice};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::sign_in::again;
use crate::visit::{FormFields, MemberRequest};
use crate::{respond, session};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_core::workspace::access::{Scope, USUAL};
use rookery_core::workspace::clients::client::OauthClient;
use rookery_core::workspace::clients::grants::{self, Allowed, Challenge};
use rookery_core::workspace::clients::{self, OFFERED, redirects};

const LONGEST_STATE: usize = 1000;
/// The parameters that a client may send, each once. The form carries them, and they are checked again when it comes back.
const PARAMETERS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
    "resource",
];

/// What a client asks for, checked.
struct ConsentRequest {
    client: OauthClient,
    redirect: String,
    to: Url,
    challenge: Challenge,
    scopes: Vec<Scope>,
    state: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/consent.html")]
struct ConsentPage {
    shell: Shell,
    page: &'static str,
    /// As it calls itself.
    client: String,
    /// Where its description is, when it did not register.
    described_at: Option<String>,
    host: String,
    own_machine: bool,
    name: String,
    live: bool,
    choices: Vec<ScopeChoice>,
    hidden: Vec<(String, String)>,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/consent_done.html")]
struct DonePage<'a> {
    allowed: bool,
    host: &'a str,
    to: &'a str,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    if !asked.person.role.administers() {
        let why = "Only owners and admins can let a program in. Ask one of them to connect it.";
        return Err(Error::Forbidden(why.into()));
    }
    if !session::is_fresh(&asked) {
        return again::ask(&asked, None).await;
    }
    let wanted = ConsentRequest::read(asked.app(), asked.queries()).await?;
    let name = grants::a_free_name(&mut *asked.reading().await?, asked.person.workspace, &wanted.client.name)
        .await?;
    // What reaches customers is for the person to tick.
    let ticked: Vec<Scope> = wanted.scopes.iter().copied().filter(|scope| *scope != Scope::Send).collect();
    let filled = Filled { name: &name, live: true, ticked: &ticked };
    respond::page(&page(&asked, asked.queries(), &wanted, filled, None))
}

pub async fn decide(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let wanted = ConsentRequest::read(asked.app(), &form).await?;
    if form.get("decision") != Some("allow") {
        return leave(asked.app(), &wanted, "error", "access_denied");
    }
    let (name, live) = (form.get("name").unwrap_or_default(), form.get("mode") != Some("test"));
    // Never more than was asked for. `read` is part of it all: a ticked box that is fixed is not sent.
    let is_chosen =
        |scope: &Scope| *scope == Scope::Read || form.all("scope_allowed").any(|own| own == scope.as_str());
    let chosen: Vec<Scope> = wanted.scopes.iter().copied().filter(is_chosen).collect();
    let allowed = Allowed {
        client: &wanted.client,
        redirect: &wanted.redirect,
        host: &wanted.host(),
        challenge: wanted.challenge,
        name,
        scopes: &chosen,
        livemode: live,
    };
    match grants::allow(asked.app(), &asked.person, allowed).await {
        Ok(code) => leave(asked.app(), &wanted, "code", &code),
        Err(error @ (Error::Problems(_) | Error::Forbidden(_))) => {
            let filled = Filled { name, live, ticked: &chosen };
            let page = page(&asked, &form, &wanted, filled, Some(error.sentence()));
            respond::page_with(respond::status_of(&error), &page)
        }
        Err(error) => Err(error),
    }
}

/// What the fields of the form hold when it is shown.
struct Filled<'a> {
    name: &'a str,
    live: bool,
    ticked: &'a [Scope],
}

fn page(
    asked: &MemberRequest,
    fields: &FormFields,
    wanted: &ConsentRequest,
    filled: Filled<'_>,
    problem: Option<String>,
) -> ConsentPage {
    let choices = words::choices(filled.ticked, &stop_time(asked));
    let hidden =
        PARAMETERS.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(name)?.to_owned())));
    ConsentPage {
        shell: Shell::frame(asked, Here::Settings),
        page: agents::PATH,
        client: wanted.client.name.clone(),
        described_at: Url::parse(&wanted.client.id).ok().and_then(|url| url.host_str().map(str::to_owned)),
        host: wanted.host(),
        own_machine: redirects::is_own_machine(&wanted.to),
        name: filled.name.to_owned(),
        live: filled.live,
        choices: choices
            .into_iter()
            .filter(|choice| wanted.scopes.iter().any(|scope| scope.as_str() == choice.scope))
            .collect(),
        hidden: hidden.collect(),
        problem,
    }
}

/// Leads back to the client with the outcome (`code` or `error`), its value and our name. It is a page with a link: after a
/// form, browsers follow no redirect to another site that our policy does not name.
fn leave(app: &App, wanted: &ConsentRequest, outcome: &str, value: &str) -> Result<Response> {
    let mut to = wanted.to.clone();
    to.query_pairs_mut()
        .append_pair(outcome, value)
        .extend_pairs(wanted.state.as_deref().map(|state| ("state", state)))
        .append_pair("iss", &clients::issuer(&app.config));
    let page = DonePage { allowed: outcome == "code", host: &wanted.host(), to: to.as_str() };
    respond::page(&page)
}

impl ConsentRequest {
    async fn read(app: &App, fields: &FormFields) -> Result<Self> {
        if let Some(twice) = PARAMETERS.iter().find(|name| fields.all(name).count() > 1) {
            return Err(Error::problem(*twice, "came twice"));
        }
        let get = |name: &str| fields.get(name).filter(|value| !value.is_empty());
        let need = |name: &'static str| get(name).ok_or_else(|| Error::problem(name, "is required"));
        let client = clients::find(app, need("client_id")?).await?;
        let redirect = need("redirect_uri")?;
        let known = client.redirects.iter().any(|known| redirects::is_same(known, redirect));
        let to = redirects::read(redirect)
            .filter(|_| known)
            .ok_or_else(|| Error::problem("redirect_uri", "is none that this program registered"))?;
        if need("response_type")? != "code" {
            return Err(Error::problem("response_type", "must be code"));
        }
        // Absent, it would mean `plain`.
        if need("code_challenge_method")? != "S256" {
            return Err(Error::problem("code_challenge_method", "must be S256"));
        }
        let challenge = Challenge::read(need("code_challenge")?)
            .ok_or_else(|| Error::problem("code_challenge", "must be a SHA-256 in base64url"))?;
        if !clients::is_for_us(&app.config, get("resource")) {
            let ours = clients::resource(&app.config);
            return Err(Error::problem("resource", format!("must be {ours}")));
        }
        let state = get("state").map(str::to_owned);
        if state.as_ref().is_some_and(|state| state.len() > LONGEST_STATE) {
            return Err(Error::problem("state", format!("must be at most {LONGEST_STATE} characters")));
        }
        let named: Vec<&str> = get("scope").unwrap_or_default().split(' ').collect();
        let asked: Vec<Scope> = OFFERED.into_iter().filter(|scope| named.contains(&scope.as_str())).collect();
        let scopes = match asked.as_slice() {
            [] => USUAL.to_vec(),
            [Scope::Read, ..] => asked,
            _ => [vec![Scope::Read], asked].concat(),
        };
        Ok(Self { client, redirect: redirect.to_owned(), to, challenge, scopes, state })
    }

    fn host(&self) -> String {
        let host = self.to.host_str().unwrap_or_default();
        match self.to.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}
