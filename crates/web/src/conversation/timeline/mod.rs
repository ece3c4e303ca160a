//! The timeline as the page shows it: messages, notes and runs of events, the newest thirty, earlier ones by fifty
//! (specification 2.4). What approved a message or kept it from leaving stands with the message, not apart.

pub mod entry;
mod folding;

use std::collections::{HashMap, HashSet};

use askama::Template;
use askama::filters::Safe;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::approvals::queue;
use crate::conversation::ask::AskCard;
use crate::conversation::content;
use crate::conversation::explain;
use crate::conversation::files::{Chip, chips};
use crate::conversation::secure::{self, SecureCard};
use crate::conversation::timeline::entry::{Body, EventLine, Message, RemoteImages, TimelineEntry};
use crate::conversation::timeline::folding::{fold_read, start_of, with_mark};
use crate::conversation::words;
use crate::outgoing::clock::Clock;
use crate::show::{Times, filters};
use crate::visit::MemberRequest;
use rookery_base::error::{NO_CONVERSATION, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::messages::held::is_held;
use rookery_core::conversations::messages::message::{Author, Direction, MessageStatus};
use rookery_core::conversations::messages::shown::{self, MessageDetails};
use rookery_core::conversations::timeline::{
    self, Attachment, SHOWN_TEXT, TimelineCursor, TimelineLimit, TimelinePiece,
};
use rookery_core::workspace::signatures::pictures::is_signature_picture;
use rookery_product::documents::progress::{self, RequestProgress};
use rookery_product::replies::leaving::again::SENT_AGAIN;
use rookery_product::replies::queue::news::{DraftNews, news};
use rookery_reading::html::written;

/// Items of the first page, which has the newest; `EARLIER` is for each page before it.
const NEWEST: i64 = 30;
const EARLIER: i64 = 50;
/// Bytes of text on one page.
const BYTES: i64 = 400_000;
/// Entries that fill a screen.
const MUCH: usize = 3;
/// Recipients that are named in an entry's head.
const MOST_NAMED: usize = 4;
/// Quoted history that is shown at once; the rest has a link.
const SHOWN_QUOTE: usize = 1_500;

/// The list of entries; also what a live update asks for.
#[derive(Template)]
#[template(path = "conversation/_timeline.html")]
pub struct Timeline {
    pub conversation: ConversationId,
    pub entries: Vec<TimelineEntry>,
    /// The address of the page with earlier items, if there are any.
    pub earlier: Option<String>,
    /// Whether the newest incoming mail had recipients besides the contact and the inbox.
    pub has_others: bool,
    /// Whether this is a page of earlier items, without the newest.
    pub is_past: bool,
    pub newest: String,
    pub times: Times,
}

impl Timeline {
    /// Whether the line before what is new is below the first screen.
    pub fn has_new_below(&self) -> bool {
        self.entries
            .iter()
            .position(|entry| matches!(entry, TimelineEntry::Since))
            .is_some_and(|at| at > MUCH)
    }

    pub fn is_long(&self) -> bool {
        self.entries.len() >= NEWEST as usize
    }

    /// In the same snapshot as the conversation.
    pub async fn load(
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
        seen_to: Option<DateTime<Utc>>,
    ) -> Result<Self> {
        let workspace = asked.person.workspace;
        let before: Option<TimelineCursor> =
            asked.query("earlier").map(str::parse).transpose().map_err(|_| NO_CONVERSATION)?;
        let items = if before.is_some() { EARLIER } else { NEWEST };
        let limit = TimelineLimit { items, bytes: BYTES };
        let mut page = timeline::read(conn, workspace, conversation.id, before, limit).await?;
        let secure = secure::cards(conn, asked, conversation, &mut page.items).await?;
        let messages: Vec<MessageId> = page
            .items
            .iter()
            .filter_map(|item| match item {
                TimelinePiece::Message(message) => Some(message.id),
                _ => None,
            })
            .collect();
        let shown = shown::load(conn, workspace, conversation.id, &messages, SHOWN_TEXT).await?;
        let whole = match asked.query("whole").and_then(|id| id.parse().ok()) {
            Some(id) => shown::whole_text(conn, workspace, conversation.id, id)
                .await?
                .map(|text| WholeText { message: id, text }),
            None => None,
        };
        let drafts: Vec<MessageId> = page
            .items
            .iter()
            .filter_map(|item| match item {
                TimelinePiece::Message(message) if message.status == Some(MessageStatus::Draft) => {
                    Some(message.id)
                }
                _ => None,
            })
            .collect();
        let outdated = if drafts.is_empty() { Vec::new() } else { news(conn, workspace, &drafts).await? };
        let has_others = has_others(conversation, &page.items);
        let requests = progress::of_messages(conn, workspace, conversation.id, &messages).await?;
        let reader = TimelineReader::new(asked, conversation, &page.items, shown, whole);
        let reader = TimelineReader { requests, secure, ..reader };
        let mut entries = with_mark(reader.entries(page.items, &outdated), seen_to);
        if before.is_none() {
            fold_read(&mut entries, asked, seen_to);
        }
        Ok(Self {
            conversation: conversation.id,
            earlier: page.earlier.map(|earlier| {
                format!("/conversations/{}?{}earlier={earlier}", conversation.id, list_of(asked))
            }),
            newest: format!("/conversations/{}?{}", conversation.id, list_of(asked)),
            has_others,
            is_past: before.is_some(),
            entries,
            times: asked.times(),
        })
    }
}

/// The message whose whole text was asked for, instead of its beginning.
struct WholeText {
    message: MessageId,
    text: String,
}

/// What is known while items become entries.
struct TimelineReader<'a> {
    asked: &'a MemberRequest,
    conversation: &'a Conversation,
    times: Times,
    shown: HashMap<MessageId, MessageDetails>,
    /// By message: who approved it and whether they edited it, and why it failed.
    approved: HashMap<String, (String, bool)>,
    failed: HashMap<String, String>,
    again: HashSet<String>,
    whole: Option<WholeText>,
    /// Documents that messages ask for.
    requests: HashMap<MessageId, RequestProgress>,
    secure: HashMap<MessageId, SecureCard>,
}

