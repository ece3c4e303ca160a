//! Codes of six digits that prove that somebody reads the mail of an address: customers' pages ask for one before they
//! book or open anything (6.2). A code lasts 15 minutes and five tries, and is good once, for one purpose, subject and address.
//!
//! Only a keyed hash is stored. The code itself follows from the server's key and the moment it was asked for, and is
//! written out when its mail leaves. Asked again while it is good, it is the same code: whoever presses the button for
//! somebody else, as scanners of mail do, makes no code worthless that is on its way.

use std::net::IpAddr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::workspace::notices::{self, ClaimedNotice, NoticeWords};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::customers::Visits;
use rookery_base::limits::stranger_mail::{self, StrangerMail, TooMuch, Whose};
use rookery_base::links::without_links;
use rookery_base::net::ip_ranges;
use rookery_base::secrets::hashes::{hmac, number, sha256};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::secret::SecretKey;
use rookery_base::store::addresses;
use rookery_base::store::db::Tx;
use rookery_base::store::forget::forget;

/// The kind of the notices that carry one.
pub const NOTICE: &str = "one_time_code";
/// Where the code stands in the words that are handed in.
pub const PLACE: &str = "{code}";
const LASTS: TimeDelta = TimeDelta::minutes(15);
const MOST_TRIES: i16 = 5;
/// Asked again so soon, nothing more is sent: a double click, two tabs.
const ON_ITS_WAY: TimeDelta = TimeDelta::minutes(1);
/// A code with less left is not sent again.
const WORTH_SENDING: TimeDelta = TimeDelta::minutes(5);

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Purpose {
        Booking = "booking",
        Secure = "secure",
    }
}

/// What a code is for. It opens nothing else.
#[derive(Clone, Copy, Debug)]
pub struct CodeScope<'a> {
    pub purpose: Purpose,
    /// The booking type, or the message of the secure page.
    pub subject: i64,
    /// In lower case.
    pub address: &'a str,
}

impl CodeScope<'_> {
    /// How it is counted, by what the address is known by: a tag makes no other person of it. Anybody can have codes for bookings sent to any address; of a secure page only its own is asked.
    fn counted(&self, workspace: WorkspaceId) -> Visits {
        match self.purpose {
            Purpose::Booking => Visits::CodesOfAddress(sha256(addresses::key(self.address))),
            Purpose::Secure => {
                Visits::CodesOfReader(sha256(format!("{workspace} {}", addresses::key(self.address))))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeVerdict {
    /// It is used up by now.
    Right,
    Wrong,
    /// None was asked for, it is too old, or was guessed at too often: another one has to be asked for.
    Over,
}

/// What became of asking for a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeSending {
    Now,
    /// One is on its way already.
    Before,
    /// Nothing of the transaction may be committed.
    Refused(TooMuch),
}

/// The words of a mail that brings a code. Neither may hold anything that a stranger wrote, because whoever asks chooses who
/// gets this mail; links in them are taken out.
#[derive(Clone, Copy, Debug)]
pub struct CodeMail<'a> {
    pub subject: &'a str,
    /// With [`PLACE`] where the code goes.
    pub body: &'a str,
}

/// Has a code sent to the address.
pub async fn send(
    app: &App,
    tx: &mut Tx<'_>,
    proof: CodeScope<'_>,
    network: IpAddr,
    mail: CodeMail<'_>,
) -> Result<CodeSending> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let there = held(tx, workspace, proof).await?.filter(|there| there.is_good(now));
    if there.as_ref().is_some_and(|there| there.mailed_at > now - ON_ITS_WAY) {
        return Ok(CodeSending::Before);
    }
    // Over all workspaces, as far as this node knows. The network first: what it asks for in vain takes nothing from the
    // address.
    let everywhere = [
        (Whose::Network, Visits::CodesOfNetwork(ip_ranges::neighbourhood(network))),
        (Whose::Address, proof.counted(workspace)),
    ];
    for (whose, visits) in everywhere {
        if let Err(Error::SlowDown { retry_after, .. }) = app.customers.count(visits, now) {
            return Ok(CodeSending::Refused(TooMuch { whose, until: now + retry_after }));
        }
    }
    if there.is_none_or(|there| there.expires_at < now + WORTH_SENDING) {
        let key = tx.frame().needs_keys()?.clone();
        let code = code(key.newest(), workspace, proof, now);
        let hash = hash(key.newest(), workspace, proof, &code);
        sqlx::query!(
            "insert into one_time_codes
                 (workspace_id, purpose, subject_id, address, code_hash, sent_at, expires_at, mailed_at)
             values ($1, $2, $3, $4, $5, $6, $7, $6)
             on conflict (workspace_id, purpose, subject_id, address) do update
             set code_hash = excluded.code_hash, tries = 0, sent_at = excluded.sent_at,
                 expires_at = excluded.expires_at, mailed_at = excluded.mailed_at",
            workspace.0,
            proof.purpose.as_str(),
            proof.subject,
            proof.address,
            hash.as_slice(),
            now,
            now + LASTS
        )
        .execute(&mut **tx)
        .await?;
    } else {
        sqlx::query!(
            "update one_time_codes set mailed_at = $5
             where workspace_id = $1 and purpose = $2 and subject_id = $3 and address = $4",
            workspace.0,
            proof.purpose.as_str(),
            proof.subject,
            proof.address,
            now
        )
        .execute(&mut **tx)
        .await?;
    }
    let body = without_links(mail.body).replace(PLACE, &place_in_mail(proof));
    let words = NoticeWords { kind: NOTICE, subject: &without_links(mail.subject), body: &body };
    notices::write_to(tx, workspace, now, &app.random, &[proof.address.to_owned()], words).await?;
    let (page, address) = (proof.subject, proof.address);
    let mail = match proof.purpose {
        Purpose::Booking => StrangerMail::BookingCode { page, address, network },
        Purpose::Secure => StrangerMail::SecureCode { page, address, network },
    };
    Ok(stranger_mail::count(tx, mail).await?.map_or_else(CodeSending::Refused, |()| CodeSending::Now))
}

