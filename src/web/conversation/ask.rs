//! A request for documents on the timeline: a card under the words of its message, with what was asked for, until when, and
//! what came so far.

use crate::documents::items::{Item, ItemState};
use crate::documents::progress::{Progress, RequestState};
use crate::web::show::Times;

pub struct AskCard {
    pub came: usize,
    pub of: usize,
    pub lines: Vec<AskLine>,
    pub due: Option<String>,
    /// The day is over and something that is needed is missing.
    pub is_late: bool,
    /// What became of it, when it is not simply open.
    pub state: Option<&'static str>,
}

pub struct AskLine {
    pub label: String,
    pub description: Option<String>,
    pub is_optional: bool,
    pub class: &'static str,
    pub icon: &'static str,
    pub state: &'static str,
}

impl AskCard {
    pub fn of(progress: Progress, times: &Times) -> Self {
        let today = times.now.date_naive();
        let is_open = progress.state == RequestState::Open;
        let is_missing = progress.items.iter().any(|(item, state)| item.required && state.is_missing());
        Self {
            came: progress.came(),
            of: progress.items.len(),
            due: progress.due.map(|due| times.day(due)),
            is_late: is_open && is_missing && progress.due.is_some_and(|due| due < today),
            state: match progress.state {
                RequestState::Draft => Some("Asked when this leaves"),
                RequestState::Open => None,
                RequestState::Completed => Some("Complete"),
                RequestState::Cancelled => Some("Cancelled"),
                RequestState::Expired => Some("Ended"),
            },
            lines: progress.items.into_iter().map(|(item, state)| line(item, state)).collect(),
        }
    }
}

fn line(item: Item, state: ItemState) -> AskLine {
    let (class, icon, state) = match state {
        ItemState::Open => ("", "circle", "not yet"),
        ItemState::Received => ("is-in", "circle-dot", "came, to be looked at"),
        ItemState::Accepted => ("is-in", "circle-check", "accepted"),
        ItemState::Ticked => ("is-in", "circle-check", "ticked off"),
        ItemState::Refused => ("is-bad", "circle-x", "will not do, asked again"),
    };
    let is_optional = !item.required;
    AskLine { label: item.label, description: item.description, is_optional, class, icon, state }
}
