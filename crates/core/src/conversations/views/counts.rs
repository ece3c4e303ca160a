//! How many there are of each view, for the side bar. No count grows with the workspace: open conversations have a
//! counter by inbox (inboxes.rs), all others are counted up to [`MOST`] and shown as "99+" beyond.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::views::saved::{Saved, SavedViewKind};
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::SavedViewId;

/// Where counting ends.
pub const MOST: i64 = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub mine: i64,
    pub unassigned: i64,
    pub waiting: i64,
    pub snoozed: i64,
    /// Drafts of agents and assistants that wait for a person.
    pub to_approve: i64,
    /// Mail that is about to leave.
    pub outgoing: i64,
    /// What the person was told of and has not read.
    pub notices: i64,
    /// Conversations in which the person was mentioned and has not looked since, of the newest they were told of.
    pub mentioned: i64,
}

pub async fn load(conn: &mut PgConnection, person: &Person, now: DateTime<Utc>) -> Result<Counts> {
    Ok(with_saved(conn, person, now).await?.0)
}

/// The same and the views that the person saved, which stand beside them: one statement asks for all of it.
pub async fn with_saved(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
) -> Result<(Counts, Vec<Saved>)> {
    let row = sqlx::query!(
        r#"with seen as materialized (
               select id, audience from mailboxes where workspace_id = $1 and audience = any($2)),
           expired as materialized (
               select assignee_id from (select * from conversations
                                        where workspace_id = $1 and snoozed_until <= $3 offset 0) due
               where audience = any($2))
           select
               (select count(*) from (
                    (select from seen cross join lateral (
                         select from conversations
                         where workspace_id = $1 and assignee_id = $4 and mailbox_id = seen.id and view = 'open'
                         limit $5) few)
                    union all (select from expired where assignee_id = $4)
                    limit $5) few) as "mine!",
               (select count(*) from (
                    (select from seen cross join lateral (
                         select from conversations
                         where workspace_id = $1 and assignee_id = 0 and mailbox_id = seen.id and view = 'open'
                         limit $5) few)
                    union all (select from expired where assignee_id = 0)
                    limit $5) few) as "unassigned!",
               (select count(*) from (
                    select from unnest($2::bigint[]) team(audience) cross join lateral (
                        select from conversations
                        where workspace_id = $1 and audience = team.audience and view = 'waiting'
                        limit $5) few limit $5) few) as "waiting!",
               (select count(*) from (
                    select from unnest($2::bigint[]) team(audience) cross join lateral (
                        select from conversations
                        where workspace_id = $1 and audience = team.audience and view = 'snoozed' and snoozed_until > $3
                        limit $5) few limit $5) few) as "snoozed!",
               (select count(*) from (
                    select from seen cross join lateral (
                        select from messages
                        where workspace_id = $1 and mailbox_id = seen.id and status = 'draft'
                          and author_type is distinct from 'user'
                        limit $5) few limit $5) few) as "to_approve!",
               (select count(*) from (
                    select from seen cross join lateral (
                        (select from messages
                         where workspace_id = $1 and mailbox_id = seen.id and status = 'scheduled' limit $5)
                        union all
                        (select from messages
                         where workspace_id = $1 and mailbox_id = seen.id and status = 'sending' limit $5)) few
                    limit $5) few) as "outgoing!",
               (select count(*) from (
                    select from notifications n
                    join conversations c on c.workspace_id = $1 and c.id = n.conversation_id
                    where n.workspace_id = $1 and n.person_id = $4 and n.read_at is null and c.audience = any($2)
                    limit $5) few) as "notices!",
               (select count(*) from (
                    select from (select conversation_id, reason from notifications
                                 where workspace_id = $1 and person_id = $4 and read_at is null
                                 order by at desc limit 400) newest
                    join conversations c on c.workspace_id = $1 and c.id = newest.conversation_id
                    where newest.reason = 'mentioned' and c.audience = any($2)
                    limit $5) few) as "mentioned!",
               saved.ids as "ids!: Vec<SavedViewId>", saved.names as "names!", saved.kinds as "kinds!", saved.queries as "queries!"
           from (select coalesce(array_agg(id order by place, id), '{}') as ids,
                        coalesce(array_agg(name order by place, id), '{}') as names,
                        coalesce(array_agg(kind order by place, id), '{}') as kinds,
                        coalesce(array_agg(query order by place, id), '{}') as queries
                 from saved_views where workspace_id = $1 and person_id = $4) saved"#,
        person.workspace.0,
        &person.audiences(),
        now,
        person.id.0,
        MOST
    )
    .fetch_one(conn)
    .await?;
    let counts = Counts {
        mine: row.mine,
        unassigned: row.unassigned,
        waiting: row.waiting,
        snoozed: row.snoozed,
        to_approve: row.to_approve,
        outgoing: row.outgoing,
        notices: row.notices,
        mentioned: row.mentioned,
    };
    let named = row.ids.into_iter().zip(row.names);
    let asked = row.kinds.into_iter().zip(row.queries);
    let view = |((id, name), (kind, query)): ((SavedViewId, String), (String, String))| {
        let kind = if kind == "search" { SavedViewKind::Search } else { SavedViewKind::List };
        Saved { id, name, kind, query }
    };
    Ok((counts, named.zip(asked).map(view).collect()))
}
