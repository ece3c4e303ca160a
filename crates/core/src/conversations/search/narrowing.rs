//! What the operators of a search name, looked up: tags, an inbox, whose it is. What is not there, or cannot be seen, is nothing that
//! could be found. What a list was asked for beside it has to hold too.

use sqlx::PgConnection;

use crate::conversations::filter::{Assigned, ConversationFilter, View};
use crate::conversations::search::query::{Query, WantedAssignee};
use crate::conversations::{tags, team};
use crate::workspace::access::Actor;
use crate::workspace::{domains, mailboxes};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, TagId};

#[derive(Debug, Default)]
pub struct Narrowing {
    pub tags: Vec<TagId>,
    status: Option<View>,
    mailbox: Option<MailboxId>,
    assigned: Option<Assigned>,
}

impl Narrowing {
    /// Nothing when something is named that is not there.
    pub async fn look_up(conn: &mut PgConnection, who: &Actor, query: &Query) -> Result<Option<Self>> {
        let Some(tags) = tags::named(conn, who, &query.tags).await? else { return Ok(None) };
        let mut narrowing = Self { tags, status: query.status, ..Self::default() };
        if let Some(inbox) = &query.inbox {
            narrowing.mailbox = inbox_named(conn, who, inbox).await?;
            if narrowing.mailbox.is_none() {
                return Ok(None);
            }
        }
        narrowing.assigned = match &query.assigned {
            None => None,
            Some(WantedAssignee::Me) => Some(Assigned::To(who.member)),
            Some(WantedAssignee::Nobody) => Some(Assigned::ToNobody),
            Some(WantedAssignee::Named(name)) => match member_named(conn, who, name).await? {
                Some(member) => Some(member),
                None => return Ok(None),
            },
        };
        Ok(Some(narrowing))
    }

    /// The filter with what was typed, which both have to hold; nothing when they contradict each other. `chosen`: the view
    /// that was asked for, if one was.
    pub fn narrow(&self, filter: ConversationFilter, chosen: Option<View>) -> Option<ConversationFilter> {
        let chosen = chosen.filter(|view| *view != View::All);
        let view = both(chosen, self.status)?.unwrap_or(filter.view);
        let mailbox = both(filter.mailbox, self.mailbox)?;
        let assigned = both(filter.assigned, self.assigned)?;
        Some(ConversationFilter { view, mailbox, assigned, ..filter })
    }
}

/// What both say, if they do not say different things.
fn both<T: PartialEq>(chosen: Option<T>, typed: Option<T>) -> Option<Option<T>> {
    match (chosen, typed) {
        (Some(chosen), Some(typed)) if chosen != typed => None,
        (chosen, typed) => Some(chosen.or(typed)),
    }
}

/// The inbox that has this address, or this name, among those that can be seen.
async fn inbox_named(conn: &mut PgConnection, who: &Actor, name: &str) -> Result<Option<MailboxId>> {
    let found = sqlx::query!(
        r#"select id as "id: MailboxId", lower(address) = $3 as "by_address!" from mailboxes
           where workspace_id = $1 and audience = any($2) and (lower(address) = $3 or lower(name) = $3)
           order by id limit 10"#,
        who.workspace.0,
        &who.audiences(),
        name
    )
    .fetch_all(&mut *conn)
    .await?;
    match &found[..] {
        // A further address of it, or another spelling of its domain.
        [] if name.contains('@') => {
            let there = mailboxes::at(conn, who.workspace, &domains::same_as(name)).await?;
            let seen = there.filter(|(inbox, _)| who.audiences().contains(&inbox.audience));
            Ok(seen.map(|(inbox, _)| inbox.id))
        }
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        several => match several.iter().find(|inbox| inbox.by_address) {
            Some(inbox) => Ok(Some(inbox.id)),
            None => {
                Err(Error::problem("q", "write the address after in: because several inboxes have that name"))
            }
        },
    }
}

/// Who is called so: by the whole name, by the beginning of it if nobody else's begins so, or by id where names do not tell.
async fn member_named(conn: &mut PgConnection, who: &Actor, name: &str) -> Result<Option<Assigned>> {
    if let Ok(member) = name.parse() {
        return Ok(Some(Assigned::To(member)));
    }
    let name = name.to_lowercase();
    let team = team::beside(conn, who).await?;
    let whole: Vec<_> = team.iter().filter(|member| member.name.to_lowercase() == name).collect();
    let begun: Vec<_> = team.iter().filter(|member| member.name.to_lowercase().starts_with(&name)).collect();
    match (&whole[..], &begun[..]) {
        ([one], _) | ([], [one]) => Ok(Some(Assigned::To(one.id))),
        ([], []) => Ok(None),
        ([], _) => {
            Err(Error::problem("q", "write the whole name after assigned: because several names begin so"))
        }
        _ => Err(Error::problem(
            "q",
            "write an id after assigned: as in assigned:user:usr_… because several have that name",
        )),
    }
}
