//! `/approvals` and `/approvals/msg_…`: the drafts that wait, oldest first, and one of them beside what the customer
//! wrote. On a phone the first is the list and the second the draft.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::conversation::files::{Chip, chips};
use crate::outgoing::clock::Clock;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::{filters, in_words};
use crate::visit::{FormFields, MemberRequest};
use rookery_assistants::draft::relied::{self, Relied};
use rookery_base::error::{Error, Result};
use rookery_base::ids::MessageId;
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::{Contact, Member};
use rookery_core::conversations::messages::message::{Author, Direction, MessageStatus};
use rookery_core::conversations::secure::words::is_remembered;
use rookery_core::conversations::team;
use rookery_core::workspace::access::MemberId;
use rookery_mail::outgoing::whole_mail::{self, WholeMail};
use rookery_product::replies::approve::{self, Picked};
use rookery_product::replies::queue::changes::{self, TextChange};
use rookery_product::replies::queue::foreign::{self, ForeignMark};
use rookery_product::replies::queue::list::{self, QueueCursor, WaitingDraft};
use rookery_product::replies::queue::news::DraftNews;
use rookery_product::replies::queue::review::{self, Review, ReviewLetter};

pub const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "approvals/queue.html")]
struct QueuePage {
    shell: Shell,
    drafts: Vec<WaitingDraft>,
    /// Where this page of the queue begins; `later` is where the next page begins.
    after: Option<QueueCursor>,
    later: Option<QueueCursor>,
    /// Whether the address names a draft, or the first of the queue is shown.
    chosen: bool,
    pane: Option<Pane>,
    /// The result of deciding about several drafts at once.
    told: Option<DecisionCounts>,
}

/// The draft that is open beside the queue.
struct Pane {
    review: Review,
    /// What differs from the drafted text, or from the colleague's text if there is one in `mine`.
    changes: Vec<TextChange>,
    changed: usize,
    shows_changes: bool,
    /// The person's own text, if a colleague changed the draft while they wrote.
    mine: Option<String>,
    previous: Option<MessageId>,
    next: Option<MessageId>,
    /// Its number in the queue; known only on the first page.
    number: Option<usize>,
    team: Vec<Member>,
    /// The mail that leaves when it is approved.
    mail: WholeMail,
    clock: Option<Clock>,
    /// Of an assistant's draft: what it relied on, and what has to be confirmed before it leaves.
    relied: Option<Relied>,
    marks: Vec<ForeignMark>,
    /// The team's last message here was a secure link, but this draft of an agent would leave as an ordinary mail.
    leaves_openly: bool,
}

/// How the page of one draft is shown.
#[derive(Default)]
pub struct How {
    pub mine: Option<String>,
    /// Where the page of the queue beside it begins.
    pub after: Option<QueueCursor>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let chosen = asked.query("draft").and_then(|draft| draft.parse().ok());
    let how = How { after: part_of(&asked), ..How::default() };
    page(&asked, chosen, how).await
}

pub async fn draft(asked: MemberRequest) -> Result<Response> {
    let how = How { after: part_of(&asked), ..How::default() };
    page(&asked, Some(asked.id("id")?), how).await
}

fn part_of(asked: &MemberRequest) -> Option<QueueCursor> {
    asked.query("after").and_then(|after| after.parse().ok())
}

pub async fn page(asked: &MemberRequest, chosen: Option<MessageId>, how: How) -> Result<Response> {
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
            let team =
                team::for_conversation(&mut snapshot, asked.person.workspace, &review.conversation).await?;
            let mail = whole_mail::of_message(&mut snapshot, asked.person.workspace, message).await?;
            let mut pane = Pane::new(asked, review, mail, &listed.drafts, team, How { after, ..how });
            if pane.review.author == Author::Assistant && pane.is_draft() {
                let (workspace, review) = (asked.person.workspace, &pane.review);
                let body = pane.mine.as_deref().unwrap_or(&review.body);
                pane.marks = foreign::marks(&mut snapshot, workspace, &review.conversation, body).await?;
                pane.relied = relied::load(&mut snapshot, workspace, message).await?;
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
        told: DecisionCounts::read(asked.queries()),
    };
    respond::page_with(if crossed { StatusCode::CONFLICT } else { StatusCode::OK }, &page)
}

