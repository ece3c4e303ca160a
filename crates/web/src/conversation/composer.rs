//! The composer: what a page needs to show the form in which somebody writes. It stands outside whatever streams, and
//! everything in it works as a plain form. What the form does is in `write`.
//!
//! Reading changes nothing: a draft that nobody saved yet has only an id, drawn for this very page.

use askama::filters::Safe;
use chrono::{DateTime, NaiveDate, Utc};
use sqlx::PgConnection;

use crate::bookings::offer::{self, Offering};
use crate::conversation::later::{self, Later};
use crate::conversation::timeline::list_of;
use crate::outgoing::clock::undo_time;
use crate::show::Times;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{DraftId, Id, MailboxId, MessageId};
use rookery_core::conversations::conversation::{Conversation, Member};
use rookery_core::conversations::inboxes;
use rookery_core::conversations::messages::message::Direction;
use rookery_core::conversations::messages::sender;
use rookery_core::conversations::secure::page::Way;
use rookery_core::conversations::secure::words::is_remembered;
use rookery_core::workspace::inbox_settings::senders;
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_core::workspace::signatures::SignatureWords;
use rookery_product::bookings::types::{self, BookingType};
use rookery_product::replies::crossing::{self, CrossingMail};
use rookery_product::replies::drafts::{self, Copy, Draft, DraftFile, DraftKind, DraftWords, leaving};
use rookery_product::replies::ready::{self, signature};
use rookery_product::replies::recipients::{self, Recipients};
use rookery_product::replies::{asking, forward, secure, upload};
use rookery_reading::html::written;

pub struct Composer {
    /// Whether the form is shown. Closed, the composer is one line of links.
    pub open: bool,
    /// Whether the cursor is put into it, because a click opened it.
    pub focus: bool,
    pub kind: DraftKind,
    /// The address of its page; `action` is where its form is sent.
    pub here: String,
    pub action: String,
    /// The query of the list beside it, which links and the form carry along (`view=mine&`); `next` is the page after
    /// closing.
    pub list: String,
    pub next: Option<String>,
    pub draft: DraftId,
    /// 0 before the first save.
    pub version: i32,
    pub words: DraftWords,
    pub files: Vec<DraftFile>,
    pub copies: Vec<Copy>,
    pub saved_at: Option<DateTime<Utc>>,
    pub signature: SignatureWords,
    /// The recipient of a reply, for the line that stands for the closed composer.
    pub whom: String,
    /// How many others were recipients of the mail that is answered.
    pub others: usize,
    pub passed_on: Option<Passed>,
    /// What came into the conversation while the person wrote. The next click counts it as seen.
    pub news: Vec<CrossingMail>,
    pub problems: Vec<Problem>,
    /// Whether the same draft was saved from another page meanwhile.
    pub newer: bool,
    /// Whom a note can mention with `@`.
    pub team: Vec<Member>,
    pub inboxes: Vec<(String, String, bool)>,
    /// The addresses that an answer may leave from, if there are several, and whether each is chosen.
    pub senders: Vec<(String, bool)>,
    pub has_reply: bool,
    pub has_note: bool,
    pub has_forward: bool,
    /// Booking types whose times can be offered: ids and names.
    pub offers: Vec<(String, String)>,
    /// The times of the one that was chosen.
    pub offering: Option<Offering>,
    pub times: Times,
    pub later: Vec<Later>,
    /// How long the mail can be taken back: `20 seconds`. Nothing if it leaves at once.
    pub undo: Option<String>,
    pub most_files: String,
}

/// What the page around a composer knows already.
pub struct Beside<'a> {
    /// Whoever can see the conversation.
    pub team: &'a [Member],
    /// The page to go to after closing the conversation.
    pub onward: String,
    /// Whether the newest mail had recipients besides the contact and the inbox.
    pub has_others: bool,
}

/// The message that is forwarded, as the form shows it.
pub struct Passed {
    pub who: String,
    pub at: DateTime<Utc>,
    pub text: String,
    /// Its files, names and sizes, until the first save copies them into the draft.
    pub files: Vec<(String, i64)>,
}

