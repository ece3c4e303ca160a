//! Asking a model, by the OpenAI chat format: one question, one answer in a given form. Nothing is asked twice on one
//! connection, nothing takes longer than its time, and an answer that is cut off, too long or not in the form is none.
//!
//! The form is sent along and checked again here, because servers differ in how strictly they keep to it.

use std::fmt;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use rookery_base::app::App;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::net::outside::OutsideFailure;
use rookery_base::secrets::secret::Secret;

/// Bytes of an answer that are read.
const MOST_BYTES: usize = 256 << 10;
/// Tokens that a server puts around what it is asked.
const AROUND: i64 = 400;

/// A model, and who named it.
#[derive(Clone, Debug)]
pub struct Model {
    pub base: Url,
    pub name: String,
    pub key: Option<Secret>,
    pub of_the_operator: bool,
    /// Millionths for a million tokens.
    pub price_in: i64,
    pub price_out: i64,
    /// What the operator lets a workspace spend on it in a month, at most.
    pub monthly_most: Option<i64>,
}

/// What it is asked. The version counts up with every change of the words around the mail.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub version: &'static str,
    /// What it has to do: ours.
    pub task: String,
    /// What it has to do it with: a stranger's.
    pub material: String,
}

/// How much it may be asked and may answer, in tokens.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub tokens_in: usize,
    pub tokens_out: usize,
}

impl Caps {
    /// Letters that are surely no more tokens than that, mostly fewer.
    pub fn letters(self) -> usize {
        self.tokens_in * 3
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub tokens_in: i64,
    pub tokens_out: i64,
}

#[derive(Debug)]
pub struct ModelAnswer {
    pub value: Value,
    pub usage: Option<Usage>,
    pub milliseconds: i32,
}

/// There is no answer. What it used is known only if it said so.
#[derive(Debug)]
pub struct NoAnswer {
    pub why: Trouble,
    pub usage: Option<Usage>,
    pub milliseconds: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Unreachable(OutsideFailure),
    /// It asks us to come later, or is not itself.
    Busy(u16),
    /// It refuses us.
    Refused(u16),
    TooLong,
    CutOff,
    Empty,
    Malformed,
    NotTheForm,
}

impl Trouble {
    /// The same question may have an answer later.
    pub fn may_pass(self) -> bool {
        match self {
            Self::Unreachable(failure) => failure != OutsideFailure::Refused,
            Self::Busy(_) => true,
            _ => false,
        }
    }

    /// Nothing was asked, so nothing was used.
    pub fn was_not_asked(self) -> bool {
        let unheard = [
            OutsideFailure::Refused,
            OutsideFailure::NoSuchName,
            OutsideFailure::NoConnection,
            OutsideFailure::Tls,
        ];
        matches!(self, Self::Unreachable(failure) if unheard.contains(&failure))
            || matches!(self, Self::Refused(_) | Self::Busy(429 | 503))
    }

    /// As a run is kept.
    pub fn code(self) -> &'static str {
        match self {
            Self::Unreachable(OutsideFailure::TooSlow) => "too slow",
            Self::Unreachable(_) => "unreachable",
            Self::Busy(_) => "busy",
            Self::Refused(_) => "refused",
            Self::TooLong => "too long",
            Self::CutOff => "cut off",
            Self::Empty => "empty",
            Self::Malformed => "malformed",
            Self::NotTheForm => "not the form",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(failure) => write!(f, "it could not be reached: {failure}"),
            Self::Busy(status) => write!(f, "it is busy or out of order (status {status})"),
            Self::Refused(status) => write!(
                f,
                "it refused the question (status {status}): check the address, the name and the key"
            ),
            Self::TooLong => f.write_str("its answer was too long, or broke off"),
            Self::CutOff => f.write_str("its answer did not fit into the room it had"),
            Self::Empty => f.write_str("its answer was empty"),
            Self::Malformed => f.write_str("it does not speak the OpenAI chat format"),
            Self::NotTheForm => f.write_str("its answer was not in the form it was asked for"),
        }
    }
}

