//! The `Operation` trait: path, required scope, input, output, and the verb it runs. Everything that REST, MCP and
//! OpenAPI say about an operation is derived from this one definition (specification 4).

use std::future::Future;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::attached::AttachedFile;
use crate::input::Sending;
use rookery_base::app::App;
use rookery_base::error::{Error, NO_AGENT, NO_CONVERSATION, NO_MESSAGE, Problem, Result};
use rookery_base::ids::MessageId;
use rookery_base::store::db::{Connected, Handle, Tx};
use rookery_core::conversations::contacts::{self, ListedContact, NO_CONTACT};
use rookery_core::conversations::conversation::{Conversation, Locked, find_visible};
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::messages::outbound::{Draft, lock_message};
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::access::{Actor, Scope};
use rookery_core::workspace::agents::list::{self, ListedAgent};
use rookery_core::workspace::keys::Agent;
use rookery_mail::outgoing::whole_mail::{self, WholeMail};
use rookery_product::documents::library::NO_DOCUMENT;
use rookery_product::documents::uploads::locked::{self, NO_REQUEST, Request};
use rookery_product::documents::whole::{self, WholeDocument};
use rookery_webhooks::webhook::{self, NO_WEBHOOK, Webhook};

pub trait Operation: Send + Sync + 'static {
    const SPEC: Spec;
    /// How it uses the database: plain reads, reads of one snapshot, a write transaction, or no connection.
    type Db: Handle;
    /// What the path names. Looked up, if the caller may see it, before the input is validated.
    type Target: Target<Self::Db>;
    /// The query or the body. Its schema is published and enforced.
    type Input: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema + Send;

    fn run(
        call: &mut Call<'_, Self::Db>,
        target: Self::Target,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output>> + Send;

    /// Whether the call found its work done already; then the answer has `repeat_status`.
    fn is_repeat(_output: &Self::Output) -> bool {
        false
    }

    /// The file that is the answer, where it is one.
    fn file(_output: &Self::Output) -> Option<StoredFile> {
        None
    }

    /// Files that the input brings. They are stored before the transaction begins, and `Call::brought` has them.
    fn files(_input: &Self::Input) -> &[AttachedFile] {
        &[]
    }

    /// Rules across fields, which a JSON Schema cannot express. Their problems are reported together with the
    /// schema's.
    fn check(_given: &Map<String, Value>) -> Vec<Problem> {
        Vec::new()
    }
}

/// A file of the blob store that is given to whoever asked.
#[derive(Clone, Debug)]
pub struct StoredFile {
    pub blob: String,
    pub filename: String,
}

/// The static description of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name; also the name of its MCP tool when it has one.
    pub name: &'static str,
    pub has_tool: bool,
    pub title: &'static str,
    /// One or two sentences for developers and models.
    pub about: &'static str,
    pub method: Method,
    /// Below the REST prefix. `{id}` is the id of what it names.
    pub path: &'static str,
    pub names: PathSubject,
    /// It answers with a file to be saved.
    pub gives_file: bool,
    pub needs: Needs,
    /// It waits for something to happen, and is given up when its client leaves.
    pub waits: bool,
    /// The status of success.
    pub status: u16,
    /// The status when the same was done before, where that differs.
    pub repeat_status: Option<u16>,
    /// Repeating the same request is harmless.
    pub repeatable: bool,
    /// It can reach people outside the team.
    pub reaches_out: bool,
    /// It can do something that cannot be undone, such as sending mail.
    pub irrevocable: bool,
    /// The answer holds a secret, so it is stored encrypted for repeated requests.
    pub secret: bool,
    pub most_body_bytes: usize,
    /// The field that lists the objects of the call, if there can be many. Every ten count as one request.
    pub many: Option<&'static str>,
}

/// How many objects count as one request.
const OF_A_REQUEST: usize = 10;
/// Most objects of one call.
pub const MOST_AT_ONCE: usize = 100;

