//! The audit log: who changed how the workspace is run. Entries form a chain, each signed together with the one before, so
//! that one that was changed, removed or moved is found. Mail is not in it: timelines tell of that.
//!
//! `record` is the only insert. It locks the end of the chain until the commit, so a verb calls it last.

pub mod list;
pub mod watch;

use std::fmt::{self, Display};
use std::str::FromStr;

use chrono::{DateTime, SubsecRound, Utc};
use futures::TryStreamExt;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::workspace::access::{By, MemberId};
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::hmac;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;

const PURPOSE: &str = "audit";
/// What stands before the first entry.
const BEGINNING: [u8; 32] = [0; 32];

/// The one list of what is recorded: its name, and the words between who and what.
macro_rules! recorded {
    ($($did:ident $name:literal $words:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Did { $($did),* }

        impl Did {
            pub const ALL: &[Self] = &[$(Self::$did),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$did => $name),* }
            }

            pub fn words(self) -> &'static str {
                match self { $(Self::$did => $words),* }
            }
        }
    };
}

recorded! {
    WorkspaceChanged "workspace.changed" "changed the name or the time zone of";
    PersonAdded "person.added" "added";
    PersonInvited "person.invited" "invited";
    InvitationWithdrawn "invitation.withdrawn" "withdrew the invitation of";
    PersonJoined "person.joined" "joined by invitation as";
    RoleChanged "person.role_changed" "changed the role of";
    PersonRemoved "person.removed" "removed";
    SignedIn "person.signed_in" "signed in as";
    SecondFactorOn "second_factor.on" "turned on two-step verification for";
    SecondFactorOff "second_factor.off" "turned off two-step verification for";
    RecoveryCodesMade "recovery_codes.made" "made new recovery codes for";
    SecondFactorRequired "second_factor.required" "required two-step verification in";
    SecondFactorOptional "second_factor.optional" "made two-step verification optional in";
    PasskeyAdded "passkey.added" "added a passkey of";
    PasskeyRenamed "passkey.renamed" "renamed a passkey of";
    PasskeyRemoved "passkey.removed" "removed a passkey of";
    SsoConnected "sso.connected" "connected single sign-on to";
    SsoDisconnected "sso.disconnected" "disconnected single sign-on from";
    SsoRequired "sso.required" "allows only single sign-on in";
    SsoOptional "sso.optional" "allows other ways to sign in again in";
    SsoAccountBound "sso.account_bound" "signed in by single sign-on for the first time as";
    SsoAccountForgotten "sso.account_forgotten" "forgot the single sign-on account of";
    InboxMade "inbox.made" "made the inbox";
    InboxChanged "inbox.changed" "changed the inbox";
    DomainAdded "domain.added" "added the domain";
    DomainProven "domain.proven" "proved the domain";
    DomainAssigned "domain.assigned" "assigned the domain";
    DomainLost "domain.lost" "stopped mail of the domain";
    KeyMade "key.made" "made the key";
    KeyRevoked "key.revoked" "revoked the key";
    CapSet "agent.capped" "set the daily cap of";
    AgentsStopped "agents.stopped" "stopped every agent of";
    AgentsStarted "agents.started" "started the agents of";
    SecureWordsAllowed "secure_words.allowed" "allowed agents to read secure words in";
    SecureWordsKept "secure_words.kept" "keeps secure words from the agents of";
    AssistantsChanged "assistants.changed" "changed how assistants work in";
    AssistantsLimited "assistants.limited" "changed what assistants may cost in";
    AssistantsModel "assistants.model" "changed the model of the assistants of";
    AssistantsAgreed "assistants.agreed" "decided which mail a model is shown in";
    AssistantsStopped "assistants.stopped" "stopped the assistants of";
    AssistantsStarted "assistants.started" "started the assistants of";
    AssistantsDiscarded "assistants.discarded" "threw away all drafts of the assistant of";
    WebhookMade "webhook.made" "made the webhook";
    WebhookChanged "webhook.changed" "changed the webhook";
    WebhookRotated "webhook.rotated" "replaced the secret of the webhook";
    WebhookOldSecretEnded "webhook.old_secret_ended" "ended the old secret of the webhook";
    WebhookPaused "webhook.paused" "paused the webhook";
    WebhookResumed "webhook.resumed" "resumed the webhook";
    WebhookTested "webhook.tested" "sent a test to the webhook";
    WebhookRedelivered "webhook.redelivered" "sent events again to the webhook";
    WebhookRemoved "webhook.removed" "removed the webhook";
    ServiceConnected "service.connected" "connected the sending service";
    ServiceKeySet "service.key_set" "entered the key of the sending service";
    ServiceRotated "service.rotated" "replaced the secret of the sending service";
    ServiceOldSecretEnded "service.old_secret_ended" "ended the old secret of the sending service";
    ServicePaused "service.paused" "paused the sending service";
    ServiceResumed "service.resumed" "resumed the sending service";
    ServiceDisconnected "service.disconnected" "disconnected the sending service";
    PasswordSet "password.set" "set the password of";
    AuditExported "audit.exported" "exported the audit log of";
    RetentionChanged "retention.changed" "changed how long closed mail is kept in";
    RetentionRemoved "retention.removed" "removed closed conversations that were over their time from";
    HoldPlaced "hold.placed" "placed a hold on";
    HoldEnded "hold.ended" "ended the hold on";
    ConversationDeleted "erasure.conversation" "deleted the conversation";
    ErasureAsked "erasure.asked" "asked to erase";
    ErasureDone "erasure.done" "finished erasing";
    ErasureReplayed "erasure.replayed" "erases again, after an older backup came back,";
    ExportAsked "export.asked" "asked for an export of";
    ExportMade "export.made" "made the export of";
    ExportTaken "export.taken" "downloaded the export of";
    ExportEnded "export.ended" "ended the export of";
    RuleMade "rule.made" "made the rule";
    RuleChanged "rule.changed" "changed the rule";
    RuleOn "rule.on" "turned on the rule";
    RuleOff "rule.off" "turned off the rule";
    RuleMoved "rule.moved" "moved the rule";
    RuleRemoved "rule.removed" "removed the rule";
    BookingTypeMade "booking_type.made" "made the booking type";
    BookingTypeChanged "booking_type.changed" "changed the booking type";
    BookingTypePaused "booking_type.paused" "paused the booking type";
    BookingTypeResumed "booking_type.resumed" "resumed the booking type";
    BookingTypeRemoved "booking_type.removed" "removed the booking type";
    BookingHoursSet "booking_hours.set" "changed when one can book";
    CalendarConnected "calendar.connected" "connected another calendar of";
    CalendarDisconnected "calendar.disconnected" "disconnected another calendar of";
}

