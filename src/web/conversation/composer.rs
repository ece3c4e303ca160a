//! The composer: what a page needs to show the form in which somebody writes. It stands outside whatever streams, and
//! everything in it works as a plain form. What the form does is in `write`.
//!
//! Reading changes nothing: a draft that nobody saved yet has only an id, drawn for this very page.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::bookings::types::{self, BookingType};
use crate::conversations::conversation::{Conversation, Member};
use crate::conversations::inboxes;
use crate::conversations::messages::message::Direction;
use crate::conversations::secure::page::Way;
use crate::conversations::secure::words::is_remembered;
use crate::error::{Error, Problem, Result};
use crate::ids::{DraftId, Id, MessageId};
use crate::replies::crossing::{self, News};
use crate::replies::drafts::{self, Copy, Draft, DraftFile, Kind, Words};
use crate::replies::recipients::{self, Recipients};
use crate::replies::{asking, forward, ready, secure, upload};
use crate::web::conversation::later::{self, Later};
use crate::web::conversation::timeline::list_of;
use crate::web::show::Times;
use crate::web::visit::Asked;
use crate::workspace::mailboxes::Mailbox;

pub struct Composer {
    /// Folded, it is one line of links.
    pub open: bool,
    /// It was opened by a click, so the cursor goes there.
    pub focus: bool,
    pub kind: Kind,
    /// The page it stands on, and where its form goes.
    pub here: String,
    pub action: String,
    /// The list beside it, which its links and its form carry along (`view=mine&`), and where closing leads.
    pub list: String,
    pub next: Option<String>,
    pub draft: DraftId,
    /// 0 before the first save.
    pub version: i32,
    pub words: Words,
    pub files: Vec<DraftFile>,
    pub copies: Vec<Copy>,
    pub saved_at: Option<DateTime<Utc>>,
    pub signature: String,
    /// Whom a reply goes to by itself, for the folded line.
    pub whom: String,
    /// Others who were on the mail that is answered.
    pub others: usize,
    pub passed_on: Option<Passed>,
    /// What came while it was written: shown, and with the next click it counts as seen.
    pub news: Vec<News>,
    pub problems: Vec<Problem>,
    /// Another page wrote on in the same draft.
    pub newer: bool,
    /// Whom a note can call with `@`.
    pub team: Vec<String>,
    pub inboxes: Vec<(String, String, bool)>,
    pub has_note: bool,
    pub has_forward: bool,
    /// What can be booked, and so be offered: ids and names.
    pub offers: Vec<(String, String)>,
    pub times: Times,
    pub later: Vec<Later>,
    pub undo_minutes: i64,
    pub most_files: String,
}

/// What the page around a composer knows already.
pub struct Beside<'a> {
    /// Whoever can see the conversation.
    pub team: &'a [Member],
    /// Where closing leads.
    pub onward: String,
    /// Others were on the newest mail.
    pub has_others: bool,
}

/// The message that is passed on, as the form shows it.
pub struct Passed {
    pub who: String,
    pub at: DateTime<Utc>,
    pub text: String,
    /// Before the first save its files are not in the draft yet.
    pub files: Vec<(String, i64)>,
}

impl Composer {
    /// The documents to ask for, and the day they are due.
    pub fn asks(&self) -> (String, String) {
        asking::split(&self.words.documents)
    }