impl<'a> TimelineReader<'a> {
    fn new(
        asked: &'a MemberRequest,
        conversation: &'a Conversation,
        items: &[TimelinePiece],
        shown: HashMap<MessageId, MessageDetails>,
        whole: Option<WholeText>,
    ) -> Self {
        let mut approved = HashMap::new();
        let mut failed = HashMap::new();
        let mut again = HashSet::new();
        for item in items {
            let TimelinePiece::Event { actor, event, data, .. } = item else { continue };
            let Some(message) = data["messageId"].as_str().map(str::to_owned) else { continue };
            match event.as_str() {
                "approved" => drop(approved.insert(message, (actor.clone(), data["edited"] == true))),
                SENT_AGAIN => drop(again.insert(message)),
                "delivery-failed" => {
                    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
                    failed.insert(message, explain::failure(&text("reason"), &text("email")));
                }
                _ => {}
            }
        }
        Self {
            asked,
            conversation,
            times: asked.times(),
            shown,
            approved,
            failed,
            again,
            whole,
            requests: HashMap::new(),
            secure: HashMap::new(),
        }
    }

    fn entries(mut self, items: Vec<TimelinePiece>, outdated: &[DraftNews]) -> Vec<TimelineEntry> {
        let mut entries: Vec<TimelineEntry> = Vec::with_capacity(items.len());
        for item in items {
            match item {
                TimelinePiece::Message(message) => {
                    entries.push(TimelineEntry::Message(Box::new(self.message(message))))
                }
                TimelinePiece::Note { id, at, author, body } => {
                    entries.push(TimelineEntry::Note { id, at, who: author, text: words::note(&body) });
                }
                TimelinePiece::Event { at, actor, event, data } => {
                    if self.is_told_elsewhere(&event, &data) {
                        continue;
                    }
                    let line = EventLine { at, told: explain::event(&actor, &event, &data, &self.times) };
                    match entries.last_mut() {
                        Some(TimelineEntry::Events { lines, .. }) => lines.push(line),
                        // Its place is its name: nothing is ever put before it.
                        _ => entries.push(TimelineEntry::Events {
                            id: format!("events-{}", at.timestamp_micros()),
                            lines: vec![line],
                            by: String::new(),
                        }),
                    }
                }
            }
        }
        for entry in &mut entries {
            match entry {
                TimelineEntry::Events { lines, by, .. } => *by = names(lines),
                TimelineEntry::Message(message) => {
                    message.is_outdated = outdated.iter().any(|news| news.draft == message.id);
                }
                TimelineEntry::Note { .. } | TimelineEntry::Since => {}
            }
        }
        entries
    }

