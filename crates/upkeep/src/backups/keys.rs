//! Which key a backup needs: told by a fingerprint of the key itself. Names that operators give keys can be given twice,
//! and a copy in a drawer has none.

use rookery_base::error::Error;
use rookery_base::secrets::hashes::{hex, sha256};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::secret::SecretKey;

/// 128 bits: no two keys have the same, and nothing of the key can be told from it.
const BYTES: usize = 16;
/// Letters of a fingerprint.
pub const LENGTH: usize = 2 * BYTES;

pub fn fingerprint(key: &SecretKey) -> String {
    hex(&sha256([b"backup key\0", &key.0[..]].concat())[..BYTES])
}

pub fn find<'k>(keys: &'k KeyRing, wanted: &str) -> Option<&'k SecretKey> {
    keys.all().map(|(_, key)| key).find(|key| fingerprint(key) == wanted)
}

/// Each key with its name, for who has to find the right one.
pub fn list_fingerprints(keys: &KeyRing) -> Vec<(String, String)> {
    keys.all().map(|(name, key)| (name.to_owned(), fingerprint(key))).collect()
}

pub fn missing(keys: &KeyRing, wanted: &str, name: &str) -> Error {
    let there: Vec<String> =
        list_fingerprints(keys).into_iter().map(|(name, print)| format!("{name} is {print}")).collect();
    Error::internal(format!(
        "This backup needs the backup key with the fingerprint {wanted} (it was called {name}), which is not in \
         ROOKERY_BACKUP_KEY ({}). Put that key there too, behind the newest: id:base64,id:base64 — `rookery backup keys` \
         tells the fingerprints.",
        there.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_name_are_told_apart() {
        let (one, two) = (SecretKey([1; 32]), SecretKey([2; 32]));
        assert_ne!(fingerprint(&one), fingerprint(&two));
        assert_eq!(fingerprint(&one).len(), LENGTH);
        let ring: KeyRing = two.into();
        let said = missing(&ring, &fingerprint(&one), "k").to_string();
        assert!(find(&ring, &fingerprint(&one)).is_none() && said.contains(&fingerprint(&one)), "{said}");
    }
}
