//! Inboxes carry what the directory says of their domains: whether they receive and send. It is written down when a domain goes
//! from one workspace to another, when mail is refused, at the start and from time to time; and owners whose inboxes stop are told
//! in the same transaction, however their domain was lost.

use std::collections::BTreeSet;

use serde_json::json;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::notices::{self, NoticeWords};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::addresses::domain_of;
use rookery_base::store::db::Tx;
use rookery_base::store::domains::Holder;
use rookery_base::store::standings::DomainStanding;

/// The worker's loop.
pub const LOOP: &str = "settle domains";
/// Addresses that are looked at together.
const BATCH: i64 = 5000;
/// Of addresses that are wrong, so many are put right in one go.
const AT_ONCE: usize = 10_000;
/// Of domains that were lost, so many are named.
const NAMED: usize = 20;

/// An address of an inbox that neither receives nor sends.
#[derive(Clone, Debug)]
pub struct NotOurs {
    pub workspace: WorkspaceId,
    pub address: String,
}

/// Gives every domain in use that it can to whoever uses it, and settles each workspace of this cell with an address that the
/// directory says is not its own and that nothing marks as such.
pub async fn settle_all(app: &App) -> Result<()> {
    app.directory.keep_domains_in_use().await?;
    let wrong = not_ours(app, AT_ONCE, Marked::No).await?;
    let workspaces: BTreeSet<i64> = wrong.iter().map(|one| one.workspace.0).collect();
    for workspace in workspaces {
        settle(app, WorkspaceId(workspace)).await?;
    }
    Ok(())
}

/// Of which addresses somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    Any,
    /// Those that nobody has found out about yet.
    No,
}

/// Addresses of live inboxes of this cell, and their further addresses, whose domain is not their workspace's.
pub async fn not_ours(app: &App, most: usize, marked: Marked) -> Result<Vec<NotOurs>> {
    let (mut found, mut last): (Vec<NotOurs>, Option<NotOurs>) = (Vec::new(), None);
    while found.len() < most {
        let some = in_use(app, last.as_ref(), marked).await?;
        last = some.last().cloned();
        if last.is_none() {
            break;
        }
        let mut domains: Vec<String> = some.iter().map(|one| domain_of(&one.address)).collect();
        domains.dedup();
        let holders = app.directory.holders_of(&domains).await?;
        let has = |one: &NotOurs, holder: &Holder| holder.workspace == one.workspace;
        let doubtful =
            |one: &&NotOurs| holders.get(&domain_of(&one.address)).is_none_or(|holder| !has(one, holder));
        let doubtful: Vec<NotOurs> = some.iter().filter(doubtful).cloned().collect();
        for of_one in doubtful.chunk_by(|one, next| one.workspace == next.workspace) {
            let addresses: Vec<String> = of_one.iter().map(|one| one.address.clone()).collect();
            let standings = app.directory.standings(of_one[0].workspace, &addresses).await?;
            let both = of_one.iter().zip(standings);
            let foreign = both.filter(|(_, standing)| !matches!(standing, DomainStanding::Ours(_)));
            found.extend(foreign.map(|(one, _)| one.clone()));
        }
    }
    found.truncate(most);
    Ok(found)
}

/// The next addresses of live inboxes, by workspace.
async fn in_use(app: &App, after: Option<&NotOurs>, marked: Marked) -> Result<Vec<NotOurs>> {
    let (workspace, address) = after.map_or((i64::MIN, ""), |last| (last.workspace.0, &last.address));
    Ok(sqlx::query_as!(
        NotOurs,
        r#"select workspace_id as "workspace!: WorkspaceId", address as "address!" from (
               (select workspace_id, address from mailboxes
                where (workspace_id, address) > ($1, $2) and kind <> 'sandbox' and closed_at is null
                  and (unproven_at is null or not $3)
                order by workspace_id, address limit $4)
               union all
               (select workspace_id, address from mailbox_aliases
                where (workspace_id, address) > ($1, $2) and (unproven_at is null or not $3)
                order by workspace_id, address limit $4)) those
           order by workspace_id, address limit $4"#,
        workspace,
        address,
        marked == Marked::No,
        BATCH
    )
    .fetch_all(&mut *app.connection().await?)
    .await?)
}

