//! Contacts: whoever a conversation is with, by their address. Rows of `contacts` follow the conversations by triggers, one for
//! each audience in which somebody has a conversation, so whoever sees none of these does not see the contact
//! (docs/decisions/contacts.md). `words` brings their words in, `suggest` completes what somebody types.

pub mod suggest;
pub mod words;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::list::{self, ListedConversation};
use crate::workspace::access::Actor;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ContactId, ConversationId};

pub const NO_CONTACT: Error = Error::Missing("No such contact.");
/// The newest contacts that are looked at for words before the index is asked. A word that many have is met among them.
const WALK: i64 = 2_000;

#[derive(Clone, Debug)]
pub struct ListedContact {
    pub id: ContactId,
    pub email: String,
    pub name: Option<String>,
    /// Where they stand in the list: the first conversation they had in an inbox that is seen.
    pub since: i64,
}

#[derive(Clone, Debug)]
pub struct ContactFilter {
    /// Of this one address.
    pub email: Option<String>,
    /// Hashes of the words that name and address must all have.
    pub words: Option<Vec<i64>>,
    /// Goes on behind this place.
    pub before: Option<i64>,
    pub limit: i64,
}

/// Contacts that somebody can see, those first who came last. Of somebody with conversations in several audiences the newest
/// place counts, of those whose name has the words: it need not be the same everywhere.
pub async fn list(
    conn: &mut PgConnection,
    who: &Actor,
    filter: &ContactFilter,
) -> Result<Vec<ListedContact>> {
    if let Some(email) = &filter.email {
        return with_address(conn, who, email, filter).await;
    }
    let Some(words) = &filter.words else { return newest(conn, who, filter).await };
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let (found, walked) = walk(conn, who, filter, words).await?;
    if found.len() as i64 == filter.limit || walked < WALK {
        Ok(found)
    } else {
        by_index(conn, who, filter, words).await
    }
}

/// Each is looked for in the other audiences by itself: joined, the planner may read the whole table for a page.
async fn newest(conn: &mut PgConnection, who: &Actor, filter: &ContactFilter) -> Result<Vec<ListedContact>> {
    Ok(sqlx::query_as!(
        ListedContact,
        r#"select c.id as "id!: ContactId", c.email as "email!", c.name, c.since as "since!"
           from unnest($2::bigint[]) seen(audience)
           cross join lateral (
               select id, email, name, since from contacts c
               where workspace_id = $1 and c.audience = seen.audience and since > 0 and since < $3
                 and not exists (select from unnest($2::bigint[]) beside(audience)
                                 cross join lateral (
                                     select since from contacts other
                                     where workspace_id = $1 and other.audience = beside.audience
                                       and other.email = c.email offset 0) other
                                 where (other.since, beside.audience) > (c.since, c.audience))
               order by since desc limit $4) c
           order by c.since desc limit $4"#,
        who.workspace.0,
        &who.audiences(),
        filter.before.unwrap_or(i64::MAX),
        filter.limit
    )
    .fetch_all(conn)
    .await?)
}

/// Those of the newest who have all words, and how many were looked at. A materialised part keeps the order of its rows; ordering again
/// would look for all of them in the other audiences.
async fn walk(
    conn: &mut PgConnection,
    who: &Actor,
    filter: &ContactFilter,
    words: &[i64],
) -> Result<(Vec<ListedContact>, i64)> {
    let rows = sqlx::query!(
        r#"with walk as materialized (
               select c.* from unnest($2::bigint[]) seen(audience)
               cross join lateral (
                   select id, email, name, since, audience, words from contacts
                   where workspace_id = $1 and contacts.audience = seen.audience and since > 0 and since < $3
                   order by since desc limit $4) c
               order by since desc limit $4)
           select id as "id!: ContactId", email as "email!", name, since as "since!",
               (select count(*) from walk) as "walked!"
           from walk c
           where words @> $5
             and not exists (select from unnest($2::bigint[]) beside(audience)
                             cross join lateral (
                                 select since, words from contacts other
                                 where workspace_id = $1 and other.audience = beside.audience and other.email = c.email
                                 offset 0) other
                             where other.words @> $5 and (other.since, beside.audience) > (c.since, c.audience))
           limit $6"#,
        who.workspace.0,
        &who.audiences(),
        filter.before.unwrap_or(i64::MAX),
        WALK,
        words,
        filter.limit
    )
    .fetch_all(conn)
    .await?;
    // Without hits nobody says how far it went; then the index is asked, which costs little.
    let walked = rows.first().map_or(WALK, |row| row.walked);
    let contact = |id, email, name, since| ListedContact { id, email, name, since };
    Ok((rows.into_iter().map(|row| contact(row.id, row.email, row.name, row.since)).collect(), walked))
}

