//! A page of the list as a person sees it: beside what a summary has, whether they have read it, whether a draft waits
//! for approval, whether sending failed, whether files came.
//!
//! First the ids of a page, from the one index that fits; then what each shows, one statement for all. Both cost the
//! same on every page (tests/it/budgets.rs).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::conversation::{Contact, Member};
use crate::conversations::filter::{ConversationCursor, ConversationFilter, branches};
use crate::conversations::search::find;
use crate::conversations::status::Status;
use crate::conversations::unread::{self, FRESH};
use crate::conversations::views::view::Order;
use crate::workspace::access::{Actor, MemberId};
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MailboxId};

/// How far a page of unread conversations looks. The next page goes on from there.
pub const UNREAD_WALK: i64 = 400;

#[derive(Debug)]
pub struct ConversationRow {
    pub id: ConversationId,
    pub subject: String,
    pub snippet: String,
    pub status: Status,
    /// When it comes back, while it is snoozed.
    pub snoozed_until: Option<DateTime<Utc>>,
    pub contact: Contact,
    pub mailbox: MailboxId,
    pub mailbox_name: String,
    pub last_message_at: DateTime<Utc>,
    pub message_count: i32,
    pub assignee: Option<Member>,
    pub tags: Vec<String>,
    pub urgency: Option<String>,
    pub risk: Option<String>,
    /// Kept away from apps until a person releases it.
    pub held: bool,
    pub unread: bool,
    /// A draft of an agent waits for a person.
    pub to_approve: bool,
    /// A message of ours could not be sent, and none was sent since.
    pub failed: bool,
    /// Files came with its newest mail.
    pub files: bool,
    /// Who of the team wrote the newest message; None if the customer did.
    pub by: Option<MemberId>,
}

impl ConversationRow {
    pub fn place(&self) -> ConversationCursor {
        ConversationCursor { at: self.last_message_at, id: self.id }
    }
}

/// Some of a list, and where to go on when there is more.
#[derive(Debug, Default)]
pub struct RowsPage {
    pub rows: Vec<ConversationRow>,
    pub next: Option<ConversationCursor>,
}

/// A page of a list, or of a search when the filter has words; a search is newest first.
pub async fn page(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
) -> Result<RowsPage> {
    // One more than is shown says whether there is another page.
    let asked = ConversationFilter { limit: filter.limit + 1, ..filter.clone() };
    let mut found = match &filter.words {
        Some(words) => find::find(conn, person, now, &asked, words).await?,
        None => numbers(&places(conn, person, now, &asked, order).await?),
    };
    let more = found.len() as i64 > filter.limit;
    found.truncate(filter.limit as usize);
    let mut rows = load(conn, person, now, &found).await?;
    if filter.words.is_some() {
        rows.sort_by_key(|row| std::cmp::Reverse((row.last_message_at, row.id)));
    }
    let next = rows.last().filter(|_| more).map(ConversationRow::place);
    Ok(RowsPage { rows, next })
}

/// A page of what the person has not read, of as much of the list as one page looks at.
pub async fn unread_page(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
) -> Result<RowsPage> {
    let asked = ConversationFilter { limit: UNREAD_WALK, ..filter.clone() };
    let walked = places(conn, person, now, &asked, order).await?;
    let unread = unread::among(conn, person, now, &numbers(&walked)).await?;
    let mut shown: Vec<ConversationCursor> =
        walked.iter().copied().filter(|place| unread.contains(&place.id)).collect();
    let more = shown.len() as i64 > filter.limit;
    shown.truncate(filter.limit as usize);
    let next = if more {
        shown.last()
    } else {
        // The walk came to its end without filling the page.
        walked.last().filter(|_| walked.len() as i64 == UNREAD_WALK)
    };
    let rows = load(conn, person, now, &numbers(&shown)).await?;
    Ok(RowsPage { rows, next: next.copied() })
}

/// All of a list, or of a search, newest first: which they are, and nothing else of them.
pub async fn all(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
) -> Result<Vec<i64>> {
    match &filter.words {
        Some(words) => find::find(conn, person, now, filter, words).await,
        None => Ok(numbers(&places(conn, person, now, filter, Order::Newest).await?)),
    }
}

fn numbers(places: &[ConversationCursor]) -> Vec<i64> {
    places.iter().map(|place| place.id.0).collect()
}

macro_rules! first {
    ($conn:expr, [$($page:tt)+], $order:tt, [$($unused:tt)*], $($argument:expr),+) => {
        sqlx::query_as!(
            ConversationCursor,
            r#"select last_message_at as "at!", id as "id!: ConversationId" from ("# + $($page)+ + r#") branches
               order by "# + $order + r#" limit $5"#,
            $($argument),+
        )
        .fetch_all(&mut *$conn)
        .await?
    };
}

