//! Processes a received mail: authenticates it, parses it, and delivers it into each recipient's inbox. The reply
//! says what happened, and is a temporary error whenever that is not certain.

use std::error::Error as StdError;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::door::{Door, PORTION, PORTIONS, Protocol};
use super::mail_log::{RecipientOutcome, SeenMail};
use super::origin::MailOrigin;
use super::pass_on::{PassOnSeat, Passed};
use super::recipients::{Envelope, EnvelopeRecipient, Home};
use super::spool::Spool;
use crate::incoming::authenticate::Dmarc;
use crate::incoming::authenticate::{self, AuthenticationVerdict};
use crate::incoming::delivery::{Delivery, Received};
use crate::incoming::quota::{Brought, admit};
use crate::incoming::receive::take_apart;
use crate::incoming::stage::stage;
use rookery_base::app::App;
use rookery_base::config::DmarcReject;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_reading::mail::parse::{ParsedMail, Refusal};
use rookery_reading::mail::plus_tag;

const LATER: &str = "451 4.3.0 Something is wrong on our side, try again later";
const HEADER_TOO_LARGE: &str = "552 5.3.4 The header of the mail is too large";
const UNANSWERED: &str = "451 4.7.0 Too much mail waits for its sender's name servers, try again later";
const BUSY: &str = "451 4.3.2 Too much mail waits for the server of this inbox, try again later";
const UNWANTED: &str = "550 5.7.1 The sender's domain asks to refuse mail that it does not confirm (DMARC)";
const FULL: &str = "452 4.3.1 No room for the mail, try again later";

/// A mail for one inbox of a workspace of this node.
struct Given<'a> {
    app: &'a Arc<App>,
    workspace: WorkspaceId,
    delivery: Delivery,
    mail: &'a Arc<ParsedMail>,
    /// Where it came from.
    address: Option<IpAddr>,
    /// What the log calls it.
    id: &'a str,
}

impl Door {
    /// One reply per recipient, or a single one for all.
    pub(super) async fn hand_over(
        &self,
        origin: &MailOrigin,
        protocol: Protocol,
        envelope: &Envelope,
        spool: Spool,
    ) -> Vec<String> {
        let started = Instant::now();
        let id = self.app.random.hex(12);
        let mut seen = SeenMail { origin, envelope, id, bytes: spool.len(), checked: None };
        let filed = match self.file(&mut seen, protocol, spool).await {
            Ok(filed) => filed,
            Err(error) => vec![RecipientOutcome::nowhere(excuse(&error))],
        };
        for (number, recipient) in envelope.recipients.iter().enumerate() {
            let filed = filed.get(number).unwrap_or(&filed[0]);
            self.log_filed(&seen, recipient, filed, started.elapsed());
        }
        let mut answers: Vec<String> = filed.into_iter().map(|filed| filed.answer).collect();
        if protocol == Protocol::Smtp {
            answers = vec![for_all(answers)];
        }
        self.app.figures.mail_answered(protocol.as_str(), &answers, started.elapsed());
        answers
    }

