//! `/bulk/blk_…`: how far a change of many conversations is, with its end in sight: stop it, take it back, see what could
//! not be done. Only whoever began it finds it.

use askama::Template;
use axum::response::Response;

use crate::conversations::bulk::action::Action;
use crate::conversations::bulk::{self, Failure, Job, State, work};
use crate::error::Result;
use crate::ids::BulkJobId;
use crate::rules::store;
use crate::web::bulk::asked_action::where_from;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;

#[derive(Template)]
#[template(path = "bulk/job.html")]
struct JobPage {
    shell: Shell,
    job: Job,
    failures: Vec<Failure>,
}

impl JobPage {
    fn title(&self) -> String {
        let many = match self.job.total {
            1 => "1 conversation".to_owned(),
            many => format!("{many} conversations"),
        };
        match self.job.state {
            State::Working => format!("{} {many}", doing(&self.job.action)),
            State::Done => format!("{} {many}", done(&self.job.action)),
            State::Cancelled => format!("Stopped after {} of {many}", self.job.done + self.job.failed),
            State::Undoing => format!("Taking back {many}"),
            State::Undone => format!("Took back {} of {many}", self.job.undone),
        }
    }

    fn argument(&self) -> Option<&str> {
        match &self.job.action {
            Action::Tag(name) | Action::Untag(name) => Some(name),
            _ => None,
        }
    }

    /// What was done, and of an undo what was left as it is.
    fn so_far(&self) -> i32 {
        if self.job.state == State::Undoing { self.job.undone } else { self.job.done + self.job.failed }
    }

    fn of(&self) -> i32 {
        if self.job.state == State::Undoing { self.job.done } else { self.job.total }
    }

    fn left_alone(&self) -> i32 {
        if self.job.state == State::Undone { self.job.done - self.job.undone } else { 0 }
    }

    fn can_be_undone(&self) -> bool {
        self.job.can_be_undone(self.shell.times.now)
    }

    fn can_be_stopped(&self) -> bool {
        self.job.state == State::Working
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

pub async fn show(asked: Asked) -> Result<Response> {
    let id: BulkJobId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let job = bulk::find(&mut reading, &asked.person, id).await?;
    let failures = bulk::failures(&mut reading, &asked.person, id).await?;
    let shell = Shell::load(&mut reading, &asked, Here::View("open")).await?;
    respond::page(&JobPage { shell, job, failures })
}

pub async fn cancel(asked: Asked) -> Result<Response> {
    let id: BulkJobId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    bulk::cancel(&mut tx, &asked.person, id).await?;
    tx.commit().await?;
    Ok(respond::see_other(&format!("/bulk/{id}")))
}

/// Of one conversation it is done before the answer, and the person stays where they are.
pub async fn undo(asked: Asked) -> Result<Response> {
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
