//! Records what an app sent (specification 4.13.2 to 4.13.4), finds it again by Message-ID, and links it to the
//! conversation of the first reply. Live and sandbox records are separate.
//!
//! Recording a mail again replaces the given fields until someone has replied. After that it only fills in a
//! missing body: a longer recipient list would let more people join the conversation.

use chrono::{DateTime, TimeDelta, Utc};

use rookery_base::config::Retention;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, SendingServiceId};
use rookery_base::store::db::Tx;

#[derive(Clone, Debug)]
pub struct SentMail {
    pub message_id: String,
    pub reference: Option<String>,
    pub to: Vec<String>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// When it left, if that is known.
    pub sent_at: Option<DateTime<Utc>>,
    /// The connected service that reported it and can be asked for its body.
    pub service: Option<SendingServiceId>,
    /// What that service calls it.
    pub service_ref: Option<String>,
}

/// Inserts or updates a record. True when it is new.
pub async fn upsert(tx: &mut Tx<'_>, livemode: bool, record: &SentMail, keep: Retention) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let first = sqlx::query_scalar!(
        r#"insert into app_mail as kept
               (workspace_id, livemode, message_id, reference, recipients, subject, body_text, body_html, recorded_at,
                sent_at, service_id)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $11, $12)
           on conflict (workspace_id, livemode, message_id) do update set
               reference = case when kept.conversation_id is null then coalesce(excluded.reference, kept.reference)
                                else kept.reference end,
               recipients = case when kept.conversation_id is null then excluded.recipients else kept.recipients end,
               subject = case when kept.conversation_id is null then excluded.subject else kept.subject end,
               body_text = case when kept.conversation_id is null then coalesce(excluded.body_text, kept.body_text)
                                else coalesce(kept.body_text, excluded.body_text) end,
               body_html = case when kept.conversation_id is null then coalesce(excluded.body_html, kept.body_html)
                                else coalesce(kept.body_html, excluded.body_html) end,
               sent_at = case when kept.conversation_id is null then coalesce(excluded.sent_at, kept.sent_at)
                              else kept.sent_at end,
               -- Whose words are known need not be asked for.
               service_id = case
                   when coalesce(excluded.body_text, excluded.body_html, kept.body_text, kept.body_html) is null
                       then coalesce(kept.service_id, excluded.service_id)
                   when kept.conversation_id is not null then kept.service_id end,
               words_due_at = case
                   when coalesce(excluded.body_text, excluded.body_html) is null then kept.words_due_at end,
               -- One that should have been forgotten starts anew.
               recorded_at = case when kept.conversation_id is null and kept.recorded_at <= $10
                                  then excluded.recorded_at else kept.recorded_at end
           returning (xmax = 0) as "first!""#,
        workspace,
        livemode,
        record.message_id,
        record.reference,
        &record.to,
        record.subject,
        record.text,
        record.html,
        now,
        now - keep.age,
        record.sent_at,
        record.service.map(|service| service.0)
    )
    .fetch_one(&mut **tx)
    .await?;
    if first {
        evict(tx, livemode, keep).await?;
    }
    Ok(first)
}

/// Notes what a service told of a mail. Reports come a recipient at a time and in any order, so recipients are added while
/// nobody has replied; what somebody else recorded is not changed. Gives whether it is new, and whom it went to.
pub async fn note(tx: &mut Tx<'_>, record: &SentMail, keep: Retention) -> Result<(bool, Vec<String>)> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let row = sqlx::query!(
        r#"insert into app_mail as kept
               (workspace_id, livemode, message_id, recipients, subject, recorded_at, sent_at, service_id, service_ref)
           values ($1, true, $2, $3, $4, $5, $7, $8, $9)
           on conflict (workspace_id, livemode, message_id) do update set
               recipients = case when kept.conversation_id is null and kept.service_id = $8
                   then (array(select distinct one from unnest(kept.recipients || excluded.recipients) one
                               order by one))[1:50]
                   else kept.recipients end,
               subject = case when kept.conversation_id is null and kept.service_id = $8 and kept.subject = ''
                   then excluded.subject else kept.subject end,
               sent_at = case when kept.service_id = $8 then least(kept.sent_at, excluded.sent_at)
                              else kept.sent_at end,
               service_ref = coalesce(kept.service_ref, excluded.service_ref),
               -- Whose words are known need not be asked for.
               service_id = case when coalesce(kept.body_text, kept.body_html) is null
                   then coalesce(kept.service_id, excluded.service_id) else kept.service_id end,
               -- One that should have been forgotten starts anew.
               recorded_at = case when kept.conversation_id is null and kept.recorded_at <= $6
                                  then excluded.recorded_at else kept.recorded_at end
           returning (xmax = 0) as "first!", recipients"#,
        workspace,
        record.message_id,
        &record.to,
        record.subject,
        now,
        now - keep.age,
        record.sent_at,
        record.service.map(|service| service.0),
        record.service_ref
    )
    .fetch_one(&mut **tx)
    .await?;
    if row.first {
        evict(tx, true, keep).await?;
    }
    Ok((row.first, row.recipients))
}

