//! What an agent may write in a day, as people type and read it: on the form that makes a key, on the agent's page, and in
//! the lists.

use crate::settings::agents::chart;
use crate::visit::FormFields;
use rookery_core::workspace::agents::caps::{Caps, Used};

/// A limit on a form.
pub struct Limit {
    /// The name of its form field.
    pub name: &'static str,
    pub label: &'static str,
    /// The text of the field: the limit, or what was typed if something is wrong with it.
    pub typed: String,
    pub cap: Option<i32>,
    /// How many were written today.
    pub used: i32,
}

impl Limit {
    pub fn share(&self) -> i64 {
        chart::share(self.used.into(), self.cap.map_or(0, i64::from))
    }
}

const LABELS: [&str; 3] = ["Sent without approval", "Drafts", "Both together"];

pub fn with_usage(caps: Caps, used: Used) -> Vec<Limit> {
    let used = [used.sends, used.drafts, used.sends + used.drafts];
    let named = caps.named().into_iter().zip(LABELS).zip(used);
    named
        .map(|(((name, cap), label), used)| {
            let typed = cap.map(|cap| cap.to_string()).unwrap_or_default();
            Limit { name, label, typed, cap, used }
        })
        .collect()
}

/// Fills the fields with what was typed, valid or not.
pub fn keep_typed(limits: &mut [Limit], form: &FormFields) {
    for limit in limits {
        limit.typed = form.get(limit.name).unwrap_or_default().to_owned();
    }
}

/// The limits that a form holds. What is no number becomes -1, which is refused like any number that is too small.
pub fn read(form: &FormFields) -> Caps {
    let typed = |name| match form.get(name).unwrap_or_default().trim() {
        "" => None,
        some => Some(some.parse().unwrap_or(-1)),
    };
    let [sends, drafts, messages] = Caps::default().named().map(|(name, _)| typed(name));
    Caps { sends, drafts, messages }
}

/// `5 sends, 20 drafts, 22 in all`
pub fn in_words(caps: &Caps) -> Option<String> {
    let many = |count: i32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let parts = [
        caps.sends.map(|count| many(count, "send")),
        caps.drafts.map(|count| many(count, "draft")),
        caps.messages.map(|count| format!("{count} in all")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(in_words(&Caps::default()), None);
        let caps = Caps { sends: Some(0), drafts: Some(1), messages: Some(22) };
        assert_eq!(in_words(&caps).unwrap(), "0 sends, 1 draft, 22 in all");
    }
}
