//! Mail that a node has taken today, by sender, network and conversation, against the day's caps. A node counts in memory,
//! so that most mail costs no statement, and adds what it has counted to rows that all nodes share whenever that is a
//! fiftieth of the cap: a cap against floods need not be exact.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::NaiveDate;

use crate::ids::{MailboxId, WorkspaceId};

/// A daily quota of mail.
#[derive(Clone, Copy, Debug)]
pub struct DailyMail {
    pub mails: i32,
    pub bytes: i64,
}

impl DailyMail {
    pub fn from_megabytes(mails: u32, megabytes: u32) -> Self {
        Self { mails: i32::try_from(mails).unwrap_or(i32::MAX), bytes: i64::from(megabytes) * 1_000_000 }
    }
}

/// A node adds what it has counted to the shared rows so many times before a cap is reached.
const STEPS: i32 = 50;
/// Subjects a node counts at the same time. More are a flood from everywhere, which the caps of networks hold.
const COUNTED: usize = 100_000;

/// What a node has counted today.
#[derive(Default)]
pub struct Counts(Mutex<Held>);

/// Counts in two halves: when the newer one is full, it becomes the older, and what was in that is forgotten at once.
/// So whoever goes on sending stays, and no mail pays for looking at all others. What is forgotten begins anew and
/// learns from its row.
#[derive(Default)]
struct Held {
    newer: HashMap<QuotaKey, Count>,
    older: HashMap<QuotaKey, Count>,
}

impl Held {
    fn get(&self, subject: &QuotaKey) -> Option<Count> {
        self.newer.get(subject).or_else(|| self.older.get(subject)).copied()
    }

    fn put(&mut self, subject: QuotaKey, count: Count) {
        if self.newer.len() >= COUNTED / 2 && !self.newer.contains_key(&subject) {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(subject, count);
    }
}

/// A sender, a network or a conversation, for one inbox on one day.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuotaKey {
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
    pub fn take(
        &self,
        subjects: &[(QuotaKey, DailyMail)],
        bytes: i64,
    ) -> Option<Vec<(QuotaKey, (i32, i64))>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = |(subject, most): &(QuotaKey, DailyMail)| {
            counts.get(subject).unwrap_or_default().has_room(bytes, *most)
        };
        if !subjects.iter().all(has_room) {
            // Who is refused is remembered as one who goes on.
            for (subject, _) in subjects {
                if let Some(count) = counts.get(subject) {
                    counts.put(*subject, count);
                }
            }
            return None;
        }
        let mut due = Vec::new();
        for (subject, most) in subjects {
            let mut count = counts.get(subject).unwrap_or_default();
            count.own = (count.own.0 + 1, count.own.1 + bytes);
            if count.is_a_step(*most) {
                let (mails, bytes) = std::mem::take(&mut count.own);
                count.shared = (count.shared.0 + mails, count.shared.1 + bytes);
                due.push((*subject, (mails, bytes)));
            }
            counts.put(*subject, count);
        }
        Some(due)
    }

    /// What the rows have now.
    pub fn learn(&self, subject: QuotaKey, mails: i32, bytes: i64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut count) = counts.get(&subject) {
            count.shared = (count.shared.0.max(mails), count.shared.1.max(bytes));
            counts.put(subject, count);
        }
    }
}

#[cfg(test)]
impl Counts {
    fn held(&self) -> usize {
        let held = self.0.lock().unwrap();
        held.newer.len() + held.older.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn rows_are_written_in_steps_and_a_cap_holds_for_all_nodes_together() {
        let (day, most) = (NaiveDate::default(), DailyMail { mails: 100, bytes: 1_000_000 });
        let one = QuotaKey { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash: 3 };
        let (here, there) = (Counts::default(), Counts::default());
        let mut row = (0, 0);
        let mut taken = 0;
        for _ in 0..200 {
            for node in [&here, &there] {
                let Some(due) = node.take(&[(one, most)], 10) else { continue };
                taken += 1;
                for (subject, (mails, bytes)) in due {
                    row = (row.0 + mails, row.1 + bytes);
                    node.learn(subject, row.0, row.1);
                }
            }
        }
        // Each node may have one step that the other has not heard of.
        assert!((100..=104).contains(&taken), "{taken}");
        let large = DailyMail { mails: 100, bytes: 50 };
        let other = QuotaKey { hash: 4, ..one };
        assert!(here.take(&[(other, large)], 60).is_some(), "the first of a day");
        assert!(here.take(&[(other, large)], 1).is_none());
    }

    /// A flood from everywhere: every mail is of another sender, and each of them has a row already.
    #[test]
    fn a_mail_costs_the_same_when_no_more_can_be_counted() {
        let (day, most) = (NaiveDate::default(), DailyMail { mails: 2, bytes: 1_000_000 });
        let sender =
            |hash| QuotaKey { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash };
        let counts = Counts::default();
        let mut hash = 0;
        let mut taking = |mails: i64| {
            let begun = Instant::now();
            for _ in 0..mails {
                hash += 1;
                assert!(counts.take(&[(sender(hash), most)], 10).is_some());
            }
            begun.elapsed()
        };
        let filling = taking(COUNTED as i64);
        let beyond = taking(COUNTED as i64 / 50);
        assert!(beyond < filling * 2, "{filling:?} for {COUNTED}, {beyond:?} for a fiftieth more");
    }

    #[test]
    fn whoever_goes_on_sending_stays_counted_among_any_number_of_others() {
        let (day, most) = (NaiveDate::default(), DailyMail { mails: 3, bytes: 1_000_000 });
        let sender =
            |hash| QuotaKey { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash };
        let counts = Counts::default();
        let mut taken = 0;
        for hash in 1..=3 * COUNTED as i64 {
            counts.take(&[(sender(hash), most)], 10);
            if hash % 10_000 == 0 {
                taken += i64::from(counts.take(&[(sender(0), most)], 10).is_some());
            }
        }
        assert_eq!(taken, 3, "the cap holds");
        assert!(counts.held() <= COUNTED, "{}", counts.held());
    }

    #[test]
    fn a_mail_counts_for_all_or_for_none() {
        let day = NaiveDate::default();
        let subject =
            |hash| QuotaKey { workspace: WorkspaceId(1), mailbox: MailboxId(2), day, what: "sender", hash };
        let (few, many) = (DailyMail { mails: 1, bytes: 1_000 }, DailyMail { mails: 100, bytes: 1_000 });
        let counts = Counts::default();
        assert!(counts.take(&[(subject(1), few), (subject(2), many)], 1).is_some());
        for _ in 0..10 {
            assert!(counts.take(&[(subject(1), few), (subject(2), many)], 1).is_none());
        }
        let count = counts.0.lock().unwrap().get(&subject(2)).unwrap();
        assert_eq!(count.shared.0 + count.own.0, 1);
    }
}
