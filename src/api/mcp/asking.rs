//! Asking the person before mail leaves (docs/decisions/asking.md). A tool that would send is answered with a question where the
//! client can put one to its person, and is carried out when the client comes back with the answer.
//! Nothing is kept meanwhile. The question, whose it is and until when it may be answered stand signed in a state that the
//! client brings back, so no answer is good for another text, and none is good twice.

use chrono::TimeDelta;
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, JsonObject, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::caller::Caller;
use super::words::quoted;
use crate::api::idempotency::{Key, hash};
use crate::api::input::Given;
use crate::api::operation::Target;
use crate::api::registry::Entry;
use crate::conversations::conversation::Conversation;
use crate::error::{Error, Result};
use crate::secrets::hashes::hex;
use crate::secrets::link_tokens;
use crate::store::db::{Handle, Reading};
use crate::text;

/// The argument that the person decides, and the name of the question about it.
pub const SEND: &str = "send";
const PURPOSE: &str = "mcp question";
/// People are not always there at once.
const LIVES: TimeDelta = TimeDelta::hours(1);
/// Of a text that is shown with the question.
const MOST_SHOWN: usize = 4_000;
/// It may have been a person, or a client that says no because nobody is there.
const NO: &str = "Nobody allowed it, so nothing was written. Call again without `send` and it is a draft, which a person approves; \
    if your person has just said no, ask them first what should change.";
const NOT_THIS_QUESTION: &str = "This answer belongs to another question, or came too late. Call again without it, and the person is asked anew.";

/// What the client brings from its person, if it has asked.
pub struct Reached {
    pub state: Option<String>,
    pub said: Option<InputResponses>,
}

pub enum Decision {
    Ask(InputRequiredResult),
    /// Carried out, as the person said, once.
    Go {
        send: bool,
        once: Option<Key<'static>>,
    },
}

/// Whether the client can put a question to its person and come back: it says so with each request, in the revision that has
/// results which ask. Clients of before would have to be asked by a request of ours, and there is no stream to send it on.
pub fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    let is_new = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    let asks = context.meta.client_capabilities().and_then(|able| able.elicitation);
    // One that names no kind of question means forms.
    is_new && asks.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// What becomes of a call that would send: the key may do it, and the person has said nothing yet, or something.
pub async fn decide(
    caller: &Caller,
    tool: &Entry,
    (id, arguments, given): (&str, &JsonObject, Given<'_>),
    key: Option<Key<'_>>,
    person: Reached,
) -> Result<Decision> {
    let conn = caller.app.connection().await?;
    let mut db = Reading::begin(conn, caller.app.frame(caller.actor.workspace).of_agent()).await?;
    let conversation = Conversation::find(&mut db, &caller.actor, Some(id)).await?;
    drop(db);
    let Some(to) = &conversation.contact.email else {
        return Ok(Decision::Go { send: true, once: key.map(Key::into_owned) });
    };
    let of = hex(&hash(tool.spec.name, Some(id), &given));
    let question = Question { caller, to, of, key: key.as_ref().map(Key::text).unwrap_or_default() };
    if let Some(state) = &person.state {
        let number = question.number(state)?.ok_or_else(|| Error::Conflict(NOT_THIS_QUESTION.to_owned()))?;
        if let Some(send) = answer(person.said.as_ref())? {
            // The client's own name for the request does the same.
            let once = key.map_or_else(|| Key::own(format!("question {number}")), Key::into_owned);
            return Ok(Decision::Go { send, once: Some(once) });
        }
    }
    // Nobody is asked about what cannot be done.
    tool.input.read::<Value>(given, tool.check)?;
    let message = message(caller, tool, arguments, to, &conversation.subject);
    Ok(Decision::Ask(InputRequiredResult::new(Some(form(message)?), Some(question.state()?))))
}

/// The person's word: send, or keep it as a draft. None when there is no word to be read, and an error when it was no.
fn answer(said: Option<&InputResponses>) -> Result<Option<bool>> {
    let Some(said) = said.and_then(|said| said.get(SEND)) else { return Ok(None) };
    let Ok(said) = serde_json::from_value::<ElicitResult>(said.clone()) else { return Ok(None) };
    match said.action {
        // Whoever accepts a form without having ticked it has not said "send".
        ElicitationAction::Accept => {
            Ok(Some(said.content.is_some_and(|content| content[SEND] == Value::Bool(true))))
        }
        _ => Err(Error::Conflict(NO.to_owned())),
    }
}

/// One question: to whom, and what it is about.
struct Question<'a> {
    caller: &'a Caller,
    /// Whom the mail goes to. A conversation can become part of another one, with another customer.
    to: &'a str,
    /// The request, to the letter.
    of: String,
    /// The client's own name for the request.
    key: &'a str,
}

