//! The topics of a workspace: the usual ten, or its own. A topic is a short name in small letters, which stands in the API,
//! and a hint that says what belongs there; models read it.

use serde::{Deserialize, Serialize};

use rookery_base::error::{Error, Result};
use rookery_reading::text;

/// Of a workspace.
pub const MOST: usize = 30;
const LONGEST_NAME: usize = 40;
const LONGEST_HINT: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortingTopic {
    pub name: String,
    pub hint: String,
}

const USUAL: &[(&str, &str)] = &[
    ("billing", "invoices, charges and payments: wrong amount, failed payment, copy of an invoice"),
    ("refund", "money back, returning or exchanging goods, withdrawing from a purchase"),
    ("order", "state of an order or delivery: where it is, late, missing parts, change or cancel it"),
    ("complaint", "dissatisfied with service, staff or quality, and no other wish is greater"),
    ("technical", "something does not work: an error, a fault, a repair"),
    ("account", "signing in, contact data, ending a subscription or contract, privacy"),
    ("appointment", "making, moving or cancelling a meeting, visit or booking"),
    ("documents", "sends or asks for papers that are not an invoice to be paid"),
    ("sales", "before buying: price, offer, availability, what a product can do"),
    ("other", "none of these: thanks, applications, press, newsletters"),
];

pub fn usual() -> Vec<SortingTopic> {
    USUAL
        .iter()
        .map(|(name, hint)| SortingTopic { name: (*name).to_owned(), hint: (*hint).to_owned() })
        .collect()
}

/// As people type them: one a line, with a colon before the hint. Nothing means the usual ones.
pub fn read(typed: &str) -> Result<Option<Vec<SortingTopic>>> {
    let mut topics: Vec<SortingTopic> = Vec::new();
    for line in typed.lines().map(text::line).filter(|line| !line.is_empty()) {
        let (name, hint) = line.split_once(':').unwrap_or((line.as_str(), ""));
        let (name, hint) = (name.trim().to_lowercase(), hint.trim().to_owned());
        if name.is_empty() || name.chars().count() > LONGEST_NAME || hint.chars().count() > LONGEST_HINT {
            return Err(Error::problem(
                "topics",
                format!(
                    "each line needs a name of 1 to {LONGEST_NAME} letters, a colon and a hint of up to {LONGEST_HINT}"
                ),
            ));
        }
        if topics.iter().any(|topic| topic.name == name) {
            return Err(Error::problem("topics", "names a topic twice"));
        }
        topics.push(SortingTopic { name, hint });
    }
    if topics.len() > MOST {
        return Err(Error::problem("topics", format!("must be at most {MOST} lines")));
    }
    Ok(Some(topics).filter(|topics| !topics.is_empty() && *topics != usual()))
}

/// As they are typed.
pub fn written(topics: &[SortingTopic]) -> String {
    let line = |topic: &SortingTopic| match topic.hint.as_str() {
        "" => topic.name.clone(),
        hint => format!("{}: {hint}", topic.name),
    };
    topics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_read_back_as_they_are_shown() {
        assert_eq!(read(&written(&usual())).unwrap(), None, "the usual ones are no choice of one's own");
        let own = read("Deposit: money kept until somebody moves out\n\nViewing").unwrap().unwrap();
        assert_eq!(own[0].name, "deposit");
        assert_eq!(read(&written(&own)).unwrap().unwrap(), own);
        assert!(read("a\nA").is_err() && read(&"x".repeat(41)).is_err() && read(":hint").is_err());
        assert_eq!(read(" \n").unwrap(), None);
    }
}
