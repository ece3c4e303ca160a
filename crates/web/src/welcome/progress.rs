//! How far a workspace is set up, for somebody who may do it: which steps are done, as the workspace itself shows, which
//! were left out, and which is next.

use sqlx::PgConnection;

use crate::settings::domains::{self, ShownDomain};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::store::addresses::ascii_domain;
use rookery_core::conversations::messages::inbound;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_core::conversations::messages::sending::{self, Newest};
use rookery_core::workspace::first_run::steps::{self, FirstRunProgress, FirstRunStep};
use rookery_core::workspace::inbox_settings::{self, Inbox};
use rookery_core::workspace::people;
use rookery_mail::outgoing::domain::checked::{self, CheckedDomain};

pub struct Progress {
    pub standing: FirstRunProgress,
    /// The first inbox that real mail can reach.
    pub inbox: Option<Inbox>,
    /// The domain of the inbox, once it has a key for signing.
    pub domain: Option<ShownDomain>,
    /// The person's own address, which gets the test mail.
    pub email: String,
    pub test: Option<Newest>,
    /// Mail has come to the inbox.
    pub has_arrived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    Done,
    Skipped,
    Open,
}

pub async fn load(asked: &MemberRequest) -> Result<Progress> {
    let (mut progress, own) = read(&mut *asked.reading().await?, asked).await?;
    // The directory has a connection of its own, so none is held while it is asked.
    if let Some(own) = own {
        progress.domain = Some(domains::shown(asked.visit.app(), asked.person.workspace, own).await?);
    }
    Ok(progress)
}

/// Everything but `domain`, for which it gives what the name servers last said.
async fn read(conn: &mut PgConnection, asked: &MemberRequest) -> Result<(Progress, Option<CheckedDomain>)> {
    let workspace = asked.person.workspace;
    let standing = steps::standing(conn, workspace).await?;
    let email = people::email_of(conn, workspace, asked.person.id).await?;
    let (inboxes, _) = inbox_settings::list(conn, &asked.person).await?;
    let mut real: Vec<Inbox> = inboxes.into_iter().filter(|inbox| is_real(&inbox.address)).collect();
    real.sort_by_key(|inbox| inbox.id);
    let inbox = real.into_iter().next();
    let mut progress = Progress { standing, inbox, domain: None, email, test: None, has_arrived: false };
    let mut own = None;
    if let Some(inbox) = &progress.inbox {
        let domain = ascii_domain(domain_of(&inbox.address));
        let checked = checked::list(conn, workspace).await?;
        own = checked.into_iter().find(|checked| checked.domain.name == domain);
        progress.test = sending::newest_to(conn, &asked.person, inbox.id, &progress.email).await?;
        progress.has_arrived = inbound::has_arrived(conn, workspace, inbox.id).await?;
    }
    Ok((progress, own))
}

pub fn domain_of(address: &str) -> &str {
    address.rsplit('@').next().unwrap_or_default()
}

/// Nothing from outside reaches an address under `.test`.
pub fn is_real(address: &str) -> bool {
    let domain = domain_of(address);
    domain != "test" && !domain.ends_with(".test")
}

impl Progress {
    pub fn state(&self, step: FirstRunStep) -> StepState {
        let has_left = self.test.as_ref().is_some_and(|test| test.status == MessageStatus::Sent);
        let done = match step {
            FirstRunStep::Inbox => self.inbox.is_some(),
            FirstRunStep::Dns => self.domain.as_ref().is_some_and(ShownDomain::is_right),
            FirstRunStep::TestMail => self.has_arrived && has_left,
            FirstRunStep::People => self.standing.has_team,
            FirstRunStep::Key => self.standing.has_key,
        };
        if done {
            StepState::Done
        } else if self.standing.skipped.contains(&step) {
            StepState::Skipped
        } else {
            StepState::Open
        }
    }

    /// The first that is neither done nor left out.
    pub fn next(&self) -> Option<FirstRunStep> {
        FirstRunStep::ALL.into_iter().find(|step| self.state(*step) == StepState::Open)
    }

    pub fn done(&self) -> usize {
        FirstRunStep::ALL.iter().filter(|step| self.state(**step) == StepState::Done).count()
    }
}
