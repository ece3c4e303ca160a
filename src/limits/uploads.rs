//! How many uploads of one browser are taken at once: each holds a part of a file in memory and a place of the node for as
//! long as its sender takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::ids::SessionId;

/// Scripts send one after the other; a second window may do the same.
const AT_ONCE: usize = 3;
const COME_BACK: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Uploads(Mutex<HashMap<SessionId, usize>>);

/// An upload's place, until it is dropped.
pub struct Uploading {
    uploads: Arc<Uploads>,
    session: SessionId,
}

impl Uploads {
    pub fn begin(self: &Arc<Self>, session: SessionId) -> Result<Uploading> {
        let mut taken = self.taken();
        let own = taken.entry(session).or_default();
        if *own >= AT_ONCE {
            let sentence = "Wait until the other files are there, then try again.".to_owned();
            return Err(Error::SlowDown { sentence, retry_after: COME_BACK });
        }
        *own += 1;
        drop(taken);
        Ok(Uploading { uploads: self.clone(), session })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<SessionId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Uploading {
    fn drop(&mut self) {
        let mut taken = self.uploads.taken();
        let left = taken.get(&self.session).map_or(0, |own| own - 1);
        match left {
            0 => drop(taken.remove(&self.session)),
            left => drop(taken.insert(self.session, left)),
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
        let mut begun: Vec<_> = (0..AT_ONCE).map(|_| uploads.begin(mine).unwrap()).collect();
        assert!(matches!(uploads.begin(mine), Err(Error::SlowDown { .. })));
        assert!(uploads.begin(theirs).is_ok());
        begun.pop();
        begun.push(uploads.begin(mine).unwrap());
        drop(begun);
        assert!(uploads.taken().is_empty(), "nothing is remembered of who is done");
    }
}
