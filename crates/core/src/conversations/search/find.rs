//! Search by words (specification 4.2): the newest conversations of a filter that have all of them, anywhere in
//! their mail, and one of those that the last may be the beginning of; for people also in notes. index.rs writes the words.
//!
//! A common word is found by a walk over the newest conversations, a rare one by the word index. Most
//! conversations have all their words in one row; the words of a long one are stored in additional segments.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::filter::{ConversationFilter, branches};
use crate::conversations::search::sought::SoughtWords;
use crate::workspace::access::Actor;
use rookery_base::error::Result;

/// The depth of each walk, and the number of hits up to which the index is asked next. The first walk answers
/// common words from a few pages. A word that it hardly meets is looked up in the index, whose cost grows with the
/// conversations of the workspace that have the word, in any view; a word that it met a few times is mostly found
/// by the second walk. The last walk is for words that more than [`MANY`] conversations have.
const WALKS: [(i64, usize); 3] = [(250, 1), (SECOND_WALK, usize::MAX), (8_000, 0)];
const SECOND_WALK: i64 = 4_000;
const MANY: i64 = 7_000;

/// The newest conversations of a filter that have all words.
pub async fn find(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    words: &SoughtWords,
) -> Result<Vec<i64>> {
    if words.all.is_empty() && words.any.is_empty() {
        return Ok(Vec::new());
    }
    let found = newest(conn, who, now, filter, words).await?;
    match filter.since {
        Some(since) => not_older(conn, who, since, &found).await,
        None => Ok(found),
    }
}

/// Those of found conversations whose newest mail is not older. The newest were found first, so none is missing.
async fn not_older(
    conn: &mut PgConnection,
    who: &Actor,
    since: DateTime<Utc>,
    found: &[i64],
) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!(
        r#"select found.id as "id!" from unnest($2::bigint[]) with ordinality found(id, place)
           cross join lateral (select last_message_at from conversations
                               where workspace_id = $1 and conversations.id = found.id offset 0) c
           where c.last_message_at >= $3 order by found.place"#,
        who.workspace.0,
        found,
        since
    )
    .fetch_all(conn)
    .await?)
}

async fn newest(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    words: &SoughtWords,
) -> Result<Vec<i64>> {
    let mut many = false;
    for (depth, hardly) in WALKS {
        // The index counted so many hits that only the last walk is worth it.
        if many && depth == SECOND_WALK {
            continue;
        }
        let (found, walked) = walk(conn, who, now, filter, words, depth).await?;
        // A short walk has seen the whole view. Without this, a common word in a small view would be
        // looked up in the index, which has it from the whole workspace.
        if found.len() as i64 == filter.limit || walked < depth {
            return Ok(found);
        }
        if !many && found.len() <= hardly {
            let (found, hits) = by_index(conn, who, now, filter, words, MANY).await?;
            if hits < MANY {
                return Ok(found);
            }
            many = true;
        }
    }
    Ok(by_index(conn, who, now, filter, words, i64::MAX).await?.0)
}

