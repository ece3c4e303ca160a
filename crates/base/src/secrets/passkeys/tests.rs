//! A software authenticator, and everything that can be wrong with what it says.
//! tests/it/web/settings/passkeys.rs has one that speaks to the pages.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};

use super::*;

const SITE: Site<'static> = Site { origin: "https://mail.acme.example", host: "mail.acme.example" };
const CHALLENGE: [u8; 32] = [7; 32];
const GOOD: u8 = PRESENT | VERIFIED;

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Pair {
    fn cose(&self) -> Vec<u8> {
        match self {
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
                [&head, &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat()
            }
            Self::Ed25519(pair) => {
                let head = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20];
                [&head, pair.public_key().as_ref()].concat()
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P256(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

fn pairs() -> [Pair; 2] {
    [
        Pair::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
        Pair::Ed25519(Ed25519KeyPair::generate().unwrap()),
    ]
}

fn client_data(purpose: &str, challenge: &[u8], origin: &str) -> Vec<u8> {
    let challenge = URL_SAFE_NO_PAD.encode(challenge);
    serde_json::json!({ "type": purpose, "challenge": challenge, "origin": origin, "crossOrigin": false })
        .to_string()
        .into_bytes()
}

fn data(host: &str, flags: u8, counter: u32, more: &[u8]) -> Vec<u8> {
    [&sha256(host)[..], &[flags], &counter.to_be_bytes(), more].concat()
}

fn credential(cose: &[u8]) -> Vec<u8> {
    [&[0; 16][..], &[0, 4], b"abcd", cose].concat()
}

fn attestation(kind: &str, data: &[u8]) -> Vec<u8> {
    let text = |text: &str| [&[0x60 + text.len() as u8], text.as_bytes()].concat();
    let length = (data.len() as u16).to_be_bytes();
    [
        &[0xa3][..],
        &text("fmt"),
        &text(kind),
        &text("attStmt"),
        &[0xa0],
        &text("authData"),
        &[0x59],
        &length,
        data,
    ]
    .concat()
}

fn made(pair: &Pair, flags: u8) -> Result<Registered, Untrusted> {
    let data = data(SITE.host, flags, 3, &credential(&pair.cose()));
    let said = client_data("webauthn.create", &CHALLENGE, SITE.origin);
    register(&SITE, &CHALLENGE, &said, &attestation("none", &data))
}

fn shown(pair: &Pair, said: &[u8], data: &[u8]) -> Result<u32, Untrusted> {
    let signature = pair.sign(&[data, &sha256(said)].concat());
    let assertion = Assertion { client_data: said, authenticator_data: data, signature: &signature };
    check(&SITE, &CHALLENGE, &assertion, &pair.cose())
}

#[test]
fn a_passkey_is_made_and_signs() {
    for pair in pairs() {
        let new = made(&pair, GOOD | HAS_CREDENTIAL).unwrap();
        assert_eq!((new.credential_id.as_slice(), new.counter), (&b"abcd"[..], 3));
        assert_eq!(new.public_key, pair.cose());
        let said = client_data("webauthn.get", &CHALLENGE, SITE.origin);
        assert_eq!(shown(&pair, &said, &data(SITE.host, GOOD, 9, &[])), Ok(9));
        let with_extensions = data(SITE.host, GOOD | HAS_EXTENSIONS, 9, &[0xa1, 0x61, 0x61, 0xf5]);
        assert_eq!(shown(&pair, &said, &with_extensions), Ok(9));
    }
}

#[test]
fn an_answer_for_another_site_moment_or_purpose_is_refused() {
    let [pair, _] = pairs();
    let right = data(SITE.host, GOOD, 1, &[]);
    let said = client_data("webauthn.get", &CHALLENGE, SITE.origin);
    for (said, why) in [
        (client_data("webauthn.create", &CHALLENGE, SITE.origin), Untrusted::Purpose),
        (client_data("webauthn.get", &[8; 32], SITE.origin), Untrusted::Challenge),
        (client_data("webauthn.get", &[], SITE.origin), Untrusted::Challenge),
        (
            client_data("webauthn.get", &CHALLENGE, "https://mail.acme.example.evil.example"),
            Untrusted::Origin,
        ),
        (client_data("webauthn.get", &CHALLENGE, "https://acme.example"), Untrusted::Origin),
        (client_data("webauthn.get", &CHALLENGE, "http://mail.acme.example"), Untrusted::Origin),
        (client_data("webauthn.get", &CHALLENGE, "https://mail.acme.example:8443"), Untrusted::Origin),
        (b"{}".to_vec(), Untrusted::Malformed),
    ] {
        assert_eq!(shown(&pair, &said, &right), Err(why), "{}", String::from_utf8_lossy(&said));
    }
    let framed = String::from_utf8(said.clone()).unwrap().replace("false", "true").into_bytes();
    assert_eq!(shown(&pair, &framed, &right), Err(Untrusted::Origin), "in a frame of another site");
    for (data, why) in [
        (data("evil.example", GOOD, 1, &[]), Untrusted::Site),
        (data("acme.example", GOOD, 1, &[]), Untrusted::Site),
        (data(SITE.host, VERIFIED, 1, &[]), Untrusted::NotPresent),
        (data(SITE.host, PRESENT, 1, &[]), Untrusted::NotVerified),
        (data(SITE.host, GOOD | IS_BACKED_UP, 1, &[]), Untrusted::Malformed),
        (data(SITE.host, GOOD, 1, &[0]), Untrusted::Malformed),
        (data(SITE.host, GOOD | HAS_EXTENSIONS, 1, &[]), Untrusted::Malformed),
        (data(SITE.host, GOOD, 1, &[])[..36].to_vec(), Untrusted::Malformed),
    ] {
        assert_eq!(shown(&pair, &said, &data), Err(why));
    }
}

#[test]
fn an_answer_that_another_key_signed_or_that_was_changed_is_refused() {
    let [pair, other] = pairs();
    let [second, _] = pairs();
    let (said, right) = (client_data("webauthn.get", &CHALLENGE, SITE.origin), data(SITE.host, GOOD, 1, &[]));
    let message = [&right[..], &sha256(&said)].concat();
    for key in [&other, &second] {
        let signature = key.sign(&message);
        let assertion = Assertion { client_data: &said, authenticator_data: &right, signature: &signature };
        assert_eq!(check(&SITE, &CHALLENGE, &assertion, &pair.cose()), Err(Untrusted::Signature));
    }
    let signature = pair.sign(&message);
    let counted_up = data(SITE.host, GOOD, 2, &[]);
    let assertion = Assertion { client_data: &said, authenticator_data: &counted_up, signature: &signature };
    assert_eq!(check(&SITE, &CHALLENGE, &assertion, &pair.cose()), Err(Untrusted::Signature));
}

#[test]
fn a_new_passkey_of_something_else_or_without_its_owner_is_refused() {
    let [pair, _] = pairs();
    assert_eq!(made(&pair, PRESENT | HAS_CREDENTIAL), Err(Untrusted::NotVerified));
    assert_eq!(made(&pair, GOOD), Err(Untrusted::Malformed), "no credential");
    let data = data(SITE.host, GOOD | HAS_CREDENTIAL, 0, &credential(&pair.cose()));
    let said = client_data("webauthn.create", &CHALLENGE, SITE.origin);
    let packed = attestation("packed", &data);
    assert!(register(&SITE, &CHALLENGE, &said, &packed).is_ok(), "nobody asked what it attests");
    let got = client_data("webauthn.get", &CHALLENGE, SITE.origin);
    let none = attestation("none", &data);
    assert_eq!(register(&SITE, &CHALLENGE, &got, &none), Err(Untrusted::Purpose));
    assert_eq!(register(&SITE, &[1; 32], &said, &none), Err(Untrusted::Challenge));
    for cut in 0..none.len() {
        assert!(register(&SITE, &CHALLENGE, &said, &none[..cut]).is_err(), "{cut}");
    }
    // ES384, a key of the wrong curve, a short point.
    let es384 = [0xa3, 0x01, 0x02, 0x03, 0x38, 0x22, 0x20, 0x02];
    let mut short = pair.cose();
    short[9] = 0x1f;
    for key in [es384.to_vec(), short] {
        let data = super::tests::data(SITE.host, GOOD | HAS_CREDENTIAL, 0, &credential(&key));
        assert!(register(&SITE, &CHALLENGE, &said, &attestation("none", &data)).is_err());
    }
}

#[test]
fn a_counter_goes_up_or_stays_zero() {
    assert!(is_newer(0, 0) && is_newer(1, 0) && is_newer(8, 7));
    assert!(!is_newer(0, 7) && !is_newer(7, 7) && !is_newer(6, 7));
}
