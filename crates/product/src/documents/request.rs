//! Asking a customer for documents (specification 4.8, 4.9): the request, its checklist and its private link.
//! The request opens when its mail leaves; until then it is a draft. A draft's text has no link.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;
use url::Url;

use crate::documents::items::{self, ChecklistItem, RequestItem};
use crate::documents::phrases::AskPhrase;
use rookery_base::app::App;
use rookery_base::due::backoff::Aside;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId, WorkspaceId};
use rookery_base::languages::Language;
use rookery_base::secrets::link_tokens;
use rookery_base::secrets::secret::SecretKey;
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::{By, SANDBOX};

/// Days after the request's mail left on which its customer is reminded.
pub(super) const REMINDER_DAYS: [u16; 3] = [2, 4, 7];
/// How long its link is good after the mail left.
pub const LINK_LIVES: TimeDelta = TimeDelta::days(60);
/// What a private link of ours is for.
pub(super) const PURPOSE: &str = "upload";

#[derive(Clone, Debug)]
pub struct RequestForm {
    pub items: Vec<ChecklistItem>,
    pub due: Option<NaiveDate>,
    /// The customer's. Without it, what the customer was written to in before.
    pub language: Option<Language>,
}

/// Where a request belongs.
#[derive(Clone, Copy, Debug)]
pub struct Carrier {
    pub conversation: ConversationId,
    pub message: MessageId,
}

/// A request as its mail carries it.
#[derive(Debug)]
pub struct Carried {
    pub id: DocumentRequestId,
    pub items: Vec<RequestItem>,
    pub due: Option<NaiveDate>,
    pub language: Option<Language>,
    pub generation: i32,
}

impl Carried {
    /// A request that is about to be written.
    pub fn new(tx: &Tx<'_>, asked: RequestForm) -> Self {
        let items = items::asked(tx, asked.items);
        Self { id: tx.mint(), items, due: asked.due, language: asked.language, generation: 0 }
    }
}

pub async fn create(tx: &mut Tx<'_>, carrier: Carrier, carried: &Carried) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let asked: Vec<&ChecklistItem> = carried.items.iter().map(|listed| &listed.item).collect();
    // The version before this one reads `items`; it goes with a later one.
    sqlx::query!(
        "insert into document_requests
             (workspace_id, id, conversation_id, message_id, state, due_date, items, created_at, language)
         values ($1, $2, $3, $4, 'draft', $5, $6, $7, $8)",
        workspace,
        carried.id.0,
        carrier.conversation.0,
        carrier.message.0,
        carried.due,
        Json(&asked) as _,
        now,
        carried.language.map(Language::as_str)
    )
    .execute(&mut **tx)
    .await?;
    items::add(tx, carried.id, &carried.items).await
}

