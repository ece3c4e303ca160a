//! ID tokens of OpenID Connect: what a provider says of somebody, signed with a key that it publishes. Only signatures that
//! need a private key are known here: `none` and every HMAC are refused by not being in the list.
//!
//! All of it is written by strangers: sizes are bounded before anything is read.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

const LONGEST: usize = 32 << 10;
const MOST_KEYS: usize = 64;
/// How far the clocks of two servers may be apart, in seconds.
const LEEWAY: f64 = 60.0;
const LONGEST_SUBJECT: usize = 255;

/// Why a token is not believed. The texts appear in the log and on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    #[error("the ID token cannot be read")]
    Malformed,
    #[error("the ID token is signed in a way that is not accepted")]
    Algorithm,
    #[error("the ID token is signed with a key that the provider does not publish")]
    UnknownKey,
    #[error("the signature of the ID token is wrong")]
    Signature,
    #[error("the ID token is of another issuer")]
    Issuer,
    #[error("the ID token is for another client")]
    Audience,
    #[error("the ID token has expired")]
    Expired,
    #[error("the ID token is not valid yet")]
    TooEarly,
    #[error("the ID token answers another sign-in")]
    Nonce,
    #[error("the account has no usable id")]
    Subject,
}

/// Whom a provider vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account's id at its issuer.
    pub subject: String,
    pub email: Option<String>,
    pub email_verified: bool,
    pub name: Option<String>,
    /// When they showed the provider who they are, if it says so.
    pub proved_at: Option<DateTime<Utc>>,
}

/// What a token has to say to be the answer to a question of ours.
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub client_id: &'a str,
    pub nonce: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// The keys of a provider that we can use.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    algorithm: Option<String>,
    public: Public,
}