    /// Whether the entry of the message already shows what this event says.
    fn is_told_elsewhere(&self, event: &str, data: &Value) -> bool {
        let message: Option<MessageId> = data["messageId"].as_str().and_then(|id| id.parse().ok());
        // That mail which came makes it ours, and mail that left theirs, goes without saying.
        let follows = [("waiting", "open", "reply"), ("open", "waiting", "sent")];
        if event == "status"
            && follows
                .iter()
                .any(|(from, to, why)| data["from"] == *from && data["to"] == *to && data["reason"] == *why)
        {
            return true;
        }
        matches!(event, "approved" | "delivery-failed" | "documents-requested")
            && message.is_some_and(|id| self.shown.contains_key(&id))
    }

    fn message(&mut self, message: timeline::Message) -> Message {
        let shown = self.shown.get(&message.id);
        let inbound = message.direction == Direction::Inbound;
        let author = shown.and_then(|shown| shown.author);
        let held = is_held(shown.and_then(|shown| shown.sends_at));
        let (kind, state) = match (inbound, message.status) {
            (true, _) => ("entry--in", None),
            (_, Some(MessageStatus::Draft)) if matches!(author, Some(Author::Person(_))) => {
                ("entry--draft", Some(("pencil", "Draft")))
            }
            (_, Some(MessageStatus::Draft)) => ("entry--draft", Some(("bot", "Draft · needs approval"))),
            (_, Some(MessageStatus::Scheduled)) if held => {
                ("entry--out", Some(("octagon-x", "Held: agents are stopped")))
            }
            (_, Some(MessageStatus::Scheduled)) => ("entry--out entry--scheduled", None),
            (_, Some(MessageStatus::Sending)) => ("entry--out", Some(("send", "On its way"))),
            (_, Some(MessageStatus::Failed)) => ("entry--out entry--failed", None),
            (_, _) if shown.is_some_and(|shown| shown.auto_reply) => {
                ("entry--out", Some(("zap", "Automatic reply")))
            }
            (_, _) => ("entry--out", Some(("arrow-up-right", "Sent"))),
        };
        let named = |email: &str| {
            message.from_name.clone().filter(|name| !name.is_empty()).unwrap_or(email.to_owned())
        };
        let who = match (inbound, shown.and_then(|shown| shown.author_name.clone()), author) {
            (true, ..) => named(&message.from_email),
            (_, Some(name), _) => name,
            (_, None, Some(Author::Assistant)) => "Assistant".to_owned(),
            _ => self.conversation.mailbox_name.clone(),
        };
        let (body, other) = self.body(&message, shown);
        let is_part = shown.is_some_and(|shown| shown.is_cut) || self.written(message.id).is_some();
        let whole = is_part.then(|| self.link("whole", message.id));
        let files = self.files(&message, shown, &body);
        let ask = self.requests.remove(&message.id);
        let is_scheduled = message.status == Some(MessageStatus::Scheduled);
        Message {
            id: message.id,
            kind,
            state,
            who: who.clone(),
            is_agent: matches!(author, Some(Author::Agent(_) | Author::Assistant)),
            email: Some(message.from_email.clone())
                .filter(|email| *email != who && (inbound || *email != self.conversation.mailbox_address)),
            is_confirmed: shown
                .filter(|_| inbound)
                .and_then(|shown| shown.verdict.as_ref())
                .and_then(explain::is_confirmed),
            start: start_of(&message.text),
            is_folded: false,
            address: self.address(&message),
            addresses: self.addresses(&message),
            at: message.at,
            summary: shown.and_then(|shown| shown.summary.clone()).filter(|_| kind == "entry--draft"),
            whole: whole.filter(|_| matches!(body, Body::Text(_)) && !self.is_whole(message.id)),
            quoted: self.quoted(&message, shown, &body),
            body,
            other,
            files,
            why: if inbound { explain::why(&message, shown) } else { Vec::new() },
            clock: shown
                .and_then(|shown| shown.sends_at)
                .filter(|_| is_scheduled && !held)
                .map(|sends_at| Clock::new(self.asked, message.at, sends_at)),
            is_own: author == Some(Author::Person(self.asked.person.id))
                && shown.is_some_and(|shown| shown.is_composed),
            is_outdated: false,
            is_cut: shown.is_some_and(|shown| shown.is_cut),
            version: queue::version(shown.and_then(|shown| shown.edited_at)),
            ask: ask.map(|progress| AskCard::from_progress(progress, &self.times)),
            secure: self.secure.remove(&message.id),
            is_again: self.again.contains(&message.id.to_string()),
            failure: (message.status == Some(MessageStatus::Failed)).then(|| {
                let told = self.failed.get(&message.id.to_string());
                told.cloned().unwrap_or_else(|| explain::failure("", ""))
            }),
        }
    }

