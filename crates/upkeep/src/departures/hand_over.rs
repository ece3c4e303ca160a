//! Works off what somebody left behind: conversations and documents of their private inboxes follow the new owner, and what
//! was assigned to them goes to whoever was chosen, a batch at a time. A request of theirs that ran while they were removed
//! may have written something since, so a departure is done with only a while later.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::{Locked, Member};
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::{assign, inboxes, team};
use rookery_core::workspace::access::{By, MemberId};
use rookery_product::documents::filing;
use rookery_product::replies::draft_end;
use rookery_product::replies::revoke_key::stop_all_of;

/// The worker's loop.
pub const LOOP: &str = "hand over what people left";

/// Why mail of theirs was stopped.
pub(super) const LEFT: &str = "person-left";

/// Upper bound for the duration of a request.
const LONGEST_REQUEST: TimeDelta = TimeDelta::minutes(2);

pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let undone = undone(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&undone) {
            return Ok(());
        }
        for (workspace, person) in undone {
            let handing = async {
                let mut tx = app.begin(workspace).await?;
                let progress = batch(&mut tx, person).await?;
                tx.commit().await?;
                Ok(progress)
            };
            pass.turn(BackoffPiece::Row(workspace, person.0), handing).await?;
        }
    }
}

/// When the next of them can be done with.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    let at =
        sqlx::query_scalar!("select min(at) from departures where done_at is null").fetch_one(conn).await?;
    Ok(at.map(|at| at + LONGEST_REQUEST))
}

/// People whose work is still being handed over, by name.
pub async fn waiting(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        "select name from departures join people on people.workspace_id = $1 and people.id = person_id
         where departures.workspace_id = $1 and done_at is null order by at",
        workspace.0
    )
    .fetch_all(conn)
    .await?)
}

async fn undone(conn: &mut PgConnection, aside: &Aside) -> Result<Vec<(WorkspaceId, PersonId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", person_id as "person: PersonId" from departures
           where done_at is null
             and person_id not in (select unnest($1::bigint[])) and workspace_id not in (select unnest($2::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by at limit 100"#,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.person)).collect())
}

/// What belongs to private inboxes that have another owner now. False when nothing was left.
pub(super) async fn follow(tx: &mut Tx<'_>, person: PersonId) -> Result<bool> {
    let conversations = inboxes::follow_owner(tx, person).await?;
    let documents = filing::follow_owner(tx, person).await?;
    Ok(conversations || documents)
}

async fn batch(tx: &mut Tx<'_>, person: PersonId) -> Result<PassProgress> {
    let workspace = tx.workspace();
    let departure = sqlx::query!(
        r#"select at, conversations_to as "conversations_to: PersonId", drafts_to as "drafts_to: PersonId",
               stop_scheduled
           from departures where workspace_id = $1 and person_id = $2 and done_at is null for update"#,
        workspace.0,
        person.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(departure) = departure else { return Ok(PassProgress::Done) };
    if follow(tx, person).await? {
        return Ok(PassProgress::More);
    }
    if departure.stop_scheduled {
        stop_all_of(tx, MemberId::Person(person), LEFT).await?;
    }
    let held = assign::held_by(tx, MemberId::Person(person)).await?;
    for conversation in &held {
        let conversation = lock_any(tx, *conversation).await?;
        let heir = heir(tx, &conversation, departure.conversations_to).await?;
        assign::give(tx, &conversation, &By::System, heir.as_ref()).await?;
    }
    if !held.is_empty() {
        return Ok(PassProgress::More);
    }
    draft_end::hand_over(tx, person, departure.drafts_to).await?;
    let now = tx.now();
    sqlx::query!(
        "update departures set done_at = $3 where workspace_id = $1 and person_id = $2 and at <= $4",
        workspace.0,
        person.0,
        now,
        now - LONGEST_REQUEST
    )
    .execute(&mut **tx)
    .await?;
    Ok(PassProgress::Done)
}

/// Whoever was chosen, if they see the conversation; of a private inbox its owner. What is closed is nobody's, so that it is
/// seen when the customer writes again.
async fn heir(tx: &mut Tx<'_>, conversation: &Locked, chosen: Option<PersonId>) -> Result<Option<Member>> {
    if conversation.status == Status::Closed {
        return Ok(None);
    }
    let workspace = tx.workspace();
    let wanted = match conversation.audience {
        0 => chosen,
        private => Some(PersonId(private)),
    };
    let Some(wanted) = wanted else { return Ok(None) };
    let team = team::for_conversation(tx, workspace, conversation).await?;
    Ok(team.into_iter().find(|member| member.id == MemberId::Person(wanted)))
}
