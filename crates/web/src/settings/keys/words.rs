//! What a key may do, in words: for the form that makes one, and in short for the list.
//! The names of scopes stay as developers know them.

use rookery_core::workspace::access::Scope;

/// A scope on the form.
pub struct ScopeChoice {
    pub scope: &'static str,
    pub name: &'static str,
    pub why: String,
    /// It reaches people outside with nobody's approval.
    pub reaches_customers: bool,
    pub ticked: bool,
    /// Every key has it.
    pub fixed: bool,
}

pub fn choices(ticked: &[Scope], stop_time: &str) -> Vec<ScopeChoice> {
    Scope::ALL
        .into_iter()
        .map(|scope| {
            let (name, why) = match scope {
                Scope::Read => (
                    "Read",
                    "List and read conversations, notes, tags, inboxes and documents. Always included.".to_owned(),
                ),
                Scope::Write => (
                    "Write",
                    "Add notes, change the status, tag and assign. The customer sees none of it.".to_owned(),
                ),
                Scope::Draft => (
                    "Draft",
                    "Write replies and document requests. Each waits until a person approves it.".to_owned(),
                ),
                Scope::Send => (
                    "Send",
                    format!(
                        "Send replies without approval. They’re sent after {stop_time}; until then, anyone on the team can stop them."
                    ),
                ),
                Scope::Record => (
                    "Record app mail",
                    "Report which email your app sent, so replies find their conversation.".to_owned(),
                ),
                Scope::Webhooks => (
                    "Manage webhooks",
                    "Make webhooks, pause them, read their log: for your backend only; don’t give this to an AI model. They receive only what the key can see, and end with it.".to_owned(),
                ),
            };
            ScopeChoice {
                scope: scope.as_str(),
                name,
                why,
                reaches_customers: scope == Scope::Send,
                ticked: scope == Scope::Read || ticked.contains(&scope),
                fixed: scope == Scope::Read,
            }
        })
        .collect()
}

/// `Read, write and draft`; sending comes apart, because it reaches customers.
pub fn may(scopes: &[Scope]) -> String {
    let words: Vec<&str> = scopes
        .iter()
        .filter_map(|scope| match scope {
            Scope::Read => Some("read"),
            Scope::Write => Some("write"),
            Scope::Draft => Some("draft"),
            Scope::Record => Some("record app mail"),
            Scope::Webhooks => Some("manage webhooks"),
            Scope::Send => None,
        })
        .collect();
    let joined = match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    };
    let mut letters = joined.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

pub fn sends(scopes: &[Scope]) -> bool {
    scopes.contains(&Scope::Send)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_may_do_is_a_sentence() {
        assert_eq!(may(&[Scope::Read]), "Read");
        assert_eq!(may(&Scope::ALL), "Read, write, draft, record app mail and manage webhooks");
        assert!(sends(&Scope::ALL) && !sends(&[Scope::Read, Scope::Draft]));
    }
}
