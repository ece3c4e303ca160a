//! Mail that a node has taken today, by sender, network and conversation, against the day's caps. A node counts in memory,
//! so that most mail costs no statement, and adds what it has counted to rows that all nodes share whenever that is a
//! fiftieth of the cap: a cap against floods need not be exact.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::NaiveDate;

use crate::config::DailyMail;
use crate::ids::{MailboxId, WorkspaceId};

/// A node adds what it has counted to the shared rows so many times before a cap is reached.
const STEPS: i32 = 50;
/// Subjects a node counts at the same time. More are a flood from everywhere, which the caps of networks hold.
const COUNTED: usize = 100_000;

/// What a node has counted today.
#[derive(Default)]
pub struct Counts(Mutex<HashMap<Subject, Count>>);

/// A sender, a network or a conversation, for one inbox on one day.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    pub workspace: WorkspaceId,
    pub mailbox: MailboxId,
    pub day: NaiveDate,
    pub what: &'static str,
    pub hash: i64,
}

#[derive(Clone, Copy, Default)]
struct Count {
    /// Of all nodes, as the shared row had it.
    shared: (i32, i64),
    /// Ours since then.
    own: (i32, i64),
}

impl Count {
    /// The first mail of a day is always taken: one that is larger than the cap would never come through.
    fn has_room(&self, bytes: i64, most: DailyMail) -> bool {
        let (mails, held) = (self.shared.0 + self.own.0, self.shared.1 + self.own.1);
        mails == 0 || (mails < most.mails && held + bytes <= most.bytes)
    }

    fn is_a_step(&self, most: DailyMail) -> bool {
        self.own.0 >= (most.mails / STEPS).max(1) || self.own.1 >= most.bytes / i64::from(STEPS)
    }
}

impl Counts {
    /// Counts a mail for all of these, or for none when one of them has no room. Gives what is to be added to rows.
    pub fn take(&self, subjects: &[(Subject, DailyMail)], bytes: i64) -> Option<Vec<(Subject, (i32, i64))>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |counts: &HashMap<Subject, Count>, subject| counts.get(subject).copied().unwrap_or_default();
        if !subjects.iter().all(|(subject, most)| of(&counts, subject).has_room(bytes, *most)) {
            return None;
        }
        if counts.len() >= COUNTED {
            let today = subjects.iter().map(|(subject, _)| subject.day).max();
            counts.retain(|subject, count| Some(subject.day) >= today && count.shared.0 > 0);
        }
        let mut due = Vec::new();
        for (subject, most) in subjects {
            let mut count = of(&counts, subject);
            count.own = (count.own.0 + 1, count.own.1 + bytes);
            if count.is_a_step(*most) {
                let (mails, bytes) = std::mem::take(&mut count.own);
                count.shared = (count.shared.0 + mails, count.shared.1 + bytes);
                due.push((*subject, (mails, bytes)));
            }
            counts.insert(*subject, count);
        }
        Some(due)
    }

    /// What the rows have now.
    pub fn learn(&self, subject: Subject, shared: (i32, i64)) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&subject) {
            count.shared = (count.shared.0.max(shared.0), count.shared.1.max(shared.1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_in_steps_and_a_cap_holds_for_all_nodes_together() {
        let (day, most) = (NaiveDate::default(), DailyMail { mails: 100, bytes: 1_000_000 });
        let one = Subject { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash: 3 };
        let (here, there) = (Counts::default(), Counts::default());
        let mut row = (0, 0);
        let mut taken = 0;
        for _ in 0..200 {
            for node in [&here, &there] {
                let Some(due) = node.take(&[(one, most)], 10) else { continue };
                taken += 1;
                for (subject, (mails, bytes)) in due {
                    row = (row.0 + mails, row.1 + bytes);
                    node.learn(subject, row);
                }
            }
        }
        // Each node may have one step that the other has not heard of.
        assert!((100..=104).contains(&taken), "{taken}");
        let large = DailyMail { mails: 100, bytes: 50 };
        let other = Subject { hash: 4, ..one };
        assert!(here.take(&[(other, large)], 60).is_some(), "the first of a day");
        assert!(here.take(&[(other, large)], 1).is_none());
    }

    #[test]
    fn a_mail_counts_for_all_or_for_none() {
        let day = NaiveDate::default();
        let subject =
            |hash| Subject { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash };
        let (few, many) = (DailyMail { mails: 1, bytes: 1_000 }, DailyMail { mails: 100, bytes: 1_000 });
        let counts = Counts::default();
        assert!(counts.take(&[(subject(1), few), (subject(2), many)], 1).is_some());
        for _ in 0..10 {
            assert!(counts.take(&[(subject(1), few), (subject(2), many)], 1).is_none());
        }
        let count = counts.0.lock().unwrap()[&subject(2)];
        assert_eq!(count.shared.0 + count.own.0, 1);
    }
}
