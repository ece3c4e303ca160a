//! Indexes the words of conversations for search, message by message (specification 4.2): subject, names,
//! addresses and the whole text of received and sent mail, not of drafts. Notes come with terms of their own (`notes`).
//!
//! Storing mail only notes it as unindexed, so no sender waits. The worker indexes in batches of bounded bytes and
//! words; a search first catches up a little in its own workspace. What fails is retried alone, with backoff, and
//! blocks nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::conversations::contacts;
use crate::conversations::search::again;
use crate::conversations::search::notes::{self, NoteText, TakenNotes};
use crate::conversations::search::pending::{self, Searched};
use crate::conversations::search::stored::{self, as_list};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::search_terms;
use rookery_base::store::db::{Handle, Reading, Tx};

/// The worker's loop.
pub const LOOP: &str = "index words";

/// Limits of one transaction. `words` is checked between messages, so the last message may exceed it.
#[derive(Clone, Copy, Debug)]
pub struct IndexLimits {
    pub messages: i64,
    pub bytes: i64,
    pub words: usize,
    /// Larger messages are left to the worker.
    pub largest: i64,
    /// Also what no search would miss: terms that conversations lack since an upgrade, notes from before one, and contacts.
    pub all: bool,
}

pub const OF_THE_WORKER: IndexLimits =
    IndexLimits { messages: 200, bytes: 250_000, words: 20_000, largest: i64::MAX, all: true };
const OF_A_SEARCH: IndexLimits =
    IndexLimits { messages: 100, bytes: 250_000, words: 5_000, largest: 250_000, all: false };

/// Characters of one message that are read.
const READ: i32 = 1_000_000;
/// Characters of subject, name and address that are read.
const READ_OF_A_HEAD: i32 = 2_000;
/// Conversations that are reindexed in one transaction, and messages of each that are noted at once.
const ANEW: i64 = 20;
const NOTED: i64 = 500;

/// What one transaction has indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    pub messages: usize,
    pub bytes: usize,
    pub words: usize,
    /// More is waiting.
    pub more: bool,
}

/// Indexes some of what is pending in the workspace that is about to be searched. The search neither fails nor
/// waits long because of this: it continues with what is indexed. True when nothing is left that it would miss.
pub async fn catch_up(app: &App, reading: &mut Reading, searched: Searched) -> bool {
    let (workspace, now) = (reading.frame().workspace, reading.now());
    if app.loops.backoff_of(LOOP).is_put_off(workspace, now) {
        return false;
    }
    let (began, patience) = (Instant::now(), app.config.search_patience());
    while began.elapsed() < patience {
        match catch_up_once(reading, searched, patience).await {
            Ok(true) => {}
            Ok(false) => return true,
            Err(error) => {
                tracing::info!(%error, %workspace, "a search continues with what is indexed");
                return false;
            }
        }
    }
    false
}

async fn catch_up_once(
    reading: &mut Reading,
    searched: Searched,
    patience: std::time::Duration,
) -> Result<bool> {
    let workspace = reading.frame().workspace;
    if !pending::would_miss(reading, searched).await? {
        return Ok(false);
    }
    let mut tx = reading.change_within(patience).await?;
    // Waits for a running indexer, so that the search sees everything stored before it.
    sqlx::query!("select pg_advisory_xact_lock($1, $2)", INDEXERS, workspace.0 as i32)
        .execute(&mut *tx)
        .await?;
    let more = match searched {
        Searched::Mail => work_off(&mut tx, OF_A_SEARCH).await?.more,
        Searched::Contacts => contacts::words::index(&mut tx).await?,
    };
    tx.commit().await?;
    Ok(more)
}

/// Class of the advisory lock: one indexer per workspace, because two would write the same rows.
const INDEXERS: i32 = 14;

/// Keeps indexers out of this workspace until the transaction ends. Taken before any row, as they do.
pub async fn pause(tx: &mut Tx<'_>) -> Result<()> {
    let workspace = tx.workspace().0 as i32;
    sqlx::query!("select pg_advisory_xact_lock($1, $2)", INDEXERS, workspace).execute(&mut **tx).await?;
    Ok(())
}

