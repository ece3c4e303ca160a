//! Keeping rules: making, changing, ordering, turning on and off, removing, each with its entry in the audit log. Whoever
//! changes a rule owns it from then on: it acts on the private inboxes of nobody else, so no admin can look into another
//! person's mail by changing a rule of theirs.

use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::rules::broken::{self, Gone};
use crate::rules::definition::{Definition, LONGEST_NAME, MOST_RULES};
use crate::rules::matching::RuleOccasion;
use crate::workspace::access::{Actor, By, TEAM};
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::people::{Person, a_name};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, PersonId, RuleId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_reading::text::without_addresses;

const NO_RULE: Error = Error::Missing("No such rule.");

#[derive(Clone, Debug)]
pub struct Rule {
    pub id: RuleId,
    pub name: String,
    pub is_on: bool,
    /// Nothing when it cannot be read: a newer version wrote it.
    pub definition: Option<Definition>,
    pub maker: PersonId,
    pub maker_name: String,
}

impl Rule {
    /// Whether it may act on conversations that these people see.
    pub fn acts_on(&self, audience: i64) -> bool {
        audience == TEAM || audience == self.maker.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// Those that are on and can be read, in order. One statement, whatever a mail holds.
pub async fn active(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Rule>> {
    let mut rules = read(conn, workspace, true).await?;
    rules.retain(|rule| rule.definition.is_some());
    Ok(rules)
}

/// Whether a rule that is on runs when this tag is put on something.
pub async fn hears_tag(conn: &mut PgConnection, workspace: WorkspaceId, tag: &str) -> Result<bool> {
    let heard = RuleOccasion::Tags(vec![tag.to_owned()]);
    let rules = active(conn, workspace).await?;
    Ok(rules.iter().any(|rule| rule.definition.as_ref().is_some_and(|does| does.when.hears(&heard))))
}

/// All of them, in order.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<Rule>> {
    read(conn, workspace, false).await
}

async fn read(conn: &mut PgConnection, workspace: WorkspaceId, only_on: bool) -> Result<Vec<Rule>> {
    let rows = sqlx::query!(
        r#"select id as "id: RuleId", name, is_on, definition, maker_id as "maker: PersonId",
               -- Mail does not ask for it.
               case when $2 then '' else (
                   select people.name from people where workspace_id = $1 and people.id = maker_id) end as "maker_name!"
           from rules where workspace_id = $1 and (is_on or not $2) order by place, id limit $3"#,
        workspace.0,
        only_on,
        MOST_RULES as i64
    )
    .fetch_all(conn)
    .await?;
    let rule = |id, name, is_on, definition: Value, maker, maker_name| Rule {
        id,
        name,
        is_on,
        definition: serde_json::from_value(definition).ok(),
        maker,
        maker_name,
    };
    Ok(rows
        .into_iter()
        .map(|row| rule(row.id, row.name, row.is_on, row.definition, row.maker, row.maker_name))
        .collect())
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: RuleId) -> Result<Rule> {
    list(conn, workspace).await?.into_iter().find(|rule| rule.id == id).ok_or(NO_RULE)
}

/// Makes a rule, the last in order, or changes one.
pub async fn put(
    tx: &mut Tx<'_>,
    person: &Person,
    id: Option<RuleId>,
    name: &str,
    definition: Definition,
) -> Result<RuleId> {
    let name = a_name("Name", name, LONGEST_NAME)?;
    let definition = definition.checked()?;
    check_named(tx, person, &definition).await?;
    let rules = locked(tx).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    let did = match id {
        Some(id) => {
            let changed = sqlx::query!(
                "update rules set name = $3, definition = $4, maker_id = $5, changed_at = $6
                 where workspace_id = $1 and id = $2",
                workspace,
                id.0,
                name,
                Json(&definition) as _,
                person.id.0,
                now
            )
            .execute(&mut **tx)
            .await?;
            if changed.rows_affected() == 0 {
                return Err(NO_RULE);
            }
            Did::RuleChanged
        }
        None if rules.len() >= MOST_RULES => {
            return Err(Error::problem("Rules", format!("can be {MOST_RULES} at most, remove one first")));
        }
        None => Did::RuleMade,
    };
    let id = match id {
        Some(id) => id,
        None => {
            let id: RuleId = tx.mint();
            let place = rules.last().map_or(1, |(_, place)| place + 1);
            sqlx::query!(
                "insert into rules (workspace_id, id, place, name, is_on, definition, maker_id, created_at, changed_at)
                 values ($1, $2, $3, $4, true, $5, $6, $7, $7)",
                workspace,
                id.0,
                place,
                name,
                Json(&definition) as _,
                person.id.0,
                now
            )
            .execute(&mut **tx)
            .await?;
            id
        }
    };
    audit::record(tx, &person.by(), did, Subject { id: &id, name: &logged(&name) }, audit_data(&definition))
        .await?;
    Ok(id)
}

/// A name as the audit log has it, which forgets nothing: people call rules after those whose mail they are about.
fn logged(name: &str) -> String {
    without_addresses(name)
}

/// Kinds only: values may be addresses of customers, and the audit log forgets nothing.
fn audit_data(definition: &Definition) -> Value {
    let tests: Vec<&str> = definition.conditions.iter().map(|condition| condition.test.kind()).collect();
    let actions: Vec<&str> = definition.then.iter().map(|action| action.kind()).collect();
    json!({ "when": definition.when.kind(), "if": tests, "then": actions })
}

/// Whom and what it names is there, and whoever saves it can see it.
async fn check_named(tx: &mut Tx<'_>, person: &Actor, definition: &Definition) -> Result<()> {
    let workspace = tx.workspace();
    let gone = Gone::among(tx, workspace, std::slice::from_ref(definition)).await?;
    if let Some(problem) = broken::problems(definition, &gone).into_iter().next() {
        return Err(Error::problem("Rule", problem));
    }
    let named: Vec<i64> = definition.inboxes().map(|inbox| inbox.0).collect();
    let seen: Vec<MailboxId> = sqlx::query_scalar!(
        r#"select id as "id: MailboxId" from mailboxes where workspace_id = $1 and id = any($2) and audience = any($3)"#,
        workspace.0,
        &named,
        &person.audiences()
    )
    .fetch_all(&mut **tx)
    .await?;
    if definition.inboxes().all(|inbox| seen.contains(&inbox)) {
        Ok(())
    } else {
        Err(Error::problem("Rule", "names an inbox that you cannot see, choose another"))
    }
}

/// Ids and places of all, in order, kept from everybody else until the end: two people never order them at once.
async fn locked(tx: &mut Tx<'_>) -> Result<Vec<(RuleId, i32)>> {
    let workspace = tx.workspace().0;
    // The workspace's row is taken too, so that two first rules do not get one place.
    sqlx::query!("select from workspaces where id = $1 for no key update", workspace)
        .execute(&mut **tx)
        .await?;
    let rows = sqlx::query!(
        r#"select id as "id: RuleId", place from rules where workspace_id = $1 order by place, id for update"#,
        workspace
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.place)).collect())
}

