//! Secrets: the keys of the house, values sealed with them, requests and links signed with them.
//! Whatever is made here can be checked with any key of the ring.

pub mod cell_urls;
pub mod hashes;
pub mod id_tokens;
pub mod key_ring;
pub mod link_tokens;
pub mod passkeys;
pub mod password_hashes;
pub mod sealed;
pub mod secret;
pub mod sign_in_tokens;
pub mod signed_requests;
pub mod totp;