/// Indexes one batch of a workspace. Does nothing while another indexer holds the lock.
pub async fn index(tx: &mut Tx<'_>, batch: IndexLimits) -> Result<Indexed> {
    let workspace = tx.workspace().0;
    let free = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock($1, $2) as "free!""#,
        INDEXERS,
        workspace as i32
    )
    .fetch_one(&mut **tx)
    .await?;
    if free { work_off(tx, batch).await } else { Ok(Indexed::default()) }
}

/// Postpones what the next batch would take, after that batch failed. Each item is retried alone, with exponential
/// backoff.
pub async fn put_off(tx: &mut Tx<'_>, batch: IndexLimits) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let anew = take_anew(tx, batch).await?;
    let taken = if anew.alone { BatchMessages::default() } else { take(tx, batch).await? };
    let mut conversations: Vec<i64> = anew.notes.iter().map(|(conversation, _)| *conversation).collect();
    if conversations.is_empty() && taken.messages.is_empty() {
        let noted = notes::take(tx, batch.messages, true, batch.all).await?;
        notes::put_off(tx, &noted).await?;
        if noted.is_empty() {
            // Each of these begins anew, alone.
            conversations = again::next(tx, batch.messages).await?;
        }
    }
    sqlx::query!(
        "update unindexed_conversations
         set tries = greatest(tries, 0) + 1, retry_at = $3::timestamptz + make_interval(secs => 10 * 2 ^ least(tries, 9))
         where workspace_id = $1 and conversation_id = any($2)",
        workspace,
        &conversations,
        now
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "update unindexed_messages
         set tries = tries + 1, retry_at = $4::timestamptz + make_interval(secs => 10 * 2 ^ least(tries, 9))
         where workspace_id = $1 and (conversation_id, message_id) in (select * from unnest($2::bigint[], $3::bigint[]))",
        workspace,
        &taken.conversations,
        &taken.messages,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn work_off(tx: &mut Tx<'_>, batch: IndexLimits) -> Result<Indexed> {
    let anew = take_anew(tx, batch).await?;
    let anew_more = begin_anew(tx, &anew.notes).await?;
    if anew.alone {
        return Ok(Indexed { more: true, ..Indexed::default() });
    }
    let mut taken = take(tx, batch).await?;
    let room = batch.messages - taken.messages.len() as i64;
    let noted = if taken.alone {
        TakenNotes::default()
    } else {
        notes::take(tx, room, taken.messages.is_empty(), batch.all).await?
    };
    let again = if batch.all && taken.messages.is_empty() && noted.is_empty() {
        again::next(tx, batch.messages).await?
    } else {
        Vec::new()
    };
    if !again.is_empty() {
        let (conversations, messages) = again::take(tx, &again).await?;
        taken = BatchMessages { conversations, messages, alone: false, terms_only: true };
    }
    let texts = read(tx, &taken, batch).await?;
    let (read, workspace) = (texts.len(), tx.workspace());
    let of_messages: usize = texts.iter().map(Text::bytes).sum();
    let note_texts = notes::read(tx, &noted, batch.bytes - of_messages as i64, READ_OF_A_HEAD).await?;
    let bytes = of_messages + note_texts.iter().map(NoteText::bytes).sum::<usize>();
    // Notes of terms are gone already, so all of them are added.
    let most = if taken.terms_only { usize::MAX } else { batch.words };
    // Hashing a megabyte would block a runtime thread.
    let hashing = move || hashed(workspace, &texts, &note_texts, most);
    let found = tokio::task::spawn_blocking(hashing).await.map_err(Error::internal)?;
    let words = stored::add(tx, &found.by_conversation, &[], stored::MOST_SEGMENTS).await?
        + stored::add(tx, &found.noted, &found.with_notes, stored::MOST_OF_NOTES).await?;
    if !taken.terms_only {
        forget(tx, &found.messages).await?;
    }
    let notes_follow = notes::forget(tx, &found.notes).await?;
    // The last, so that whoever waits for one of them waits for nothing else.
    let contacts_more = batch.all && contacts::words::index(tx).await?;
    let messages = found.messages.len();
    let cut = messages < read || taken.messages.len() > read || taken.messages.len() as i64 == batch.messages;
    let notes_more = notes_follow || noted.has_more(found.notes.len(), room);
    let more = anew_more
        || !again.is_empty()
        || contacts_more
        || notes_more
        || (messages > 0 && (cut || taken.alone));
    Ok(Indexed { messages, bytes, words, more })
}

/// Conversations to reindex from scratch, each with the last of its messages that was noted already.
#[derive(Default)]
struct Anew {
    notes: Vec<(i64, Option<i64>)>,
    /// It failed before and is retried alone.
    alone: bool,
}

async fn take_anew(tx: &mut Tx<'_>, batch: IndexLimits) -> Result<Anew> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let fresh = sqlx::query!(
        "select conversation_id, noted_to from unindexed_conversations where workspace_id = $1 and tries = 0
         order by since desc, conversation_id limit $2 for update",
        workspace,
        ANEW.min(batch.messages)
    )
    .fetch_all(&mut **tx)
    .await?;
    if !fresh.is_empty() {
        let notes = fresh.into_iter().map(|note| (note.conversation_id, note.noted_to)).collect();
        return Ok(Anew { notes, alone: false });
    }
    let failed = sqlx::query!(
        "select conversation_id, noted_to from unindexed_conversations
         where workspace_id = $1 and tries > 0 and retry_at <= $2
         order by retry_at limit 1 for update",
        workspace,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(failed.map_or_else(Anew::default, |note| Anew {
        notes: vec![(note.conversation_id, note.noted_to)],
        alone: true,
    }))
}

/// Resets the words of a conversation to those of its head (subject and contact, also of those that became part of it),
/// and notes its messages for indexing; the database queues the first notes of the team on it, when the row here goes
/// (migrations/0095_notes_in_search.sql). True when more is left to do.
async fn begin_anew(tx: &mut Tx<'_>, notes: &[(i64, Option<i64>)]) -> Result<bool> {
    if notes.is_empty() {
        return Ok(false);
    }
    let (workspace, now) = (tx.workspace(), tx.now());
    let begun: Vec<i64> = notes.iter().filter(|(_, to)| to.is_none()).map(|(id, _)| *id).collect();
    let heads = sqlx::query!(
        r#"select c.id as "id!", c.head as "head!" from unnest($2::bigint[]) as noted (id)
           cross join lateral (
               select id, left(concat_ws(' ', subject, contact_name, contact_email, (
                          select string_agg(concat_ws(' ', merged.subject, merged.contact_email), ' ')
                          from merged_conversations merged
                          where merged.workspace_id = $1 and merged.into_id = noted.id)), $3) as head
               from conversations where workspace_id = $1 and id = noted.id offset 0) c"#,
        workspace.0,
        &begun,
        READ_OF_A_HEAD
    )
    .fetch_all(&mut **tx)
    .await?;
    let words: Vec<String> =
        heads.iter().map(|row| as_list(search_terms::hash_terms(workspace, [row.head.as_str()]))).collect();
    let ids: Vec<i64> = heads.iter().map(|row| row.id).collect();
    sqlx::query!(
        "with emptied as (
             delete from conversation_words_segments where workspace_id = $1 and conversation_id = any($2))
         insert into conversation_words (workspace_id, conversation_id, words, last_message_at)
         select $1, id, words::bigint[],
                (select last_message_at from conversations where workspace_id = $1 and conversations.id = found.id)
         from unnest($2::bigint[], $3::text[]) as found (id, words)
         on conflict (workspace_id, conversation_id) do update
             set words = excluded.words, segments = 0, with_notes = false, last_message_at = excluded.last_message_at",
        workspace.0,
        &ids,
        &words
    )
    .execute(&mut **tx)
    .await?;
    let all: Vec<i64> = notes.iter().map(|(id, _)| *id).collect();
    let from: Vec<i64> = notes.iter().map(|(_, to)| to.unwrap_or(i64::MIN)).collect();
    let left = sqlx::query_scalar!(
        r#"with found as materialized (
               select noted.id as conversation_id, m.id as message_id
               from unnest($2::bigint[], $3::bigint[]) as noted (id, after)
               cross join lateral (
                   select id from messages
                   where workspace_id = $1 and conversation_id = noted.id and id > noted.after
                     and status is distinct from 'draft'
                   order by id limit $5) m),
           inserted as (
               insert into unindexed_messages (workspace_id, conversation_id, message_id, since)
               select $1, conversation_id, message_id, $4 from found
               on conflict (workspace_id, conversation_id, message_id) do nothing),
           unfinished as materialized (
               select conversation_id, max(message_id) as noted_to from found
               group by conversation_id having count(*) = $5),
           moved as (
               update unindexed_conversations note set noted_to = unfinished.noted_to, tries = 0, retry_at = null
               from unfinished
               where note.workspace_id = $1 and note.conversation_id = unfinished.conversation_id),
           finished as (
               delete from unindexed_conversations
               where workspace_id = $1 and conversation_id = any($2)
                 and conversation_id not in (select conversation_id from unfinished))
           select count(*) as "left!" from unfinished"#,
        workspace.0,
        &all,
        &from,
        now,
        NOTED
    )
    .fetch_one(&mut **tx)
    .await?;
    Ok(left > 0 || notes.len() as i64 == ANEW)
}

