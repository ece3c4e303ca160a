//! The conversations of a loaded workspace, in batches of rows: what a team of thirty has after three years.
//!
//! A conversation is made from the seed and its number alone, so any number of threads can make them and
//! the result is the same. Every row is what the product's own verbs would have stored.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use rookery_base::ids::{ConversationId, DocumentId, Id, MessageId, NoteId, WorkspaceId};
use rookery_base::random::Random;
use rookery_base::search_terms;
use serde_json::json;

use super::rows::Rows;
use super::texts::{Dice, Vocabulary};

/// The tables a batch fills, with their columns, in the order of [`Batch::finish`].
pub const TABLES: [(&str, &str); 7] = [
    (
        "conversations",
        "workspace_id, id, mailbox_id, audience, contact_name, contact_email, subject, snippet, status,
         snoozed_until, announced_turn, assignee_type, assignee_id, topic, urgency, risk_reasons, reference,
         created_at, last_message_at, message_count, last_item",
    ),
    (
        "messages",
        "workspace_id, conversation_id, id, mailbox_id, item, at, direction, status, sent_at, from_name,
         from_email, text, whole_text, attachments, rfc_message_id, id_hash, content_hash, raw_blob",
    ),
    ("notes", "workspace_id, conversation_id, id, item, at, author, body"),
    ("timeline_events", "workspace_id, conversation_id, item, at, actor, event, data"),
    ("conversation_tags", "workspace_id, conversation_id, tag_id, audience"),
    ("conversation_words", "workspace_id, conversation_id, words, last_message_at"),
    (
        "documents",
        "workspace_id, id, audience, conversation_id, kind, title, filename, fields, content_type, size,
         content_hash, blob, created_at, searched, pieces",
    ),
];

const YEARS: i64 = 3;
/// Lists of open conversations must be full in a small workspace too, or sizes could not be compared.
const LEAST_OPEN: f64 = 400.0;
const MOST_SNOOZED: usize = 300;
/// Items on the timeline of the one long conversation.
const LONG: usize = 200;
const KINDS: [&str; 8] = ["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"];
const TOPICS: [&str; 5] = ["billing", "shipping", "account", "returns", "other"];

#[derive(Clone)]
pub struct Inbox {
    pub id: i64,
    pub audience: i64,
    pub address: String,
}

/// Who can be assigned: `user` or `agent`, id and name.
pub type Member = (&'static str, i64, String);

/// Everything that the conversations of one workspace have in common.
#[derive(Clone)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub seed: u64,
    pub conversations: usize,
    pub now: DateTime<Utc>,
    /// Most used first; the first `team_inboxes` belong to the whole team.
    pub inboxes: Vec<Inbox>,
    pub team_inboxes: usize,
    /// The first has most to do.
    pub members: Vec<Member>,
    pub tags: Vec<i64>,
    pub vocabulary: Arc<Vocabulary>,
}

pub struct Batch {
    conversations: Rows,
    messages: Rows,
    notes: Rows,
    events: Rows,
    tags: Rows,
    words: Rows,
    documents: Rows,
}

impl Workspace {
    pub fn batch(&self, numbers: Range<usize>) -> Batch {
        let mut batch = Batch {
            conversations: Rows::new(),
            messages: Rows::new(),
            notes: Rows::new(),
            events: Rows::new(),
            tags: Rows::new(),
            words: Rows::new(),
            documents: Rows::new(),
        };
        for number in numbers {
            self.conversation(number, &mut batch);
        }
        batch
    }

    /// The one conversation with a timeline of [`LONG`] items.
    pub fn long_conversation(&self) -> ConversationId {
        self.id_of(self.long_number())
    }

    /// A reference that two closed conversations of the first inbox carry.
    pub fn reference(&self) -> String {
        format!("order-{}", self.conversations / 80)
    }

    /// Carries [`Self::reference`].
    fn is_referred(&self, number: usize) -> bool {
        number.is_multiple_of(20) && number / 40 == self.conversations / 80
    }

