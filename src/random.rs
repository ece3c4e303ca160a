//! The one source of chance. Ids, keys and jitter draw from it, so a test can repeat itself.
//! In service it is a cryptographic generator seeded by the operating system.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

impl Random {
    /// Seeded by the operating system and unpredictable (ChaCha12).
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system for chance")]
    pub fn system() -> Self {
        Self(Arc::new(Mutex::new(rand::make_rng())))
    }

    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    pub fn number(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
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
