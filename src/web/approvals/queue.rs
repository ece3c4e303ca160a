//! `/approvals` and `/approvals/msg_…`: the drafts that wait, oldest first, and one of them beside what the customer
//! wrote. On a phone the first is the list and the second the draft.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::conversations::conversation::{Contact, Member};
use crate::conversations::messages::message::{Author, Direction, MessageStatus};
use crate::conversations::team;
use crate::error::Result;
use crate::ids::MessageId;
use crate::replies::queue::changes::{self, Change};
use crate::replies::queue::list::{self, Place, Waiting};
use crate::replies::queue::news::News;
use crate::replies::queue::review::{self, Review};
use crate::store::db::Handle;
use crate::web::outgoing::clock::Clock;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::{Asked, Fields};
use crate::workspace::access::MemberId;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "approvals/queue.html")]
struct QueuePage {
    shell: Shell,
    drafts: Vec<Waiting>,
    /// Where later ones are.
    later: Option<Place>,
    /// The address names the draft.
    chosen: bool,
    pane: Option<Pane>,
    /// What came of deciding about many.
    told: Option<Told>,
}

/// One draft.
struct Pane {
    review: Review,
    /// What people changed of it, when that is to be shown.
    changes: Vec<Change>,
    changed: usize,
    shows_changes: bool,
    /// What the person had written when it turned out that a colleague changed the draft too.
    mine: Option<String>,
    previous: Option<MessageId>,
    next: Option<MessageId>,
    /// Its number in the queue.
    number: Option<usize>,
    team: Vec<Member>,
    clock: Option<Clock>,
}

/// How the page of one draft is shown.
#[derive(Default)]
pub struct How {
    pub mine: Option<String>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let chosen = asked.query("draft").and_then(|draft| draft.parse().ok());
    page(&asked, chosen, How::default()).await
}

pub async fn draft(asked: Asked) -> Result<Response> {
    page(&asked, Some(asked.id("id")?), How::default()).await
}

pub async fn page(asked: &Asked, chosen: Option<MessageId>, how: How) -> Result<Response> {
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let after: Option<Place> = asked.query("after").and_then(|after| after.parse().ok());
    let listed = list::list(&mut snapshot, &asked.person, after, PAGE).await?;
    let shell = Shell::load(&mut snapshot, asked, Here::Approvals).await?;
    let crossed = how.mine.is_some();
    let pane = match chosen.or(listed.drafts.first().map(|draft| draft.message)) {
        Some(message) => {
            let review = review::find(&mut snapshot, &asked.person, now, message).await?;
            let team = team::of(&mut snapshot, asked.person.workspace, &review.conversation).await?;
            Some(Pane::new(asked, review, &listed.drafts, team, how))
        }
        None => None,
    };
    let page = QueuePage {
        shell,
        drafts: listed.drafts,
        later: listed.next,
        chosen: chosen.is_some(),
        pane,
        told: Told::read(asked.queries()),
    };
    respond::page_with(if crossed { StatusCode::CONFLICT } else { StatusCode::OK }, &page)
}

impl QueuePage {
    fn is_open(&self, draft: &Waiting) -> bool {
        self.pane.as_ref().is_some_and(|pane| pane.review.message == draft.message)
    }

    fn who<'a>(&self, contact: &'a Contact) -> &'a str {
        named(contact)
    }

    fn risk(&self, label: &str) -> String {
        in_words(label)
    }
}

