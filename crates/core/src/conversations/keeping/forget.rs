//! Taking a contact out of conversations, and conversations away as a whole. What other rooms own is theirs to take; files
//! that no row names any more are given back, and are removed by whoever asked.
//!
//! Of an erased contact a conversation stays as a shell: its id, inbox, times and tags, without a word or a name. A transaction
//! takes no more than its `Allowance`; of a conversation that is longer, mail goes first, then its entries, and the head last.

use std::collections::BTreeSet;

use crate::conversations::keeping::parts::{self, Allowance};
use crate::conversations::secure::files;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DocumentRequestId, MessageId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;

/// The subject of a conversation whose contact was erased.
pub const SUBJECT: &str = "Erased";

/// What was taken away.
#[derive(Debug, Default)]
pub struct ForgottenMail {
    pub messages: i64,
    pub blobs: Vec<String>,
}

/// Mail that one transaction takes a contact out of.
#[derive(Clone, Copy, Debug)]
pub struct Portion<'a> {
    /// Whose mail it is: all of it, or of a single long one a part.
    pub conversations: &'a [ConversationId],
    /// Which of them are the contact's own.
    pub own: &'a [ConversationId],
    pub messages: &'a [MessageId],
}

/// Conversations with a contact, locked, a batch at a time. Those that are done with have no contact any more.
pub async fn of_contact(tx: &mut Tx<'_>, address: &str, most: i64) -> Result<Vec<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and contact_email = $2
             and audience = any (array(select distinct audience from mailboxes where workspace_id = $1))
           order by id limit $3 for update"#,
        workspace,
        address,
        most
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Other conversations in which somebody takes part: found by walking over all messages, so many at a time, until so many
/// conversations are found. So are answers to what was passed on of an erased conversation, which quote it: whoever wrote
/// them was not let in there. Gives them locked, and where to go on; nothing when the walk is over.
pub async fn taking_part(
    tx: &mut Tx<'_>,
    address: &str,
    after: i64,
    most: i64,
    most_found: usize,
) -> Result<(Vec<ConversationId>, Option<i64>)> {
    let workspace = tx.workspace().0;
    let walked = sqlx::query!(
        r#"with walked as (
               select id, conversation_id, direction, from_email, to_addresses, cc_addresses, bcc_addresses, also_to, reply_to,
                   raw is not null or raw_blob is not null or whole_text is not null as quotes
               from messages where workspace_id = $1 and id > $3 order by id limit $4),
           named as (
               select id, conversation_id from walked
               where message_names($2, case when direction = 'inbound' then from_email end, reply_to,
                                   to_addresses || cc_addresses || bcc_addresses || also_to)
                  or (quotes and conversation_id in (
                          select c.id from (select distinct conversation_id from walked where quotes) those
                          join conversations c on c.workspace_id = $1 and c.id = those.conversation_id
                          join conversations own on own.workspace_id = $1 and own.id = c.answers_in
                              and own.contact_email is null and own.subject = $5)))
           select (select count(*) from walked) as "n!", (select max(id) from walked) as last,
               array(select id from named order by id) as "messages!",
               array(select conversation_id from named order by id) as "conversations!""#,
        workspace,
        address,
        after,
        most,
        SUBJECT
    )
    .fetch_one(&mut **tx)
    .await?;
    let mut found = BTreeSet::new();
    let mut messages = Vec::new();
    let mut next = walked.last.filter(|_| walked.n == most);
    for (message, conversation) in walked.messages.into_iter().zip(walked.conversations) {
        if found.len() == most_found && !found.contains(&conversation) {
            next = messages.last().copied();
            break;
        }
        found.insert(conversation);
        messages.push(message);
    }
    Ok((locked(tx, &messages).await?, next))
}

/// The conversations of these messages, locked. While one is waited for it can become part of another, where its mail is
/// then: so it is looked again until the mail stands in what is locked.
async fn locked(tx: &mut Tx<'_>, messages: &[i64]) -> Result<Vec<ConversationId>> {
    let workspace = tx.workspace().0;
    let mut locked: BTreeSet<i64> = BTreeSet::new();
    loop {
        let now = sqlx::query_scalar!(
            "select distinct conversation_id from messages where workspace_id = $1 and id = any($2)",
            workspace,
            messages
        )
        .fetch_all(&mut **tx)
        .await?;
        if now.iter().all(|id| locked.contains(id)) {
            return Ok(now.into_iter().collect::<BTreeSet<_>>().into_iter().map(ConversationId).collect());
        }
        let taken = sqlx::query_scalar!(
            "select id from conversations where workspace_id = $1 and id = any($2) order by id for update",
            workspace,
            &now
        )
        .fetch_all(&mut **tx)
        .await?;
        locked.extend(taken);
    }
}

