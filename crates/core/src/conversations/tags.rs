//! Tags of a workspace with their counts, and tagging (specification 2.6, 4.6, 4.11).
//! One vocabulary serves live and sandbox; counts never include what the actor cannot see.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::PgConnection;
use unicode_normalization::UnicodeNormalization;

use crate::conversations::conversation::Locked;
use crate::conversations::timeline;
use crate::workspace::access::{Actor, By, SANDBOX};
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::TagId;
use rookery_base::store::db::Tx;
use rookery_reading::text;

/// Characters of a name, in the form in which it is stored.
pub const LONGEST_NAME: usize = 40;

#[derive(Debug)]
pub struct CountedTag {
    pub id: TagId,
    pub name: String,
    /// Conversations in every status that the actor can see.
    pub count: i64,
}

/// All tags, by name, that were ever used where the actor can see. A live key also gets the sandbox's tags (D114);
/// a test key gets only those, so that no live names leak to it.
pub async fn list(conn: &mut PgConnection, actor: &Actor) -> Result<Vec<CountedTag>> {
    let mut told = actor.audiences();
    told.push(SANDBOX);
    Ok(sqlx::query_as!(
        CountedTag,
        r#"select id as "id: TagId", name, coalesce(counted.n, 0)::bigint as "count!"
           from tags
           left join (
               select subject_id, sum(n) as n from (
                   select subject_id, n from counts
                   where workspace_id = $1 and what = 'tag' and audience = any($2)
                   union all
                   select subject_id, change from count_changes
                   where workspace_id = $1 and what = 'tag' and audience = any($2)) parts
               group by subject_id) counted on counted.subject_id = tags.id
           where workspace_id = $1 and (audiences && $3 or counted.n > 0)
           order by folded"#,
        actor.workspace.0,
        &actor.audiences(),
        &told
    )
    .fetch_all(conn)
    .await?)
}

/// Names that are offered to whoever tags something, by name.
pub async fn names(conn: &mut PgConnection, actor: &Actor) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select name from tags where workspace_id = $1 and audiences && $2 order by folded limit 200",
        actor.workspace.0,
        &actor.audiences()
    )
    .fetch_all(conn)
    .await?)
}

/// The same with what addresses call them.
pub async fn offered(conn: &mut PgConnection, actor: &Actor) -> Result<Vec<(TagId, String)>> {
    let rows = sqlx::query!(
        r#"select id as "id: TagId", name from tags where workspace_id = $1 and audiences && $2 order by folded limit 200"#,
        actor.workspace.0,
        &actor.audiences()
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

/// Its name, if it was ever used where the actor can see. Hidden and unknown ones are the same error.
pub async fn find_visible(conn: &mut PgConnection, actor: &Actor, tag: TagId) -> Result<String> {
    sqlx::query_scalar!(
        "select name from tags where workspace_id = $1 and id = $2 and audiences && $3",
        actor.workspace.0,
        tag.0,
        &actor.audiences()
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_ENDPOINT)
}

/// Tags by their names, where the actor can see them. Nothing when one of them is not there.
pub async fn named(conn: &mut PgConnection, actor: &Actor, names: &[String]) -> Result<Option<Vec<TagId>>> {
    if names.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let folded: Vec<String> = by_identity(names).into_keys().collect();
    let found = sqlx::query_scalar!(
        r#"select id as "id: TagId" from tags where workspace_id = $1 and folded = any($2) and audiences && $3"#,
        actor.workspace.0,
        &folded,
        &actor.audiences()
    )
    .fetch_all(conn)
    .await?;
    Ok((found.len() == folded.len()).then_some(found))
}

/// Removes first, then adds, so that a name in both lists ends up present. Unknown names are created. One timeline
/// entry lists what actually changed.
pub async fn change(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    actor: &Actor,
    add: &[String],
    remove: &[String],
) -> Result<()> {
    change_by(tx, conversation, &actor.by(), add, remove).await.map(drop)
}

/// The same, by whoever it is. Gives the tags that were put on and were not there before.
pub async fn change_by(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    by: &By,
    add: &[String],
    remove: &[String],
) -> Result<Vec<String>> {
    let add = by_identity(add);
    let mut remove = by_identity(remove);
    remove.retain(|folded, _| !add.contains_key(folded));
    let removed = take_away(tx, conversation, &remove).await?;
    let added = put_on(tx, conversation, &add).await?;
    if added.is_empty() && removed.is_empty() {
        return Ok(added);
    }
    let data = json!({ "added": &added, "removed": removed });
    timeline::append(tx, conversation.id, by, "tags", data).await?;
    Ok(added)
}

async fn take_away(tx: &mut Tx<'_>, conversation: &Locked, names: &Names) -> Result<Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = tx.workspace().0;
    let folded: Vec<String> = names.keys().cloned().collect();
    Ok(sqlx::query_scalar!(
        "delete from conversation_tags using tags
         where conversation_tags.workspace_id = $1 and conversation_id = $2 and tag_id = tags.id
           and tags.workspace_id = $1 and folded = any($3)
         returning tags.name",
        workspace,
        conversation.id.0,
        &folded
    )
    .fetch_all(&mut **tx)
    .await?)
}

async fn put_on(tx: &mut Tx<'_>, conversation: &Locked, names: &Names) -> Result<Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = tx.workspace().0;
    let ids: Vec<i64> = names.iter().map(|_| tx.mint::<TagId>().0).collect();
    let (folded, spelled): (Vec<String>, Vec<String>) =
        names.iter().map(|(folded, name)| (folded.clone(), name.clone())).unzip();
    // Sorted, as in every call, so that two calls that create the same tags cannot deadlock. One that is there already is
    // not touched: a conflict would lock its row until the commit, and mail that a rule tags would wait for other mail.
    sqlx::query!(
        "insert into tags (workspace_id, id, name, folded, audiences)
         select $1, id, name, folded, array[$5::bigint]
         from unnest($2::bigint[], $3::text[], $4::text[]) new(id, name, folded)
         where not exists (select from tags known where known.workspace_id = $1 and known.folded = new.folded
                             and known.audiences @> array[$5::bigint])
         order by folded
         on conflict (workspace_id, folded) do update set audiences = tags.audiences || excluded.audiences
             where not tags.audiences @> excluded.audiences",
        workspace,
        &ids,
        &spelled,
        &folded,
        conversation.audience
    )
    .execute(&mut **tx)
    .await?;
    Ok(sqlx::query_scalar!(
        r#"with added as (
               insert into conversation_tags (workspace_id, conversation_id, tag_id, audience)
               select $1, $2, id, $4 from tags where workspace_id = $1 and folded = any($3)
               on conflict do nothing
               returning tag_id)
           select name from added join tags on workspace_id = $1 and id = tag_id order by folded"#,
        workspace,
        conversation.id.0,
        &folded,
        conversation.audience
    )
    .fetch_all(&mut **tx)
    .await?)
}

/// Folded name → spelling, sorted by folded name.
type Names = BTreeMap<String, String>;

/// Names that differ only in letter case or white space are one tag; the first spelling is kept.
fn by_identity(names: &[String]) -> Names {
    let mut known = Names::new();
    for name in names {
        let name = spelling(name);
        known.entry(name.to_lowercase()).or_insert(name);
    }
    known
}

/// Whether two names are of one tag.
pub fn is_same(one: &str, other: &str) -> bool {
    spelling(one).to_lowercase() == spelling(other).to_lowercase()
}

/// A tag's name as it is stored.
pub fn spelling(name: &str) -> String {
    text::line(&name.nfc().collect::<String>())
}
