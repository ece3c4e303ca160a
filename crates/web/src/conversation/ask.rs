//! A request for documents on the timeline: a card under the words of its message, with what was asked for, until when, what
//! came so far, and what a person can make of it.

use crate::show::Times;
use rookery_base::ids::{DocumentId, DocumentRequestId, RequestItemId};
use rookery_product::documents::items::ItemState;
use rookery_product::documents::progress::{ItemProgress, RequestProgress, RequestState};

pub struct AskCard {
    pub id: DocumentRequestId,
    pub came: usize,
    pub of: usize,
    pub lines: Vec<AskLine>,
    pub due: Option<String>,
    /// The day is over and something that is needed is missing.
    pub is_late: bool,
    /// What became of it, when it is not simply open.
    pub state: Option<&'static str>,
    /// It can be given more time, or cancelled.
    pub can_change: bool,
}

pub struct AskLine {
    pub id: RequestItemId,
    pub label: String,
    pub description: Option<String>,
    pub is_optional: bool,
    pub class: &'static str,
    pub icon: &'static str,
    pub state: &'static str,
    pub files: Vec<(DocumentId, String)>,
    /// What a person can say of it: the decision, and what its button says.
    pub acts: Vec<(&'static str, &'static str)>,
    /// What came can be refused.
    pub can_ask_again: bool,
}

impl AskCard {
    pub fn from_progress(progress: RequestProgress, times: &Times) -> Self {
        let today = times.now.date_naive();
        let is_open = progress.state == RequestState::Open;
        let is_missing = progress.items.iter().any(|line| line.item.required && line.state.is_missing());
        let can_decide = !matches!(progress.state, RequestState::Draft | RequestState::Cancelled);
        Self {
            id: progress.id,
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
            can_change: can_decide,
            lines: progress.items.into_iter().map(|own| line(own, can_decide)).collect(),
        }
    }
}

fn line(line: ItemProgress, can_decide: bool) -> AskLine {
    let (class, icon, state) = match line.state {
        ItemState::Open => ("", "circle", "not yet"),
        ItemState::Received => ("is-in", "circle-dot", "came, to be looked at"),
        ItemState::Accepted => ("is-in", "circle-check", "accepted"),
        ItemState::Ticked => ("is-in", "circle-check", "ticked off"),
        ItemState::Refused => ("is-bad", "circle-x", "will not do, asked again"),
    };
    let acts: &[(&str, &str)] = match line.state {
        _ if !can_decide => &[],
        ItemState::Open => &[("tick", "Tick off")],
        ItemState::Received => &[("accept", "Accept")],
        ItemState::Accepted | ItemState::Ticked => &[("back", "Take back")],
        ItemState::Refused => &[("accept", "Accept it after all"), ("tick", "Tick off")],
    };
    AskLine {
        id: line.id,
        is_optional: !line.item.required,
        label: line.item.label,
        description: line.item.description,
        class,
        icon,
        state,
        acts: acts.to_vec(),
        can_ask_again: can_decide && matches!(line.state, ItemState::Received | ItemState::Accepted),
        files: line.files.into_iter().map(|file| (file.document, file.filename)).collect(),
    }
}