    /// On a conversation's page. `compose=reply|note|forward` opens it; so does a reply that is begun.
    pub async fn load(
        conn: &mut PgConnection,
        asked: &Asked,
        conversation: &Conversation,
        beside: Beside<'_>,
    ) -> Result<Self> {
        let person = &asked.person;
        let keys = asked.visit.app().config.secret_key.as_ref();
        let begun = drafts::begun(conn, person, conversation).await?;
        let asked_for = asked.query("compose").map(Kind::of).filter(|kind| *kind != Kind::New);
        let kind = asked_for.unwrap_or(Kind::Reply);
        let about: Option<MessageId> = asked.query("about").and_then(|id| id.parse().ok());
        let has = |kind: Kind| begun.iter().any(|draft| draft.kind == kind && draft.says);
        let (has_note, has_forward) = (has(Kind::Note), has(Kind::Forward));
        let open = asked_for.is_some() || has(Kind::Reply);
        let draft = match begun.iter().find(|draft| draft.kind == kind && open) {
            Some(draft) => drafts::read(conn, keys, person, draft.id).await?,
            None => None,
        };
        let mut composer = Self::blank(asked, kind, format!("/conversations/{}", conversation.id));
        (composer.open, composer.focus) = (open, asked_for.is_some());
        (composer.has_note, composer.has_forward) = (has_note, has_forward);
        (composer.list, composer.next) = (list_of(asked), Some(beside.onward));
        if !open {
            let contact = &conversation.contact;
            composer.whom = contact.name.clone().or(contact.email.clone()).unwrap_or_default();
            composer.others = usize::from(beside.has_others);
            return Ok(composer);
        }
        let answered =
            ready::answered(conn, person.workspace, conversation, about.filter(|_| kind == Kind::Reply))
                .await?;
        let mut to_all = Recipients::default();
        if let Some(answered) = &answered {
            let one;
            (one, to_all) = ready::answering(conn, person.workspace, conversation, answered).await?;
            composer.others = to_all.all().count().saturating_sub(one.all().count());
            composer.words.to = recipients::line(&one.to);
            composer.words.about = Some(answered.message);
        } else {
            composer.words.to = conversation.contact.email.clone().unwrap_or_default();
        }
        match kind {
            Kind::Reply if asked.query("all").is_some() => {
                composer.words.to = recipients::line(&to_all.to);
                composer.words.cc = recipients::line(&to_all.cc);
            }
            Kind::Forward => {
                composer.words.to = String::new();
                composer.words.subject = forward::subject(&conversation.subject);
                composer.words.about = match about {
                    Some(about) => Some(about),
                    None => answered.map(|answered| answered.message),
                };
            }
            Kind::Note => composer.words.to = String::new(),
            _ => {}
        }
        if kind == Kind::Reply {
            composer.words.secure = is_remembered(conn, person.workspace, conversation).await?;
        }
        if let Some(draft) = draft {
            composer.check(conn, asked, Some(conversation), &draft).await?;
            composer.take(draft, about);
        }
        if kind == Kind::Reply && conversation.contact.email.is_some() {
            let types = types::list(conn, person).await?;
            let active = types.into_iter().filter(BookingType::is_active);
            composer.offers = active.map(|own| (own.id.to_string(), own.settings.name)).collect();
        }
        if kind == Kind::Forward {
            composer.passed_on = composer.passed_on_by(conn, asked, conversation).await?;
        }
        // What the page that has this form shows.
        composer.words.seen = conversation.last_item;
        if kind == Kind::Note {
            let people = beside.team.iter().filter(|member| !member.is_agent());
            composer.team = people.map(|member| member.name.clone()).collect();
        } else {
            let mailbox = conversation.mailbox();
            let values = ready::values(person, Some(conversation), &mailbox, &Recipients::default());
            composer.signature = ready::signature(conn, person, mailbox.id, &values).await?;
        }
        Ok(composer)
    }

    /// On the page of a new conversation. `draft=dft_…` goes on with one that is begun.
    pub async fn load_new(conn: &mut PgConnection, asked: &Asked) -> Result<Self> {
        let person = &asked.person;
        let mut composer = Self::blank(asked, Kind::New, "/compose".to_owned());
        (composer.open, composer.focus) = (true, true);
        if let Some(id) = asked.query("draft") {
            let id: DraftId = id.parse().map_err(|_| drafts::NO_DRAFT)?;
            let keys = asked.visit.app().config.secret_key.as_ref();
            match drafts::read(conn, keys, person, id).await? {
                Some(draft) if draft.kind == Kind::New => {
                    composer.check(conn, asked, None, &draft).await?;
                    composer.take(draft, None);
                }
                _ => return Err(drafts::NO_DRAFT),
            }
        } else {
            composer.words.to = asked.query("to").unwrap_or_default().chars().take(300).collect();
        }
        let inboxes = inboxes::list(conn, person, composer.times.now).await?;
        let chosen = composer.words.mailbox.or(inboxes.first().map(|inbox| inbox.id));
        let mailbox = inboxes.iter().find(|inbox| Some(inbox.id) == chosen);
        if let Some(inbox) = mailbox {
            let mailbox = Mailbox {
                id: inbox.id,
                audience: 0,
                address: inbox.address.clone(),
                name: inbox.name.clone(),
            };
            let values = ready::values(person, None, &mailbox, &Recipients::default());
            composer.signature = ready::signature(conn, person, mailbox.id, &values).await?;
        }
        composer.inboxes = inboxes
            .into_iter()
            .map(|inbox| {
                let is_chosen = Some(inbox.id) == chosen;
                (inbox.id.to_string(), format!("{} <{}>", inbox.name, inbox.address), is_chosen)
            })
            .collect();
        Ok(composer)
    }

