//! The table of contents: every operation of the product, in the order of the specification's section 4.
//!
//! REST routes, MCP tools, the OpenAPI document and the reference are loops over this list. Nothing can
//! exist on one surface and not on the other.

use std::sync::{Arc, LazyLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::attached::BroughtFiles;
use crate::dry_run;
use crate::idempotency::{Key, hash};
use crate::input::{Given, Schema};
use crate::operation::{Call, Method, Operation, PathSubject, Spec, StoredFile, Target};
use crate::operations::*;
use rookery_base::app::App;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::answered::Keyed;
use rookery_base::store::calls::{About, AgentCall, Did, Writing};
use rookery_base::store::connection::DatabaseConnection;
use rookery_base::store::db::{Frame, Handle, NoConnection};
use rookery_core::workspace::keys::Agent;
use rookery_mail::outgoing::whole_mail::WholeMail;

pub static OPERATIONS: LazyLock<Vec<RegisteredOperation>> = LazyLock::new(|| {
    vec![
        entry::<me::Me>(),
        entry::<agents::get_agent_day::GetAgentDay>(),
        entry::<list_conversations::ListConversations>(),
        entry::<get_conversation::GetConversation>(),
        entry::<add_note::AddNote>(),
        entry::<changes::set_status::SetStatus>(),
        entry::<changes::tag_conversation::TagConversation>(),
        entry::<changes::assign_conversation::AssignConversation>(),
        entry::<changes::change_conversations::ChangeConversations>(),
        entry::<reply::Reply>(),
        entry::<request_documents::RequestDocuments>(),
        entry::<bookings::offer_times::OfferTimes>(),
        entry::<contacts::list_contacts::ListContacts>(),
        entry::<contacts::get_contact::GetContact>(),
        entry::<list_mailboxes::ListMailboxes>(),
        entry::<list_tags::ListTags>(),
        entry::<bookings::list_booking_types::ListBookingTypes>(),
        entry::<bookings::list_bookings::ListBookings>(),
        entry::<documents::search_documents::SearchDocuments>(),
        entry::<documents::get_document::GetDocument>(),
        entry::<documents::get_document_content::GetDocumentContent>(),
        entry::<documents::get_document_download::GetDocumentDownload>(),
        entry::<events::list_events::ListEvents>(),
        entry::<record_sent::RecordSent>(),
        entry::<webhooks::list_webhooks::ListWebhooks>(),
        entry::<webhooks::create_webhook::CreateWebhook>(),
        entry::<webhooks::pause_webhook::PauseWebhook>(),
        entry::<webhooks::resume_webhook::ResumeWebhook>(),
        entry::<webhooks::rotate_webhook::RotateWebhook>(),
        entry::<webhooks::test_webhook::TestWebhook>(),
        entry::<webhooks::list_deliveries::ListDeliveries>(),
        entry::<webhooks::redeliver::Redeliver>(),
        entry::<simulate_inbound::SimulateInbound>(),
        entry::<simulate_decision::SimulateDecision>(),
        entry::<sandbox::approve::Approve>(),
        entry::<sandbox::advance::Advance>(),
        entry::<events::follow_sandbox::FollowSandbox>(),
        entry::<openapi::OpenApi>(),
    ]
});

/// A type-erased operation.
pub struct RegisteredOperation {
    pub spec: Spec,
    pub input: Schema,
    /// JSON Schema of the response, with all definitions inlined.
    pub output: Value,
    pub check: fn(&Map<String, Value>) -> Vec<Problem>,
    run: Run,
}

type Run = for<'a> fn(
    &'a App,
    &'a Agent,
    DatabaseConnection,
    &'a RegisteredOperation,
    Request<'a>,
) -> BoxFuture<'a, Result<OperationAnswer>>;

/// What was asked: the id in the path, the query, body or arguments, and the idempotency key.
pub struct Request<'a> {
    pub id: Option<&'a str>,
    pub given: Given<'a>,
    pub key: Result<Option<Key<'a>>>,
}