/// Changes places with the one above or below. At the end nothing happens.
pub async fn shift(tx: &mut Tx<'_>, by: &By, id: RuleId, direction: Direction) -> Result<()> {
    let mut order: Vec<RuleId> = locked(tx).await?.into_iter().map(|(id, _)| id).collect();
    let from = order.iter().position(|one| *one == id).ok_or(NO_RULE)?;
    let to = match direction {
        Direction::Up => from.checked_sub(1),
        Direction::Down => Some(from + 1).filter(|to| *to < order.len()),
    };
    let Some(to) = to else { return Ok(()) };
    order.swap(from, to);
    let (workspace, ids) = (tx.workspace(), order.iter().map(|id| id.0).collect::<Vec<_>>());
    sqlx::query!(
        "update rules set place = ordered.place
         from unnest($2::bigint[]) with ordinality as ordered (id, place)
         where workspace_id = $1 and rules.id = ordered.id and rules.place <> ordered.place",
        workspace.0,
        &ids
    )
    .execute(&mut **tx)
    .await?;
    let name = find(tx, workspace, id).await?.name;
    let data = json!({ "from": from + 1, "to": to + 1 });
    audit::record(tx, by, Did::RuleMoved, Subject { id: &id, name: &logged(&name) }, data).await
}

pub async fn turn(tx: &mut Tx<'_>, by: &By, id: RuleId, on: bool) -> Result<()> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let turned = sqlx::query_scalar!(
        "update rules set is_on = $3, changed_at = $4 where workspace_id = $1 and id = $2 and is_on <> $3 returning name",
        workspace.0,
        id.0,
        on,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(name) = turned else { return find(tx, workspace, id).await.map(drop) };
    let did = if on { Did::RuleOn } else { Did::RuleOff };
    audit::record(tx, by, did, Subject { id: &id, name: &logged(&name) }, json!({})).await
}

pub async fn remove(tx: &mut Tx<'_>, by: &By, id: RuleId) -> Result<()> {
    let workspace = tx.workspace().0;
    let removed = sqlx::query_scalar!(
        "delete from rules where workspace_id = $1 and id = $2 returning name",
        workspace,
        id.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let name = removed.ok_or(NO_RULE)?;
    audit::record(tx, by, Did::RuleRemoved, Subject { id: &id, name: &logged(&name) }, json!({})).await
}