/// Writes down at the inboxes what the directory says of their domains, and enters the addresses of those that are ours. A workspace
/// of another cell has none here.
pub async fn settle(app: &App, workspace: WorkspaceId) -> Result<()> {
    let rows = sqlx::query!(
        r#"select address as "address!", unproven_at is not null as "unproven!" from mailboxes
           where workspace_id = $1 and kind <> 'sandbox'
           union all select address, unproven_at is not null from mailbox_aliases where workspace_id = $1"#,
        workspace.0
    )
    .fetch_all(&mut *app.connection().await?)
    .await?;
    let addresses: Vec<String> = rows.iter().map(|row| row.address.clone()).collect();
    let standings = app.directory.standings(workspace, &addresses).await?;
    let entered = app.directory.entered(workspace, &addresses).await?;
    let (mut changed, mut unproven): (Vec<String>, Vec<bool>) = (Vec::new(), Vec::new());
    for (row, standing) in rows.iter().zip(standings) {
        let is_ours = matches!(standing, DomainStanding::Ours(_))
            && (entered.contains(&row.address)
                || app.directory.reserve_address(workspace, &row.address).await?);
        if is_ours == row.unproven {
            changed.push(row.address.clone());
            unproven.push(!is_ours);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    // Of two who settle at once one finds something to write, and tells.
    let stopped = sqlx::query_scalar!(
        r#"with those as (select * from unnest($2::text[], $3::bool[]) as t (address, unproven)),
           inboxes as (
               update mailboxes m set unproven_at = case when those.unproven then $4::timestamptz end from those
               where workspace_id = $1 and m.address = those.address and (unproven_at is null) = those.unproven
               returning m.address, unproven_at is not null and closed_at is null as stops),
           further as (
               update mailbox_aliases a set unproven_at = case when those.unproven then $4::timestamptz end from those
               where workspace_id = $1 and a.address = those.address and (unproven_at is null) = those.unproven
               returning a.address, unproven_at is not null as stops)
           select address as "address!" from inboxes where stops
           union all select address from further where stops"#,
        workspace.0,
        &changed,
        &unproven,
        now
    )
    .fetch_all(&mut *tx)
    .await?;
    let domains: BTreeSet<String> = stopped.iter().map(|address| domain_of(address)).collect();
    if !domains.is_empty() {
        tell(&mut tx, &domains.into_iter().collect::<Vec<_>>()).await?;
    }
    tx.commit().await
}

/// Owners are told, and the log of what was changed has it.
async fn tell(tx: &mut Tx<'_>, domains: &[String]) -> Result<()> {
    for domain in domains.iter().take(NAMED) {
        let subject = Subject { id: domain, name: domain };
        audit::record(tx, &By::System, Did::DomainLost, subject, json!({})).await?;
    }
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let owners = sqlx::query_scalar!(
        "select email from people where workspace_id = $1 and role = 'owner' and removed_at is null order by id",
        workspace.0
    )
    .fetch_all(&mut **tx)
    .await?;
    let named = if domains.len() > NAMED {
        format!("{} and {} more", domains[..NAMED].join(", "), domains.len() - NAMED)
    } else {
        domains.join(", ")
    };
    let body = format!(
        "Inboxes with an address at {named} can no longer receive or send email. On this server the domain is not yours: \
         another workspace has proven it or was given it, or nobody has proven it.\n\n\
         If it is yours, prove it under Settings, Domains, or ask your server administrator.\n"
    );
    let words = NoticeWords { kind: "domain-lost", subject: "Mail of your domain has stopped", body: &body };
    notices::write_to(tx, workspace, now, &random, &owners, words).await
}
