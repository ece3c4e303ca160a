//! `rookery listen`: follows the sandbox with a test key and posts every event to an address of the developer's
//! machine, signed like a webhook with a secret of its own, and prints a line for each.

use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::{Position, Url};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::ids::EventId;
use crate::outside::Outside;
use crate::random::Random;
use crate::signed::Secret;
use crate::webhooks::attempt::{Letter, attempt};

const WAIT_SECONDS: u64 = 15;
/// Longer than the server waits.
const TIME: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(2);
const MOST_ANSWER_BYTES: usize = 4 << 20;

#[derive(clap::Args)]
pub struct Arguments {
    /// Where events are posted to, for example http://localhost:3000/hooks.
    #[arg(long, value_name = "URL")]
    forward_to: Url,
    /// A test key with the scope `read`.
    #[arg(long, env = "ROOKERY_KEY", hide_env_values = true, value_name = "rk_test_…")]
    key: String,
    /// The server to follow.
    #[arg(long, env = "ROOKERY_SERVER", default_value = "http://localhost:8080", value_name = "URL")]
    server: Url,
    /// The secret to sign with; a new one when left out.
    #[arg(long, value_name = "whsec_…")]
    secret: Option<Secret>,
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Box<RawValue>>,
    next: String,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    r#type: String,
    created_at: String,
}

pub async fn listen(arguments: Arguments) -> Result<()> {
    // A developer may forward to any machine they can reach; this is no server.
    let everywhere = ["0.0.0.0/0", "::/0"].iter().filter_map(|net| net.parse().ok()).collect();
    let outside = Outside::new(everywhere, &[], None, TIME)?;
    let clock = Clock::system();
    let secret = arguments.secret.clone().unwrap_or_else(|| Secret::new(&Random::system()));
    let mut page = ask(&outside, &arguments, None).await?;
    println!("Sandbox events of {} go to {}", arguments.server, arguments.forward_to);
    println!("Signing secret: {}", secret.text());
    loop {
        page = match ask(&outside, &arguments, Some(&page.next)).await {
            Ok(page) => page,
            Err(error @ (Error::Unauthorized | Error::Forbidden(_))) => return Err(error),
            Err(error) => {
                eprintln!("{error} Trying again.");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        for body in &page.events {
            println!("{}", forward(&outside, &clock, &arguments.forward_to, &secret, body.get()).await?);
        }
    }
}

/// Posts one event and tells what came of it in a line.
async fn forward(outside: &Outside, clock: &Clock, to: &Url, secret: &Secret, body: &str) -> Result<String> {
    let event: Event = serde_json::from_str(body)?;
    let id: EventId =
        event.id.parse().map_err(|_| Error::internal("The server sent something that is no event."))?;
    let letter = Letter {
        to: &outside.check(to).await,
        path: &to[Position::BeforePath..Position::AfterQuery],
        secrets: std::slice::from_ref(secret),
    };
    let tried = attempt(outside, clock, &letter, id, body.to_owned()).await;
    let outcome = match &tried.result {
        Ok((status, _)) => status.to_string(),
        Err(failure) => failure.to_string(),
    };
    Ok(format!("{}  {id}  {}  → {outcome} ({} ms)", event.created_at, event.r#type, tried.milliseconds))
}

async fn ask(outside: &Outside, arguments: &Arguments, after: Option<&str>) -> Result<Page> {
    let problem = |what: &str| Error::internal(format!("{} {what}.", arguments.server));
    let mut url = arguments.server.join("api/v1/sandbox/events").map_err(Error::internal)?;
    if let Some(after) = after {
        url.query_pairs_mut().append_pair("after", after).append_pair("wait", &WAIT_SECONDS.to_string());
    }
    let request = Request::builder()
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(AUTHORIZATION, format!("Bearer {}", arguments.key))
        .body(Full::<Bytes>::default())
        .map_err(|_| Error::Unauthorized)?;
    let unreachable = |failure| problem(&format!("cannot be reached ({failure})"));
    let to = outside.check(&url).await.map_err(unreachable)?;
    let answer = outside.send(&to, request, MOST_ANSWER_BYTES).await.map_err(unreachable)?;
    match answer.status {
        200 => {
            serde_json::from_slice(&answer.body).map_err(|_| problem("gave an answer that cannot be read"))
        }
        401 => Err(Error::Unauthorized),
        403 => Err(Error::Forbidden("Listening needs a test key, and a plan with the API.".into())),
        status => Err(problem(&format!("answered {status}"))),
    }
}
