//! One agent: its month, its newest messages and what became of each, and how much it may write in a day.
//! An agent whose key is revoked keeps its page.

use askama::Template;
use askama::filters::Safe;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::agents::chart;
use crate::settings::agents::limits::{self, Limit};
use crate::settings::keys::words;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::AgentId;
use rookery_core::conversations::messages::held::is_held;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::workspace::agents::caps::{self, HIGHEST_CAP};
use rookery_core::workspace::agents::days::{self, Numbers};
use rookery_core::workspace::agents::list::{self, ListedAgent};
use rookery_product::replies::agents::activity::{self, Wrote};

#[derive(Template)]
#[template(path = "settings/agents/one.html")]
struct AgentPage {
    shell: Shell,
    page: &'static str,
    agent: ListedAgent,
    did: Numbers,
    picture: Safe<String>,
    newest: Vec<Wrote>,
    limits: Vec<Limit>,
    /// Whether the number that was written today is shown beside each limit.
    counts: bool,
    highest: i64,
    problem: Option<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked).await?)
}

pub async fn set_cap(asked: MemberRequest) -> Result<Response> {
    let agent: AgentId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    match caps::set(&mut tx, &asked.person.by(), agent, limits::read(&form)).await {
        Ok(()) => {
            tx.commit().await?;
            let here = format!("{}/{agent}", super::PATH);
            Ok(respond::see_other_with(&here, Toast::new(Done::Saved, "")))
        }
        Err(error @ Error::Problems(_)) => {
            drop(tx);
            let mut page = AgentPage { problem: Some(error.sentence()), ..page(&asked).await? };
            limits::keep_typed(&mut page.limits, &form);
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

async fn page(asked: &MemberRequest) -> Result<AgentPage> {
    let id: AgentId = asked.id("id")?;
    let (workspace, person) = (asked.person.workspace, &asked.person);
    let mut reading = asked.reading().await?;
    let agent = list::one(&mut reading, workspace, id).await?;
    let shell = Shell::frame(asked, Here::Settings);
    let now = shell.times.now;
    let days = days::lately(&mut reading, workspace, person.id, &[id], now).await?;
    let days: Vec<_> = days.into_iter().map(|(_, day)| day).collect();
    Ok(AgentPage {
        page: super::PATH,
        did: days.iter().map(|day| day.did).sum(),
        picture: chart::month(&days, &shell.times),
        newest: activity::newest(&mut reading, person, id).await?,
        limits: limits::with_usage(agent.caps, days::used_today(&mut reading, workspace, id, now).await?),
        counts: true,
        highest: i64::from(HIGHEST_CAP),
        problem: None,
        agent,
        shell,
    })
}

impl AgentPage {
    fn may(&self) -> String {
        words::may(&self.agent.scopes)
    }

    fn sends(&self) -> bool {
        words::sends(&self.agent.scopes)
    }

    fn decided(&self) -> i64 {
        self.did.approved + self.did.edited + self.did.discarded
    }

    /// Of drafts that were decided about, how many of a hundred went out as they were written. Few say nothing.
    fn unedited(&self) -> Option<i64> {
        const ENOUGH: i64 = 30;
        (self.decided() >= ENOUGH).then(|| 100 * self.did.approved / self.decided())
    }

    /// What became of a message, in words.
    fn became(&self, wrote: &Wrote) -> String {
        let times = &self.shell.times;
        let sent = |at: Option<&_>| at.map(|at| format!(", sent {}", times.brief(at))).unwrap_or_default();
        let let_go = match (&wrote.approved_by, wrote.is_edited) {
            (Some(by), true) => format!("Edited and approved by {by}"),
            (Some(by), false) => format!("Approved unedited by {by}"),
            (None, _) => "Without approval".to_owned(),
        };
        match wrote.status {
            None => "Discarded".to_owned(),
            Some(MessageStatus::Draft) => "Waits for approval".to_owned(),
            Some(MessageStatus::Scheduled) if is_held(wrote.sends_at) => {
                "Held: agents are stopped".to_owned()
            }
            Some(MessageStatus::Scheduled) => {
                let at =
                    wrote.sends_at.map(|at| format!(", leaves {}", times.brief(&at))).unwrap_or_default();
                format!("{let_go}{at}")
            }
            Some(MessageStatus::Sending) => format!("{let_go}, on its way"),
            Some(MessageStatus::Sent) => format!("{let_go}{}", sent(wrote.sent_at.as_ref())),
            Some(MessageStatus::Failed) => format!("{let_go}, not delivered"),
        }
    }

    fn waits(&self, wrote: &Wrote) -> bool {
        wrote.status == Some(MessageStatus::Draft)
    }
}
