//! What a list or a search is asked for, and the branches of the index that answer it: one for each inbox or audience,
//! in the order of the list, merged by whoever asks. A list goes on from a place, so a page far down costs what the
//! first one costs.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use crate::conversations::search::sought::SoughtWords;
use crate::workspace::access::MemberId;
use rookery_base::ids::{ConversationId, MailboxId, NotAnId};

#[derive(Clone, Debug)]
pub struct ConversationFilter {
    pub view: View,
    pub mailbox: Option<MailboxId>,
    pub assigned: Option<Assigned>,
    pub reference: Option<String>,
    pub words: Option<SoughtWords>,
    /// Goes on behind this conversation.
    pub before: Option<ConversationCursor>,
    /// Ends where the newest mail is older than this. Only of what is newest first.
    pub since: Option<DateTime<Utc>>,
    pub limit: i64,
}

impl ConversationFilter {
    /// Whether a conversation with this newest mail is not older than what is wanted.
    pub fn reaches(&self, newest: DateTime<Utc>) -> bool {
        self.since.is_none_or(|since| newest >= since)
    }
}

/// The place of a conversation in a list. Written as microseconds and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationCursor {
    pub at: DateTime<Utc>,
    pub id: ConversationId,
}

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum View {
        Open = "open",
        Waiting = "waiting",
        Snoozed = "snoozed",
        Closed = "closed",
        All = "all",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    To(MemberId),
    ToNobody,
}

