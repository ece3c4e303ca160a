//! What an inbox answers by itself: its words, whether always or only outside business hours, and in which period. Whether a
//! mail may be answered at all is not decided here (`replies/automatic/answer.rs`).

use jiff::tz::TimeZone;
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::{find, recorded};
use crate::workspace::inbox_settings::hours::Hours;
use crate::workspace::inbox_settings::period::ReplyPeriod;
use crate::workspace::people::Person;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text;

pub const LONGEST_SUBJECT: usize = 200;
pub const LONGEST_TEXT: usize = 5000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoReply {
    pub is_on: bool,
    /// Only outside the hours.
    pub outside: bool,
    /// Empty: that of the mail it answers.
    pub subject: String,
    pub text: String,
    pub hours: Hours,
    /// Only then.
    pub period: ReplyPeriod,
}

/// Before somebody has said anything.
impl Default for AutoReply {
    fn default() -> Self {
        let (subject, text) = (String::new(), String::new());
        let period = ReplyPeriod::default();
        Self { is_on: false, outside: true, subject, text, hours: Hours::usual(), period }
    }
}

/// The words that leave now.
#[derive(Clone, Debug)]
pub struct AutoReplyWords {
    pub subject: String,
    pub text: String,
}

pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId, inbox: MailboxId) -> Result<AutoReply> {
    let row = sqlx::query!(
        r#"select is_on, coalesce(dated_at = changed_at, false) as "is_dated!", outside, subject, body,
               hours as "hours: Json<Hours>", starts_at, ends_at
           from auto_replies
           where workspace_id = $1 and mailbox_id = $2"#,
        workspace.0,
        inbox.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or_else(AutoReply::default, |row| AutoReply {
        is_on: row.is_on || row.is_dated,
        outside: row.outside,
        subject: row.subject,
        text: row.body,
        hours: row.hours.0,
        // The version before turned it on: it knows no period.
        period: if row.is_on {
            ReplyPeriod::default()
        } else {
            ReplyPeriod { from: row.starts_at, until: row.ends_at }
        },
    }))
}

/// The zone that hours are meant in.
pub async fn zone(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<String> {
    Ok(sqlx::query_scalar!("select time_zone from workspaces where id = $1", workspace.0)
        .fetch_one(conn)
        .await?)
}

pub async fn set(tx: &mut Tx<'_>, person: &Person, id: MailboxId, reply: &AutoReply) -> Result<()> {
    let inbox = find(tx, person, id).await?;
    let (subject, words) = (text::line(&reply.subject), text::lines(&reply.text).trim().to_owned());
    if subject.chars().count() > LONGEST_SUBJECT {
        return Err(Error::problem("subject", format!("must be at most {LONGEST_SUBJECT} characters")));
    }
    match words.chars().count() {
        0 if reply.is_on => return Err(Error::problem("text", "is required, or turn the reply off")),
        length if length > LONGEST_TEXT => {
            return Err(Error::problem("text", format!("must be at most {LONGEST_TEXT} characters")));
        }
        _ => {}
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    reply.period.check(now)?;
    let is_dated = !reply.period.is_always();
    sqlx::query!(
        "insert into auto_replies (workspace_id, mailbox_id, is_on, outside, subject, body, hours, changed_at, starts_at, ends_at, dated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (workspace_id, mailbox_id) do update
             set is_on = excluded.is_on, outside = excluded.outside, subject = excluded.subject, body = excluded.body,
                 hours = excluded.hours, changed_at = excluded.changed_at, starts_at = excluded.starts_at,
                 ends_at = excluded.ends_at, dated_at = excluded.dated_at",
        workspace,
        id.0,
        reply.is_on && !is_dated,
        reply.outside,
        subject,
        words,
        Json(&reply.hours) as _,
        now,
        reply.period.from,
        reply.period.until,
        (reply.is_on && is_dated).then_some(now)
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({
        "autoReply": reply.is_on,
        "outsideHoursOnly": reply.outside,
        "hours": reply.hours,
        "from": reply.period.from,
        "until": reply.period.until,
    });
    recorded(tx, &person.by(), id, &inbox.name, data).await
}

/// What the inbox answers at this moment, if it does.
pub async fn due(tx: &mut Tx<'_>, inbox: MailboxId) -> Result<Option<AutoReplyWords>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let row = sqlx::query!(
        r#"select outside, subject, body, hours as "hours: Json<Hours>", time_zone
           from auto_replies join workspaces on workspaces.id = workspace_id
           where workspace_id = $1 and mailbox_id = $2
             and (is_on or (dated_at = changed_at and coalesce(starts_at <= $3, true) and coalesce(ends_at > $3, true)))"#,
        workspace,
        inbox.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let due = row.filter(|row| {
        let zone = TimeZone::get(&row.time_zone).unwrap_or(TimeZone::UTC);
        !row.outside || !row.hours.0.is_open(now, &zone)
    });
    Ok(due.map(|row| AutoReplyWords { subject: row.subject, text: row.body }))
}
