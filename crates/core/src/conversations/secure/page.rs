//! The page of a secure message, and the link to it: 256 bits that only this server makes, good for 30 days (D280). The link
//! alone shows who wrote, to whom and until when. A link that never was and one that was altered are the same nothing.
//!
//! Taking it back, and its end, hold from that moment on for whoever has the page open too.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use sqlx::PgConnection;
use url::Url;

use crate::conversations::conversation::Locked;
use crate::conversations::messages::outbound::lock_message;
use crate::conversations::timeline;
use crate::workspace::access::By;
use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;

/// Of links, and of the cookies of whoever proved to be meant.
const LINK: &str = "secure";
const VISIT: &str = "secure-visit";
const NOT_LEFT: &str = "Its mail has not left, so there is no link yet. Stop the message instead.";
pub const LIVES: TimeDelta = TimeDelta::days(30);
/// How long a proof holds.
pub const OPEN_FOR: TimeDelta = TimeDelta::hours(8);

rookery_base::text_enum! {
    /// How whoever opens a page proves to be meant.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Way {
        /// By a code that is mailed to the address.
        #[default]
        Code = "code",
        /// By a passphrase that was agreed elsewhere.
        Passphrase = "passphrase",
    }
}

impl Way {
    /// What a form says; a code when it says nothing else.
    pub fn from_form(word: &str) -> Self {
        Self::named(word).unwrap_or_default()
    }
}

/// How a page is to be opened, as its writer chose.
#[derive(Clone, Debug)]
pub enum Lock {
    Code,
    /// The hash of the passphrase.
    Passphrase(String),
}

/// A link that is ours, with what its page may tell before any proof.
#[derive(Debug)]
pub struct SecurePage {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    pub conversation: ConversationId,
    pub generation: i32,
    pub way: Way,
    pub passphrase_hash: Option<String>,
    pub workspace_name: String,
    pub zone: Zone,
    /// The inbox and, of the team, who wrote.
    pub inbox: String,
    pub author: Option<String>,
    pub address: String,
    pub sent_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub locked_until: Option<DateTime<Utc>>,
    pub wrong_tries: i16,
}

impl SecurePage {
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_some() || self.expires_at <= now
    }

    /// Asked again with its conversation locked: a large answer takes its time, and nothing is taken after the end.
    pub(super) async fn lives_still(&self, tx: &mut Tx<'_>) -> Result<bool> {
        let now = tx.now();
        let lives = sqlx::query_scalar!(
            r#"select true as "lives!" from secure_pages
               where workspace_id = $1 and message_id = $2 and generation = $3 and revoked_at is null and expires_at > $4"#,
            self.workspace.0,
            self.message.0,
            self.generation,
            now
        );
        Ok(lives.fetch_optional(&mut **tx).await?.is_some())
    }

    /// Until when nobody may try, when that is so.
    pub fn is_locked(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.locked_until.filter(|until| *until > now)
    }

    /// `r…@fischer.example`: whoever is meant knows it, and nobody else learns it.
    pub fn masked(&self) -> String {
        let (name, domain) = self.address.rsplit_once('@').unwrap_or((&self.address, ""));
        let first = name.chars().next().map(String::from).unwrap_or_default();
        format!("{first}…@{domain}")
    }

    /// What a browser keeps after a proof: until when, and that it was this page in this generation.
    pub fn visit(&self, keys: &KeyRing, until: DateTime<Utc>) -> String {
        let until = until.timestamp();
        format!("{until}.{}", link_tokens::token(keys.newest(), VISIT, &self.visit_is_of(until)))
    }

    /// Until when a browser that keeps this may read, when it may.
    pub fn is_visit(&self, keys: &KeyRing, kept: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let (until, token) = kept.split_once('.')?;
        let until: i64 = until.parse().ok()?;
        let ours = link_tokens::is_ours(keys, VISIT, &self.visit_is_of(until), token);
        DateTime::from_timestamp(until, 0).filter(|until| ours && *until > now)
    }

    fn visit_is_of(&self, until: i64) -> String {
        format!("{} {until}", link_is_of(self.workspace, self.message, self.generation))
    }
}

fn link_is_of(workspace: WorkspaceId, message: MessageId, generation: i32) -> String {
    format!("{workspace}/{message}/{generation}")
}

