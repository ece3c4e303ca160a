//! Sign-in of MCP clients (docs/decisions/client-sign-in.md): the whole way of a program that has nothing but an address, and
//! everything that could go wrong on it.

mod consent;
mod documents;
mod ends;
mod flow;
mod grants;
mod redirects;

use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use rookery_world::browser::{Browser, Shown};
use rookery_world::programs::client_sign_in::{VERIFIER, challenge, parameter, way_back};
use rookery_world::{Reply, World};

const CONSENT: &str = "/oauth/authorize";
const DOOR: &str = "/mcp/sign-in";
const RESOURCE: &str = "https://rookery.example/mcp/sign-in";
const ISSUER: &str = "https://rookery.example/oauth";
const REDIRECT: &str = "http://127.0.0.1:51234/callback";

/// A program that has registered.
struct Program<'w> {
    world: &'w World,
    id: String,
    redirect: String,
}

struct Tokens {
    access: String,
    refresh: String,
}

async fn registers(world: &World, body: &Value) -> Reply {
    Reply::of(world.ask("POST", "/oauth/register").json(body)).await
}

async fn token(world: &World, fields: &[(&str, &str)]) -> Reply {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request =
        world.ask("POST", "/oauth/token").header("content-type", "application/x-www-form-urlencoded");
    Reply::of(request.body(form)).await
}

/// The answer to one message at the door of tokens.
async fn asks(world: &World, access: &str, method: &str, params: Value) -> Reply {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    Reply::of(world.ask("POST", DOOR).bearer_auth(access).json(&message)).await
}

/// Whether the token opens the door.
async fn opens(world: &World, access: &str) -> bool {
    match asks(world, access, "tools/list", json!({})).await.status {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

/// Where the page leads that follows a decision.
#[track_caller]
fn leads_to(shown: &Shown) -> Url {
    assert_eq!(shown.status, 200, "{}", shown.html);
    way_back(&shown.html)
}

/// The sentence of an OAuth refusal's kind.
#[track_caller]
fn refusal(reply: &Reply) -> String {
    assert_eq!(reply.status, 400, "{}", reply.text);
    assert!(reply.json()["error_description"].is_string(), "{}", reply.text);
    reply.json()["error"].as_str().unwrap().to_owned()
}

impl<'w> Program<'w> {
    async fn registered(world: &'w World, name: &str) -> Self {
        let body = json!({ "client_name": name, "redirect_uris": [REDIRECT] });
        let reply = registers(world, &body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        let id = reply.json()["client_id"].as_str().unwrap().to_owned();
        Self { world, id, redirect: REDIRECT.to_owned() }
    }

    /// What it puts into the address it opens.
    fn asked(&self) -> Vec<(&'static str, String)> {
        vec![
            ("response_type", "code".to_owned()),
            ("client_id", self.id.clone()),
            ("redirect_uri", self.redirect.clone()),
            ("code_challenge", challenge(VERIFIER)),
            ("code_challenge_method", "S256".to_owned()),
            ("scope", "read write draft".to_owned()),
            ("state", "st&te=1".to_owned()),
            ("resource", RESOURCE.to_owned()),
        ]
    }

    /// The same with one of them changed, or left out.
    fn asked_but(&self, name: &str, value: Option<&str>) -> Vec<(&'static str, String)> {
        let asked = self.asked().into_iter();
        asked
            .filter_map(|(own, old)| {
                if own == name { value.map(|value| (own, value.to_owned())) } else { Some((own, old)) }
            })
            .collect()
    }

    fn address(&self) -> String {
        address(&self.asked())
    }

    /// The person allows what the page offers.
    async fn allowed_by(&self, person: &Browser<'_>, chosen: &[(&str, &str)]) -> Shown {
        decided(person, &self.asked(), chosen).await
    }

    /// Gives the code of a sign-in.
    async fn code(&self, person: &Browser<'_>) -> String {
        let chosen =
            [("name", "Helper"), ("mode", "test"), ("scope_allowed", "write"), ("scope_allowed", "draft")];
        let back = leads_to(&self.allowed_by(person, &chosen).await);
        parameter(&back, "code").expect("a code")
    }

    async fn redeems(&self, code: &str) -> Reply {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        token(self.world, &fields).await
    }

    async fn refreshes(&self, refresh: &str) -> Reply {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &self.id)];
        token(self.world, &fields).await
    }

    async fn signs_in(&self, person: &Browser<'_>) -> Tokens {
        Tokens::of(&self.redeems(&self.code(person).await).await)
    }
}

impl Tokens {
    #[track_caller]
    fn of(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.text);
        let text = |name: &str| reply.json()[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token") }
    }
}

fn address(asked: &[(&str, String)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
    format!("{CONSENT}?{query}")
}

async fn decided(person: &Browser<'_>, asked: &[(&'static str, String)], chosen: &[(&str, &str)]) -> Shown {
    let hidden = asked.iter().map(|(name, value)| (*name, value.as_str()));
    let fields: Vec<(&str, &str)> =
        hidden.chain([("decision", "allow")]).chain(chosen.iter().copied()).collect();
    person.post(CONSENT, &fields).await
}

async fn agents(world: &World) -> i64 {
    world.scalar("select count(*) from agents where revoked_at is null").await
}