/// Whether a mail is on record that went to an address, and is the service's or the app's own: what one service says of
/// another's mail counts for nothing.
pub async fn went_to(
    tx: &mut Tx<'_>,
    service: SendingServiceId,
    message_id: Option<&str>,
    service_ref: Option<&str>,
    address: &str,
) -> Result<bool> {
    let workspace = tx.workspace().0;
    // One branch per index.
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select from app_mail where workspace_id = $1 and livemode and message_id = $3 and $5 = any(recipients)
                 and (service_id is null or service_id = $2)
               union all
               select from app_mail where workspace_id = $1 and service_id = $2 and service_ref = $4 and $3::text is null
                 and $5 = any(recipients)) as "known!""#,
        workspace,
        service.0,
        message_id,
        service_ref,
        address
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Deletes the oldest unanswered records above the cap.
async fn evict(tx: &mut Tx<'_>, livemode: bool, keep: Retention) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "with waiting as (
             select coalesce((select n from counts where workspace_id = $1 and what = 'app-mail'
                                and subject_id = $2::bool::int and audience = 0), 0)
                  + coalesce((select sum(change) from count_changes where workspace_id = $1 and what = 'app-mail'
                                and subject_id = $2::bool::int), 0) as n)
         delete from app_mail where ctid = any(array(
             select ctid from app_mail
             where workspace_id = $1 and livemode = $2 and conversation_id is null
             order by recorded_at limit (select greatest(0, least(500, n - $3)) from waiting)))",
        workspace,
        livemode,
        keep.most
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A record whose Message-ID an incoming mail refers to. The row is locked: of two concurrent first replies, the
/// second finds the conversation of the first.
#[derive(Debug)]
pub struct ReferredRecord {
    pub message_id: String,
    pub reference: Option<String>,
    pub recipients: Vec<String>,
    pub conversation: Option<ConversationId>,
}

pub async fn named(
    tx: &mut Tx<'_>,
    livemode: bool,
    ids: &[&str],
    age: TimeDelta,
) -> Result<Option<ReferredRecord>> {
    if ids.is_empty() {
        return Ok(None);
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_as!(
        ReferredRecord,
        r#"select message_id, reference, recipients, conversation_id as "conversation: ConversationId"
           from app_mail
           where workspace_id = $1 and livemode = $2 and message_id = any($3)
             and (conversation_id is not null or recorded_at > $4)
           order by array_position($3, message_id) limit 1
           for update"#,
        workspace,
        livemode,
        ids as &[&str],
        now - age
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// Links a record to the conversation of its first reply, for good. A person's reply also schedules the fetch of
/// the body, when a service has it and was never asked.
pub async fn answered(
    tx: &mut Tx<'_>,
    livemode: bool,
    message_id: &str,
    conversation: ConversationId,
    by_a_person: bool,
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update app_mail set conversation_id = coalesce(conversation_id, $4), words_due_at = case
             when $5 and words_claim = 0 and body_text is null and body_html is null
                  and exists (select from sending_services s where s.workspace_id = $1 and s.id = service_id
                                and s.content_url <> '')
                 then coalesce(words_due_at, $6) else words_due_at end
         where workspace_id = $1 and livemode = $2 and message_id = $3",
        workspace,
        livemode,
        message_id,
        conversation.0,
        by_a_person,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes the record of a conversation to the one it becomes part of, which has none.
pub async fn move_to(tx: &mut Tx<'_>, from: ConversationId, to: ConversationId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update app_mail set conversation_id = $3 where workspace_id = $1 and conversation_id = $2",
        workspace,
        from.0,
        to.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
