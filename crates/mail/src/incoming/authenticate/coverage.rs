//! Which parts of a mail a DKIM signature covers (RFC 6376 5.4.2). Each time `h=` lists a name, one more field of
//! that name is signed, from the last one up. A name listed less often than it occurs leaves room for an added
//! field, so it counts as not covered. Signatures over a part of the body (`l=`) are refused by `mail-auth`.

use serde::{Deserialize, Serialize};

/// A part of a mail that decides where it is filed or who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailPart {
    /// The envelope recipient. No signature covers it.
    Envelope,
    InReplyTo,
    References,
    To,
    Cc,
}

impl MailPart {
    pub const ALL: [Self; 5] = [Self::Envelope, Self::InReplyTo, Self::References, Self::To, Self::Cc];

    fn field(self) -> Option<&'static str> {
        match self {
            Self::Envelope => None,
            Self::InReplyTo => Some("in-reply-to"),
            Self::References => Some("references"),
            Self::To => Some("to"),
            Self::Cc => Some("cc"),
        }
    }
}

/// `fields` are the names of all fields of the header.
pub(super) fn covered<'h>(
    fields: impl Iterator<Item = &'h [u8]> + Clone,
    signed: &[String],
) -> Vec<MailPart> {
    let is_covered = |part: &MailPart| {
        let Some(name) = part.field() else { return false };
        let named = |field: &[u8]| field.eq_ignore_ascii_case(name.as_bytes());
        let there = fields.clone().filter(|field| named(field.trim_ascii())).count();
        // A name with white space is another name to the verifier of a signature.
        let exact = fields.clone().filter(|field| named(field)).count();
        let listed = signed.iter().filter(|field| named(field.trim().as_bytes())).count();
        there == exact && listed >= there
    };
    MailPart::ALL.into_iter().filter(is_covered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_covered_only_if_no_second_one_could_have_been_added() {
        for (names, listed, is_covered) in [
            (&["From", "In-Reply-To"][..], &["from", "in-reply-to"][..], true),
            (&["From", "IN-REPLY-TO"], &["from", "In-Reply-To"], true),
            (&["From", "In-Reply-To"], &["from"], false),
            (&["In-Reply-To", "From", "In-Reply-To"], &["from", "in-reply-to"], false),
            (&["In-Reply-To", "From", "In-Reply-To"], &["from", "in-reply-to", "in-reply-to"], true),
            (&["From", "In-Reply-To"], &["from", "in-reply-to", "in-reply-to"], true),
            (&["From", "In-Reply-To "], &["from", "in-reply-to"], false),
            (&["From"], &["from"], true),
        ] {
            let listed: Vec<String> = listed.iter().map(ToString::to_string).collect();
            let covered = covered(names.iter().map(|name| name.as_bytes()), &listed);
            assert_eq!(covered.contains(&MailPart::InReplyTo), is_covered, "{names:?} {listed:?}");
            assert!(!covered.contains(&MailPart::Envelope));
        }
    }
}