    /// From which address it came and to which ones it went, all of them.
    fn addresses(&self, message: &timeline::Message) -> String {
        let list = |addresses: &Option<Vec<String>>| {
            addresses.iter().flatten().cloned().collect::<Vec<_>>().join(", ")
        };
        let contact = &self.conversation.contact;
        let to = match (list(&message.to), message.direction) {
            (to, _) if !to.is_empty() => to,
            (_, Direction::Inbound) => self.conversation.mailbox_name.clone(),
            (_, Direction::Outbound) => contact.email.clone().unwrap_or("nobody".to_owned()),
        };
        let cc = list(&message.cc);
        let cc = if cc.is_empty() { String::new() } else { format!(", cc {cc}") };
        format!("from {} to {to}{cc}", message.from_email)
    }

    /// To whom it went, and who approved it.
    fn address(&self, message: &timeline::Message) -> String {
        let (contact, ours) = (&self.conversation.contact, &self.conversation.mailbox_address);
        // The contact and the inbox by name, everybody else by their address.
        let named = |address: &String| {
            if Some(address) == contact.email.as_ref() {
                contact.name.clone().unwrap_or_else(|| address.clone())
            } else if address == ours {
                self.conversation.mailbox_name.clone()
            } else {
                address.clone()
            }
        };
        let list = |addresses: &Option<Vec<String>>| -> Vec<String> {
            let addresses = addresses.iter().flatten();
            let many = addresses.clone().count();
            let mut names: Vec<String> = addresses.take(MOST_NAMED).map(named).collect();
            if many > MOST_NAMED {
                names.push(format!("{} more", many - MOST_NAMED));
            }
            names
        };
        let mut to = list(&message.to);
        if to.is_empty() {
            to.push(match message.direction {
                Direction::Inbound => self.conversation.mailbox_name.clone(),
                Direction::Outbound => {
                    contact.name.clone().or(contact.email.clone()).unwrap_or("nobody".to_owned())
                }
            });
        }
        let cc = list(&message.cc);
        let cc = if cc.is_empty() { String::new() } else { format!(", cc {}", cc.join(", ")) };
        let approved = self
            .approved
            .get(&message.id.to_string())
            .map(|(who, edited)| format!(" · approved by {who}{}", if *edited { ", edited" } else { "" }));
        format!("to {}{cc}{}", to.join(", "), approved.unwrap_or_default())
    }

