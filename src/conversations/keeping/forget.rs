//! Taking a contact out of conversations, and conversations away as a whole. What other rooms own is theirs to take; files
//! that no row names any more are given back, and are removed by whoever asked.
//!
//! Of an erased contact a conversation stays as a shell: its id, inbox, times and tags, without a word or a name.

use std::collections::BTreeSet;

use crate::conversations::secure::files;
use crate::error::Result;
use crate::ids::{ConversationId, DocumentRequestId, MessageId};
use crate::live::topic::Topic;
use crate::store::db::Tx;

/// The subject of a conversation whose contact was erased.
pub const SUBJECT: &str = "Erased";

/// What was taken away.
#[derive(Debug, Default)]
pub struct Taken {
    pub messages: i64,
    pub blobs: Vec<String>,
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
    (most, most_found): (i64, usize),
) -> Result<(Vec<ConversationId>, Option<i64>)> {
    let workspace = tx.workspace().0;
    let walked = sqlx::query!(
        r#"with walked as (
               select id, conversation_id, from_email, to_addresses, cc_addresses, bcc_addresses, also_to, reply_to,
                   raw is not null or raw_blob is not null or whole_text is not null as quotes
               from messages where workspace_id = $1 and id > $3 order by id limit $4),
           named as (
               select id, conversation_id from walked
               where message_names($2, from_email, reply_to, to_addresses || cc_addresses || bcc_addresses || also_to)
                  or (quotes and exists (
                          select from conversations c join conversations own
                              on own.workspace_id = $1 and own.id = c.answers_in and own.contact_email is null and own.subject = $5
                          where c.workspace_id = $1 and c.id = walked.conversation_id)))
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

/// Mail of these conversations that goes with a contact: theirs, also what a form sent for them, ours to them, and what
/// passes any of it on, once or again and again. Our own mail names our address as its sender and is never theirs by that.
pub async fn doomed(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    address: &str,
) -> Result<Vec<MessageId>> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"with recursive doomed (id) as (
               select m.id from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
               where m.workspace_id = $1 and m.conversation_id = any($2)
                 and case when m.direction = 'inbound' then lower($3) in (lower(m.from_email), lower(m.reply_to))
                          when m.to_addresses is null and c.contact_email = $3 then true
                          else message_names($3, null, null,
                                             m.to_addresses || m.cc_addresses || m.bcc_addresses || m.also_to) end
               union
               select m.id from doomed join messages m on m.forwards = doomed.id
               where m.workspace_id = $1 and m.conversation_id = any($2))
           select id as "id!: MessageId" from doomed"#,
        workspace,
        &numbers(conversations),
        address
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Takes a contact out of these conversations, which are locked: the doomed mail goes. What others wrote stays, without the
/// quotes that may hold the contact's words.
pub async fn erase(
    tx: &mut Tx<'_>,
    conversations: &[ConversationId],
    (own, doomed): (&[ConversationId], &[MessageId]),
    address: &str,
) -> Result<Taken> {
    let (workspace, ids, own) = (tx.workspace().0, numbers(conversations), numbers(own));
    let doomed: Vec<i64> = doomed.iter().map(|id| id.0).collect();
    let sealed = files::blobs_of(tx, &doomed).await?;
    let gone = sqlx::query!(
        r#"with gone as (
               delete from messages where workspace_id = $1 and id = any($2) returning raw_blob, attachments)
           select (select count(*) from gone) as "messages!",
               array(select raw_blob from gone where raw_blob is not null
                     union all
                     select file ->> 'blob' from gone cross join jsonb_array_elements(attachments) file
                     where file -> 'borrowed' is distinct from 'true') as "blobs!""#,
        workspace,
        &doomed
    )
    .fetch_one(&mut **tx)
    .await?;
    let mut blobs = gone.blobs;
    if !blobs.is_empty() {
        // What stays may have passed on a file of the contact's.
        sqlx::query!(
            "update messages set attachments = (
                 select coalesce(jsonb_agg(file order by place), '[]')
                 from jsonb_array_elements(attachments) with ordinality as t (file, place)
                 where file ->> 'blob' <> all ($3))
             where workspace_id = $1 and conversation_id = any($2)
               and exists (select from jsonb_array_elements(attachments) file where file ->> 'blob' = any ($3))",
            workspace,
            &ids,
            &blobs
        )
        .execute(&mut **tx)
        .await?;
    }
    let raw = sqlx::query_scalar!(
        r#"with kept as (
               select id, raw_blob from messages where workspace_id = $1 and conversation_id = any($2) for update),
           html as (delete from message_html h using kept where h.workspace_id = $1 and h.message_id = kept.id),
           stripped as (
               update messages m set raw = null, raw_blob = null, whole_text = null, summary = null, drafted_body = null,
                   placed = null, also_to = array_remove(also_to, $3), to_addresses = array_remove(to_addresses, $3),
                   cc_addresses = array_remove(cc_addresses, $3), bcc_addresses = array_remove(bcc_addresses, $3),
                   reply_to = case when lower(reply_to) = $3 then null else reply_to end,
                   subject = case when m.conversation_id = any($4) then null else subject end
               from kept where m.workspace_id = $1 and m.id = kept.id)
           select raw_blob as "blob!" from kept where raw_blob is not null"#,
        workspace,
        &ids,
        address,
        &own
    )
    .fetch_all(&mut **tx)
    .await?;
    blobs.extend(raw);
    blobs.extend(sealed);
    erase_heads(tx, &ids, &own, address).await?;
    Ok(Taken { messages: gone.messages, blobs })
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

/// Notes, timelines and heads of the contact's own conversations; of others only what names the contact.
async fn erase_heads(tx: &mut Tx<'_>, ids: &[i64], own: &[i64], address: &str) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "with words as (delete from conversation_words where workspace_id = $1 and conversation_id = any($2)),
              segments as (delete from conversation_words_segments where workspace_id = $1 and conversation_id = any($2)),
              told as (delete from notifications where workspace_id = $1 and conversation_id = any($2)),
              noted as (
                  insert into unindexed_conversations (workspace_id, conversation_id, since)
                  select $1, id, $4 from unnest($2::bigint[]) as t (id)
                  on conflict (workspace_id, conversation_id)
                      do update set since = excluded.since, noted_to = null, tries = 0, retry_at = null)
         update timeline_events set data = data - 'email'
         where workspace_id = $1 and conversation_id = any($2) and lower(data ->> 'email') = $3",
        workspace,
        ids,
        address,
        now
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "with spoken as (delete from notes where workspace_id = $1 and conversation_id = any($2)),
              happened as (delete from timeline_events where workspace_id = $1 and conversation_id = any($2)),
              led_on as (
                  update merged_conversations set contact_email = null, subject = $3
                  where workspace_id = $1 and into_id = any($2))
         delete from unindexed_messages where workspace_id = $1 and conversation_id = any($2)",
        workspace,
        own,
        SUBJECT
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
        tx.touch(audience, Topic::List);
        tx.touch(audience, Topic::Counts);
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
pub async fn remove(tx: &mut Tx<'_>, conversations: &[ConversationId]) -> Result<Taken> {
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
        tx.touch(audience, Topic::List);
        tx.touch(audience, Topic::Counts);
    }
    Ok(Taken { messages: named.messages, blobs: [named.blobs, sealed].concat() })
}

fn numbers(conversations: &[ConversationId]) -> Vec<i64> {
    conversations.iter().map(|id| id.0).collect()
}
