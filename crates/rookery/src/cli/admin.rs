//! `rookery admin …`: what an operator can do for a workspace. Each command prints a readable line, or one
//! JSON object with `--json`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::mode::Mode;
use crate::cli::output::CommandOutput;
use crate::cli::people as people_commands;
use crate::cli::{agents, audit, bookings, domains, reseal, sending_services, suppressed, webhooks};
use rookery_base::app::App;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{AgentId, ConversationId, MailboxId, MessageId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::inbound::{self, Raw};
use rookery_core::conversations::release_held::release;
use rookery_core::workspace::access::{By, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::people::{self, Person, Role};
use rookery_core::workspace::plan::Plan;
use rookery_core::workspace::{create, keys, mailboxes, sign_in_links};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use rookery_mail::incoming::replay::{Replayed, replay};
use rookery_product::replies::approve::{self, Approved};
use rookery_product::replies::{discard, revoke_key, undo};
use rookery_reading::text;

#[derive(Subcommand)]
pub enum AdminCommand {
    /// Make a workspace with its owner and its sandbox inbox.
    CreateWorkspace {
        #[arg(long)]
        name: String,
        /// The API and webhooks are part of pro and team.
        #[arg(long)]
        plan: Plan,
        #[arg(long)]
        owner_email: String,
        #[arg(long)]
        owner_name: String,
    },
    /// Add a person to a workspace.
    CreateUser {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long)]
        email: String,
        #[arg(long)]
        name: String,
        #[arg(long)]
        role: Role,
    },
    /// Print a link that signs a person in to the app: once, within 30 minutes.
    ///
    /// For the first owner, and for people whose email does not reach them. Anyone who opens it is signed in as that person.
    SignInLink {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
    },
    /// Make an inbox for the team, or for one person alone.
    CreateMailbox {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// The address customers write to.
        #[arg(long)]
        address: String,
        #[arg(long)]
        name: String,
        /// Nobody but this person (and the keys they make) can see it.
        #[arg(long, value_name = "usr_…")]
        private_to: Option<PersonId>,
    },
    /// Make an API key. It is shown once.
    CreateKey {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin; the key sees this person's private inboxes.
        #[arg(long, value_name = "usr_…")]
        maker: PersonId,
        /// The name the key's agent goes by.
        #[arg(long)]
        name: String,
        /// Of read, write, draft, send, record, webhooks; read is always included.
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<Scope>,
        /// A test key works on the sandbox only.
        #[arg(long)]
        mode: Mode,
        /// At most so many messages a day that it sends with nobody's approval.
        #[arg(long, value_name = "N")]
        sends_a_day: Option<i32>,
        /// At most so many drafts a day.
        #[arg(long, value_name = "N")]
        drafts_a_day: Option<i32>,
        /// At most so many of both together.
        #[arg(long, value_name = "N")]
        messages_a_day: Option<i32>,
    },
    /// Make a key useless at once.
    RevokeKey {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "agt_…")]
        agent: AgentId,
    },
    /// Stop every agent of a workspace at once, on every node. `start-agents` takes it back.
    ///
    /// When it answers, nothing of any agent is drafted, changed or sent any more. What agents had sent by themselves
    /// and had not left yet is held.
    StopAgents {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
    },
    /// Let the agents of a workspace work again. What was held becomes drafts.
    StartAgents {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// An owner or admin.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
        /// Let what was held leave, after a whole undo window.
        #[arg(long)]
        let_leave: bool,
    },
    /// Approve a draft: it leaves after the undo window.
    Approve {
        #[command(flatten)]
        named: NamedMessage,
        /// Send the text of this file instead of the draft's.
        #[arg(long, value_name = "FILE")]
        body_file: Option<PathBuf>,
    },
    /// Throw a draft away.
    Discard {
        #[command(flatten)]
        named: NamedMessage,
    },
    /// Stop a message within its undo window. It becomes a draft again.
    Undo {
        #[command(flatten)]
        named: NamedMessage,
    },
    /// Mark a conversation as safe, after it was held as a likely scam or marked as risky.
    ///
    /// Removes the mark, and sends webhooks the events that were held back (client.replied). The timeline
    /// names the person. Safe to repeat.
    Release {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "cnv_…")]
        conversation: ConversationId,
        /// Someone who can see the conversation's inbox.
        #[arg(long, value_name = "usr_…")]
        person: PersonId,
    },
    /// List addresses that are not written to because they complained or do not exist.
    ///
    /// Mail to them fails at once. An address that bounced is written to again when its owner writes, or after
    /// `unsuppress`; one that complained only after `unsuppress`.
    ListSuppressed {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
    },
    /// Write to an address again. Safe to repeat.
    ///
    /// After a complaint, do this only when the person asked for it: receivers remember who writes to people that
    /// complained. Who lifted what and when is kept.
    Unsuppress {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// As list-suppressed shows it.
        #[arg(long)]
        address: String,
    },
    /// Make the key that signs mail from a domain, and print the rows its DNS has to have. Safe to repeat.
    AddDomain {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// The part after the @ of an inbox's address.
        #[arg(long)]
        domain: String,
    },
    /// Look up a domain's DNS rows, and say what is missing or wrong.
    CheckDomain {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long)]
        domain: String,
    },
    /// Give a domain to a workspace: its inboxes receive and send, and nobody else's do.
    ///
    /// Needed where there are several workspaces, unless the workspace proves the domain by its DNS. create-mailbox does it
    /// for a domain that nobody has. Safe to repeat.
    AssignDomain {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// The part after the @ of an inbox's address.
        #[arg(long)]
        domain: String,
    },
    /// Import mail files into a live inbox, as if they had just arrived. The same mail twice is stored once.
    ImportMail {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "mbx_…")]
        mailbox: MailboxId,
        #[arg(required = true, value_name = "FILE.eml")]
        files: Vec<PathBuf>,
    },
    /// Read the raw bytes of all received email again, after an update that understands email better.
    ReplayMail {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
    },
    /// Show where a message came from and why it was threaded there.
    ExplainMail {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        #[arg(long, value_name = "msg_…")]
        message: MessageId,
    },
    /// Seal every stored secret again with the newest key of ROOKERY_SECRET_KEY. Safe to repeat, even while serving.
    Reseal,
    /// The audit log of a workspace.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    #[command(flatten)]
    Bookings(bookings::BookingCommand),
    #[command(flatten)]
    People(people_commands::PersonCommand),
    #[command(flatten)]
    SendingServices(sending_services::SendingServiceCommand),
    #[command(flatten)]
    Webhooks(webhooks::WebhookCommand),
}

