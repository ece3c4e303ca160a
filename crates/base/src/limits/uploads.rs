//! How many uploads are taken at once: of one browser, one private link, one network, one workspace, all strangers together.
//! Each holds a part of a file in memory and a place of the node for as long as its sender takes.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::ids::{DocumentRequestId, SessionId, WorkspaceId};

const COME_BACK: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Uploader {
    Session(SessionId),
    Link(DocumentRequestId),
    Network(IpAddr),
    /// Customers and people of one workspace, so that no workspace takes the places of the others.
    Workspace(WorkspaceId),
    People(WorkspaceId),
    Strangers,
}

impl Uploader {
    fn at_once(self) -> usize {
        match self {
            // Scripts send one after the other; a second window may do the same.
            Self::Session(_) | Self::Link(_) => 3,
            // An office, or a provider that many phones share.
            Self::Network(_) => 12,
            Self::Workspace(_) | Self::People(_) => 24,
            Self::Strangers => 64,
        }
    }
}

#[derive(Default)]
pub struct Uploads(Mutex<HashMap<Uploader, usize>>);

/// An upload's place, until it is dropped.
pub struct Uploading {
    uploads: Arc<Uploads>,
    uploaders: Vec<Uploader>,
}

impl Uploads {
    pub fn begin(self: &Arc<Self>, workspace: WorkspaceId, session: SessionId) -> Result<Uploading> {
        self.begin_as(vec![Uploader::Session(session), Uploader::People(workspace)])
    }

    /// Of a customer, who has a link and no session.
    pub fn begin_by_link(
        self: &Arc<Self>,
        workspace: WorkspaceId,
        link: DocumentRequestId,
        network: IpAddr,
    ) -> Result<Uploading> {
        let (link, network) = (Uploader::Link(link), Uploader::Network(network));
        self.begin_as(vec![link, network, Uploader::Workspace(workspace), Uploader::Strangers])
    }

    fn begin_as(self: &Arc<Self>, uploaders: Vec<Uploader>) -> Result<Uploading> {
        let mut taken = self.taken();
        let is_full = |one: &Uploader| taken.get(one).copied().unwrap_or_default() >= one.at_once();
        if uploaders.iter().any(is_full) {
            let sentence = "Wait until the other files are there, then try again.".to_owned();
            return Err(Error::SlowDown { sentence, retry_after: COME_BACK });
        }
        for one in &uploaders {
            *taken.entry(*one).or_default() += 1;
        }
        drop(taken);
        Ok(Uploading { uploads: self.clone(), uploaders })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Uploader, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Uploading {
    fn drop(&mut self) {
        let mut taken = self.uploads.taken();
        for one in &self.uploaders {
            let left = taken.get(one).map_or(0, |own| own - 1);
            match left {
                0 => drop(taken.remove(one)),
                left => drop(taken.insert(*one, left)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_has_few_uploads_at_once_and_takes_none_of_another_ones() {
        let uploads = Arc::new(Uploads::default());
        let (mine, theirs) = (SessionId(1), SessionId(2));
        let mut begun: Vec<_> = (0..3).map(|_| uploads.begin(WorkspaceId(1), mine).unwrap()).collect();
        assert!(matches!(uploads.begin(WorkspaceId(1), mine), Err(Error::SlowDown { .. })));
        assert!(uploads.begin(WorkspaceId(1), theirs).is_ok());
        begun.pop();
        begun.push(uploads.begin(WorkspaceId(1), mine).unwrap());
        drop(begun);
        assert!(uploads.taken().is_empty(), "nothing is remembered of who is done");
    }

    #[test]
    fn a_link_a_network_and_all_strangers_have_so_many_at_once_and_people_go_on() {
        let uploads = Arc::new(Uploads::default());
        let network = |n: u8| IpAddr::from([10, 0, 0, n]);
        let begin = |n: i64, network| uploads.begin_by_link(WorkspaceId(n), DocumentRequestId(n), network);
        let of_one: Vec<_> = (0..3).map(|_| begin(1, network(1)).unwrap()).collect();
        assert!(begin(1, network(2)).is_err(), "one link");
        let of_network: Vec<_> = (2..11).map(|n| begin(n, network(1)).unwrap()).collect();
        assert!(begin(11, network(1)).is_err(), "one network");
        let others: Vec<_> = (20..72).map(|n| begin(n, network(n as u8)).unwrap()).collect();
        assert!(begin(99, network(99)).is_err(), "all strangers");
        assert!(uploads.begin(WorkspaceId(1), SessionId(1)).is_ok());
        drop((of_one, of_network, others));
        let of_workspace =
            |n: u8| uploads.begin_by_link(WorkspaceId(1), DocumentRequestId(n.into()), network(n));
        let all: Vec<_> = (0..24).map(|n| of_workspace(n).unwrap()).collect();
        assert!(of_workspace(24).is_err(), "one workspace");
        let of_people = |n: i64| uploads.begin(WorkspaceId(1), SessionId(n));
        let people: Vec<_> = (0..24).map(|n| of_people(n).unwrap()).collect();
        assert!(of_people(24).is_err(), "people of one workspace");
        assert!(uploads.begin(WorkspaceId(2), SessionId(24)).is_ok());
        drop((all, people));
        assert!(uploads.taken().is_empty(), "who was refused holds nothing either");
    }
}
