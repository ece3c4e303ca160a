//! How much an agent may write in a day of the workspace's zone: messages it sends by itself, drafts, and both together.
//! Owners and admins set it when a key is made or later; each change is in the audit log. It is counted in `days`.

use std::time::Duration;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use rookery_base::error::{Error, NO_AGENT, Problem, Result};
use rookery_base::ids::AgentId;
use rookery_base::store::db::Tx;

/// More in a day than its rate allows would be no cap.
pub const HIGHEST_CAP: i32 = 100_000;

/// What has no number has no limit of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Caps {
    /// Messages that leave with nobody's approval.
    #[serde(rename = "sendsADay")]
    pub sends: Option<i32>,
    /// Messages that wait for a person.
    #[serde(rename = "draftsADay")]
    pub drafts: Option<i32>,
    /// Both together.
    #[serde(rename = "messagesADay")]
    pub messages: Option<i32>,
}

/// What an agent has written on a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub sends: i32,
    pub drafts: i32,
}

impl Used {
    pub fn and(self, other: Self) -> Self {
        Self { sends: self.sends + other.sends, drafts: self.drafts + other.drafts }
    }
}

impl Caps {
    /// By the names that forms and refusals have for them.
    pub fn named(self) -> [(&'static str, Option<i32>); 3] {
        [("sends", self.sends), ("drafts", self.drafts), ("cap", self.messages)]
    }

    pub fn are_any(self) -> bool {
        self != Self::default()
    }

    pub fn check(self) -> Result<()> {
        let wrong = |cap: Option<i32>| cap.is_some_and(|cap| !(0..=HIGHEST_CAP).contains(&cap));
        let what = format!("must be a number from 0 to {HIGHEST_CAP}, or empty");
        let named = self.named().into_iter().filter(|(_, cap)| wrong(*cap));
        let problems: Vec<_> =
            named.map(|(field, _)| Problem { field: field.to_owned(), what: what.clone() }).collect();
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
    }

    /// What may still be written on a day.
    pub fn left(self, used: Used) -> Self {
        let left = |cap: Option<i32>, used: i32| cap.map(|cap| (cap - used).max(0));
        Self {
            sends: left(self.sends, used.sends),
            drafts: left(self.drafts, used.drafts),
            messages: left(self.messages, used.sends + used.drafts),
        }
    }

    /// Refuses a message that was counted already and is one too many.
    pub fn hold(self, used: Used, scheduled: bool, zone: &str, wait: TimeDelta) -> Result<()> {
        let over = |cap: Option<i32>, used: i32| cap.filter(|cap| used > *cap);
        let own = if scheduled {
            over(self.sends, used.sends).map(|cap| ("send", "message", cap))
        } else {
            over(self.drafts, used.drafts).map(|cap| ("write", "draft", cap))
        };
        let both = || over(self.messages, used.sends + used.drafts).map(|cap| ("write", "message", cap));
        match own.or_else(both) {
            Some((verb, what, cap)) => Err(enough(verb, what, cap, zone, wait)),
            None => Ok(()),
        }
    }
}

/// The 429 of an agent that has written enough today.
fn enough(verb: &str, what: &str, cap: i32, zone: &str, wait: TimeDelta) -> Error {
    let much = match cap {
        0 => format!("no {what}s"),
        1 => format!("one {what}"),
        many => format!("{many} {what}s"),
    };
    let sentence = format!(
        "Enough for today: this agent may {verb} {much} a day. The next day begins at midnight ({zone})."
    );
    let retry_after = wait.to_std().unwrap_or(Duration::from_secs(1));
    Error::SlowDown { sentence, retry_after }
}

/// How much an agent may write in a day from now on.
pub async fn set(tx: &mut Tx<'_>, by: &By, agent: AgentId, caps: Caps) -> Result<()> {
    caps.check()?;
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "with before as (select daily_sends, daily_drafts, daily_cap from agents
                         where workspace_id = $1 and id = $2 for no key update)
         update agents set daily_sends = $3, daily_drafts = $4, daily_cap = $5
         from before where workspace_id = $1 and id = $2
         returning name, before.daily_sends, before.daily_drafts, before.daily_cap",
        workspace,
        agent.0,
        caps.sends,
        caps.drafts,
        caps.messages
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_AGENT)?;
    let before = Caps { sends: row.daily_sends, drafts: row.daily_drafts, messages: row.daily_cap };
    if before == caps {
        return Ok(());
    }
    let data = changed(before, caps);
    audit::record(tx, by, Did::CapSet, Subject { id: &agent, name: &row.name }, data).await
}

fn changed(before: Caps, after: Caps) -> Value {
    let mut data = Map::new();
    if before.messages != after.messages {
        data.insert("before".into(), json!(before.messages));
        data.insert("after".into(), json!(after.messages));
    }
    for (name, before, after) in
        [("sends", before.sends, after.sends), ("drafts", before.drafts, after.drafts)]
    {
        if before != after {
            data.insert(name.into(), json!({ "before": before, "after": after }));
        }
    }
    Value::Object(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(caps: Caps, sends: i32, drafts: i32, scheduled: bool) -> Option<String> {
        let held = caps.hold(Used { sends, drafts }, scheduled, "UTC", TimeDelta::hours(1));
        held.err().map(|error| error.sentence())
    }

    #[test]
    fn each_limit_refuses_what_it_is_about_and_nothing_else() {
        let caps = Caps { sends: Some(1), drafts: Some(2), messages: None };
        assert_eq!(refusal(caps, 1, 9, true), None, "drafts do not stand against sending");
        assert_eq!(refusal(caps, 9, 2, false), None);
        assert_eq!(
            refusal(caps, 2, 0, true).unwrap(),
            "Enough for today: this agent may send one message a day. The next day begins at midnight (UTC)."
        );
        assert!(refusal(caps, 0, 3, false).unwrap().contains("may write 2 drafts a day"));
        let both = Caps { sends: Some(5), drafts: None, messages: Some(3) };
        assert!(refusal(both, 3, 1, true).unwrap().contains("may write 3 messages a day"));
        assert_eq!(
            both.left(Used { sends: 2, drafts: 2 }),
            Caps { sends: Some(3), drafts: None, messages: Some(0) }
        );
    }
}
