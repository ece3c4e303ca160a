//! Finds the inbox of an address. Its domain, in ASCII form, says whose it is (docs/decisions/whose-domain.md); that workspace
//! is asked first for the whole address, then for the one without its plus tag (D184, D185).
//!
//! Found inboxes are cached for a few seconds, so that a burst of mail asks once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::incoming::return_path;
use rookery_base::app::App;
use rookery_base::cells::{CellPlace, Cells};
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::store::addresses::{ascii_domain, domain_spellings};
use rookery_base::store::cells::Cell;
use rookery_core::workspace::domains::reserved;
use rookery_core::workspace::mailboxes::{self, Mailbox};

const REMEMBERED_FOR: Duration = Duration::from_secs(5);
const REMEMBERED: usize = 10_000;

/// Who a mail is from and to, as its sender said before the mail.
pub struct Envelope {
    /// Empty for bounces.
    pub from: String,
    pub recipients: Vec<EnvelopeRecipient>,
}

impl Envelope {
    pub(super) fn first_recipient(&self) -> Option<&str> {
        self.recipients.first().map(|recipient| recipient.address.as_str())
    }
}

#[derive(Default)]
pub struct Recipients(Mutex<HashMap<String, (Instant, EnvelopeRecipient)>>);

#[derive(Clone)]
pub struct EnvelopeRecipient {
    /// As it was written to, tag included.
    pub address: String,
    pub home: Home,
}

#[derive(Clone)]
pub enum Home {
    Here {
        app: Arc<App>,
        workspace: WorkspaceId,
        mailbox: Mailbox,
    },
    /// In a cell that other nodes serve. They know the inbox; the directory knows that the address is somebody's.
    Elsewhere(Arc<Cell>),
    /// What comes back of the service's own mail is taken, and read by nobody.
    Nowhere,
    /// An inbox that waits for the proof of its domain: the sender is to try again.
    Unproven,
}

impl EnvelopeRecipient {
    pub fn mailbox(&self) -> Option<&Mailbox> {
        match &self.home {
            Home::Here { mailbox, .. } => Some(mailbox),
            Home::Elsewhere(_) | Home::Nowhere | Home::Unproven => None,
        }
    }
}

impl Recipients {
    pub async fn find(&self, cells: &Cells, address: &str) -> Result<Option<EnvelopeRecipient>> {
        if let Some((since, known)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(address)
            && since.elapsed() < REMEMBERED_FOR
        {
            return Ok(Some(known.clone()));
        }
        let found = find(cells, address).await?;
        // Where a workspace lives may change, and `Cells` remembers that for itself.
        let waits = |recipient: &&EnvelopeRecipient| matches!(recipient.home, Home::Unproven);
        if let Some(recipient) = found.as_ref().filter(|found| !cells.in_fleet() && !waits(found)) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(address.to_owned(), (Instant::now(), recipient.clone()));
        }
        Ok(found)
    }
}

async fn find(cells: &Cells, address: &str) -> Result<Option<EnvelopeRecipient>> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Ok(None) };
    let (app, domain) = (cells.first(), ascii_domain(domain));
    // Whatever inbox there may be: links to sign in stand in what comes back.
    if reserved::is_sender(&app.config, address) {
        let keys = app.config.secret_key.as_ref();
        let is_ours = keys.is_some_and(|keys| return_path::is_for_service(keys, address));
        return Ok(is_ours.then(|| EnvelopeRecipient { address: address.to_owned(), home: Home::Nowhere }));
    }
    let candidates = candidates(address);
    let claimants = app.directory.claimants(&domain, &candidates).await?;
    for claimant in claimants {
        let workspace = claimant.workspace;
        match cells.place(workspace).await? {
            CellPlace::Elsewhere(cell) if claimant.is_listed => {
                let address = format!("{local}@{domain}");
                return Ok(Some(EnvelopeRecipient { address, home: Home::Elsewhere(cell) }));
            }
            CellPlace::Elsewhere(_) => {}
            CellPlace::Here(app) => {
                let found = mailboxes::at(&mut *app.connection().await?, workspace, &candidates).await?;
                if let Some((mailbox, spelled)) = found {
                    // As the inbox spells its domain, so that a tag is found by comparing both.
                    let address = format!("{local}@{}", spelled.rsplit('@').next().unwrap_or(&domain));
                    return Ok(Some(EnvelopeRecipient {
                        address,
                        home: Home::Here { app, workspace, mailbox },
                    }));
                }
            }
        }
    }
    if app.directory.holder_of(&domain).await?.is_none() && is_anybodys(cells, &candidates).await? {
        return Ok(Some(EnvelopeRecipient { address: address.to_owned(), home: Home::Unproven }));
    }
    Ok(None)
}

/// Of a domain that nobody has, an inbox may be there already, whatever is written down of it. Its mail is not lost while somebody
/// proves the domain.
async fn is_anybodys(cells: &Cells, candidates: &[String]) -> Result<bool> {
    for app in cells.here() {
        if mailboxes::is_there_anywhere(&mut *app.connection().await?, candidates).await? {
            return Ok(true);
        }
    }
    // Whether it is there is known in its cell; that somebody has it, to the directory.
    for workspace in cells.first().directory.listed(candidates).await? {
        if matches!(cells.place(workspace).await?, CellPlace::Elsewhere(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The addresses of inboxes that mail to this address could be for: with and without its tag, by each spelling of its domain.
pub fn candidates(address: &str) -> Vec<String> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Vec::new() };
    let (local, domains) = (local.to_lowercase(), domain_spellings(domain));
    let mut locals = vec![local.as_str()];
    locals.extend(return_path::inbox_of(&local));
    if let Some((base, _)) = local.split_once('+') {
        locals.push(base);
    }
    let mut found: Vec<String> = Vec::new();
    for local in locals {
        for domain in &domains {
            let candidate = format!("{local}@{domain}");
            if !found.contains(&candidate) {
                found.push(candidate);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_address_comes_before_the_one_without_its_tag() {
        assert_eq!(
            candidates("Help+INV-1+x@Acme.Example"),
            ["help+inv-1+x@acme.example", "help@acme.example"]
        );
    }

    #[test]
    fn a_return_path_is_its_inboxs_whatever_the_inbox_is_called() {
        let tried = ["help+vip+r=1=2@acme.example", "help+vip@acme.example", "help@acme.example"];
        assert_eq!(candidates(tried[0]), tried);
    }

    #[test]
    fn a_domain_is_looked_up_in_both_its_forms() {
        let both = ["help@xn--mller-kva.example", "help@müller.example"];
        assert_eq!(candidates(both[0]), both);
        assert_eq!(candidates(both[1]), [both[1], both[0]]);
    }

    #[test]
    fn what_has_no_domain_is_no_address() {
        assert!(candidates("postmaster").is_empty());
    }
}