impl Model {
    /// The one that the operator's settings name.
    pub fn of_the_operator(config: &Config) -> Option<Self> {
        Some(Self {
            base: config.assistants_url.clone()?,
            name: config.assistants_model.clone()?,
            key: config.assistants_key.clone(),
            of_the_operator: true,
            price_in: price(config.assistants_price_in),
            price_out: price(config.assistants_price_out),
            monthly_most: config.assistants_monthly_limit.map(|limit| i64::from(limit) * 1_000_000),
        })
    }

    /// What an owner agrees to: where it is, and its name.
    pub fn identity(&self) -> String {
        format!("{} {}", self.base.as_str().trim_end_matches('/'), self.name)
    }

    /// As people and runs call it.
    pub fn called(&self) -> String {
        format!("model {}", self.name)
    }

    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    pub fn cost(&self, usage: Usage) -> i64 {
        let whole = i128::from(usage.tokens_in) * i128::from(self.price_in)
            + i128::from(usage.tokens_out) * i128::from(self.price_out);
        i64::try_from((whole + 999_999) / 1_000_000).unwrap_or(i64::MAX)
    }

    /// The most that a question can use: no token is shorter than a byte.
    pub fn worst(&self, prompt: &Prompt, schema: &Value, caps: Caps) -> Usage {
        let bytes = prompt.task.len() + prompt.material.len() + schema.to_string().len();
        let tokens = |n: usize| i64::try_from(n).unwrap_or(i64::MAX / 4);
        Usage { tokens_in: tokens(bytes) + AROUND, tokens_out: tokens(caps.tokens_out) }
    }

    pub async fn ask(
        &self,
        app: &App,
        prompt: &Prompt,
        schema: &Value,
        caps: Caps,
    ) -> std::result::Result<ModelAnswer, NoAnswer> {
        let began = Instant::now();
        let asked = self.send(app, prompt, schema, caps).await;
        let milliseconds = i32::try_from(began.elapsed().as_millis()).unwrap_or(i32::MAX);
        match asked {
            Ok((value, usage)) => Ok(ModelAnswer { value, usage, milliseconds }),
            Err((why, usage)) => Err(NoAnswer { why, usage, milliseconds }),
        }
    }

    async fn send(
        &self,
        app: &App,
        prompt: &Prompt,
        schema: &Value,
        caps: Caps,
    ) -> std::result::Result<(Value, Option<Usage>), (Trouble, Option<Usage>)> {
        let unreachable = |failure| (Trouble::Unreachable(failure), None);
        let way = app.models.way(self.of_the_operator);
        let time = app.config.assistants_time();
        // A name that is not found in time was not asked, and costs nothing.
        let found = tokio::time::timeout(time / 2, way.check(&self.base)).await;
        let to = match found {
            Ok(Ok(to)) => to,
            Ok(Err(OutsideFailure::TooSlow)) | Err(_) => return Err(unreachable(OutsideFailure::NoSuchName)),
            Ok(Err(failure)) => return Err(unreachable(failure)),
        };
        let request =
            self.request(prompt, schema, caps).map_err(|_| unreachable(OutsideFailure::Internal))?;
        let answer = way.send_once(&to, request, MOST_BYTES).await.map_err(unreachable)?;
        match answer.status {
            200 if !answer.whole => Err((Trouble::TooLong, None)),
            200 => read(&answer.body, schema),
            408 | 425 | 429 | 500..=599 => Err((Trouble::Busy(answer.status), None)),
            status => Err((Trouble::Refused(status), None)),
        }
    }

    fn request(&self, prompt: &Prompt, schema: &Value, caps: Caps) -> Result<Request<Full<Bytes>>> {
        let body = json!({
            "model": self.name,
            "messages": [
                { "role": "system", "content": prompt.task },
                { "role": "user", "content": prompt.material },
            ],
            "temperature": 0,
            "max_tokens": caps.tokens_out,
            "stream": false,
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": "answer", "strict": true, "schema": schema },
            },
        });
        let path = format!("{}/chat/completions", self.base.path().trim_end_matches('/'));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("rookery/", env!("CARGO_PKG_VERSION")));
        if let Some(Secret(key)) = &self.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {key}")).map_err(Error::internal)?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        request.body(Full::new(Bytes::from(body.to_string()))).map_err(Error::internal)
    }
}

