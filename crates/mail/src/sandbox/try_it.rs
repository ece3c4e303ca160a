//! An inbox to try things with before any DNS: a live one of the team, under `.test`, with customers who do not exist. Mail
//! to it is written on a page, and what answers it never leaves (docs/decisions/test-mail.md).

use sqlx::PgConnection;

use crate::incoming::authenticate::Dmarc;
use crate::sandbox::simulate::{Simulated, simulate_to};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::relay::kept_here::TRY_IT;
use rookery_base::search_terms;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_core::workspace::people::Person;

const NAME: &str = "Try it";
const CUSTOMERS: &str = "customer.test";
const LONGEST_LOCAL: usize = 40;

/// A mail as somebody typed it who plays a customer.
pub struct TrialMail {
    pub name: String,
    pub subject: String,
    pub text: String,
    /// Its sender's domain disowns it, which the scam check counts.
    pub is_forged: bool,
}

/// The inbox, when it was made already.
pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Option<Mailbox>> {
    Ok(sqlx::query_as!(
        Mailbox,
        r#"select id as "id: MailboxId", audience as "audience!", address, name from mailboxes
           where workspace_id = $1 and kind = 'team' and closed_at is null
             and address like $2 || '%@%.test' order by id limit 1"#,
        workspace.0,
        TRY_IT
    )
    .fetch_optional(conn)
    .await?)
}

/// Writes to the inbox, and makes it for the first mail.
pub async fn write(app: &App, person: &Person, tried: TrialMail) -> Result<Stored> {
    let mail = Simulated {
        from: format!("{}@{CUSTOMERS}", local_of(&tried.name)),
        name: Some(tried.name).filter(|name| !name.trim().is_empty()),
        subject: Some(tried.subject).filter(|subject| !subject.trim().is_empty()),
        text: tried.text,
        files: Vec::new(),
        joins: None,
        to: None,
        in_reply_to: None,
        dmarc: if tried.is_forged { Dmarc::Fail } else { Dmarc::Pass },
    };
    // No inbox is made for a mail that is refused.
    mail.check()?;
    let there = find(&mut *app.connection().await?, person.workspace).await?;
    let mailbox = match there {
        Some(mailbox) => mailbox,
        None => make(app, person).await?,
    };
    simulate_to(app, person.workspace, mailbox, mail).await
}

/// Its domain is the one of the sandbox, which no other workspace has.
async fn make(app: &App, person: &Person) -> Result<Mailbox> {
    let workspace = person.workspace;
    let sandbox = mailboxes::sandbox(&mut *app.connection().await?, workspace).await?;
    let domain = sandbox.address.rsplit('@').next().unwrap_or("workspace.test");
    let address = format!("{TRY_IT}@{domain}");
    match mailboxes::create(app, workspace, &person.by(), &address, NAME, None).await {
        Ok(id) => mailboxes::live(&mut *app.connection().await?, workspace, id).await,
        // Two pressed the button at once, or another workspace took the address.
        Err(Error::Problems(problems)) => {
            let there = find(&mut *app.connection().await?, workspace).await?;
            if let Some(mailbox) = there {
                return Ok(mailbox);
            }
            let address = format!("{TRY_IT}-{}@{domain}", app.random.hex(6));
            let id = mailboxes::create(app, workspace, &person.by(), &address, NAME, None).await;
            let id = id.map_err(|_| Error::Problems(problems))?;
            mailboxes::live(&mut *app.connection().await?, workspace, id).await
        }
        Err(error) => Err(error),
    }
}

/// `Priya Raman` is `priya.raman`.
fn local_of(name: &str) -> String {
    let mut local = String::new();
    for letter in search_terms::fold(name).chars() {
        match letter {
            'a'..='z' | '0'..='9' => local.push(letter),
            _ if local.is_empty() || local.ends_with('.') => {}
            _ => local.push('.'),
        }
    }
    local.truncate(LONGEST_LOCAL);
    match local.trim_matches('.') {
        "" => "somebody".to_owned(),
        sound => sound.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::simulate::is_simulated_sender;

    #[test]
    fn whatever_a_customer_is_called_they_have_an_address() {
        assert_eq!(local_of("Priya Raman"), "priya.raman");
        for name in ["", "  ", "山田 太郎", "a\r\nBcc: x@y", "\"<>\"", &"é".repeat(500)] {
            let address = format!("{}@{CUSTOMERS}", local_of(name));
            assert!(is_simulated_sender(&address) && address.len() < 100, "{address}");
        }
    }
}
