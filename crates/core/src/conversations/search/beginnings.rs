//! What the last word of a search may be the beginning of (specification 4.2, docs/decisions/beginnings.md): the words that begin
//! so in the newest conversations that the search is about.
//!
//! There is no index of beginnings. Words are stored as hashes, and an index of beginnings could be read letter by letter. So
//! this costs a walk of bounded length and depth, and knows no word that the person could not read themselves. Only people's
//! searches ask, so the newest notes are read too.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::filter::{ConversationFilter, branches};
use crate::workspace::access::Actor;
use rookery_base::error::{Error, Result};
use rookery_base::search_terms;

/// Conversations that are looked at, messages and notes of each, and letters of each of those.
const WALK: i64 = 200;
const MESSAGES: i64 = 2;
const LETTERS: i32 = 2_000;
/// Words that one beginning may be. Each is compared with the words of every conversation that a search walks over.
const MOST: usize = 8;

/// Mail of the newest conversations, the newest first. Words on secure pages are found by nobody.
macro_rules! written {
    ($conn:expr, [$($page:tt)+], $order:tt, [$messages:tt $letters:tt $($unused:tt)*], $($argument:expr),+) => {
        sqlx::query_scalar!(
            r#"with newest as materialized (
                   select id from ("# + $($page)+ + r#") branches order by "# + $order + r#" limit $5)
               select concat_ws(' ', head.subject, head.contact_name, head.contact_email, mail.texts, team.texts) as "text!"
               from newest
               cross join lateral (
                   select subject, contact_name, contact_email from conversations
                   where workspace_id = $1 and conversations.id = newest.id offset 0) head
               cross join lateral (
                   select string_agg(concat_ws(' ', from_name, from_email, start), ' ') as texts
                   from (select from_name, from_email, left(text, "# + $letters + r#") as start from messages
                         where workspace_id = $1 and conversation_id = newest.id and item >= 0
                           and status is distinct from 'draft' and channel = 'mail'
                         order by at desc, item desc limit "# + $messages + r#") written) mail
               cross join lateral (
                   select string_agg(start, ' ') as texts
                   from (select left(body, "# + $letters + r#") as start from notes
                         where workspace_id = $1 and conversation_id = newest.id and item >= 0
                         order by at desc, item desc limit "# + $messages + r#") noted) team"#,
            $($argument),+
        )
        .fetch_all(&mut *$conn)
        .await?
    };
}

/// Longer words that begin so, those first that most of the conversations have.
pub async fn complete(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    beginning: &str,
) -> Result<Vec<String>> {
    let texts: Vec<String> =
        branches!(newest first, written, conn, who, now, filter, WALK, MESSAGES, LETTERS);
    let beginning = beginning.to_owned();
    // Reading a megabyte would block a runtime thread.
    tokio::task::spawn_blocking(move || most_common(&texts, &beginning)).await.map_err(Error::internal)
}

fn most_common(texts: &[String], beginning: &str) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in texts.iter().flat_map(|text| search_terms::begun_by(text, beginning)) {
        *counts.entry(word).or_default() += 1;
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|(word, count), (other, more)| more.cmp(count).then_with(|| word.cmp(other)));
    words.into_iter().take(MOST).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_most_have_comes_first_and_no_more_than_a_few() {
        let texts = ["Deposit deposit deposits", "deposit", "depot"].map(str::to_owned);
        assert_eq!(most_common(&texts, "depo"), ["deposit", "deposits", "depot"]);
        let many = [(0..40).map(|n| format!("word{n:02} ")).collect::<String>()];
        assert_eq!(most_common(&many, "word").len(), MOST);
    }
}