/// The messages of one batch.
#[derive(Default)]
struct BatchMessages {
    conversations: Vec<i64>,
    messages: Vec<i64>,
    /// It failed before and is retried alone.
    alone: bool,
    /// Their words are there already.
    terms_only: bool,
}

/// Newest first, so that a search sees the latest mail even while an import is being worked off.
async fn take(tx: &mut Tx<'_>, batch: IndexLimits) -> Result<BatchMessages> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let fresh = sqlx::query!(
        "select conversation_id, message_id from unindexed_messages where workspace_id = $1 and tries = 0
         order by since desc, message_id desc limit $2 for update",
        workspace,
        batch.messages
    )
    .fetch_all(&mut **tx)
    .await?;
    if !fresh.is_empty() {
        let (conversations, messages) =
            fresh.into_iter().map(|note| (note.conversation_id, note.message_id)).unzip();
        return Ok(BatchMessages { conversations, messages, ..BatchMessages::default() });
    }
    let failed = sqlx::query!(
        "select conversation_id, message_id from unindexed_messages
         where workspace_id = $1 and tries > 0 and retry_at <= $2
         order by retry_at limit 1 for update",
        workspace,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(failed.map_or_else(BatchMessages::default, |note| BatchMessages {
        conversations: vec![note.conversation_id],
        messages: vec![note.message_id],
        alone: true,
        terms_only: false,
    }))
}