    fn long_number(&self) -> usize {
        self.conversations / 10 * 9
    }

    fn began(&self, number: usize) -> DateTime<Utc> {
        let span = TimeDelta::days(365 * YEARS).num_milliseconds() as f64;
        let share = 1.0 - number as f64 / self.conversations as f64;
        self.now - TimeDelta::milliseconds((span * share) as i64) - TimeDelta::minutes(1)
    }

    fn id_of(&self, number: usize) -> ConversationId {
        ConversationId::mint(self.began(number), &Random::seeded(self.seed ^ number as u64))
    }

    fn inbox(&self, number: usize, dice: &mut Dice) -> &Inbox {
        let private = self.inboxes.len() - self.team_inboxes;
        if self.is_referred(number) {
            return &self.inboxes[0];
        }
        // What has a reference, and the long one, must be seen by every key.
        let shown = number.is_multiple_of(20) || number == self.long_number();
        let place = if dice.chance(0.02 * private as f64) && !shown {
            self.team_inboxes + dice.below(private)
        } else {
            dice.zipf(self.team_inboxes)
        };
        &self.inboxes[place]
    }

    fn status(&self, number: usize, dice: &mut Dice) -> &'static str {
        let total = self.conversations as f64;
        let open = (LEAST_OPEN / total).clamp(0.02, 0.4);
        let recent = open * 2.5;
        let is_recent = number as f64 >= total * (1.0 - recent);
        let (open, waiting) =
            if is_recent { (0.3, 0.3) } else { (open / 4.0 / (1.0 - recent).max(0.01), 0.016) };
        match dice.share() {
            share if share < open => "open",
            share if share < open + waiting => "waiting",
            _ => "closed",
        }
    }

    fn snooze(&self, number: usize) -> Option<DateTime<Utc>> {
        let stride = self.conversations / MOST_SNOOZED.min(self.conversations / 10).max(1);
        if !number.is_multiple_of(stride) || number == self.long_number() || self.is_referred(number) {
            return None;
        }
        // One in fifteen has run out and waits for being woken.
        let place = number / stride;
        Some(if place.is_multiple_of(15) {
            self.now - TimeDelta::minutes(place as i64 + 1)
        } else {
            self.now + TimeDelta::days(1) + TimeDelta::minutes(place as i64 * 97)
        })
    }

    fn conversation(&self, number: usize, batch: &mut Batch) {
        let mut dice = Dice::new(self.seed.wrapping_add(number as u64 * 0x1_0001));
        let random = Random::seeded(self.seed ^ number as u64 ^ 0xfeed);
        let (id, created) = (self.id_of(number), self.began(number));
        let is_long = number == self.long_number();
        let inbox = self.inbox(number, &mut dice);
        let snoozed_until = self.snooze(number);
        let status = match self.status(number, &mut dice) {
            _ if is_long || self.is_referred(number) => "closed",
            "closed" if snoozed_until.is_some() => "waiting",
            status => status,
        };
        let assigned = dice.chance(if status == "closed" { 0.15 } else { 0.6 });
        let assignee = assigned.then(|| &self.members[dice.zipf(self.members.len())]);
        let contact = self.vocabulary.name(&mut dice);
        let email = format!(
            "{}@{}.example",
            contact.to_lowercase().replace(' ', "."),
            self.vocabulary.word(number % 997)
        );
        let subject_words = 2 + dice.below(7);
        let subject = self.vocabulary.text(&mut dice, subject_words).replace('\n', " ");
        let reference = number.is_multiple_of(20).then(|| format!("order-{}", number / 40));

        let mut thread = Thread {
            workspace: self,
            id,
            inbox,
            at: created,
            items: 0,
            contact: &email,
            texts: vec![format!("{subject} {contact} {email}")],
            people: BTreeSet::new(),
            previous: String::new(),
            snippet: String::new(),
        };
        let messages = if is_long { LONG - 80 } else { (1 + dice.around(2.2) as usize).min(40) };
        for place in 0..messages {
            // The customer writes first; of later mail, a little less than half is theirs.
            let from = (place == 0 || dice.chance(0.45)).then_some((contact.as_str(), email.as_str()));
            thread.message(from, &mut dice, &random, batch);
            if is_long && place % 6 == 0 {
                thread.note(&mut dice, &random, batch);
            }
            if is_long && place % 2 == 0 {
                thread.event("tag_added", &json!({ "tag": "vip" }).to_string(), batch);
            }
        }
        let last_message_at = thread.at;
        if let Some((_, _, name)) = assignee {
            thread.event("assigned", &json!({ "to": name }).to_string(), batch);
        }
        if status == "closed" && !is_long {
            thread.event("status", r#"{"from":"waiting","to":"closed"}"#, batch);
        }
        // Private inboxes are few but full of documents, so that lists of these are full in any workspace.
        if dice.chance(if inbox.audience == 0 { 0.1 } else { 0.6 }) {
            thread.document(created, &mut dice, &random, batch);
        }
        let tags = self.tags_of(&mut dice);
        for tag in &tags {
            batch.tags.row(4).bigint(self.id.0).bigint(id.0).bigint(*tag).bigint(inbox.audience);
        }
        let words = search_terms::hash_terms(self.id, thread.texts.iter().map(String::as_str));
        let words: Vec<i64> = words.into_iter().chain(thread.people).collect();
        batch.words.row(4).bigint(self.id.0).bigint(id.0).bigints(&words).time(last_message_at);

        let sorted = dice.chance(0.6);
        batch
            .conversations
            .row(21)
            .bigint(self.id.0)
            .bigint(id.0)
            .bigint(inbox.id)
            .bigint(inbox.audience)
            .text(&contact)
            .text(&email)
            .text(&subject)
            .text(&thread.snippet)
            .text(status)
            .maybe_time(snoozed_until)
            .text(match status {
                "open" => "ours",
                "waiting" => "theirs",
                _ => "done",
            })
            .maybe(assignee.map(|(kind, _, _)| *kind))
            .bigint(assignee.map_or(0, |(_, id, _)| *id))
            .maybe(sorted.then(|| TOPICS[dice.zipf(TOPICS.len())]))
            .maybe(sorted.then_some("normal"))
            .texts(&[])
            .maybe(reference.as_deref())
            .time(created)
            .time(last_message_at)
            .integer(messages)
            .integer(thread.items);
    }

    fn tags_of(&self, dice: &mut Dice) -> Vec<i64> {
        let many = (dice.around(1.7) as usize).min(6);
        let mut tags: Vec<i64> = (0..many).map(|_| self.tags[dice.zipf(self.tags.len())]).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}

/// A conversation while its timeline is written.
struct Thread<'a> {
    workspace: &'a Workspace,
    id: ConversationId,
    inbox: &'a Inbox,
    at: DateTime<Utc>,
    items: usize,
    contact: &'a str,
    /// What the words are taken from, as conversations/search/index.rs does, and who its mail is from and to.
    texts: Vec<String>,
    people: BTreeSet<i64>,
    previous: String,
    snippet: String,
}

