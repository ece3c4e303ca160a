//! Whose a domain is (docs/decisions/whose-domain.md): the operator assigns it, or a record of its DNS names the workspace. Until
//! then its inboxes neither receive nor send. Where there is one workspace only, it has what it types.
//!
//! The directory decides. `mailboxes.unproven_at` is what it said last, so that whoever writes is told at once.

pub mod organization;
pub mod reserved;
pub mod settle;

use serde_json::json;

use crate::workspace::access::By;
use crate::workspace::audit::{self, Did, Subject};
use crate::workspace::domains::settle::settle;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::link_tokens;
use rookery_base::store::addresses::{domain_of, domain_spellings, untagged};
use rookery_base::store::domains::DomainProof;
use rookery_base::store::standings::DomainStanding;

/// What a record of the domain begins with, and where it stands.
const RECORD: &str = "rookery-workspace=";
const NAME: &str = "_rookery";
const PURPOSE: &str = "domain";

const OF_ANOTHER: &str = "has a domain that belongs to another workspace of this server. If the domain is yours, add it under \
                        Settings, Domains and prove it there, or ask your server administrator";
const RESERVED: &str = "is an address of the server itself, which nobody can have as an inbox";
const THE_SERVERS: &str =
    "has the name of the server itself as its domain. Ask your server administrator to create the inbox";
const NOT_TO_BE_PROVEN: &str = "has a domain that many people share, so nobody can prove that it is theirs. Use an address of \
                                your own domain";

/// What a message is refused with whose inbox has no proof.
pub const UNPROVEN: &str = "this inbox cannot send yet, because its domain is not proven to be this workspace's. An owner or admin \
                            can prove it under Settings, Domains";

/// Whether an address that somebody wants works from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClaim {
    Works,
    /// Until the domain is proven, it neither receives nor sends.
    Unproven,
}

/// Enters an address into the directory for an inbox that is about to be made, with its domain if that can be had. What
/// the operator makes is assigned by it.
pub async fn claim(
    app: &App,
    workspace: WorkspaceId,
    by: &By,
    field: &str,
    address: &str,
) -> Result<AddressClaim> {
    let (directory, domain) = (&app.directory, domain_of(address));
    if reserved::is_reserved(&app.config, address) {
        return Err(Error::problem(field, RESERVED));
    }
    let mut standing = directory.standing(workspace, address).await?;
    if directory.holder_of(&domain).await?.is_none() {
        match by {
            By::System => directory.assign_free_domain(workspace, &domain).await?,
            _ => directory.keep_domain_of_the_only_workspace(workspace, &domain).await?,
        }
        standing = directory.standing(workspace, address).await?;
    }
    match standing {
        DomainStanding::Ours(_) => {}
        DomainStanding::Another(has) => return Err(Error::problem(field, refused_as_taken(by, has))),
        DomainStanding::Nobodys if reserved::is_host(&app.config, &domain) => {
            return Err(Error::problem(field, THE_SERVERS));
        }
        DomainStanding::Nobodys if !can_be_proven(&domain) => {
            return Err(Error::problem(field, NOT_TO_BE_PROVEN));
        }
        DomainStanding::Nobodys => return Ok(AddressClaim::Unproven),
    }
    if directory.reserve_address(workspace, address).await? {
        Ok(AddressClaim::Works)
    } else {
        Err(Error::problem(field, "is taken already"))
    }
}

/// The operator is told more than a workspace learns of another.
fn refused_as_taken(by: &By, has: WorkspaceId) -> String {
    match by {
        By::System => format!(
            "has a domain that belongs to {has}. Another workspace gets it by: rookery admin assign-domain"
        ),
        _ => OF_ANOTHER.to_owned(),
    }
}

/// A public suffix, and the domain of a mail provider, is nobody's of this server.
pub fn can_be_proven(domain: &str) -> bool {
    organization::from_address(domain).is_some_and(|organization| !organization::is_public(&organization))
}

/// Whether mail may leave from an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaySend {
    Yes,
    No,
    /// The directory cannot be asked, and has not been asked lately: to be tried again, whatever number of times.
    Unknown,
}

/// Whether mail from this address may leave, as the directory said within the last minute, or last of all while it is away.
pub async fn may_send(app: &App, workspace: WorkspaceId, address: &str) -> Result<MaySend> {
    match app.directory.may_send(workspace, address, app.clock.now()).await {
        Ok(true) => Ok(MaySend::Yes),
        Ok(false) => {
            settle(app, workspace).await?;
            Ok(MaySend::No)
        }
        Err(error) if error.is_outage() => {
            tracing::warn!(%error, %workspace, "the directory is away: mail waits for it");
            Ok(MaySend::Unknown)
        }
        Err(error) => Err(error),
    }
}

/// The record that proves a domain: its name and its text. It holds for one workspace of one server.
pub fn record(app: &App, workspace: WorkspaceId, domain: &str) -> Result<(String, String)> {
    let key = app.config.needs_secret_key()?.newest();
    let token = link_tokens::token(key, PURPOSE, &format!("{workspace} {domain}"));
    Ok((format!("{NAME}.{domain}"), format!("{RECORD}{token}")))
}

