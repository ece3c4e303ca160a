//! A row of a list as it is shown: who wrote, and the signals beside the subject.
//! The most pressing signal comes first, because a narrow row cuts the last.

use std::ops::Deref;

use crate::conversations::status::Status;
use crate::conversations::views::rows::Row;
use crate::web::show::Times;

pub struct Item(pub Row);

/// A signal: icon and words.
pub struct Chip {
    /// The end of its class: `risk`, `warn`, `agent`, or nothing.
    pub kind: &'static str,
    pub icon: &'static str,
    pub text: String,
}

impl Deref for Item {
    type Target = Row;
    fn deref(&self) -> &Row {
        &self.0
    }
}

impl Item {
    pub fn who(&self) -> &str {
        let named = self.contact.name.as_deref().filter(|name| !name.trim().is_empty());
        named.or(self.contact.email.as_deref()).unwrap_or("Somebody who was erased")
    }

    /// `mixed` lists have conversations of every status, so each tells its own.
    pub fn chips(&self, times: &Times, mixed: bool) -> Vec<Chip> {
        let mut chips = Vec::new();
        let mut chip = |kind, icon, text: String| chips.push(Chip { kind, icon, text });
        if let Some(risk) = &self.risk {
            let risk = in_words(risk);
            let text = if self.held { format!("Held: {}", risk.to_lowercase()) } else { risk };
            chip("risk", "shield-alert", text);
        }
        if self.failed {
            chip("risk", "circle-alert", "Not sent".into());
        }
        if self.to_approve {
            chip("agent", "bot", "Draft to approve".into());
        }
        if self.urgency.as_deref() == Some("high") {
            chip("warn", "flame", "Urgent".into());
        }
        if let Some(until) = &self.snoozed_until {
            chip("", "alarm-clock", times.brief(until));
        } else if mixed {
            match self.status {
                Status::Open => {}
                Status::Waiting => chip("", "hourglass", "Waiting".into()),
                Status::Closed => chip("", "archive", "Closed".into()),
            }
        }
        chips
    }
}

/// `payment_fraud` as people read it.
fn in_words(label: &str) -> String {
    let words = label.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_words() {
        assert_eq!(
            ["phishing", "payment_fraud", "", "été"].map(in_words),
            ["Phishing", "Payment fraud", "", "Été"]
        );
    }
}
