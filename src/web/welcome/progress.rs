//! How far a workspace is set up, for somebody who may do it: which steps are done, as the workspace itself shows, which
//! were left out, and which is next.

use sqlx::PgConnection;

use crate::conversations::messages::inbound;
use crate::conversations::messages::message::MessageStatus;
use crate::conversations::messages::sending::{self, Newest};
use crate::error::Result;
use crate::outgoing::domain::checked;
use crate::web::settings::domains::{self, Shown};
use crate::web::visit::Asked;
use crate::workspace::first_run::steps::{self, Standing, Step};
use crate::workspace::inbox_settings::{self, Inbox};
use crate::workspace::people;

pub struct Progress {
    pub standing: Standing,
    /// The first inbox that real mail can reach.
    pub inbox: Option<Inbox>,
    /// Its domain, when its key is made.
    pub domain: Option<Shown>,
    /// The person's own address, which gets the test mail.
    pub email: String,
    pub test: Option<Newest>,
    /// Mail has come to the inbox.
    pub has_arrived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Done,
    Skipped,
    Open,
}

pub async fn load(conn: &mut PgConnection, asked: &Asked) -> Result<Progress> {
    let workspace = asked.person.workspace;
    let standing = steps::standing(conn, workspace).await?;
    let email = people::email_of(conn, workspace, asked.person.id).await?;
    let (inboxes, _) = inbox_settings::list(conn, &asked.person).await?;
    let mut real: Vec<Inbox> = inboxes.into_iter().filter(|inbox| is_real(&inbox.address)).collect();
    real.sort_by_key(|inbox| inbox.id);
    let inbox = real.into_iter().next();
    let mut progress = Progress { standing, inbox, domain: None, email, test: None, has_arrived: false };
    if let Some(inbox) = &progress.inbox {
        let domain = domain_of(&inbox.address);
        let checked = checked::list(conn, workspace).await?;
        let own = checked.into_iter().find(|checked| checked.domain.name == domain);
        progress.domain = own.map(|own| domains::shown(&asked.visit.app().config, own));
        progress.test = sending::newest_to(conn, &asked.person, inbox.id, &progress.email).await?;
        progress.has_arrived = inbound::has_arrived(conn, workspace, inbox.id).await?;
    }
    Ok(progress)
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
    pub fn state(&self, step: Step) -> State {
        let has_left = self.test.as_ref().is_some_and(|test| test.status == MessageStatus::Sent);
        let done = match step {
            Step::Inbox => self.inbox.is_some(),
            Step::Dns => self.domain.as_ref().is_some_and(Shown::is_right),
            Step::TestMail => self.has_arrived && has_left,
            Step::People => self.standing.has_team,
            Step::Key => self.standing.has_key,
        };
        match done {
            true => State::Done,
            false if self.standing.skipped.contains(&step) => State::Skipped,
            false => State::Open,
        }
    }

    /// The first that is neither done nor left out.
    pub fn next(&self) -> Option<Step> {
        Step::ALL.into_iter().find(|step| self.state(*step) == State::Open)
    }

    pub fn done(&self) -> usize {
        Step::ALL.iter().filter(|step| self.state(**step) == State::Done).count()
    }
}