/// Takes the requests of a conversation to the one it becomes part of, with the messages that carry them.
pub async fn move_to(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_requests set conversation_id = $3 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The request a message carries.
pub async fn of_message(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    carrier: Carrier,
) -> Result<Option<Carried>> {
    let row = sqlx::query!(
        r#"select id as "id: DocumentRequestId", due_date, language as "language: Language", link_generation
           from document_requests where workspace_id = $1 and conversation_id = $2 and message_id = $3"#,
        workspace.0,
        carrier.conversation.0,
        carrier.message.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let items = items::load(conn, workspace, row.id).await?;
    let (due, language) = (row.due_date, row.language);
    Ok(Some(Carried { id: row.id, items, due, language, generation: row.link_generation }))
}

/// The language in which this customer was asked last, as far back as their newest conversations go.
pub async fn language_of(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
) -> Result<Option<Language>> {
    let known = sqlx::query_scalar!(
        r#"select language as "language!: Language" from document_requests
           where workspace_id = $1 and language is not null and conversation_id = any(array(
               select id from conversations
               where workspace_id = $1 and audience = $2 and contact_email = $3 order by id desc limit 20))
           order by id desc limit 1"#,
        workspace.0,
        conversation.audience,
        conversation.contact.email
    );
    Ok(known.fetch_optional(conn).await?)
}

/// The request's mail has left: the customer can answer it, and is reminded on the second day.
pub async fn open(tx: &mut Tx<'_>, carrier: Carrier) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let remind_at = Zone::load(tx, workspace).await?.days_later(now, REMINDER_DAYS[0]);
    let opened = sqlx::query_scalar!(
        r#"update document_requests set state = 'open', opened_at = $4, remind_at = $5, link_ends_at = $6
           where workspace_id = $1 and conversation_id = $2 and message_id = $3 and state = 'draft'
           returning id as "id: DocumentRequestId""#,
        workspace.0,
        carrier.conversation.0,
        carrier.message.0,
        now,
        remind_at,
        now + LINK_LIVES
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(request) = opened else { return Ok(()) };
    let items = items::load(tx, workspace, request).await?.len();
    let data = json!({ "requestId": request, "messageId": carrier.message, "items": items });
    timeline::append(tx, carrier.conversation, &By::System, "documents-requested", data).await
}

/// Its mail was stopped: the link it had is worth nothing any more.
pub async fn withdraw(tx: &mut Tx<'_>, id: DocumentRequestId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_requests set link_generation = link_generation + 1 where workspace_id = $1 and id = $2",
        workspace,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Its draft was thrown away.
pub async fn cancel(tx: &mut Tx<'_>, carrier: Carrier, by: &By) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let cancelled = sqlx::query_scalar!(
        r#"update document_requests set state = 'cancelled', ended_at = $4, remind_at = null
           where workspace_id = $1 and conversation_id = $2 and message_id = $3
             and state in ('draft', 'open')
           returning id as "id: DocumentRequestId""#,
        workspace,
        carrier.conversation.0,
        carrier.message.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(request) = cancelled else { return Ok(()) };
    let data = json!({ "requestId": request });
    timeline::append(tx, carrier.conversation, by, "documents-cancelled", data).await
}

/// A request whose reminder is due.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub workspace: WorkspaceId,
    pub conversation: ConversationId,
    pub request: DocumentRequestId,
    /// The one that carried the request: who got it is reminded.
    pub message: Option<MessageId>,
}

pub async fn due_for_a_reminder(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<Due>> {
    Ok(sqlx::query_as!(
        Due,
        r#"select workspace_id as "workspace: WorkspaceId", conversation_id as "conversation: ConversationId",
                  id as "request: DocumentRequestId", message_id as "message: MessageId"
           from document_requests
           where remind_at <= $1
             and id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by remind_at limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?)
}

/// When the next reminder is due.
pub async fn next_reminder(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(remind_at) from document_requests where remind_at is not null")
        .fetch_one(conn)
        .await?)
}

/// Takes the reminder that is due now and sets the time of the next, or none when there is to be no other.
/// Nothing when it was taken already: there is one reminder for each of the days.
pub async fn take_reminder(tx: &mut Tx<'_>, id: DocumentRequestId, goes_on: bool) -> Result<Option<Carried>> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let row = sqlx::query!(
        r#"select due_date, language as "language: Language", link_generation, opened_at, reminders, link_ends_at
           from document_requests
           where workspace_id = $1 and id = $2 and state = 'open' and remind_at <= $3 for update"#,
        workspace.0,
        id.0,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    // Nobody is sent to a link that is over.
    let is_good = row.link_ends_at.is_none_or(|end| end > now);
    let goes_on = goes_on && is_good;
    let days = REMINDER_DAYS.get(row.reminders as usize + 1).filter(|_| goes_on);
    let zone = Zone::load(tx, workspace).await?;
    let next = days.zip(row.opened_at).map(|(days, opened_at)| zone.days_later(opened_at, *days));
    sqlx::query!(
        "update document_requests set reminders = reminders + $3::bool::int, remind_at = $4
         where workspace_id = $1 and id = $2",
        workspace.0,
        id.0,
        goes_on,
        next
    )
    .execute(&mut **tx)
    .await?;
    if !is_good {
        return Ok(None);
    }
    let items = items::load(tx, workspace, id).await?;
    let (due, language) = (row.due_date, row.language);
    Ok(Some(Carried { id, items, due, language, generation: row.link_generation }))
}

/// Which message the reminder that was just taken is.
pub async fn reminded(tx: &mut Tx<'_>, id: DocumentRequestId, message: MessageId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_requests set reminded_by = $3 where workspace_id = $1 and id = $2",
        workspace,
        id.0,
        message.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Whether a message is a reminder that came too late: everything is in, or nothing is asked for any more.
pub async fn is_late_reminder(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    carrier: Carrier,
) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from document_requests where workspace_id = $1 and conversation_id = $2
               and reminded_by = $3 and state <> 'open') as "late!""#,
        workspace.0,
        carrier.conversation.0,
        carrier.message.0
    )
    .fetch_one(conn)
    .await?)
}

/// The reminder that was just taken is due once more, at another time.
pub async fn put_reminder_off(tx: &mut Tx<'_>, id: DocumentRequestId, until: DateTime<Utc>) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update document_requests set reminders = reminders - 1, remind_at = $3
         where workspace_id = $1 and id = $2 and state = 'open'",
        workspace,
        id.0,
        until
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Open requests of the sandbox were opened so much earlier: their reminders are due, and their links end, accordingly.
pub async fn sooner_in_sandbox(tx: &mut Tx<'_>, by: TimeDelta) -> Result<u64> {
    let workspace = tx.workspace().0;
    let done = sqlx::query!(
        "update document_requests r set opened_at = opened_at - make_interval(secs => $3),
             remind_at = remind_at - make_interval(secs => $3), link_ends_at = link_ends_at - make_interval(secs => $3)
         from conversations c
         where r.workspace_id = $1 and r.state = 'open' and c.workspace_id = $1 and c.id = r.conversation_id
           and c.audience = $2",
        workspace,
        SANDBOX,
        by.num_seconds() as f64
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}

impl Carried {
    /// What was written with the whole checklist under it and, when it is going out, the link.
    pub fn under(&self, written: &str, link: Option<&str>) -> String {
        self.listing(written, self.items.iter().map(|listed| &listed.item), link)
    }

    /// The same with what is still missing: the required items, or all when none is required. Nothing when all of
    /// these are in.
    pub fn missing_under(&self, written: &str, link: &str) -> Option<String> {
        let mut missing = items::missing(&self.items).peekable();
        missing.peek()?;
        Some(self.listing(written, missing, Some(link)))
    }

    fn listing<'a>(
        &self,
        written: &str,
        items: impl Iterator<Item = &'a ChecklistItem>,
        link: Option<&str>,
    ) -> String {
        let checklist = checklist(self.language.unwrap_or_default(), items, self.due, link);
        format!("{}\n\n{checklist}", written.trim_end())
    }

    /// The private upload page, as it is now.
    pub fn link(&self, app: &App, workspace: WorkspaceId) -> Result<String> {
        link_of(app, workspace, self.id, self.generation)
    }
}

/// The private upload page of a request.
pub fn link_of(app: &App, workspace: WorkspaceId, id: DocumentRequestId, generation: i32) -> Result<String> {
    let key = app.config.needs_secret_key()?.newest();
    Ok(link(key, &app.config.public_url, workspace, id, generation))
}

/// It names the workspace, so that the page is found in any cell.
fn link(
    key: &SecretKey,
    public_url: &Url,
    workspace: WorkspaceId,
    id: DocumentRequestId,
    generation: i32,
) -> String {
    let token = link_tokens::token(key, PURPOSE, &link_is_of(workspace, id, generation));
    format!("{}/upload/{workspace}/{id}/{token}", public_url.as_str().trim_end_matches('/'))
}

/// What the token of a link is made of.
pub(super) fn link_is_of(workspace: WorkspaceId, id: DocumentRequestId, generation: i32) -> String {
    format!("{workspace}/{id}/{generation}")
}

fn checklist<'a>(
    language: Language,
    items: impl Iterator<Item = &'a ChecklistItem>,
    due: Option<NaiveDate>,
    link: Option<&str>,
) -> String {
    let mut text = format!("{}\n", language.say(AskPhrase::Asked));
    for item in items {
        text.push_str("\n- ");
        text.push_str(&item.label);
        if !item.required {
            text.push_str(&format!(" ({})", language.say(AskPhrase::NiceToHave)));
        }
        if let Some(description) = &item.description {
            text.push_str("\n  ");
            text.push_str(&description.replace('\n', "\n  "));
        }
    }
    if let Some(due) = due {
        let due = language.whole_date(due);
        text.push_str(&format!("\n\n{}", language.fill(AskPhrase::Due, &[("date", &due)])));
    }
    if let Some(link) = link {
        text.push_str(&format!("\n\n{}\n{link}", language.say(AskPhrase::Upload)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checklist_names_everything_once_and_marks_what_is_nice_to_have() {
        let item = |label: &str, description: Option<&str>, required| ChecklistItem {
            label: label.into(),
            description: description.map(Into::into),
            required,
        };
        let items = [item("Passport", Some("both pages"), true), item("Payslip", None, false)];
        let due = NaiveDate::from_ymd_opt(2031, 5, 9);
        insta::assert_snapshot!(checklist(Language::En, items.iter(), due, Some("https://rookery.example/upload/x")), @r"
        Please send us these documents:

        - Passport
          both pages
        - Payslip (nice to have)

        Please send them by Friday, 9 May 2031.

        Upload them here, no account needed:
        https://rookery.example/upload/x
        ");
        assert!(!checklist(Language::En, items.iter(), due, None).contains("Upload"));
        let german = checklist(Language::De, items.iter(), due, None);
        assert!(
            german.contains("- Payslip (wenn vorhanden)") && german.ends_with("bis Freitag, 9. Mai 2031."),
            "{german}"
        );
    }
}
