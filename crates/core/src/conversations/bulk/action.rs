//! What a job does to a conversation, and how that is taken back. It calls the verbs that single changes call: a rule
//! of one is a rule of many.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::conversations::assign::{self, To};
use crate::conversations::conversation::{Conversation, Locked};
use crate::conversations::ruled::tagging;
use crate::conversations::status::Status;
use crate::conversations::unread::SeenTo;
use crate::conversations::{snooze, tags, transitions, unread};
use crate::workspace::access::MemberId;
use crate::workspace::people::Person;
use rookery_base::clock::written;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Tx;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Close,
    /// Also brings back what is snoozed.
    Open,
    Waiting,
    Assign(MemberId),
    Unassign,
    Tag(String),
    Untag(String),
    Snooze(DateTime<Utc>),
    /// Read by the person who asks, and by nobody else.
    Read,
}

/// What a change may have to restore.
#[derive(Debug, Serialize, Deserialize)]
pub struct Before {
    status: String,
    snoozed_until: Option<DateTime<Utc>>,
    assignee: Option<String>,
    /// Of the person who asks.
    #[serde(default)]
    seen_to: Option<SeenTo>,
    /// When the change was made. The version before this one did not write it down.
    #[serde(default)]
    pub changed_at: Option<DateTime<Utc>>,
}

impl Before {
    pub async fn capture(tx: &mut Tx<'_>, conversation: &Conversation, person: &Person) -> Result<Self> {
        Ok(Self {
            status: conversation.status.as_str().to_owned(),
            snoozed_until: conversation.snoozed_until,
            assignee: conversation.assignee.as_ref().map(|member| member.id.to_string()),
            seen_to: unread::kept(tx, person, conversation).await?,
            changed_at: Some(tx.now()),
        })
    }

    fn status(&self) -> Status {
        match self.status.as_str() {
            "closed" => Status::Closed,
            "waiting" => Status::Waiting,
            _ => Status::Open,
        }
    }
}

impl Action {
    /// Puts a name on, as it will be stored.
    pub fn tag(name: &str) -> Result<Self> {
        Ok(Self::Tag(a_tag(name)?))
    }

    pub fn untag(name: &str) -> Result<Self> {
        Ok(Self::Untag(a_tag(name)?))
    }

    /// Its name and its argument, as rows have them.
    pub fn columns(&self) -> (&'static str, String) {
        let none = String::new();
        match self {
            Self::Close => ("close", none),
            Self::Open => ("open", none),
            Self::Waiting => ("waiting", none),
            Self::Assign(member) => ("assign", member.to_string()),
            Self::Unassign => ("unassign", none),
            Self::Tag(name) => ("tag", name.clone()),
            Self::Untag(name) => ("untag", name.clone()),
            Self::Snooze(until) => ("snooze", written(*until)),
            Self::Read => ("read", none),
        }
    }

    pub fn stored(name: &str, argument: &str) -> Result<Self> {
        let unknown = || Error::internal(format!("a job has the unknown action {name}"));
        Ok(match name {
            "close" => Self::Close,
            "open" => Self::Open,
            "waiting" => Self::Waiting,
            "assign" => Self::Assign(argument.parse().map_err(|_| unknown())?),
            "unassign" => Self::Unassign,
            "tag" => Self::Tag(argument.to_owned()),
            "untag" => Self::Untag(argument.to_owned()),
            "snooze" => Self::Snooze(argument.parse().map_err(|_| unknown())?),
            "read" => Self::Read,
            _ => return Err(unknown()),
        })
    }

    /// Whether there is anything to do.
    pub async fn changes(
        &self,
        tx: &mut Tx<'_>,
        conversation: &Conversation,
        person: &Person,
    ) -> Result<bool> {
        let has = |name| conversation.tags.iter().any(|tag| tags::is_same(tag, name));
        Ok(match self {
            Self::Close => conversation.status != Status::Closed,
            Self::Open => conversation.status != Status::Open || conversation.snoozed_until.is_some(),
            Self::Waiting => conversation.status != Status::Waiting,
            Self::Assign(member) => conversation.assignee.as_ref().map(|held| held.id) != Some(*member),
            Self::Unassign => conversation.assignee.is_some(),
            Self::Tag(name) => !has(name),
            Self::Untag(name) => has(name),
            Self::Snooze(until) => conversation.snoozed_until != Some(*until),
            Self::Read => {
                let now = tx.now();
                !unread::among(tx, person, now, &[conversation.id.0]).await?.is_empty()
            }
        })
    }

    pub async fn apply(&self, tx: &mut Tx<'_>, conversation: &Locked, person: &Person) -> Result<()> {
        match self {
            Self::Close => transitions::set_status(tx, conversation, person, Status::Closed).await,
            Self::Open if conversation.snoozed_until.is_some() => {
                snooze::wake(tx, conversation, person).await
            }
            Self::Open => transitions::set_status(tx, conversation, person, Status::Open).await,
            Self::Waiting => transitions::set_status(tx, conversation, person, Status::Waiting).await,
            Self::Assign(member) => assign::assign(tx, conversation, person, To::Member(*member)).await,
            Self::Unassign => assign::assign(tx, conversation, person, To::Nobody).await,
            Self::Tag(name) => {
                tagging::change(tx, conversation, person, std::slice::from_ref(name), &[]).await
            }
            Self::Untag(name) => {
                tagging::change(tx, conversation, person, &[], std::slice::from_ref(name)).await
            }
            Self::Snooze(until) => snooze::until(tx, conversation, person, *until).await,
            Self::Read => unread::seen(tx, person, conversation).await,
        }
    }

    /// Makes it as it was, on a conversation that nothing happened to since.
    pub async fn take_back(
        &self,
        tx: &mut Tx<'_>,
        conversation: &Locked,
        person: &Person,
        before: &Before,
    ) -> Result<()> {
        match self {
            Self::Close | Self::Open | Self::Waiting | Self::Snooze(_) => {
                transitions::undo(tx, conversation, person, before.status(), before.snoozed_until).await
            }
            Self::Assign(_) | Self::Unassign => {
                let to = match &before.assignee {
                    Some(member) => To::Member(member.parse().map_err(|_| assign::not_on_the_team())?),
                    None => To::Nobody,
                };
                assign::assign(tx, conversation, person, to).await
            }
            Self::Tag(name) => tags::change(tx, conversation, person, &[], std::slice::from_ref(name)).await,
            Self::Untag(name) => {
                tags::change(tx, conversation, person, std::slice::from_ref(name), &[]).await
            }
            Self::Read => unread::restore(tx, person, conversation, before.seen_to.as_ref()).await,
        }
    }
}

fn a_tag(name: &str) -> Result<String> {
    let name = tags::spelling(name);
    match name.chars().count() {
        0 => Err(Error::problem("tag", "is required")),
        length if length > tags::LONGEST_NAME => {
            Err(Error::problem("tag", format!("must be at most {} characters", tags::LONGEST_NAME)))
        }
        _ => Ok(name),
    }
}
