//! The text of a mail of ours as it leaves: what was written, and under it what the service adds to it, a checklist and a link.
//! Approving sends what this gives, and whoever approves is shown what this gives.

use sqlx::PgConnection;

use crate::documents::request::{self, Carrier};
use crate::documents::uploads::again;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;

/// What stands in the place of a link that nobody but the customer gets.
const LINK: &str = "[the customer’s private link]";

/// The private link of a mail.
pub enum PrivateLink<'a> {
    /// As the customer gets it.
    Real(&'a App),
    /// Words in its place, for the team.
    Named,
}

/// What leaves with `body` as the words of this message. Nothing when the service adds nothing to them.
pub async fn compose(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    carrier: Carrier,
    body: &str,
    link: PrivateLink<'_>,
) -> Result<Option<String>> {
    if let Some(carried) = request::of_message(conn, workspace, carrier).await? {
        let link = match link {
            PrivateLink::Real(app) => carried.link(app, workspace)?,
            PrivateLink::Named => LINK.to_owned(),
        };
        return Ok(Some(carried.under(body, Some(&link))));
    }
    let Some(asks) = again::of_message(conn, workspace, carrier.message).await? else { return Ok(None) };
    let link = match link {
        PrivateLink::Real(app) => asks.link(app, workspace)?,
        PrivateLink::Named => LINK.to_owned(),
    };
    Ok(Some(asks.under(body, &link)))
}
