//! The button that stops every agent, at one press and without a question, because it can be taken back; and starting them
//! again, which asks what becomes of what was held.

use askama::Template;
use axum::response::Response;

use crate::outgoing::clock::stop_time;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_product::replies::agents::stop::{self, HeldMessages, StopStanding};

const START: &str = "/settings/agents/start";

#[derive(Template)]
#[template(path = "settings/agents/start.html")]
struct StartPage {
    shell: Shell,
    page: &'static str,
    standing: StopStanding,
    window: String,
}

pub async fn stop_all(asked: MemberRequest) -> Result<Response> {
    let stopped = stop::stop(asked.app(), asked.person.workspace, &asked.person).await?;
    let done = if stopped.on_their_way > 0 { Done::AgentsStoppedBut } else { Done::AgentsStopped };
    // The form that takes it back is the page that starts them.
    Ok(respond::see_other_with(super::PATH, Toast::new(done, "start")))
}

pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let standing = stop::standing(&mut reading, &asked.person).await?;
    if standing.stopped.is_none() {
        return Ok(respond::see_other(super::PATH));
    }
    let shell = Shell::frame(&asked, Here::Settings);
    let window = stop_time(&asked);
    respond::page(&StartPage { shell, page: super::PATH, standing, window })
}

/// Without a choice it starts them when nothing is held, and asks otherwise.
pub async fn start(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let waiting = match form.get("waiting") {
        Some("leave") => HeldMessages::Leave,
        Some("drafts") => HeldMessages::BecomeDrafts,
        _ => {
            let held = stop::standing(&mut *asked.reading().await?, &asked.person).await?.held;
            if held > 0 {
                return Ok(respond::see_other(START));
            }
            HeldMessages::BecomeDrafts
        }
    };
    stop::start(asked.app(), asked.person.workspace, &asked.person, waiting).await?;
    Ok(respond::see_other_with(super::PATH, Toast::new(Done::AgentsStarted, "")))
}
