//! One mail about everything that a person was told of in the app and has not read. It has no words of mail or notes
//! in it, but the subject; of a private inbox not even that. Held conversations are not in it: nobody is led to a likely
//! scam by mail of ours.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::notifications::{APART, Reason};
use crate::workspace::access::TEAM;
use crate::workspace::notices::{self, Notice};
use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text;

/// The worker's loop.
pub const LOOP: &str = "mail what is unread";

/// Lines of one mail, and letters of a subject in it.
const MOST_LINES: i64 = 20;
const LONGEST_SUBJECT: usize = 80;

/// People whose time has come, a batch at a time, oldest first.
pub async fn due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, PersonId)>> {
    let due = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", person_id as "person: PersonId" from notification_mail
           where due_at <= $1
             and person_id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by due_at limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(due.into_iter().map(|row| (row.workspace, row.person)).collect())
}

/// When the next person's time comes.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from notification_mail where due_at is not null")
        .fetch_one(conn)
        .await?)
}

struct DigestLine {
    conversation: ConversationId,
    reason: Reason,
    by_name: Option<String>,
    subject: String,
    is_private: bool,
}

/// Writes the mail, if there is still something to tell. Of two nodes that try, one finds the timer taken. It is taken
/// alone: whoever tells this person something at the same time has done so before, or starts the timer anew.
pub async fn write(tx: &mut Tx<'_>, person: PersonId) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let taken = sqlx::query!(
        "select from notification_mail where workspace_id = $1 and person_id = $2 and due_at <= $3 for update",
        workspace.0,
        person.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    if taken.is_none() {
        return Ok(());
    }
    let lines = sqlx::query_as!(
        DigestLine,
        r#"select n.conversation_id as "conversation: ConversationId", n.reason as "reason: Reason", n.by_name, c.subject,
                  c.audience <> $3::bigint as "is_private!"
           from notifications n
           join people on people.workspace_id = $1 and people.id = $2 and removed_at is null
           join conversations c on c.workspace_id = $1 and c.id = n.conversation_id
           where n.workspace_id = $1 and n.person_id = $2 and n.read_at is null and n.mailed_at is null
             and c.audience in ($3, $2) and c.held_at is null
             and coalesce(
                 (select choice from notification_choices chosen
                  where chosen.workspace_id = $1 and chosen.person_id = $2 and chosen.mailbox_id in (0, c.mailbox_id)
                    and kind = case when reason in ('assigned', 'mentioned') then reason else 'following' end
                  order by chosen.mailbox_id desc limit 1), 'mail') = 'mail'
           order by n.at limit $4"#,
        workspace.0,
        person.0,
        TEAM,
        MOST_LINES
    )
    .fetch_all(&mut **tx)
    .await?;
    // What did not fit has its own mail, an hour later.
    let again = (lines.len() as i64 == MOST_LINES).then(|| now + APART);
    let mailed = (!lines.is_empty()).then_some(now);
    sqlx::query!(
        "update notification_mail set due_at = $3, mailed_at = coalesce($4, mailed_at)
         where workspace_id = $1 and person_id = $2",
        workspace.0,
        person.0,
        again,
        mailed
    )
    .execute(&mut **tx)
    .await?;
    if lines.is_empty() {
        return Ok(());
    }
    let conversations: Vec<i64> = lines.iter().map(|line| line.conversation.0).collect();
    let reasons: Vec<&str> = lines.iter().map(|line| line.reason.as_str()).collect();
    sqlx::query!(
        "with told as materialized (
             select conversation_id, reason from notifications
             where workspace_id = $1 and person_id = $2
               and (conversation_id, reason) in (select * from unnest($4::bigint[], $5::text[]))
             order by conversation_id, reason for update)
         update notifications n set mailed_at = $3 from told
         where n.workspace_id = $1 and n.person_id = $2
           and n.conversation_id = told.conversation_id and n.reason = told.reason",
        workspace.0,
        person.0,
        now,
        &conversations,
        &reasons as &[&str]
    )
    .execute(&mut **tx)
    .await?;
    let frame = tx.frame().clone();
    let link = |path: &str| frame.public_url.join(path).map_or_else(|_| path.to_owned(), String::from);
    let (subject, body) = compose(&lines, link);
    let notice = Notice { to: person, kind: "unread", subject: &subject, body: &body };
    notices::write(tx, workspace, now, &frame.random, notice).await
}

/// A paragraph for each conversation: what happened, and where it is.
fn compose(lines: &[DigestLine], link: impl Fn(&str) -> String) -> (String, String) {
    let mut conversations: Vec<(&DigestLine, Vec<String>)> = Vec::new();
    for line in lines {
        let name = line.by_name.as_deref().unwrap_or("Somebody");
        let what = match line.reason {
            Reason::Assigned => format!("{name} gave it to you"),
            Reason::Mentioned => format!("{name} mentioned you in a note"),
            Reason::Replied => "there is new mail".to_owned(),
            Reason::Noted => format!("{name} wrote a note"),
            Reason::Ruled => format!("{name} says that you should know of it"),
            Reason::Documents => "all documents that were asked for are in".to_owned(),
        };
        match conversations.iter_mut().find(|(first, _)| first.conversation == line.conversation) {
            Some((_, happened)) => happened.push(what),
            None => conversations.push((line, vec![what])),
        }
    }
    let subject = match conversations.len() {
        1 => "A conversation is waiting for you".to_owned(),
        many => format!("{many} conversations are waiting for you"),
    };
    let mut body = String::new();
    for (line, happened) in conversations {
        let about = if line.is_private {
            "A conversation of your own inbox".to_owned()
        } else {
            text::snippet(&line.subject, LONGEST_SUBJECT)
        };
        let conversation = link(&format!("/conversations/{}", line.conversation));
        let _ = write!(body, "{about}: {}\n{conversation}\n\n", happened.join(", "));
    }
    let (all, choices) = (link("/notices"), link("/notices/choices"));
    let _ = write!(body, "All notifications: {all}\nNotification settings: {choices}\n");
    (subject, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_tells_what_happened_and_where_and_no_word_of_a_private_inbox() {
        let line = |id, reason, is_private| DigestLine {
            conversation: ConversationId(id),
            reason,
            by_name: Some("Tom".into()),
            subject: "Broken\nparcel".into(),
            is_private,
        };
        let link = |path: &str| format!("https://x.example{path}");
        let lines =
            [line(7, Reason::Assigned, false), line(7, Reason::Noted, false), line(8, Reason::Replied, true)];
        let (subject, body) = compose(&lines, link);
        assert_eq!(subject, "2 conversations are waiting for you");
        let first =
            "Broken parcel: Tom gave it to you, Tom wrote a note\nhttps://x.example/conversations/cnv_";
        assert!(body.starts_with(first), "{body}");
        assert!(body.contains("A conversation of your own inbox: there is new mail\n"), "{body}");
        assert_eq!(body.matches("parcel").count(), 1);
    }
}
