//! The words of conversations, for `q` (specification 4.2): subject, names, addresses and the whole text of
//! mail that came in or went out; not notes, not drafts.
//!
//! Mail only notes that a conversation has new words, so that a burst of replies is indexed once and no
//! sender waits for it. The worker works the notes off; a search first works off those of its own
//! workspace, so it sees everything that was stored before it began.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::list::{Filter, branches};
use crate::db::{Reading, Tx};
use crate::error::Result;
use crate::ids::{ConversationId, WorkspaceId};
use crate::words;
use crate::workspace::access::Sees;

/// Conversations indexed in one transaction.
const BATCH: i64 = 50;
/// Batches a search works off before it answers: after a large import the worker does the rest.
const BATCHES_OF_A_SEARCH: usize = 10;

/// A common word is found by looking at the newest conversations of a view one by one, a rare one by the
/// word index, whose cost follows how many conversations of the workspace have the word, in any view.
/// The first walk answers common words from a few pages. A word that it hardly meets is looked up in the
/// index, unless there are more than [`MANY`]: then the second walk is cheaper. In a workspace of a million
/// both take the same time there.
const FIRST_WALK: i64 = 250;
const SECOND_WALK: i64 = 8_000;
const HARDLY: usize = 4;
const MANY: i64 = 4_000;

/// The newest conversations of a filter that have all words.
pub async fn find(
    conn: &mut PgConnection,
    who: &impl Sees,
    now: DateTime<Utc>,
    filter: &Filter,
    words: &[i64],
) -> Result<Vec<i64>> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    for depth in [FIRST_WALK, SECOND_WALK] {
        let (found, walked) = walk(conn, who, now, filter, words, depth).await?;
        // A short walk has seen the whole view. Without this, a common word in a small view would be
        // looked up in the index, which has it from the whole workspace.
        if found.len() as i64 == filter.limit || walked < depth {
            return Ok(found);
        }
        if depth == FIRST_WALK && found.len() <= HARDLY {
            let (found, hits) = by_index(conn, who, now, filter, words, MANY).await?;
            if hits < MANY {
                return Ok(found);
            }
        }
    }
    Ok(by_index(conn, who, now, filter, words, i64::MAX).await?.0)
}

/// A walk over the newest of the branches: those that have all words, and how many were there. It ends for
/// all branches together: a hit of a quiet inbox must not come before a newer one deep in a busy inbox.
/// A materialised part hands its rows on in their order; asking for the order again would make PostgreSQL
/// test all of them before it sorts.
macro_rules! walked {
    ($conn:expr, $page:tt, [$limit:tt $words:tt], $($argument:expr),+) => {{
        let row = sqlx::query!(
            r#"with walk as materialized (
                   select id, last_message_at from ("# + $page + r#") branches
                   order by last_message_at desc, id desc limit $5)
               select array(select id from walk
                            where (select words @> "# + $words + r#"::bigint[] from conversation_words
                                   where workspace_id = $1 and conversation_id = walk.id)
                            limit "# + $limit + r#") as "found!",
                      (select count(*) from walk) as "walked!""#,
            $($argument),+
        )
        .fetch_one(&mut *$conn)
        .await?;
        (row.found, row.walked)
    }};
}

async fn walk(
    conn: &mut PgConnection,
    who: &impl Sees,
    now: DateTime<Utc>,
    filter: &Filter,
    words: &[i64],
    depth: i64,
) -> Result<(Vec<i64>, i64)> {
    Ok(branches!(walked, conn, who, now, filter, depth, filter.limit, words))
}

/// Rare words: how many conversations of the workspace have them, counted up to `most`, and if there are
/// fewer, the newest of the filter. Hashes cover the workspace, so nothing but words is asked of the index.
async fn by_index(
    conn: &mut PgConnection,
    who: &impl Sees,
    now: DateTime<Utc>,
    filter: &Filter,
    words: &[i64],
    most: i64,
) -> Result<(Vec<i64>, i64)> {
    let row = sqlx::query!(
        r#"with hits as materialized (
               select conversation_id from conversation_words where words @> $5 limit $10)
           select (select count(*) from hits) as "hits!",
               array(
                   select c.id from hits
                   cross join lateral (
                       select id, last_message_at from conversations
                       where workspace_id = $1 and id = hits.conversation_id and audience = any($3)
                         and ($4 = 'all' or $4 = case when snoozed_until <= $2 then 'open' else view end)
                         and ($6::bigint is null or mailbox_id = $6)
                         and ($7::bigint is null or assignee_id = $7)
                         and ($8::text is null or reference = $8)
                       offset 0) c
                   where (select count(*) from hits) < $10
                   order by c.last_message_at desc, c.id desc limit $9) as "found!""#,
        who.workspace().0,
        now,
        &who.audiences(),
        filter.view.as_str(),
        words,
        filter.mailbox.map(|mailbox| mailbox.0),
        filter.assigned.map(|assigned| assigned.stored()),
        filter.reference.as_deref(),
        filter.limit,
        most
    )
    .fetch_one(conn)
    .await?;
    Ok((row.found, row.hits))
}

