//! `/outgoing`: what leaves soon and can be stopped, what is on its way, what could not be delivered, what leaves later,
//! and what somebody stopped.

use askama::Template;
use axum::response::Response;

use crate::conversation::explain;
use crate::conversation::later::{self, Later};
use crate::outgoing::clock::{Clock, stop_time};
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::PersonId;
use rookery_base::store::db::Handle;
use rookery_core::conversations::messages::held::is_held;
use rookery_core::conversations::messages::message::Author;
use rookery_product::replies::leaving::{self, Leaving, List};

#[derive(Template)]
#[template(path = "outgoing/show.html")]
struct OutgoingPage {
    shell: Shell,
    window: String,
    person: PersonId,
    soon: Vec<(Leaving, Clock)>,
    on_its_way: Vec<Leaving>,
    failed: Vec<Leaving>,
    later: Vec<Leaving>,
    stopped: Vec<Leaving>,
    /// Times that are offered for sending later messages instead.
    choices: Vec<Later>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut snapshot = asked.snapshot().await?;
    let now = snapshot.now();
    let window = asked.app().config.undo_window(true);
    let until = now + window;
    let person = &asked.person;
    let soon = leaving::list(&mut snapshot, person, List::Soon(until)).await?;
    let with_clock = |leaving: Leaving| {
        let clock = Clock::new(&asked, leaving.at, leaving.sends_at.unwrap_or(now));
        (leaving, clock)
    };
    let page = OutgoingPage {
        window: stop_time(&asked),
        person: person.id,
        soon: soon.into_iter().map(with_clock).collect(),
        on_its_way: leaving::list(&mut snapshot, person, List::OnItsWay).await?,
        failed: leaving::list(&mut snapshot, person, List::failed_lately(now)).await?,
        later: leaving::list(&mut snapshot, person, List::Later(until)).await?,
        choices: later::choices(&asked.times()),
        stopped: leaving::list(&mut snapshot, person, List::Stopped).await?,
        shell: Shell::load(&mut snapshot, &asked, Here::Outgoing).await?,
    };
    respond::page(&page)
}

impl OutgoingPage {
    /// Whom it goes to: the contact by name, unless it goes to somebody else.
    fn who(&self, row: &Leaving) -> String {
        let is_contact = |to: &&String| row.contact.email.as_ref() == Some(*to);
        let others: Vec<&str> = row.to.iter().filter(|to| !is_contact(to)).map(String::as_str).collect();
        match (row.to.is_empty() || others.len() < row.to.len(), others.as_slice()) {
            (true, []) => row.contact.called().to_owned(),
            (true, [other]) => format!("{}, {other}", row.contact.called()),
            (true, more) => format!("{} and {} others", row.contact.called(), more.len()),
            (false, []) => String::new(),
            (false, [one]) => (*one).to_owned(),
            (false, [one, more @ ..]) => format!("{one} and {} others", more.len()),
        }
    }

    /// When it is to leave, as the hidden field that says which time was shown. `field` has the same for a date and time
    /// input.
    fn shown(&self, row: &Leaving) -> i64 {
        row.sends_at.map_or(0, |at| at.timestamp_micros())
    }

    fn field(&self, row: &Leaving) -> String {
        row.sends_at.map(|at| later::field(&self.shell.times, &at)).unwrap_or_default()
    }

    /// Whether it is held, because an agent wrote it and agents are stopped.
    fn is_held(&self, row: &Leaving) -> bool {
        is_held(row.sends_at)
    }

    /// Whether the person who looks wrote and sent it.
    fn is_own(&self, row: &Leaving) -> bool {
        row.author == Author::Person(self.person) && row.is_composed && row.approved_by.is_none()
    }

    fn by_agent(&self, row: &Leaving) -> bool {
        !matches!(row.author, Author::Person(_))
    }

    fn is_empty(&self) -> bool {
        self.soon.is_empty()
            && self.on_its_way.is_empty()
            && self.failed.is_empty()
            && self.later.is_empty()
            && self.stopped.is_empty()
    }

    /// Why it could not be delivered.
    fn why(&self, row: &Leaving) -> String {
        match row.to.first().or(row.contact.email.as_ref()) {
            Some(address) => explain::failure(row.reason.as_deref().unwrap_or_default(), address),
            None => explain::failure("", ""),
        }
    }
}
