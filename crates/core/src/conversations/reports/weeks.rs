//! The last twelve weeks of the inboxes that somebody can see. A few hundred small rows for each inbox, however much mail
//! there is.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::conversations::inboxes::{self, CountedMailbox};
use crate::conversations::reports::waits;
use crate::workspace::access::Actor;
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_base::zone::Zone;

pub const SHOWN: usize = 12;

/// What happened in a week, in one inbox or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub arrived: i64,
    pub answered: i64,
    /// Drafts that were approved as they were written, and those that were changed first.
    pub approved: i64,
    pub edited: i64,
    /// At the end of the week; of this one, now. Nothing where it is not known: nobody counted yet.
    pub open: Option<i64>,
    /// First answers by how long they took.
    waits: Vec<(i16, i64)>,
}

impl Figures {
    /// Half of the first answers took no longer.
    pub fn half(&self) -> Option<TimeDelta> {
        waits::within(&self.waits, 50)
    }

    /// Nine in ten took no longer.
    pub fn most(&self) -> Option<TimeDelta> {
        waits::within(&self.waits, 90)
    }

    /// Everything of both. What is open is that of the later.
    pub fn and(mut self, later: &Self) -> Self {
        self.arrived += later.arrived;
        self.answered += later.answered;
        self.approved += later.approved;
        self.edited += later.edited;
        self.open = later.open;
        self.waits.extend(&later.waits);
        self.waits = summed(self.waits);
        self
    }

    fn beside(mut self, other: &Self) -> Self {
        let open = match (self.open, other.open) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        self = self.and(other);
        self.open = open;
        self
    }
}

fn summed(waits: Vec<(i16, i64)>) -> Vec<(i16, i64)> {
    let mut sums: BTreeMap<i16, i64> = BTreeMap::new();
    for (bucket, n) in waits {
        *sums.entry(bucket).or_default() += n;
    }
    sums.into_iter().collect()
}

/// Of each inbox, its weeks from the oldest to this one.
pub struct WeeksReport {
    pub weeks: Vec<NaiveDate>,
    pub inboxes: Vec<(CountedMailbox, Vec<Figures>)>,
}

impl WeeksReport {
    /// All inboxes together, by week.
    pub fn together(&self) -> Vec<Figures> {
        let week = |n: usize| {
            let each = self.inboxes.iter().map(|(_, weeks)| &weeks[n]);
            each.fold(Figures::default(), Figures::beside)
        };
        (0..self.weeks.len()).map(week).collect()
    }
}

/// Twelve weeks, this one last. The inboxes that the reader can see are part of the query.
pub async fn lately(conn: &mut PgConnection, who: &Actor, now: DateTime<Utc>) -> Result<WeeksReport> {
    let this = Zone::load(conn, who.workspace).await?.week(now);
    let weeks: Vec<NaiveDate> = (0..SHOWN as u64)
        .rev()
        .map(|ago| this.checked_sub_days(Days::new(7 * ago)).unwrap_or(this))
        .collect();
    let first = weeks.first().copied().unwrap_or(this);
    let rows = sqlx::query!(
        r#"select m.id as "mailbox!: MailboxId", kept.what as "what!", kept.week as "week!", kept.shard as "shard!", kept.n as "n!"
           from mailboxes m
           cross join unnest(array['arrived', 'answered', 'approved', 'edited', 'open', 'wait']) counted(what)
           cross join lateral (
               (select what, week, shard, n from report_counts
                where workspace_id = $1 and mailbox_id = m.id and report_counts.what = counted.what and week >= $3)
               union all
               -- What was open when the first week began.
               (select what, week, shard, n from report_counts
                where workspace_id = $1 and mailbox_id = m.id and report_counts.what = counted.what
                  and counted.what = 'open' and week < $3
                order by week desc limit 1)) kept
           where m.workspace_id = $1 and m.audience = any($2)"#,
        who.workspace.0,
        &who.audiences(),
        first
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut counted: HashMap<MailboxId, BTreeMap<NaiveDate, Figures>> = HashMap::new();
    for row in rows {
        let figures = counted.entry(row.mailbox).or_default().entry(row.week).or_default();
        let n = i64::from(row.n);
        match row.what.as_str() {
            "arrived" => figures.arrived += n,
            "answered" => figures.answered += n,
            "approved" => figures.approved += n,
            "edited" => figures.edited += n,
            "open" => figures.open = Some(n),
            _ => figures.waits.push((row.shard, n)),
        }
    }
    let seen = inboxes::list(conn, who, now).await?;
    let inboxes = seen.into_iter().map(|inbox| {
        let counted = counted.remove(&inbox.id).unwrap_or_default();
        let mut figures = in_order(&counted, &weeks);
        if let Some(this) = figures.last_mut() {
            this.open = Some(inbox.open);
        }
        (inbox, figures)
    });
    Ok(WeeksReport { inboxes: inboxes.collect(), weeks })
}

/// Every week, also those in which nothing happened: what was open stays open until something changes.
fn in_order(counted: &BTreeMap<NaiveDate, Figures>, weeks: &[NaiveDate]) -> Vec<Figures> {
    let first = weeks.first().copied().unwrap_or_default();
    let mut open = counted.range(..first).filter_map(|(_, figures)| figures.open).next_back();
    let week = |week: &NaiveDate| {
        let mut figures = counted.get(week).cloned().unwrap_or_default();
        open = figures.open.or(open);
        figures.open = open;
        figures
    };
    weeks.iter().map(week).collect()
}