    /// What became of it at each recipient, or a single answer for all.
    async fn file(
        &self,
        seen: &mut SeenMail<'_>,
        protocol: Protocol,
        mut spool: Spool,
    ) -> Result<Vec<RecipientOutcome>> {
        let for_everybody = |answer: &str| Ok(vec![RecipientOutcome::nowhere(answer.to_owned())]);
        let (origin, envelope, id) = (seen.origin, seen.envelope, &seen.id);
        let Some(header) = spool.header().await? else { return for_everybody(HEADER_TOO_LARGE) };
        let sender = authenticate::ClientIdentity {
            address: origin.address,
            helo: origin.helo.as_deref().unwrap_or_default(),
            mail_from: &envelope.from,
        };
        // DNS may be slow; meanwhile the mail stays in its spool.
        let asked = match self.asking.turn(origin.address).await {
            Some(_turn) => stage("authenticate", self.authenticator.ask(&sender, &header)).await,
            None => return for_everybody(UNANSWERED),
        };
        // Large mails take turns, so that ten at once do not need ten times the memory.
        let portions = (spool.len() / PORTION + 1).min(PORTIONS) as u32;
        let _turn = self.work.acquire_many(portions).await.map_err(Error::internal)?;
        let raw = spool.read().await?;
        let taken_apart = {
            let _turn = match portions {
                1 => None,
                _ => Some(self.processors.acquire().await.map_err(Error::internal)?),
            };
            take_apart(&raw).await?
        };
        let mut mail = match taken_apart {
            Ok(mail) => mail,
            Err(refusal) => return for_everybody(&refused(refusal)),
        };
        // RFC 3834: nobody is there to read an answer.
        mail.automatic |= envelope.from.is_empty();
        let mut verdict = stage("authenticate", self.authenticator.judge(asked, &mail, &raw)).await;
        verdict.null_sender = envelope.from.is_empty();
        self.app.figures.mail_checked([
            ("spf", verdict.spf.as_str()),
            ("dkim", verdict.dkim.as_str()),
            ("dmarc", verdict.dmarc.as_str()),
            ("arc", verdict.arc.as_str()),
        ]);
        seen.checked = Some(verdict.clone());
        match self.app.config.dmarc_reject {
            DmarcReject::Refuse if verdict.unwanted => return for_everybody(UNWANTED),
            DmarcReject::Hold => verdict.held = verdict.unwanted,
            _ => {}
        }
        let mail = Arc::new(mail);
        let mut all_filed = Vec::with_capacity(envelope.recipients.len());
        for recipient in &envelope.recipients {
            let filed = match &recipient.home {
                Home::Elsewhere(cell) => {
                    let (name, from, to) = (&self.name, &envelope.from, &recipient.address);
                    let passed = Passed { name, origin, from, to, raw: &raw };
                    RecipientOutcome::nowhere(match self.on_the_way.begin(&cell.name) {
                        Some(seat) => passed_on(passed, cell.mail_address.as_deref(), &seat).await,
                        None => BUSY.to_owned(),
                    })
                }
                Home::Here { app, workspace, mailbox } if foremost(recipient, &envelope.recipients) => {
                    let trace = self.trace(origin, protocol, &envelope.from, recipient, &verdict, id);
                    let delivery = Delivery {
                        asked: None,
                        may_be_answered: true,
                        mailbox: mailbox.clone(),
                        raw: raw.clone(),
                        trace: trace.into(),
                        recipient: Some(recipient.address.clone()),
                        joins: None,
                        verdict: verdict.clone(),
                    };
                    let address = origin.address;
                    self.give(Given { app, workspace: *workspace, delivery, mail: &mail, address, id }).await
                }
                // A mail of the service that came back: nothing of it is kept.
                Home::Nowhere => RecipientOutcome::nowhere(format!("250 2.0.0 Ok, {id}")),
                // Not accepted as a recipient.
                Home::Unproven => RecipientOutcome::nowhere(LATER.to_owned()),
                // The same inbox under another address: deliver once.
                Home::Here { .. } => RecipientOutcome::nowhere(format!("250 2.0.0 Ok, {id}")),
            };
            all_filed.push(filed);
        }
        Ok(all_filed)
    }

    async fn give(&self, given: Given<'_>) -> RecipientOutcome {
        let Given { app, workspace, delivery, mail, address, id } = given;
        if mail.sent_by.iter().any(|inbox| *inbox == delivery.mailbox.id.to_string()) {
            return RecipientOutcome::nowhere(refused(Refusal::Loop));
        }
        let brought = Brought {
            workspace,
            mailbox: delivery.mailbox.id,
            sender: mail.from.as_ref().map_or("", |from| from.email.as_str()),
            is_proven: delivery.verdict.dmarc() == Dmarc::Pass,
            address,
            bytes: delivery.raw.len(),
        };
        match admit(app, brought).await {
            Ok(true) => {}
            Ok(false) => return RecipientOutcome::nowhere(refused(Refusal::EnoughForToday)),
            Err(error) => return RecipientOutcome::nowhere(excuse(&error)),
        }
        match self.together.deliver(app, workspace, delivery, mail.clone()).await {
            Ok(Received::Stored(stored) | Received::Duplicate(stored)) => {
                RecipientOutcome { answer: format!("250 2.0.0 Ok, {id}"), stored: Some(stored) }
            }
            Ok(Received::Refused(refusal)) => RecipientOutcome::nowhere(refused(refusal)),
            Err(error) => RecipientOutcome::nowhere(excuse(&error)),
        }
    }

