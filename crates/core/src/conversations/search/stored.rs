//! The rows that hold the words of conversations: one for each, and beside it segments of those that have many
//! (docs/decisions/words.md). A row is bounded, because the index takes all words of a row in again when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rookery_base::error::Result;
use rookery_base::store::db::Tx;

/// Words per row.
const SEGMENT: usize = 1_000;
/// Segments of one conversation: about 50,000 words, as many as a dictionary has. Words beyond that are not
/// indexed.
pub(super) const MOST_SEGMENTS: usize = 50;
/// Terms of notes go no further: however much is pasted into notes, there is room for the mail that comes later.
pub(super) const MOST_OF_NOTES: usize = MOST_SEGMENTS / 2;

/// Adds words to conversations: to the newest row of each until it is full, then to new rows, up to the segment `most`.
/// Returns how many were new. `with_notes`: those that have terms of notes from now on.
pub(super) async fn add(
    tx: &mut Tx<'_>,
    words: &BTreeMap<i64, BTreeSet<i64>>,
    with_notes: &[i64],
    most: usize,
) -> Result<usize> {
    if words.is_empty() {
        return Ok(0);
    }
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = words.keys().copied().collect();
    let lists: Vec<String> = words.values().map(|words| as_list(words.iter().copied())).collect();
    // Compared with the first and the newest row only, so that the cost does not grow with the number of rows.
    let rows = sqlx::query!(
        r#"select asked.id as "id!", coalesce(first.segments, 0) as "segments!",
               coalesce(cardinality(newest.words), cardinality(first.words), 0) as "filled!",
               case when first.words is null then asked.words::bigint[]
                    else array(select unnest(asked.words::bigint[]) except select unnest(first.words)
                               except select unnest(newest.words)) end as "fresh!"
           from unnest($2::bigint[], $3::text[]) as asked (id, words)
           left join lateral (
               select words, segments from conversation_words
               where workspace_id = $1 and conversation_id = asked.id offset 0) first on true
           left join lateral (
               select words from conversation_words_segments
               where workspace_id = $1 and conversation_id = asked.id and segment = first.segments offset 0) newest on true
           order by asked.id"#,
        workspace,
        &ids,
        &lists
    )
    .fetch_all(&mut **tx)
    .await?;
    let (mut first, mut counts, mut of, mut segments, mut lists) = (vec![], vec![], vec![], vec![], vec![]);
    let mut fresh = 0;
    for row in &rows {
        let newest = row.segments as usize;
        let free = if newest > most { 0 } else { SEGMENT.saturating_sub(row.filled as usize) };
        let room = free.min(row.fresh.len());
        let (here, beyond) = row.fresh.split_at(room);
        first.push(as_list(here.iter().copied().filter(|_| newest == 0)));
        let added = beyond.chunks(SEGMENT).take(most.saturating_sub(newest));
        let filled = (newest > 0 && !here.is_empty()).then_some((newest, here));
        let beside = filled.into_iter().chain((newest + 1..).zip(added.clone()));
        for (segment, words) in beside {
            of.push(row.id);
            segments.push(segment as i32);
            lists.push(as_list(words.iter().copied()));
        }
        counts.push((newest + added.len()) as i32);
        fresh += here.len() + added.map(<[i64]>::len).sum::<usize>();
    }
    let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
    // A row without new words keeps its array as it is, so that the GIN index is not updated.
    sqlx::query!(
        "insert into conversation_words (workspace_id, conversation_id, words, segments, last_message_at, with_notes)
         select $1, id, words::bigint[], segments,
                (select last_message_at from conversations where workspace_id = $1 and conversations.id = found.id),
                id = any($5)
         from unnest($2::bigint[], $3::text[], $4::integer[]) as found (id, words, segments)
         on conflict (workspace_id, conversation_id) do update
             set words = case when excluded.words = '{}' then conversation_words.words
                              else conversation_words.words || excluded.words end,
                 segments = excluded.segments, last_message_at = excluded.last_message_at,
                 with_notes = conversation_words.with_notes or excluded.with_notes",
        workspace,
        &ids,
        &first,
        &counts,
        with_notes
    )
    .execute(&mut **tx)
    .await?;
    if !of.is_empty() {
        sqlx::query!(
            "insert into conversation_words_segments (workspace_id, conversation_id, segment, words)
             select $1, id, segment, words::bigint[]
             from unnest($2::bigint[], $3::integer[], $4::text[]) as found (id, segment, words)
             on conflict (workspace_id, conversation_id, segment) do update
                 set words = conversation_words_segments.words || excluded.words",
            workspace,
            &of,
            &segments,
            &lists
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(fresh)
}

/// An array literal of PostgreSQL. Arrays of different lengths can be passed in one parameter only as text.
pub(super) fn as_list(words: impl IntoIterator<Item = i64>) -> String {
    let mut text = String::from("{");
    for word in words {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{word}");
    }
    text.push('}');
    text
}
