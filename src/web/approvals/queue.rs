//! `/approvals` and `/approvals/msg_…`: the drafts that wait, oldest first, and one of them beside what the customer
//! wrote. On a phone the first is the list and the second the draft.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::assistants::draft::relied::{self, Relied};
use crate::conversations::conversation::{Contact, Member};
use crate::conversations::messages::message::{Author, Direction, MessageStatus};
use crate::conversations::secure::words::is_remembered;
use crate::conversations::team;
use crate::error::{Error, Result};
use crate::ids::MessageId;
use crate::replies::approve::Picked;
use crate::replies::queue::changes::{self, Change};
use crate::replies::queue::foreign::{self, Mark};
use crate::replies::queue::list::{self, Place, Waiting};
use crate::replies::queue::news::News;
use crate::replies::queue::review::{self, Review};
use crate::store::db::Handle;
use crate::web::conversation::files::{Chip, chips};
use crate::web::outgoing::clock::Clock;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::{filters, in_words};
use crate::web::visit::{Asked, Fields};
use crate::workspace::access::MemberId;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "approvals/queue.html")]
struct QueuePage {
    shell: Shell,
    drafts: Vec<Waiting>,
    /// The part of the queue that is shown, and where later ones are.
    after: Option<Place>,
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
    /// Its number in the queue; of a later part nobody has counted what is before it.
    number: Option<usize>,
    team: Vec<Member>,
    clock: Option<Clock>,
    /// Of an assistant's draft: what it relied on, and what has to be confirmed before it leaves.
    relied: Option<Relied>,
    marks: Vec<Mark>,
    /// The team wrote here by a secure link last. What an agent drafted goes as an ordinary mail all the same.
    leaves_openly: bool,
}

/// How the page of one draft is shown.
#[derive(Default)]
pub struct How {
    pub mine: Option<String>,
    /// The part of the queue beside it.
    pub after: Option<Place>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let chosen = asked.query("draft").and_then(|draft| draft.parse().ok());
    let how = How { after: part_of(&asked), ..How::default() };
    page(&asked, chosen, how).await
}

pub async fn draft(asked: Asked) -> Result<Response> {
    let how = How { after: part_of(&asked), ..How::default() };
    page(&asked, Some(asked.id("id")?), how).await
}

fn part_of(asked: &Asked) -> Option<Place> {
    asked.query("after").and_then(|after| after.parse().ok())
}

pub async fn page(asked: &Asked, chosen: Option<MessageId>, how: How) -> Result<Response> {
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let mut after = how.after;
    let mut listed = list::list(&mut snapshot, &asked.person, after, PAGE).await?;
    if listed.drafts.is_empty() && after.take().is_some() {
        // All of this part is decided.
        listed = list::list(&mut snapshot, &asked.person, None, PAGE).await?;
    }
    let shell = Shell::load(&mut snapshot, asked, Here::Approvals).await?;
    let crossed = how.mine.is_some();
    let pane = match chosen.or(listed.drafts.first().map(|draft| draft.message)) {
        Some(message) => {
            let row = listed.drafts.iter().find(|draft| draft.message == message);
            let review = review::find(&mut snapshot, &asked.person, now, message, row).await?;
            let team = team::of(&mut snapshot, asked.person.workspace, &review.conversation).await?;
            let mut pane = Pane::new(asked, review, &listed.drafts, team, How { after, ..how });
            if pane.review.author == Author::Assistant && pane.is_draft() {
                let (workspace, review) = (asked.person.workspace, &pane.review);
                let body = pane.mine.as_deref().unwrap_or(&review.body);
                pane.marks = foreign::marks(&mut snapshot, workspace, &review.conversation, body).await?;
                pane.relied = relied::of(&mut snapshot, workspace, message).await?;
            }
            if pane.by_agent() && pane.is_draft() {
                let conversation = &pane.review.conversation;
                pane.leaves_openly =
                    is_remembered(&mut snapshot, asked.person.workspace, conversation).await?;
            }
            Some(pane)
        }
        None => None,
    };
    let page = QueuePage {
        shell,
        drafts: listed.drafts,
        after,
        later: listed.next,
        chosen: chosen.is_some(),
        pane,
        told: Told::read(asked.queries()),
    };
    respond::page_with(if crossed { StatusCode::CONFLICT } else { StatusCode::OK }, &page)
}

impl QueuePage {
    /// What goes behind the address of a draft or of the queue.
    fn part(&self) -> String {
        part(self.after, '?')
    }

    /// What a picked row says: which draft, as it was listed.
    fn pick(&self, draft: &Waiting) -> String {
        format!("{}@{}", draft.message, version(draft.edited_at))
    }

    fn is_open(&self, draft: &Waiting) -> bool {
        self.pane.as_ref().is_some_and(|pane| pane.review.message == draft.message)
    }

    fn who<'a>(&self, contact: &'a Contact) -> &'a str {
        contact.called()
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
            number: at.filter(|_| how.after.is_none()).map(|at| at + 1),
            team,
            clock: clock.map(|sends_at| Clock::new(asked, sends_at)),
            mine: how.mine,
            review,
            relied: None,
            marks: Vec::new(),
            leaves_openly: false,
        }
    }

    fn is_draft(&self) -> bool {
        self.review.status == MessageStatus::Draft
    }

    fn who(&self) -> &str {
        self.review.conversation.contact.called()
    }

    /// Beside the name, which is whatever the customer wrote.
    fn address(&self) -> Option<&str> {
        let address = self.review.conversation.contact.email.as_deref();
        address.filter(|address| *address != self.who())
    }

    fn files(&self) -> Vec<Chip> {
        chips(self.review.message, &self.review.attachments)
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
    changed: i64,
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
            changed: number("changed"),
            gone: number("gone"),
            failed: number("failed"),
        })
    }

    /// Some were left where they are.
    fn left(&self) -> bool {
        self.risky + self.outdated + self.changed + self.gone + self.failed > 0
    }
}

/// As a form carries when a draft was last changed.
pub fn version(edited_at: Option<DateTime<Utc>>) -> String {
    edited_at.map(|at| at.timestamp_micros().to_string()).unwrap_or_default()
}

/// The same, read back. Without one the draft was shown as it had been drafted.
pub fn read_version(given: Option<&str>) -> Result<Option<DateTime<Utc>>> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
    let at = given.parse().ok().and_then(DateTime::from_timestamp_micros);
    at.map(Some).ok_or_else(|| Error::problem("version", "is not one of those that are offered"))
}

/// A picked row; what is none is nothing.
pub fn read_pick(given: &str) -> Option<Picked> {
    let (message, version) = given.split_once('@').unwrap_or((given, ""));
    Some(Picked { message: message.parse().ok()?, edited_at: read_version(Some(version)).ok()? })
}

/// The page of a draft beside a part of the queue.
pub fn path(message: MessageId, after: Option<Place>) -> String {
    format!("/approvals/{message}{}", part(after, '?'))
}

pub fn part(after: Option<Place>, joint: char) -> String {
    after.map(|after| format!("{joint}after={after}")).unwrap_or_default()
}
