//! An entry of the audit log as a sentence, and what was recorded beside it.
//! That is JSON of ours, but holds what people typed.

use serde_json::Value;

use rookery_core::workspace::audit::{AuditEntry, Did};

/// Letters of the details that are shown; the CSV has all.
const MOST: usize = 240;

/// `made the key`
pub fn did(entry: &AuditEntry) -> &str {
    // A kind of a newer version is told by its name.
    match Did::named(&entry.did) {
        Some(did) => did.words(),
        None => &entry.did,
    }
}

/// `scopes: read, draft · livemode: yes`
pub fn details(entry: &AuditEntry) -> String {
    let Ok(Value::Object(data)) = serde_json::from_str(&entry.data) else { return String::new() };
    let parts: Vec<String> =
        data.iter().filter_map(|(name, value)| Some(format!("{}: {}", apart(name), plain(value)?))).collect();
    let all = parts.join(" · ");
    match all.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &all[..at]),
        None => all,
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) if all.is_empty() => None,
        Value::Array(all) => Some(all.iter().filter_map(plain).collect::<Vec<_>>().join(", ")),
        Value::Object(all) if all.is_empty() => None,
        Value::Object(all) => {
            let parts =
                all.iter().filter_map(|(name, value)| Some(format!("{} {}", apart(name), plain(value)?)));
            Some(parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `keepDays` is `keep days`.
fn apart(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_data(data: &str) -> String {
        details(&AuditEntry {
            n: 1,
            at: chrono::DateTime::UNIX_EPOCH,
            actor: String::new(),
            actor_name: String::new(),
            did: String::new(),
            subject: String::new(),
            subject_name: String::new(),
            data: data.to_owned(),
        })
    }

    #[test]
    fn details_are_read_out_and_what_is_empty_is_left_out() {
        assert_eq!(
            describe_data(r#"{"scopes":["read","draft"],"isLive":true,"to":null}"#),
            "scopes: read, draft · is live: yes"
        );
        assert_eq!(describe_data(r#"{"name":{"from":"a","to":"b"},"none":[]}"#), "name: from a, to b");
        assert_eq!(describe_data("not json"), "");
        assert_eq!(describe_data(&format!(r#"{{"a":"{}"}}"#, "ä".repeat(500))).chars().count(), MOST + 1);
    }
}
