//! Where a timeline begins for its reader: a line before what is new, and messages that were read folded to one line each.
//! A message that still waits for somebody is never folded.

use chrono::{DateTime, Utc};

use crate::conversation::timeline::entry::{Message, TimelineEntry};
use crate::visit::MemberRequest;
use rookery_base::ids::MessageId;

/// Messages before the newest that are not folded: a short conversation is read at a glance.
const FEW: usize = 2;
/// Bytes of a folded message's beginning, more or less.
const SHOWN_START: usize = 160;

/// With a line before the first mail that the reader has not seen, when they have seen some.
pub fn with_mark(mut entries: Vec<TimelineEntry>, seen_to: Option<DateTime<Utc>>) -> Vec<TimelineEntry> {
    let Some(seen_to) = seen_to else { return entries };
    let is_new = |entry: &TimelineEntry| matches!(entry, TimelineEntry::Message(message) if message.kind == "entry--in" && message.at > seen_to);
    if let Some(at) = entries.iter().position(is_new).filter(|at| *at > 0) {
        entries.insert(at, TimelineEntry::Since);
    }
    entries
}

/// Folds what was read, but for the newest message and those whose other form was asked for.
pub fn fold_read(entries: &mut [TimelineEntry], asked: &MemberRequest, seen_to: Option<DateTime<Utc>>) {
    let Some(seen_to) = seen_to else { return };
    let mut messages: Vec<&mut Message> = entries
        .iter_mut()
        .filter_map(|entry| match entry {
            TimelineEntry::Message(message) => Some(&mut **message),
            _ => None,
        })
        .collect();
    let newest = messages.iter().rposition(|message| !message.is_draft()).unwrap_or_default();
    if newest < FEW {
        return;
    }
    let is_asked_for = |id: MessageId| {
        let shown = ["whole", "html", "images", "text"];
        shown.iter().any(|how| asked.queries().all(how).any(|one| one == id.to_string()))
    };
    for message in &mut messages[..newest] {
        message.is_folded = message.at <= seen_to && message.is_over() && !is_asked_for(message.id);
    }
}

/// The first words, on one line.
pub fn start_of(text: &str) -> String {
    let mut start = String::new();
    for word in text.split_whitespace() {
        if start.len() > SHOWN_START {
            break;
        }
        start.push_str(if start.is_empty() { "" } else { " " });
        start.extend(word.chars().take(SHOWN_START));
    }
    start
}