pub const ONE_MIB: usize = 1 << 20;

impl Spec {
    /// A read that has an MCP tool: what most operations of this kind look like.
    pub const fn read(name: &'static str, path: &'static str) -> Self {
        Self {
            name,
            has_tool: true,
            title: "",
            about: "",
            method: Method::Get,
            path,
            names: PathSubject::Conversation,
            gives_file: false,
            needs: Needs::Scope(Scope::Read),
            waits: false,
            status: 200,
            repeat_status: None,
            repeatable: true,
            reaches_out: false,
            irrevocable: false,
            secret: false,
            most_body_bytes: ONE_MIB,
            many: None,
        }
    }

    /// A write that has an MCP tool and can be repeated.
    pub const fn write(name: &'static str, path: &'static str) -> Self {
        Self { method: Method::Post, needs: Needs::Scope(Scope::Write), ..Self::read(name, path) }
    }

    pub fn names_a_conversation(&self) -> bool {
        self.names_something() && self.names == PathSubject::Conversation
    }

    pub fn names_something(&self) -> bool {
        self.path.contains("{id}")
    }

    /// How many requests a call counts as in the rate limit, by its body or arguments. What will be refused counts as one.
    pub fn requests(&self, given: &[u8]) -> usize {
        let Some(field) = self.many else { return 1 };
        let given: Value = serde_json::from_slice(given).unwrap_or_default();
        match given[field].as_array().map_or(0, Vec::len) {
            many @ 1..=MOST_AT_ONCE => many.div_ceil(OF_A_REQUEST),
            _ => 1,
        }
    }
}

/// What the `{id}` of a path is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSubject {
    Contact,
    Agent,
    Conversation,
    Document,
    DocumentRequest,
    Draft,
    Webhook,
}

impl PathSubject {
    pub fn about(self) -> &'static str {
        match self {
            Self::Contact => "A contact's id.",
            Self::Agent => "An agent's id.",
            Self::Conversation => "A conversation's id.",
            Self::Document => "A document's id.",
            Self::DocumentRequest => "The id of a request for documents.",
            Self::Draft => "A draft's message id.",
            Self::Webhook => "A webhook's id.",
        }
    }

    pub fn pattern(self) -> &'static str {
        match self {
            Self::Contact => "^ctc_[0-9a-z]+$",
            Self::Agent => "^agt_[0-9a-z]+$",
            Self::Conversation => "^cnv_[0-9a-z]+$",
            Self::Document => "^doc_[0-9a-z]+$",
            Self::DocumentRequest => "^req_[0-9a-z]+$",
            Self::Draft => "^msg_[0-9a-z]+$",
            Self::Webhook => "^whk_[0-9a-z]+$",
        }
    }

    /// The description of the id for models, and the other argument name that models like to write.
    pub fn argument(self) -> (&'static str, &'static str) {
        match self {
            Self::Contact => ("The contact's id, ctc_…", "contactId"),
            Self::Agent => ("The agent's id, agt_…", "agentId"),
            Self::Conversation => ("The conversation's id, cnv_…", "conversationId"),
            Self::Document => ("The document's id, doc_…", "documentId"),
            Self::DocumentRequest => ("The request's id, req_…", "requestId"),
            Self::Draft => ("The draft's id, msg_…", "messageId"),
            Self::Webhook => ("The webhook's id, whk_…", "webhookId"),
        }
    }
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Method {
        Get = "GET",
        Post = "POST",
    }
}

/// What a key must have for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Any valid key.
    Nothing,
    Scope(Scope),
    /// `send` when the input says `send: true`, else `draft`.
    DraftOrSend,
    /// A test key with this scope.
    TestKey(Scope),
}