/// A message, and the person who does something with it.
#[derive(Args)]
pub struct NamedMessage {
    #[arg(long, value_name = "wsp_…")]
    workspace: WorkspaceId,
    #[arg(long, value_name = "msg_…")]
    message: MessageId,
    /// Someone who can see the message's inbox.
    #[arg(long, value_name = "usr_…")]
    person: PersonId,
}

impl NamedMessage {
    async fn begin(&self, app: &App) -> Result<(Tx<'static>, Person)> {
        let mut tx = app.begin(self.workspace).await.map_err(no_workspace)?;
        let person = people::teammate(&mut tx, self.workspace, self.person).await?;
        Ok((tx, person))
    }
}

pub async fn run(app: &App, command: AdminCommand, json: bool) -> Result<()> {
    let CommandOutput { line, object, left } = execute(app, command).await?;
    if json {
        println!("{}", text::visible_json(&object.to_string()));
    } else {
        println!("{}", text::visible(&line));
    }
    left.map_or(Ok(()), |left| Err(Error::internal(left)))
}

async fn execute(app: &App, command: AdminCommand) -> Result<CommandOutput> {
    let (line, object) = match command {
        AdminCommand::CreateWorkspace { name, plan, owner_email, owner_name } => {
            let made = create::create(app, &name, plan, &owner_email, &owner_name).await?;
            let line = format!(
                "Made workspace {} with owner {} and sandbox inbox {}.",
                made.workspace, made.owner, made.sandbox_address
            );
            let object = json!({
                "workspace": made.workspace,
                "owner": made.owner,
                "sandboxAddress": made.sandbox_address,
            });
            (line, object)
        }
        AdminCommand::CreateUser { workspace, email, name, role } => {
            let mut tx = app.begin(workspace).await.map_err(no_workspace)?;
            let user = people::add(&mut tx, &By::System, &email, &name, role).await?;
            tx.commit().await?;
            (format!("Added {user}."), json!({ "user": user }))
        }
        AdminCommand::SignInLink { workspace, person } => {
            let mut tx = app.begin(workspace).await.map_err(no_workspace)?;
            let url = sign_in_links::make(&mut tx, person).await?;
            tx.commit().await?;
            (format!("Open this within 30 minutes. It works once:\n{url}"), json!({ "url": url }))
        }
        AdminCommand::CreateMailbox { workspace, address, name, private_to } => {
            let mailbox = mailboxes::create(app, workspace, &By::System, &address, &name, private_to)
                .await
                .map_err(no_workspace)?;
            (format!("Made inbox {mailbox}."), json!({ "mailbox": mailbox }))
        }
        AdminCommand::CreateKey {
            workspace,
            maker,
            name,
            scopes,
            mode,
            sends_a_day,
            drafts_a_day,
            messages_a_day,
        } => {
            let caps = Caps { sends: sends_a_day, drafts: drafts_a_day, messages: messages_a_day };
            let livemode = matches!(mode, Mode::Live);
            let wanted = keys::KeyChoices { name: &name, scopes: &scopes, livemode, caps };
            let made =
                keys::create(app, workspace, &By::System, maker, wanted).await.map_err(no_workspace)?;
            let line = format!("Made key {} of agent {}. It is not shown again.", made.key, made.agent);
            (line, json!({ "agent": made.agent, "key": made.key }))
        }
        AdminCommand::RevokeKey { workspace, agent } => {
            revoke_key::revoke(app, workspace, &By::System, agent).await.map_err(no_workspace)?;
            (format!("Revoked the key of {agent}."), json!({ "agent": agent, "revoked": true }))
        }
        AdminCommand::StopAgents { workspace, person } => {
            agents::stop(app, workspace, person).await.map_err(no_workspace)?
        }
        AdminCommand::StartAgents { workspace, person, let_leave } => {
            agents::start(app, workspace, person, let_leave).await.map_err(no_workspace)?
        }
        AdminCommand::Approve { named, body_file } => {
            let edited = match body_file {
                Some(file) => Some(tokio::fs::read_to_string(&file).await.map_err(|error| {
                    Error::internal(format!("{} cannot be read: {error}", file.display()))
                })?),
                None => None,
            };
            let (mut tx, person) = named.begin(app).await?;
            let approved = approve::approve_confirmed(
                app,
                &mut tx,
                &person,
                named.message,
                edited.as_deref(),
                None,
                &[],
            )
            .await?;
            let Approved::Leaves(sends_at) = approved else {
                let why = match approved {
                    Approved::Unconfirmed => {
                        "has links or numbers that the team has not written before: look at it in the app"
                    }
                    Approved::Risky => "is in a conversation that may be fraud: look at it in the app",
                    _ => "was changed meanwhile",
                };
                return Err(Error::problem("message", why));
            };
            tx.commit().await?;
            let sends_at = written(sends_at);
            let line = format!("Approved {}. It leaves at {sends_at}.", named.message);
            (line, json!({ "message": named.message, "status": "scheduled", "sendsAt": sends_at }))
        }
        AdminCommand::Discard { named } => {
            let (mut tx, person) = named.begin(app).await?;
            let gone = discard::discard(&mut tx, &person, named.message, None).await?;
            tx.commit().await?;
            app.blobs.discard(&gone.files).await;
            (format!("Threw {} away.", named.message), json!({ "message": named.message, "discarded": true }))
        }
        AdminCommand::Undo { named } => {
            let (mut tx, person) = named.begin(app).await?;
            undo::undo(&mut tx, &person, named.message).await?.0.must()?;
            tx.commit().await?;
            let line = format!("Stopped {}. It is a draft again.", named.message);
            (line, json!({ "message": named.message, "status": "draft" }))
        }
        AdminCommand::Release { workspace, conversation, person } => {
            let mut tx = app.begin(workspace).await.map_err(no_workspace)?;
            let person = people::teammate(&mut tx, workspace, person).await?;
            let released = release(&mut tx, &person, &conversation.to_string()).await?;
            tx.commit().await?;
            let line = if released {
                format!("Released {conversation}.")
            } else {
                format!("Nothing to release: {conversation} is neither held nor marked as risky.")
            };
            (line, json!({ "conversation": conversation, "released": released }))
        }
        AdminCommand::ListSuppressed { workspace } => suppressed::list(app, workspace).await?,
        AdminCommand::Unsuppress { workspace, address } => {
            suppressed::lift(app, workspace, &address).await.map_err(no_workspace)?
        }
        AdminCommand::AddDomain { workspace, domain } => {
            domains::add(app, workspace, &domain).await.map_err(no_workspace)?
        }
        AdminCommand::AssignDomain { workspace, domain } => {
            domains::assign(app, workspace, &domain).await.map_err(no_workspace)?
        }
        AdminCommand::CheckDomain { workspace, domain } => domains::check(app, workspace, &domain).await?,
        AdminCommand::ImportMail { workspace, mailbox, files } => {
            import(app, workspace, mailbox, &files).await?
        }
        AdminCommand::ReplayMail { workspace } => replay_all(app, workspace).await?,
        AdminCommand::ExplainMail { workspace, message } => explain(app, workspace, message).await?,
        AdminCommand::Reseal => {
            return Ok(reseal::reseal(app).await?.summarize(app.config.needs_secret_key()?));
        }
        AdminCommand::Audit(command) => return audit::execute(app, command).await,
        AdminCommand::Bookings(command) => bookings::execute(app, command).await.map_err(no_workspace)?,
        AdminCommand::People(command) => {
            people_commands::execute(app, command).await.map_err(no_workspace)?
        }
        AdminCommand::SendingServices(command) => {
            sending_services::execute(app, command).await.map_err(no_workspace)?
        }
        AdminCommand::Webhooks(command) => webhooks::execute(app, command).await.map_err(no_workspace)?,
    };
    Ok(CommandOutput::whole(line, object))
}

