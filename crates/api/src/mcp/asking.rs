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
use serde_json::{Value, json};

use super::caller::Caller;
use super::words::quoted;
use crate::dry_run;
use crate::idempotency::{Key, hash};
use crate::input::Given;
use crate::operation::Target;
use crate::registry::{RegisteredOperation, Request};
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::hex;
use rookery_base::secrets::link_tokens;
use rookery_base::store::db::{Handle, Reading};
use rookery_core::conversations::conversation::Conversation;
use rookery_mail::outgoing::whole_mail::WholeMail;
use rookery_reading::text;

/// The argument that the person decides, and the name of the question about it.
pub const SEND: &str = "send";
const PURPOSE: &str = "mcp question";
/// People are not always there at once.
const LIVES: TimeDelta = TimeDelta::hours(1);
/// It may have been a person, or a client that says no because nobody is there.
const NO: &str = "Nobody allowed it, so nothing was written. Call again without `send` and it is a draft, which a person approves; \
    if your person has just said no, ask them first what should change.";
const NOT_THIS_QUESTION: &str = "This answer belongs to another question, or came too late. Call again without it to ask the person again.";

/// What the client sends back after asking its person; empty on the first call.
pub struct Reached {
    pub state: Option<String>,
    pub said: Option<InputResponses>,
}

/// A call of a tool that would send.
pub struct Call<'a> {
    pub tool: &'a RegisteredOperation,
    pub id: &'a str,
    pub arguments: &'a JsonObject,
    /// The client's own name for the request.
    pub key: Option<Key<'a>>,
}

pub enum Decision {
    Ask(InputRequiredResult),
    /// The person has answered: the call is carried out, at most once.
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

/// Decides whether the person is asked or the call goes on with their answer. The scope was checked before.
pub async fn decide(caller: &Caller, call: Call<'_>, given: &Given<'_>, person: Reached) -> Result<Decision> {
    let Call { tool, id, arguments, key } = call;
    let conn = caller.app.connection_of(caller.actor.workspace).await?;
    let mut db = Reading::begin(conn, caller.app.frame(caller.actor.workspace).of_agent()).await?;
    let conversation = Conversation::find(&mut db, &caller.actor, Some(id)).await?;
    drop(db);
    let Some(to) = &conversation.contact.email else {
        return Ok(Decision::Go { send: true, once: key.map(Key::into_owned) });
    };
    let of = hex(&hash(tool.spec.name, Some(id), given));
    let question = Question { caller, to, of, key: key.as_ref().map(Key::text).unwrap_or_default() };
    if let Some(state) = &person.state {
        let number = question.number(state)?.ok_or_else(|| Error::Conflict(NOT_THIS_QUESTION.to_owned()))?;
        if let Some(send) = answer(person.said.as_ref())? {
            // The client's own name for the request does the same.
            let once = key.map_or_else(|| Key::own(format!("question {number}")), Key::into_owned);
            return Ok(Decision::Go { send, once: Some(once) });
        }
    }
    let mail = mail(caller, tool, id, arguments).await?;
    let message = message(&caller.actor.name, &mail);
    Ok(Decision::Ask(InputRequiredResult::new(Some(form(message)?), Some(question.state()?))))
}

/// The person's answer: true to send, false to keep a draft. None if there is no readable answer, and an error if they
/// refused.
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
    /// The hash of the request, so that the answer is good for this very text only.
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

    /// The number of the question in this state, if we put it to this agent about this request and it has not expired.
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

/// The mail that would leave, found by a dry run of the call. If that fails, the person is not asked.
async fn mail(
    caller: &Caller,
    tool: &RegisteredOperation,
    id: &str,
    arguments: &JsonObject,
) -> Result<WholeMail> {
    let mut arguments = arguments.clone();
    arguments.insert(dry_run::FIELD.into(), json!(true));
    let request = Request { id: Some(id), given: Given::Arguments(arguments), key: Ok(None) };
    let conn = caller.app.connection_of(caller.actor.workspace).await?;
    let answer = tool.call(&caller.app, &caller.actor, conn, request).await?;
    let mail = answer.mail.ok_or_else(|| Error::internal("a tool that sends shows no mail"))?;
    Ok(*mail)
}

/// What the person reads: who wants to send what to whom, to the last word. Hidden characters are written out, and no line of
/// what a program or a customer wrote passes for one of ours.
fn message(name: &str, mail: &WholeMail) -> String {
    let mut head = vec![format!("From: {}", text::line(&mail.sender()))];
    for (what, addresses) in [("To", &mail.to), ("Cc", &mail.cc), ("Bcc", &mail.bcc)] {
        if !addresses.is_empty() {
            head.push(format!("{what}: {}", text::line(&addresses.join(", "))));
        }
    }
    head.push(format!("Subject: {}", text::line(&mail.wording.subject)));
    for file in &mail.files {
        let (name, kind) = (text::line(&file.filename), text::line(&file.content_type));
        head.push(format!("File, not shown here: {name} ({kind}, {} bytes)", file.size));
    }
    let mut lines = vec![format!("{name} wants to send this mail:"), head.join("\n")];
    lines.extend(mail.warnings());
    lines.push(quoted(&mail.wording.plain()));
    lines.push("It was written by a program. Send it only if you have read it and would sign it.".to_owned());
    text::visible(&lines.join("\n\n"))
}