/// The status and the body's JSON text, or the file that is the answer instead.
#[derive(Debug)]
pub struct OperationAnswer {
    pub status: u16,
    pub body: String,
    pub file: Option<StoredFile>,
    /// It was done and answered before.
    pub replayed: bool,
    /// It is the answer of a dry run.
    pub dry: bool,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// For a dry run: the mail that would leave.
    pub mail: Option<Box<WholeMail>>,
}

impl RegisteredOperation {
    /// Runs the operation for a caller whose key was checked.
    ///
    /// The order is the specification's: plan and scope, then what the path names, then everything that is
    /// wrong with the input. No answer before the second step depends on stored data.
    pub async fn call(
        &self,
        app: &App,
        actor: &Agent,
        conn: DatabaseConnection,
        request: Request<'_>,
    ) -> Result<OperationAnswer> {
        let request = Request { given: request.given.taken_apart(), ..request };
        let called = self.called(actor, &request);
        let done = match self.permit(actor, &request.given) {
            Ok(()) => (self.run)(app, actor, conn, self, request).await,
            Err(error) => Err(error),
        };
        let noted = match &done {
            // A change is written down by its own transaction.
            Ok(answer) => {
                (self.spec.method == Method::Get).then_some((called.did, answer.status, called.about))
            }
            Err(Error::Missing(_)) => Some((Did::Refused, 404, About::Nothing)),
            Err(error) => {
                let status = error.status();
                (400..500).contains(&status).then_some((Did::Refused, status, called.about))
            }
        };
        if let Some((did, status, about)) = noted {
            app.agent_calls.note(AgentCall { did, status, about, ..called }, app.clock.now());
        }
        done
    }

    /// The entry of the agents' log for this call, before its outcome is known.
    fn called(&self, actor: &Agent, request: &Request<'_>) -> AgentCall {
        let id = request.id.filter(|_| self.spec.names_something());
        let about = match self.spec.names {
            PathSubject::Conversation => id.and_then(|id| id.parse().ok()).map(About::Conversation),
            PathSubject::Document => id.and_then(|id| id.parse().ok()).map(About::Document),
            PathSubject::Agent
            | PathSubject::Contact
            | PathSubject::DocumentRequest
            | PathSubject::Draft
            | PathSubject::Webhook => None,
        };
        AgentCall {
            workspace: actor.workspace,
            agent: actor.id,
            did: if request.given.searches() { Did::Searched } else { Did::Read },
            operation: self.spec.name,
            status: self.spec.status,
            about: about.unwrap_or(About::Nothing),
        }
    }

    /// Checks the plan, whether agents are stopped, and the scope.
    pub fn permit(&self, actor: &Agent, given: &Given<'_>) -> Result<()> {
        actor.may_work()?;
        self.spec.needs.check(actor, || given.sending())
    }
}

fn entry<O: Operation>() -> RegisteredOperation {
    let mut input = schema_in(
        SchemaSettings::draft2020_12().for_deserialize(),
        SchemaGenerator::into_root_schema_for::<O::Input>,
    );
    if O::SPEC.method == Method::Post {
        dry_run::offer(&mut input);
    }
    RegisteredOperation {
        spec: O::SPEC,
        input: Schema::new(input),
        output: schema_of::<O::Output>(),
        check: O::check,
        run: |app, actor, conn, entry, request| run::<O>(app, actor, conn, entry, request).boxed(),
    }
}

async fn run<O: Operation>(
    app: &App,
    actor: &Agent,
    conn: DatabaseConnection,
    entry: &RegisteredOperation,
    request: Request<'_>,
) -> Result<OperationAnswer> {
    let writes = O::SPEC.method == Method::Post;
    let dry = (writes && request.given.is_dry_run()).then(|| app.dry());
    let app = dry.as_ref().unwrap_or(app);
    let mut frame = app.frame(actor.workspace).of_agent();
    if writes && dry.is_none() {
        frame.writing = Some(Arc::new(Writing::new(entry.called(actor, &request))));
    }
    if writes && let Some(key) = request.key? {
        let asked = hash(O::SPEC.name, request.id, &request.given);
        frame = frame.once(Some(Keyed::new(actor.workspace, actor.id, key.text(), asked, O::SPEC.secret)));
    }
    match carry_out::<O>(app, actor, conn, entry, frame, request.id, request.given).await {
        Err(Error::AnsweredBefore { status, body }) => Ok(OperationAnswer {
            status,
            body,
            file: None,
            replayed: true,
            dry: false,
            next: None,
            mail: None,
        }),
        done => done,
    }
}