/// Whether a text of the domain's DNS names the workspace.
pub fn is_record_of(app: &App, workspace: WorkspaceId, domain: &str, text: &str) -> Result<bool> {
    let keys = app.config.needs_secret_key()?;
    let given = text.trim().trim_matches('"').strip_prefix(RECORD);
    Ok(given.is_some_and(|token| {
        link_tokens::is_ours(keys, PURPOSE, &format!("{workspace} {domain}"), token.trim())
    }))
}

/// How the workspace stands to a domain, for its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Nothing has to be proven: there is one workspace only, or the operator assigned it.
    Settled,
    Proven,
    /// It works, and whoever proves the domain would get it.
    Kept,
    Unproven,
    /// Another workspace was given it, or has proven it.
    Taken,
    /// It is nobody's to prove.
    Unprovable,
}

impl Ownership {
    /// A record is looked for.
    pub fn wants_proof(self) -> bool {
        matches!(self, Self::Kept | Self::Unproven)
    }

    /// Mail to and from it is the workspace's.
    pub fn works(self) -> bool {
        matches!(self, Self::Settled | Self::Proven | Self::Kept)
    }
}

pub async fn ownership(app: &App, workspace: WorkspaceId, domain: &str) -> Result<Ownership> {
    let holder = app.directory.holder_of(domain).await?;
    if app.directory.is_alone().await? {
        return Ok(Ownership::Settled);
    }
    let provable = can_be_proven(domain) && !reserved::is_host(&app.config, domain);
    Ok(match holder {
        Some(holder) if holder.workspace == workspace => match holder.proof {
            DomainProof::Assigned => Ownership::Settled,
            DomainProof::Dns => Ownership::Proven,
            DomainProof::Kept if provable => Ownership::Kept,
            DomainProof::Kept => Ownership::Settled,
        },
        Some(holder)
            if holder.proof == DomainProof::Kept
                && provable
                && app.directory.keeps_any(workspace, domain).await? =>
        {
            Ownership::Kept
        }
        // Of a domain that nobody proved, whoever proves it gets it.
        Some(holder) if holder.proof != DomainProof::Kept && holder.domain == domain => Ownership::Taken,
        None if provable && app.directory.keeps_any(workspace, domain).await? => Ownership::Kept,
        _ if provable => Ownership::Unproven,
        Some(_) => Ownership::Taken,
        None => Ownership::Unprovable,
    })
}

/// A record named the workspace. False when another was quicker.
pub async fn prove(app: &App, workspace: WorkspaceId, by: &By, domain: &str) -> Result<bool> {
    let others = app.directory.others_with(workspace, domain).await?;
    if !app.directory.prove_domain(workspace, domain).await? {
        return Ok(false);
    }
    settle(app, workspace).await?;
    recorded(app, workspace, by, Did::DomainProven, domain).await?;
    settle_others(app, &others).await;
    Ok(true)
}

/// The operator gives the domain to a workspace. Tells who had it.
pub async fn assign(app: &App, workspace: WorkspaceId, domain: &str) -> Result<Option<WorkspaceId>> {
    // A workspace that is not there gets nothing.
    drop(app.begin(workspace).await?);
    let others = app.directory.others_with(workspace, domain).await?;
    let before = app.directory.assign_domain(workspace, domain).await?;
    settle(app, workspace).await?;
    recorded(app, workspace, &By::System, Did::DomainAssigned, domain).await?;
    settle_others(app, &others).await;
    Ok(before)
}

/// Whoever lost something is told. Those of other cells are by the loop there, and so is who cannot be told now.
async fn settle_others(app: &App, others: &[WorkspaceId]) {
    for other in others {
        if let Err(error) = settle(app, *other).await {
            tracing::warn!(workspace = %other, %error, "a workspace that lost a domain is notified later");
        }
    }
}

async fn recorded(app: &App, workspace: WorkspaceId, by: &By, did: Did, domain: &str) -> Result<()> {
    let mut tx = app.begin(workspace).await?;
    audit::record(&mut tx, by, did, Subject { id: &domain, name: domain }, json!({})).await?;
    tx.commit().await
}

/// Which of these addresses, of live inboxes and their further ones, neither receive nor send.
pub async fn unproven(app: &App, workspace: WorkspaceId, addresses: &[String]) -> Result<Vec<String>> {
    let standings = app.directory.standings(workspace, addresses).await?;
    let both = addresses.iter().zip(standings);
    let foreign = both.filter(|(_, standing)| !matches!(standing, DomainStanding::Ours(_)));
    Ok(foreign.map(|(address, _)| address.clone()).collect())
}

/// Every way in which a workspace may have written addresses that are the same as this one, for what must not be there twice:
/// by each spelling of its domain, and without its tag.
pub fn same_as(address: &str) -> Vec<String> {
    let Some((local, domain)) = address.rsplit_once('@') else { return vec![address.to_owned()] };
    let bare = untagged(local);
    let mut all: Vec<String> = Vec::new();
    for domain in domain_spellings(domain) {
        all.push(format!("{local}@{domain}"));
        if bare != local {
            all.push(format!("{bare}@{domain}"));
        }
    }
    all
}
