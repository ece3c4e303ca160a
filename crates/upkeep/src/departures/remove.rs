//! Removes somebody from the team. One transaction holds the decision: they are out, their sessions and keys end, what is
//! small is handed over or closed, and a row says who takes the rest, which hand_over.rs works off.

use serde_json::json;

use crate::departures::hand_over::{LEFT, follow};
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::{By, MemberId};
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::notices::{self, Notice, NoticeWords};
use rookery_core::workspace::people::roles::{self, Managed};
use rookery_core::workspace::people::{self, invitations};
use rookery_core::workspace::{mailboxes, sessions};
use rookery_product::bookings::hosts;
use rookery_product::replies::{automatic, draft_end, revoke_key};
use rookery_webhooks::hand_over::hand_over;

/// Why an admin names nobody who takes over a private inbox: it would open the inbox to whom they like.
const PRIVATE: &str =
    "Only an owner can hand a private inbox to somebody. Close it, or ask an owner to remove them.";

/// Who takes over what. Nobody means that it is closed.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandOver {
    /// Open conversations; nobody leaves them unassigned.
    pub conversations: Option<PersonId>,
    /// What they were writing in inboxes of the team; nobody throws it away. What belongs to a private inbox goes with it.
    pub drafts: Option<PersonId>,
    /// Their private inboxes, which stay private; nobody closes them. Only an owner or an operator names somebody.
    pub inboxes: Option<PersonId>,
    /// Webhooks of the team; nobody turns them off.
    pub webhooks: Option<PersonId>,
    /// Mail they scheduled becomes drafts again instead of leaving.
    pub stop_scheduled: bool,
}

pub async fn remove(tx: &mut Tx<'_>, by: &By, person: PersonId, to: HandOver) -> Result<()> {
    if matches!(by, By::Person { id, .. } if *id == person) {
        return Err(Error::problem("person", "You cannot remove yourself. Ask another owner or admin"));
    }
    let leaving = roles::lock(tx, by, person).await?;
    leaving.must_not_be_the_last_owner()?;
    if to.inboxes.is_some() {
        leaving.must_be_managed_by_an_owner(PRIVATE)?;
    }
    check_heirs(tx, person, to).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into departures
             (workspace_id, person_id, at, conversations_to, drafts_to, stop_scheduled)
         values ($1, $2, $3, $4, $5, $6)",
        workspace,
        person.0,
        now,
        to.conversations.map(|to| to.0),
        to.drafts.map(|to| to.0),
        to.stop_scheduled
    )
    .execute(&mut **tx)
    .await?;
    people::remove(tx, person).await?;
    automatic::away::forget_of(tx, person).await?;
    sessions::end_all(tx, person).await?;
    let withdrawn = invitations::withdraw_all_of(tx, person).await?;
    let webhooks = hand_over(tx, person, to.webhooks).await?;
    let bookings_paused = hosts::leave(tx, by, person).await?;
    let inboxes = mailboxes::hand_over(tx, person, to.inboxes).await?;
    let keys = revoke_key::end_keys_of(tx, person).await?;
    if to.stop_scheduled {
        revoke_key::stop_all_of(tx, MemberId::Person(person), LEFT).await?;
    }
    follow(tx, person).await?;
    draft_end::hand_over(tx, person, to.drafts).await?;
    tell(tx, by, &leaving, &inboxes, to.inboxes).await?;
    tell_owners(tx, by, &leaving, &inboxes, to.inboxes).await?;
    let data = json!({
        "email": leaving.email,
        "role": leaving.role.as_str(),
        "conversationsTo": to.conversations,
        "draftsTo": to.drafts,
        "privateInboxes": inboxes.len(),
        "privateInboxesTo": to.inboxes,
        "keysRevoked": keys,
        "webhooksTo": to.webhooks,
        "webhooksKept": webhooks.kept,
        "webhooksOff": webhooks.off,
        "webhooksRemoved": webhooks.removed,
        "scheduledStopped": to.stop_scheduled,
        "invitationsWithdrawn": withdrawn,
        "bookingTypesPaused": bookings_paused.len(),
    });
    audit::record(tx, by, Did::PersonRemoved, Subject { id: &person, name: &leaving.name }, data).await
}

/// Whoever takes over is on the team, and is not the one who leaves.
async fn check_heirs(tx: &mut Tx<'_>, person: PersonId, to: HandOver) -> Result<()> {
    let workspace = tx.workspace();
    for heir in [to.conversations, to.drafts, to.inboxes, to.webhooks].into_iter().flatten() {
        let role = people::role_of(tx, workspace, heir).await;
        if heir == person || role.is_err() {
            return Err(Error::problem("person", "Choose somebody who is on the team to take over"));
        }
        if to.webhooks == Some(heir) && !role?.administers() {
            return Err(Error::problem("webhooks", "Choose an owner or admin for the webhooks"));
        }
    }
    Ok(())
}

/// Whoever is removed is told, also of who reads their private inboxes from now on.
async fn tell(
    tx: &mut Tx<'_>,
    by: &By,
    leaving: &Managed,
    inboxes: &[String],
    heir: Option<PersonId>,
) -> Result<()> {
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut **tx)
        .await?;
    let who = who(by);
    let private = match (inboxes, heir) {
        ([], _) => String::new(),
        (inboxes, None) => {
            format!("\nYour private inboxes are closed, and nobody reads them: {}.\n", inboxes.join(", "))
        }
        (inboxes, Some(heir)) => {
            let heir = people::name_of(tx, heir).await?;
            format!("\n{heir} reads your private inboxes from now on: {}.\n", inboxes.join(", "))
        }
    };
    let subject: String = format!("You are no longer on the team of {name}").chars().take(200).collect();
    let body = format!(
        "{who} removed you from the team of {name}. You are signed out everywhere, and keys that you made have ended.\n{private}"
    );
    let words = NoticeWords { kind: "removed", subject: &subject, body: &body };
    notices::write_to(tx, workspace, now, &random, std::slice::from_ref(&leaving.email), words).await
}

fn who(by: &By) -> &str {
    match by {
        By::System => "An operator of the server",
        by => by.name(),
    }
}

/// Every owner is told what became of somebody's private inboxes, whoever decided it.
async fn tell_owners(
    tx: &mut Tx<'_>,
    by: &By,
    leaving: &Managed,
    inboxes: &[String],
    heir: Option<PersonId>,
) -> Result<()> {
    if inboxes.is_empty() {
        return Ok(());
    }
    let (workspace, now, random) = (tx.workspace(), tx.now(), tx.frame().random.clone());
    let became = match heir {
        None => "They are closed: mail to them is refused, and nobody reads what is in them.".to_owned(),
        Some(heir) => {
            let heir = people::name_of(tx, heir).await?;
            format!("{heir} reads them from now on, with all that is in them.")
        }
    };
    let (who, name) = (who(by), &leaving.name);
    let body = format!(
        "{who} removed {name} from the team, who had private inboxes: {}.\n\n{became}\n\nIf that is not what you want, \
         talk to {who}. The audit log has it too.\n",
        inboxes.join(", ")
    );
    let subject: String = format!("The private inboxes of {name}").chars().take(200).collect();
    // For whoever has left, all owners are told.
    let notice = Notice { to: leaving.id, kind: "private-inboxes", subject: &subject, body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}
