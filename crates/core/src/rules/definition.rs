//! What a rule is made of: a trigger, conditions that must all hold, and actions. The page, the table and the engine use
//! these very types; the table has them as JSON. No rule can send mail.
//!
//! Everything is bounded, so that what all rules of a workspace cost a mail is bounded too.

use serde::{Deserialize, Serialize};

use crate::workspace::access::MemberId;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{MailboxId, PersonId};
use rookery_reading::text;

/// Rules of a workspace.
pub const MOST_RULES: usize = 100;
pub const MOST_CONDITIONS: usize = 6;
pub const MOST_ACTIONS: usize = 6;
/// Words of one condition, and characters of a value.
pub const MOST_WORDS: usize = 10;
pub const LONGEST_VALUE: usize = 200;
pub const LONGEST_NAME: usize = 60;
/// Characters of a tag (conversations/tags.rs has the same).
pub const LONGEST_TAG: usize = 40;
/// A year.
const LONGEST_SNOOZE: u32 = 366 * 24;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    pub when: Trigger,
    #[serde(rename = "if")]
    pub conditions: Vec<Condition>,
    pub then: Vec<Action>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Trigger {
    MailArrives,
    /// Somebody or another rule puts this tag on a conversation.
    TagSet {
        tag: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// False for "is not".
    pub is: bool,
    #[serde(flatten)]
    pub test: ConditionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ConditionKind {
    /// An address, or a domain with everything below it.
    Sender {
        like: String,
    },
    /// One of these stands in it.
    Subject {
        words: Vec<String>,
    },
    /// One of these stands in what the sender wrote, or in the subject.
    Words {
        words: Vec<String>,
    },
    Inbox {
        #[serde(with = "as_text")]
        inbox: MailboxId,
    },
    Risk {
        at_least: Level,
    },
    Attachment,
}

/// How much of a risk was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Something is suspicious.
    Some,
    /// Held as a likely scam.
    Held,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Action {
    Tag {
        tag: String,
    },
    Assign {
        #[serde(with = "as_text")]
        to: MemberId,
    },
    Snooze {
        hours: u32,
    },
    Status {
        status: Becomes,
    },
    /// In the app and by mail, as they chose.
    Notify {
        #[serde(with = "as_text")]
        person: PersonId,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Becomes {
    Open,
    Waiting,
    Closed,
}

impl Trigger {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MailArrives => "mail-arrives",
            Self::TagSet { .. } => "tag-set",
        }
    }
}

impl ConditionKind {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sender { .. } => "sender",
            Self::Subject { .. } => "subject",
            Self::Words { .. } => "words",
            Self::Inbox { .. } => "inbox",
            Self::Risk { .. } => "risk",
            Self::Attachment => "attachment",
        }
    }
}

impl Action {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tag { .. } => "tag",
            Self::Assign { .. } => "assign",
            Self::Snooze { .. } => "snooze",
            Self::Status { .. } => "status",
            Self::Notify { .. } => "notify",
        }
    }
}

impl Definition {
    /// As it is stored: one spelling of everything, and nothing that is empty, too long or too many.
    pub fn checked(self) -> Result<Self> {
        let mut problems = Vec::new();
        let mut wrong = |field: String, what: &str| problems.push(Problem { field, what: what.to_owned() });
        let Self { when, conditions, then } = self;
        let when = match when {
            Trigger::TagSet { tag } => {
                let tag = text::line(&tag);
                if let Some(what) = of_tag(&tag) {
                    wrong("Tag".into(), what);
                }
                Trigger::TagSet { tag }
            }
            Trigger::MailArrives => Trigger::MailArrives,
        };
        if conditions.len() > MOST_CONDITIONS {
            wrong("If".into(), "has too many conditions");
        }
        let mut tests = Vec::new();
        for (number, condition) in conditions.into_iter().enumerate() {
            let test = condition.test.spelled();
            if let Some(what) = test.problem() {
                wrong(format!("Condition {}", number + 1), what);
            }
            tests.push(Condition { is: condition.is, test });
        }
        if then.is_empty() {
            wrong("Then".into(), "needs at least one action");
        }
        if then.len() > MOST_ACTIONS {
            wrong("Then".into(), "has too many actions");
        }
        let mut actions = Vec::new();
        for (number, action) in then.into_iter().enumerate() {
            let action = match action {
                Action::Tag { tag } => Action::Tag { tag: text::line(&tag) },
                other => other,
            };
            let what = match &action {
                Action::Tag { tag } => of_tag(tag),
                Action::Snooze { hours } if *hours == 0 || *hours > LONGEST_SNOOZE => {
                    Some("must snooze for an hour to a year")
                }
                _ => None,
            };
            if let Some(what) = what {
                wrong(format!("Action {}", number + 1), what);
            }
            actions.push(action);
        }
        if problems.is_empty() {
            Ok(Self { when, conditions: tests, then: actions })
        } else {
            Err(Error::Problems(problems))
        }
    }

    /// People it gives work to or tells.
    pub fn people(&self) -> impl Iterator<Item = PersonId> {
        self.then.iter().filter_map(|action| match action {
            Action::Assign { to: MemberId::Person(person) } | Action::Notify { person } => Some(*person),
            _ => None,
        })
    }