impl QueuePage {
    /// The query that keeps this page of the queue in a link.
    fn part(&self) -> String {
        part(self.after, '?')
    }

    /// The value of a row's tick box: the id of the draft and its version.
    fn pick(&self, draft: &WaitingDraft) -> String {
        format!("{}@{}", draft.message, version(draft.edited_at))
    }

    fn is_open(&self, draft: &WaitingDraft) -> bool {
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
    fn new(
        asked: &MemberRequest,
        review: Review,
        mail: WholeMail,
        listed: &[WaitingDraft],
        team: Vec<Member>,
        how: How,
    ) -> Self {
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
        let leaves = review.sends_at.filter(|_| review.status == MessageStatus::Scheduled);
        Self {
            changed: changes::count(&changes),
            changes,
            shows_changes,
            previous,
            next,
            number: at.filter(|_| how.after.is_none()).map(|at| at + 1),
            team,
            mail,
            clock: leaves.map(|sends_at| Clock::new(asked, review.at, sends_at)),
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

    /// The files of a mail beside the draft.
    fn files_of(&self, letter: &ReviewLetter) -> Vec<Chip> {
        chips(letter.id, &letter.attachments)
    }

    /// What has to be ticked when the conversation is held to be a fraud.
    fn risk_key(&self) -> Option<String> {
        self.review.conversation.risk.as_deref().map(approve::risk_key)
    }

    fn files(&self) -> Vec<Chip> {
        chips(self.review.message, &self.mail.files)
    }

    /// Rows of the box, so that no browser hides the end of the text in it.
    fn rows(&self) -> usize {
        let rows = self.body().lines().map(|line| 1 + line.chars().count() / 50).sum::<usize>();
        rows.clamp(10, 3_000)
    }

    fn by_agent(&self) -> bool {
        !matches!(self.review.author, Author::Person(_))
    }

    /// The text of the edit box.
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
fn sentence(news: &DraftNews) -> &'static str {
    match (news.customer_wrote, news.answered) {
        (true, true) => "the customer wrote again, and somebody answered.",
        (true, false) => "the customer wrote again.",
        _ => "somebody answered meanwhile.",
    }
}

/// What came of deciding about many, as the address has it: numbers, never words.
struct DecisionCounts {
    approved: i64,
    discarded: i64,
    risky: i64,
    outdated: i64,
    changed: i64,
    gone: i64,
    failed: i64,
}

impl DecisionCounts {
    fn read(query: &FormFields) -> Option<Self> {
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

/// When a draft was last edited, as a form field; empty if it was never edited.
pub fn version(edited_at: Option<DateTime<Utc>>) -> String {
    edited_at.map(|at| at.timestamp_micros().to_string()).unwrap_or_default()
}

/// Reads what `version` wrote. None if the draft was never edited.
pub fn read_version(given: Option<&str>) -> Result<Option<DateTime<Utc>>> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(None) };
    let at = given.parse().ok().and_then(DateTime::from_timestamp_micros);
    at.map(Some).ok_or_else(|| Error::problem("version", "is not one of those that are offered"))
}

/// Reads the value of a row's tick box; None if it is malformed.
pub fn read_pick(given: &str) -> Option<Picked> {
    let (message, version) = given.split_once('@').unwrap_or((given, ""));
    Some(Picked { message: message.parse().ok()?, edited_at: read_version(Some(version)).ok()? })
}

/// The address of a draft, beside the page of the queue that begins after `after`.
pub fn path(message: MessageId, after: Option<QueueCursor>) -> String {
    format!("/approvals/{message}{}", part(after, '?'))
}

pub fn part(after: Option<QueueCursor>, joint: char) -> String {
    after.map(|after| format!("{joint}after={after}")).unwrap_or_default()
}
