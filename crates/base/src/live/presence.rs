//! Who is looking at a conversation or writing in it: a hint that ends by itself after half a minute. It is kept in
//! memory, on every node, and never in a table.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::{ConversationId, NotAnId, PersonId, WorkspaceId};

/// Whoever is not heard of for this long is gone.
pub const LASTS: TimeDelta = TimeDelta::seconds(30);
/// Limits of what is remembered: people on one conversation, and conversations.
const MOST_OF_ONE: usize = 20;
const MOST: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    Writing,
    Looking,
    Gone,
}

/// Somebody says what they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    pub conversation: ConversationId,
    /// The conversation's: whoever cannot see it is not told who looks at it.
    pub audience: i64,
    pub person: PersonId,
    pub doing: Doing,
    pub name: String,
}

/// Between nodes.
impl fmt::Display for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = match self.doing {
            Doing::Writing => 'w',
            Doing::Looking => 'l',
            Doing::Gone => 'g',
        };
        let Self { conversation, audience, person, name, .. } = self;
        write!(f, "{audience} h{} {} {doing} {name}", conversation.0, person.0)
    }
}

impl FromStr for Here {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let mut parts = text.splitn(5, ' ');
        let mut part = || parts.next().ok_or(NotAnId);
        let number = |digits: &str| digits.parse::<i64>().map_err(|_| NotAnId);
        Ok(Self {
            audience: number(part()?)?,
            conversation: ConversationId(number(part()?.strip_prefix('h').ok_or(NotAnId)?)?),
            person: PersonId(number(part()?)?),
            doing: match part()? {
                "w" => Doing::Writing,
                "l" => Doing::Looking,
                "g" => Doing::Gone,
                _ => return Err(NotAnId),
            },
            name: part()?.to_owned(),
        })
    }
}

/// By workspace, so that a page walks only what is its own.
#[derive(Default)]
pub struct Board {
    of: HashMap<WorkspaceId, HashMap<ConversationId, Vec<PresenceEntry>>>,
    conversations: usize,
}

struct PresenceEntry {
    here: Here,
    until: DateTime<Utc>,
}

impl Board {
    /// True when it is news, and not only a sign that somebody is still there.
    pub fn note(&mut self, workspace: WorkspaceId, here: Here, now: DateTime<Utc>) -> bool {
        if here.doing == Doing::Gone {
            return self.leave(workspace, &here);
        }
        let place = here.conversation;
        let is_known = self.of.get(&workspace).is_some_and(|own| own.contains_key(&place));
        if !is_known && self.conversations >= MOST {
            return false;
        }
        self.conversations += usize::from(!is_known);
        let there = self.of.entry(workspace).or_default().entry(place).or_default();
        let (until, is_full) = (now + LASTS, there.len() >= MOST_OF_ONE);
        match there.iter_mut().find(|other| other.here.person == here.person) {
            Some(known) => {
                let is_news = known.here != here;
                *known = PresenceEntry { here, until };
                is_news
            }
            None if is_full => false,
            None => {
                there.push(PresenceEntry { here, until });
                true
            }
        }
    }

    /// True when they were there.
    fn leave(&mut self, workspace: WorkspaceId, here: &Here) -> bool {
        let Some(own) = self.of.get_mut(&workspace) else { return false };
        let Some(there) = own.get_mut(&here.conversation) else { return false };
        let before = there.len();
        there.retain(|other| other.here.person != here.person);
        let left = there.len() < before;
        if there.is_empty() {
            own.remove(&here.conversation);
            self.conversations -= 1;
        }
        if own.is_empty() {
            self.of.remove(&workspace);
        }
        left
    }

    /// Who is where, in everything that the given audiences can see.
    pub fn everywhere(&self, workspace: WorkspaceId, audiences: &[i64], now: DateTime<Utc>) -> Vec<Here> {
        let there = self.of.get(&workspace).into_iter().flat_map(HashMap::values).flatten();
        let there = there.filter(|entry| entry.until > now && audiences.contains(&entry.here.audience));
        there.map(|entry| entry.here.clone()).collect()
    }