/// The text of a message to index.
struct Text {
    conversation: i64,
    message: i64,
    /// Subject and contact, when the conversation has no words yet.
    head: Option<String>,
    /// Nothing when it is a draft again, or gone.
    text: Option<String>,
    /// Names and addresses. Blind copies are never told.
    from: Vec<String>,
    to: Vec<String>,
    has_files: bool,
}

impl Text {
    fn bytes(&self) -> usize {
        [&self.head, &self.text].into_iter().flatten().map(String::len).sum()
    }
}

/// Reads the texts of as many messages as fit into the batch. Sizes are measured before any text is read.
async fn read(tx: &mut Tx<'_>, taken: &BatchMessages, batch: IndexLimits) -> Result<Vec<Text>> {
    if taken.messages.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = tx.workspace().0;
    // Lateral lookups by primary key: given a list of keys, the planner may scan the whole workspace.
    let rows = sqlx::query!(
        r#"with sized as materialized (
               select noted.conversation_id, noted.message_id, noted.place,
                      sum(least(size, $4)) over (order by noted.place) as up_to
               from unnest($2::bigint[], $3::bigint[]) with ordinality as noted (conversation_id, message_id, place)
               cross join lateral (
                   select case when $8 then 0 else coalesce((
                       select octet_length(coalesce(whole_text, text)) from messages
                       where workspace_id = $1 and conversation_id = noted.conversation_id
                         and id = noted.message_id), 0)::bigint end as size offset 0) measured
               where size <= $5)
           select conversation_id as "conversation_id!", message_id as "message_id!",
               m.text as "text?", m.sender as "sender?", m.recipients as "recipients?", m.has_files as "has_files?",
               (select left(concat_ws(' ', subject, contact_name, contact_email), $7) from conversations
                where workspace_id = $1 and id = sized.conversation_id
                  and not exists (select from conversation_words
                                  where workspace_id = $1 and conversation_id = sized.conversation_id)) as head
           from sized
           left join lateral (
               -- Words on a secure page are found by nobody, and what stands in their place is no word of anybody's.
               select case when not $8 then left(concat_ws(' ', from_name, from_email,
                          case when channel = 'mail' then coalesce(whole_text, text) end), $6) end as text,
                      array_remove(array[from_name, from_email], null) as sender,
                      array_remove(coalesce(to_addresses, case when direction = 'outbound' then array[(
                                                select contact_email from conversations
                                                where workspace_id = $1 and id = sized.conversation_id)] end, '{}')
                                   || coalesce(cc_addresses, '{}'), null) as recipients,
                      -- The pictures of our own signatures are no files of the mail.
                      attachments <> '[]' and (direction = 'inbound'
                          or attachments @? '$[*] ? (!exists(@.contentId) || !(@.contentId starts with "sgf_"))') as has_files
               from messages
               where workspace_id = $1 and conversation_id = sized.conversation_id and id = sized.message_id
                 and status is distinct from 'draft' offset 0) m on true
           where up_to <= $4 or place = 1 order by place"#,
        workspace,
        &taken.conversations,
        &taken.messages,
        batch.bytes,
        batch.largest,
        READ,
        READ_OF_A_HEAD,
        taken.terms_only
    )
    .fetch_all(&mut **tx)
    .await?;
    let texts = rows.into_iter().map(|row| Text {
        conversation: row.conversation_id,
        message: row.message_id,
        head: row.head,
        text: row.text,
        from: row.sender.unwrap_or_default(),
        to: row.recipients.unwrap_or_default(),
        has_files: row.has_files.unwrap_or_default(),
    });
    Ok(texts.collect())
}