/// Hands the branches of a filter to another macro: a query that gives `id` and `last_message_at` of the first `$5`
/// conversations of each branch, the order, and the arguments behind it. `$1` is the workspace, `$2` now, `$3` the
/// audiences, `$4` the view, `$6` and `$7` the place to go on from.
///
/// A branch mentions only what its index holds, so that it need not look at the rows. Two things stand
/// apart for that: the snoozed, whose time must be compared, and those of `open` whose snooze has run out
/// but who were not woken yet; these are few, and read before anything else is asked of them. All statuses
/// together are four branches.
macro_rules! branches {
    (newest first, $($rest:tt)*) => {
        branches!(
            @ "(last_message_at, id) < (coalesce($6::timestamptz, 'infinity'), coalesce($7::bigint, 9223372036854775807))",
            "last_message_at desc, id desc",
            $($rest)*
        )
    };
    (oldest first, $($rest:tt)*) => {
        branches!(
            @ "(last_message_at, id) > (coalesce($6::timestamptz, '-infinity'), coalesce($7::bigint, -1))",
            "last_message_at, id",
            $($rest)*
        )
    };
    (@ $place:tt, $order:tt, $form:ident, $conn:expr, $who:expr, $now:expr, $filter:expr, $depth:expr $(, $more:expr)*) => {{
        let (workspace, audiences, view) = ($who.workspace.0, $who.audiences(), $filter.view.as_str());
        let mailbox = $filter.mailbox.map(|mailbox| mailbox.0);
        let assignee = $filter.assigned.map(|assigned| assigned.stored());
        let (at, id) = $filter.before.map(|place| (place.at, place.id.0)).unzip();
        match (&$filter.reference, mailbox, assignee) {
            (Some(reference), mailbox, assignee) => $form!(
                $conn,
                ["select id, last_message_at from conversations
                  where workspace_id = $1 and reference = $8 and audience = any($3)
                    and ($4 = 'all' or $4 = case when snoozed_until <= $2 then 'open' else view end)
                    and ($9::bigint is null or mailbox_id = $9)
                    and ($10::bigint is null or assignee_id = $10)
                    and " + $place + " order by " + $order + " limit $5"],
                $order,
                ["$11" "$12" "$13" "$14" "$15"],
                workspace, $now, &audiences, view, $depth, at, id, reference, mailbox, assignee $(, $more)*
            ),
            (None, mailbox, Some(assignee)) => $form!(
                $conn,
                ["(select branch.id, branch.last_message_at
                   from mailboxes
                   cross join unnest(case $4 when 'all' then array['open', 'waiting', 'snoozed', 'closed'] else array[$4] end)
                       shown(view)
                   cross join lateral (
                       (select id, last_message_at from conversations
                        where shown.view <> 'snoozed' and workspace_id = $1 and assignee_id = $8
                          and mailbox_id = mailboxes.id and view = shown.view
                          and " + $place + " order by " + $order + " limit $5)
                       union all
                       (select id, last_message_at from conversations
                        where shown.view = 'snoozed' and workspace_id = $1 and assignee_id = $8
                          and mailbox_id = mailboxes.id and view = shown.view and snoozed_until > $2
                          and " + $place + " order by " + $order + " limit $5)) branch
                   where mailboxes.workspace_id = $1 and mailboxes.audience = any($3)
                     and ($9::bigint is null or mailboxes.id = $9))
                  union all
                  (select id, last_message_at
                   from (select * from conversations
                         where $4 in ('open', 'all') and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                   where audience = any($3) and assignee_id = $8 and ($9::bigint is null or mailbox_id = $9)
                     and " + $place + ")"],
                $order,
                ["$10" "$11" "$12" "$13" "$14"],
                workspace, $now, &audiences, view, $depth, at, id, assignee, mailbox $(, $more)*
            ),
            (None, Some(mailbox), None) => $form!(
                $conn,
                ["(select branch.id, branch.last_message_at
                   from mailboxes
                   cross join unnest(case $4 when 'all' then array['open', 'waiting', 'snoozed', 'closed'] else array[$4] end)
                       shown(view)
                   cross join lateral (
                       (select id, last_message_at from conversations
                        where shown.view <> 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id
                          and view = shown.view
                          and " + $place + " order by " + $order + " limit $5)
                       union all
                       (select id, last_message_at from conversations
                        where shown.view = 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id
                          and view = shown.view and snoozed_until > $2
                          and " + $place + " order by " + $order + " limit $5)) branch
                   where mailboxes.workspace_id = $1 and mailboxes.id = $8 and mailboxes.audience = any($3))
                  union all
                  (select id, last_message_at
                   from (select * from conversations
                         where $4 in ('open', 'all') and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                   where audience = any($3) and mailbox_id = $8
                     and " + $place + ")"],
                $order,
                ["$9" "$10" "$11" "$12" "$13"],
                workspace, $now, &audiences, view, $depth, at, id, mailbox $(, $more)*
            ),
            (None, None, None) => $form!(
                $conn,
                ["(select branch.id, branch.last_message_at
                   from unnest($3::bigint[]) seen(audience)
                   cross join unnest(case $4 when 'all' then array['open', 'waiting', 'snoozed', 'closed'] else array[$4] end)
                       shown(view)
                   cross join lateral (
                       (select id, last_message_at from conversations
                        where shown.view <> 'snoozed' and workspace_id = $1 and audience = seen.audience
                          and view = shown.view
                          and " + $place + " order by " + $order + " limit $5)
                       union all
                       (select id, last_message_at from conversations
                        where shown.view = 'snoozed' and workspace_id = $1 and audience = seen.audience
                          and view = shown.view and snoozed_until > $2
                          and " + $place + " order by " + $order + " limit $5)) branch)
                  union all
                  (select id, last_message_at
                   from (select * from conversations
                         where $4 in ('open', 'all') and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                   where audience = any($3)
                     and " + $place + ")"],
                $order,
                ["$8" "$9" "$10" "$11" "$12"],
                workspace, $now, &audiences, view, $depth, at, id $(, $more)*
            ),
        }
    }};
}
pub(in crate::conversations) use branches;

impl Assigned {
    /// As the column `assignee_id` has it.
    pub(in crate::conversations) fn stored(self) -> i64 {
        match self {
            Self::To(member) => member.columns().1,
            Self::ToNobody => 0,
        }
    }
}

impl fmt::Display for ConversationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.timestamp_micros(), self.id)
    }
}

impl FromStr for ConversationCursor {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let (at, id) = text.split_once('.').ok_or(NotAnId)?;
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(NotAnId)?;
        Ok(Self { at, id: id.parse()? })
    }
}
