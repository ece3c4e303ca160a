//! Hashes of passwords: argon2id with 64 MiB and three passes. A hash takes a tenth of a second and much memory, so two
//! are made at a time, off the threads that serve requests, and whoever finds a long queue is told to come back.
//!
//! A password of somebody who is not there is checked against a hash that fits nothing, so both take the same time.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::random::Random;

const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const AT_ONCE: usize = 2;
/// Those who are served and those who wait. Beyond that, waiting would outlast anybody's patience.
const MOST_WAITING: usize = 64;
const RETRY: Duration = Duration::from_secs(5);
/// With our parameters; no password has it.
const NOBODYS: &str =
    "$argon2id$v=19$m=65536,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub struct PasswordHashes {
    turns: Arc<Semaphore>,
    places: Semaphore,
    random: Random,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordVerdict {
    Wrong,
    Right,
    /// Right, but its hash was made with weaker parameters than ours are now.
    Outdated,
}

impl PasswordHashes {
    pub fn new(random: Random) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), places: Semaphore::new(MOST_WAITING), random }
    }

    pub async fn hash(&self, password: &str) -> Result<String> {
        let (password, salt) = (password.to_owned(), self.random.bytes::<16>());
        self.in_turn(move || {
            let hash = argon2().hash_password_with_salt(password.as_bytes(), &salt);
            hash.map(|hash| hash.to_string()).map_err(|error| Error::internal(error.to_string()))
        })
        .await?
    }

    /// Against a stored hash; without one it takes the same time and is wrong.
    pub async fn check(&self, password: &str, hash: Option<String>) -> Result<PasswordVerdict> {
        let password = password.to_owned();
        self.in_turn(move || {
            let Ok(stored) = PasswordHash::new(hash.as_deref().unwrap_or(NOBODYS)) else {
                return PasswordVerdict::Wrong;
            };
            let fits = argon2().verify_password(password.as_bytes(), &stored).is_ok();
            match (fits && hash.is_some(), is_ours(&stored)) {
                (false, _) => PasswordVerdict::Wrong,
                (true, true) => PasswordVerdict::Right,
                (true, false) => PasswordVerdict::Outdated,
            }
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let Ok(_place) = self.places.try_acquire() else {
            let sentence = "Many people are signing in right now. Try again in a few seconds.".into();
            return Err(Error::SlowDown { sentence, retry_after: RETRY });
        };
        let turn = self.turns.clone().acquire_owned().await.map_err(Error::internal)?;
        // The turn goes along: work that nobody waits for any more still takes its memory.
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.map_err(Error::internal)
    }
}

fn parameters() -> Params {
    Params::new(MEMORY_KIB, PASSES, 1, None).expect("sound parameters")
}

fn argon2() -> Argon2<'static> {
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters())
}

fn is_ours(stored: &PasswordHash) -> bool {
    let costs = |params: &Params| (params.m_cost(), params.t_cost(), params.p_cost());
    let theirs = Params::try_from(stored).ok();
    stored.algorithm == Algorithm::Argon2id.ident()
        && theirs.is_some_and(|theirs| costs(&theirs) == costs(&parameters()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_password_fits_its_own_hash_and_nobody_fits_none() {
        let hashes = PasswordHashes::new(Random::seeded(1));
        let hash = hashes.hash("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=65536,t=3,p=1$"), "{hash}");
        assert_ne!(hash, hashes.hash("correct horse battery").await.unwrap(), "each has a salt of its own");
        let check =
            async |word: &str, hash: Option<&str>| hashes.check(word, hash.map(str::to_owned)).await.unwrap();
        assert_eq!(check("correct horse battery", Some(&hash)).await, PasswordVerdict::Right);
        assert_eq!(check("correct horse batterx", Some(&hash)).await, PasswordVerdict::Wrong);
        assert_eq!(check("correct horse battery", None).await, PasswordVerdict::Wrong);
        assert_eq!(check("correct horse battery", Some("nonsense")).await, PasswordVerdict::Wrong);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_hash_of_weaker_parameters_is_right_and_outdated() {
        let weak =
            Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8 * 1024, 1, 1, None).unwrap());
        let hash = weak.hash_password_with_salt(b"correct horse battery", &[7; 16]).unwrap().to_string();
        let hashes = PasswordHashes::new(Random::seeded(1));
        assert_eq!(
            hashes.check("correct horse battery", Some(hash)).await.unwrap(),
            PasswordVerdict::Outdated
        );
    }

    /// What nobody's password is checked against costs what a real one costs.
    #[test]
    fn nobodys_hash_has_our_parameters() {
        assert!(is_ours(&PasswordHash::new(NOBODYS).unwrap()));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_flood_is_told_to_come_back_instead_of_queueing_without_end() {
        let hashes = Arc::new(PasswordHashes::new(Random::seeded(1)));
        let held = hashes.turns.clone().acquire_many_owned(AT_ONCE as u32).await.unwrap();
        let asked: Vec<_> = (0..MOST_WAITING)
            .map(|_| {
                let hashes = hashes.clone();
                tokio::spawn(async move { hashes.in_turn(|| ()).await })
            })
            .collect();
        while hashes.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(hashes.check("x", None).await, Err(Error::SlowDown { .. })));
        drop(held);
        for one in asked {
            one.await.unwrap().unwrap();
        }
    }
}
