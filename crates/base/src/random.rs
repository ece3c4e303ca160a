//! The one source of randomness. Ids, keys and jitter use it, so that a test can be repeated. In production it is
//! a cryptographic generator seeded by the operating system.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[derive(Clone)]
pub struct Random(Arc<RandomSource>);

struct RandomSource {
    generator: Mutex<StdRng>,
    /// The highest number given by [`Random::rising`].
    highest: AtomicI64,
}

impl Random {
    /// Seeded by the operating system and unpredictable (ChaCha12).
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system for chance")]
    pub fn system() -> Self {
        Self::from_generator(rand::make_rng())
    }

    pub fn seeded(seed: u64) -> Self {
        Self::from_generator(StdRng::seed_from_u64(seed))
    }

    fn from_generator(generator: StdRng) -> Self {
        Self(Arc::new(RandomSource { generator: Mutex::new(generator), highest: AtomicI64::new(0) }))
    }

    /// The wanted number, or the last one plus one if that is higher: never the same number twice.
    pub fn rising(&self, wanted: i64) -> i64 {
        let raise = |last: i64| Some(wanted.max(last + 1));
        let last = self.0.highest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raise);
        wanted.max(last.unwrap_or_default() + 1)
    }

    pub fn number(&self) -> u64 {
        self.0.generator.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.generator.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        bytes
    }

    /// Letters and digits, each equally likely.
    pub fn letters(&self, length: usize) -> String {
        const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut text = String::with_capacity(length);
        while text.len() < length {
            // 248 is the largest multiple of 62 in a byte: what lies above would favour the first letters.
            for byte in self.bytes::<64>().into_iter().filter(|byte| *byte < 248) {
                if text.len() < length {
                    text.push(ALPHABET[usize::from(byte) % ALPHABET.len()] as char);
                }
            }
        }
        text
    }

    pub fn hex(&self, length: usize) -> String {
        let mut text: String = self.bytes::<64>().iter().map(|byte| format!("{byte:02x}")).collect();
        text.truncate(length);
        text
    }
}