#[derive(Clone, Debug)]
enum Public {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Keys of kinds that we do not know are passed over: providers publish all they have.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let set: Jwks = serde_json::from_slice(bytes).ok()?;
        let keys = set.keys.into_iter().take(MOST_KEYS);
        Some(Self(keys.filter_map(|key| serde_json::from_value(key).ok().and_then(Key::from_jwk)).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Key {
    fn from_jwk(jwk: Jwk) -> Option<Self> {
        if jwk.used_for.is_some_and(|used| used != "sig") {
            return None;
        }
        let public = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Public::Rsa { n: number(&jwk.n?)?, e: number(&jwk.e?)? },
            ("EC", Some("P-256")) => {
                let (x, y) = (decoded(&jwk.x?)?, decoded(&jwk.y?)?);
                let point = [&[4], &x[..], &y].concat();
                Public::P256(point.try_into().ok().filter(|_| x.len() == 32)?)
            }
            ("OKP", Some("Ed25519")) => Public::Ed25519(decoded(&jwk.x?)?.try_into().ok()?),
            _ => return None,
        };
        Some(Self { id: jwk.kid, algorithm: jwk.alg, public })
    }

    /// A key signs in its own way only: one that is published for another algorithm is not taken for this one.
    fn fits(&self, algorithm: Algorithm) -> bool {
        let kind = match &self.public {
            Public::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            Public::P256(_) => algorithm == Algorithm::Es256,
            Public::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        kind && self.algorithm.as_deref().is_none_or(|own| Algorithm::named(own) == Some(algorithm))
    }

    fn signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match &self.public {
            Public::Rsa { n, e } => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
            }
            Public::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Public::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok(),
        }
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    auth_time: Option<Value>,
    #[serde(flatten)]
    about: About,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// What providers say of somebody, in a token or when they are asked. Some write booleans as text.
#[derive(Deserialize)]
struct About {
    email: Option<String>,
    email_verified: Option<Value>,
    name: Option<String>,
}

impl About {
    fn into_identity(self, subject: String) -> Result<Identity, Untrusted> {
        if subject.is_empty() || subject.len() > LONGEST_SUBJECT || subject.contains('\0') {
            return Err(Untrusted::Subject);
        }
        let email_verified = self.email_verified.is_some_and(|said| said == true || said == "true");
        Ok(Identity { subject, email: self.email, email_verified, name: self.name, proved_at: None })
    }
}

/// Whom a token names, if every word of it is the answer to what was asked.
pub fn verify(
    keys: &KeySet,
    token: &str,
    expected: &Expected<'_>,
    now: DateTime<Utc>,
) -> Result<Identity, Untrusted> {
    if token.len() > LONGEST {
        return Err(Untrusted::Malformed);
    }
    let (message, signature) = token.rsplit_once('.').ok_or(Untrusted::Malformed)?;
    let (header, claims) = message.split_once('.').ok_or(Untrusted::Malformed)?;
    let header: Header = json(header)?;
    let algorithm = Algorithm::named(&header.alg).ok_or(Untrusted::Algorithm)?;
    if header.crit.is_some() {
        return Err(Untrusted::Algorithm);
    }
    let signature = decoded(signature).ok_or(Untrusted::Malformed)?;
    let is_named = |key: &&Key| header.kid.is_none() || key.id == header.kid;
    let mut candidates = keys.0.iter().filter(is_named).peekable();
    if candidates.peek().is_none() {
        return Err(Untrusted::UnknownKey);
    }
    let good =
        candidates.any(|key| key.fits(algorithm) && key.signed(algorithm, message.as_bytes(), &signature));
    if !good {
        return Err(Untrusted::Signature);
    }
    // Nothing of it was believed before this line.
    json::<Claims>(claims)?.checked(expected, now)
}

impl Claims {
    fn checked(self, expected: &Expected<'_>, now: DateTime<Utc>) -> Result<Identity, Untrusted> {
        if self.iss != expected.issuer {
            return Err(Untrusted::Issuer);
        }
        let (ours, alone) = match &self.aud {
            Audience::One(one) => (one == expected.client_id, true),
            Audience::Many(many) => (many.iter().any(|one| one == expected.client_id), many.len() == 1),
        };
        let handed_to_us = self.azp.as_deref().map_or(alone, |party| party == expected.client_id);
        if !ours || !handed_to_us {
            return Err(Untrusted::Audience);
        }
        let now = now.timestamp() as f64;
        if self.exp + LEEWAY <= now {
            return Err(Untrusted::Expired);
        }
        if self.iat > now + LEEWAY || self.nbf.is_some_and(|from| from > now + LEEWAY) {
            return Err(Untrusted::TooEarly);
        }
        let nonce = self.nonce.unwrap_or_default();
        verify_slices_are_equal(nonce.as_bytes(), expected.nonce.as_bytes()).map_err(|_| Untrusted::Nonce)?;
        let proved_at = self.auth_time.and_then(|said| said.as_f64()).filter(|at| *at <= now + LEEWAY);
        let proved_at = proved_at.and_then(|at| DateTime::from_timestamp(at as i64, 0));
        Ok(Identity { proved_at, ..self.about.into_identity(self.sub)? })
    }
}

/// The answer of a provider that is asked for more, which has to be of the same account.
pub fn user_info(bytes: &[u8], subject: &str) -> Result<Identity, Untrusted> {
    #[derive(Deserialize)]
    struct UserInfo {
        sub: String,
        #[serde(flatten)]
        about: About,
    }
    let told: UserInfo = serde_json::from_slice(bytes).map_err(|_| Untrusted::Malformed)?;
    if told.sub != subject {
        return Err(Untrusted::Subject);
    }
    told.about.into_identity(told.sub)
}

fn json<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, Untrusted> {
    let bytes = decoded(part).ok_or(Untrusted::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| Untrusted::Malformed)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok().filter(|bytes| bytes.len() <= LONGEST)
}

/// Some write a zero before the number, which is not to be there.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = decoded(text)?;
    let from = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[from..].to_vec())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_900_000_000;

    struct Provider {
        pair: EcdsaKeyPair,
        keys: KeySet,
    }

    fn encoded(bytes: impl AsRef<[u8]>) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    impl Provider {
        fn new() -> Self {
            let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
            let point = pair.public_key().as_ref();
            let jwks = json!({ "keys": [
                { "kty": "oct", "kid": "a", "k": "AAAA" },
                { "kty": "EC", "crv": "P-256", "kid": "a", "x": encoded(&point[1..33]), "y": encoded(&point[33..]) },
            ] });
            let keys = KeySet::read(jwks.to_string().as_bytes()).unwrap();
            Self { pair, keys }
        }

        fn sign(&self, header: &Value, claims: &Value) -> String {
            let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
            let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
            format!("{message}.{}", encoded(signature))
        }

        fn judge(&self, header: &Value, claims: &Value) -> Result<Identity, Untrusted> {
            self.judge_text(&self.sign(header, claims))
        }

        fn judge_text(&self, token: &str) -> Result<Identity, Untrusted> {
            let expected = Expected { issuer: "https://id.example", client_id: "rookery", nonce: "n-1" };
            verify(&self.keys, token, &expected, DateTime::from_timestamp(NOW, 0).unwrap())
        }
    }

    fn header() -> Value {
        json!({ "alg": "ES256", "kid": "a", "typ": "JWT" })
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id.example", "sub": "248289761001", "aud": "rookery", "nonce": "n-1",
            "exp": NOW + 300, "iat": NOW, "email": "ada@acme.example", "email_verified": true,
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    #[test]
    fn a_token_that_answers_what_was_asked_is_believed() {
        let provider = Provider::new();
        let ada = provider.judge(&header(), &claims()).unwrap();
        assert_eq!((ada.subject.as_str(), ada.email_verified), ("248289761001", true));
        for good in [
            with("aud", json!(["rookery"])),
            with("azp", json!("rookery")),
            with("exp", json!(NOW - 59)),
            with("iat", json!(NOW as f64 + 59.5)),
            with("nbf", json!(NOW + 60)),
            with("email_verified", json!("true")),
        ] {
            assert!(provider.judge(&header(), &good).is_ok_and(|ada| ada.email_verified), "{good}");
        }
        for unconfirmed in [json!(false), json!("false"), json!(1), Value::Null] {
            let told = with("email_verified", unconfirmed);
            assert!(!provider.judge(&header(), &told).unwrap().email_verified, "{told}");
        }
        assert!(provider.judge(&json!({ "alg": "ES256" }), &claims()).is_ok(), "the only key needs no name");
    }

    #[test]
    fn a_token_that_says_anything_else_is_not() {
        let provider = Provider::new();
        let two = json!(["rookery", "other"]);
        for (claims, why) in [
            (with("iss", json!("https://id.example/")), Untrusted::Issuer),
            (with("iss", json!("https://evil.example")), Untrusted::Issuer),
            (with("aud", json!("other")), Untrusted::Audience),
            (with("aud", json!([])), Untrusted::Audience),
            (with("aud", two.clone()), Untrusted::Audience),
            (with("azp", json!("other")), Untrusted::Audience),
            (with("exp", json!(NOW - 60)), Untrusted::Expired),
            (with("iat", json!(NOW + 61)), Untrusted::TooEarly),
            (with("nbf", json!(NOW + 61)), Untrusted::TooEarly),
            (with("nonce", json!("n-2")), Untrusted::Nonce),
            (with("nonce", Value::Null), Untrusted::Nonce),
            (with("sub", json!("")), Untrusted::Subject),
            (with("sub", json!("x".repeat(256))), Untrusted::Subject),
            (with("exp", json!("soon")), Untrusted::Malformed),
            (with("sub", json!(7)), Untrusted::Malformed),
        ] {
            assert_eq!(provider.judge(&header(), &claims), Err(why), "{claims}");
        }
        let mut both = with("aud", two);
        both["azp"] = json!("rookery");
        assert!(provider.judge(&header(), &both).is_ok(), "of several it says that it was handed to us");
    }

    #[test]
    fn a_token_that_is_not_signed_by_a_key_of_the_provider_is_not() {
        let (provider, other) = (Provider::new(), Provider::new());
        for algorithm in ["none", "None", "HS256", "HS512", "RS1", "", "ES384"] {
            let header = json!({ "alg": algorithm, "kid": "a" });
            assert_eq!(provider.judge(&header, &claims()), Err(Untrusted::Algorithm), "{algorithm}");
        }
        assert_eq!(
            provider.judge(&json!({ "alg": "RS256", "kid": "a" }), &claims()),
            Err(Untrusted::Signature),
            "a key of another kind"
        );
        assert_eq!(
            provider.judge(&json!({ "alg": "ES256", "kid": "b" }), &claims()),
            Err(Untrusted::UnknownKey)
        );
        assert_eq!(
            provider.judge(&json!({ "alg": "ES256", "kid": "a", "crit": ["exp"] }), &claims()),
            Err(Untrusted::Algorithm)
        );
        assert_eq!(provider.judge_text(&other.sign(&header(), &claims())), Err(Untrusted::Signature));
        let good = provider.sign(&header(), &claims());
        let (message, signature) = good.rsplit_once('.').unwrap();
        let forged =
            format!("{}.{}", encoded(header().to_string()), encoded(with("sub", json!("1")).to_string()));
        for bad in [
            format!("{forged}.{signature}"),
            format!("{message}."),
            format!("{message}.{}", encoded([0; 64])),
        ] {
            assert_eq!(provider.judge_text(&bad), Err(Untrusted::Signature), "{bad}");
        }
        for bad in
            [String::new(), ".".into(), "..".into(), message.into(), format!("{good}.x"), "a".repeat(40_000)]
        {
            assert!(provider.judge_text(&bad).is_err(), "{bad:.40}");
        }
    }

    /// RFC 7515, appendix A.2: another's RSA key and signature.
    #[test]
    fn rsa_signatures_of_the_standard_are_known() {
        let n = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
        let signature = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        let message = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let jwks = json!({ "keys": [{ "kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "use": "sig" }] });
        let keys = KeySet::read(jwks.to_string().as_bytes()).unwrap();
        let signed = |algorithm| {
            keys.0[0].fits(algorithm)
                && keys.0[0].signed(algorithm, message.as_bytes(), &decoded(signature).unwrap())
        };
        assert!(signed(Algorithm::Rs256));
        assert!(!signed(Algorithm::Ps256), "it is published for another algorithm");
        let encrypting = json!({ "keys": [{ "kty": "RSA", "n": n, "e": "AQAB", "use": "enc" }] });
        assert!(KeySet::read(encrypting.to_string().as_bytes()).unwrap().is_empty());
    }

    #[test]
    fn more_is_told_of_the_same_account_only() {
        let told = br#"{"sub":"1","email":"ada@acme.example","email_verified":true,"name":"Ada"}"#;
        assert_eq!(user_info(told, "1").unwrap().name.as_deref(), Some("Ada"));
        assert_eq!(user_info(told, "2"), Err(Untrusted::Subject));
        assert_eq!(user_info(b"[]", "1"), Err(Untrusted::Malformed));
    }
}