/// Words by conversation, and the messages and notes they are from.
#[derive(Default)]
struct FoundWords {
    by_conversation: BTreeMap<i64, BTreeSet<i64>>,
    /// Terms of notes, which have less room.
    noted: BTreeMap<i64, BTreeSet<i64>>,
    messages: Vec<(i64, i64)>,
    notes: Vec<(i64, i64)>,
    /// Conversations that some of the notes are on.
    with_notes: Vec<i64>,
}

fn hashed(workspace: WorkspaceId, texts: &[Text], notes: &[NoteText], most: usize) -> FoundWords {
    let (mut found, mut many) = (FoundWords::default(), 0);
    for text in texts {
        if many >= most {
            break;
        }
        let parts = [&text.head, &text.text].into_iter().flatten().map(String::as_str);
        let words = search_terms::hash_terms(workspace, parts);
        let people = [(search_terms::FROM, &text.from), (search_terms::TO, &text.to)].into_iter();
        let people = people.flat_map(|(label, all)| {
            search_terms::hash_people(workspace, label, all.iter().map(String::as_str))
        });
        let files = text.has_files.then(|| search_terms::hash_files(workspace));
        many += words.len();
        found
            .by_conversation
            .entry(text.conversation)
            .or_default()
            .extend(words.into_iter().chain(people).chain(files));
        found.messages.push((text.conversation, text.message));
    }
    for note in notes {
        if many >= most {
            break;
        }
        let head = search_terms::hash_terms(workspace, note.head.as_deref());
        let words = search_terms::hash_noted(workspace, &note.body);
        many += head.len() + words.len();
        if !words.is_empty() {
            found.with_notes.push(note.conversation);
        }
        if !head.is_empty() {
            found.by_conversation.entry(note.conversation).or_default().extend(head);
        }
        found.noted.entry(note.conversation).or_default().extend(words.into_values());
        found.notes.push((note.conversation, note.note));
    }
    found
}

/// Says to the database that their terms are in, too (migrations/0062_contacts.sql).
async fn forget(tx: &mut Tx<'_>, messages: &[(i64, i64)]) -> Result<()> {
    let workspace = tx.workspace().0;
    let (conversations, messages): (Vec<i64>, Vec<i64>) = messages.iter().copied().unzip();
    sqlx::query!(
        "with told as materialized (select set_config('rookery.terms', 'on', true))
         delete from unindexed_messages note
         using told, unnest($2::bigint[], $3::bigint[]) as done (conversation_id, message_id)
         where note.workspace_id = $1 and note.conversation_id = done.conversation_id
           and note.message_id = done.message_id",
        workspace,
        &conversations,
        &messages
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