async fn carry_out<O: Operation>(
    app: &App,
    actor: &Agent,
    conn: DatabaseConnection,
    entry: &RegisteredOperation,
    frame: Frame,
    id: Option<&str>,
    given: Given<'_>,
) -> Result<OperationAnswer> {
    let input = entry.input.read(given, O::check);
    let files = input.as_ref().map_or(&[][..], |input| O::files(input));
    if files.is_empty() {
        return transact::<O>(app, actor, conn, frame, id, input, &mut BroughtFiles::default()).await;
    }
    // What was answered before is not stored again.
    NoConnection::begin(conn, frame.clone()).await?;
    let mut brought = BroughtFiles::store(app, actor, files).await;
    let conn = app.connection_of(actor.workspace).await;
    let done = match conn {
        Ok(conn) => transact::<O>(app, actor, conn, frame, id, input, &mut brought).await,
        Err(error) => Err(error),
    };
    // When nobody knows whether a row names them, the sweep finds out.
    if done.as_ref().is_err_and(|error| !error.is_uncertain()) {
        brought.discard(app).await;
    }
    done
}

async fn transact<O: Operation>(
    app: &App,
    actor: &Agent,
    conn: DatabaseConnection,
    frame: Frame,
    id: Option<&str>,
    input: Result<O::Input>,
    brought: &mut BroughtFiles,
) -> Result<OperationAnswer> {
    let db = O::Db::begin(conn, frame).await?;
    let mut call = Call { app, actor, db, next: None, brought: Vec::new(), mail: None };
    let target = O::Target::find(&mut call.db, actor, id).await?;
    let input = input?;
    call.brought = brought.files()?;
    let output = O::run(&mut call, target, input).await?;
    let status = match O::SPEC.repeat_status {
        Some(status) if O::is_repeat(&output) => status,
        _ => O::SPEC.status,
    };
    let (body, file) = (serde_json::to_string(&output)?, O::file(&output));
    if let Some(keyed) = call.db.frame().keyed() {
        keyed.answer(status, &body);
    }
    let (next, mail) = (call.next.take(), call.mail.take().map(Box::new));
    call.db.finish().await?;
    Ok(OperationAnswer { status, body, file, replayed: false, dry: app.is_dry(), next, mail })
}

/// Schema of a response type: a field that is always present is required, even when it can be null.
pub fn schema_of<T: JsonSchema>() -> Value {
    schema_by(SchemaGenerator::into_root_schema_for::<T>)
}

/// The same, for a type that somebody else knows.
pub fn schema_by(root: impl FnOnce(SchemaGenerator) -> schemars::Schema) -> Value {
    schema_in(SchemaSettings::draft2020_12().for_serialize(), root)
}

/// A type's schema with every definition inside it, so that it can stand alone in a document.
fn schema_in(settings: SchemaSettings, root: impl FnOnce(SchemaGenerator) -> schemars::Schema) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = root(settings.into_generator()).to_value();
    tidy(&mut schema);
    schema
}

/// Takes away what the generator adds for Rust's sake: titles of structs and formats such as `uint32`.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("title").is_some_and(Value::is_string) && !fields.contains_key("const") {
                fields.shift_remove("title");
            }
            let foreign = |format: &Value| {
                format.as_str().is_some_and(|name| name.starts_with(['u', 'i']) && name != "uri")
            };
            if fields.get("format").is_some_and(foreign) {
                fields.shift_remove("format");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