/// Of a currency, as settings have it.
fn price(of_a_million: f64) -> i64 {
    (of_a_million.clamp(0.0, 1e9) * 1e6).round() as i64
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<CompletionChoice>,
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct CompletionChoice {
    message: CompletionMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct CompletionMessage {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Used {
    prompt_tokens: Option<i64>,
    completion_tokens: Option<i64>,
}

/// What a server answered, if it is in the form.
fn read(
    body: &[u8],
    schema: &Value,
) -> std::result::Result<(Value, Option<Usage>), (Trouble, Option<Usage>)> {
    let completion: Completion = serde_json::from_slice(body).map_err(|_| (Trouble::Malformed, None))?;
    let sound = |n: i64| (0..=100_000_000).contains(&n).then_some(n);
    let usage = completion.usage.and_then(|used| {
        let (tokens_in, tokens_out) =
            (used.prompt_tokens.and_then(sound)?, used.completion_tokens.and_then(sound)?);
        Some(Usage { tokens_in, tokens_out })
    });
    let trouble = |why| (why, usage);
    let choice = completion.choices.into_iter().next().ok_or(trouble(Trouble::Empty))?;
    if choice.finish_reason.as_deref() == Some("length") {
        return Err(trouble(Trouble::CutOff));
    }
    let content = choice.message.content.unwrap_or_default();
    if content.trim().is_empty() {
        return Err(trouble(Trouble::Empty));
    }
    let value: Value = serde_json::from_str(content.trim()).map_err(|_| trouble(Trouble::NotTheForm))?;
    match jsonschema::validator_for(schema) {
        Ok(form) if form.is_valid(&value) => Ok((value, usage)),
        _ => Err(trouble(Trouble::NotTheForm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Value {
        json!({
            "type": "object", "additionalProperties": false, "required": ["topic"],
            "properties": { "topic": { "type": ["string", "null"], "enum": ["a", "b", null] } },
        })
    }

    fn answered(content: &str, finish: &str) -> std::result::Result<Value, Trouble> {
        let body = json!({ "choices": [{ "message": { "content": content }, "finish_reason": finish }] });
        read(body.to_string().as_bytes(), &form()).map(|(value, _)| value).map_err(|(why, _)| why)
    }

    #[test]
    fn only_what_is_in_the_form_is_an_answer() {
        assert_eq!(answered(r#"{"topic":"a"}"#, "stop"), Ok(json!({ "topic": "a" })));
        assert_eq!(answered(r#"{"topic":null}"#, "stop"), Ok(json!({ "topic": null })));
        for (content, finish, why) in [
            (r#"{"topic":"invented"}"#, "stop", Trouble::NotTheForm),
            (r#"{"topic":"a","send":true}"#, "stop", Trouble::NotTheForm),
            (r#"{"topic":"a"} and more"#, "stop", Trouble::NotTheForm),
            ("```json\n{}\n```", "stop", Trouble::NotTheForm),
            ("  ", "stop", Trouble::Empty),
            (r#"{"topic":"a"}"#, "length", Trouble::CutOff),
        ] {
            assert_eq!(answered(content, finish), Err(why), "{content}");
        }
        for body in
            ["", "[]", "{}", "<html>", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"content":null}}]}"#]
        {
            assert!(read(body.as_bytes(), &form()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_the_worst_case_is_more() {
        let model = Model {
            base: "https://models.example/v1".parse().unwrap(),
            name: "m".into(),
            key: Some(Secret("very-secret".into())),
            of_the_operator: false,
            price_in: 200_000,
            price_out: 600_000,
            monthly_most: None,
        };
        assert_eq!(model.cost(Usage { tokens_in: 1, tokens_out: 0 }), 1);
        assert_eq!(model.cost(Usage { tokens_in: 1_000_000, tokens_out: 1_000_000 }), 800_000);
        let prompt = Prompt { version: "1", task: "x".repeat(1_000), material: "é".repeat(1_000) };
        let worst = model.worst(&prompt, &form(), Caps { tokens_in: 1_500, tokens_out: 60 });
        assert!(worst.tokens_in >= 3_000 && worst.tokens_out == 60, "{worst:?}");
        assert!(!format!("{model:?}").contains("very-secret"));
        assert_eq!(model.identity(), "https://models.example/v1 m");
    }
}
