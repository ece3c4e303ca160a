//! Drafting: a model writes an answer that waits for a person, at most one for a mail (D270). It is given this conversation
//! and the team's saved replies, nothing else; the draft goes to the contact and says what it relied on.
//!
//! Held, risky, automatic, closed and answered mail gets none. That is looked at before the call and again under the lock
//! that the draft is written with.

pub mod prompt;
pub mod relied;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::call::{Called, Question, call};
use crate::draft::prompt::Material;
use crate::draft::relied::ReliedSource;
use crate::model::Model;
use crate::runs::Assistant;
use crate::settings::{self, Engine};
use crate::tasks::{self, Task, TaskKind};
use rookery_base::app::App;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound::{self, Outbound};
use rookery_core::workspace::agents::stop as agents;
use rookery_reading::text;

/// The worker's loop.
pub const LOOP: &str = "draft replies";

pub async fn draft_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Drafting { app }, at_once).await
}

struct Drafting<'a> {
    app: &'a App,
}

#[derive(Clone, Debug)]
pub struct Drafted {
    conversation: ConversationId,
    body: String,
    relied_on: Vec<ReliedSource>,
    by: String,
}

impl Work for Drafting<'_> {
    const WHAT: &'static str = "a mail to answer";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = Task;
    /// Nothing when there is nothing to write.
    type Outcome = Option<Drafted>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<Task>> {
        tasks::claim(conn, TaskKind::Draft, lease.began, lease.ends).await
    }

    fn claim_of(&self, task: &Task) -> Claim {
        Claim { workspace: task.workspace, number: task.claim, tries: task.tries }
    }

    async fn act(&self, app: &App, task: &Task) -> Result<TriedRow<Self::Outcome>> {
        let mut conn = app.connection().await?;
        if agents::load(&mut conn, task.workspace).await?.is_some() {
            // It stays claimed until its lease ends, and is looked at again then; nobody is asked meanwhile.
            return Ok(TriedRow::Gone);
        }
        let settings = settings::load(&mut conn, task.workspace).await?;
        let mail = open_mail(&mut conn, task.workspace, task.message()).await?;
        let Some(mail) = mail.filter(|_| settings.drafting == Engine::Model) else {
            return Ok(TriedRow::Done(None));
        };
        let Some(model) = settings.may_show(app, &[mail.mailbox, mail.home], mail.audience) else {
            return Ok(TriedRow::Done(None));
        };
        let OpenMail { conversation, inbox, text, .. } = &mail;
        let inboxes = &settings.inboxes;
        let material = Material::read(&mut conn, task.workspace, *conversation, inboxes, inbox, text).await?;
        drop(conn);
        let question = Question { prompt: &material.prompt(), form: &material.form(), caps: prompt::CAPS };
        match call(app, task.workspace, &model, Assistant::Draft, question).await? {
            Called::Answered { value, .. } => Ok(TriedRow::Done(read(&mail, &material, &value, &model))),
            Called::Trouble(trouble) if trouble.may_pass() => {
                tracing::info!(workspace = %task.workspace, %trouble, "a model was asked in vain");
                tasks::put_off_others(app, task.workspace).await?;
                Ok(TriedRow::Later)
            }
            Called::Trouble(_) | Called::NotTaken(_) => Ok(TriedRow::Done(None)),
        }
    }

    async fn finish(&self, tx: &mut Tx<'_>, task: &Task, drafted: Self::Outcome) -> Result<bool> {
        if !tasks::done(tx, task, TaskKind::Draft).await? {
            return Ok(false);
        }
        if let Some(drafted) = drafted {
            write(self.app, tx, task, &drafted).await?;
        }
        Ok(true)
    }

    async fn again(&self, tx: &mut Tx<'_>, task: &Task, due_at: DateTime<Utc>, tried: bool) -> Result<bool> {
        tasks::again(tx, task, TaskKind::Draft, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, task: &Task) -> Result<bool> {
        tasks::done(tx, task, TaskKind::Draft).await
    }

    fn pause(&self, task: &Task, _: DateTime<Utc>) -> Option<TimeDelta> {
        lease::PAUSES.get(..4)?.get(usize::try_from(task.tries).unwrap_or_default()).copied()
    }
}

