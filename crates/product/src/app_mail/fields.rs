//! Parses the Message-ID and the recipients of an app's mail into their stored form (D172, D174, D177). Invalid
//! text gives `None`.

use rookery_core::workspace::people::an_address;

pub const MOST_RECIPIENTS: usize = 50;
pub const LONGEST_SUBJECT: usize = 998;
const LONGEST_ID: usize = 998;
/// Error for a text that is not a Message-ID.
pub const NOT_AN_ID: &str = "must be a Message-ID such as a1b2@app.example";

/// A Message-ID without surrounding white space and angle brackets, otherwise unchanged.
pub fn message_id(text: &str) -> Option<String> {
    let id = text.trim();
    let id = id.strip_prefix('<').unwrap_or(id);
    let id = id.strip_suffix('>').unwrap_or(id);
    let strange = |letter: char| letter.is_whitespace() || letter.is_control() || "<>".contains(letter);
    let sound = id.chars().count() <= LONGEST_ID
        && !id.contains(strange)
        && id
            .split_once('@')
            .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    sound.then(|| id.to_owned())
}

/// The address of `a@b.example` or `Name <a@b.example>`, in lower case.
pub fn recipient(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = match text.strip_suffix('>') {
        Some(named) => named.rsplit_once('<')?.1,
        None => text,
    };
    an_address("to", inner).ok()
}

/// Each recipient once.
pub fn each_once(mut recipients: Vec<String>) -> Vec<String> {
    recipients.sort();
    recipients.dedup();
    recipients
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_the_same_with_and_without_brackets() {
        for text in ["A1@app.example", " <A1@app.example> ", "<A1@app.example", "A1@app.example>"] {
            assert_eq!(message_id(text).as_deref(), Some("A1@app.example"), "{text}");
        }
        for text in [
            "",
            "<>",
            "a1",
            "@b",
            "a@",
            "a@b@c",
            "a b@c",
            "a\0@b",
            "<<a@b>>",
            &format!("a@{}", "b".repeat(997)),
        ] {
            assert_eq!(message_id(text), None, "{text}");
        }
    }

    #[test]
    fn a_recipient_is_an_address_bare_or_behind_a_name() {
        assert_eq!(recipient("Ada <ADA@b.example>").as_deref(), Some("ada@b.example"));
        assert_eq!(recipient(" ada@b.example ").as_deref(), Some("ada@b.example"));
        assert_eq!((recipient("ada"), recipient("Ada ada@b.example>")), (None, None));
    }
}
