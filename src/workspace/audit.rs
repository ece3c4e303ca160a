//! The audit log: who changed how the workspace is run. Entries form a chain, each signed together with the one before, so
//! that one that was changed, removed or moved is found. Mail is not in it: timelines tell of that.
//!
//! `record` is the only insert. It locks the end of the chain until the commit, so a verb calls it last.

use std::fmt::Display;

use chrono::{DateTime, SubsecRound, Utc};
use futures::TryStreamExt;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::secrets::hashes::hmac;
use crate::secrets::key_ring::KeyRing;
use crate::secrets::sealed::{self, Stored};
use crate::store::db::Tx;
use crate::workspace::access::{By, MemberId};

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
    PersonAdded "person.added" "added";
    PersonInvited "person.invited" "invited";
    InvitationWithdrawn "invitation.withdrawn" "withdrew the invitation of";
    PersonJoined "person.joined" "joined by invitation as";
    RoleChanged "person.role_changed" "changed the role of";
    PersonRemoved "person.removed" "removed";
    SignedIn "person.signed_in" "signed in as";
    SecondFactorOn "second_factor.on" "turned on the second factor of";
    SecondFactorOff "second_factor.off" "turned off the second factor of";
    RecoveryCodesMade "recovery_codes.made" "made new recovery codes for";
    SecondFactorRequired "second_factor.required" "asked everybody for a second factor in";
    SecondFactorOptional "second_factor.optional" "no longer asks everybody for a second factor in";
    InboxMade "inbox.made" "made the inbox";
    InboxChanged "inbox.changed" "changed the inbox";
    DomainAdded "domain.added" "added the domain";
    KeyMade "key.made" "made the key";
    KeyRevoked "key.revoked" "revoked the key";
    CapSet "agent.capped" "set the daily cap of";
    AgentsStopped "agents.stopped" "stopped every agent of";
    AgentsStarted "agents.started" "started the agents of";
    WebhookMade "webhook.made" "made the webhook";
    WebhookChanged "webhook.changed" "changed the webhook";
    WebhookRotated "webhook.rotated" "replaced the secret of the webhook";
    WebhookOldSecretEnded "webhook.old_secret_ended" "ended the old secret of the webhook";
    WebhookPaused "webhook.paused" "paused the webhook";
    WebhookResumed "webhook.resumed" "resumed the webhook";
    WebhookTested "webhook.tested" "sent a test to the webhook";
    WebhookRedelivered "webhook.redelivered" "sent events again to the webhook";
    WebhookRemoved "webhook.removed" "removed the webhook";
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
    let entry = Entry {
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
    sqlx::query!(
        "with entry as (
             insert into audit_entries
                 (workspace_id, n, at, actor, actor_name, did, subject, subject_name, data, mac)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))
         update audit_heads set n = $2, mac = $10 where workspace_id = $1",
        workspace.0,
        entry.n,
        entry.at,
        entry.actor,
        entry.actor_name,
        entry.did,
        entry.subject,
        entry.subject_name,
        entry.data,
        mac.as_slice()
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// As it is stored, and signed.
#[derive(Clone, Debug)]
pub struct Entry {
    pub n: i64,
    pub at: DateTime<Utc>,
    pub actor: String,
    pub actor_name: String,
    pub did: String,
    pub subject: String,
    pub subject_name: String,
    pub data: String,
}

impl Entry {
    /// JSON keeps the parts apart, whatever stands in them.
    fn mac(&self, key: &[u8], workspace: WorkspaceId, before: &[u8]) -> [u8; 32] {
        let Self { n, at, actor, actor_name, did, subject, subject_name, data } = self;
        let at = at.timestamp_micros();
        let parts = json!([workspace.0, n, at, actor, actor_name, did, subject, subject_name, data]);
        let mac = hmac(key, &[before, parts.to_string().as_bytes()]);
        mac.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
    }
}

fn actor(by: &By) -> String {
    match by {
        By::Person { id, .. } => MemberId::Person(*id).to_string(),
        By::Agent { id, .. } => MemberId::Agent(*id).to_string(),
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

/// What a walk along the chain found.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// So many entries, all as they were written.
    Sound(i64),
    /// The first place where it is not as it was written.
    Broken { n: i64, why: &'static str },
}

/// Checks every entry. Run it in a snapshot, so that nothing is written meanwhile.
pub async fn verify(conn: &mut PgConnection, keys: &KeyRing, workspace: WorkspaceId) -> Result<Verdict> {
    let end = sqlx::query!("select n, mac, key from audit_heads where workspace_id = $1", workspace.0)
        .fetch_optional(&mut *conn)
        .await?;
    let Some(end) = end else {
        let any =
            sqlx::query_scalar!("select min(n) from audit_entries where workspace_id = $1", workspace.0)
                .fetch_one(conn)
                .await?;
        return Ok(match any {
            None => Verdict::Sound(0),
            Some(n) => Verdict::Broken { n, why: "the end of the chain is gone" },
        });
    };
    let key = sealed::open(keys, PURPOSE, &context(workspace), &end.key)?;
    let (mut n, mut before) = (0, BEGINNING.to_vec());
    let mut rows = sqlx::query!(
        "select n, at, actor, actor_name, did, subject, subject_name, data, mac from audit_entries
         where workspace_id = $1 order by n",
        workspace.0
    )
    .fetch(conn);
    while let Some(row) = rows.try_next().await? {
        n += 1;
        if row.n != n {
            return Ok(Verdict::Broken { n, why: "an entry is missing" });
        }
        let entry = Entry {
            n: row.n,
            at: row.at,
            actor: row.actor,
            actor_name: row.actor_name,
            did: row.did,
            subject: row.subject,
            subject_name: row.subject_name,
            data: row.data,
        };
        if entry.mac(&key, workspace, &before).as_slice() != row.mac {
            return Ok(Verdict::Broken { n, why: "the entry was changed, or is not the one that was here" });
        }
        before = row.mac;
    }
    Ok(match (end.n, end.mac) == (n, before) {
        true => Verdict::Sound(n),
        false => Verdict::Broken { n: n + 1, why: "the newest entries are gone" },
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