/// Makes the page of a message that was just written.
pub async fn make(tx: &mut Tx<'_>, message: MessageId, lock: &Lock, sends_at: DateTime<Utc>) -> Result<()> {
    let workspace = tx.workspace().0;
    let (way, hash) = match lock {
        Lock::Code => (Way::Code, None),
        Lock::Passphrase(hash) => (Way::Passphrase, Some(hash)),
    };
    sqlx::query!(
        "insert into secure_pages (workspace_id, message_id, proof, passphrase_hash, expires_at)
         values ($1, $2, $3, $4, $5)",
        workspace,
        message.0,
        way.as_str(),
        hash,
        sends_at + LIVES
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Its mail has left: the link lives from now on.
pub async fn left(tx: &mut Tx<'_>, message: MessageId) -> Result<()> {
    let (workspace, ends) = (tx.workspace().0, tx.now() + LIVES);
    sqlx::query!(
        "update secure_pages set expires_at = $3 where workspace_id = $1 and message_id = $2",
        workspace,
        message.0,
        ends
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The address of the page, as its mail has it, and how it is opened. Nothing when it was taken back: no mail may carry it.
pub async fn link(
    conn: &mut PgConnection,
    keys: &KeyRing,
    origin: &Url,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<Option<(String, Way)>> {
    let row = sqlx::query!(
        r#"select generation, proof as "way: Way", revoked_at from secure_pages where workspace_id = $1 and message_id = $2"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MESSAGE)?;
    if row.revoked_at.is_some() {
        return Ok(None);
    }
    let token = link_tokens::token(keys.newest(), LINK, &link_is_of(workspace, message, row.generation));
    let path = format!("secure/{workspace}/{message}/{token}");
    Ok(Some((origin.join(&path).map_err(Error::internal)?.into(), row.way)))
}

/// What a link leads to. Before its mail leaves nobody can have it; a bounce after that, which anybody can forge, ends nothing.
pub async fn find(
    conn: &mut PgConnection,
    keys: &KeyRing,
    workspace: WorkspaceId,
    message: MessageId,
    token: &str,
) -> Result<Option<SecurePage>> {
    let row = sqlx::query!(
        r#"select p.generation, p.proof as "way: Way", p.passphrase_hash, p.expires_at, p.revoked_at, p.locked_until,
               p.wrong_tries, m.conversation_id as "conversation: ConversationId", coalesce(m.sent_at, m.at) as "sent_at!",
               coalesce(m.from_name, '') as "inbox!", m.to_addresses[1] as address, w.name, w.time_zone,
               (select people.name from people
                where people.workspace_id = $1 and people.id = m.author_id and m.author_type = 'user') as author
           from secure_pages p
           join messages m on m.workspace_id = $1 and m.id = p.message_id
           join workspaces w on w.id = $1
           where p.workspace_id = $1 and p.message_id = $2
             and (m.status in ('sending', 'sent') or (m.status = 'failed' and m.sent_at is not null))"#,
        workspace.0,
        message.0
    )
    .fetch_optional(conn)
    .await?;
    // What is not there takes as long as what was altered.
    let generation = row.as_ref().map_or(0, |row| row.generation);
    // A link that was taken back says so: it is the one of the generation before.
    let of = |generation| link_is_of(workspace, message, generation);
    let is_ours = link_tokens::is_ours(keys, LINK, &of(generation), token);
    let was_ours = link_tokens::is_ours(keys, LINK, &of(generation - 1), token);
    Ok(row.filter(|row| is_ours || (was_ours && row.revoked_at.is_some())).map(|row| SecurePage {
        workspace,
        message,
        conversation: row.conversation,
        generation: row.generation,
        way: row.way,
        passphrase_hash: row.passphrase_hash,
        workspace_name: row.name,
        zone: Zone::named(&row.time_zone),
        inbox: row.inbox,
        author: row.author,
        address: row.address.unwrap_or_default().to_lowercase(),
        sent_at: row.sent_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        locked_until: row.locked_until,
        wrong_tries: row.wrong_tries,
    }))
}

/// A person takes the link back. It opens nothing from now on. False when it had ended already.
pub async fn revoke(tx: &mut Tx<'_>, person: &Person, message: MessageId) -> Result<(bool, ConversationId)> {
    let (conversation, _) = lock_message(tx, person, message).await?;
    if !has_left(tx, message).await? {
        return Err(Error::Conflict(NOT_LEFT.into()));
    }
    let revoked = end(tx, &conversation, message).await?;
    if revoked {
        let data = json!({ "messageId": message, "reason": "revoked" });
        timeline::append(tx, conversation.id, &person.by(), "secure-ended", data).await?;
    }
    Ok((revoked, conversation.id))
}

/// Of what has no page there is nothing to wait for either.
async fn has_left(tx: &mut Tx<'_>, message: MessageId) -> Result<bool> {
    let workspace = tx.workspace().0;
    let left = sqlx::query_scalar!(
        r#"select (m.status in ('sending', 'sent') or (m.status = 'failed' and m.sent_at is not null)) as "left!"
           from secure_pages p join messages m on m.workspace_id = $1 and m.id = p.message_id
           where p.workspace_id = $1 and p.message_id = $2"#,
        workspace,
        message.0
    );
    Ok(left.fetch_optional(&mut **tx).await?.unwrap_or(true))
}

/// Ends a link after too many wrong tries.
pub(super) async fn end_by_guesses(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<()> {
    if end(tx, conversation, message).await? {
        let data = json!({ "messageId": message, "reason": "guessed" });
        timeline::append(tx, conversation.id, &By::System, "secure-ended", data).await?;
    }
    Ok(())
}

async fn end(tx: &mut Tx<'_>, conversation: &Locked, message: MessageId) -> Result<bool> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let ended = sqlx::query!(
        "update secure_pages set revoked_at = $3, generation = generation + 1
         where workspace_id = $1 and message_id = $2 and revoked_at is null and expires_at > $3",
        workspace,
        message.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    tx.touch(conversation.audience, LiveTopic::Messages);
    Ok(ended.rows_affected() == 1)
}