/// What people look for, by the beginnings of names.
pub const GROUPS: &[(&str, &str, &[&str])] = &[
    (
        "sign-ins",
        "Sign-ins and factors",
        &["person.signed_in", "password.", "second_factor.", "recovery_codes.", "passkey.", "sso."],
    ),
    (
        "people",
        "People and roles",
        &["person.added", "person.invited", "person.joined", "person.role", "person.removed", "invitation."],
    ),
    ("keys", "Keys, agents and assistants", &["key.", "agent.", "agents.", "assistants."]),
    ("webhooks", "Webhooks and services", &["webhook.", "service."]),
    ("inboxes", "Inboxes, domains and rules", &["inbox.", "domain.", "rule."]),
    ("bookings", "Bookings", &["booking_type.", "booking_hours.", "calendar."]),
    ("data", "Data, holds and exports", &["audit.", "retention.", "hold.", "erasure.", "export."]),
];

impl Did {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|did| did.name() == name)
    }

    pub fn is_of(self, group: &[&str]) -> bool {
        group.iter().any(|beginning| self.name().starts_with(beginning))
    }
}

/// What something was done to.
pub struct Subject<'a> {
    /// An id or an address.
    pub id: &'a (dyn Display + Sync),
    pub name: &'a str,
}

/// Writes an entry. `data` holds what somebody would ask later (scopes, the role before and after), never a secret and
/// never a word of mail.
pub async fn record(tx: &mut Tx<'_>, by: &By, did: Did, subject: Subject<'_>, data: Value) -> Result<()> {
    let workspace = tx.workspace();
    let end = end(tx).await?;
    let entry = AuditEntry {
        n: end.n + 1,
        at: tx.now().trunc_subsecs(6),
        actor: actor(by),
        actor_name: by.name().to_owned(),
        did: did.name().to_owned(),
        subject: subject.id.to_string(),
        subject_name: subject.name.to_owned(),
        data: data.to_string(),
    };
    let mac = entry.mac(&end.key, workspace, &end.mac);
    let signed = signed(&end.key, "head", workspace, entry.n, &mac);
    sqlx::query!(
        "with entry as (
             insert into audit_entries
                 (workspace_id, n, at, actor, actor_name, did, subject, subject_name, data, mac)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))
         update audit_heads set n = $2, mac = $10, signed = $11 where workspace_id = $1",
        workspace.0,
        entry.n,
        entry.at,
        entry.actor,
        entry.actor_name,
        entry.did,
        entry.subject,
        entry.subject_name,
        entry.data,
        mac.as_slice(),
        signed.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// As it is stored, and signed.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    pub n: i64,
    pub at: DateTime<Utc>,
    pub actor: String,
    pub actor_name: String,
    pub did: String,
    pub subject: String,
    pub subject_name: String,
    pub data: String,
}

