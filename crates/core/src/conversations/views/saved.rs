//! Views that a person saved: what the list or the search is asked for, under a name of their own. They are addresses of
//! lists that are there already, read anew whenever they are opened, so a view shows nothing that its person cannot see.

use sqlx::PgConnection;

use crate::workspace::people::{Person, a_name};
use rookery_base::error::{Error, Result};
use rookery_base::ids::SavedViewId;
use rookery_base::store::db::Tx;
use rookery_reading::text::names_address;

/// Views of one person.
pub const MOST: usize = 50;
pub const LONGEST_NAME: usize = 60;
/// Characters of what is asked for, with its escapes.
const LONGEST_QUERY: usize = 3_000;
const NO_VIEW: Error = Error::Missing("No such view.");

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum SavedViewKind {
    List,
    Search,
}

#[derive(Clone, Debug)]
pub struct Saved {
    pub id: SavedViewId,
    pub name: String,
    pub kind: SavedViewKind,
    /// As its page reads it.
    pub query: String,
}

impl Saved {
    pub fn path(&self) -> String {
        match self.kind {
            SavedViewKind::List => format!("/inbox?{}", self.query),
            SavedViewKind::Search => format!("/search?{}", self.query),
        }
    }

    pub fn is_search(&self) -> bool {
        self.kind == SavedViewKind::Search
    }
}

/// A person's own, in their order.
pub async fn list(conn: &mut PgConnection, person: &Person) -> Result<Vec<Saved>> {
    Ok(sqlx::query_as!(
        Saved,
        r#"select id as "id: SavedViewId", name, kind as "kind: SavedViewKind", query from saved_views
           where workspace_id = $1 and person_id = $2 order by place, id limit $3"#,
        person.workspace.0,
        person.id.0,
        MOST as i64
    )
    .fetch_all(conn)
    .await?)
}

pub async fn find(conn: &mut PgConnection, person: &Person, id: SavedViewId) -> Result<Saved> {
    list(conn, person).await?.into_iter().find(|view| view.id == id).ok_or(NO_VIEW)
}

/// Saves what was asked for, the last in order.
pub async fn save(
    tx: &mut Tx<'_>,
    person: &Person,
    name: &str,
    kind: SavedViewKind,
    query: &str,
) -> Result<SavedViewId> {
    let name = a_name("Name", name, LONGEST_NAME)?;
    if query.chars().count() > LONGEST_QUERY {
        return Err(Error::problem("View", "asks for too much to be saved, look for fewer words"));
    }
    let views = locked(tx, person).await?;
    if views.len() >= MOST {
        return Err(Error::problem("Views", format!("can be {MOST} at most, remove one first")));
    }
    let id: SavedViewId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into saved_views (workspace_id, person_id, id, place, name, kind, query, created_at)
         select $1, $2, $3, coalesce(max(place), 0) + 1, $4, $5, $6, $7 from saved_views
         where workspace_id = $1 and person_id = $2",
        workspace,
        person.id.0,
        id.0,
        name,
        kind as SavedViewKind,
        query,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(id)
}

pub async fn rename(tx: &mut Tx<'_>, person: &Person, id: SavedViewId, name: &str) -> Result<()> {
    let name = a_name("Name", name, LONGEST_NAME)?;
    let workspace = tx.workspace().0;
    let renamed = sqlx::query!(
        "update saved_views set name = $4 where workspace_id = $1 and person_id = $2 and id = $3",
        workspace,
        person.id.0,
        id.0,
        name
    )
    .execute(&mut **tx)
    .await?;
    if renamed.rows_affected() == 0 { Err(NO_VIEW) } else { Ok(()) }
}

/// Changes places with the one above or below. At the end nothing happens.
pub async fn shift(tx: &mut Tx<'_>, person: &Person, id: SavedViewId, up: bool) -> Result<()> {
    let mut order = locked(tx, person).await?;
    let from = order.iter().position(|one| *one == id).ok_or(NO_VIEW)?;
    let to = if up { from.checked_sub(1) } else { Some(from + 1).filter(|to| *to < order.len()) };
    let Some(to) = to else { return Ok(()) };
    order.swap(from, to);
    let workspace = tx.workspace().0;
    sqlx::query!(
        "update saved_views set place = ordered.place
         from unnest($3::bigint[]) with ordinality as ordered (id, place)
         where workspace_id = $1 and person_id = $2 and saved_views.id = ordered.id",
        workspace,
        person.id.0,
        &order as &[SavedViewId]
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

pub async fn remove(tx: &mut Tx<'_>, person: &Person, id: SavedViewId) -> Result<()> {
    let workspace = tx.workspace().0;
    let removed = sqlx::query!(
        "delete from saved_views where workspace_id = $1 and person_id = $2 and id = $3",
        workspace,
        person.id.0,
        id.0
    )
    .execute(&mut **tx)
    .await?;
    if removed.rows_affected() == 0 { Err(NO_VIEW) } else { Ok(()) }
}

/// Somebody is erased: views of anybody that look for them go.
pub async fn erase(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    let views = sqlx::query!("select id, name, query from saved_views where workspace_id = $1", workspace)
        .fetch_all(&mut **tx)
        .await?;
    let naming = views
        .into_iter()
        .filter(|view| names_address(&view.name, address) || names_address(&words_of(&view.query), address));
    let naming: Vec<i64> = naming.map(|view| view.id).collect();
    sqlx::query!("delete from saved_views where workspace_id = $1 and id = any($2)", workspace, &naming)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// What a query asks for, without its escapes.
pub fn words_of(query: &str) -> String {
    let parts = url::form_urlencoded::parse(query.as_bytes());
    parts.map(|(_, value)| value.into_owned()).collect::<Vec<_>>().join(" ")
}

/// All ids in order. Two pages of one person never order them at once: the person's row is held.
async fn locked(tx: &mut Tx<'_>, person: &Person) -> Result<Vec<SavedViewId>> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "select from people where workspace_id = $1 and id = $2 for no key update",
        workspace,
        person.id.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(list(tx, person).await?.into_iter().map(|view| view.id).collect())
}
