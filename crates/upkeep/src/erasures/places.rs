//! Every place of the database where somebody who writes to us can stand by their address, in a list that is written once:
//! by it an erasure of an older backup finds whom it means, and tests know that each place is emptied.

use futures::TryStreamExt;
use sqlx::{AssertSqlSafe, Row};

use rookery_base::error::Result;
use rookery_base::ids::{Id, WorkspaceId};
use rookery_base::store::connection::DatabaseConnection;
use rookery_base::store::db::Across;
use rookery_core::conversations::views::saved;
use rookery_reading::text::addresses_in;

/// Rows that are read at once. Each time is a statement of its own, so that none takes longer the more mail there is.
const AT_ONCE: u32 = 5_000;

/// Gives every address with the place it stands in, as often as it stands there, all as of one instant.
pub async fn each(
    conn: &mut DatabaseConnection,
    workspace: WorkspaceId,
    mut found: impl FnMut(&str, &str),
) -> Result<()> {
    let mut tx = Across::begin(conn).await?;
    let declare = format!(
        "declare places no scroll cursor for {}",
        PLACES.replace("$1", &workspace.number().to_string())
    );
    sqlx::raw_sql(AssertSqlSafe(declare)).execute(&mut *tx).await?;
    let fetch = format!("fetch {AT_ONCE} from places");
    loop {
        let mut rows = sqlx::raw_sql(AssertSqlSafe(fetch.as_str())).fetch(&mut *tx);
        let mut read = 0;
        while let Some(row) = rows.try_next().await? {
            read += 1;
            let (place, words): (&str, Option<&str>) = (row.try_get(0)?, row.try_get(1)?);
            match words {
                Some(words) if place == "saved_views.query" => {
                    addresses_in(&saved::words_of(words)).for_each(|address| found(place, &address));
                }
                Some(words) => addresses_in(words).for_each(|address| found(place, &address)),
                None => {}
            }
        }
        if read < AT_ONCE {
            break;
        }
    }
    tx.commit().await
}

/// Every row is one here, also without an address: leaving any out, a statement could go over very many before it gives one.
const PLACES: &str = "
               select 'conversations.contact_email' as place, contact_email as words from conversations where workspace_id = $1
               union all
               select 'merged_conversations.contact_email', contact_email from merged_conversations where workspace_id = $1
               union all select 'contacts.email', email from contacts where workspace_id = $1
               union all select 'messages.from_email', from_email from messages where workspace_id = $1
               union all select 'messages.reply_to', reply_to from messages where workspace_id = $1
               union all select 'messages.to_addresses', array_to_string(to_addresses, ' ') from messages where workspace_id = $1
               union all select 'messages.cc_addresses', array_to_string(cc_addresses, ' ') from messages where workspace_id = $1
               union all select 'messages.bcc_addresses', array_to_string(bcc_addresses, ' ') from messages where workspace_id = $1
               union all select 'messages.also_to', array_to_string(also_to, ' ') from messages where workspace_id = $1
               union all select 'timeline_events.data', data ->> 'email' from timeline_events where workspace_id = $1
               union all select 'app_mail.recipients', array_to_string(recipients, ' ') from app_mail where workspace_id = $1
               union all select 'service_reports.address', address from service_reports where workspace_id = $1
               union all select 'suppressed_addresses.address', address from suppressed_addresses where workspace_id = $1
               union all select 'suppression_changes.address', address from suppression_changes where workspace_id = $1
               union all select 'automatic_mail.address', address from automatic_mail where workspace_id = $1
               union all select 'auto_replied.address', address from auto_replied where workspace_id = $1
               union all select 'away_replied.address', address from away_replied where workspace_id = $1
               union all select 'bookings.email', email from bookings where workspace_id = $1
               union all select 'bookings.note', note from bookings where workspace_id = $1
               union all select 'bookings.answers', answers::text from bookings where workspace_id = $1
               union all select 'holds.address', address from holds where workspace_id = $1
               union all
               select 'written_drafts.lines', to_line || ' ' || cc_line || ' ' || bcc_line
               from written_drafts where workspace_id = $1
               union all select 'one_time_codes.address', address from one_time_codes where workspace_id = $1
               union all
               select 'notices.recipient', case when kind = 'one_time_code' then recipient end
               from notices where workspace_id = $1
               union all select 'sandbox_mail.recipient', recipient from sandbox_mail where workspace_id = $1
               union all select 'rules.definition', definition::text from rules where workspace_id = $1
               union all select 'rules.name', name from rules where workspace_id = $1
               union all select 'saved_views.name', name from saved_views where workspace_id = $1
               union all select 'saved_views.query', query from saved_views where workspace_id = $1
               union all select 'answered_requests.answer', answer from answered_requests where workspace_id = $1
               union all select 'deliveries.tries', tries::text from deliveries where workspace_id = $1
               union all select 'delivery_log.tries', tries::text from delivery_log where workspace_id = $1";
