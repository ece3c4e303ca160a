//! How workspaces stand to the domains of their addresses, of many addresses with a few statements. Whether mail may leave is
//! asked for each mail, so this node remembers it for a minute: then the directory is not asked, and while its database is
//! away the last answer holds.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::store::addresses::{domain_of, spellings};
use crate::store::directory::Directory;
use crate::store::domains::DomainProof;
use crate::store::senders::KnownSender;

/// Whoever loses a domain to a workspace of another node sends no longer than this.
const FRESH: TimeDelta = TimeDelta::minutes(1);
/// How long mail that is about to leave waits for the directory.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a workspace stands to the domain of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainStanding {
    /// Mail to and from the address is the workspace's.
    Ours(DomainProof),
    /// Another workspace has the domain.
    Another(WorkspaceId),
    Nobodys,
}

impl Directory {
    /// Whether mail from the address may leave.
    pub async fn may_send(&self, workspace: WorkspaceId, address: &str, now: DateTime<Utc>) -> Result<bool> {
        let sender = KnownSender { workspace, address: address.to_lowercase() };
        let known = self.senders.all().get(&sender).copied();
        if known.is_some_and(|since| now - since < FRESH) {
            return Ok(true);
        }
        let asked = timeout(PATIENCE, self.standing(workspace, address)).await;
        match asked.unwrap_or_else(|_| Err(Error::from(sqlx::Error::PoolTimedOut))) {
            Ok(DomainStanding::Ours(_)) => {
                self.senders.remember(sender, now);
                Ok(true)
            }
            Ok(_) => {
                self.senders.all().remove(&sender);
                Ok(false)
            }
            Err(error) if known.is_some() && error.is_outage() => {
                tracing::warn!(%error, %workspace, "the directory is away: mail leaves as it last allowed");
                self.senders.remember(sender, now);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    pub async fn standing(&self, workspace: WorkspaceId, address: &str) -> Result<DomainStanding> {
        let all = self.standings(workspace, &[address.to_owned()]).await?;
        Ok(all.into_iter().next().unwrap_or(DomainStanding::Nobodys))
    }

    /// Of each address, in their order.
    pub async fn standings(
        &self,
        workspace: WorkspaceId,
        addresses: &[String],
    ) -> Result<Vec<DomainStanding>> {
        let mut domains: Vec<String> = addresses.iter().map(|address| domain_of(address)).collect();
        domains.sort_unstable();
        domains.dedup();
        let holders = self.holders_of(&domains).await?;
        let holder = |address: &String| holders.get(&domain_of(address));
        let has = |address: &String| holder(address).is_some_and(|holder| holder.workspace == workspace);
        let may_be_kept = |address: &String| {
            !has(address) && holder(address).is_none_or(|holder| holder.proof == DomainProof::Kept)
        };
        let asked: Vec<String> = addresses.iter().filter(|address| may_be_kept(address)).cloned().collect();
        let kept = if asked.is_empty() { HashSet::new() } else { self.kept(workspace, &asked).await? };
        let is_kept = |address: &String| spellings(address).iter().any(|spelling| kept.contains(spelling));
        let nobodys = addresses.iter().any(|address| holder(address).is_none() && !is_kept(address));
        let is_alone = nobodys && self.is_alone().await?;
        let standing = |address: &String| match holder(address) {
            Some(holder) if holder.workspace == workspace => DomainStanding::Ours(holder.proof),
            Some(_) | None if may_be_kept(address) && is_kept(address) => {
                DomainStanding::Ours(DomainProof::Kept)
            }
            Some(holder) => DomainStanding::Another(holder.workspace),
            None if is_alone => DomainStanding::Ours(DomainProof::Kept),
            None => DomainStanding::Nobodys,
        };
        Ok(addresses.iter().map(standing).collect())
    }

    /// Which of these addresses, by whatever spelling, the workspace has had since before domains had to be proven.
    async fn kept(&self, workspace: WorkspaceId, addresses: &[String]) -> Result<HashSet<String>> {
        let all: Vec<String> = addresses.iter().flat_map(|address| spellings(address)).collect();
        let kept = sqlx::query_scalar!(
            "select address from directory.addresses where address = any($1) and workspace_id = $2 and kept",
            &all,
            workspace.0
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(kept.into_iter().collect())
    }

    /// Whether the workspace has had this very address since before domains had to be proven.
    pub(super) async fn keeps(&self, workspace: WorkspaceId, address: &str) -> Result<bool> {
        Ok(!self.kept(workspace, &[address.to_owned()]).await?.is_empty())
    }
}
