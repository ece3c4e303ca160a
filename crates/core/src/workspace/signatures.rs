//! Signatures of inboxes and people: a text, and its formatting where somebody gave it one (docs/decisions/formatted-mail.md). What
//! a person has of their own goes first; without any, a mail ends with its last line. The text holds: a formatting that says
//! something else is not used. An inbox that somebody cannot see is not there for them.

pub mod pictures;

use sqlx::PgConnection;

use self::pictures::SignatureOwner;
use crate::workspace::access::Actor;
use crate::workspace::people::Person;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Tx;
use rookery_reading::html::written;
use rookery_reading::text;

pub const LONGEST: usize = 1_000;
/// Bytes of a formatting.
const MOST_HTML: usize = 20 * 1024;

/// What is written at the end of a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignatureWords {
    pub text: String,
    /// The form of `html/written`, empty when it is only text.
    pub html: String,
}

impl SignatureWords {
    /// As they are stored: a page without the editor, or an older version, may have changed the text alone.
    pub(in crate::workspace) fn holding(text: String, html: Option<String>) -> Self {
        let html = html.filter(|html| !html.is_empty() && written::text(html) == text);
        Self { html: html.unwrap_or_default(), text }
    }
}

/// What somebody typed: the text, and what the editor made of it, if there was one.
#[derive(Clone, Copy, Debug)]
pub struct TypedSignature<'a> {
    pub text: &'a str,
    pub html: Option<&'a str>,
}

pub struct Signed {
    pub mailbox: MailboxId,
    pub name: String,
    pub address: String,
    pub signature: SignatureWords,
}

/// What a mail of somebody ends with, before its variables are filled in.
#[derive(Debug)]
pub struct MailSignature {
    pub words: SignatureWords,
    /// It is the person's own, which has no variables.
    pub is_own: bool,
}

/// Of a mail that a person writes from an inbox: their own, else the inbox's, empty when it has none.
pub async fn of_mail(conn: &mut PgConnection, person: &Person, mailbox: MailboxId) -> Result<MailSignature> {
    let row = sqlx::query!(
        r#"select p.signature as own, p.signature_html as own_html, m.signature as "inbox?", m.signature_html as "inbox_html?"
           from people p left join mailboxes m on m.workspace_id = $1 and m.id = $3
           where p.workspace_id = $1 and p.id = $2"#,
        person.workspace.0,
        person.id.0,
        mailbox.0
    )
    .fetch_one(conn)
    .await?;
    let is_own = !row.own.is_empty();
    let words = if is_own {
        SignatureWords::holding(row.own, row.own_html)
    } else {
        SignatureWords::holding(row.inbox.unwrap_or_default(), row.inbox_html)
    };
    Ok(MailSignature { words, is_own })
}

/// The inboxes that somebody can see, by name, with what they sign.
pub async fn list(conn: &mut PgConnection, who: &Actor) -> Result<Vec<Signed>> {
    let rows = sqlx::query!(
        r#"select id as "mailbox: MailboxId", name, address, coalesce(signature, '') as "signature!", signature_html
           from mailboxes where workspace_id = $1 and audience = any($2) order by lower(name), id"#,
        who.workspace.0,
        &who.audiences()
    )
    .fetch_all(conn)
    .await?;
    let each = rows.into_iter().map(|row| Signed {
        mailbox: row.mailbox,
        name: row.name,
        address: row.address,
        signature: SignatureWords::holding(row.signature, row.signature_html),
    });
    Ok(each.collect())
}

/// Sets what an inbox that somebody can see signs with; nothing when it is empty.
pub async fn set(tx: &mut Tx<'_>, who: &Actor, mailbox: MailboxId, typed: TypedSignature<'_>) -> Result<()> {
    let plain = text::lines(typed.text).trim().to_owned();
    let words = settle(tx, SignatureOwner::Mailbox(mailbox), plain, typed.html, LONGEST).await?;
    let workspace = tx.workspace().0;
    let changed = sqlx::query!(
        "update mailboxes set signature = nullif($4, ''), signature_html = nullif($5, '')
         where workspace_id = $1 and id = $2 and audience = any($3)",
        workspace,
        mailbox.0,
        &who.audiences(),
        words.text,
        words.html
    )
    .execute(&mut **tx)
    .await?;
    if changed.rows_affected() == 0 { Err(NO_MAILBOX) } else { Ok(()) }
}

/// What is kept of a signature that somebody typed, with its row locked. Without the editor the formatting stays as long as the
/// text does.
pub(in crate::workspace) async fn settle(
    tx: &mut Tx<'_>,
    owner: SignatureOwner,
    plain: String,
    html: Option<&str>,
    longest: usize,
) -> Result<SignatureWords> {
    let kept = pictures::lock(tx, owner).await?;
    let before = kept.clone().unwrap_or_default();
    let words = match html {
        Some(html) => formatted(tx, owner, plain, html).await?,
        None => SignatureWords::holding(plain, kept),
    };
    if words.text.chars().count() > longest {
        return Err(Error::problem("signature", format!("must be at most {longest} characters")));
    }
    pictures::drop_unshown(tx, owner, &before, &words.html).await?;
    Ok(words)
}

async fn formatted(
    tx: &mut Tx<'_>,
    owner: SignatureOwner,
    plain: String,
    html: &str,
) -> Result<SignatureWords> {
    let too_much = || {
        let what = "has too much formatting to keep. Paste it as plain text instead";
        Error::problem("signature", what)
    };
    // The form that is kept may be shorter than what was typed, but not by so much.
    let typed = Some(html).filter(|html| html.len() <= 4 * MOST_HTML);
    let cleaned = typed.and_then(written::stored).ok_or_else(too_much)?;
    let own = pictures::only_own(tx, owner, &cleaned).await?;
    let html = written::stored(&own).filter(|html| html.len() <= MOST_HTML).ok_or_else(too_much)?;
    if written::pictures(&html).len() > pictures::MOST {
        let most = pictures::MOST;
        return Err(Error::problem("signature", format!("has at most {most} pictures. Take the others out")));
    }
    let text = written::text(&html);
    // What shows nothing is no signature.
    Ok(if text.is_empty() {
        SignatureWords { text: plain, html: String::new() }
    } else {
        SignatureWords { text, html }
    })
}