    fn blank(asked: &Asked, kind: Kind, here: String) -> Self {
        let app = asked.app();
        let times = asked.times();
        Self {
            open: false,
            focus: false,
            kind,
            action: if kind == Kind::New { here.clone() } else { format!("{here}/write") },
            here,
            list: String::new(),
            next: None,
            draft: DraftId::mint(times.now, &app.random),
            version: 0,
            words: Words::default(),
            files: Vec::new(),
            copies: Vec::new(),
            saved_at: None,
            signature: String::new(),
            whom: String::new(),
            others: 0,
            passed_on: None,
            news: Vec::new(),
            problems: Vec::new(),
            newer: asked.query("check") == Some("newer"),
            team: Vec::new(),
            inboxes: Vec::new(),
            has_note: false,
            has_forward: false,
            offers: Vec::new(),
            later: later::choices(&times),
            times,
            undo_minutes: app.config.undo_window(true).num_minutes(),
            most_files: format!("{} MB", upload::MOST_BYTES / 1024 / 1024),
        }
    }

    /// Goes on with a draft. One that says nothing yet is about the message that was chosen now.
    fn take(&mut self, draft: Draft, about: Option<MessageId>) {
        let blank = is_blank(&draft);
        let chosen = about.filter(|about| draft.words.about != Some(*about));
        (self.draft, self.version, self.saved_at) = (draft.id, draft.version, Some(draft.saved_at));
        (self.files, self.copies) = (draft.files, draft.copies);
        if blank && chosen.is_some() {
            return;
        }
        self.words = draft.words;
    }

    async fn passed_on_by(
        &self,
        conn: &mut PgConnection,
        asked: &Asked,
        conversation: &Conversation,
    ) -> Result<Option<Passed>> {
        let Some(about) = self.words.about else { return Ok(None) };
        let passed = match forward::find(conn, asked.person.workspace, conversation, about).await {
            Err(Error::Missing(_)) => return Ok(None),
            found => found?,
        };
        let fresh = self.version == 0;
        let files = passed.attachments.iter().filter(|_| fresh);
        Ok(Some(Passed {
            who: passed.from_name.unwrap_or(passed.from_email),
            at: passed.at,
            files: files.map(|file| (file.filename.clone(), file.size)).collect(),
            text: passed.text.chars().take(4_000).collect(),
        }))
    }

    /// What the click on Send would say, when the page is asked to.
    async fn check(
        &mut self,
        conn: &mut PgConnection,
        asked: &Asked,
        conversation: Option<&Conversation>,
        draft: &Draft,
    ) -> Result<()> {
        let Some(check) = asked.query("check") else { return Ok(()) };
        if check != "newer" {
            let keys = asked.app().config.secret_key.as_ref();
            let checked = ready::check(conn, keys, &asked.person, draft, conversation).await?;
            self.problems = checked.err().unwrap_or_default();
            if asked.query("late").is_some() {
                let what = "Choose a time that is still to come, within a year.".to_owned();
                self.problems.push(Problem { field: "at".into(), what });
            }
            if asked.query("passphrase").is_some() {
                self.problems.push(secure::passphrase_problem());
            }
        }
        if let Some(conversation) = conversation.filter(|_| draft.kind != Kind::Note) {
            self.news = crossing::since(conn, asked.person.workspace, conversation, draft.words.seen).await?;
        }
        Ok(())
    }

    // For the template.

    pub fn is(&self, kind: &str) -> bool {
        self.kind.as_str() == kind
    }

    /// Whether it can be sent as a secure link at all.
    pub fn may_be_secure(&self) -> bool {
        matches!(self.kind, Kind::Reply | Kind::New)
    }

    pub fn by_passphrase(&self) -> bool {
        self.words.proof == Way::Passphrase
    }

    pub fn is_mail(&self) -> bool {
        self.kind != Kind::Note
    }

    pub fn label(&self) -> &'static str {
        match self.kind {
            Kind::Reply => "Reply",
            Kind::Note => "Note",
            Kind::Forward => "Forward",
            Kind::New => "New message",
        }
    }

    pub fn about(&self) -> String {
        self.words.about.map(|about| about.to_string()).unwrap_or_default()
    }

    pub fn has_copies(&self) -> bool {
        !self.words.cc.is_empty() || !self.words.bcc.is_empty()
    }

    /// Whether a field is why it cannot be sent.
    pub fn wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| problem.field == field)
    }

    pub fn is_of_customer(&self, news: &News) -> bool {
        news.direction == Direction::Inbound
    }

    pub fn room(&self) -> i64 {
        upload::MOST_BYTES - self.files.iter().map(|file| file.attachment.size).sum::<i64>()
    }

    pub fn saved_replies(&self) -> String {
        let (here, list) = (&self.here, &self.list);
        format!("{here}/saved-replies?{list}kind={}&draft={}", self.kind.as_str(), self.draft)
    }
}

fn is_blank(draft: &Draft) -> bool {
    draft.words.body.trim().is_empty()
        && draft.files.is_empty()
        && (draft.kind == Kind::Note || draft.kind == Kind::Reply || draft.words.to.trim().is_empty())
}