/// Which of these conversations are the contact's own. What is said in them is of nobody else.
pub async fn own_among(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    address: &str,
) -> Result<Vec<ConversationId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select id as "id: ConversationId" from conversations
           where workspace_id = $1 and id = any($2) and contact_email = $3 order by id"#,
        workspace,
        &numbers(conversations),
        address
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Mail of a portion that goes with a contact: theirs, also what a form sent for them, ours to them, and what passes any of it
/// on, once or again and again. Our own mail names our address as its sender and is never theirs by that.
///
/// What passes mail on is newer. Whoever takes a conversation part by part begins with the newest, so the mail that is passed on
/// is still there to tell whose it is.
pub async fn doomed(tx: &mut Tx<'_>, portion: Portion<'_>, address: &str) -> Result<Vec<MessageId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"with recursive passed_on (id, origin, forwards) as (
               select id, id, forwards from messages where workspace_id = $1 and id = any($2)
               union
               select passed_on.id, m.id, m.forwards
               from passed_on join messages m on m.workspace_id = $1 and m.id = passed_on.forwards
               where m.conversation_id = any($4))
           select distinct passed_on.id as "id!: MessageId"
           from passed_on join messages m on m.workspace_id = $1 and m.id = passed_on.origin
           where case when m.direction = 'inbound' then lower($3) in (lower(m.from_email), lower(m.reply_to))
                      when m.to_addresses is null and m.conversation_id = any($5) then true
                      else message_names($3, null, null,
                                         m.to_addresses || m.cc_addresses || m.bcc_addresses || m.also_to) end"#,
        workspace,
        portion.messages as &[MessageId],
        address,
        portion.conversations as &[ConversationId],
        portion.own as &[ConversationId]
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Takes a contact out of a portion of mail, whose conversations are locked: the doomed mail goes. What others wrote stays, without
/// the quotes that may hold the contact's words.
pub async fn erase(
    tx: &mut Tx<'_>,
    portion: Portion<'_>,
    doomed: &[MessageId],
    address: &str,
) -> Result<ForgottenMail> {
    let workspace = tx.workspace().0;
    let mut taken = remove_mail(tx, portion.conversations, doomed).await?;
    let raw = sqlx::query_scalar!(
        r#"with kept as (
               select id, raw_blob from messages where workspace_id = $1 and id = any($2) for update),
           html as (delete from message_html h using kept
                    where h.workspace_id = $1 and h.message_id = kept.id and not h.formatted),
           stripped as (
               update messages m set raw = null, raw_blob = null, whole_text = null, summary = null, drafted_body = null,
                   placed = null, also_to = array_remove(also_to, $3), to_addresses = array_remove(to_addresses, $3),
                   cc_addresses = array_remove(cc_addresses, $3), bcc_addresses = array_remove(bcc_addresses, $3),
                   reply_to = case when lower(reply_to) = $3 then null else reply_to end,
                   subject = case when m.conversation_id = any($4) then null else subject end
               from kept where m.workspace_id = $1 and m.id = kept.id)
           select raw_blob as "blob!" from kept where raw_blob is not null"#,
        workspace,
        portion.messages as &[MessageId],
        address,
        portion.own as &[ConversationId]
    )
    .fetch_all(&mut **tx)
    .await?;
    taken.blobs.extend(raw);
    Ok(taken)
}

/// Mail of these conversations goes, and its files with it, also where what stays has passed one on.
pub async fn remove_mail(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    messages: &[MessageId],
) -> Result<ForgottenMail> {
    let (workspace, numbers) = (tx.workspace().0, messages.iter().map(|id| id.0).collect::<Vec<_>>());
    let sealed = files::blobs_of(tx, &numbers).await?;
    let gone = sqlx::query!(
        r#"with gone as (
               delete from messages where workspace_id = $1 and id = any($2) returning raw_blob, attachments)
           select (select count(*) from gone) as "messages!",
               array(select raw_blob from gone where raw_blob is not null
                     union all
                     select file ->> 'blob' from gone cross join jsonb_array_elements(attachments) file
                     where file -> 'borrowed' is distinct from 'true') as "blobs!""#,
        workspace,
        &numbers
    )
    .fetch_one(&mut **tx)
    .await?;
    let mut blobs = gone.blobs;
    if !blobs.is_empty() {
        sqlx::query!(
            "update messages set attachments = (
                 select coalesce(jsonb_agg(file order by place), '[]')
                 from jsonb_array_elements(attachments) with ordinality as t (file, place)
                 where file ->> 'blob' not in (select unnest($3::text[])))
             where workspace_id = $1 and conversation_id = any($2) and attachments <> '[]'
               and exists (select from jsonb_array_elements(attachments) file
                           where file ->> 'blob' in (select unnest($3::text[])))",
            workspace,
            conversations as &[ConversationId],
            &blobs
        )
        .execute(&mut **tx)
        .await?;
    }
    blobs.extend(sealed);
    Ok(ForgottenMail { messages: gone.messages, blobs })
}

