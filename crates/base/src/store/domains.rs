//! What the directory knows of domains: which workspace has which, and by what proof (docs/decisions/whose-domain.md). Every
//! change is one statement, so of two who want one domain exactly one has it.

use std::collections::{HashMap, HashSet};

use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::store::addresses::{ascii_domain, domain_of, domain_spellings, key, spellings, with_those_above};
use crate::store::directory::Directory;

/// Of who uses a domain, and of domains that nobody has, so many are read.
const MOST_OTHERS: i64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum DomainProof {
    /// In use before domains had to be proven, or typed where there was one workspace only. Whoever proves it gets it.
    Kept,
    /// By the operator.
    Assigned,
    /// A record of the domain named the workspace.
    Dns,
}

/// Who has a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The domain itself, or the nearest above it that somebody has.
    pub domain: String,
    pub workspace: WorkspaceId,
    pub proof: DomainProof,
}

/// A workspace that mail to an address can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimant {
    pub workspace: WorkspaceId,
    /// The directory names one of the spellings as its address.
    pub is_listed: bool,
}

impl Directory {
    /// Of a domain in its ASCII form. The domain of a workspace's sandbox is that workspace's.
    pub async fn holder_of(&self, domain: &str) -> Result<Option<Holder>> {
        Ok(self.holders_of(&[domain.to_owned()]).await?.remove(domain))
    }

    /// The same of many, by domain. What nobody has is left out.
    pub async fn holders_of(&self, domains: &[String]) -> Result<HashMap<String, Holder>> {
        let names: Vec<String> = domains.iter().flat_map(|domain| with_those_above(domain)).collect();
        let rows = sqlx::query_as!(
            Holder,
            r#"select domain, workspace_id as "workspace: WorkspaceId", proof as "proof: DomainProof"
               from directory.domains where domain = any($1)"#,
            &names
        )
        .fetch_all(&self.pool)
        .await?;
        let mut holders = HashMap::new();
        for domain in domains {
            let with_above = with_those_above(domain);
            let nearest = with_above.iter().find_map(|name| rows.iter().find(|row| row.domain == *name));
            if let Some(holder) = nearest {
                holders.insert(domain.clone(), holder.clone());
            } else if let Some(slug) = domain.strip_suffix(".test")
                && let Some(workspace) = self.workspace_of_slug(slug).await?
            {
                let holder = Holder { domain: domain.clone(), workspace, proof: DomainProof::Assigned };
                holders.insert(domain.clone(), holder);
            }
        }
        Ok(holders)
    }

