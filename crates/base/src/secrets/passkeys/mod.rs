//! Passkeys (WebAuthn): what an authenticator signed, checked against what it was asked. Where a key was made matters to
//! nobody here, so no attestation is asked for or read; that the person was there and was recognised by the device always does.
//! docs/decisions/passkeys.md says why this is not a crate.

pub mod cbor;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::secrets::hashes::sha256;
use crate::secrets::passkeys::cbor::CborItem;

/// Of COSE: EdDSA, ES256, RS256, those we like most first.
pub const ALGORITHMS: [i64; 3] = [-8, -7, -257];
pub const LONGEST_CREDENTIAL_ID: usize = 1023;
const LONGEST_KEY: usize = 2048;

const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const CAN_BE_BACKED_UP: u8 = 1 << 3;
const IS_BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// Why an answer is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    #[error("it cannot be read")]
    Malformed,
    #[error("it is the answer to something else")]
    Purpose,
    #[error("it answers another challenge")]
    Challenge,
    #[error("it was made on another site")]
    Origin,
    #[error("it belongs to another site")]
    Site,
    #[error("nobody was there")]
    NotPresent,
    #[error("the device did not recognise its owner")]
    NotVerified,
    #[error("its kind is not accepted")]
    Kind,
    #[error("its signature is wrong")]
    Signature,
}

/// Whose passkeys they are.
pub struct Site<'a> {
    /// As a browser names it: `https://mail.acme.example`
    pub origin: &'a str,
    /// `mail.acme.example`
    pub host: &'a str,
}

/// A new passkey.
#[derive(Debug, PartialEq, Eq)]
pub struct Registered {
    pub credential_id: Vec<u8>,
    /// As COSE writes it.
    pub public_key: Vec<u8>,
    pub counter: u32,
}

/// What a browser brings back when somebody signs in.
pub struct Assertion<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

/// Checks a new passkey.
pub fn register(
    site: &Site<'_>,
    challenge: &[u8],
    client_data: &[u8],
    attestation: &[u8],
) -> Result<Registered, Untrusted> {
    check_client_data(site, "webauthn.create", challenge, client_data)?;
    let (object, rest) = cbor::read(attestation).ok_or(Untrusted::Malformed)?;
    if !rest.is_empty() {
        return Err(Untrusted::Malformed);
    }
    // What a browser attests nevertheless (`fmt`, `attStmt`) is of no use here and is not looked at.
    let data = object.named("authData").and_then(CborItem::bytes).ok_or(Untrusted::Malformed)?;
    let data = AuthenticatorData::read(site, data)?;
    let (credential_id, public_key) = data.credential.ok_or(Untrusted::Malformed)?;
    PublicKey::read(public_key)?;
    Ok(Registered {
        credential_id: credential_id.to_vec(),
        public_key: public_key.to_vec(),
        counter: data.counter,
    })
}

/// Checks that a passkey signed the challenge. Gives its counter, to be compared with [`is_newer`].
pub fn check(
    site: &Site<'_>,
    challenge: &[u8],
    assertion: &Assertion<'_>,
    public_key: &[u8],
) -> Result<u32, Untrusted> {
    check_client_data(site, "webauthn.get", challenge, assertion.client_data)?;
    let data = AuthenticatorData::read(site, assertion.authenticator_data)?;
    let message = [assertion.authenticator_data, &sha256(assertion.client_data)].concat();
    if PublicKey::read(public_key)?.signed(&message, assertion.signature) {
        Ok(data.counter)
    } else {
        Err(Untrusted::Signature)
    }
}

/// A counter goes up, or stays zero for ever. One that does not may be of a copy.
pub fn is_newer(counter: u32, than: i64) -> bool {
    (counter == 0 && than == 0) || i64::from(counter) > than
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    purpose: String,
    challenge: String,
    origin: String,
    cross_origin: Option<bool>,
    top_origin: Option<String>,
}

