//! `/welcome`: five steps down the page, an inbox to try beside them. Each step can be opened by its link, left out and
//! taken up again.

use askama::Template;
use axum::response::Response;

use crate::conversations::messages::message::MessageStatus;
use crate::error::Result;
use crate::sandbox::try_it;
use crate::web::respond;
use crate::web::settings::profile::zones;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;
use crate::web::welcome::progress::{self, Progress, State};
use crate::web::welcome::samples::{SAMPLES, Sample};
use crate::workspace::first_run::steps::Step;
use crate::workspace::mailboxes::Mailbox;

/// The step that is open though it is none of the five: name and zone.
pub const NAME: &str = "name";

#[derive(Template)]
#[template(path = "welcome/steps.html")]
pub struct StepsPage {
    shell: Shell,
    progress: Progress,
    steps: Vec<OneStep>,
    /// The one that is open, by its name.
    now: &'static str,
    zones: Vec<String>,
    has_relay: bool,
    try_it: Option<Mailbox>,
    samples: &'static [Sample],
    /// What was typed into the form that was refused, and why it was.
    pub typed: Typed,
    pub problem: Option<String>,
}

#[derive(Default)]
pub struct Typed {
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
    /// When it is not the one that is open.
    line: String,
    state: State,
}

impl OneStep {
    fn is_done(&self) -> bool {
        self.state == State::Done
    }

    fn is_skipped(&self) -> bool {
        self.state == State::Skipped
    }
}

impl StepsPage {
    fn is_everything_done(&self) -> bool {
        self.steps.iter().all(|step| step.state != State::Open)
    }

    /// The test mail is about to leave; a stream that begins too late would not tell.
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

pub async fn show(asked: Asked) -> Result<Response> {
    let open = asked.query("step").map(str::to_owned);
    respond::page(&page(&asked, open.as_deref()).await?)
}

/// With the step open that is asked for, or the next one.
pub async fn page(asked: &Asked, open: Option<&str>) -> Result<StepsPage> {
    let shell = Shell::frame(asked, Here::Settings);
    let mut conn = asked.reading().await?;
    let progress = progress::load(&mut conn, asked).await?;
    let try_it = try_it::find(&mut conn, asked.person.workspace).await?;
    let named = |name: &str| match name {
        NAME => Some(NAME),
        name => name.parse::<Step>().ok().map(Step::as_str),
    };
    let next = progress.next().map_or("", Step::as_str);
    let steps = Step::ALL.into_iter().enumerate().map(|(at, step)| one(&progress, at + 1, step)).collect();
    Ok(StepsPage {
        now: open.and_then(named).unwrap_or(next),
        steps,
        zones: zones(&progress.standing.zone),
        has_relay: asked.visit.app().config.relay.is_some(),
        try_it,
        samples: &SAMPLES,
        typed: Typed::default(),
        problem: None,
        progress,
        shell,
    })
}

fn one(progress: &Progress, number: usize, step: Step) -> OneStep {
    let state = progress.state(step);
    let done = state == State::Done;
    let title = match step {
        Step::Inbox => "The address customers write to",
        Step::Dns => "Tell the world in DNS",
        Step::TestMail => "A test mail to yourself",
        Step::People => "Invite your team",
        Step::Key => "A key for an agent",
    };
    let line = match (step, &progress.inbox) {
        (Step::Inbox, Some(inbox)) => format!("{}, called {}.", inbox.address, inbox.name),
        (Step::Inbox, None) => "Mail to it becomes conversations here.".to_owned(),
        (Step::Dns, _) if done => "Every row is right.".to_owned(),
        (Step::Dns, _) => "Rows that lead mail to us and show that yours is genuine.".to_owned(),
        (Step::TestMail, _) if done => "It left, and mail came in.".to_owned(),
        (Step::TestMail, _) => format!("One mail to {}. Your answer shows up here.", progress.email),
        (Step::People, _) if done => "You are not alone.".to_owned(),
        (Step::People, _) => "Addresses are enough.".to_owned(),
        (Step::Key, _) if done => "There is one.".to_owned(),
        (Step::Key, _) => "It drafts, you approve.".to_owned(),
    };
    OneStep { name: step.as_str(), number, title, line, state }
}
