//! What can change on a page, and who may hear of it. A topic has one form for the browser, which page authors write
//! into `data-live`, and a shorter one between nodes.

use std::fmt;
use std::str::FromStr;

use crate::ids::{ConversationId, NotAnId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Something of a conversation: it is in lists and counts too.
    Conversation(ConversationId),
    /// Which conversations there are, or which are unread.
    List,
    Counts,
    /// What is about to leave, and what waits for approval.
    Messages,
    /// Who is looking at a conversation or writing in it.
    Presence(ConversationId),
    /// What a person is told of.
    Notices,
    /// Whether agents are stopped, and what of theirs is held.
    Agents,
    /// A person's sessions or rights: their streams end, and come back through the door.
    Rights,
}

impl Topic {
    /// As pages name them. A page asks again for every region that has one of these words.
    pub fn words(self) -> Vec<String> {
        match self {
            Self::Conversation(id) => vec![format!("conversation:{id}"), "list".into(), "counts".into()],
            Self::List => vec!["list".into()],
            Self::Counts => vec!["counts".into()],
            Self::Messages => vec!["outgoing".into(), "approvals".into(), "counts".into()],
            Self::Presence(id) => vec![format!("presence:{id}"), "presence".into()],
            Self::Notices => vec!["notices".into()],
            Self::Agents => vec!["agents".into(), "outgoing".into(), "counts".into()],
            Self::Rights => vec![],
        }
    }
}

/// A topic, and whose it is: 0 for the team, else the one person who may hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    pub audience: i64,
    pub topic: Topic,
}

impl Change {
    /// No person sees the sandbox, so nobody is told of it.
    pub fn is_for_people(self) -> bool {
        self.audience >= 0
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.audience)?;
        match self.topic {
            Topic::Conversation(id) => write!(f, "c{}", id.0),
            Topic::List => f.write_str("l"),
            Topic::Counts => f.write_str("n"),
            Topic::Messages => f.write_str("m"),
            Topic::Presence(id) => write!(f, "p{}", id.0),
            Topic::Notices => f.write_str("t"),
            Topic::Agents => f.write_str("a"),
            Topic::Rights => f.write_str("r"),
        }
    }
}

impl FromStr for Change {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (audience, topic) = text.split_once(' ').ok_or(NotAnId)?;
        let id = |digits: &str| digits.parse().map(ConversationId).map_err(|_| NotAnId);
        let topic = match topic.split_at_checked(1).ok_or(NotAnId)? {
            ("c", digits) => Topic::Conversation(id(digits)?),
            ("l", "") => Topic::List,
            ("n", "") => Topic::Counts,
            ("m", "") => Topic::Messages,
            ("p", digits) => Topic::Presence(id(digits)?),
            ("t", "") => Topic::Notices,
            ("a", "") => Topic::Agents,
            ("r", "") => Topic::Rights,
            _ => return Err(NotAnId),
        };
        Ok(Self { audience: audience.parse().map_err(|_| NotAnId)?, topic })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_reads_back_from_what_other_nodes_get() {
        let id = ConversationId(77);
        for topic in [
            Topic::Conversation(id),
            Topic::List,
            Topic::Counts,
            Topic::Messages,
            Topic::Presence(id),
            Topic::Notices,
            Topic::Agents,
            Topic::Rights,
        ] {
            let change = Change { audience: 5, topic };
            assert_eq!(change.to_string().parse(), Ok(change));
        }
        for nonsense in ["", "5", "5 ", "5 x", "5 cx", "x l", "5 lx", "5 é"] {
            assert_eq!(nonsense.parse::<Change>(), Err(NotAnId), "{nonsense}");
        }
    }
}
