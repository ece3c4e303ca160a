//! Choosing what a webhook hears of: every kind with its sentence, from the one list of kinds; or everything, also kinds
//! that are added later. Tests come whatever is chosen.

use crate::visit::FormFields;
use rookery_base::error::{Error, Result};
use rookery_core::events::event::Kind;

/// The value of the box that stands for all.
const ALL: &str = "all";

/// A box of the form.
pub struct EventChoice {
    pub name: &'static str,
    pub about: &'static str,
    pub chosen: bool,
}

/// All boxes; with none chosen everything is.
pub struct Choices {
    pub everything: bool,
    pub kinds: Vec<EventChoice>,
}

impl Choices {
    pub fn for_kinds(kinds: Option<&[String]>) -> Self {
        let chosen = |kind: &Kind| kinds.is_some_and(|kinds| kinds.iter().any(|name| name == kind.name()));
        let kinds_to_choose = Kind::ALL.iter().filter(|kind| **kind != Kind::WebhookTest);
        let choice =
            |kind: &Kind| EventChoice { name: kind.name(), about: kind.about(), chosen: chosen(kind) };
        Self { everything: kinds.is_none(), kinds: kinds_to_choose.map(choice).collect() }
    }
}

/// The kinds that a form names, for the verbs: none of them means all.
pub fn read(form: &FormFields) -> Result<Vec<String>> {
    let named: Vec<String> = form.all("e").map(str::to_owned).collect();
    if named.iter().any(|name| name == ALL) {
        return Ok(Vec::new());
    }
    if named.is_empty() {
        return Err(Error::problem("Events", "choose everything, or at least one kind"));
    }
    Ok(named)
}

/// The same, to show the form again as it was sent.
pub fn as_sent(form: &FormFields) -> Choices {
    let named: Vec<String> = form.all("e").map(str::to_owned).collect();
    Choices::for_kinds((!named.iter().any(|name| name == ALL)).then_some(&named))
}

/// `All events`, or the names.
pub fn words(kinds: Option<&[String]>) -> String {
    kinds.map_or_else(|| "All events".to_owned(), |kinds| kinds.join(", "))
}