/// Words that the walk hardly met. Hashes include the workspace, so the index is asked for words only.
async fn by_index(
    conn: &mut PgConnection,
    who: &Actor,
    filter: &ContactFilter,
    words: &[i64],
) -> Result<Vec<ListedContact>> {
    Ok(sqlx::query_as!(
        ListedContact,
        r#"with hits as materialized (
               select id, email, name, since, audience from contacts where words @> $4 and workspace_id = $1)
           select id as "id!: ContactId", email as "email!", name, since as "since!" from hits c
           where audience = any($2) and since < $3
             and not exists (select from contacts other
                             where other.workspace_id = $1 and other.audience = any($2) and other.email = c.email
                               and other.words @> $4 and (other.since, other.audience) > (c.since, c.audience))
           order by since desc limit $5"#,
        who.workspace.0,
        &who.audiences(),
        filter.before.unwrap_or(i64::MAX),
        words,
        filter.limit
    )
    .fetch_all(conn)
    .await?)
}

/// The one who has an address, if their name and address have the words too.
async fn with_address(
    conn: &mut PgConnection,
    who: &Actor,
    email: &str,
    filter: &ContactFilter,
) -> Result<Vec<ListedContact>> {
    Ok(sqlx::query_as!(
        ListedContact,
        r#"select id as "id: ContactId", email, name, since from contacts
           where workspace_id = $1 and audience = any($2) and email = $3 and since < $4
             and ($5::bigint[] is null or words @> $5)
           order by since desc limit 1"#,
        who.workspace.0,
        &who.audiences(),
        email,
        filter.before.unwrap_or(i64::MAX),
        filter.words.as_deref() as _
    )
    .fetch_all(conn)
    .await?)
}

/// Hidden and unknown ones are the same error.
pub async fn find_visible(conn: &mut PgConnection, who: &Actor, id: ContactId) -> Result<ListedContact> {
    sqlx::query_as!(
        ListedContact,
        r#"select id as "id: ContactId", email, name, since from contacts
           where workspace_id = $1 and id = $2 and audience = any($3) order by since desc limit 1"#,
        who.workspace.0,
        id.0,
        &who.audiences()
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_CONTACT)
}

/// Conversations with a contact that somebody can see, in every status, those first that began last.
pub async fn conversations(
    conn: &mut PgConnection,
    who: &Actor,
    now: DateTime<Utc>,
    contact: &ListedContact,
    before: Option<ConversationId>,
    limit: i64,
) -> Result<Vec<ListedConversation>> {
    let found = sqlx::query_scalar!(
        r#"select branch.id as "id!" from unnest($2::bigint[]) seen(audience)
           cross join lateral (
               select c.id from conversations c
               where c.workspace_id = $1 and c.audience = seen.audience and c.contact_email = $3 and c.id < $4
               order by c.id desc limit $5) branch
           order by branch.id desc limit $5"#,
        who.workspace.0,
        &who.audiences(),
        contact.email,
        before.map_or(i64::MAX, |before| before.0),
        limit
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut page = list::these(conn, who, now, &found).await?;
    page.sort_by_key(|one| std::cmp::Reverse(one.id));
    Ok(page)
}
