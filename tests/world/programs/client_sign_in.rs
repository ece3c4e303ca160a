//! What a client that signs in keeps to itself, and what it finds in addresses and pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use url::Url;

pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(rookery_base::secrets::hashes::sha256(verifier))
}

#[track_caller]
pub fn way_back(page: &str) -> Url {
    let (_, rest) = page.split_once("content=\"0;url=").unwrap_or_else(|| panic!("{page}"));
    let address = rest.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    address.parse().expect("an address")
}

pub fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}