    fn body(
        &self,
        message: &timeline::Message,
        shown: Option<&MessageDetails>,
    ) -> (Body, Option<(String, &'static str)>) {
        if let Some(formatted) = self.formatted(message, shown) {
            return (Body::Formatted(formatted), None);
        }
        let asked_for = |what: &str| self.asked.queries().all(what).any(|id| id == message.id.to_string());
        // A formatting that says something else does not count, and whoever approves a draft reads where its links lead.
        let as_text = message.status == Some(MessageStatus::Draft);
        let html = shown.filter(|shown| !as_text && shown.formatted.is_none()).and_then(|shown| shown.html);
        let as_html = match html {
            None => false,
            Some(_) if asked_for("html") || asked_for("images") => true,
            Some(html) => html.laid_out && !asked_for("text") && !asked_for("whole"),
        };
        if let (true, Some(html)) = (as_html, html) {
            let shows_images = asked_for("images");
            let images = match (html.remote_images, shows_images) {
                (false, _) => RemoteImages::None,
                (true, false) => RemoteImages::Off(self.link("images", message.id)),
                (true, true) => RemoteImages::On,
            };
            // Without an address there is no frame to show; the text is.
            if let Ok(source) = content::address(self.asked, message.id, shows_images) {
                let apart = self.asked.app().config.content_url.is_some().then(|| height_of(&message.text));
                let frame = Body::Frame { source, images, follow: !self.is_risky(message), apart };
                return (frame, Some((self.link("text", message.id), "Plain text")));
            }
        }
        let text = match &self.whole {
            Some(whole) if whole.message == message.id => &whole.text,
            // The card has the rest.
            _ => self.written(message.id).unwrap_or(&message.text),
        };
        let text = match message.status {
            Some(MessageStatus::Draft | MessageStatus::Scheduled) => words::leaving(text),
            _ if self.is_risky(message) => words::risky(text),
            _ => words::message(text),
        };
        (Body::Text(text), html.map(|_| (self.link("html", message.id), "As it was laid out")))
    }

    /// A mail of ours as its writer formatted it, and under it what its text has under that. None if the text says something else.
    fn formatted(&self, message: &timeline::Message, shown: Option<&MessageDetails>) -> Option<Safe<String>> {
        let stored = shown?.formatted.as_deref().filter(|_| message.status != Some(MessageStatus::Draft))?;
        let under = written::under(stored, self.written(message.id).unwrap_or(&message.text))?;
        let waits = message.status == Some(MessageStatus::Scheduled);
        let under = if waits { words::leaving(under) } else { words::message(under) };
        let address = |id: &str| {
            let n = message.attachments.iter().position(|file| file.content_id.as_deref() == Some(id))?;
            Some(format!("/messages/{}/files/{n}/preview", message.id))
        };
        let placed = written::with_pictures(stored, address);
        Some(Safe(format!("{}{}", written::for_page(&placed), under.0)))
    }

    /// Its files, without the pictures that its text shows, and those of our signature.
    fn files(&self, message: &timeline::Message, shown: Option<&MessageDetails>, body: &Body) -> Vec<Chip> {
        let stored = shown.and_then(|shown| shown.formatted.as_deref());
        let stored = stored.filter(|_| matches!(body, Body::Formatted(_))).unwrap_or_default();
        let seen = written::pictures(stored);
        let is_ours = message.direction == Direction::Outbound;
        let is_seen = |file: &Attachment| {
            let id = file.content_id.as_ref();
            id.is_some_and(|id| seen.contains(id) || (is_ours && is_signature_picture(id)))
        };
        let chips = chips(message.id, &message.attachments).into_iter().zip(&message.attachments);
        chips.filter(|(_, file)| !is_seen(file)).map(|(chip, _)| chip).collect()
    }

    /// Whether the mail came into a conversation that is held to be a fraud.
    fn is_risky(&self, message: &timeline::Message) -> bool {
        message.direction == Direction::Inbound && self.conversation.risk.is_some()
    }

    /// The words above a checklist, which is shown as a card.
    fn written(&self, message: MessageId) -> Option<&str> {
        self.requests.get(&message)?;
        self.shown.get(&message)?.written.as_deref()
    }

    fn is_whole(&self, message: MessageId) -> bool {
        self.whole.as_ref().is_some_and(|whole| whole.message == message)
    }

    /// What the mail quoted of earlier mail, folded.
    fn quoted(
        &self,
        message: &timeline::Message,
        shown: Option<&MessageDetails>,
        body: &Body,
    ) -> Option<Safe<String>> {
        if self.is_whole(message.id) || matches!(body, Body::Frame { .. }) {
            return None;
        }
        let whole = shown?.whole_text.as_deref()?;
        let quote = whole.strip_prefix(message.text.as_str()).unwrap_or(whole).trim();
        let end = quote.floor_char_boundary(SHOWN_QUOTE);
        let shown = &quote[..end];
        let mut text = if self.is_risky(message) { words::risky(shown).0 } else { words::message(shown).0 };
        if end < quote.len() {
            text.push_str(&format!("<p><a href=\"{}\">All of it</a></p>", self.link("whole", message.id)));
        }
        (!quote.is_empty()).then_some(Safe(text))
    }

    /// This very page with one message shown otherwise.
    fn link(&self, how: &str, message: MessageId) -> String {
        let earlier = self.asked.query("earlier").and_then(|cursor| cursor.parse::<TimelineCursor>().ok());
        let earlier = earlier.map(|earlier| format!("earlier={earlier}&")).unwrap_or_default();
        let list = list_of(self.asked);
        format!("/conversations/{}?{list}{earlier}{how}={message}#{message}", self.conversation.id)
    }
}

fn has_others(conversation: &Conversation, items: &[TimelinePiece]) -> bool {
    let newest = items.iter().rev().find_map(|item| match item {
        TimelinePiece::Message(message) if message.direction == Direction::Inbound => Some(message),
        _ => None,
    });
    let known = [conversation.contact.email.as_ref(), Some(&conversation.mailbox_address)];
    let on_it = newest.into_iter().flat_map(|mail| mail.to.iter().chain(&mail.cc).flatten());
    on_it.into_iter().any(|address| !known.contains(&Some(address)))
}

/// A guess by the words. Whoever reads it can pull the frame higher, and it scrolls.
fn height_of(text: &str) -> &'static str {
    match text.lines().map(|line| 1 + line.len() / 80).sum() {
        0..=8_usize => "low",
        9..=20 => "middle",
        _ => "high",
    }
}

/// What says which list is beside the conversation, for links that stay on it. `q` is first, because `list_path` knows the
/// results of a search by it.
pub fn list_of(asked: &MemberRequest) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["q", "view", "status", "inbox", "assignee", "assigned", "tag", "unread", "order", "before"] {
        if let Some(value) = asked.query(name) {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => query,
        query => query + "&",
    }
}

/// `Ada and Scout`, `Ada, Scout and 2 more`
fn names(lines: &[EventLine]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in lines.iter().filter_map(|line| line.told.who.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" by {one}"),
        [one, two] => format!(" by {one} and {two}"),
        [one, two, rest @ ..] => format!(" by {one}, {two} and {} more", rest.len()),
    }
}