/// Tries a code. Commit whatever comes of it: a wrong try counts, and a right code is used up.
pub async fn check(tx: &mut Tx<'_>, proof: CodeScope<'_>, given: &str) -> Result<CodeVerdict> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let tried = sqlx::query_scalar!(
        "update one_time_codes set tries = tries + 1
         where workspace_id = $1 and purpose = $2 and subject_id = $3 and address = $4
           and tries < $5 and expires_at > $6
         returning code_hash",
        workspace.0,
        proof.purpose.as_str(),
        proof.subject,
        proof.address,
        MOST_TRIES,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(stored) = tried else { return Ok(CodeVerdict::Over) };
    let given: String = given.chars().filter(|c| !c.is_whitespace()).collect();
    let keys = tx.frame().needs_keys()?;
    let fits =
        |key: &SecretKey| verify_slices_are_equal(&hash(key, workspace, proof, &given), &stored).is_ok();
    if !keys.all().any(|(_, key)| fits(key)) {
        return Ok(CodeVerdict::Wrong);
    }
    sqlx::query!(
        "delete from one_time_codes
         where workspace_id = $1 and purpose = $2 and subject_id = $3 and address = $4",
        workspace.0,
        proof.purpose.as_str(),
        proof.subject,
        proof.address
    )
    .execute(&mut **tx)
    .await?;
    Ok(CodeVerdict::Right)
}

/// The words of a notice that carries a code; nothing when the code is no good any more.
pub async fn words(app: &App, notice: &ClaimedNotice) -> Result<Option<String>> {
    let Some((purpose, subject)) = named_in(&notice.body) else { return Ok(None) };
    let proof = CodeScope { purpose, subject, address: &notice.recipient };
    let there = held(&mut *app.connection().await?, notice.workspace, proof).await?;
    let Some(there) = there.filter(|there| there.is_good(app.clock.now())) else { return Ok(None) };
    let code = there.code(app.config.needs_secret_key()?, notice.workspace, proof);
    Ok(code.map(|code| notice.body.replace(&place_in_mail(proof), &code)))
}

/// Whom such a mail is from: the workspace, which the customer knows.
pub async fn sender(app: &App, workspace: WorkspaceId) -> Result<String> {
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut *app.connection_of(workspace).await?)
        .await?;
    Ok(without_links(&name).into_owned())
}

/// Deletes codes that are over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "one_time_codes", "expires_at", now, 1000)
}