impl Pane {
    fn new(asked: &Asked, review: Review, listed: &[Waiting], team: Vec<Member>, how: How) -> Self {
        let at = listed.iter().position(|draft| draft.message == review.message);
        let beside = |at: Option<usize>| at.and_then(|at| listed.get(at)).map(|draft| draft.message);
        let previous = beside(at.and_then(|at| at.checked_sub(1)));
        let next = beside(at.map(|at| at + 1));
        // What is shown as changed: of the person's text when a colleague's stands against it, else of the agent's.
        let changes = match (&how.mine, &review.drafted) {
            (Some(mine), _) => changes::between(&review.body, mine),
            (None, Some(drafted)) => changes::between(drafted, &review.body),
            (None, None) => Vec::new(),
        };
        let shows_changes =
            how.mine.is_none() && review.drafted.is_some() && asked.query("show") == Some("changes");
        let clock = review.sends_at.filter(|_| review.status == MessageStatus::Scheduled);
        Self {
            changed: changes::count(&changes),
            changes,
            shows_changes,
            previous,
            next,
            number: at.map(|at| at + 1),
            team,
            clock: clock.map(|sends_at| Clock::new(asked, sends_at)),
            mine: how.mine,
            review,
        }
    }

    fn is_draft(&self) -> bool {
        self.review.status == MessageStatus::Draft
    }

    fn who(&self) -> &str {
        named(&self.review.conversation.contact)
    }

    fn by_agent(&self) -> bool {
        !matches!(self.review.author, Author::Person(_))
    }

    /// What stands in the box.
    fn body(&self) -> &str {
        self.mine.as_deref().unwrap_or(&self.review.body)
    }

    /// When the text in the box was last changed, for the form.
    fn version(&self) -> String {
        version(self.review.edited_at)
    }

    /// What became of it.
    fn ended(&self) -> &'static str {
        match self.review.status {
            MessageStatus::Draft => "waits",
            MessageStatus::Scheduled => "leaves soon",
            MessageStatus::Sending => "is on its way",
            MessageStatus::Sent => "was sent",
            MessageStatus::Failed => "could not be delivered",
        }
    }

    fn outdated(&self) -> Option<&'static str> {
        self.review.news.as_ref().map(sentence)
    }

    fn is_ours(&self, direction: &Direction) -> bool {
        *direction == Direction::Outbound
    }

    fn is_agent(&self, member: &Member) -> bool {
        matches!(member.id, MemberId::Agent(_))
    }

    fn is_assigned(&self, member: &Member) -> bool {
        self.review.conversation.assignee.as_ref().is_some_and(|assignee| assignee.id == member.id)
    }

    fn risk(&self) -> Option<String> {
        self.review.conversation.risk.as_deref().map(in_words)
    }
}

/// What came after a draft, in words.
fn sentence(news: &News) -> &'static str {
    match (news.customer_wrote, news.answered) {
        (true, true) => "the customer wrote again, and somebody answered.",
        (true, false) => "the customer wrote again.",
        _ => "somebody answered meanwhile.",
    }
}

/// What came of deciding about many, as the address has it: numbers, never words.
struct Told {
    approved: i64,
    discarded: i64,
    risky: i64,
    outdated: i64,
    gone: i64,
    failed: i64,
}

impl Told {
    fn read(query: &Fields) -> Option<Self> {
        query.get("many")?;
        let number = |name| query.get(name).and_then(|text| text.parse().ok()).unwrap_or(0).clamp(0, 999);
        Some(Self {
            approved: number("approved"),
            discarded: number("discarded"),
            risky: number("risky"),
            outdated: number("outdated"),
            gone: number("gone"),
            failed: number("failed"),
        })
    }

    /// Some were left where they are.
    fn left(&self) -> bool {
        self.risky + self.outdated + self.gone + self.failed > 0
    }
}

/// As a form carries when a draft was last changed.
pub fn version(edited_at: Option<DateTime<Utc>>) -> String {
    edited_at.map(|at| at.timestamp_micros().to_string()).unwrap_or_default()
}

pub fn named(contact: &Contact) -> &str {
    let name = contact.name.as_deref().filter(|name| !name.trim().is_empty());
    name.or(contact.email.as_deref()).unwrap_or("Somebody who was erased")
}

/// `payment_fraud` as people read it.
fn in_words(label: &str) -> String {
    let words = label.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