impl AuditEntry {
    /// JSON keeps the parts apart, whatever stands in them. The first says that the end of the chain is signed too.
    fn mac(&self, key: &[u8], workspace: WorkspaceId, before: &[u8]) -> [u8; 32] {
        let Self { n, at, actor, actor_name, did, subject, subject_name, data } = self;
        let at = at.timestamp_micros();
        let parts = json!(["2", workspace.0, n, at, actor, actor_name, did, subject, subject_name, data]);
        bytes(&hmac(key, &[before, parts.to_string().as_bytes()]))
    }

    /// As older versions signed, which did not sign the end.
    fn older_mac(&self, key: &[u8], workspace: WorkspaceId, before: &[u8]) -> [u8; 32] {
        let Self { n, at, actor, actor_name, did, subject, subject_name, data } = self;
        let at = at.timestamp_micros();
        let parts = json!([workspace.0, n, at, actor, actor_name, did, subject, subject_name, data]);
        bytes(&hmac(key, &[before, parts.to_string().as_bytes()]))
    }
}

/// What only we can say of a place in the chain: that it is its end, or that it begins there.
fn signed(key: &[u8], what: &str, workspace: WorkspaceId, n: i64, mac: &[u8]) -> [u8; 32] {
    bytes(&hmac(key, &[json!([what, workspace.0, n]).to_string().as_bytes(), mac]))
}

fn bytes(mac: &impl AsRef<[u8]>) -> [u8; 32] {
    mac.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
}

fn actor(by: &By) -> String {
    match by {
        By::Person { id, .. } => MemberId::Person(*id).to_string(),
        By::Agent { id, .. } => MemberId::Agent(*id).to_string(),
        By::Rule { .. } => "rule".to_owned(),
        By::System => "system".to_owned(),
    }
}

struct End {
    n: i64,
    mac: Vec<u8>,
    key: Vec<u8>,
}

/// The end of the chain, locked. The first entry of a workspace makes its key.
async fn end(tx: &mut Tx<'_>) -> Result<End> {
    let workspace = tx.workspace();
    let keys = tx.frame().needs_keys()?.clone();
    loop {
        let end = sqlx::query!(
            "select n, mac, key from audit_heads where workspace_id = $1 for update",
            workspace.0
        )
        .fetch_optional(&mut **tx)
        .await?;
        if let Some(end) = end {
            let key = sealed::open(&keys, PURPOSE, &context(workspace), &end.key)?;
            return Ok(End { n: end.n, mac: end.mac, key });
        }
        let random = tx.frame().random.clone();
        let key = sealed::seal(&keys, &random, PURPOSE, &context(workspace), &random.bytes::<32>())?;
        sqlx::query!(
            "insert into audit_heads (workspace_id, n, mac, key) values ($1, 0, $2, $3) on conflict do nothing",
            workspace.0,
            BEGINNING.as_slice(),
            key
        )
        .execute(&mut **tx)
        .await?;
    }
}

fn context(workspace: WorkspaceId) -> String {
    sealed::place(workspace, "audit")
}

/// The sealed key of a workspace. Other keys are made from it (erased_addresses.rs), so it is never replaced, only resealed.
pub async fn sealed_key(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<Vec<u8>>> {
    Ok(sqlx::query_scalar!("select key from audit_heads where workspace_id = $1", workspace.0)
        .fetch_optional(conn)
        .await?)
}

/// With what it is sealed.
pub fn sealed_as(workspace: WorkspaceId) -> (String, &'static str) {
    (context(workspace), PURPOSE)
}

pub fn open_key(keys: &KeyRing, workspace: WorkspaceId, sealed: &[u8]) -> Result<Vec<u8>> {
    sealed::open(keys, PURPOSE, &context(workspace), sealed)
}

/// Makes the workspace's key, when it has none yet.
pub async fn make_key(tx: &mut Tx<'_>) -> Result<()> {
    end(tx).await?;
    Ok(())
}

/// Takes the key that the workspace had when it was newer: an older backup came back from before it was made.
pub async fn adopt_key(tx: &mut Tx<'_>, sealed: &[u8]) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "insert into audit_heads (workspace_id, n, mac, key) values ($1, 0, $2, $3) on conflict do nothing",
        workspace,
        BEGINNING.as_slice(),
        sealed
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// What a walk along the chain found.
#[derive(Debug, PartialEq, Eq)]
pub enum ChainVerdict {
    /// So many entries, all as they were written.
    Sound(i64),
    /// The first place where it is not as it was written.
    Broken { n: i64, why: &'static str },
}

/// A place in the chain, as the log of the server tells it: `18204:` and the entry's code in hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub n: i64,
    pub mac: Vec<u8>,
}

impl Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.n)?;
        self.mac.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Head {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "a head is a number, a colon and 64 digits of hex, as the log has it";
        let (n, hex) = text.split_once(':').ok_or(FORM)?;
        let byte = |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        let mac: Option<Vec<u8>> = (0..64).step_by(2).map(byte).collect();
        match (n.parse(), mac, hex.len()) {
            (Ok(n), Some(mac), 64) => Ok(Self { n, mac }),
            _ => Err(FORM),
        }
    }
}