    /// Whether the workspace has had any address of the domain since before domains had to be proven.
    pub async fn keeps_any(&self, workspace: WorkspaceId, domain: &str) -> Result<bool> {
        Ok(sqlx::query_scalar!(
            r#"select exists (select from directory.addresses
                              where split_part(address, '@', 2) = any($1) and workspace_id = $2 and kept) as "kept!""#,
            &domain_spellings(domain),
            workspace.0
        )
        .fetch_one(&self.pool)
        .await?)
    }

    /// Whether there is one workspace and no more.
    pub async fn is_alone(&self) -> Result<bool> {
        Ok(sqlx::query_scalar!(
            r#"select count(*) = 1 as "alone!" from (select from directory.workspaces limit 2) those"#
        )
        .fetch_one(&self.pool)
        .await?)
    }

    /// Whom mail to one of these spellings can be for, first of all who has the domain. Beside it, of a domain that nobody
    /// proved, those who had such an address before; an address without a tag comes before one with it.
    pub async fn claimants(&self, domain: &str, wanted: &[String]) -> Result<Vec<Claimant>> {
        let listed = sqlx::query!(
            r#"select address, workspace_id as "workspace: WorkspaceId", kept from directory.addresses
               where address = any($1) order by workspace_id"#,
            wanted
        )
        .fetch_all(&self.pool)
        .await?;
        let holder = self.holder_of(domain).await?;
        let mut found: Vec<WorkspaceId> = holder.iter().map(|holder| holder.workspace).collect();
        if holder.as_ref().is_none_or(|holder| holder.proof == DomainProof::Kept) {
            found.extend(listed.iter().filter(|row| row.kept).map(|row| row.workspace));
            let has_plain = |workspace: &WorkspaceId| {
                listed.iter().any(|row| row.workspace == *workspace && !row.address.contains('+'))
            };
            let has_domain =
                |workspace: WorkspaceId| holder.as_ref().is_some_and(|holder| holder.workspace == workspace);
            found.sort_by_key(|workspace| (!has_plain(workspace), !has_domain(*workspace), workspace.0));
            found.dedup();
        }
        // Made by a node of the version before, where nothing has to be proven.
        if found.is_empty() && !listed.is_empty() && self.is_alone().await? {
            found.extend(listed.first().map(|row| row.workspace));
        }
        let is_listed = |workspace| listed.iter().any(|row| row.workspace == workspace);
        Ok(found
            .into_iter()
            .map(|workspace| Claimant { workspace, is_listed: is_listed(workspace) })
            .collect())
    }

    /// Who has one of these addresses in the directory, whoever has their domain.
    pub async fn listed(&self, addresses: &[String]) -> Result<Vec<WorkspaceId>> {
        Ok(sqlx::query_scalar!(
            r#"select distinct workspace_id as "workspace: WorkspaceId" from directory.addresses where address = any($1)"#,
            addresses
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// Other workspaces that may lose something when this one gets a domain: whoever has it, and who has addresses of it or of what
    /// is below it.
    pub async fn others_with(&self, workspace: WorkspaceId, domain: &str) -> Result<Vec<WorkspaceId>> {
        let listed = sqlx::query_scalar!(
            r#"select distinct workspace_id as "workspace: WorkspaceId" from directory.addresses
               where split_part(address, '@', 2) = any($1) or right(address, length($2) + 1) = '.' || $2
               order by 1 limit $3"#,
            &domain_spellings(domain),
            domain,
            MOST_OTHERS
        )
        .fetch_all(&self.pool)
        .await?;
        let holder = self.holder_of(domain).await?.map(|holder| holder.workspace);
        let mut others: Vec<WorkspaceId> = listed.into_iter().chain(holder).collect();
        others.sort_unstable_by_key(|workspace| workspace.0);
        others.dedup();
        others.retain(|other| *other != workspace);
        Ok(others)
    }

    /// Gives the domain to a workspace, whoever had it: what the operator says goes. Tells who had it.
    pub async fn assign_domain(&self, workspace: WorkspaceId, domain: &str) -> Result<Option<WorkspaceId>> {
        let before = self.holder_of(domain).await?;
        sqlx::query!(
            "insert into directory.domains (domain, workspace_id, proof) values ($1, $2, 'assigned')
             on conflict (domain) do update set workspace_id = excluded.workspace_id, proof = excluded.proof",
            domain,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        self.senders.forget();
        Ok(before.map(|holder| holder.workspace).filter(|before| *before != workspace))
    }

    /// Gives a domain that nobody has to a workspace, for the operator. Of two at once one gets it.
    pub async fn assign_free_domain(&self, workspace: WorkspaceId, domain: &str) -> Result<()> {
        sqlx::query!(
            "insert into directory.domains (domain, workspace_id, proof) values ($1, $2, 'assigned')
             on conflict (domain) do nothing",
            domain,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The only workspace has what it types. Nothing happens where there are several.
    pub async fn keep_domain_of_the_only_workspace(
        &self,
        workspace: WorkspaceId,
        domain: &str,
    ) -> Result<()> {
        sqlx::query!(
            "insert into directory.domains (domain, workspace_id, proof)
             select $1, $2, 'kept' where not exists (select from directory.workspaces where id <> $2)
             on conflict (domain) do nothing",
            domain,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// A record of the domain named the workspace. False when another has proven it, or was given it.
    pub async fn prove_domain(&self, workspace: WorkspaceId, domain: &str) -> Result<bool> {
        let proven = sqlx::query!(
            "insert into directory.domains as had (domain, workspace_id, proof) values ($1, $2, 'dns')
             on conflict (domain) do update set workspace_id = excluded.workspace_id,
                 proof = case had.proof when 'kept' then excluded.proof else had.proof end
             where had.proof = 'kept' or had.workspace_id = excluded.workspace_id",
            domain,
            workspace.0
        )
        .execute(&self.pool)
        .await?;
        self.senders.forget();
        Ok(proven.rows_affected() == 1)
    }

    /// Enters addresses of a workspace that has their domain, or tells that another has kept one of them. Safe to repeat,
    /// because making an inbox may be interrupted after this step and tried again.
    pub async fn reserve_address(&self, workspace: WorkspaceId, address: &str) -> Result<bool> {
        let holder = self.holder_of(&domain_of(address)).await?;
        let is_proven =
            holder.is_some_and(|holder| holder.workspace == workspace && holder.proof != DomainProof::Kept);
        // What was kept is entered already. It takes nothing from whoever has the same address without its tag.
        if !is_proven && self.keeps(workspace, address).await? {
            return Ok(true);
        }
        let mut rows = vec![address.to_lowercase(), key(address)];
        rows.dedup();
        let entered = sqlx::query!(
            "insert into directory.addresses as known (address, workspace_id)
             select address, $2 from unnest($1::text[]) as given (address)
             where $3 or not exists (select from directory.addresses
                                     where address = any($4) and workspace_id <> $2 and kept)
             on conflict (address) do update set workspace_id = excluded.workspace_id,
                 kept = known.kept and known.workspace_id = excluded.workspace_id
             where known.workspace_id = excluded.workspace_id or $3 or not known.kept",
            &rows,
            workspace.0,
            is_proven,
            &[spellings(address), spellings(&key(address))].concat()
        )
        .execute(&self.pool)
        .await?;
        Ok(entered.rows_affected() == rows.len() as u64)
    }

    /// Which of these addresses the directory has as the workspace's, each with what it is known by.
    pub async fn entered(&self, workspace: WorkspaceId, addresses: &[String]) -> Result<HashSet<String>> {
        let rows: Vec<String> =
            addresses.iter().flat_map(|address| [address.to_lowercase(), key(address)]).collect();
        let there: HashSet<String> = sqlx::query_scalar!(
            "select address from directory.addresses where address = any($1) and workspace_id = $2",
            &rows,
            workspace.0
        )
        .fetch_all(&self.pool)
        .await?
        .into_iter()
        .collect();
        let is_there =
            |address: &&String| there.contains(&address.to_lowercase()) && there.contains(&key(address));
        Ok(addresses.iter().filter(is_there).cloned().collect())
    }

    /// An address that was removed is free again, with what it was known by, but for rows that others of the workspace need.
    pub async fn free_address(&self, workspace: WorkspaceId, address: &str, left: &[String]) -> Result<()> {
        let rows = [spellings(address), vec![address.to_owned(), key(address)]].concat();
        sqlx::query!(
            "delete from directory.addresses where address = any($1) and workspace_id = $2 and address <> all($3)",
            &rows,
            workspace.0,
            left
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// See the function of the same name.
    pub async fn keep_domains_in_use(&self) -> Result<usize> {
        keep_domains_in_use(&mut *self.pool.acquire().await?).await
    }

    /// Domains that nobody has proven or was given, with whoever uses them, where there are several workspaces.
    pub async fn unproven_domains(&self, most: i64) -> Result<Vec<(String, WorkspaceId)>> {
        if self.is_alone().await? {
            return Ok(Vec::new());
        }
        let rows = sqlx::query!(
            r#"select domain, workspace_id as "workspace: WorkspaceId" from directory.domains
               where proof = 'kept' order by domain limit $1"#,
            most
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row| (row.domain, row.workspace)).collect())
    }

    /// Domains that nobody has and that several workspaces have used since before domains had to be proven.
    pub async fn contested_domains(&self, most: usize) -> Result<Vec<String>> {
        let used = sqlx::query_scalar!(
            r#"select split_part(address, '@', 2) as "domain!" from directory.addresses a
               where kept and not exists (
                   select from directory.domains d where d.domain = split_part(a.address, '@', 2))
               group by 1 order by 1 limit $1"#,
            MOST_OTHERS
        )
        .fetch_all(&self.pool)
        .await?;
        let mut used: Vec<String> = used.iter().map(|domain| ascii_domain(domain)).collect();
        used.dedup();
        let holders = self.holders_of(&used).await?;
        used.retain(|domain| !holders.contains_key(domain));
        used.truncate(most);
        Ok(used)
    }
}

/// Gives each domain that is in use, and that nobody has yet, to the workspace with the oldest address of it. Done when the
/// schema is brought to this version and before a node serves, for nodes of the version before may have made inboxes since;
/// where there are several workspaces, those have to be proven.
///
/// How old addresses are stands in the cells of their workspaces. A domain that several use, not all of them in this database, is
/// nobody's until one proves it or the operator assigns it: each keeps the addresses it has, and `doctor` names it.
pub async fn keep_domains_in_use(conn: &mut PgConnection) -> Result<usize> {
    let rows = sqlx::query!(
        r#"select a.address, a.workspace_id as "workspace!", least(m.created_at, x.created_at) as since,
               exists (select from workspaces w where w.id = a.workspace_id) as "is_here!"
           from directory.addresses a
           left join mailboxes m on m.workspace_id = a.workspace_id and m.address = a.address
           left join mailbox_aliases x on x.workspace_id = a.workspace_id and x.address = a.address
           where (a.kept or not exists (select from directory.workspaces w where w.id <> a.workspace_id))
             and not exists (select from directory.domains d where d.domain = split_part(a.address, '@', 2))
           order by since nulls last, a.workspace_id, a.address"#
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut oldest: HashMap<String, Oldest> = HashMap::new();
    for row in &rows {
        let domain = domain_of(&row.address);
        if domain.is_ascii() && !domain.is_empty() {
            let first = Oldest { workspace: row.workspace, is_certain: true, is_here: row.is_here };
            let known = oldest.entry(domain).or_insert(first);
            known.is_certain &= known.workspace == row.workspace || (known.is_here && row.is_here);
        }
    }
    oldest.retain(|_, oldest| oldest.is_certain);
    let above: Vec<String> = oldest.keys().flat_map(|domain| with_those_above(domain)).collect();
    let proven = sqlx::query!(
        r#"select domain, workspace_id as "workspace: WorkspaceId" from directory.domains
           where domain = any($1) and proof <> 'kept'"#,
        &above
    )
    .fetch_all(&mut *conn)
    .await?;
    // What is below a domain that another has proven is that one's.
    oldest.retain(|domain, oldest| {
        let above = with_those_above(domain);
        !proven.iter().any(|row| above.contains(&row.domain) && row.workspace.0 != oldest.workspace)
    });
    let (domains, workspaces): (Vec<String>, Vec<i64>) =
        oldest.into_iter().map(|(domain, oldest)| (domain, oldest.workspace)).unzip();
    let kept = sqlx::query!(
        "insert into directory.domains (domain, workspace_id, proof)
         select domain, workspace_id, 'kept' from unnest($1::text[], $2::bigint[]) as those (domain, workspace_id)
         on conflict (domain) do nothing",
        &domains,
        &workspaces
    )
    .execute(conn)
    .await?;
    Ok(kept.rows_affected() as usize)
}

/// Who has the oldest address of a domain, as far as this database knows.
struct Oldest {
    workspace: i64,
    is_here: bool,
    /// Nobody of another database uses the domain too.
    is_certain: bool,
}
