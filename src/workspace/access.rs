//! Who is asking, a key or a person, and what they can see (specification 5.5 to 5.8).
//!
//! Visibility is one value: the audiences an actor belongs to. Every query that reads a workspace's mail
//! takes them, so what an actor cannot see is not there for it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::ids::{AgentId, PersonId, WorkspaceId};
use crate::workspace::plan::Plan;

/// An audience that every key and person of the team belongs to.
pub const TEAM: i64 = 0;
/// The audience of test keys: the sandbox, and nothing else.
pub const SANDBOX: i64 = -1;

/// Whoever sees a part of a workspace.
pub trait Sees {
    fn workspace(&self) -> WorkspaceId;
    /// What they can see. Live and sandbox never mix.
    fn audiences(&self) -> Vec<i64>;
}

/// A person at work, who is on the team now. People never see the sandbox.
#[derive(Clone, Debug)]
pub struct Teammate {
    pub workspace: WorkspaceId,
    pub id: PersonId,
    pub name: String,
}

impl Teammate {
    pub fn by(&self) -> By {
        By::Person { id: self.id, name: self.name.clone() }
    }
}

impl Sees for Teammate {
    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn audiences(&self) -> Vec<i64> {
        vec![TEAM, self.id.0]
    }
}

/// An agent at work: the key of this request.
#[derive(Clone, Debug)]
pub struct Actor {
    pub workspace: WorkspaceId,
    pub agent: AgentId,
    pub name: String,
    pub scopes: Vec<Scope>,
    pub livemode: bool,
    pub plan: Plan,
    /// The key sees this person's private inboxes, and ends when they leave.
    pub maker: PersonId,
}

impl Sees for Actor {
    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn audiences(&self) -> Vec<i64> {
        match self.livemode {
            true => vec![TEAM, self.maker.0],
            false => vec![SANDBOX],
        }
    }
}

impl Actor {
    pub fn by(&self) -> By {
        By::Agent { id: self.agent, name: self.name.clone() }
    }

    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    pub fn needs(&self, scope: Scope) -> Result<()> {
        match self.has(scope) {
            true => Ok(()),
            false => Err(Error::Forbidden(format!("This key lacks the {scope} scope."))),
        }
    }
}

/// Who did something, as the timeline and events tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    Agent { id: AgentId, name: String },
    Person { id: PersonId, name: String },
    System,
}

impl By {
    pub fn name(&self) -> &str {
        match self {
            Self::Agent { name, .. } | Self::Person { name, .. } => name,
            Self::System => "System",
        }
    }
}

/// What a key may do, in the order they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Write,
    Draft,
    Send,
    Record,
}

impl Scope {
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Draft, Self::Send, Self::Record];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Draft => "draft",
            Self::Send => "send",
            Self::Record => "record",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.as_str() == text)
            .ok_or_else(|| "must be one of read, write, draft, send, record".to_owned())
    }
}