/// A mail that may get a draft.
struct OpenMail {
    conversation: ConversationId,
    mailbox: MailboxId,
    home: MailboxId,
    audience: i64,
    inbox: String,
    text: String,
}

/// The customer's newest mail of an open conversation that nobody answered, drafted for or took for a scam.
async fn open_mail(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<OpenMail>> {
    Ok(sqlx::query_as!(
        OpenMail,
        r#"select c.id as "conversation: ConversationId", m.mailbox_id as "mailbox: MailboxId",
               c.mailbox_id as "home: MailboxId", c.audience,
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "inbox!",
               left(m.text, 6000) as "text!"
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           where m.workspace_id = $1 and m.id = $2 and m.direction = 'inbound' and not m.automatic and m.channel = 'mail'
             and c.status = 'open' and c.risk is null and c.held_at is null and c.contact_email is not null
             and c.contact_email = m.from_email
             and not exists (select from messages other
                             where other.workspace_id = $1 and other.conversation_id = c.id and other.id <> m.id
                               and other.item >= 0
                               and (other.status = 'draft'
                                    or ((other.at, other.item) > (m.at, m.item) and not other.automatic
                                        and other.origin is distinct from 'service')))
             and not exists (select from assistant_drafts d where d.workspace_id = $1 and d.answers = m.id)"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?)
}

/// What a model wrote, if it is something to show to a person.
fn read(mail: &OpenMail, material: &Material, answer: &Value, model: &Model) -> Option<Drafted> {
    let body = text::without_unseen(&text::lines(answer["reply"].as_str()?)).trim().to_owned();
    // A blank of a saved reply that was not filled in.
    if body.is_empty() || body.chars().count() > prompt::LONGEST || body.contains("{{") {
        return None;
    }
    let numbers = answer["relied_on"].as_array().into_iter().flatten().filter_map(Value::as_u64);
    let mut relied_on: Vec<ReliedSource> =
        numbers.filter_map(|number| material.source(usize::try_from(number).ok()?)).collect();
    relied_on.dedup();
    Some(Drafted { conversation: mail.conversation, body, relied_on, by: model.called() })
}

/// Writes the draft, unless something came in between. It is refused while agents are stopped, and comes later then.
async fn write(app: &App, tx: &mut Tx<'_>, task: &Task, drafted: &Drafted) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    sqlx::query!("select enter_as_agent($1)", workspace.0).execute(&mut **tx).await?;
    let settings = settings::held(tx).await?;
    let locked = match lock_any(tx, drafted.conversation).await {
        Err(Error::Missing(_)) => return Ok(()),
        locked => locked?,
    };
    let Some(mail) = open_mail(tx, workspace, task.message()).await? else { return Ok(()) };
    let model = settings.may_show(app, &[mail.mailbox, mail.home], mail.audience);
    let is_wanted =
        settings.drafting == Engine::Model && model.is_some_and(|model| model.called() == drafted.by);
    if !is_wanted || mail.conversation != locked.id {
        return Ok(());
    }
    let message: MessageId = tx.mint();
    sqlx::query!(
        "insert into assistant_drafts (workspace_id, answers, message_id, model, relied_on, at)
         values ($1, $2, $3, $4, $5, $6)",
        workspace.0,
        task.message().0,
        message.0,
        drafted.by,
        sqlx::types::Json(&drafted.relied_on) as _,
        now
    )
    .execute(&mut **tx)
    .await?;
    let outbound = Outbound {
        message,
        author: Author::Assistant,
        text: &drafted.body,
        written: None,
        summary: Some(relied::summary(&drafted.relied_on)),
        sends_at: None,
        addressed: None,
    };
    outbound::add(tx, &locked, outbound).await
}