/// Walks the newest conversations of all branches. Gives those that have all words, and how many it visited. The
/// depth is shared by all branches: a hit in a quiet inbox must not come before a newer one deep in a busy inbox.
/// A materialised part keeps the order of its rows; ordering again would make PostgreSQL test all of them before
/// it sorts. Only of a conversation with notes, or a long one, the words are compared one by one.
macro_rules! walked {
    ($conn:expr, [$($page:tt)+], $order:tt, [$limit:tt $all:tt $any:tt $noted:tt $lists:tt], $($argument:expr),+) => {{
        let row = sqlx::query!(
            r#"with walk as materialized (
                   select id, last_message_at from ("# + $($page)+ + r#") branches
                   order by "# + $order + r#" limit $5)
               select array(select id from walk
                            where (select (words @> "# + $all + r#"::bigint[] and words && "# + $any + r#"::bigint[])
                                       or ((segments > 0 or (with_notes and "# + $noted + r#"::boolean)) and (
                                           select not exists (select from unnest("# + $lists + r#"::text[]) asked (list)
                                                              where not whole.words && asked.list::bigint[])
                                           from (select words || case when segments > 0 then array(
                                                     select unnest(beside.words) from conversation_words_segments beside
                                                     where workspace_id = $1 and conversation_id = walk.id) end as words
                                                 offset 0) whole))
                                   from conversation_words
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
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    words: &SoughtWords,
    depth: i64,
) -> Result<(Vec<i64>, i64)> {
    let (noted, lists) = (!words.noted.is_empty(), words.lists());
    let all = &words.all;
    Ok(
        branches!(newest first, walked, conn, who, now, filter, depth, filter.limit, all, words.some(), noted, &lists),
    )
}

/// Looks rare words up in the index. Counts the conversations of the workspace that have them, up to `most`, and
/// if there are fewer, gives the newest ones of the filter. Hashes include the workspace, so the index is asked
/// for words only. The word rows hold the time of the newest mail, so only as many conversations are read as fill
/// the page. Most hits are closed: whether one is in another view is told by an index of those that are not.
///
/// What has a word in a note is looked up beside the rest, by that word first: where no note has any, this costs a look at
/// the index for each. A long conversation is compared as a whole.
async fn by_index(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    words: &SoughtWords,
    most: i64,
) -> Result<(Vec<i64>, i64)> {
    // Of a long conversation, any row that has one of the words.
    let in_notes = words.in_notes();
    let either = [&words.all[..], &words.any[..], &in_notes[..]].concat();
    let [first, second, third] = words.looked_up();
    let lists = words.lists();
    let row = sqlx::query!(
        r#"with whole as materialized (
               select conversation_id, last_message_at from conversation_words where words @> $5 and words && $13 limit $10),
           noted as materialized (
               select conversation_id, last_message_at from conversation_words
               where words && $15 and words && $16 and words && $17 and words && $18
                 and not (words @> $5 and words && $13)
                 and not exists (select from unnest($19::text[]) asked (list) where not words && asked.list::bigint[])
               limit $10),
           beside as materialized (
               select conversation_id from conversation_words_segments where words && $14 limit $10),
           spread as materialized (
               select w.conversation_id, w.last_message_at
               from (select distinct conversation_id from beside) long
               cross join lateral (
                   select conversation_id, last_message_at from conversation_words
                   where workspace_id = $1 and conversation_id = long.conversation_id
                     and not (words @> $5 and words && $13)
                     and (select not exists (select from unnest($19::text[]) asked (list)
                                             where not joined.words && asked.list::bigint[])
                          from (select words || array(
                                    select unnest(beside.words) from conversation_words_segments beside
                                    where workspace_id = $1 and conversation_id = long.conversation_id) as words
                                offset 0) joined)
                   offset 0) w),
           hits as materialized (
               select conversation_id, coalesce(last_message_at, (
                          select last_message_at from conversations
                          where workspace_id = $1 and id = found.conversation_id)) as last_message_at
               from (select * from whole union all (select * from spread union select * from noted)) found),
           counted as materialized (
               select greatest((select count(*) from hits), (select count(*) from beside)) as n)
           select (select n from counted) as "hits!",
               array(
                   select c.id
                   from (select conversation_id from hits
                         where (select n from counted) < $10
                           and last_message_at <= coalesce($11::timestamptz, 'infinity')
                         order by last_message_at desc, conversation_id desc offset 0) newest
                   cross join lateral (
                       select id from (
                           select id, audience, view, snoozed_until, mailbox_id, assignee_id, reference, last_message_at
                           from conversations where workspace_id = $1 and id = newest.conversation_id
                             and view <> 'closed' and $4 not in ('closed', 'all')
                           union all
                           select id, audience, view, snoozed_until, mailbox_id, assignee_id, reference, last_message_at
                           from conversations where workspace_id = $1 and id = newest.conversation_id
                             and $4 in ('closed', 'all')) there
                       where audience = any($3)
                         and ($4 = 'all' or $4 = case when snoozed_until <= $2 then 'open' else view end)
                         and ($6::bigint is null or mailbox_id = $6)
                         and ($7::bigint is null or assignee_id = $7)
                         and ($8::text is null or reference = $8)
                         and (last_message_at, id) <
                             (coalesce($11::timestamptz, 'infinity'), coalesce($12::bigint, 9223372036854775807))
                       offset 0) c
                   limit $9) as "found!""#,
        who.workspace.0,
        now,
        &who.audiences(),
        filter.view.as_str(),
        &words.all,
        filter.mailbox.map(|mailbox| mailbox.0),
        filter.assigned.map(|assigned| assigned.stored()),
        filter.reference.as_deref(),
        filter.limit,
        most,
        filter.before.map(|place| place.at),
        filter.before.map(|place| place.id.0),
        words.some(),
        &either,
        &in_notes,
        &first,
        &second,
        &third,
        &lists
    )
    .fetch_one(conn)
    .await?;
    Ok((row.found, row.hits))
}
