//! What a person does with a conversation: status, assignment, tags and snooze. `POST /conversations/cnv_…/do` takes one of
//! them; each is a job of one (bulk), so each can be undone. The menus are parts of the conversation's page.

use axum::response::Response;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::bulk::asked_action::{self, here, path_in, toast_for};
use crate::respond;
use crate::status;
use crate::toast::Toast;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, NO_CONVERSATION, Result};
use rookery_base::ids::ConversationId;
use rookery_core::conversations::bulk::action::Action;
use rookery_core::conversations::bulk::{self, work};
use rookery_core::conversations::conversation::{Conversation, Member};
use rookery_core::conversations::snooze::times::{self, SnoozeChoice};
use rookery_core::conversations::status::Status;
use rookery_core::conversations::tags;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::people::away::Absence;

/// Tags that stand under the subject, so that many of them do not push the mail away.
const SHOWN_TAGS: usize = 3;

/// What the menus of a conversation offer.
pub struct Doing {
    pub id: ConversationId,
    pub status: Status,
    pub is_snoozed: bool,
    pub assignee: Option<Member>,
    pub me: MemberId,
    pub tags: Vec<String>,
    /// Names of the workspace's tags that it has not.
    pub suggested: Vec<String>,
    pub team: Vec<Member>,
    /// Whether the person is told of what happens here.
    pub is_followed: bool,
    pub choices: Vec<SnoozeChoice>,
    /// The day it is for the person.
    pub today: String,
    /// This page.
    pub back: String,
    /// The page to go to after closing or snoozing: the next conversation of the list.
    pub next: Option<String>,
}

impl Doing {
    pub async fn load(
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
        is_followed: bool,
        team: Vec<Member>,
        next: Option<String>,
    ) -> Result<Self> {
        let names = tags::names(conn, &asked.person).await?;
        let has = |name: &String| conversation.tags.iter().any(|tag| tags::is_same(tag, name));
        let times = asked.times();
        Ok(Self {
            id: conversation.id,
            status: conversation.status,
            is_snoozed: conversation.snoozed_until.is_some(),
            assignee: conversation.assignee.clone(),
            me: asked.person.member,
            suggested: names.into_iter().filter(|name| !has(name)).collect(),
            tags: conversation.tags.clone(),
            team,
            is_followed,
            choices: times::choices(times.now, &times.zone),
            today: times::day(times.now, &times.zone),
            back: here(asked),
            next,
        })
    }

    pub fn is_closed(&self) -> bool {
        self.status == Status::Closed
    }

    pub fn is_waiting(&self) -> bool {
        self.status == Status::Waiting && !self.is_snoozed
    }

    pub fn is_open(&self) -> bool {
        self.status == Status::Open && !self.is_snoozed
    }

    pub fn status_name(&self) -> &'static str {
        status::name(self.status, self.is_snoozed)
    }

    pub fn status_icon(&self) -> &'static str {
        status::icon(self.status, self.is_snoozed)
    }

    /// The tags under the subject; the others are behind a button.
    pub fn shown_tags(&self) -> &[String] {
        &self.tags[..self.tags.len().min(SHOWN_TAGS)]
    }

    pub fn further_tags(&self) -> &[String] {
        &self.tags[self.shown_tags().len()..]
    }

    pub fn is_mine(&self) -> bool {
        self.has(&self.me)
    }

    pub fn has(&self, member: &MemberId) -> bool {
        self.assignee.as_ref().is_some_and(|assignee| assignee.id == *member)
    }

    /// Of whom it is assigned to.
    pub fn assignee_away(&self, now: &DateTime<Utc>) -> Option<Absence> {
        self.team.iter().find(|member| self.has(&member.id))?.away(now)
    }

    pub fn is_agent(&self, member: &Member) -> bool {
        matches!(member.id, MemberId::Agent(_))
    }

    /// Where a form leads that takes the conversation off the list.
    pub fn onward(&self) -> &str {
        self.next.as_deref().unwrap_or(&self.back)
    }
}

pub async fn act(asked: MemberRequest) -> Result<Response> {
    let id: ConversationId = asked.id("id")?;
    let form = asked.form().await?;
    let missing = || Error::problem("act", "is missing what to put there");
    let action = asked_action::read(&asked, &form)?.ok_or_else(missing)?;
    let mut tx = asked.tx().await?;
    let job = bulk::start(&mut tx, &asked.person, &action, &[id]).await?;
    tx.commit().await?;
    let job = work::begin_now(asked.app(), &asked.person, job).await?;
    if job.failed > 0 {
        let mut conn = asked.reading().await?;
        let failure = bulk::failures(&mut conn, &asked.person, job.id).await?.into_iter().next();
        let problem = |failure: bulk::BulkFailure| Error::problem(field_of(&action), failure.problem);
        return Err(failure.map_or(NO_CONVERSATION, problem));
    }
    let own = format!("/conversations/{id}");
    let next = path_in(&form, "next").or(path_in(&form, "back")).unwrap_or(&own);
    Ok(respond::see_other_with(next, Toast::new(toast_for(&action), job.id)))
}

fn field_of(action: &Action) -> &'static str {
    match action {
        Action::Assign(_) | Action::Unassign => "to",
        Action::Tag(_) | Action::Untag(_) => "tag",
        Action::Snooze(_) => "until",
        Action::Close | Action::Open | Action::Waiting | Action::Read => "status",
    }
}
