//! What a rule would have done to the newest mail that somebody can see, without doing it. The mail comes from one query that
//! holds the person's inboxes, so a trial tells nothing of anybody else's.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::status::Status;
use crate::conversations::tags;
use crate::rules::definition::{Action, Definition, Level, Trigger};
use crate::rules::matching::{Facts, LOOKED_AT, RuleOccasion, Seen};
use crate::workspace::access::{Actor, MemberId};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId};

/// Mails that are looked at.
pub const MAILS: i64 = 100;
/// Conversations in which they are looked for, and mails of each.
const CONVERSATIONS: i64 = 200;
const OF_EACH: i64 = 20;

/// A mail that came in, and its conversation as it is now.
pub struct RuleTrialMail {
    pub conversation: ConversationId,
    pub at: DateTime<Utc>,
    pub from: String,
    pub subject: String,
    pub mailbox_name: String,
    status: Status,
    assignee: Option<MemberId>,
    tags: Vec<String>,
    facts: Facts,
}

/// A mail that a rule matches, and what each of its actions would do: false where it is so already.
pub struct Hit<'m> {
    pub mail: &'m RuleTrialMail,
    pub changes: Vec<bool>,
}

/// The newest mails, newest first.
pub async fn newest(conn: &mut PgConnection, who: &Actor) -> Result<Vec<RuleTrialMail>> {
    let rows = sqlx::query!(
        r#"with picked as materialized (
               select newest.id from unnest($2::bigint[]) seen(audience)
               cross join unnest(array['open', 'waiting', 'snoozed', 'closed']) shown(view)
               cross join lateral (
                   select id, last_message_at from conversations
                   where workspace_id = $1 and audience = seen.audience and view = shown.view
                   order by last_message_at desc, id desc limit $4) newest
               order by newest.last_message_at desc, newest.id desc limit $4),
           mails as materialized (
               select mail.conversation_id, mail.id, mail.at from picked cross join lateral (
                   select conversation_id, id, at from messages
                   where workspace_id = $1 and conversation_id = picked.id and item >= 0 and direction = 'inbound'
                   order by at desc, item desc limit $5) mail
               order by mail.at desc, mail.id desc limit $3)
           select c.id as "id!: ConversationId", m.at as "at!", m.from_name, m.from_email as "from_email!",
               left(m.text, $6) as "text!", m.attachments <> '[]' as "files!", c.subject as "subject!",
               c.mailbox_id as "mailbox!: MailboxId",
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "mailbox_name!",
               c.risk, c.held_at is not null as "held!", c.status as "status!: Status", c.assignee_type, c.assignee_id as "assignee_id!",
               array(select (select name from tags where workspace_id = $1 and tags.id = tagged.tag_id)
                     from conversation_tags tagged
                     where tagged.workspace_id = $1 and tagged.conversation_id = c.id limit 100) as "tags!"
           from mails
           cross join lateral (select * from conversations
                               where workspace_id = $1 and conversations.id = mails.conversation_id and audience = any($2)
                               offset 0) c
           cross join lateral (select * from messages
                               where workspace_id = $1 and conversation_id = mails.conversation_id and messages.id = mails.id
                               offset 0) m
           order by mails.at desc, mails.id desc"#,
        who.workspace.0,
        &who.audiences(),
        MAILS,
        CONVERSATIONS,
        OF_EACH,
        LOOKED_AT as i32
    )
    .fetch_all(conn)
    .await?;
    let mails = rows.into_iter().map(|row| {
        let facts = Facts::from_mail(Seen {
            sender: Some(&row.from_email),
            subject: &row.subject,
            text: &row.text,
            inbox: row.mailbox,
            risk: row.risk.as_ref().map(|_| if row.held { Level::Held } else { Level::Some }),
            has_files: row.files,
        });
        let called = row.from_name.filter(|name| !name.trim().is_empty());
        RuleTrialMail {
            conversation: row.id,
            at: row.at,
            from: called.unwrap_or(row.from_email),
            subject: row.subject,
            mailbox_name: row.mailbox_name,
            status: row.status,
            assignee: MemberId::stored(row.assignee_type.as_deref(), row.assignee_id),
            tags: row.tags,
            facts,
        }
    });
    Ok(mails.collect())
}

/// Which of them a rule matches. A rule that waits for a tag matches where the tag is now.
pub fn hits<'m>(mails: &'m [RuleTrialMail], rule: &Definition) -> Vec<Hit<'m>> {
    let matching = mails.iter().filter(|mail| mail.is_heard(&rule.when) && rule.matches(&mail.facts));
    matching
        .map(|mail| Hit { mail, changes: rule.then.iter().map(|action| mail.would_change(action)).collect() })
        .collect()
}

impl RuleTrialMail {
    fn is_heard(&self, when: &Trigger) -> bool {
        match when {
            Trigger::MailArrives => true,
            Trigger::TagSet { .. } => when.hears(&RuleOccasion::Tags(self.tags.clone())),
        }
    }

    fn would_change(&self, action: &Action) -> bool {
        match action {
            Action::Tag { tag } => !self.tags.iter().any(|own| tags::is_same(own, tag)),
            Action::Assign { to } => self.assignee != Some(*to),
            Action::Status { status } => self.status != Status::from(*status),
            Action::Snooze { .. } => self.status != Status::Closed,
            Action::Notify { .. } => true,
        }
    }
}