const CUT: &str = "the newest entries are gone";

/// Checks every entry. Run it in a snapshot, so that nothing is written meanwhile. `seen` is a head that somebody wrote
/// down: a chain that was cut and put together again by somebody who has an older copy of the database is not the one it
/// was part of.
pub async fn verify(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    seen: Option<&Head>,
) -> Result<ChainVerdict> {
    let end = sqlx::query!(
        "select n, mac, key, signed, trimmed_n, trimmed_mac, anchor from audit_heads where workspace_id = $1",
        workspace.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    // The first person of a workspace is its first entry, so there is always an end.
    let Some(end) = end else {
        let any =
            sqlx::query_scalar!("select min(n) from audit_entries where workspace_id = $1", workspace.0)
                .fetch_one(conn)
                .await?;
        return Ok(match any {
            None => ChainVerdict::Broken { n: 1, why: "there is no log: neither entries nor an end" },
            Some(n) => ChainVerdict::Broken { n, why: "the end of the chain is gone" },
        });
    };
    let key = sealed::open(keys, PURPOSE, &context(workspace), &end.key)?;
    let (mut n, mut before) = (end.trimmed_n, end.trimmed_mac);
    let anchored = match n {
        0 => before == BEGINNING,
        n => end.anchor.as_deref() == Some(&signed(&key, "anchor", workspace, n, &before)),
    };
    if !anchored {
        return Ok(ChainVerdict::Broken { n: n + 1, why: "where the chain begins is not what was signed" });
    }
    // An entry of an older version may stand at the end without a signature, until the next one is written. Where there are
    // such entries, cutting off all that came after them is found only by a head that somebody wrote down.
    let mut is_older = false;
    let mut rows = sqlx::query!(
        "select n, at, actor, actor_name, did, subject, subject_name, data, mac from audit_entries
         where workspace_id = $1 order by n",
        workspace.0
    )
    .fetch(conn);
    while let Some(row) = rows.try_next().await? {
        n += 1;
        if row.n != n {
            return Ok(ChainVerdict::Broken { n, why: "an entry is missing, or one came in" });
        }
        let entry = AuditEntry {
            n: row.n,
            at: row.at,
            actor: row.actor,
            actor_name: row.actor_name,
            did: row.did,
            subject: row.subject,
            subject_name: row.subject_name,
            data: row.data,
        };
        let is_now = entry.mac(&key, workspace, &before).as_slice() == row.mac;
        is_older = !is_now && entry.older_mac(&key, workspace, &before).as_slice() == row.mac;
        if !is_now && !is_older {
            return Ok(ChainVerdict::Broken {
                n,
                why: "the entry was changed, or is not the one that was here",
            });
        }
        if seen.is_some_and(|seen| seen.n == n && seen.mac != row.mac) {
            return Ok(ChainVerdict::Broken {
                n,
                why: "the entry is not the one that the log of the server tells of",
            });
        }
        before = row.mac;
    }
    let is_signed = match end.signed {
        Some(end_signed) => end_signed == signed(&key, "head", workspace, n, &before),
        None => is_older,
    };
    let is_end = (end.n, &end.mac) == (n, &before) && is_signed;
    Ok(if is_end && seen.is_none_or(|seen| seen.n <= n) {
        ChainVerdict::Sound(n)
    } else {
        ChainVerdict::Broken { n: n + 1, why: CUT }
    })
}

/// The sealed keys of these workspaces, for resealing.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<&'static str>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", key from audit_heads where workspace_id = any($1)"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, "audit", PURPOSE, row.key)).collect())
}

pub async fn replace_key(tx: &mut Tx<'_>, before: &[u8], anew: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update audit_heads set key = $3 where workspace_id = $1 and key = $2",
        workspace,
        before,
        anew
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}