/// Files that mail of these conversations names: of what others wrote.
pub async fn named(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<Vec<String>> {
    let (workspace, ids) = (tx.workspace().0, numbers(conversations));
    Ok(sqlx::query_scalar!(
        r#"select file ->> 'blob' as "blob!" from messages cross join jsonb_array_elements(attachments) file
           where workspace_id = $1 and conversation_id = any($2)"#,
        workspace,
        &ids
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// What requests for documents asked for, which are gone, is not told any more: labels may name somebody.
pub async fn unlabel(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    requests: &[DocumentRequestId],
) -> Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let (workspace, ids) = (tx.workspace().0, numbers(conversations));
    let requests: Vec<String> = requests.iter().map(ToString::to_string).collect();
    sqlx::query!(
        "update timeline_events set data = data - 'label'
         where workspace_id = $1 and conversation_id = any($2) and data ->> 'requestId' = any($3) and data ? 'label'",
        workspace,
        &ids,
        &requests
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Notes and timelines of the contact's own conversations; of others only what names the contact. So many rows of each at
/// most; true when there may be more.
pub async fn clear(tx: &mut Tx<'_>, portion: Portion<'_>, address: &str, most: i64) -> Result<bool> {
    let workspace = tx.workspace().0;
    let unnamed = sqlx::query!(
        "update timeline_events set data = data - 'email'
         where workspace_id = $1 and ctid = any(array(
             select ctid from timeline_events
             where workspace_id = $1 and conversation_id = any($2) and lower(data ->> 'email') = $3 limit $4))",
        workspace,
        portion.conversations as &[ConversationId],
        address,
        most
    )
    .execute(&mut **tx)
    .await?;
    let forgotten = forget_entries(tx, portion.own, most).await?;
    Ok(forgotten || unnamed.rows_affected() as i64 == most)
}

/// Notes and entries on the timelines of conversations go, so many of each at most. True when there may be more.
async fn forget_entries(tx: &mut Tx<'_>, conversations: &[ConversationId], most: i64) -> Result<bool> {
    let workspace = tx.workspace().0;
    let notes = sqlx::query!(
        "delete from notes where workspace_id = $1 and ctid = any(array(
             select ctid from notes where workspace_id = $1 and conversation_id = any($2) limit $3))",
        workspace,
        conversations as &[ConversationId],
        most
    )
    .execute(&mut **tx)
    .await?;
    let events = sqlx::query!(
        "delete from timeline_events where workspace_id = $1 and ctid = any(array(
             select ctid from timeline_events where workspace_id = $1 and conversation_id = any($2) limit $3))",
        workspace,
        conversations as &[ConversationId],
        most
    )
    .execute(&mut **tx)
    .await?;
    Ok(notes.rows_affected().max(events.rows_affected()) as i64 == most)
}

/// Heads of the contact's own conversations, and what pages and searches have made of all of these. Safe to repeat.
pub async fn erase_heads(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    own: &[ConversationId],
) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let (ids, own) = (&numbers(conversations), &numbers(own));
    sqlx::query!(
        "with words as (delete from conversation_words where workspace_id = $1 and conversation_id = any($2)),
              segments as (delete from conversation_words_segments where workspace_id = $1 and conversation_id = any($2)),
              told as (delete from notifications where workspace_id = $1 and conversation_id = any($2)),
              unindexed as (delete from unindexed_messages where workspace_id = $1 and conversation_id = any($5)),
              led_on as (
                  update merged_conversations set contact_email = null, subject = $4
                  where workspace_id = $1 and into_id = any($5))
         insert into unindexed_conversations (workspace_id, conversation_id, since)
         select $1, id, $3 from unnest($2::bigint[]) as t (id)
         on conflict (workspace_id, conversation_id)
             do update set since = excluded.since, noted_to = null, tries = 0, retry_at = null",
        workspace,
        ids,
        now,
        SUBJECT,
        own
    )
    .execute(&mut **tx)
    .await?;
    let audiences = sqlx::query_scalar!(
        "with left_over as (
             select c.id, (select count(*) from messages m
                           where m.workspace_id = $1 and m.conversation_id = c.id and m.item >= 0)::int as messages
             from conversations c where c.workspace_id = $1 and c.id = any($2))
         update conversations c set
             message_count = left_over.messages,
             snippet = '',
             contact_name = case when c.id = any($3) then null else contact_name end,
             contact_email = case when c.id = any($3) then null else contact_email end,
             subject = case when c.id = any($3) then $4 else subject end,
             topic = case when c.id = any($3) then null else topic end,
             topic_by = case when c.id = any($3) then null else topic_by end,
             topic_at = case when c.id = any($3) then null else topic_at end,
             topic_person = case when c.id = any($3) then null else topic_person end,
             reference = case when c.id = any($3) then null else reference end,
             risk = case when c.id = any($3) then null else risk end,
             risk_reasons = case when c.id = any($3) then '{}' else risk_reasons end,
             held_at = case when c.id = any($3) then null else held_at end,
             status = case when left_over.messages = 0 then 'closed' else status end,
             snoozed_until = case when left_over.messages = 0 then null else snoozed_until end,
             announced_turn = case when left_over.messages = 0 then 'done' else announced_turn end
         from left_over where c.workspace_id = $1 and c.id = left_over.id
         returning c.audience",
        workspace,
        ids,
        own,
        SUBJECT
    )
    .fetch_all(&mut **tx)
    .await?;
    for audience in audiences {
        tx.touch(audience, LiveTopic::List);
        tx.touch(audience, LiveTopic::Counts);
    }
    Ok(())
}