impl Thread<'_> {
    fn message(&mut self, from: Option<(&str, &str)>, dice: &mut Dice, random: &Random, batch: &mut Batch) {
        if self.items > 0 {
            let minutes = dice.around(400.0) as i64 + 1;
            self.at = (self.at + TimeDelta::minutes(minutes)).min(self.workspace.now);
        }
        self.items += 1;
        let length = (10.0 + dice.around(45.0)).min(600.0) as usize;
        let text = self.workspace.vocabulary.text(dice, length);
        let (name, email) = from.unwrap_or(("Support", &self.inbox.address));
        let quoted =
            (from.is_some() && !self.previous.is_empty()).then(|| format!("{text}\n\n> {}", self.previous));
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&dice.number().to_be_bytes());
        let row = batch
            .messages
            .row(18)
            .bigint(self.workspace.id.0)
            .bigint(self.id.0)
            .bigint(MessageId::mint(self.at, random).0)
            .bigint(self.inbox.id)
            .integer(self.items)
            .time(self.at);
        match from {
            Some(_) => row.text("inbound").none().none(),
            None => row.text("outbound").text("sent").time(self.at),
        };
        row.text(name).text(email).text(&text).maybe(quoted.as_deref()).json("[]").none();
        match from {
            Some(_) => row.bigint(dice.number() as i64).bytes(&hash).none(),
            None => row.none().none().none(),
        };
        let workspace = self.workspace.id;
        self.people.extend(search_terms::hash_people(workspace, search_terms::FROM, [name, email]));
        if from.is_none() {
            self.people.extend(search_terms::hash_people(workspace, search_terms::TO, [self.contact]));
        }
        self.texts.push(format!("{name} {email} {}", quoted.as_deref().unwrap_or(&text)));
        self.snippet = text.chars().take(200).collect();
        self.previous = self.snippet.clone();
    }

    fn note(&mut self, dice: &mut Dice, random: &Random, batch: &mut Batch) {
        self.items += 1;
        batch
            .notes
            .row(7)
            .bigint(self.workspace.id.0)
            .bigint(self.id.0)
            .bigint(NoteId::mint(self.at, random).0)
            .integer(self.items)
            .time(self.at)
            .text(&self.workspace.members[0].2)
            .text(&self.workspace.vocabulary.text(dice, 15));
    }

    fn event(&mut self, event: &str, data: &str, batch: &mut Batch) {
        self.items += 1;
        batch
            .events
            .row(7)
            .bigint(self.workspace.id.0)
            .bigint(self.id.0)
            .integer(self.items)
            .time(self.at)
            .text(&self.workspace.members[0].2)
            .text(event)
            .json(data);
    }

    /// Comes with the first mail, so documents lie in the order they are listed in.
    fn document(&mut self, at: DateTime<Utc>, dice: &mut Dice, random: &Random, batch: &mut Batch) {
        let kind = dice.chance(0.7).then(|| KINDS[dice.zipf(KINDS.len())]);
        let words = &self.workspace.vocabulary;
        let filename = format!(
            "{}-{}-{}.pdf",
            kind.unwrap_or("scan"),
            words.any_word(dice),
            1_000 + dice.below(900_000)
        );
        let vendor = words.name(dice);
        let title = match kind {
            Some(kind) => format!("{kind} of {vendor}, {}", words.text(dice, 3)),
            None => filename.clone(),
        };
        let (fields, searched) = match kind {
            Some(_) => {
                (json!({ "vendor": vendor, "currency": "EUR" }), format!("{title} {filename} {vendor} EUR"))
            }
            None => (json!({}), filename.clone()),
        };
        let searched = search_terms::fold(&searched);
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&dice.number().to_be_bytes());
        batch
            .documents
            .row(15)
            .bigint(self.workspace.id.0)
            .bigint(DocumentId::mint(at, random).0)
            .bigint(self.inbox.audience)
            .bigint(self.id.0)
            .maybe(kind)
            .text(&title)
            .text(&filename)
            .json(&fields.to_string())
            .text("application/pdf")
            .bigint(dice.below(900_000) as i64)
            .bytes(&hash)
            .text("bench/none")
            .time(at)
            .text(&searched)
            .bigints(&search_terms::pieces(self.workspace.id, &searched));
    }
}

impl Batch {
    /// The bytes for each of [`TABLES`].
    pub fn finish(self) -> [Vec<u8>; 7] {
        [self.conversations, self.messages, self.notes, self.events, self.tags, self.words, self.documents]
            .map(Rows::finish)
    }
}