    /// Forgets whoever was not heard of any more, and says where.
    pub fn expire(&mut self, now: DateTime<Utc>) -> Vec<(WorkspaceId, ConversationId, i64)> {
        let mut left = Vec::new();
        for (workspace, own) in &mut self.of {
            own.retain(|conversation, there| {
                let audience = there.first().map_or(0, |entry| entry.here.audience);
                let before = there.len();
                there.retain(|entry| entry.until > now);
                if there.len() < before {
                    left.push((*workspace, *conversation, audience));
                }
                !there.is_empty()
            });
        }
        self.of.retain(|_, own| !own.is_empty());
        self.conversations = self.of.values().map(HashMap::len).sum();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(person: i64, doing: Doing) -> Here {
        Here {
            conversation: ConversationId(7),
            audience: 0,
            person: PersonId(person),
            doing,
            name: "Ada van der Berg".into(),
        }
    }

    #[test]
    fn what_somebody_does_reads_back_from_what_other_nodes_get() {
        for doing in [Doing::Looking, Doing::Writing, Doing::Gone] {
            assert_eq!(here(3, doing).to_string().parse(), Ok(here(3, doing)));
        }
        for nonsense in ["", "0 h7", "0 h7 3 x Ada", "0 7 3 l Ada", "0 h7 3 l"] {
            assert_eq!(nonsense.parse::<Here>(), Err(NotAnId), "{nonsense}");
        }
    }

    #[test]
    fn a_sign_of_life_is_no_news_and_silence_ends_it() {
        let (mut board, workspace) = (Board::default(), WorkspaceId(1));
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let later = now + TimeDelta::seconds(20);
        assert!(board.note(workspace, here(3, Doing::Looking), now));
        assert!(!board.note(workspace, here(3, Doing::Looking), later));
        assert!(board.note(workspace, here(4, Doing::Writing), later));
        let names = |board: &Board, now| board.everywhere(workspace, &[0], now).len();
        assert_eq!(names(&board, later), 2);
        assert!(board.everywhere(WorkspaceId(2), &[0], later).is_empty());
        assert!(board.everywhere(workspace, &[9], later).is_empty(), "not theirs to see");
        assert!(board.note(workspace, here(4, Doing::Gone), later));
        assert!(board.expire(now + LASTS).is_empty(), "heard of since");
        assert_eq!(board.expire(later + LASTS), [(workspace, ConversationId(7), 0)]);
        assert!(board.expire(later + LASTS).is_empty());
        assert_eq!(names(&board, later), 0);
    }

    #[test]
    fn there_is_room_for_so_many_conversations_and_for_others_when_they_are_left() {
        let (mut board, now) = (Board::default(), DateTime::from_timestamp(1_900_000_000, 0).unwrap());
        let at = |number: usize, doing| {
            let conversation = ConversationId(number as i64);
            (WorkspaceId((number % 3) as i64), Here { conversation, ..here(3, doing) })
        };
        let mut note = |number, doing| {
            let (workspace, here) = at(number, doing);
            board.note(workspace, here, now)
        };
        assert!((0..MOST).all(|number| note(number, Doing::Looking)));
        assert!(!note(MOST, Doing::Looking), "it is full");
        assert!(note(5, Doing::Writing), "who is known goes on");
        assert!(note(5, Doing::Gone) && !note(5, Doing::Gone));
        assert!(note(MOST, Doing::Looking) && !note(MOST + 1, Doing::Looking));
        board.expire(now + LASTS);
        assert!(board.of.is_empty() && board.conversations == 0);
    }

    #[test]
    fn a_crowd_takes_no_more_than_its_share() {
        let (mut board, now) = (Board::default(), DateTime::from_timestamp(1_900_000_000, 0).unwrap());
        for person in 0..100 {
            board.note(WorkspaceId(1), here(person, Doing::Looking), now);
        }
        assert_eq!(board.everywhere(WorkspaceId(1), &[0], now).len(), MOST_OF_ONE);
    }
}