/// What other conversations remember of a contact's: those that became part of them, by their subject.
pub async fn erase_merged(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    let merged = sqlx::query!(
        r#"select id as "id: ConversationId", into_id from merged_conversations
           where workspace_id = $1 and contact_email = $2 order by id for update"#,
        workspace,
        address
    )
    .fetch_all(&mut **tx)
    .await?;
    let (named, into): (Vec<String>, Vec<i64>) =
        merged.iter().map(|row| (row.id.to_string(), row.into_id)).unzip();
    let ids: Vec<i64> = merged.iter().map(|row| row.id.0).collect();
    sqlx::query!(
        "with told as (
             update timeline_events e set data = data - 'subject'
             from unnest($3::text[], $4::bigint[]) as merged (id, into_id)
             where e.workspace_id = $1 and e.conversation_id = merged.into_id and e.event = 'merged'
               and e.data ->> 'conversationId' = merged.id)
         update merged_conversations set contact_email = null, subject = $5 where workspace_id = $1 and id = any($2)",
        workspace,
        &ids,
        &named,
        &into,
        SUBJECT
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Takes conversations away as a whole, which are locked. What hangs on them goes with them.
pub async fn remove(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<ForgottenMail> {
    let (workspace, ids) = (tx.workspace().0, numbers(conversations));
    let sealed = files::blobs_in(tx, conversations).await?;
    let named = sqlx::query!(
        r#"select count(*) as "messages!",
               coalesce(array_agg(named.blob) filter (where named.blob is not null), '{}') as "blobs!: Vec<String>"
           from messages left join lateral (
               select raw_blob union all
               select file ->> 'blob' from jsonb_array_elements(attachments) file
               where file -> 'borrowed' is distinct from 'true') named (blob) on true
           where workspace_id = $1 and conversation_id = any($2)"#,
        workspace,
        &ids
    )
    .fetch_one(&mut **tx)
    .await?;
    let audiences = sqlx::query_scalar!(
        "delete from conversations where workspace_id = $1 and id = any($2) returning audience",
        workspace,
        &ids
    )
    .fetch_all(&mut **tx)
    .await?;
    for audience in audiences {
        tx.touch(audience, LiveTopic::List);
        tx.touch(audience, LiveTopic::Counts);
    }
    Ok(ForgottenMail { messages: named.messages, blobs: [named.blobs, sealed].concat() })
}

/// Takes away a part of a conversation that is too long to go at once, the oldest first: should somebody open it again meanwhile,
/// what was said last is there. False when nothing is left but what `remove` takes.
pub async fn remove_part(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    allowed: Allowance,
) -> Result<Option<ForgottenMail>> {
    let mail = parts::oldest(tx, conversation, allowed).await?;
    if mail.is_empty() {
        return Ok(forget_entries(tx, &[conversation], allowed.rows).await?.then(ForgottenMail::default));
    }
    let taken = remove_mail(tx, &[conversation], &mail).await?;
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update conversations set message_count = greatest(0, message_count - $3) where workspace_id = $1 and id = $2",
        workspace,
        conversation.0,
        taken.messages as i32
    )
    .execute(&mut **tx)
    .await?;
    Ok(Some(taken))
}

fn numbers(conversations: &[ConversationId]) -> Vec<i64> {
    conversations.iter().map(|id| id.0).collect()
}