async fn import(
    app: &App,
    workspace: WorkspaceId,
    mailbox: MailboxId,
    files: &[PathBuf],
) -> Result<(String, Value)> {
    let mailbox = mailboxes::live(&mut *app.connection().await?, workspace, mailbox).await?;
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} files, {eta} left").map_err(Error::internal)?;
    let progress = ProgressBar::new(files.len() as u64).with_style(style);
    let (mut imported, mut duplicates, mut failed) = (0, 0, 0);
    for file in files {
        let outcome = match tokio::fs::read(file).await {
            Ok(raw) => {
                let delivery = Delivery::from_raw(mailbox.clone(), raw, Dmarc::Unknown);
                receive(app, workspace, delivery).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        let why = match outcome {
            Ok(Received::Stored(_)) => {
                imported += 1;
                None
            }
            Ok(Received::Duplicate(_)) => {
                duplicates += 1;
                None
            }
            Ok(Received::Refused(refusal)) => Some(refusal.to_string()),
            Err(error) => Some(error),
        };
        if let Some(why) = why {
            failed += 1;
            let told = text::visible(&format!("{}: {why}", file.display()));
            progress.suspend(|| eprintln!("{told}"));
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    let line = format!("{imported} imported, {duplicates} there already, {failed} failed.");
    Ok((line, json!({ "imported": imported, "duplicates": duplicates, "failed": failed })))
}

async fn replay_all(app: &App, workspace: WorkspaceId) -> Result<(String, Value)> {
    let progress = ProgressBar::new_spinner();
    let (mut same, mut changed, mut gone, mut failed, mut last) = (0, 0, 0, 0, MessageId(0));
    loop {
        let received = inbound::received_after(&mut *app.connection().await?, workspace, last, 200).await?;
        let Some((newest, _)) = received.last() else { break };
        last = *newest;
        for (message, kept) in received {
            if !kept {
                gone += 1;
                continue;
            }
            let why = match replay(app, workspace, message).await {
                Ok(Replayed::Same) => {
                    same += 1;
                    continue;
                }
                Ok(Replayed::Changed) => {
                    changed += 1;
                    continue;
                }
                Ok(Replayed::Refused(refusal)) => refusal.to_string(),
                Err(error) => error.to_string(),
            };
            failed += 1;
            let told = text::visible(&format!("{message}: {why}"));
            progress.suspend(|| eprintln!("{told}"));
        }
        progress.set_message(format!("{} read", same + changed + gone + failed));
        progress.tick();
    }
    progress.finish_and_clear();
    let mut line = format!("{changed} changed, {same} as before, {failed} failed.");
    if gone > 0 {
        line.push_str(&format!(" {gone} stay as they are: their raw form was dropped after 30 days."));
    }
    Ok((line, json!({ "changed": changed, "same": same, "failed": failed, "dropped": gone })))
}

async fn explain(app: &App, workspace: WorkspaceId, message: MessageId) -> Result<(String, Value)> {
    let told = inbound::explained(&mut *app.connection().await?, workspace, message).await?;
    let told = told.ok_or(Error::Missing("No such received message."))?;
    let raw = told.raw.map(|raw| match raw {
        Raw::Here(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Raw::Blob(key) => format!("in the blob store as {key}"),
    });
    let line = format!(
        "In {}: {}.\nWho wrote it: {}\nRaw mail:\n{}",
        told.conversation,
        told.placed.as_deref().unwrap_or("not known"),
        told.verdict.as_ref().map_or("not checked".to_owned(), Value::to_string),
        raw.as_deref().unwrap_or("not kept any more"),
    );
    let object = json!({
        "conversation": told.conversation,
        "placed": told.placed,
        "verdict": told.verdict,
        "raw": raw,
    });
    Ok((line, object))
}

/// Reports a workspace that does not exist or is fenced as missing, in a sentence for operators.
fn no_workspace(error: Error) -> Error {
    match error {
        Error::Internal(cause) if cause.to_string().contains("workspace is fenced") => {
            Error::Missing("No such workspace, or it is being moved.")
        }
        other => other,
    }
}
