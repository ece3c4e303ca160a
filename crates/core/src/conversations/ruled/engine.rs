//! Runs the rules of a workspace in the transaction of the mail or of the tag. Each rule runs once in a chain at most, so
//! nothing goes round: a tag that a rule sets is heard by other rules, which are that far from the start at most.
//!
//! Rules never keep mail from being stored. One that names what is gone is passed over; if anything else fails, what all of
//! them did is taken back and the mail is stored without it.

use std::collections::HashSet;

use chrono::TimeDelta;
use serde_json::json;

use crate::conversations::assign::give;
use crate::conversations::conversation::{Locked, Member};
use crate::conversations::lock::lock_any;
use crate::conversations::messages::inbound::{Inbound, Stored};
use crate::conversations::status::Status;
use crate::conversations::transitions::{self, apply};
use crate::conversations::{notifications, tags, team, timeline};
use crate::rules::broken::{self, Gone};
use crate::rules::definition::{Action, Becomes, Definition, Level};
use crate::rules::matching::{Facts, LOOKED_AT, RuleOccasion, Seen};
use crate::rules::runs;
use crate::rules::store::{self, Rule};
use crate::workspace::access::{By, MemberId};
use crate::workspace::mailboxes::Mailbox;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, RuleId};
use rookery_base::store::db::Tx;

/// How far a chain goes: mail, the tag a rule sets, the tag another rule sets because of that.
const DEEPEST: usize = 3;
/// Rules that act in one chain.
const MOST_ACTING: usize = 20;

/// Mail was stored just now. The sandbox has no rules: what an app tests there must not depend on them.
pub async fn on_mail(
    tx: &mut Tx<'_>,
    rules: &[Rule],
    mailbox: &Mailbox,
    stored: Stored,
    mail: &Inbound,
) -> Result<()> {
    if !mailbox.livemode() {
        return Ok(());
    }
    let risk = mail.risk.as_ref().map(|risk| if risk.held { Level::Held } else { Level::Some });
    let facts = Facts::from_mail(Seen {
        sender: mail.from.email.as_deref(),
        subject: mail.subject.as_deref().unwrap_or_default(),
        text: &mail.text,
        inbox: mailbox.id,
        risk,
        has_files: !mail.attachments.is_empty(),
    });
    let chain = Chain { rules, conversation: stored.conversation, audience: mailbox.audience, facts };
    chain.run(tx, RuleOccasion::MailArrived).await
}

/// Somebody put these tags on a conversation.
pub async fn on_tags(tx: &mut Tx<'_>, conversation: &Locked, tags: Vec<String>) -> Result<()> {
    if tags.is_empty() || !conversation.livemode() {
        return Ok(());
    }
    let workspace = tx.workspace();
    let rules = store::active(tx, workspace).await?;
    let heard = RuleOccasion::Tags(tags);
    if !rules.iter().any(|rule| rule.definition.as_ref().is_some_and(|one| one.when.hears(&heard))) {
        return Ok(());
    }
    let facts = facts_of(tx, conversation).await?;
    let chain =
        Chain { rules: &rules, conversation: conversation.id, audience: conversation.audience, facts };
    chain.run(tx, heard).await
}

/// Of a conversation, the newest mail that came in.
async fn facts_of(tx: &mut Tx<'_>, conversation: &Locked) -> Result<Facts> {
    let workspace = tx.workspace().0;
    let newest = sqlx::query!(
        r#"select from_email, left(text, $3) as "text!", attachments <> '[]' as "files!",
                  (select held_at is not null from conversations where workspace_id = $1 and id = $2) as "held!"
           from messages
           where workspace_id = $1 and conversation_id = $2 and item >= 0 and direction = 'inbound'
           order by at desc, item desc limit 1"#,
        workspace,
        conversation.id.0,
        LOOKED_AT as i32
    )
    .fetch_optional(&mut **tx)
    .await?;
    let newest = newest.as_ref();
    let held = newest.is_some_and(|mail| mail.held);
    let sender = newest.map(|mail| mail.from_email.as_str()).or(conversation.contact.email.as_deref());
    Ok(Facts::from_mail(Seen {
        sender,
        subject: &conversation.subject,
        text: newest.map_or("", |mail| mail.text.as_str()),
        inbox: conversation.mailbox_id,
        risk: conversation.risk.as_ref().map(|_| if held { Level::Held } else { Level::Some }),
        has_files: newest.is_some_and(|mail| mail.files),
    }))
}

