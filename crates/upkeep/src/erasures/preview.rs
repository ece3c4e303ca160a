//! What an erasure would take, counted before anybody decides, up to a limit. Of private inboxes of others nothing is
//! counted, though what they hold of the contact is erased too: who asks for it learns nothing of them.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::erasures::ask::a_contact;
use rookery_base::error::Result;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::conversations::keeping::holds;
use rookery_core::workspace::erased_addresses::Hasher;
use rookery_core::workspace::people::Person;

/// What is counted up to.
pub const MOST_COUNTED: i64 = 10_000;
/// Conversations, the newest, and mails of each, in which somebody else is looked for.
const MOST_WALKED: i64 = 500;

#[derive(Debug)]
pub struct Preview {
    pub address: String,
    /// The name the contact had last.
    pub name: Option<String>,
    pub first_at: Option<DateTime<Utc>>,
    pub conversations: i64,
    pub messages: i64,
    pub notes: i64,
    pub documents: i64,
    pub document_bytes: i64,
    pub app_mail: i64,
    /// Drafts of people in these conversations.
    pub drafts: i64,
    /// How many of the conversations have mail of somebody else too.
    pub shared: i64,
    /// Whether the address must not be written to, which stays known.
    pub is_suppressed: bool,
    /// The names of the holds that keep them from being erased.
    pub holds: Vec<String>,
    /// It is being erased right now.
    pub is_under_way: bool,
}

pub async fn preview(
    conn: &mut PgConnection,
    keys: &KeyRing,
    person: &Person,
    address: &str,
) -> Result<Preview> {
    let address = a_contact(conn, person.workspace, address).await?;
    let holds = holds::against(conn, person.workspace, &address).await?;
    let hash = Hasher::read(conn, keys, person.workspace).await?.map(|hasher| hasher.hash(&address).to_vec());
    let row = sqlx::query!(
        r#"with own as materialized (
               select id, contact_name from conversations
               where workspace_id = $1 and audience = any($2) and contact_email = $3 order by id desc limit $5)
           select
               (select contact_name from own where contact_name is not null order by id desc limit 1) as name,
               (select min(oldest.created_at) from unnest($2::bigint[]) as seen (audience) cross join lateral (
                    select created_at from conversations c
                    where c.workspace_id = $1 and c.audience = seen.audience and contact_email = $3
                    order by c.id limit 1) oldest) as first_at,
               (select count(*) from own) as "conversations!",
               (select count(*) from (
                    select from own join messages m on m.workspace_id = $1 and m.conversation_id = own.id limit $5) few)
                   as "messages!",
               (select count(*) from (
                    select from own join notes n on n.workspace_id = $1 and n.conversation_id = own.id limit $5) few) as "notes!",
               filed.documents as "documents!", filed.bytes as "document_bytes!",
               (select count(*) from app_mail where workspace_id = $1 and $3 = any(recipients)) as "app_mail!",
               (select count(*) from (
                    select from own join written_drafts w
                        on w.workspace_id = $1 and w.conversation_id = own.id and w.became is null limit $5) few) as "drafts!",
               (select count(*) from (select id from own limit $6) few where exists (
                    select from (select from_email, direction from messages m
                                 where m.workspace_id = $1 and m.conversation_id = few.id limit $6) mail
                    where mail.direction = 'inbound' and lower(mail.from_email) <> $3)) as "shared!",
               exists (select from suppressed_addresses s where s.workspace_id = $1 and s.address = $3) as "is_suppressed!",
               exists (select from erasures e
                       where e.workspace_id = $1 and e.address_hash = $4 and e.done_at is null) as "is_under_way!"
           from (select count(*) as documents, coalesce(sum(size), 0)::bigint as bytes from (
                     select size from own join documents d on d.workspace_id = $1 and d.conversation_id = own.id limit $5)
                 few) filed"#,
        person.workspace.0,
        &person.audiences(),
        address,
        hash,
        MOST_COUNTED,
        MOST_WALKED
    )
    .fetch_one(&mut *conn)
    .await?;
    Ok(Preview {
        name: row.name,
        first_at: row.first_at,
        conversations: row.conversations,
        messages: row.messages,
        notes: row.notes,
        documents: row.documents,
        document_bytes: row.document_bytes,
        app_mail: row.app_mail,
        drafts: row.drafts,
        shared: row.shared,
        is_suppressed: row.is_suppressed,
        holds,
        is_under_way: row.is_under_way,
        address,
    })
}
