//! What can change on a page, and who may hear of it. A topic has one form for the browser, which page authors write
//! into `data-live`, and a shorter one between nodes.

use std::fmt;
use std::str::FromStr;

use crate::ids::{ConversationId, NotAnId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LiveTopic {
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

impl LiveTopic {
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
pub struct TopicChange {
    pub audience: i64,
    pub topic: LiveTopic,
}

impl TopicChange {
    /// No person sees the sandbox, so nobody is told of it.
    pub fn is_for_people(self) -> bool {
        self.audience >= 0
    }
}

impl fmt::Display for TopicChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.audience)?;
        match self.topic {
            LiveTopic::Conversation(id) => write!(f, "c{}", id.0),
            LiveTopic::List => f.write_str("l"),
            LiveTopic::Counts => f.write_str("n"),
            LiveTopic::Messages => f.write_str("m"),
            LiveTopic::Presence(id) => write!(f, "p{}", id.0),
            LiveTopic::Notices => f.write_str("t"),
            LiveTopic::Agents => f.write_str("a"),
            LiveTopic::Rights => f.write_str("r"),
        }
    }
}

impl FromStr for TopicChange {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (audience, topic) = text.split_once(' ').ok_or(NotAnId)?;
        let id = |digits: &str| digits.parse().map(ConversationId).map_err(|_| NotAnId);
        let topic = match topic.split_at_checked(1).ok_or(NotAnId)? {
            ("c", digits) => LiveTopic::Conversation(id(digits)?),
            ("l", "") => LiveTopic::List,
            ("n", "") => LiveTopic::Counts,
            ("m", "") => LiveTopic::Messages,
            ("p", digits) => LiveTopic::Presence(id(digits)?),
            ("t", "") => LiveTopic::Notices,
            ("a", "") => LiveTopic::Agents,
            ("r", "") => LiveTopic::Rights,
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
            LiveTopic::Conversation(id),
            LiveTopic::List,
            LiveTopic::Counts,
            LiveTopic::Messages,
            LiveTopic::Presence(id),
            LiveTopic::Notices,
            LiveTopic::Agents,
            LiveTopic::Rights,
        ] {
            let change = TopicChange { audience: 5, topic };
            assert_eq!(change.to_string().parse(), Ok(change));
        }
        for nonsense in ["", "5", "5 ", "5 x", "5 cx", "x l", "5 lx", "5 é"] {
            assert_eq!(nonsense.parse::<TopicChange>(), Err(NotAnId), "{nonsense}");
        }
    }
}
