//! `/welcome`: five steps down the page, an inbox to try beside them. Each step can be opened by its link, left out and
//! taken up again.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::profile::zones;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use crate::welcome::progress::{self, Progress, StepState};
use crate::welcome::samples::{SAMPLES, Sample};
use rookery_base::error::Result;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::workspace::first_run::steps::FirstRunStep;
use rookery_core::workspace::mailboxes::Mailbox;
use rookery_mail::sandbox::try_it;

/// Name and zone, which can be opened like a step but are none of the five.
pub const NAME: &str = "name";

#[derive(Template)]
#[template(path = "welcome/steps.html")]
pub struct StepsPage {
    shell: Shell,
    progress: Progress,
    steps: Vec<OneStep>,
    /// The name of the step that is open.
    now: &'static str,
    zones: Vec<String>,
    has_relay: bool,
    try_it: Option<Mailbox>,
    samples: &'static [Sample],
    /// What was typed into the form that was refused, and why it was.
    pub typed: TypedInbox,
    pub problem: Option<String>,
}

#[derive(Default)]
pub struct TypedInbox {
    pub address: String,
    pub name: String,
    pub subject: String,
    pub text: String,
}

/// A step as the page shows it.
struct OneStep {
    name: &'static str,
    number: usize,
    title: &'static str,
    /// The line that stands for the step while it is not open.
    line: String,
    state: StepState,
}

impl OneStep {
    fn is_done(&self) -> bool {
        self.state == StepState::Done
    }

    fn is_skipped(&self) -> bool {
        self.state == StepState::Skipped
    }
}

impl StepsPage {
    fn is_everything_done(&self) -> bool {
        self.steps.iter().all(|step| step.state != StepState::Open)
    }

    /// Whether the test mail is about to leave. The page then asks again, because the live stream may begin too late to
    /// tell.
    fn is_leaving(&self) -> bool {
        let status = self.progress.test.as_ref().map(|test| test.status);
        matches!(status, Some(MessageStatus::Scheduled | MessageStatus::Sending))
    }

    /// An icon and words for how far the test mail is.
    fn sending(&self) -> Option<(&'static str, &'static str)> {
        let test = self.progress.test.as_ref()?;
        Some(match test.status {
            MessageStatus::Draft => ("hourglass", "It was stopped and is a draft."),
            MessageStatus::Scheduled => ("hourglass", "It leaves in a moment."),
            MessageStatus::Sending => ("hourglass", "It is on its way to the relay."),
            MessageStatus::Sent => ("circle-check", "It has left. Sending works."),
            MessageStatus::Failed => ("circle-x", "It was not delivered. Open it to see why."),
        })
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let open = asked.query("step").map(str::to_owned);
    respond::page(&page(&asked, open.as_deref()).await?)
}

/// With the step open that is asked for, or the next one.
pub async fn page(asked: &MemberRequest, open: Option<&str>) -> Result<StepsPage> {
    let shell = Shell::frame(asked, Here::Settings);
    let progress = progress::load(asked).await?;
    let try_it = try_it::find(&mut *asked.reading().await?, asked.person.workspace).await?;
    let named = |name: &str| match name {
        NAME => Some(NAME),
        name => name.parse::<FirstRunStep>().ok().map(FirstRunStep::as_str),
    };
    let next = progress.next().map_or("", FirstRunStep::as_str);
    let steps =
        FirstRunStep::ALL.into_iter().enumerate().map(|(at, step)| one(&progress, at + 1, step)).collect();
    Ok(StepsPage {
        now: open.and_then(named).unwrap_or(next),
        steps,
        zones: zones(&progress.standing.zone),
        has_relay: asked.visit.app().config.relay.is_some(),
        try_it,
        samples: &SAMPLES,
        typed: TypedInbox::default(),
        problem: None,
        progress,
        shell,
    })
}

fn one(progress: &Progress, number: usize, step: FirstRunStep) -> OneStep {
    let state = progress.state(step);
    let done = state == StepState::Done;
    let title = match step {
        FirstRunStep::Inbox => "The address customers write to",
        FirstRunStep::Dns => "Set up DNS",
        FirstRunStep::TestMail => "A test mail to yourself",
        FirstRunStep::People => "Invite your team",
        FirstRunStep::Key => "A key for an agent",
    };
    let line = match (step, &progress.inbox) {
        (FirstRunStep::Inbox, Some(inbox)) => format!("{}, called {}.", inbox.address, inbox.name),
        (FirstRunStep::Inbox, None) => "Mail to it becomes conversations here.".to_owned(),
        (FirstRunStep::Dns, _) if done => "All records are correct.".to_owned(),
        (FirstRunStep::Dns, _) => "Records that route mail to us and prove yours is genuine.".to_owned(),
        (FirstRunStep::TestMail, _) if done => "It left, and mail came in.".to_owned(),
        (FirstRunStep::TestMail, _) => format!("One mail to {}. Your answer shows up here.", progress.email),
        (FirstRunStep::People, _) if done => "You are not alone.".to_owned(),
        (FirstRunStep::People, _) => "Addresses are enough.".to_owned(),
        (FirstRunStep::Key, _) if done => "There is one.".to_owned(),
        (FirstRunStep::Key, _) => "It drafts, you approve.".to_owned(),
    };
    OneStep { name: step.as_str(), number, title, line, state }
}