/// Everything that follows from one mail or one change of tags.
struct Chain<'r> {
    rules: &'r [Rule],
    conversation: ConversationId,
    audience: i64,
    facts: Facts,
}

impl Chain<'_> {
    /// Rules that run because of this, in order. Most mail ends here, and no statement was run for it.
    fn called(&self, heard: &RuleOccasion) -> Vec<(&Rule, &Definition)> {
        let each = self.rules.iter().filter_map(|rule| Some((rule, rule.definition.as_ref()?)));
        each.filter(|(rule, does)| {
            does.when.hears(heard) && rule.acts_on(self.audience) && does.matches(&self.facts)
        })
        .collect()
    }

    async fn run(self, tx: &mut Tx<'_>, heard: RuleOccasion) -> Result<()> {
        if self.called(&heard).is_empty() {
            return Ok(());
        }
        tx.savepoint().await?;
        let Err(error) = self.act(tx, heard).await else { return tx.keep_savepoint().await };
        if error.is_outage() {
            return Err(error);
        }
        tracing::error!(%error, workspace = %tx.workspace(), conversation = %self.conversation,
            "rules failed, and what they did was taken back");
        tx.back_to_savepoint().await
    }

    async fn act(&self, tx: &mut Tx<'_>, mut heard: RuleOccasion) -> Result<()> {
        let workspace = tx.workspace();
        let all: Vec<Definition> = self.rules.iter().filter_map(|rule| rule.definition.clone()).collect();
        let gone = Gone::among(tx, workspace, &all).await?;
        let mut ran: HashSet<RuleId> = HashSet::new();
        for _ in 0..DEEPEST {
            let mut set = Vec::new();
            for (rule, does) in self.called(&heard) {
                let is_sound = broken::problems(does, &gone).is_empty();
                if is_sound && ran.len() < MOST_ACTING && ran.insert(rule.id) {
                    set.extend(self.apply(tx, rule, does).await?);
                }
            }
            if set.is_empty() {
                break;
            }
            heard = RuleOccasion::Tags(set);
        }
        let ran: Vec<RuleId> = ran.into_iter().collect();
        runs::note(tx, &ran, self.audience).await
    }

    /// Does what a rule says. Gives the tags it put on. What cannot be done here, such as giving a private conversation to
    /// somebody else, is passed over.
    async fn apply(&self, tx: &mut Tx<'_>, rule: &Rule, does: &Definition) -> Result<Vec<String>> {
        let by = By::rule(&rule.name);
        let mut set = Vec::new();
        for action in &does.then {
            // Every action changes the row, and the next goes by what it is then.
            let on = lock_any(tx, self.conversation).await?;
            match action {
                Action::Tag { tag } => {
                    set.extend(tags::change_by(tx, &on, &by, std::slice::from_ref(tag), &[]).await?);
                }
                Action::Assign { to } => {
                    if let Some(member) = on_the_team(tx, &on, *to).await? {
                        give(tx, &on, &by, Some(&member)).await?;
                    }
                }
                Action::Snooze { hours } if on.status != Status::Closed => {
                    let until = tx.now() + TimeDelta::hours(i64::from(*hours));
                    apply(tx, &on, transitions::Trigger::SnoozeChosen(until), &by).await?;
                }
                Action::Snooze { .. } => {}
                Action::Status { status } => {
                    apply(tx, &on, transitions::Trigger::StatusChosen(Status::from(*status)), &by).await?;
                }
                Action::Notify { person } => {
                    if let Some(member) = on_the_team(tx, &on, MemberId::Person(*person)).await? {
                        notifications::ruled(tx, &on, &by, *person).await?;
                        let data = json!({ "to": { "type": "user", "id": person, "name": member.name } });
                        timeline::append(tx, on.id, &by, "notified", data).await?;
                    }
                }
            }
        }
        Ok(set)
    }
}

/// Somebody who can see the conversation.
async fn on_the_team(tx: &mut Tx<'_>, conversation: &Locked, wanted: MemberId) -> Result<Option<Member>> {
    let workspace = tx.workspace();
    let team = team::for_conversation(tx, workspace, conversation).await?;
    Ok(team.into_iter().find(|member| member.id == wanted))
}

impl From<Becomes> for Status {
    fn from(becomes: Becomes) -> Self {
        match becomes {
            Becomes::Open => Self::Open,
            Becomes::Waiting => Self::Waiting,
            Becomes::Closed => Self::Closed,
        }
    }
}
