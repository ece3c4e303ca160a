//! What was booked, as an export tells it: of one contact, or of everybody. What belongs to a conversation that the reader
//! may not see is left out.

use serde_json::{Value, json};
use sqlx::PgConnection;

use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::{BookingId, ConversationId, PersonId, WorkspaceId};

/// Bookings that are in memory at once.
const MOST: i64 = 200;

pub async fn load(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    audiences: &[i64],
    contact: Option<&str>,
    after: BookingId,
) -> Result<Vec<(BookingId, Value)>> {
    let rows = sqlx::query!(
        r#"select b.id as "id: BookingId", t.name as type_name, b.host_id as "host: PersonId", p.name as host_name,
               b.conversation_id as "conversation: ConversationId", b.starts_at, b.ends_at, b.state, b.ended_at, b.ended_by,
               b.reason, b.name, b.email, b.note, b.answers, b.time_zone, b.rsvp, b.created_at
           from bookings b join booking_types t on t.workspace_id = $1 and t.id = b.type_id
           join people p on p.workspace_id = $1 and p.id = b.host_id
           where b.workspace_id = $1 and b.id > $2 and ($3::text is null or b.email = $3)
             and (b.conversation_id is null or exists (select from conversations c
                  where c.workspace_id = $1 and c.id = b.conversation_id and c.audience = any($4)))
           order by b.id limit $5"#,
        workspace.0,
        after.0,
        contact,
        audiences,
        MOST
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| {
        let told = json!({
            "id": row.id, "type": row.type_name, "host": { "id": row.host, "name": row.host_name },
            "conversationId": row.conversation, "startsAt": written(row.starts_at), "endsAt": written(row.ends_at),
            "state": row.state, "endedAt": row.ended_at.map(written), "endedBy": row.ended_by, "reason": row.reason,
            "name": row.name, "email": row.email, "note": row.note, "answers": row.answers, "timeZone": row.time_zone,
            "rsvp": row.rsvp, "createdAt": written(row.created_at),
        });
        (row.id, told)
    });
    Ok(each.collect())
}
