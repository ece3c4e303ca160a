//! Completes what somebody types as a recipient: contacts that they can see, those first who came last, and people of the team. What
//! they type is the beginning of an address, of its domain or of a word of the name.
//!
//! The newest contacts are looked at one by one, and older ones are found by whole words in the index, so it costs the same however
//! many there are.

use sqlx::PgConnection;

use crate::conversations::contacts::WALK;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::search_terms;

/// Lines of a list of suggestions.
const MOST: i64 = 8;
/// Contacts with a word that are looked at.
const MOST_HITS: i64 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedRecipient {
    pub email: String,
    pub name: Option<String>,
    pub is_team: bool,
}

pub async fn suggest(
    conn: &mut PgConnection,
    person: &Person,
    typed: &str,
) -> Result<Vec<SuggestedRecipient>> {
    let begins = typed.trim().to_lowercase();
    if begins.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = team(conn, person, &begins).await?;
    found.extend(newest(conn, person, &begins).await?);
    if (found.len() as i64) < MOST {
        found.extend(older(conn, person, &begins).await?);
    }
    let mut once: Vec<SuggestedRecipient> = Vec::new();
    for one in found {
        if (once.len() as i64) < MOST && !once.iter().any(|other| other.email == one.email) {
            once.push(one);
        }
    }
    Ok(once)
}

async fn team(conn: &mut PgConnection, person: &Person, begins: &str) -> Result<Vec<SuggestedRecipient>> {
    Ok(sqlx::query_as!(
        SuggestedRecipient,
        r#"select email, name as "name?", true as "is_team!" from people
           where workspace_id = $1 and removed_at is null and id <> $3
             and (starts_with(lower(email), $2) or position(' ' || $2 in ' ' || lower(name)) > 0)
           order by lower(name), id limit $4"#,
        person.workspace.0,
        begins,
        person.id.0,
        // Contacts have room beside a large team.
        MOST / 2
    )
    .fetch_all(conn)
    .await?)
}

async fn newest(conn: &mut PgConnection, person: &Person, begins: &str) -> Result<Vec<SuggestedRecipient>> {
    Ok(sqlx::query_as!(
        SuggestedRecipient,
        r#"with walk as materialized (
               select c.* from unnest($2::bigint[]) seen(audience)
               cross join lateral (
                   select email, name, since from contacts
                   where workspace_id = $1 and contacts.audience = seen.audience and since > 0
                   order by since desc limit $4) c)
           select email as "email!", max(name) as name, false as "is_team!" from walk
           where starts_with(lower(email), $3) or position('@' || $3 in lower(email)) > 0
              or position(' ' || $3 in ' ' || lower(name)) > 0
           group by email order by max(since) desc limit $5"#,
        person.workspace.0,
        &person.audiences(),
        begins,
        WALK,
        MOST
    )
    .fetch_all(conn)
    .await?)
}

/// A word that more contacts have finds any of them.
async fn older(conn: &mut PgConnection, person: &Person, begins: &str) -> Result<Vec<SuggestedRecipient>> {
    let words = search_terms::hash_query(person.workspace, begins);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    Ok(sqlx::query_as!(
        SuggestedRecipient,
        r#"with hits as materialized (
               select email, name, since, audience from contacts where words @> $3 and workspace_id = $1 limit $4)
           select email as "email!", max(name) as name, false as "is_team!" from hits
           where audience = any($2)
           group by email order by max(since) desc limit $5"#,
        person.workspace.0,
        &person.audiences(),
        &words,
        MOST_HITS,
        MOST
    )
    .fetch_all(conn)
    .await?)
}
