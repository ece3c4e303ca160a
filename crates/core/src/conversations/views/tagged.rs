//! A list or a search narrowed to tags. Of a tag that few conversations have, those are looked at one by one; of one that
//! many have, the list is walked, and soon finds some. Either way a page costs so much and no more; where a walk comes to its
//! end without filling the page, the next goes on from there.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::filter::{ConversationCursor, ConversationFilter};
use crate::conversations::search::find;
use crate::conversations::unread;
use crate::conversations::views::rows::{self, RowsPage};
use crate::conversations::views::view::Order;
use crate::workspace::access::Actor;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, TagId};

/// A tag of more conversations is one that many have.
const FEW: i64 = 2_000;
/// How far a page looks.
const WALK: i64 = 400;

/// A page of a list, or of a search when the filter has words; and of what is unread only, if that is asked for.
pub async fn page(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
    tags: &[TagId],
    is_unread: bool,
) -> Result<RowsPage> {
    let (mut walked, end) = places(conn, person, now, filter, order, tags).await?;
    if is_unread {
        let unread = unread::among(conn, person, now, &numbers(&walked)).await?;
        walked.retain(|place| unread.contains(&place.id));
    }
    let next = cut(&mut walked, end, filter.limit);
    Ok(RowsPage { rows: rows::load(conn, person, now, &numbers(&walked)).await?, next })
}

/// A page of conversations that have all of these tags, and where the next one goes on.
pub async fn page_of(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    tags: &[TagId],
) -> Result<(Vec<i64>, Option<ConversationCursor>)> {
    let (mut walked, end) = places(conn, who, now, filter, Order::Newest, tags).await?;
    let next = cut(&mut walked, end, filter.limit);
    Ok((numbers(&walked), next))
}

/// Keeps one page, and says where the next goes on.
fn cut(
    walked: &mut Vec<ConversationCursor>,
    end: Option<ConversationCursor>,
    limit: i64,
) -> Option<ConversationCursor> {
    let more = walked.len() as i64 > limit;
    walked.truncate(limit as usize);
    if more { walked.last().copied() } else { end }
}

/// Those with the tags among as much of the list as a page looks at, and the end of the walk if it was not the end of the list.
async fn places(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
    tags: &[TagId],
) -> Result<(Vec<ConversationCursor>, Option<ConversationCursor>)> {
    let asked = ConversationFilter { limit: WALK, ..filter.clone() };
    let rarest = match (tags.first(), &filter.words, &filter.reference) {
        (Some(tag), None, None) if is_of_few(conn, who, *tag).await? => Some(*tag),
        _ => None,
    };
    let mut walked = match (&filter.words, rarest) {
        (Some(words), _) => {
            let found = find::find(conn, who, now, &asked, words).await?;
            placed(conn, who, &found).await?
        }
        (None, Some(tag)) => of_few(conn, who, now, &asked, order, tag).await?,
        (None, None) => rows::places(conn, who, now, &asked, order).await?,
    };
    walked.retain(|place| filter.reaches(place.at));
    let end = walked.last().copied().filter(|_| walked.len() as i64 >= WALK);
    for tag in tags {
        let tagged = among(conn, who, *tag, &numbers(&walked)).await?;
        walked.retain(|place| tagged.contains(&place.id));
    }
    Ok((walked, end))
}

fn numbers(places: &[ConversationCursor]) -> Vec<i64> {
    places.iter().map(|place| place.id.0).collect()
}

async fn is_of_few(conn: &mut PgConnection, who: &Actor, tag: TagId) -> Result<bool> {
    let counted = sqlx::query_scalar!(
        r#"select count(*) as "count!" from (
               select from conversation_tags where workspace_id = $1 and tag_id = $2 limit $3) few"#,
        who.workspace.0,
        tag.0,
        FEW + 1
    )
    .fetch_one(conn)
    .await?;
    Ok(counted <= FEW)
}

async fn of_few(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    filter: &ConversationFilter,
    order: Order,
    tag: TagId,
) -> Result<Vec<ConversationCursor>> {
    let (at, id) = filter.before.map(|place| (place.at, place.id.0)).unzip();
    Ok(sqlx::query_as!(
        ConversationCursor,
        r#"select c.last_message_at as at, c.id as "id: ConversationId"
           from (select conversation_id from conversation_tags where workspace_id = $1 and tag_id = $2 limit $10) tagged
           cross join lateral (select * from conversations
                               where workspace_id = $1 and conversations.id = tagged.conversation_id
                                 and audience = any($3) offset 0) c
           where ($4 = 'all' or $4 = case when snoozed_until <= $5 then 'open' else view end)
             and ($6::bigint is null or mailbox_id = $6) and ($7::bigint is null or assignee_id = $7)
             and ($8::timestamptz is null
                  or case when $11 then (c.last_message_at, c.id) > ($8, $9::bigint)
                     else (c.last_message_at, c.id) < ($8, $9::bigint) end)
           order by case when $11 then c.last_message_at end, case when $11 then c.id end,
                    c.last_message_at desc, c.id desc
           limit $12"#,
        who.workspace.0,
        tag.0,
        &who.audiences(),
        filter.view.as_str(),
        now,
        filter.mailbox.map(|mailbox| mailbox.0),
        filter.assigned.map(|assigned| assigned.stored()),
        at,
        id,
        FEW,
        order == Order::Oldest,
        filter.limit
    )
    .fetch_all(conn)
    .await?)
}

/// Which of these have the tag. The caller has made sure that the person can see them.
pub async fn among(
    conn: &mut PgConnection,
    who: &Actor,
    tag: TagId,
    conversations: &[i64],
) -> Result<HashSet<ConversationId>> {
    let ids = sqlx::query_scalar!(
        r#"select asked.id as "id!: ConversationId" from unnest($3::bigint[]) asked(id)
           where exists (select from conversation_tags
                         where workspace_id = $1 and conversation_id = asked.id and tag_id = $2)"#,
        who.workspace.0,
        tag.0,
        conversations
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().collect())
}

/// Where found conversations stand in the list, newest first.
async fn placed(conn: &mut PgConnection, who: &Actor, found: &[i64]) -> Result<Vec<ConversationCursor>> {
    Ok(sqlx::query_as!(
        ConversationCursor,
        r#"select c.last_message_at as "at!", c.id as "id!: ConversationId" from unnest($2::bigint[]) asked(id)
           cross join lateral (select last_message_at, id from conversations
                               where workspace_id = $1 and conversations.id = asked.id offset 0) c
           order by c.last_message_at desc, c.id desc"#,
        who.workspace.0,
        found
    )
    .fetch_all(conn)
    .await?)
}
