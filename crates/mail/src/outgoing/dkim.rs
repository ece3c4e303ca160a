//! Signs outgoing mail (RFC 6376) with the key of its From domain. RSA with 2,048 bits, because some of the
//! largest receivers do not verify Ed25519, and a second signature would need a second DNS record. Mail of a
//! domain without a key leaves unsigned, and the log says so once.

use std::sync::PoisonError;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use mail_auth::common::crypto::{Algorithm, HashContext, HashImpl, Sha256};
use mail_auth::dkim::canonicalize::BodyHasher;
use mail_auth::dkim::{Canonicalization, Signature};
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::random::Random;
use rookery_base::relay::mailer::{FinalMail, OutgoingLetter, on_the_wire};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;

const PURPOSE: &str = "dkim";
/// Oversigned: listed in `h=` once more than they occur, so that nobody can add a second one to a signed mail.
const ONLY_ONCE: [&str; 4] = ["From", "To", "Subject", "Date"];

/// Prepends the signature. It carries the mail's own date, so that a retry gives the same bytes.
pub async fn sign(
    app: &App,
    letter: &OutgoingLetter,
    date: DateTime<Utc>,
    mail: &mut FinalMail,
) -> Result<()> {
    let from = on_the_wire(&letter.from).to_lowercase();
    let domain = from.rsplit('@').next().unwrap_or_default();
    let row = sqlx::query!(
        "select selector, private_key from sending_domains where workspace_id = $1 and domain = $2",
        letter.workspace.0,
        domain
    )
    .fetch_optional(&app.pool)
    .await?;
    let Some(row) = row else {
        if app.unsigned.lock().unwrap_or_else(PoisonError::into_inner).insert(domain.to_owned()) {
            tracing::warn!(workspace = %letter.workspace, domain,
                "mail of this domain leaves without a signature: run rookery admin add-domain");
        }
        return Ok(());
    };
    let context = sealed::place(letter.workspace, domain);
    let key = sealed::open(app.config.needs_secret_key()?, PURPOSE, &context, &row.private_key)?;
    let key = KeyPair::from_pkcs8(&key).map_err(Error::internal)?;
    let mut signed = signature(&key, domain, &row.selector, date, &mail.raw)?;
    signed.append(&mut mail.raw);
    mail.raw = signed;
    Ok(())
}

/// A new key: the private one as it is stored, the public one as DNS shows it.
pub fn make_key(
    keys: &KeyRing,
    random: &Random,
    workspace: WorkspaceId,
    domain: &str,
) -> Result<(Vec<u8>, String)> {
    // The library always uses the operating system's randomness.
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(Error::internal)?;
    let private: Pkcs8V1Der<'_> = pair.as_der().map_err(Error::internal)?;
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(Error::internal)?;
    let private = sealed::seal(keys, random, PURPOSE, &sealed::place(workspace, domain), private.as_ref())?;
    Ok((private, STANDARD.encode(public.as_ref())))
}

/// The private keys of these workspaces, as they are stored.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<String>>> {
    Ok(sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", domain, private_key from sending_domains
           where workspace_id = any($1) order by workspace_id, domain"#,
        workspaces
    )
    .map(|row| Stored::new(row.workspace, row.domain, PURPOSE, row.private_key))
    .fetch_all(conn)
    .await?)
}

/// Stores a key re-encrypted under another key. False when it was changed meanwhile.
pub async fn replace(tx: &mut Tx<'_>, domain: &str, old: &[u8], new: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update sending_domains set private_key = $4
         where workspace_id = $1 and domain = $2 and private_key = $3",
        workspace,
        domain,
        old,
        new
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}

/// The signature field, assembled here because the library only signs with the current time.
fn signature(
    key: &KeyPair,
    domain: &str,
    selector: &str,
    date: DateTime<Utc>,
    raw: &[u8],
) -> Result<Vec<u8>> {
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.ok_or_else(|| Error::internal("a mail without a body cannot be signed"))? + 2;
    let fields = fields(&raw[..end]);
    let mut body = BodyHasher::new(Sha256::hasher(), Canonicalization::Relaxed, 0);
    body.write(&raw[end + 2..]);
    let names = fields.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned());
    let mut signature = Signature {
        v: 1,
        a: Algorithm::RsaSha256,
        d: domain.to_owned(),
        s: selector.to_owned(),
        h: names.chain(ONLY_ONCE.map(String::from)).collect(),
        bh: body.finish().0.complete().as_ref().to_vec(),
        t: u64::try_from(date.timestamp()).unwrap_or_default(),
        ..Signature::default()
    };
    let mut signed = Vec::with_capacity(end + 256);
    Canonicalization::Relaxed.canonicalize_headers(fields.into_iter(), &mut signed);
    signature.write(&mut signed, false);
    signature.b = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), &signed, &mut signature.b).map_err(Error::internal)?;
    let mut field = Vec::with_capacity(1_024);
    signature.write(&mut field, true);
    Ok(field)
}

/// Each field's name and value, folded lines and line end included.
fn fields(header: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut fields = Vec::new();
    let mut start = 0;
    while start < header.len() {
        let folded = |at: &usize| matches!(header.get(at + 1), Some(b' ' | b'\t'));
        let line_ends = header.iter().enumerate().skip(start).filter(|(_, byte)| **byte == b'\n');
        let end = line_ends.map(|(at, _)| at).find(|at| !folded(at)).map_or(header.len(), |at| at + 1);
        let field = &header[start..end];
        if let Some(colon) = field.iter().position(|byte| *byte == b':') {
            fields.push((&field[..colon], &field[colon + 1..]));
        }
        start = end;
    }
    fields
}
