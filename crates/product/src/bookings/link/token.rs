//! The short address of offered times: 42 bytes in 56 letters. It says whose it is, which type and conversation, until when and
//! perhaps which time, and ends with 128 bits that only this server can make of these and of the contact's address. Whatever
//! stands in it, reading it is no more than that: nobody is believed before `is_good`, and a time is only a wish.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};

use crate::bookings::schedule::Bookable;
use rookery_base::ids::{BookingTypeId, ConversationId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_base::secrets::secret::SecretKey;

const PURPOSE: &str = "times";
const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;
/// What comes before the last 128 bits.
const WORDS: usize = 26;
const BYTES: usize = WORDS + 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferToken {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    /// The lower half of the type's id, which tells the types of a workspace apart.
    pub type_end: u32,
    /// The last day in UTC, from 1970 on.
    until: u16,
    /// In minutes from 1970 on; 0 is none.
    at: u32,
    mark: [u8; 16],
}

/// What a link is made of.
pub struct OfferMade<'a> {
    pub bookable: &'a Bookable,
    pub conversation: ConversationId,
    pub email: &'a str,
    pub until: DateTime<Utc>,
    pub at: Option<DateTime<Utc>>,
}

impl OfferToken {
    pub fn make(key: &SecretKey, made: &OfferMade<'_>) -> Self {
        let minutes = made.at.map_or(0, |at| at.timestamp() / 60);
        let mut token = Self {
            workspace: made.bookable.workspace,
            conversation: made.conversation,
            type_end: type_end(made.bookable.id),
            until: u16::try_from(made.until.timestamp() / SECONDS_OF_A_DAY).unwrap_or_default(),
            at: u32::try_from(minutes).unwrap_or_default(),
            mark: [0; 16],
        };
        token.mark = link_tokens::short_token(key, PURPOSE, &token.is_of(made.bookable, made.email));
        token
    }

    /// None if it is no such text at all.
    pub fn read(text: &str) -> Option<Self> {
        let bytes: [u8; BYTES] = URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
        let (words, mark) = bytes.split_first_chunk::<WORDS>()?;
        let (workspace, rest) = words.split_first_chunk()?;
        let (conversation, rest) = rest.split_first_chunk()?;
        let (type_end, rest) = rest.split_first_chunk()?;
        let (until, at) = rest.split_first_chunk()?;
        let token = Self {
            workspace: WorkspaceId(i64::from_be_bytes(*workspace)),
            conversation: ConversationId(i64::from_be_bytes(*conversation)),
            type_end: u32::from_be_bytes(*type_end),
            until: u16::from_be_bytes(*until),
            at: u32::from_be_bytes(at.try_into().ok()?),
            mark: mark.try_into().ok()?,
        };
        // Ids are never below zero.
        (token.workspace.0 > 0 && token.conversation.0 > 0).then_some(token)
    }

    /// The time that was offered by this very link.
    pub fn at(&self) -> Option<DateTime<Utc>> {
        let chosen = DateTime::from_timestamp(i64::from(self.at) * 60, 0);
        chosen.filter(|_| self.at > 0)
    }

    /// Whether it was made by this server for the type and the address, and has not ended.
    pub fn is_good(&self, keys: &KeyRing, bookable: &Bookable, email: &str, now: DateTime<Utc>) -> bool {
        self.workspace == bookable.workspace
            && self.type_end == type_end(bookable.id)
            && (i64::from(self.until) + 1) * SECONDS_OF_A_DAY > now.timestamp()
            && link_tokens::is_our_short(keys, PURPOSE, &self.is_of(bookable, email), &self.mark)
    }

    /// The type with its whole id.
    fn is_of(&self, bookable: &Bookable, email: &str) -> String {
        let (workspace, conversation) = (self.workspace, self.conversation);
        format!("{workspace}/{}/{conversation}/{}/{}/{email}", bookable.id, self.until, self.at)
    }
}

impl fmt::Display for OfferToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(self.workspace.0.to_be_bytes());
        bytes.extend(self.conversation.0.to_be_bytes());
        bytes.extend(self.type_end.to_be_bytes());
        bytes.extend(self.until.to_be_bytes());
        bytes.extend(self.at.to_be_bytes());
        bytes.extend(self.mark);
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

fn type_end(id: BookingTypeId) -> u32 {
    (id.0 & i64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;
    use crate::bookings::free_times::Rules;
    use rookery_base::ids::MailboxId;

    fn bookable(id: i64) -> Bookable {
        let (none, rules) = (String::new, TimeDelta::minutes(30));
        Bookable {
            workspace: WorkspaceId(i64::MAX - 7),
            workspace_name: none(),
            workspace_slug: none(),
            id: BookingTypeId(id),
            slug: none(),
            name: none(),
            about: none(),
            place: none(),
            mailbox: MailboxId(1),
            rules: Rules {
                length: rules,
                step: rules,
                before: rules,
                after: rules,
                notice: rules,
                horizon: rules,
                daily_limit: None,
            },
            remind: None,
            questions: Vec::new(),
            embed_origins: Vec::new(),
            is_active: true,
        }
    }

    #[test]
    fn it_is_short_and_good_for_what_it_was_made_for_and_nothing_else() {
        let now: DateTime<Utc> = "2031-01-06T09:00:00Z".parse().unwrap();
        let (call, other) = (bookable((5 << 40) + 9), bookable((6 << 40) + 9));
        let made = OfferMade {
            bookable: &call,
            conversation: ConversationId(i64::MAX),
            email: "ada@customer.example",
            until: now + TimeDelta::days(30),
            at: Some(now + TimeDelta::days(1)),
        };
        let key = SecretKey([1; 32]);
        let text = OfferToken::make(&key, &made).to_string();
        assert_eq!(text.len(), 56);
        let token = OfferToken::read(&text).unwrap();
        assert_eq!((token.at(), token.type_end), (made.at, 9));
        let keys = KeyRing::from(key);
        assert!(token.is_good(&keys, &call, made.email, now + TimeDelta::days(30)));
        assert!(!token.is_good(&keys, &call, made.email, now + TimeDelta::days(31)), "it has ended");
        assert!(!token.is_good(&keys, &call, "eve@customer.example", now), "another's address");
        assert!(!token.is_good(&keys, &other, made.email, now), "only the ends of the ids are the same");
        assert!(!token.is_good(&KeyRing::from(SecretKey([2; 32])), &call, made.email, now), "another server");
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for place in 0..BYTES {
            let mut altered = bytes.clone();
            altered[place] ^= 1;
            let read = OfferToken::read(&URL_SAFE_NO_PAD.encode(altered));
            assert!(!read.is_some_and(|token| token.is_good(&keys, &call, made.email, now)), "{place}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_the_same_and_nothing_panics(text in "[A-Za-z0-9_-]{56}|.{0,60}") {
            if let Some(token) = OfferToken::read(&text) {
                prop_assert_eq!(token.to_string(), text);
                let _ = token.at();
            }
        }
    }
}
