//! Every place of the database where somebody who writes to us can stand by their address, in a list that is written once:
//! by it an erasure of an older backup finds whom it means, and tests know that each place is emptied.

use futures::TryStreamExt;
use sqlx::PgConnection;

use crate::conversations::views::saved;
use crate::error::Result;
use crate::ids::WorkspaceId;
use crate::text::addresses_in;

/// Gives every address with the place it stands in, as often as it stands there, read row by row.
pub async fn each(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    mut found: impl FnMut(&str, &str),
) -> Result<()> {
    let mut rows = sqlx::query!(
        r#"select place as "place!", words as "words!" from (
               select 'conversations.contact_email' as place, contact_email as words from conversations where workspace_id = $1
               union all
               select 'merged_conversations.contact_email', contact_email from merged_conversations where workspace_id = $1
               union all select 'contacts.email', email from contacts where workspace_id = $1
               union all select 'messages.from_email', from_email from messages where workspace_id = $1
               union all select 'messages.reply_to', reply_to from messages where workspace_id = $1
               union all select 'messages.to_addresses', unnest(to_addresses) from messages where workspace_id = $1
               union all select 'messages.cc_addresses', unnest(cc_addresses) from messages where workspace_id = $1
               union all select 'messages.bcc_addresses', unnest(bcc_addresses) from messages where workspace_id = $1
               union all select 'messages.also_to', unnest(also_to) from messages where workspace_id = $1
               union all select 'timeline_events.data', data ->> 'email' from timeline_events where workspace_id = $1
               union all select 'app_mail.recipients', unnest(recipients) from app_mail where workspace_id = $1
               union all select 'service_reports.address', address from service_reports where workspace_id = $1
               union all select 'suppressed_addresses.address', address from suppressed_addresses where workspace_id = $1
               union all select 'suppression_changes.address', address from suppression_changes where workspace_id = $1
               union all select 'automatic_mail.address', address from automatic_mail where workspace_id = $1
               union all select 'auto_replied.address', address from auto_replied where workspace_id = $1
               union all select 'bookings.email', email from bookings where workspace_id = $1
               union all select 'bookings.note', note from bookings where workspace_id = $1
               union all select 'bookings.answers', answers::text from bookings where workspace_id = $1
               union all select 'holds.address', address from holds where workspace_id = $1
               union all
               select 'written_drafts.lines', to_line || ' ' || cc_line || ' ' || bcc_line
               from written_drafts where workspace_id = $1
               union all select 'one_time_codes.address', address from one_time_codes where workspace_id = $1
               union all
               select 'notices.recipient', recipient from notices where workspace_id = $1 and kind = 'one_time_code'
               union all select 'sandbox_mail.recipient', recipient from sandbox_mail where workspace_id = $1
               union all select 'rules.definition', definition::text from rules where workspace_id = $1
               union all select 'rules.name', name from rules where workspace_id = $1
               union all select 'saved_views.name', name from saved_views where workspace_id = $1
               union all select 'saved_views.query', query from saved_views where workspace_id = $1
               union all select 'answered_requests.answer', answer from answered_requests where workspace_id = $1
               union all select 'deliveries.tries', tries::text from deliveries where workspace_id = $1
               union all select 'delivery_log.tries', tries::text from delivery_log where workspace_id = $1) places
           where words ~ '@|%40'"#,
        workspace.0
    )
    .fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let words = match row.place.as_str() {
            "saved_views.query" => saved::words_of(&row.words),
            _ => row.words,
        };
        addresses_in(&words).for_each(|address| found(&row.place, &address));
    }
    Ok(())
}
