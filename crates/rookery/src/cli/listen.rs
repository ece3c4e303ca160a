//! `rookery listen`: follows the events of the sandbox with a test key and posts every event to an address of the developer's
//! machine, signed like a webhook with a secret of its own, and prints a line for each.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::AUTHORIZATION;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::{Position, Url};

use rookery_base::clock::Clock;
use rookery_base::error::{Error, Result};
use rookery_base::ids::EventId;
use rookery_base::net::outside::Outside;
use rookery_base::random::Random;
use rookery_base::secrets::signed_requests::SharedSecret;
use rookery_reading::text;
use rookery_webhooks::attempt::{DeliveryEndpoint, attempt};

const EVENTS: &str = "api/v1/events";
const EVENTS_OF_BEFORE: &str = "api/v1/sandbox/events";
const WAIT_SECONDS: u64 = 15;
/// Request timeout, longer than the server's long poll.
const TIME: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(2);
const MOST_ANSWER_BYTES: usize = 4 << 20;

#[derive(clap::Args)]
pub struct ListenArguments {
    /// Where events are posted to, for example http://localhost:3000/hooks.
    #[arg(long, value_name = "URL")]
    forward_to: Url,
    /// A file with a test key that has the scope `read`. Or set ROOKERY_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The server to follow.
    #[arg(long, env = "ROOKERY_SERVER", default_value = "http://localhost:8080", value_name = "URL")]
    server: Url,
    /// A file with the secret to sign with (whsec_…). Or set ROOKERY_LISTEN_SECRET. A new one when left out.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Refused: everybody on the machine can read command lines.
    #[arg(long, hide = true)]
    key: Option<String>,
    #[arg(long, hide = true)]
    secret: Option<String>,
}

/// Secrets. They come from files or the environment, because every user of a machine can read command lines.
struct Secrets {
    key: String,
    signing: SharedSecret,
}

impl ListenArguments {
    fn secrets(&self, environment: &HashMap<String, String>) -> Result<Secrets> {
        for (given, flag, name) in
            [(&self.key, "--key", "ROOKERY_KEY"), (&self.secret, "--secret", "ROOKERY_LISTEN_SECRET")]
        {
            if given.is_some() {
                let why = "Anyone on this machine can read command lines";
                let instead = format!("Set {name}, or name a file with {flag}-file");
                return Err(Error::internal(format!("{why}. {instead}.")));
            }
        }
        let read = |file: &Option<PathBuf>, name: &str| match file {
            Some(file) => match std::fs::read_to_string(file) {
                Ok(text) => Ok(Some(text.trim().to_owned())),
                Err(error) => Err(Error::internal(format!("{} cannot be read: {error}.", file.display()))),
            },
            None => Ok(environment.get(name).cloned()),
        };
        let missing = || Error::internal("Set ROOKERY_KEY to a test key, or name a file with --key-file.");
        let key = read(&self.key_file, "ROOKERY_KEY")?.ok_or_else(missing)?;
        let no_secret = |_| Error::internal("The signing secret is none: it begins with whsec_.");
        let signing = match read(&self.secret_file, "ROOKERY_LISTEN_SECRET")? {
            Some(text) => text.parse().map_err(no_secret)?,
            None => SharedSecret::new(&Random::system()),
        };
        Ok(Secrets { key, signing })
    }
}

#[derive(Deserialize)]
struct EventBatch {
    events: Vec<Box<RawValue>>,
    next: String,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    r#type: String,
    created_at: String,
}

pub async fn listen(arguments: ListenArguments, environment: HashMap<String, String>) -> Result<()> {
    let Secrets { key, signing } = arguments.secrets(&environment)?;
    // No restriction of addresses: this runs on a developer's machine, not on a server.
    let everywhere = ["0.0.0.0/0", "::/0"].iter().filter_map(|net| net.parse().ok()).collect();
    let outside = Outside::new(everywhere, &[], None, TIME)?;
    let clock = Clock::system();
    if key.starts_with("rk_live_") {
        return Err(needs_test_key());
    }
    // Servers of before had events of the sandbox only.
    let mut path = EVENTS;
    let mut page = match ask(&outside, &arguments, path, &key, None).await {
        Err(Error::Missing(_)) => {
            path = EVENTS_OF_BEFORE;
            ask(&outside, &arguments, path, &key, None).await?
        }
        page => page?,
    };
    println!("Sandbox events of {} go to {}", arguments.server, arguments.forward_to);
    println!("Signing secret: {}", signing.text());
    loop {
        page = match ask(&outside, &arguments, path, &key, Some(&page.next)).await {
            Ok(page) => page,
            Err(error @ (Error::Unauthorized | Error::Forbidden(_))) => return Err(error),
            Err(error) => {
                eprintln!("{error} Trying again.");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        for body in &page.events {
            let told = forward(&outside, &clock, &arguments.forward_to, &signing, body.get()).await?;
            println!("{}", text::visible(&told));
        }
    }
}

/// Posts one event and returns a line about the result.
async fn forward(
    outside: &Outside,
    clock: &Clock,
    to: &Url,
    secret: &SharedSecret,
    body: &str,
) -> Result<String> {
    let event: Event = serde_json::from_str(body)?;
    let id: EventId =
        event.id.parse().map_err(|_| Error::internal("The server sent something that is no event."))?;
    let letter = DeliveryEndpoint {
        to: outside.check(to).await,
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

fn needs_test_key() -> Error {
    Error::Forbidden("Listening needs a test key, and a plan with the API.".into())
}

async fn ask(
    outside: &Outside,
    arguments: &ListenArguments,
    path: &str,
    key: &str,
    after: Option<&str>,
) -> Result<EventBatch> {
    let problem = |what: &str| Error::internal(format!("{} {what}.", arguments.server));
    let mut url = arguments.server.join(path).map_err(Error::internal)?;
    if let Some(after) = after {
        url.query_pairs_mut().append_pair("after", after).append_pair("wait", &WAIT_SECONDS.to_string());
    }
    let request = Request::builder()
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(AUTHORIZATION, format!("Bearer {key}"))
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
        403 => Err(needs_test_key()),
        404 => Err(Error::Missing("The server has no such endpoint.")),
        status => Err(problem(&format!("answered {status}"))),
    }
}
