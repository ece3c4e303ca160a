//! Who acts, an agent or a person, what they can see and what they may do (specification 5.4 to 5.8).
//!
//! Visibility is one value: the audiences an actor belongs to. Every query that reads a workspace's mail
//! takes them, so what an actor cannot see is not there for it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{AgentId, NotAnId, PersonId, WorkspaceId};

/// An audience that every key and person of the team belongs to.
pub const TEAM: i64 = 0;
/// The audience of test keys: the sandbox, and nothing else.
pub const SANDBOX: i64 = -1;

/// Whoever acts in a workspace, a person (people.rs) or an agent (keys.rs): what it sees, what it may do and what it
/// is called. Every verb that reads, lists or changes something for somebody takes one.
#[derive(Clone, Debug)]
pub struct Actor {
    pub workspace: WorkspaceId,
    /// Who it is to `assignee` and to the author of a message.
    pub member: MemberId,
    /// As timelines, notes and events call it.
    pub name: String,
    /// What it may do. A person's role says what they may do beside mail.
    pub scopes: Vec<Scope>,
    /// False in the sandbox. People are never there.
    pub livemode: bool,
    /// It sees the private inboxes of this person: a person's own, a key's maker's.
    pub private_of: PersonId,
}

impl Actor {
    /// What it can see. Live and sandbox never mix.
    pub fn audiences(&self) -> Vec<i64> {
        if self.livemode { vec![TEAM, self.private_of.0] } else { vec![SANDBOX] }
    }

    /// The same on the other side of the wall: what test keys see and do, and nothing live.
    pub fn in_sandbox(&self) -> Self {
        Self { livemode: false, ..self.clone() }
    }

    pub fn by(&self) -> By {
        let name = self.name.clone();
        match self.member {
            MemberId::Person(id) => By::Person { id, name },
            MemberId::Agent(id) => By::Agent { id, name },
        }
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    pub fn needs(&self, scope: Scope) -> Result<()> {
        match (self.has(scope), self.member) {
            (true, _) => Ok(()),
            (false, MemberId::Agent(_)) => {
                Err(Error::Forbidden(format!("This key lacks the {scope} scope.")))
            }
            (false, MemberId::Person(_)) => {
                Err(Error::Forbidden(format!("Only keys have the {scope} scope.")))
            }
        }
    }
}

/// A person or an agent by its id: whom a conversation can be given to, and who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberId {
    Person(PersonId),
    Agent(AgentId),
}

impl MemberId {
    /// From the columns that hold a kind and an id.
    pub fn stored(kind: Option<&str>, id: i64) -> Option<Self> {
        match kind? {
            "user" => Some(Self::Person(PersonId(id))),
            _ => Some(Self::Agent(AgentId(id))),
        }
    }

    /// As those columns have it.
    pub fn columns(self) -> (&'static str, i64) {
        match self {
            Self::Person(id) => ("user", id.0),
            Self::Agent(id) => ("agent", id.0),
        }
    }
}

/// As `team` names them and assigning takes them.
impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => write!(f, "user:{id}"),
            Self::Agent(id) => write!(f, "agent:{id}"),
        }
    }
}

impl FromStr for MemberId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.split_once(':') {
            Some(("user", id)) => id.parse().map(Self::Person),
            Some(("agent", id)) => id.parse().map(Self::Agent),
            _ => Err(NotAnId),
        }
    }
}

/// Who did something, as the timeline and events tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    Agent {
        id: AgentId,
        name: String,
    },
    Person {
        id: PersonId,
        name: String,
    },
    /// A rule of the workspace. The name says that it is one.
    Rule {
        name: String,
    },
    System,
}

impl By {
    pub fn rule(name: &str) -> Self {
        Self::Rule { name: format!("Rule “{name}”") }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Agent { name, .. } | Self::Person { name, .. } | Self::Rule { name } => name,
            Self::System => "System",
        }
    }
}

/// What a new agent usually needs: it works on mail, and people decide what leaves.
pub const USUAL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Draft];

rookery_base::text_enum! {
    /// What a key may do, in the order they are listed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Scope {
        Read = "read",
        Write = "write",
        Draft = "draft",
        Send = "send",
        Record = "record",
        Webhooks = "webhooks",
    }
}

impl Scope {
    /// What everybody on the team may do with mail.
    pub const OF_PEOPLE: [Self; 4] = [Self::Read, Self::Write, Self::Draft, Self::Send];
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::named(text)
            .ok_or_else(|| "must be one of read, write, draft, send, record, webhooks".to_owned())
    }
}
