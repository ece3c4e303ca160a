//! Ids: 63-bit numbers in time order, written as a prefix and 13 base-36 characters (specification 2.1).
//!
//! 41 bits of milliseconds since 2020 and 22 random bits, unique within a workspace: a node never draws a number
//! twice, and nodes differ by chance. Ids are not secrets. A text with another prefix or length is not an id.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::random::Random;

const EPOCH_MILLISECONDS: i64 = 1_577_836_800_000;
const RANDOM_BITS: u32 = 22;
const DIGITS: usize = 13;
/// Numbers at the end of a millisecond that are not drawn at random, so that a burst can count up within it.
const HEADROOM: u64 = 1 << 16;

/// What all kinds of id share.
pub trait Id: Copy + Sized {
    const PREFIX: &'static str;
    fn from_number(number: i64) -> Self;
    fn number(self) -> i64;

    fn mint(now: DateTime<Utc>, random: &Random) -> Self {
        let milliseconds = (now.timestamp_millis() - EPOCH_MILLISECONDS).clamp(1, (1 << 41) - 1);
        let noise = random.number() % ((1 << RANDOM_BITS) - HEADROOM);
        Self::from_number(random.rising(milliseconds << RANDOM_BITS | noise as i64))
    }
}

/// The lowest number an id of this moment can have.
pub fn lowest_at(moment: DateTime<Utc>) -> i64 {
    (moment.timestamp_millis() - EPOCH_MILLISECONDS).clamp(0, (1 << 41) - 1) << RANDOM_BITS
}

/// The lowest number an id of this day can have.
pub fn lowest_on(day: NaiveDate) -> i64 {
    lowest_at(day.and_time(NaiveTime::MIN).and_utc())
}

/// When an id was made.
pub fn made_at(number: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis((number >> RANDOM_BITS) + EPOCH_MILLISECONDS).unwrap_or_default()
}

/// The text does not name anything of this kind.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct NotAnId;

fn write(prefix: &str, number: i64) -> String {
    let mut digits = [b'0'; DIGITS];
    let mut rest = number as u64;
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
        rest /= 36;
    }
    let mut text = String::with_capacity(prefix.len() + DIGITS);
    text.push_str(prefix);
    text.extend(digits.iter().map(|digit| *digit as char));
    text
}

fn read(prefix: &str, text: &str) -> Result<i64, NotAnId> {
    let digits = text.strip_prefix(prefix).ok_or(NotAnId)?;
    let lower = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    if digits.len() != DIGITS || !digits.bytes().all(lower) {
        return Err(NotAnId);
    }
    i64::from_str_radix(digits, 36).map_err(|_| NotAnId)
}

macro_rules! ids {
    ($($name:ident $prefix:literal)*) => {$(
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
        #[sqlx(transparent)]
        pub struct $name(pub i64);

        impl Id for $name {
            const PREFIX: &'static str = $prefix;
            fn from_number(number: i64) -> Self { Self(number) }
            fn number(self) -> i64 { self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&write($prefix, self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> { read($prefix, text).map(Self) }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": concat!("^", $prefix, "[0-9a-z]+$") })
            }
        }
    )*};
}

ids! {
    AgentCallId "acl_"
    AgentId "agt_"
    AnsweredId "ans_"
    BookingId "bkg_"
    BookingTypeId "bkt_"
    BusySourceId "cal_"
    BulkJobId "blk_"
    ContactId "ctc_"
    ConversationId "cnv_"
    DeliveryId "dlv_"
    DocumentId "doc_"
    DocumentListId "dls_"
    DocumentRequestId "req_"
    DraftFileId "dfl_"
    DraftId "dft_"
    ErasureId "ers_"
    EventId "evt_"
    ExportId "exp_"
    HoldId "hld_"
    InvitationId "inv_"
    MailboxId "mbx_"
    MessageId "msg_"
    NoteId "not_"
    NoticeId "ntc_"
    PasskeyId "psk_"
    PersonId "usr_"
    RequestFileId "rqf_"
    RequestItemId "itm_"
    RuleId "rul_"
    SavedReplyId "srp_"
    SavedViewId "svw_"
    SecureFileId "sfl_"
    SecureVisitId "svt_"
    SendingServiceId "svc_"
    ServiceReportId "srt_"
    SessionId "ses_"
    SignatureFileId "sgf_"
    SuppressionChangeId "sch_"
    TagId "tag_"
    WebhookId "whk_"
    WorkspaceId "wsp_"
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_from_its_text(number in 0..=i64::MAX) {
            let id = ConversationId(number);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.to_string().len(), "cnv_".len() + DIGITS);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".*") {
            let _ = text.parse::<ConversationId>();
        }
    }

    #[test]
    fn another_kind_another_length_or_another_case_is_not_an_id() {
        let text = ConversationId(7).to_string();
        assert_eq!(text.replace("cnv_", "msg_").parse::<ConversationId>(), Err(NotAnId));
        assert_eq!(text[..text.len() - 1].parse::<ConversationId>(), Err(NotAnId));
        assert_eq!("cnv_000000000000A".parse::<ConversationId>(), Err(NotAnId));
        assert_eq!("cnv_zzzzzzzzzzzzz".parse::<ConversationId>(), Err(NotAnId));
        assert_eq!("cnv_+00000000000a".parse::<ConversationId>(), Err(NotAnId));
    }

    /// proves: GEN-4
    #[test]
    fn every_kind_has_the_prefix_of_the_specification() {
        let prefixes = [
            (AgentId::PREFIX, AgentId(1).to_string()),
            (PersonId::PREFIX, PersonId(1).to_string()),
            (ConversationId::PREFIX, ConversationId(1).to_string()),
            (MessageId::PREFIX, MessageId(1).to_string()),
            (NoteId::PREFIX, NoteId(1).to_string()),
            (MailboxId::PREFIX, MailboxId(1).to_string()),
            (TagId::PREFIX, TagId(1).to_string()),
            (DocumentId::PREFIX, DocumentId(1).to_string()),
            (DocumentRequestId::PREFIX, DocumentRequestId(1).to_string()),
            (EventId::PREFIX, EventId(1).to_string()),
            (WorkspaceId::PREFIX, WorkspaceId(1).to_string()),
            (WebhookId::PREFIX, WebhookId(1).to_string()),
            (BookingId::PREFIX, BookingId(1).to_string()),
            (BookingTypeId::PREFIX, BookingTypeId(1).to_string()),
        ];
        let specified = "agt_ usr_ cnv_ msg_ not_ mbx_ tag_ doc_ req_ evt_ wsp_ whk_ bkg_ bkt_";
        let ours: Vec<&str> = prefixes.iter().map(|(prefix, _)| *prefix).collect();
        assert_eq!(ours, specified.split(' ').collect::<Vec<_>>());
        for (prefix, written) in prefixes {
            assert_eq!(written, format!("{prefix}0000000000001"));
        }
    }

    #[test]
    fn one_node_never_draws_an_id_twice() {
        let random = Random::seeded(1);
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        // By chance alone, a hundred thousand in one millisecond would meet more than a thousand times.
        let drawn: Vec<MessageId> = (0..100_000).map(|_| MessageId::mint(now, &random)).collect();
        assert!(drawn.is_sorted_by(|earlier, later| earlier < later));
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let random = Random::seeded(1);
        let start = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let earlier = MessageId::mint(start, &random);
        let later = MessageId::mint(start + TimeDelta::milliseconds(1), &random);
        assert!(earlier < later && earlier.to_string() < later.to_string());
    }
}
