//! `/settings/people/invite`: one address or several; and what becomes of an invitation that waits.
//! Invitations are mail to strangers, so few go to one address.

use axum::response::Response;

use crate::respond;
use crate::settings::people::{PATH, list};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::InvitationId;
use rookery_base::limits::sign_in::SignInKey;
use rookery_base::secrets::hashes::sha256;
use rookery_base::store::db::Tx;
use rookery_core::workspace::people::{self, Role, invitations};

const MOST_AT_ONCE: usize = 20;

pub async fn invite(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let emails = form.get("emails").unwrap_or_default().to_owned();
    let role: Role = match form.get("role").unwrap_or("member").parse() {
        Ok(role) => role,
        Err(error) => {
            return list::refused(&asked, list::TypedInvitation { emails, role: None }, error).await;
        }
    };
    match invite_all(&asked, &emails, role).await {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}#invitations"), Toast::new(Done::Invited, ""))),
        Err(error) => list::refused(&asked, list::TypedInvitation { emails, role: Some(role) }, error).await,
    }
}

/// Invites all addresses, or none if one is refused.
async fn invite_all(asked: &MemberRequest, emails: &str, role: Role) -> Result<()> {
    let mut addresses = Vec::new();
    let typed = emails.split(|letter: char| letter.is_whitespace() || ",;".contains(letter));
    for email in typed.filter(|email| !email.is_empty()) {
        let address = people::an_address("email", email);
        let address = address.map_err(|_| {
            let shown: String = email.chars().take(100).collect();
            Error::problem("email", format!("“{shown}” isn’t an email address"))
        })?;
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.len() {
        0 => return Err(Error::problem("email", "Enter the address of the person you want to invite")),
        1..=MOST_AT_ONCE => {}
        _ => return Err(Error::problem("email", format!("At most {MOST_AT_ONCE} addresses at once"))),
    }
    // In one order, so that two who invite the same people never wait for each other.
    addresses.sort();
    for address in &addresses {
        count(asked, address)?;
    }
    let mut tx = asked.tx().await?;
    invitations::invite(&mut tx, &asked.person, &addresses, role).await?;
    tx.commit().await
}

/// `send` or `withdraw`.
pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: InvitationId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let withdraws = form.get("do") == Some("withdraw");
    let changed = if withdraws {
        invitations::withdraw(&mut tx, &asked.person, id).await
    } else {
        send_again(&asked, &mut tx, id).await
    };
    if let Err(error) = changed {
        drop(tx);
        return list::refused(&asked, list::TypedInvitation::default(), error).await;
    }
    tx.commit().await?;
    let done = if withdraws { Done::InvitationGone } else { Done::Invited };
    Ok(respond::see_other_with(&format!("{PATH}#invitations"), Toast::new(done, "")))
}

/// Another mail with another link, and another seven days. It counts like the first.
async fn send_again(asked: &MemberRequest, tx: &mut Tx<'_>, id: InvitationId) -> Result<()> {
    let found = invitations::find_by_id(tx, id).await?;
    count(asked, &found.email)?;
    invitations::invite(tx, &asked.person, &[found.email], found.role).await
}

fn count(asked: &MemberRequest, of: &str) -> Result<()> {
    let app = asked.app();
    let key = [SignInKey::AccountLinks(sha256(format!("invitation {} {of}", asked.person.workspace)))];
    app.sign_in_limit.try_one(&key, app.clock.now()).map_err(|error| match error {
        Error::SlowDown { retry_after, .. } => {
            let sentence =
                "That address got enough invitations for now. Wait a few minutes before you send another.";
            Error::SlowDown { sentence: sentence.into(), retry_after }
        }
        other => other,
    })
}
