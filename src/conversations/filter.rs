//! What a list or a search is asked for, and the branches of the index that answer it: one for each inbox or audience,
//! newest first, merged by whoever asks.

use crate::ids::MailboxId;
use crate::workspace::access::MemberId;

#[derive(Clone, Debug)]
pub struct Filter {
    pub view: View,
    pub mailbox: Option<MailboxId>,
    pub assigned: Option<Assigned>,
    pub reference: Option<String>,
    /// Hashes of the words that must all occur (terms.rs).
    pub words: Option<Vec<i64>>,
    pub limit: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Open,
    Waiting,
    Snoozed,
    Closed,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    To(MemberId),
    ToNobody,
}

/// Hands the branches of a filter to another macro: a query that gives `id` and `last_message_at` of the
/// newest `$5` conversations of each branch, and the arguments behind it. `$1` is the workspace, `$2` now,
/// `$3` the audiences, `$4` the view.
///
/// A branch mentions only what its index holds, so that it need not look at the rows. Two things stand
/// apart for that: the snoozed, whose time must be compared, and those of `open` whose snooze has run out
/// but who were not woken yet; these are few, and read before anything else is asked of them.
macro_rules! branches {
    ($form:ident, $conn:expr, $who:expr, $now:expr, $filter:expr, $depth:expr $(, $more:expr)*) => {{
        let (workspace, audiences, view) = ($who.workspace.0, $who.audiences(), $filter.view.as_str());
        let mailbox = $filter.mailbox.map(|mailbox| mailbox.0);
        let assignee = $filter.assigned.map(|assigned| assigned.stored());
        match (&$filter.reference, mailbox, assignee) {
            (Some(reference), mailbox, assignee) => $form!(
                $conn,
                "select id, last_message_at from conversations
                 where workspace_id = $1 and reference = $6 and audience = any($3)
                   and ($4 = 'all' or $4 = case when snoozed_until <= $2 then 'open' else view end)
                   and ($7::bigint is null or mailbox_id = $7)
                   and ($8::bigint is null or assignee_id = $8)
                 order by last_message_at desc, id desc limit $5",
                ["$9" "$10"],
                workspace, $now, &audiences, view, $depth, reference, mailbox, assignee $(, $more)*
            ),
            (None, mailbox, Some(assignee)) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from mailboxes
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and assignee_id = $6
                         and mailbox_id = mailboxes.id and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and assignee_id = $6
                         and mailbox_id = mailboxes.id and view = $4 and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch
                  where mailboxes.workspace_id = $1 and mailboxes.audience = any($3)
                    and ($7::bigint is null or mailboxes.id = $7))
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3) and assignee_id = $6 and ($7::bigint is null or mailbox_id = $7))",
                ["$8" "$9"],
                workspace, $now, &audiences, view, $depth, assignee, mailbox $(, $more)*
            ),
            (None, Some(mailbox), None) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from mailboxes
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and mailbox_id = mailboxes.id and view = $4
                         and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch
                  where mailboxes.workspace_id = $1 and mailboxes.id = $6 and mailboxes.audience = any($3))
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3) and mailbox_id = $6)",
                ["$7" "$8"],
                workspace, $now, &audiences, view, $depth, mailbox $(, $more)*
            ),
            (None, None, None) => $form!(
                $conn,
                "(select branch.id, branch.last_message_at
                  from unnest($3::bigint[]) seen(audience)
                  cross join lateral (
                      (select id, last_message_at from conversations
                       where $4 <> 'snoozed' and workspace_id = $1 and audience = seen.audience and view = $4
                       order by last_message_at desc, id desc limit $5)
                      union all
                      (select id, last_message_at from conversations
                       where $4 = 'snoozed' and workspace_id = $1 and audience = seen.audience and view = $4
                         and snoozed_until > $2
                       order by last_message_at desc, id desc limit $5)) branch)
                 union all
                 (select id, last_message_at
                  from (select * from conversations
                        where $4 = 'open' and workspace_id = $1 and snoozed_until <= $2 offset 0) expired
                  where audience = any($3))",
                ["$6" "$7"],
                workspace, $now, &audiences, view, $depth $(, $more)*
            ),
        }
    }};
}
pub(super) use branches;

impl View {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Snoozed => "snoozed",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
}

impl Assigned {
    /// As the column `assignee_id` has it.
    pub(super) fn stored(self) -> i64 {
        match self {
            Self::To(member) => member.columns().1,
            Self::ToNobody => 0,
        }
    }
}
