//! The page: an erasure with what it would take, how long closed mail is kept, what lies in the trash, and the holds that
//! stand. Every form of the page that was refused comes back here with what was typed.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::data::PATH;
use crate::shell::{Here, Shell};
use crate::show::{bytes_of, filters, grouped_of};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ExportId, MailboxId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::conversations::keeping::holds::{self, Hold};
use rookery_core::conversations::keeping::retention::{self, CappedCount, Trashed};
use rookery_core::workspace::erased_addresses::name_of;
use rookery_core::workspace::inbox_settings::{self, keep_days};
use rookery_upkeep::erasures::ask;
use rookery_upkeep::erasures::preview::{self, Preview};
use rookery_upkeep::exports::ask as exports;

/// Lines of the trash and of erasures that are shown.
const SHOWN: i64 = 50;

#[derive(Template)]
#[template(path = "settings/data/show.html")]
struct DataPage {
    shell: Shell,
    page: &'static str,
    /// What was looked for.
    who: String,
    found: Option<Preview>,
    erasures: Vec<ShownErasure>,
    is_moving: bool,
    inboxes: Vec<Inbox>,
    has_others: bool,
    trash: Vec<Trashed>,
    holds: Vec<Hold>,
    exports: Vec<Export>,
    is_exporting: bool,
    typed: TypedDataForms,
    problem: Option<Problem>,
}

/// Which form was refused, and why.
pub struct Problem {
    pub form: &'static str,
    pub sentence: String,
}

/// What was typed and refused.
#[derive(Default)]
pub struct TypedDataForms {
    pub who: String,
    pub export_who: String,
    pub conversation: String,
    pub hold_name: String,
    pub hold_covers: String,
    pub hold_address: String,
    pub hold_conversation: String,
}

struct ShownErasure {
    name: String,
    by: String,
    reason: String,
    at: DateTime<Utc>,
    is_done: bool,
    /// `3 conversations, 8 messages, 2 documents`
    took: String,
    /// `in 4 seconds`
    time: String,
    /// The names of holds that were placed since and stop it.
    holds: Vec<String>,
}

struct Inbox {
    id: MailboxId,
    name: String,
    is_private: bool,
    days: Option<i32>,
    soon: CappedCount,
    in_trash: CappedCount,
}

struct Export {
    id: ExportId,
    /// The contact's address, or the whole workspace.
    what: String,
    by: String,
    is_yours: bool,
    at: DateTime<Utc>,
    is_ended: bool,
    failed: bool,
    is_made: bool,
    /// `8.1 MB`
    size: String,
    ends_at: Option<DateTime<Utc>>,
    percent: i32,
}

impl Export {
    fn from_export(one: exports::ListedExport, asked: &MemberRequest, keys: &KeyRing) -> Self {
        let contact = one.contact(keys, asked.person.workspace);
        Self {
            id: one.id,
            what: if one.is_contact {
                contact.unwrap_or_else(|| "A contact".to_owned())
            } else {
                "The whole workspace".to_owned()
            },
            by: one.person_name,
            is_yours: one.person == asked.person.id,
            at: one.created_at,
            is_ended: one.ended_at.is_some(),
            failed: one.failed,
            is_made: one.blob.is_some(),
            size: one.size.map(bytes_of).unwrap_or_default(),
            ends_at: one.ends_at,
            percent: if one.total > 0 { (one.done * 100 / one.total).clamp(0, 100) } else { 0 },
        }
    }
}

impl DataPage {
    /// `3 conversations`, or `10,000 or more conversations` where counting ended.
    fn conversations(&self, counted: &CappedCount) -> String {
        match (counted.n, counted.is_cut) {
            (0, false) => "Nothing".to_owned(),
            (0, true) => "Too many to count".to_owned(),
            (1, false) => "1 conversation".to_owned(),
            (n, false) => format!("{} conversations", grouped_of(n)),
            (n, true) => format!("{} or more conversations", grouped_of(n)),
        }
    }

