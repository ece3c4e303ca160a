//! Who may open a secure page: whoever types the code that was mailed to its address, or the passphrase that was agreed
//! elsewhere. Five wrong tries lock the page for 15 minutes, twenty end its link; a right one is forgiven them all.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use unicode_normalization::UnicodeNormalization;

use crate::conversations::conversation::Locked;
use crate::conversations::lock::lock_any;
use crate::conversations::secure::page::{self, SecurePage};
use crate::conversations::secure::visits::{self, VisitEvent};
use crate::workspace::one_time_codes::{self, CodeMail, CodeScope, CodeSending, CodeVerdict, Purpose};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::secrets::password_hashes::PasswordVerdict;
use rookery_base::store::db::Tx;

const LOCKS: i16 = 5;
const ENDS: i16 = 20;
const LOCKED_FOR: TimeDelta = TimeDelta::minutes(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    Right,
    /// And how many more may be tried before the page is locked.
    Wrong {
        left: i16,
    },
    /// There is no code that could be right: another one has to be asked for.
    NoCode,
    Locked {
        until: DateTime<Utc>,
    },
    /// It was one too many.
    Ended,
}

fn proof_of(page: &SecurePage) -> CodeScope<'_> {
    CodeScope { purpose: Purpose::Secure, subject: page.message.0, address: &page.address }
}

/// Has a code mailed to the page's address, never to another. The words are the caller's, of the asker's language.
pub async fn send_code(
    app: &App,
    page: &SecurePage,
    network: IpAddr,
    mail: CodeMail<'_>,
) -> Result<CodeSending> {
    let mut tx = app.begin(page.workspace).await?;
    let sent = one_time_codes::send(app, &mut tx, proof_of(page), network, mail).await?;
    if sent == CodeSending::Now {
        visits::note(&mut tx, page.message, VisitEvent::CodeSent, network).await?;
        tx.commit().await?;
    }
    Ok(sent)
}

pub async fn try_code(app: &App, page: &SecurePage, network: IpAddr, code: &str) -> Result<ProofVerdict> {
    let mut tx = app.begin(page.workspace).await?;
    let conversation = match hold(&mut tx, page).await? {
        Ok(conversation) => conversation,
        Err(until) => return Ok(ProofVerdict::Locked { until }),
    };
    let tried = match one_time_codes::check(&mut tx, proof_of(page), code).await? {
        CodeVerdict::Right => right(&mut tx, page).await?,
        CodeVerdict::Wrong => match count(&mut tx, page).await? {
            Some(tries) => wrong(&mut tx, &conversation, page, tries, network).await?,
            None => ProofVerdict::Ended,
        },
        CodeVerdict::Over => ProofVerdict::NoCode,
    };
    tx.commit().await?;
    Ok(tried)
}

pub async fn try_passphrase(
    app: &App,
    page: &SecurePage,
    network: IpAddr,
    given: &str,
) -> Result<ProofVerdict> {
    // It counts as wrong before it is looked at, so that a thousand at once are no way around.
    let mut tx = app.begin(page.workspace).await?;
    if let Err(until) = hold(&mut tx, page).await? {
        return Ok(ProofVerdict::Locked { until });
    }
    let Some(tries) = count(&mut tx, page).await? else { return Ok(ProofVerdict::Ended) };
    tx.commit().await?;
    let verdict = app.password_hashes.check(&normal(given), page.passphrase_hash.clone()).await?;
    let mut tx = app.begin(page.workspace).await?;
    let tried = match verdict {
        PasswordVerdict::Right | PasswordVerdict::Outdated => right(&mut tx, page).await?,
        PasswordVerdict::Wrong => {
            let conversation = lock_any(&mut tx, page.conversation).await?;
            wrong(&mut tx, &conversation, page, tries, network).await?
        }
    };
    tx.commit().await?;
    Ok(tried)
}

/// As it is hashed: told by phone and typed on another keyboard it is the same, whatever the case, the spaces and the way
/// its letters are put together.
pub fn normal(passphrase: &str) -> String {
    let whole: String = passphrase.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    whole.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Locks the page with its conversation; gives until when nobody may try.
async fn hold(tx: &mut Tx<'_>, page: &SecurePage) -> Result<Result<Locked, DateTime<Utc>>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    let conversation = lock_any(tx, page.conversation).await?;
    let locked = sqlx::query_scalar!(
        "select locked_until from secure_pages
         where workspace_id = $1 and message_id = $2 and generation = $3 for update",
        workspace,
        page.message.0,
        page.generation
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(match locked.flatten().filter(|until| *until > now) {
        Some(until) => Err(until),
        None => Ok(conversation),
    })
}

async fn right(tx: &mut Tx<'_>, page: &SecurePage) -> Result<ProofVerdict> {
    let workspace = tx.workspace().0;
    let opened = sqlx::query!(
        "update secure_pages set wrong_tries = 0, locked_until = null
         where workspace_id = $1 and message_id = $2 and generation = $3 and revoked_at is null",
        workspace,
        page.message.0,
        page.generation
    )
    .execute(&mut **tx)
    .await?;
    Ok(if opened.rows_affected() == 1 { ProofVerdict::Right } else { ProofVerdict::Ended })
}

/// Counts a try; every fifth locks the page at once, so the last one is looked at alone. Gives how many it were, and nothing
/// when the link has ended.
async fn count(tx: &mut Tx<'_>, page: &SecurePage) -> Result<Option<i16>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_scalar!(
        "update secure_pages
         set wrong_tries = wrong_tries + 1,
             locked_until = case when (wrong_tries + 1) % $4 = 0 then $5 else locked_until end
         where workspace_id = $1 and message_id = $2 and generation = $3 and revoked_at is null
         returning wrong_tries",
        workspace,
        page.message.0,
        page.generation,
        i32::from(LOCKS),
        now + LOCKED_FOR
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// What comes of a try that was wrong: one too many ends the link.
async fn wrong(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    page: &SecurePage,
    tries: i16,
    network: IpAddr,
) -> Result<ProofVerdict> {
    visits::note(tx, page.message, VisitEvent::Wrong, network).await?;
    if tries >= ENDS {
        page::end_by_guesses(tx, conversation, page.message).await?;
        visits::note(tx, page.message, VisitEvent::Ended, network).await?;
        return Ok(ProofVerdict::Ended);
    }
    if tries % LOCKS == 0 {
        visits::note(tx, page.message, VisitEvent::Locked, network).await?;
        return Ok(ProofVerdict::Locked { until: tx.now() + LOCKED_FOR });
    }
    Ok(ProofVerdict::Wrong { left: LOCKS - tries % LOCKS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_the_same_however_it_is_spaced_and_cased() {
        assert_eq!(normal("  Blue\tHorse  7 "), "blue horse 7");
        assert_ne!(normal("bluehorse7"), normal("blue horse 7"));
        assert_eq!(normal("Mu\u{308}ller \u{fb01}sch"), normal("M\u{fc}LLER fisch"));
        assert_eq!(normal("\u{ff22}lue\u{3000}\u{ff17}"), "blue 7");
    }
}
