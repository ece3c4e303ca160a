//! `/bulk/blk_…`: how far a change of many conversations is, with its end in sight: stop it, take it back, see what could
//! not be done. Only whoever began it finds it.

use askama::Template;
use axum::response::Response;

use crate::bulk::asked_action::where_from;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::BulkJobId;
use rookery_core::conversations::bulk::action::Action;
use rookery_core::conversations::bulk::{self, BulkFailure, BulkState, Job, work};
use rookery_core::rules::store;

#[derive(Template)]
#[template(path = "bulk/job.html")]
struct JobPage {
    shell: Shell,
    job: Job,
    failures: Vec<BulkFailure>,
}

impl JobPage {
    fn title(&self) -> String {
        let many = match self.job.total {
            1 => "1 conversation".to_owned(),
            many => format!("{many} conversations"),
        };
        match self.job.state {
            BulkState::Working => format!("{} {many}", doing(&self.job.action)),
            BulkState::Done => format!("{} {many}", done(&self.job.action)),
            BulkState::Cancelled => format!("Stopped after {} of {many}", self.job.done + self.job.failed),
            BulkState::Undoing => format!("Undoing {many}"),
            BulkState::Undone => format!("Undid {} of {many}", self.job.undone),
        }
    }

    fn argument(&self) -> Option<&str> {
        match &self.job.action {
            Action::Tag(name) | Action::Untag(name) => Some(name),
            _ => None,
        }
    }

    /// How many conversations are finished: of an undo those that were undone, else those that were changed or failed.
    fn so_far(&self) -> i32 {
        if self.job.state == BulkState::Undoing { self.job.undone } else { self.job.done + self.job.failed }
    }

    fn full_count(&self) -> i32 {
        if self.job.state == BulkState::Undoing { self.job.done } else { self.job.total }
    }

    fn left_alone(&self) -> i32 {
        if self.job.state == BulkState::Undone { self.job.done - self.job.undone } else { 0 }
    }

    fn can_be_undone(&self) -> bool {
        self.job.can_be_undone(self.shell.times.now)
    }

    fn can_be_stopped(&self) -> bool {
        self.job.state == BulkState::Working
    }
}

fn doing(action: &Action) -> &'static str {
    match action {
        Action::Close => "Closing",
        Action::Open => "Opening",
        Action::Waiting => "Setting to waiting:",
        Action::Assign(_) => "Assigning",
        Action::Unassign => "Unassigning",
        Action::Tag(_) => "Tagging",
        Action::Untag(_) => "Untagging",
        Action::Snooze(_) => "Snoozing",
        Action::Read => "Marking as read:",
    }
}

fn done(action: &Action) -> &'static str {
    match action {
        Action::Close => "Closed",
        Action::Open => "Opened",
        Action::Waiting => "Set to waiting:",
        Action::Assign(_) => "Assigned",
        Action::Unassign => "Unassigned",
        Action::Tag(_) => "Tagged",
        Action::Untag(_) => "Untagged",
        Action::Snooze(_) => "Snoozed",
        Action::Read => "Marked as read:",
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: BulkJobId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let job = bulk::find(&mut reading, &asked.person, id).await?;
    let failures = bulk::failures(&mut reading, &asked.person, id).await?;
    let shell = Shell::load(&mut reading, &asked, Here::View("open")).await?;
    respond::page(&JobPage { shell, job, failures })
}

pub async fn cancel(asked: MemberRequest) -> Result<Response> {
    let id: BulkJobId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    bulk::cancel(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other(&format!("/bulk/{id}")))
}

/// Takes the job back. A small job is undone before the answer, and the person stays on the page they were on.
pub async fn undo(asked: MemberRequest) -> Result<Response> {
    let id: BulkJobId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    bulk::undo(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    let job = work::begin_now(asked.app(), &asked.person, id).await?;
    let from = where_from(&asked).unwrap_or_else(|| "/inbox".into());
    if job.is_at_work() || from.starts_with("/bulk/") {
        return Ok(respond::see_other(&format!("/bulk/{id}")));
    }
    let done = match &job.action {
        _ if job.undone == 0 => Done::NotUndone,
        Action::Tag(tag)
            if store::hears_tag(&mut *asked.reading().await?, asked.person.workspace, tag).await? =>
        {
            Done::TagUndone
        }
        _ => Done::Undone,
    };
    Ok(respond::see_other_with(&from, Toast::new(done, id)))
}