impl Composer {
    /// The documents to ask for, and the day they are due.
    pub fn asks(&self) -> (String, String) {
        asking::split(&self.words.documents)
    }

    /// What the documents are called.
    pub fn asked_names(&self) -> String {
        let items = asking::listed(&self.words.documents);
        items.iter().map(|item| item.label.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// `due 9 May 2031 · Deutsch`
    pub fn asked_how(&self) -> String {
        let due = self.asks().1;
        let due = if due.is_empty() {
            None
        } else {
            let shown = due.parse::<NaiveDate>().map_or(due, |day| self.times.day(day));
            Some(format!("due {shown}"))
        };
        let language = self.words.language.map(|language| language.name().to_owned());
        due.into_iter().chain(language).collect::<Vec<_>>().join(" · ")
    }

    /// The composer of a conversation's page. It is open if the address says `compose=reply|note|forward`, or if the person
    /// has begun a reply; `compose=none` folds it.
    pub async fn load(
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
        beside: Beside<'_>,
    ) -> Result<Self> {
        let person = &asked.person;
        let keys = asked.visit.app().config.secret_key.as_ref();
        let begun = drafts::begun(conn, person, conversation).await?;
        let folded = asked.query("compose") == Some("none");
        let asked_for = asked.query("compose").filter(|_| !folded).map(DraftKind::from_form);
        let asked_for = asked_for.filter(|kind| *kind != DraftKind::New);
        let kind = asked_for.unwrap_or(DraftKind::Reply);
        let about: Option<MessageId> = asked.query("about").and_then(|id| id.parse().ok());
        let has = |kind: DraftKind| begun.iter().any(|draft| draft.kind == kind && draft.says);
        let (has_note, has_forward) = (has(DraftKind::Note), has(DraftKind::Forward));
        let has_reply = has(DraftKind::Reply);
        let open = asked_for.is_some() || (has_reply && !folded);
        let draft = match begun.iter().find(|draft| draft.kind == kind && open) {
            Some(draft) => drafts::read(conn, keys, person, draft.id).await?,
            None => None,
        };
        let mut composer = Self::blank(asked, kind, format!("/conversations/{}", conversation.id));
        (composer.open, composer.focus) = (open, asked_for.is_some());
        (composer.has_reply, composer.has_note, composer.has_forward) = (has_reply, has_note, has_forward);
        (composer.list, composer.next) = (list_of(asked), Some(beside.onward));
        if !open {
            let contact = &conversation.contact;
            composer.whom = contact.name.clone().or(contact.email.clone()).unwrap_or_default();
            composer.others = usize::from(beside.has_others);
            return Ok(composer);
        }
        let answered =
            ready::answered(conn, person.workspace, conversation, about.filter(|_| kind == DraftKind::Reply))
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
            DraftKind::Reply if asked.query("all").is_some() => {
                composer.words.to = recipients::line(&to_all.to);
                composer.words.cc = recipients::line(&to_all.cc);
            }
            DraftKind::Forward => {
                composer.words.to = String::new();
                composer.words.subject = forward::subject(&conversation.subject);
                composer.words.about = match about {
                    Some(about) => Some(about),
                    None => answered.map(|answered| answered.message),
                };
            }
            DraftKind::Note => composer.words.to = String::new(),
            _ => {}
        }
        if kind == DraftKind::Reply {
            composer.words.secure = is_remembered(conn, person.workspace, conversation).await?;
        }
        if let Some(draft) = draft {
            composer.check(conn, asked, Some(conversation), &draft).await?;
            composer.take(draft, about);
        }
        if kind == DraftKind::Reply && conversation.contact.email.is_some() {
            let types = types::list(conn, person).await?;
            let active: Vec<BookingType> = types.into_iter().filter(BookingType::is_active).collect();
            let is_chosen = |own: &&BookingType| asked.query("offer") == Some(own.id.to_string().as_str());
            if let Some(chosen) = active.iter().find(is_chosen) {
                composer.offering = offer::load(conn, asked, conversation, chosen).await?;
            }
            composer.offers = active.into_iter().map(|own| (own.id.to_string(), own.settings.name)).collect();
        }
        if kind == DraftKind::Forward {
            composer.passed_on = composer.passed_on_by(conn, asked, conversation).await?;
        }
        // What the page that has this form shows.
        composer.words.seen = conversation.last_item;
        if kind == DraftKind::Note {
            let people = beside.team.iter().filter(|member| !member.is_agent());
            composer.team = people.cloned().collect();
        } else {
            let mailbox = conversation.mailbox();
            composer.senders = composer.senders_of(conn, asked, conversation).await?;
            let values = ready::values(person, Some(conversation), &mailbox, &Recipients::default());
            composer.signature = signature::load(conn, person, mailbox.id, &values).await?;
        }
        Ok(composer)
    }

    /// The composer of a new conversation. `draft=dft_…` opens a draft that the person has begun.
    pub async fn load_new(conn: &mut PgConnection, asked: &MemberRequest) -> Result<Self> {
        let person = &asked.person;
        let mut composer = Self::blank(asked, DraftKind::New, "/compose".to_owned());
        (composer.open, composer.focus) = (true, true);
        if let Some(id) = asked.query("draft") {
            let id: DraftId = id.parse().map_err(|_| drafts::NO_DRAFT)?;
            let keys = asked.visit.app().config.secret_key.as_ref();
            match drafts::read(conn, keys, person, id).await? {
                Some(draft) if draft.kind == DraftKind::New => {
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
            composer.signature = signature::load(conn, person, mailbox.id, &values).await?;
        }
        let ids: Vec<MailboxId> = inboxes.iter().map(|inbox| inbox.id).collect();
        let further = senders::further(conn, person.workspace, &ids).await?;
        for inbox in inboxes {
            let is_from = |address: &str| Some(inbox.id) == chosen && composer.words.from == address;
            let of_inbox = further.iter().filter(|one| one.mailbox == inbox.id);
            let others: Vec<(String, String, bool)> = of_inbox
                .map(|one| {
                    let shown = format!("{} <{}>", inbox.name, one.address);
                    (format!("{} {}", inbox.id, one.address), shown, is_from(&one.address))
                })
                .collect();
            let is_own = Some(inbox.id) == chosen && !others.iter().any(|(_, _, is_chosen)| *is_chosen);
            let own = (inbox.id.to_string(), format!("{} <{}>", inbox.name, inbox.address), is_own);
            composer.inboxes.push(own);
            composer.inboxes.extend(others);
        }
        Ok(composer)
    }

    /// An answer begins with the address that the answered mail was written to.
    async fn senders_of(
        &self,
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
    ) -> Result<Vec<(String, bool)>> {
        let workspace = asked.person.workspace;
        let all = senders::list(conn, workspace, &conversation.mailbox()).await?;
        if all.len() == 1 {
            return Ok(Vec::new());
        }
        let from = match &self.words.from {
            chosen if all.contains(chosen) => chosen.clone(),
            // What is refused names the inbox's own address.
            chosen if !chosen.is_empty() => conversation.mailbox_address.clone(),
            _ if self.kind == DraftKind::Forward => conversation.mailbox_address.clone(),
            _ => sender::answering(conn, workspace, conversation, self.words.about).await?,
        };
        let each = all.into_iter().map(|address| {
            let is_chosen = address == from;
            (address, is_chosen)
        });
        Ok(each.collect())
    }

    fn blank(asked: &MemberRequest, kind: DraftKind, here: String) -> Self {
        let app = asked.app();
        let times = asked.times();
        Self {
            open: false,
            focus: false,
            kind,
            action: if kind == DraftKind::New { here.clone() } else { format!("{here}/write") },
            here,
            list: String::new(),
            next: None,
            draft: DraftId::mint(times.now, &app.random),
            version: 0,
            words: DraftWords::default(),
            files: Vec::new(),
            copies: Vec::new(),
            saved_at: None,
            signature: SignatureWords::default(),
            whom: String::new(),
            others: 0,
            passed_on: None,
            news: Vec::new(),
            problems: Vec::new(),
            newer: asked.query("check") == Some("newer"),
            team: Vec::new(),
            inboxes: Vec::new(),
            senders: Vec::new(),
            has_note: false,
            has_forward: false,
            has_reply: false,
            offers: Vec::new(),
            offering: None,
            later: later::choices(&times),
            times,
            undo: undo_time(asked.undo_window()),
            most_files: format!("{} MB", upload::MOST_BYTES / 1024 / 1024),
        }
    }

    /// Fills the composer from a draft. An empty draft does not replace the message that was just chosen to be answered.
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
        asked: &MemberRequest,
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

    /// Fills `problems` with what sending would complain about, if the address asks for it with `check`.
    async fn check(
        &mut self,
        conn: &mut PgConnection,
        asked: &MemberRequest,
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
        if let Some(conversation) = conversation.filter(|_| draft.kind != DraftKind::Note) {
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
        matches!(self.kind, DraftKind::Reply | DraftKind::New)
    }

    pub fn by_passphrase(&self) -> bool {
        self.words.proof == Way::Passphrase
    }

    pub fn is_mail(&self) -> bool {
        self.kind != DraftKind::Note
    }

    pub fn label(&self) -> &'static str {
        match self.kind {
            DraftKind::Reply => "Reply",
            DraftKind::Note => "Note",
            DraftKind::Forward => "Forward",
            DraftKind::New => "New message",
        }
    }

    pub fn about(&self) -> String {
        self.words.about.map(|about| about.to_string()).unwrap_or_default()
    }

    pub fn has_copies(&self) -> bool {
        !self.words.cc.is_empty() || !self.words.bcc.is_empty()
    }

    /// Whether its times are shown.
    pub fn is_offering(&self, id: &str) -> bool {
        self.offering.as_ref().is_some_and(|offering| offering.type_id == id)
    }

    /// The conversation that it writes in, unless it begins one.
    pub fn conversation(&self) -> Option<&str> {
        self.here.strip_prefix("/conversations/")
    }

    /// Whether it fills the screen of a phone: a click in a conversation opened it.
    pub fn fills_phone(&self) -> bool {
        self.focus && self.kind != DraftKind::New
    }

    /// Whether nothing but the recipient has to be seen above the text.
    pub fn may_fold_lines(&self) -> bool {
        self.kind == DraftKind::Reply && !self.has_copies() && self.problems.is_empty()
    }

    /// Whether one of the problems is about this field.
    pub fn wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|problem| problem.field == field)
    }

    pub fn is_of_customer(&self, news: &CrossingMail) -> bool {
        news.direction == Direction::Inbound
    }

    /// The files beside the text. Its pictures are within it.
    pub fn listed(&self) -> impl Iterator<Item = &DraftFile> {
        self.files.iter().filter(|file| file.attachment.content_id.is_none())
    }

    /// How the signature will be seen, if it is formatted.
    pub fn signs(&self) -> Option<Safe<String>> {
        let html = Some(&self.signature.html).filter(|html| !html.is_empty() && !self.words.secure)?;
        let placed = written::with_pictures(html, |id| Some(format!("/pictures/{id}")));
        Some(Safe(written::for_page(&placed)))
    }

    pub fn room(&self) -> i64 {
        let leaving = leaving::leaving(&self.files, self.words.formatting());
        upload::MOST_BYTES - leaving.map(|file| file.attachment.size).sum::<i64>()
    }

    pub fn saved_replies(&self) -> String {
        let (here, list) = (&self.here, &self.list);
        format!("{here}/saved-replies?{list}kind={}&draft={}", self.kind.as_str(), self.draft)
    }
}

fn is_blank(draft: &Draft) -> bool {
    draft.words.body.trim().is_empty()
        && draft.files.is_empty()
        && (draft.kind == DraftKind::Note
            || draft.kind == DraftKind::Reply
            || draft.words.to.trim().is_empty())
}