/// Those of somebody who is erased, and the mails with them that have not left.
pub async fn erase(tx: &mut Tx<'_>, address: &str) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!("delete from one_time_codes where workspace_id = $1 and address = $2", workspace, address)
        .execute(&mut **tx)
        .await?;
    notices::withdraw(tx, NOTICE, address).await
}

struct Held {
    code_hash: Vec<u8>,
    tries: i16,
    sent_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    mailed_at: DateTime<Utc>,
}

impl Held {
    fn is_good(&self, now: DateTime<Utc>) -> bool {
        self.tries < MOST_TRIES && self.expires_at > now
    }

    /// Made with whichever key was the newest then.
    fn code(&self, keys: &KeyRing, workspace: WorkspaceId, proof: CodeScope<'_>) -> Option<String> {
        keys.all().find_map(|(_, key)| {
            let code = code(key, workspace, proof, self.sent_at);
            (hash(key, workspace, proof, &code).as_slice() == self.code_hash).then_some(code)
        })
    }
}

async fn held(conn: &mut PgConnection, workspace: WorkspaceId, proof: CodeScope<'_>) -> Result<Option<Held>> {
    Ok(sqlx::query_as!(
        Held,
        "select code_hash, tries, sent_at, expires_at, mailed_at from one_time_codes
         where workspace_id = $1 and purpose = $2 and subject_id = $3 and address = $4",
        workspace.0,
        proof.purpose.as_str(),
        proof.subject,
        proof.address
    )
    .fetch_optional(conn)
    .await?)
}

fn code(key: &SecretKey, workspace: WorkspaceId, proof: CodeScope<'_>, sent_at: DateTime<Utc>) -> String {
    let of = place(workspace, proof);
    let made = hmac(&key.0, &[b"one-time code\0", of.as_bytes(), &sent_at.timestamp_micros().to_be_bytes()]);
    // 64 bits over a million: no digit is likelier than another by anything that can be noticed.
    format!("{:06}", number(sha256(made)).unsigned_abs() % 1_000_000)
}

fn hash(key: &SecretKey, workspace: WorkspaceId, proof: CodeScope<'_>, code: &str) -> Vec<u8> {
    let of = place(workspace, proof);
    hmac(&key.0, &[b"one-time code's hash\0", of.as_bytes(), b"\0", code.as_bytes()]).as_ref().to_vec()
}

fn place(workspace: WorkspaceId, proof: CodeScope<'_>) -> String {
    format!("{workspace} {} {} {}", proof.purpose.as_str(), proof.subject, proof.address)
}

/// Stands in the stored notice until it leaves.
fn place_in_mail(proof: CodeScope<'_>) -> String {
    format!("{{code {} {}}}", proof.purpose.as_str(), proof.subject)
}

fn named_in(body: &str) -> Option<(Purpose, i64)> {
    let (named, _) = body.split_once("{code ")?.1.split_once('}')?;
    let (purpose, subject) = named.split_once(' ')?;
    let purpose = Purpose::named(purpose)?;
    Some((purpose, subject.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_one_workspace_purpose_subject_address_and_moment() {
        let key = SecretKey([1; 32]);
        let at = DateTime::UNIX_EPOCH;
        let proof = CodeScope { purpose: Purpose::Secure, subject: 7, address: "rosa@customer.example" };
        let mine = code(&key, WorkspaceId(1), proof, at);
        assert_eq!((mine.len(), &mine), (6, &code(&key, WorkspaceId(1), proof, at)));
        let others = [
            code(&SecretKey([2; 32]), WorkspaceId(1), proof, at),
            code(&key, WorkspaceId(2), proof, at),
            code(&key, WorkspaceId(1), CodeScope { purpose: Purpose::Booking, ..proof }, at),
            code(&key, WorkspaceId(1), CodeScope { subject: 8, ..proof }, at),
            code(&key, WorkspaceId(1), CodeScope { address: "mallory@customer.example", ..proof }, at),
            code(&key, WorkspaceId(1), proof, at + TimeDelta::microseconds(1)),
        ];
        assert!(others.iter().all(|other| *other != mine), "{mine} {others:?}");
        assert_eq!(named_in(&format!("Your code: {}.", place_in_mail(proof))), Some((Purpose::Secure, 7)));
        assert_eq!(named_in("Your code: {code other 7}"), None);
    }
}