/// Notes that a conversation has words that are not indexed yet.
pub async fn note(tx: &mut Tx<'_>, conversation: ConversationId) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    // The update takes the row's lock: an indexer that is just reading this conversation finishes first,
    // and this note is then a new one.
    sqlx::query!(
        "insert into unindexed_conversations (workspace_id, conversation_id, since) values ($1, $2, $3)
         on conflict (workspace_id, conversation_id) do update set since = excluded.since",
        workspace,
        conversation.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Works off the notes of the workspace that is about to be searched.
pub async fn catch_up(reading: &mut Reading) -> Result<()> {
    for _ in 0..BATCHES_OF_A_SEARCH {
        let workspace = crate::db::Handle::frame(reading).workspace;
        let waiting = sqlx::query_scalar!(
            r#"select exists (select from unindexed_conversations where workspace_id = $1) as "waiting!""#,
            workspace.0
        )
        .fetch_one(&mut **reading)
        .await?;
        if !waiting {
            break;
        }
        let mut tx = reading.change().await?;
        index(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Workspaces with notes to work off, oldest first.
pub async fn unindexed(conn: &mut PgConnection) -> Result<Vec<WorkspaceId>> {
    Ok(sqlx::query_scalar!(
        r#"with recursive step as (
               (select workspace_id from unindexed_conversations order by workspace_id limit 1)
               union all
               select (select workspace_id from unindexed_conversations where workspace_id > step.workspace_id
                       order by workspace_id limit 1)
               from step where step.workspace_id is not null)
           select workspace_id as "id!: WorkspaceId" from step where workspace_id is not null limit 1000"#
    )
    .fetch_all(conn)
    .await?)
}

/// Since when the oldest note has been waiting.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(since) from unindexed_conversations").fetch_one(conn).await?)
}

/// Indexes one batch of a workspace's noted conversations. True when there may be more.
pub async fn index(tx: &mut Tx<'_>) -> Result<bool> {
    let workspace = tx.workspace();
    // Newest first, so that a search sees the latest mail even while an import is being worked off. Not
    // "skip locked": a search that finds a conversation in the worker's hands waits for its words.
    let noted = sqlx::query_scalar!(
        "select conversation_id from unindexed_conversations where workspace_id = $1
         order by since desc, conversation_id limit $2 for update",
        workspace.0,
        BATCH
    )
    .fetch_all(&mut **tx)
    .await?;
    if noted.is_empty() {
        return Ok(false);
    }
    // One by one by their key: a list of keys may be planned as a pass over the workspace.
    let texts = sqlx::query!(
        r#"select c.id as "id!", c.head as "head!",
               array(select concat_ws(' ', from_name, from_email, coalesce(whole_text, text)) from messages
                     where workspace_id = $1 and conversation_id = c.id and status is distinct from 'draft')
                   as "mail!"
           from unnest($2::bigint[]) as noted (id)
           cross join lateral (
               select id, concat_ws(' ', subject, contact_name, contact_email) as head from conversations
               where workspace_id = $1 and id = noted.id offset 0) c"#,
        workspace.0,
        &noted
    )
    .fetch_all(&mut **tx)
    .await?;
    let (mut ids, mut words) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
    for text in &texts {
        let mail = text.mail.iter().map(String::as_str);
        ids.push(text.id);
        words.push(as_list(&words::hashed(workspace, std::iter::once(text.head.as_str()).chain(mail))));
    }
    sqlx::query!(
        "insert into conversation_words (workspace_id, conversation_id, words)
         select $1, id, words::bigint[] from unnest($2::bigint[], $3::text[]) as found (id, words)
         on conflict (workspace_id, conversation_id) do update set words = excluded.words",
        workspace.0,
        &ids,
        &words
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "delete from unindexed_conversations where workspace_id = $1 and conversation_id = any($2)",
        workspace.0,
        &noted
    )
    .execute(&mut **tx)
    .await?;
    Ok(noted.len() as i64 == BATCH)
}

/// A list as PostgreSQL reads it: lists of different lengths travel together only as text.
fn as_list(words: &[i64]) -> String {
    let mut text = String::with_capacity(words.len() * 20 + 2);
    text.push('{');
    for (place, word) in words.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{word}");
    }
    text.push('}');
    text
}