    /// The trace headers that every server adds (RFC 5321 4.4), with our own authentication result.
    fn trace(
        &self,
        origin: &MailOrigin,
        protocol: Protocol,
        from: &str,
        recipient: &EnvelopeRecipient,
        verdict: &AuthenticationVerdict,
        id: &str,
    ) -> String {
        let (name, address) = (&self.name, &recipient.address);
        let with = match (protocol, origin.extended, origin.encrypted) {
            (Protocol::Lmtp, _, false) => "LMTP",
            (Protocol::Lmtp, _, true) => "LMTPS",
            (Protocol::Smtp, false, _) => "SMTP",
            (Protocol::Smtp, true, false) => "ESMTP",
            (Protocol::Smtp, true, true) => "ESMTPS",
        };
        let helo: String = origin
            .helo
            .iter()
            .flat_map(|helo| helo.chars())
            .filter(|c| c.is_alphanumeric() || ".-_:[]".contains(*c))
            .collect();
        let peer = origin.address.unwrap_or(origin.peer);
        let AuthenticationVerdict { spf, dkim, dmarc, arc, .. } = verdict;
        let now = self.app.clock.now().to_rfc2822();
        format!(
            "Return-Path: <{from}>\r\nDelivered-To: {address}\r\n\
             Authentication-Results: {name}; spf={}; dkim={}; dmarc={}; arc={}\r\n\
             Received: from {helo} ([{peer}])\r\n\tby {name} with {with} id {id}\r\n\tfor <{address}>; {now}\r\n",
            spf.as_str(),
            dkim.as_str(),
            dmarc.as_str(),
            arc.as_str()
        )
    }
}

/// What the other node answers, or that it is to be tried again.
async fn passed_on(passed: Passed<'_>, to: Option<&str>, seat: &PassOnSeat<'_>) -> String {
    let Some(to) = to.filter(|_| !passed.origin.passed_on) else {
        return excuse(&Error::internal("no node is known that takes the mail of this cell"));
    };
    passed.to(to, seat).await.unwrap_or_else(|error| excuse(&error.into()))
}

/// Of several addresses of one inbox, the one with a reference is used, else the first.
fn foremost(this: &EnvelopeRecipient, all: &[EnvelopeRecipient]) -> bool {
    let id = |of: &EnvelopeRecipient| of.mailbox().map(|mailbox| mailbox.id);
    let mut same = all.iter().filter(|other| id(other) == id(this)).peekable();
    let first = same.peek().copied();
    let tagged = same.find(|other| {
        let own = other.mailbox().map_or("", |mailbox| mailbox.address.as_str());
        plus_tag::tag_of(&other.address, own).and_then(plus_tag::parse).is_some()
    });
    tagged.or(first).is_some_and(|chosen| std::ptr::eq(chosen, this))
}

/// SMTP has one reply for all recipients: a temporary error if any recipient had one. The retry is harmless,
/// because mail is stored once.
fn for_all(answers: Vec<String>) -> String {
    let found = |digit: char| answers.iter().find(|answer| answer.starts_with(digit)).cloned();
    found('4').or_else(|| found('2')).or_else(|| found('5')).unwrap_or_else(|| LATER.to_owned())
}

fn refused(refusal: Refusal) -> String {
    let code = match refusal {
        Refusal::Loop => "554 5.4.6",
        Refusal::EnoughForToday => "452 4.2.2",
        _ => "554 5.6.0",
    };
    format!("{code} {refusal}")
}

fn excuse(error: &Error) -> String {
    tracing::warn!(%error, "a mail could not be stored; its sender will try again");
    if has_no_room(error) { FULL.to_owned() } else { LATER.to_owned() }
}

/// Whether a full disk is behind an error: ours, or the database's.
fn has_no_room(error: &Error) -> bool {
    let Error::Internal(cause) = error else { return false };
    let mut cause: Option<&(dyn StdError + 'static)> = Some(cause.as_ref());
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        let full = |error: &std::io::Error| {
            matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
        };
        let database = error.downcast_ref::<sqlx::Error>().and_then(|error| error.as_database_error());
        if io.is_some_and(full) || database.is_some_and(|error| error.code().as_deref() == Some("53100")) {
            return true;
        }
        cause = error.source();
    }
    false
}
