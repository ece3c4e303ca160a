//! Sending as a secure link (6.2, D280): only people can, by a choice in the composer. The mail tells that there is something
//! to read, and nothing of what it is: no word, no subject, no quote, no name of a file.
//!
//! Files are sealed before the transaction that sends, because bytes are stored first and named after.

use chrono::{DateTime, Utc};

use crate::replies::drafts::files::{LeftBlob, unheld};
use crate::replies::drafts::{self, Draft};
use crate::replies::ready::Ready;
use crate::replies::upload::MOST_BYTES;
use rookery_base::app::App;
use rookery_base::error::{Error, NO_MESSAGE, Problem, Result};
use rookery_base::ids::{DraftFileId, DraftId, MessageId};
use rookery_base::relay::mailer::OutgoingLetter;
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::messages::message::Author;
use rookery_core::conversations::messages::outbound::{self, Addressed, Outbound};
use rookery_core::conversations::secure::files::{self, SealedFile};
use rookery_core::conversations::secure::page::{self, Lock, Way};
use rookery_core::conversations::secure::vault::Vault;
use rookery_core::conversations::secure::{SHOWN, proof, words};
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::Person;

/// Why nobody changes what is sealed in its place.
pub const SEALED: &str = "is sealed: take the message over to change its words";

/// Characters of a passphrase: it is guessed at no more than twenty times.
const SHORTEST_PASSPHRASE: usize = 8;
const LONGEST_PASSPHRASE: usize = 200;

/// What has to be done before a secure draft is sent.
pub struct Prepared {
    vault: Vault,
    lock: Lock,
    files: Vec<(DraftFileId, SealedFile)>,
}

impl Prepared {
    /// Bytes that nothing names if it is not sent.
    pub fn blobs(&self) -> Vec<String> {
        self.files.iter().map(|(_, file)| file.blob.clone()).collect()
    }

    /// Whether the draft has these files, and no others.
    pub(super) fn is_of(&self, draft: &Draft) -> bool {
        draft.leaving_files().map(|file| file.id).eq(self.files.iter().map(|(id, _)| *id))
    }
}

/// Whether a passphrase will do.
pub fn is_sound(passphrase: &str) -> bool {
    (SHORTEST_PASSPHRASE..=LONGEST_PASSPHRASE).contains(&proof::normal(passphrase).chars().count())
}

/// What is said of one that will not.
pub fn passphrase_problem() -> Problem {
    let what = format!(
        "Type the passphrase that you agreed: {SHORTEST_PASSPHRASE} to {LONGEST_PASSPHRASE} characters. Or choose the code."
    );
    Problem { field: "passphrase".into(), what }
}

/// Seals the files of a draft and hashes the passphrase. Nothing when it is no secure draft of this person.
pub async fn prepare(
    app: &App,
    person: &Person,
    draft: DraftId,
    passphrase: Option<&str>,
) -> Result<Option<Prepared>> {
    let mut tx = app.begin(person.workspace).await?;
    let keys = tx.frame().keys.clone();
    let found = drafts::read(&mut tx, keys.as_deref(), person, draft).await?;
    let Some(draft) = found.filter(|draft| draft.words.secure) else { return Ok(None) };
    let vault = Vault::ready(&mut tx).await?;
    tx.commit().await?;
    let lock = match passphrase {
        Some(passphrase) => Lock::Passphrase(app.password_hashes.hash(&proof::normal(passphrase)).await?),
        None => Lock::Code,
    };
    let mut prepared = Prepared { vault, lock, files: Vec::new() };
    for file in draft.leaving_files() {
        let own = &file.attachment;
        let stored = async {
            let plain = app.blobs.read(&own.blob).await?;
            let most = MOST_BYTES as u64;
            files::store(app, &prepared.vault, &own.filename, &own.content_type, plain.bytes, most).await
        };
        match stored.await {
            Ok(sealed) => prepared.files.push((file.id, sealed)),
            Err(error) => {
                app.blobs.discard(&prepared.blobs()).await;
                return Err(error);
            }
        }
    }
    Ok(Some(prepared))
}

/// The message with its page, in the transaction that sends the draft.
pub(super) async fn write(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: &Locked,
    ready: Ready,
    prepared: &Prepared,
    sends_at: DateTime<Utc>,
) -> Result<MessageId> {
    mailboxes::must_send(tx, conversation.mailbox_id, "body").await?;
    let message: MessageId = tx.mint();
    let addressed = Addressed { attachments: Vec::new(), ..ready.addressed };
    let outbound = Outbound {
        message,
        author: Author::Person(person.id),
        text: SHOWN,
        written: None,
        summary: None,
        sends_at: Some(sends_at),
        addressed: Some(&addressed),
    };
    outbound::add(tx, conversation, outbound).await?;
    words::keep(tx, &prepared.vault, message, &ready.body).await?;
    let sealed: Vec<SealedFile> = prepared.files.iter().map(|(_, file)| file.clone()).collect();
    files::name(tx, message, &sealed).await?;
    page::make(tx, message, &prepared.lock, sends_at).await?;
    Ok(message)
}

/// The plain bytes of its files go, once the draft's rows are gone.
pub(super) async fn doom_plain(tx: &mut Tx<'_>, draft: &Draft) -> Result<()> {
    let own = draft.files.iter().filter(|file| !file.attachment.borrowed);
    let left =
        own.map(|file| LeftBlob { conversation: draft.conversation, blob: file.attachment.blob.clone() });
    let left = unheld(tx, left.collect()).await?;
    doomed_files::doom(tx, &left).await
}

/// The words of a secure message that was stopped, for whoever writes on. Its files are sealed for good: a message that has
/// some is sent as it is, or thrown away.
pub(super) async fn taken_back(tx: &mut Tx<'_>, message: MessageId) -> Result<String> {
    let (workspace, keys) = (tx.workspace(), tx.frame().needs_keys()?.clone());
    let mut opened = words::open(tx, &keys, workspace, &[message]).await?;
    let opened = opened.remove(&message).ok_or(NO_MESSAGE)?;
    if opened.files.is_empty() {
        Ok(opened.text)
    } else {
        Err(Error::problem(
            "message",
            "has sealed files, which cannot be removed. Send it as it is, or discard it and write a new one",
        ))
    }
}

/// What the mail says in the place of the message. It is the same for every message but for its link, so that whoever
/// reads the mail on its way learns that there is one. Nothing when its link was taken back.
pub async fn letter(app: &App, secure: &OutgoingLetter) -> Result<Option<OutgoingLetter>> {
    let keys = app.config.needs_secret_key()?;
    let mut conn = app.connection().await?;
    let origin = &app.config.public_url;
    let link = page::link(&mut conn, keys, origin, secure.workspace, secure.message).await?;
    let Some((link, way)) = link else { return Ok(None) };
    let from = secure.from_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&secure.from);
    let asks = match way {
        Way::Code => "The page asks for a code, which it sends to this address.",
        Way::Passphrase => "The page asks for the passphrase you agreed on with us. It isn’t in any email.",
    };
    let days = page::LIVES.num_days();
    Ok(Some(OutgoingLetter {
        subject: format!("A secure message from {from}"),
        text: format!(
            "{from} sent you a secure message. Read it here:\n\n{link}\n\n{asks} The link works for {days} days.\n\n\
             Please answer on that page. An answer to this mail arrives too, but as an ordinary mail: it is not secured.\n"
        ),
        ..secure.clone()
    }))
}