fn check_client_data(
    site: &Site<'_>,
    purpose: &str,
    challenge: &[u8],
    client_data: &[u8],
) -> Result<(), Untrusted> {
    let said: ClientData = serde_json::from_slice(client_data).map_err(|_| Untrusted::Malformed)?;
    if said.purpose != purpose {
        return Err(Untrusted::Purpose);
    }
    let answered = URL_SAFE_NO_PAD.decode(said.challenge).map_err(|_| Untrusted::Malformed)?;
    verify_slices_are_equal(&answered, challenge).map_err(|_| Untrusted::Challenge)?;
    if said.origin != site.origin || said.cross_origin == Some(true) || said.top_origin.is_some() {
        return Err(Untrusted::Origin);
    }
    Ok(())
}

struct AuthenticatorData<'a> {
    counter: u32,
    /// Its id and its public key.
    credential: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> AuthenticatorData<'a> {
    fn read(site: &Site<'_>, bytes: &'a [u8]) -> Result<Self, Untrusted> {
        let (hash, rest) = bytes.split_first_chunk::<32>().ok_or(Untrusted::Malformed)?;
        let ([flags, c1, c2, c3, c4], mut rest) =
            rest.split_first_chunk::<5>().ok_or(Untrusted::Malformed)?;
        if *hash != sha256(site.host) {
            return Err(Untrusted::Site);
        }
        if flags & PRESENT == 0 {
            return Err(Untrusted::NotPresent);
        }
        if flags & VERIFIED == 0 {
            return Err(Untrusted::NotVerified);
        }
        if flags & IS_BACKED_UP != 0 && flags & CAN_BE_BACKED_UP == 0 {
            return Err(Untrusted::Malformed);
        }
        let mut credential = None;
        if flags & HAS_CREDENTIAL != 0 {
            let (found, behind) = attested(rest).ok_or(Untrusted::Malformed)?;
            credential = Some(found);
            rest = behind;
        }
        if flags & HAS_EXTENSIONS != 0 {
            let (_, behind) = cbor::read(rest).ok_or(Untrusted::Malformed)?;
            rest = behind;
        }
        if rest.is_empty() {
            Ok(Self { counter: u32::from_be_bytes([*c1, *c2, *c3, *c4]), credential })
        } else {
            Err(Untrusted::Malformed)
        }
    }
}

/// The kind of the device (16 bytes), the credential's id, its key.
#[expect(clippy::type_complexity, reason = "read once, in the line above")]
fn attested(bytes: &[u8]) -> Option<((&[u8], &[u8]), &[u8])> {
    let (_, rest) = bytes.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let (_, behind) = cbor::read(rest)?;
    let key = &rest[..rest.len() - behind.len()];
    let sound = (1..=LONGEST_CREDENTIAL_ID).contains(&id.len()) && key.len() <= LONGEST_KEY;
    sound.then_some(((id, key), behind))
}

enum PublicKey<'a> {
    P256([u8; 65]),
    Ed25519(&'a [u8]),
    Rsa { n: &'a [u8], e: &'a [u8] },
}

impl<'a> PublicKey<'a> {
    fn read(cose: &'a [u8]) -> Result<Self, Untrusted> {
        let (key, rest) = cbor::read(cose).ok_or(Untrusted::Malformed)?;
        if !rest.is_empty() {
            return Err(Untrusted::Malformed);
        }
        let number = |at| key.at(at).and_then(CborItem::number);
        let bytes = |at| key.at(at).and_then(CborItem::bytes).ok_or(Untrusted::Malformed);
        match (number(1), number(3)) {
            (Some(2), Some(-7)) if number(-1) == Some(1) => {
                let (x, y) = (bytes(-2)?, bytes(-3)?);
                let point = [&[4], x, y].concat().try_into().ok().filter(|_| x.len() == 32);
                point.map(Self::P256).ok_or(Untrusted::Malformed)
            }
            (Some(1), Some(-8)) if number(-1) == Some(6) => Ok(Self::Ed25519(bytes(-2)?)),
            (Some(3), Some(-257)) => Ok(Self::Rsa { n: bytes(-1)?, e: bytes(-2)? }),
            _ => Err(Untrusted::Kind),
        }
    }

    fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            Self::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        verified.is_ok()
    }
}

#[cfg(test)]
mod tests;
