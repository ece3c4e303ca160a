//! Finds the inbox of an address: first by the whole address, then without its plus tag (D184, D185). A domain is
//! the same in its Unicode and its ASCII form.
//!
//! Found inboxes are cached for a few seconds, so that a burst of mail asks once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::cells::{Cells, Place};
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::incoming::return_path;
use crate::store::cells::Cell;
use crate::workspace::mailboxes::{self, Mailbox};

const REMEMBERED_FOR: Duration = Duration::from_secs(5);
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub struct Recipients(Mutex<HashMap<String, (Instant, Recipient)>>);

#[derive(Clone)]
pub struct Recipient {
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
}

impl Recipient {
    pub fn mailbox(&self) -> Option<&Mailbox> {
        match &self.home {
            Home::Here { mailbox, .. } => Some(mailbox),
            Home::Elsewhere(_) => None,
        }
    }
}

impl Recipients {
    pub async fn find(&self, cells: &Cells, address: &str) -> Result<Option<Recipient>> {
        if let Some((since, known)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(address)
            && since.elapsed() < REMEMBERED_FOR
        {
            return Ok(Some(known.clone()));
        }
        let found = find(cells, address).await?;
        // Where a workspace lives may change, and `Cells` remembers that for itself.
        if let Some(recipient) = found.as_ref().filter(|_| !cells.in_fleet()) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(address.to_owned(), (Instant::now(), recipient.clone()));
        }
        Ok(found)
    }
}

async fn find(cells: &Cells, address: &str) -> Result<Option<Recipient>> {
    for candidate in candidates(address) {
        let directory = &cells.first().directory;
        let Some(workspace) = directory.workspace_of_address(&candidate).await? else { continue };
        let local = address.rsplit_once('@').map_or(address, |(local, _)| local);
        let domain = candidate.rsplit_once('@').map_or("", |(_, domain)| domain);
        let address = format!("{local}@{domain}");
        let home = match cells.place(workspace).await? {
            Place::Elsewhere(cell) => Home::Elsewhere(cell),
            Place::Here(app) => {
                // The directory has an address before its inbox exists.
                let mailbox = mailboxes::at(&mut *app.connection().await?, workspace, &candidate).await?;
                let Some(mailbox) = mailbox else { continue };
                Home::Here { app, workspace, mailbox }
            }
        };
        return Ok(Some(Recipient { address, home }));
    }
    Ok(None)
}

/// The addresses of inboxes that mail to this address could be for: with and without its tag, by each spelling of its domain.
pub fn candidates(address: &str) -> Vec<String> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Vec::new() };
    let (local, domain) = (local.to_lowercase(), domain.trim_end_matches('.').to_lowercase());
    let mut domains = vec![domain.clone()];
    if let Ok(ascii) = idna::domain_to_ascii(&domain) {
        domains.push(ascii);
    }
    if let (unicode, Ok(())) = idna::domain_to_unicode(&domain) {
        domains.push(unicode);
    }
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
