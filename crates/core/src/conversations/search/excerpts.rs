//! Shows where the words of a search stand: of each conversation that was found a few lines of the mail, or the note,
//! that has most of them, cut into pieces that are marked or not. Whoever shows them escapes each piece by itself.
//!
//! Of each conversation only the newest mail and notes are looked at, so a search costs the same however long its hits are.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::messages::message::Direction;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, NoteId, WorkspaceId};
use rookery_base::search_terms;

/// Messages of a conversation that are looked at, notes, and letters of each.
const MESSAGES: i64 = 8;
const NOTES: i64 = 8;
const LETTERS: i32 = 8_000;
/// Letters of an excerpt, and how many of them stand before the first mark.
const LENGTH: usize = 220;
const LEAD: usize = 60;

/// A part of a text that stands in the query, or one between two such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcerptPiece {
    pub text: String,
    pub marked: bool,
}

/// A few lines of a message, or of a note, with words of the query.
#[derive(Debug)]
pub struct Excerpt {
    pub pieces: Vec<ExcerptPiece>,
    pub at: DateTime<Utc>,
    /// Of a note, nothing.
    pub direction: Option<Direction>,
    pub note: Option<NoteId>,
    /// Who wrote it.
    pub from: String,
}

/// Excerpts by conversation. There is none when the words stand in the subject, the names or older mail and notes only.
/// The caller has made sure that these conversations may be seen, by a person: others do not search notes.
pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversations: &[ConversationId],
    words: &BTreeSet<String>,
) -> Result<HashMap<ConversationId, Excerpt>> {
    let ids: Vec<i64> = conversations.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select asked.id as "conversation!: ConversationId", m.at as "at!", m.direction as "direction?: Direction",
               m.note as "note?: NoteId", m.from_name as "from_name?", m.from_email as "from_email?", m.text as "text!"
           from unnest($2::bigint[]) asked(id)
           cross join lateral (
               (select at, item, direction, null::bigint as note, from_name, from_email, left(text, $3) as text
                from messages
                where workspace_id = $1 and conversation_id = asked.id and item >= 0
                  and status is distinct from 'draft' and channel = 'mail'
                order by at desc, item desc limit $4)
               union all
               (select at, item, null, id, author, null, left(body, $3)
                from notes where workspace_id = $1 and conversation_id = asked.id and item >= 0
                order by at desc, item desc limit $5)) m
           order by m.at desc, m.item desc"#,
        workspace.0,
        &ids,
        LETTERS,
        MESSAGES,
        NOTES
    )
    .fetch_all(conn)
    .await?;
    let mut best: HashMap<ConversationId, (usize, Excerpt)> = HashMap::new();
    for row in rows {
        let marks = search_terms::marks(&row.text, words);
        let found: BTreeSet<String> =
            marks.iter().map(|range| search_terms::fold(&row.text[range.clone()])).collect();
        let before = best.get(&row.conversation).map_or(0, |(found, _)| *found);
        if found.len() > before {
            let named = row.from_name.filter(|name| !name.trim().is_empty());
            let from = named.or(row.from_email).unwrap_or_default();
            let pieces = around(&row.text, &marks);
            let excerpt = Excerpt { pieces, at: row.at, direction: row.direction, note: row.note, from };
            best.insert(row.conversation, (found.len(), excerpt));
        }
    }
    Ok(best.into_iter().map(|(id, (_, excerpt))| (id, excerpt)).collect())
}

/// A whole short text, such as a subject, with the words marked.
pub fn marked(text: &str, words: &BTreeSet<String>) -> Vec<ExcerptPiece> {
    pieces(text, 0..text.len(), &search_terms::marks(text, words))
}

/// The part of a text around its first mark, on one line.
fn around(text: &str, marks: &[Range<usize>]) -> Vec<ExcerptPiece> {
    let first = marks.first().map_or(0, |mark| mark.start);
    let back = text[..first].char_indices().rev().nth(LEAD - 1).map_or(0, |(at, _)| at);
    // Begins with a whole word.
    let start = match back {
        0 => 0,
        back => text[back..first].find(char::is_whitespace).map_or(back, |at| back + at + 1),
    };
    let end = text[start..].char_indices().nth(LENGTH).map_or(text.len(), |(at, _)| start + at);
    let mut pieces = pieces(text, start..end, marks);
    for piece in &mut pieces {
        piece.text = on_one_line(&piece.text);
    }
    let between = |text: &str| ExcerptPiece { text: text.to_owned(), marked: false };
    if start > 0 {
        pieces.insert(0, between("…"));
    }
    if end < text.len() {
        pieces.push(between("…"));
    }
    pieces
}

fn pieces(text: &str, range: Range<usize>, marks: &[Range<usize>]) -> Vec<ExcerptPiece> {
    let mut pieces = Vec::new();
    let mut push = |part: Range<usize>, marked| {
        if !part.is_empty() {
            pieces.push(ExcerptPiece { text: text[part].to_owned(), marked });
        }
    };
    let mut at = range.start;
    for mark in marks.iter().filter(|mark| mark.start >= range.start && mark.end <= range.end) {
        push(at..mark.start, false);
        push(mark.clone(), true);
        at = mark.end;
    }
    push(at..range.end, false);
    pieces
}

/// Runs of spaces and line ends become one space.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_whitespace() {
            line.push(letter);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, query: &str) -> String {
        let words = search_terms::query_words(query);
        let marks = search_terms::marks(text, &words);
        around(text, &marks)
            .iter()
            .map(|piece| if piece.marked { format!("[{}]", piece.text) } else { piece.text.clone() })
            .collect()
    }

    #[test]
    fn an_excerpt_begins_shortly_before_the_first_mark_with_a_whole_word() {
        let text = format!("{} the\n\n  déposit is   paid {}", "before ".repeat(20), "after ".repeat(60));
        let shown = shown(&text, "deposit");
        assert!(shown.starts_with("…before "), "{shown}");
        assert!(shown.contains("before the [déposit] is paid after"), "{shown}");
        assert!(shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= LENGTH + 4, "{shown}");
    }

    #[test]
    fn a_short_text_is_shown_whole() {
        assert_eq!(
            shown("Deposit: 2,940 €, to the deposit account", "deposit"),
            "[Deposit]: 2,940 €, to the [deposit] account"
        );
    }

    #[test]
    fn letters_of_several_bytes_are_not_cut() {
        let text = format!("{}請求書{}", "日本語の文章。".repeat(30), "👩‍👩‍👧".repeat(100));
        assert!(shown(&text, "請求書").contains("[請求書]"));
    }
}