pub(super) async fn places(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
) -> Result<Vec<ConversationCursor>> {
    let mut places = match order {
        Order::Newest => branches!(newest first, first, conn, who, now, filter, filter.limit),
        Order::Oldest => branches!(oldest first, first, conn, who, now, filter, filter.limit),
    };
    places.retain(|place| filter.reaches(place.at));
    Ok(places)
}

/// Of each of these conversations that the person can see, what a row shows, in the same order.
pub async fn load(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    conversations: &[i64],
) -> Result<Vec<ConversationRow>> {
    let rows = sqlx::query!(
        r#"select c.id as "id: ConversationId", c.subject, c.snippet,
               case when c.snoozed_until <= $2 then 'open' else c.status end as "status!: Status",
               case when c.snoozed_until > $2 then c.snoozed_until end as snoozed_until,
               c.contact_name, c.contact_email, c.mailbox_id as "mailbox: MailboxId", c.last_message_at, c.message_count,
               (select name from mailboxes where workspace_id = $1 and mailboxes.id = c.mailbox_id) as "mailbox_name!",
               c.assignee_type, c.assignee_id,
               coalesce((select name from people where workspace_id = $1 and people.id = c.assignee_id),
                        (select name from agents where workspace_id = $1 and agents.id = c.assignee_id)) as assignee,
               array(select (select name from tags where workspace_id = $1 and tags.id = tagged.tag_id)
                     from conversation_tags tagged
                     where tagged.workspace_id = $1 and tagged.conversation_id = c.id
                     order by (select folded from tags where workspace_id = $1 and tags.id = tagged.tag_id)
                     limit 12) as "tags!",
               c.urgency, c.risk, c.held_at is not null as "held!",
               newest.to_approve as "to_approve!", newest.failed as "failed!", newest.files as "files!",
               newest.author_type, newest.author_id,
               -- As unread::among has it.
               coalesce(seen_to = '-infinity'
                        or (c.last_message_at > coalesce(seen_to, $6)
                            and exists (select from messages
                                        where workspace_id = $1 and conversation_id = c.id and item >= 0
                                          and at > coalesce(seen_to, $6) and direction = 'inbound')), false) as "unread!"
           from unnest($3::bigint[]) with ordinality asked(id, place)
           cross join lateral (select * from conversations
                               where workspace_id = $1 and conversations.id = asked.id and audience = any($4) offset 0) c
           cross join lateral (select (select seen_to from conversation_reads
                                       where workspace_id = $1 and conversation_id = c.id and person_id = $5) as seen_to) seen
           cross join lateral (
               select coalesce(bool_or(status = 'draft' and origin in ('agent', 'assistant')), false) as to_approve,
                      coalesce(max(at) filter (where status = 'failed')
                               > coalesce(max(at) filter (where status in ('scheduled', 'sending', 'sent')), '-infinity'),
                               false) as failed,
                      -- The pictures of our own signatures are no files of the mail.
                      coalesce(bool_or(attachments <> '[]' and (direction = 'inbound'
                          or attachments @? '$[*] ? (!exists(@.contentId) || !(@.contentId starts with "sgf_"))')), false) as files,
                      -- Of what the snippet is: never a draft or an automatic reply.
                      (array_agg(author_type order by at desc, item desc) filter (where is_shown))[1] as author_type,
                      (array_agg(author_id order by at desc, item desc) filter (where is_shown))[1] as author_id
               from (select at, item, status, origin, direction, attachments, author_type, author_id,
                            status is distinct from 'draft'
                                and not coalesce(origin = 'service' and answers is not null, false) as is_shown
                     from messages
                     where workspace_id = $1 and conversation_id = c.id and item >= 0
                     order by at desc, item desc limit 20) latest) newest
           order by asked.place"#,
        person.workspace.0,
        now,
        conversations,
        &person.audiences(),
        person.id.0,
        now - FRESH
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| {
        let assignee = MemberId::stored(row.assignee_type.as_deref(), row.assignee_id);
        ConversationRow {
            id: row.id,
            subject: row.subject,
            snippet: row.snippet,
            status: row.status,
            snoozed_until: row.snoozed_until,
            contact: Contact { name: row.contact_name, email: row.contact_email },
            mailbox: row.mailbox,
            mailbox_name: row.mailbox_name,
            last_message_at: row.last_message_at,
            message_count: row.message_count,
            assignee: assignee.map(|id| Member::named(id, row.assignee.unwrap_or_default())),
            tags: row.tags,
            urgency: row.urgency,
            risk: row.risk,
            held: row.held,
            unread: row.unread,
            to_approve: row.to_approve,
            failed: row.failed,
            files: row.files,
            by: MemberId::stored(row.author_type.as_deref(), row.author_id.unwrap_or_default()),
        }
    });
    Ok(rows.collect())
}
