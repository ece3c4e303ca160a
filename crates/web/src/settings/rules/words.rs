//! A rule in plain words: "Sender is **x**, subject contains **y** → tag **z**". Names that the reader may not know, such as
//! that of another person's private inbox, are left out.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::conversation::Member;
use rookery_core::conversations::inboxes::{self, CountedMailbox};
use rookery_core::conversations::team;
use rookery_core::rules::definition::{
    Action, Becomes, Condition, ConditionKind, Definition, Level, Trigger,
};
use rookery_core::workspace::access::MemberId;

/// Hours that a snooze is offered for, in words.
pub const SNOOZES: &[(u32, &str)] =
    &[(1, "an hour"), (4, "4 hours"), (24, "a day"), (72, "3 days"), (168, "a week"), (720, "30 days")];

/// Inboxes that the reader sees, and everybody who sees what the team sees.
pub struct Names {
    pub inboxes: Vec<CountedMailbox>,
    pub team: Vec<Member>,
}

impl Names {
    pub async fn load(conn: &mut PgConnection, asked: &MemberRequest) -> Result<Self> {
        Ok(Self {
            inboxes: inboxes::list(conn, &asked.person, asked.times().now).await?,
            team: team::everybody(conn, asked.person.workspace).await?,
        })
    }

    fn name_member(&self, member: MemberId) -> String {
        let known: HashMap<String, &str> =
            self.team.iter().map(|member| (member.id.to_string(), member.name.as_str())).collect();
        known.get(&member.to_string()).map_or("somebody who left", |name| name).to_owned()
    }
}

/// Words, and one that is shown bold.
pub struct Clause {
    pub words: &'static str,
    pub object: String,
}

fn clause(words: &'static str, object: impl Into<String>) -> Clause {
    Clause { words, object: object.into() }
}

/// The conditions of a rule, in words.
pub fn conditions(rule: &Definition, names: &Names) -> Vec<Clause> {
    let when = match &rule.when {
        Trigger::MailArrives => None,
        Trigger::TagSet { tag } => Some(clause("When tagged", tag.as_str())),
    };
    when.into_iter().chain(rule.conditions.iter().map(|one| condition(one, names))).collect()
}

fn condition(condition: &Condition, names: &Names) -> Clause {
    let is = condition.is;
    let either = |yes: &'static str, no: &'static str| if is { yes } else { no };
    match &condition.test {
        ConditionKind::Sender { like } => clause(either("Sender is", "Sender is not"), like.as_str()),
        ConditionKind::Subject { words } => {
            clause(either("Subject contains", "Subject does not contain"), words.join(" or "))
        }
        ConditionKind::Words { words } => {
            clause(either("Mail contains", "Mail does not contain"), words.join(" or "))
        }
        ConditionKind::Inbox { inbox } => {
            let known = names.inboxes.iter().find(|one| one.id == *inbox).map(|one| one.name.clone());
            clause(either("Inbox is", "Inbox is not"), known.unwrap_or_else(|| "one you cannot see".into()))
        }
        ConditionKind::Risk { at_least: Level::Some } => clause("Has", either("a risk", "no risk")),
        ConditionKind::Risk { at_least: Level::Held } => {
            clause(either("Is", "Is not"), "held as a likely scam")
        }
        ConditionKind::Attachment => clause("Has", either("an attachment", "no attachment")),
    }
}

/// The actions of a rule, in words.
pub fn actions(rule: &Definition, names: &Names) -> Vec<Clause> {
    rule.then.iter().map(|one| action(one, names)).collect()
}

pub fn action(action: &Action, names: &Names) -> Clause {
    match action {
        Action::Tag { tag } => clause("tag", tag.as_str()),
        Action::Assign { to } => clause("assign to", names.name_member(*to)),
        Action::Snooze { hours } => clause("snooze for", lasting(*hours)),
        Action::Status { status: Becomes::Open } => clause("set to", "open"),
        Action::Status { status: Becomes::Waiting } => clause("set to", "waiting"),
        Action::Status { status: Becomes::Closed } => clause("set to", "closed"),
        Action::Notify { person } => clause("tell", names.name_member(MemberId::Person(*person))),
    }
}

fn lasting(hours: u32) -> String {
    let offered = SNOOZES.iter().find(|(own, _)| *own == hours);
    offered.map_or_else(|| format!("{hours} hours"), |(_, words)| (*words).to_owned())
}