    pub fn members(&self) -> impl Iterator<Item = MemberId> {
        self.then.iter().filter_map(|action| match action {
            Action::Assign { to } => Some(*to),
            Action::Notify { person } => Some(MemberId::Person(*person)),
            _ => None,
        })
    }

    pub fn inboxes(&self) -> impl Iterator<Item = MailboxId> {
        self.conditions.iter().filter_map(|condition| match condition.test {
            ConditionKind::Inbox { inbox } => Some(inbox),
            _ => None,
        })
    }
}

impl ConditionKind {
    fn spelled(self) -> Self {
        let words = |words: Vec<String>| -> Vec<String> {
            words.iter().map(|word| text::line(word)).filter(|word| !word.is_empty()).collect()
        };
        match self {
            Self::Sender { like } => {
                let like = text::line(&like).to_lowercase();
                Self::Sender { like: like.strip_prefix('@').unwrap_or(&like).to_owned() }
            }
            Self::Subject { words: given } => Self::Subject { words: words(given) },
            Self::Words { words: given } => Self::Words { words: words(given) },
            other => other,
        }
    }

    fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Sender { like } if like.is_empty() => Some("needs an address or a domain"),
            Self::Sender { like } if like.contains(char::is_whitespace) || !like.contains('.') => {
                Some("must be one address or one domain, such as anna@example.com or example.com")
            }
            Self::Sender { like } if like.chars().count() > LONGEST_VALUE => Some("is too long"),
            Self::Subject { words } | Self::Words { words } => match words {
                words if words.is_empty() => Some("needs a word to look for"),
                words if words.len() > MOST_WORDS => Some("can look for ten words at most"),
                words if words.iter().any(|word| word.chars().count() > LONGEST_VALUE) => Some("is too long"),
                _ => None,
            },
            _ => None,
        }
    }
}

fn of_tag(tag: &str) -> Option<&'static str> {
    match tag.chars().count() {
        0 => Some("needs the name of a tag"),
        length if length > LONGEST_TAG => Some("must be at most 40 characters"),
        _ => None,
    }
}

/// Ids as their texts.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(id: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom("no such id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(conditions: Vec<Condition>, then: Vec<Action>) -> Definition {
        Definition { when: Trigger::MailArrives, conditions, then }
    }

    #[test]
    fn a_rule_reads_back_from_its_json() {
        let condition = |is, test| Condition { is, test };
        let all = Definition {
            when: Trigger::TagSet { tag: "vip".into() },
            conditions: vec![
                condition(true, ConditionKind::Sender { like: "x.example".into() }),
                condition(false, ConditionKind::Subject { words: vec!["a, b".into()] }),
                condition(true, ConditionKind::Words { words: vec!["c".into()] }),
                condition(true, ConditionKind::Inbox { inbox: MailboxId(7) }),
                condition(false, ConditionKind::Risk { at_least: Level::Held }),
                condition(true, ConditionKind::Attachment),
            ],
            then: vec![
                Action::Tag { tag: "t".into() },
                Action::Assign { to: MemberId::Person(PersonId(3)) },
                Action::Snooze { hours: 24 },
                Action::Status { status: Becomes::Closed },
                Action::Notify { person: PersonId(3) },
            ],
        };
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!(json["if"][3]["inbox"], MailboxId(7).to_string());
        assert_eq!(serde_json::from_value::<Definition>(json).unwrap(), all);
        assert!(
            serde_json::from_str::<Definition>(r#"{"when":{"kind":"full-moon"},"if":[],"then":[]}"#).is_err()
        );
    }

    #[test]
    fn what_is_empty_long_or_too_much_is_refused_with_its_place() {
        let is = |test| Condition { is: true, test };
        let tag = |tag: &str| Action::Tag { tag: tag.into() };
        let told = |rule: Definition| rule.checked().err().map(|error| error.sentence()).unwrap_or_default();
        assert_eq!(told(rule(vec![], vec![])), "Then: needs at least one action");
        assert_eq!(told(rule(vec![], vec![tag("  ")])), "Action 1: needs the name of a tag");
        assert_eq!(told(rule(vec![], vec![tag(&"x".repeat(41))])), "Action 1: must be at most 40 characters");
        assert_eq!(
            told(rule(vec![], vec![Action::Snooze { hours: 0 }])),
            "Action 1: must snooze for an hour to a year"
        );
        let words = |n: usize| is(ConditionKind::Words { words: vec!["w".into(); n] });
        assert_eq!(told(rule(vec![words(0)], vec![tag("a")])), "Condition 1: needs a word to look for");
        assert_eq!(
            told(rule(vec![words(11)], vec![tag("a")])),
            "Condition 1: can look for ten words at most"
        );
        assert_eq!(told(rule(vec![words(1); 7], vec![tag("a")])), "If: has too many conditions");
        for bad in ["", "no-dot", "two words.example"] {
            let sender = is(ConditionKind::Sender { like: bad.into() });
            assert!(told(rule(vec![sender], vec![tag("a")])).starts_with("Condition 1: "), "{bad}");
        }
        let sender = is(ConditionKind::Sender { like: " @Customer.Example ".into() });
        let kept = rule(vec![sender], vec![tag(" a  b ")]).checked().unwrap();
        assert_eq!(kept.conditions[0].test, ConditionKind::Sender { like: "customer.example".into() });
        assert_eq!(kept.then, [tag("a b")]);
    }
}