    fn problem_of(&self, form: &str) -> Option<&str> {
        self.problem.as_ref().filter(|problem| problem.form == form).map(|problem| problem.sentence.as_str())
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let who = asked.query("who").unwrap_or_default().trim().to_owned();
    match shown(&asked, TypedDataForms { who, ..TypedDataForms::default() }, None).await {
        Ok(page) => respond::page(&page),
        // A preview of something that is no address.
        Err(error @ Error::Problems(_)) => refused(&asked, TypedDataForms::default(), "find", error).await,
        Err(error) => Err(error),
    }
}

/// The page once more, with what was wrong.
pub async fn refused(
    asked: &MemberRequest,
    typed: TypedDataForms,
    form: &'static str,
    error: Error,
) -> Result<Response> {
    let problem = Problem { form, sentence: error.sentence() };
    let page = shown(asked, typed, Some(problem)).await?;
    respond::page_with(respond::status_of(&error), &page)
}

async fn shown(asked: &MemberRequest, typed: TypedDataForms, problem: Option<Problem>) -> Result<DataPage> {
    let person = &asked.person;
    let mut instant = asked.snapshot().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let keys = asked.visit.app().config.needs_secret_key()?;
    let found = match typed.who.as_str() {
        "" => None,
        who => Some(preview::preview(&mut instant, keys, person, who).await?),
    };
    let listed = ask::listed(&mut instant, person.workspace, SHOWN).await?;
    let (inboxes, others) = inbox_settings::list(&mut instant, person).await?;
    let days = keep_days::all(&mut instant, person).await?;
    let leaving = retention::leaving(&mut instant, person, shell.times.now).await?;
    let inboxes = inboxes.into_iter().map(|inbox| {
        let counted = leaving.iter().find(|counted| counted.mailbox == inbox.id);
        Inbox {
            days: days.iter().find(|(id, _)| *id == inbox.id).and_then(|(_, days)| *days),
            soon: counted.map(|counted| counted.soon).unwrap_or_default(),
            in_trash: counted.map(|counted| counted.in_trash).unwrap_or_default(),
            is_private: inbox.owner.is_some(),
            id: inbox.id,
            name: inbox.name,
        }
    });
    let inboxes = inboxes.collect();
    let exports = exports::listed(&mut instant, person.workspace, SHOWN).await?;
    let exports: Vec<Export> = exports.into_iter().map(|one| Export::from_export(one, asked, keys)).collect();
    let is_exporting = exports.iter().any(|one| !one.is_ended && !one.is_made);
    let is_moving = listed.iter().any(|erasure| erasure.done_at.is_none());
    let mut erasures = Vec::new();
    for erasure in listed {
        let holds = match erasure.done_at {
            None => ask::waits_for(&mut instant, keys, person.workspace, erasure.id).await?,
            Some(_) => Vec::new(),
        };
        erasures.push(ShownErasure::from_erasure(erasure, holds));
    }
    Ok(DataPage {
        page: PATH,
        who: typed.who.clone(),
        found,
        erasures,
        is_moving,
        inboxes,
        has_others: !others.is_empty(),
        trash: retention::trashed(&mut instant, person, SHOWN).await?,
        holds: holds::standing(&mut instant, person).await?,
        exports,
        is_exporting,
        typed,
        problem,
        shell,
    })
}

impl ShownErasure {
    fn from_erasure(erasure: ask::ListedErasure, holds: Vec<String>) -> Self {
        let many = |n: i32, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
        let seconds = erasure.done_at.map(|done| (done - erasure.created_at).num_seconds().max(1));
        Self {
            name: name_of(&erasure.hash),
            by: erasure.asked_by,
            reason: erasure.reason,
            at: erasure.created_at,
            holds,
            is_done: erasure.done_at.is_some(),
            took: [
                many(erasure.conversations, "conversation", "conversations"),
                many(erasure.messages, "message", "messages"),
                many(erasure.documents, "document", "documents"),
            ]
            .join(", "),
            time: match seconds {
                None => String::new(),
                Some(1) => "in a second".to_owned(),
                Some(seconds) if seconds < 120 => format!("in {seconds} seconds"),
                Some(seconds) => format!("in {} minutes", seconds / 60),
            },
        }
    }
}