impl Question<'_> {
    fn said(&self, until: i64, number: &str) -> String {
        let (actor, of, to, key) = (&self.caller.actor, &self.of, self.to, self.key);
        // The two that others write come last, and the first of them with its length.
        format!("{}.{}.{until}.{number}.{of}.{}.{to}.{key}", actor.workspace, actor.id, to.len())
    }

    fn state(&self) -> Result<String> {
        let app = &self.caller.app;
        let (until, number) = ((app.clock.now() + LIVES).timestamp_millis(), app.random.hex(32));
        let key = app.config.needs_secret_key()?.newest();
        let token = link_tokens::token(key, PURPOSE, &self.said(until, &number));
        Ok(format!("{until}.{number}.{token}"))
    }

    /// Which one it was, if we asked it of this agent about this request and it may still be answered.
    fn number<'s>(&self, state: &'s str) -> Result<Option<&'s str>> {
        let app = &self.caller.app;
        let keys = app.config.needs_secret_key()?;
        let mut parts = state.splitn(3, '.');
        let (Some(until), Some(number), Some(token)) = (parts.next(), parts.next(), parts.next()) else {
            return Ok(None);
        };
        let Ok(until) = until.parse::<i64>() else { return Ok(None) };
        let holds = until > app.clock.now().timestamp_millis()
            && link_tokens::is_ours(keys, PURPOSE, &self.said(until, number), token);
        Ok(holds.then_some(number))
    }
}

/// A form with one box, which is not ticked.
fn form(message: String) -> Result<InputRequests> {
    let schema = ElicitationSchema::builder().required_bool_with(SEND, |send| {
        send.title("Send it")
            .description("Ticked: it is sent. Not ticked: it stays a draft that somebody has to approve.")
            .with_default(false)
    });
    let requested_schema = schema.build().map_err(Error::internal)?;
    let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Ok(InputRequests::from([(SEND.to_owned(), InputRequest::Elicitation(ElicitRequest::new(params)))]))
}

/// What the person reads: who wants to send what to whom. Hidden characters are written out, and no line of what a program wrote
/// passes for one of ours.
fn message(caller: &Caller, tool: &Entry, arguments: &JsonObject, to: &str, subject: &str) -> String {
    let (name, about) = (&caller.actor.name, text::snippet(subject, 200));
    let mut lines = vec![format!("{name} wants to send this to {to} (\u{201c}{about}\u{201d}):")];
    let fields = tool.input.json["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    for name in fields.filter(|name| *name != SEND) {
        let Some(words) = arguments.get(name).map(words).filter(|words| !words.is_empty()) else { continue };
        let shown: String = words.chars().take(MOST_SHOWN).collect();
        lines.push(format!("{name}:\n{}", quoted(&shown)));
        if let more @ 1.. = words.chars().count().saturating_sub(MOST_SHOWN) {
            lines.push(format!("{more} more characters of it are not shown here."));
        }
    }
    lines.push("It was written by a program. Send it only if you have read it and would sign it.".to_owned());
    text::visible(&lines.join("\n\n"))
}

/// What an argument says, without the bytes of files.
fn words(given: &Value) -> String {
    match given {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let names = ["label", "filename", "documentId"];
            names.iter().find_map(|name| fields.get(*name)).map(words).unwrap_or_default()
        }
        other => other.to_string(),
    }
}