impl Needs {
    /// `sending` is called only when the scope depends on it, because the body has to be parsed for that.
    pub fn check(self, actor: &Actor, sending: impl FnOnce() -> Sending) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Scope(scope) => actor.needs(scope),
            Self::DraftOrSend => match sending() {
                Sending::Yes => actor.needs(Scope::Send),
                Sending::No => actor.needs(Scope::Draft),
                // Broken input is refused later; a key that may do neither is refused here.
                Sending::Unclear if actor.has(Scope::Send) => Ok(()),
                Sending::Unclear => actor.needs(Scope::Draft),
            },
            Self::TestKey(_) if actor.livemode => {
                Err(Error::Forbidden("This endpoint works with test keys only.".into()))
            }
            Self::TestKey(scope) => actor.needs(scope),
        }
    }

    /// Whether a client with this key sees the tool.
    pub fn shown_to(self, actor: &Actor) -> bool {
        self.check(actor, || Sending::Unclear).is_ok()
    }
}

/// One call of an operation.
pub struct Call<'a, D> {
    pub app: &'a App,
    pub actor: &'a Agent,
    pub db: D,
    /// The cursor of the next page, when there is one.
    pub next: Option<String>,
    /// Files that came with it.
    pub brought: Vec<Attachment>,
    /// Of a dry run: the mail that would leave.
    pub mail: Option<WholeMail>,
}

impl Call<'_, Tx<'static>> {
    /// Keeps the mail that would leave, if this is a dry run: it is shown to whoever is asked before sending.
    pub async fn show_mail(&mut self, message: MessageId) -> Result<()> {
        if self.app.is_dry() {
            self.mail = Some(whole_mail::of_message(&mut self.db, self.actor.workspace, message).await?);
        }
        Ok(())
    }
}

impl<D: Handle> Call<'_, D> {
    pub fn now(&self) -> DateTime<Utc> {
        self.db.now()
    }
}

/// What a path can name.
pub trait Target<D>: Sized + Send {
    fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> impl Future<Output = Result<Self>> + Send;
}

/// The path names nothing.
pub struct Nothing;

impl<D: Handle> Target<D> for Nothing {
    async fn find(_: &mut D, _: &Actor, _: Option<&str>) -> Result<Self> {
        Ok(Self)
    }
}

impl<D: Connected> Target<D> for WholeDocument {
    async fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_DOCUMENT)?;
        whole::find(db, actor, id).await
    }
}

impl<D: Connected> Target<D> for ListedContact {
    async fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_CONTACT)?;
        contacts::find_visible(db, actor, id).await
    }
}

impl Target<Tx<'static>> for Draft {
    async fn find(tx: &mut Tx<'static>, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_MESSAGE)?;
        lock_message(tx, actor, id).await?;
        Ok(Self(id))
    }
}

impl Target<Tx<'static>> for Request {
    async fn find(tx: &mut Tx<'static>, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_REQUEST)?;
        locked::visible(tx, actor, id).await
    }
}

impl<D: Connected> Target<D> for Webhook {
    async fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_WEBHOOK)?;
        webhook::find_open(db, actor.workspace, &actor.by(), id).await
    }
}

/// Live and sandbox never mix.
impl<D: Connected> Target<D> for ListedAgent {
    async fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let id = id.and_then(|id| id.parse().ok()).ok_or(NO_AGENT)?;
        let agent = list::one(db, actor.workspace, id).await?;
        if agent.livemode == actor.livemode { Ok(agent) } else { Err(NO_AGENT) }
    }
}

impl<D: Connected> Target<D> for Conversation {
    async fn find(db: &mut D, actor: &Actor, id: Option<&str>) -> Result<Self> {
        let now = db.now();
        find_visible(db, actor, now, id.ok_or(NO_CONVERSATION)?).await
    }
}

impl Target<Tx<'static>> for Locked {
    async fn find(tx: &mut Tx<'static>, actor: &Actor, id: Option<&str>) -> Result<Self> {
        lock_visible(tx, actor, id.ok_or(NO_CONVERSATION)?).await
    }
}
