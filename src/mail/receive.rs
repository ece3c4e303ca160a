//! The inbound pipeline, top to bottom: understand, judge, store the bytes, find the place, store the rows
//! (specification 1, 4.12, 4.14). Simulated, imported and received mail all take this one way.
//!
//! Bytes are stored before the transaction that names them begins, and everything else is one commit:
//! whoever acknowledges mail does it after this returns.

use sha2::{Digest, Sha256};

use crate::app::App;
use crate::conversations::conversation::Contact;
use crate::conversations::inbound::{self, Inbound, Risk, Stored};
use crate::conversations::timeline::Attachment;
use crate::db::Tx;
use crate::documents::file::{NewDocument, file};
use crate::error::Result;
use crate::ids::{ConversationId, MessageId, WorkspaceId};
use crate::mail::parse::{ParsedMail, Refusal, parse};
use crate::mail::{quote, scam, thread};
use crate::workspace::identity;
use crate::workspace::mailboxes::Mailbox;

/// Mail for one inbox.
pub struct Delivery {
    pub mailbox: Mailbox,
    pub raw: Vec<u8>,
    /// A conversation the sandbox's caller chose; other mail is placed by what it answers.
    pub joins: Option<ConversationId>,
}

#[derive(Debug)]
pub enum Outcome {
    Stored(Stored),
    /// The inbox has this very mail already.
    Duplicate(Stored),
    Refused(Refusal),
}

pub async fn receive(app: &App, workspace: WorkspaceId, delivery: Delivery) -> Result<Outcome> {
    let mail = match parse(&delivery.raw) {
        Ok(mail) => mail,
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let id_hash = id_hash(mail.message_id.as_deref());
    let files = Files::store(app, workspace, &mail, delivery.raw).await?;
    let outcome = store(app, workspace, &delivery.mailbox, delivery.joins, &mail, id_hash, &files).await;
    if !matches!(outcome, Ok(Outcome::Stored(_))) {
        app.blobs.discard(&files.keys()).await;
    }
    outcome
}

/// What of a mail is kept outside the database.
struct Files {
    raw: String,
    /// One for each attachment, with the hash of its bytes.
    attachments: Vec<(Attachment, [u8; 32])>,
}

impl Files {
    async fn store(app: &App, workspace: WorkspaceId, mail: &ParsedMail, raw: Vec<u8>) -> Result<Self> {
        let mut attachments = Vec::with_capacity(mail.attachments.len());
        for attachment in &mail.attachments {
            let blob = app.blobs.put(workspace, "file", attachment.content.clone()).await?;
            let stored = Attachment {
                filename: attachment.filename.clone(),
                content_type: attachment.content_type.clone(),
                size: attachment.content.len() as i64,
                blob,
            };
            attachments.push((stored, Sha256::digest(&attachment.content).into()));
        }
        Ok(Self { raw: app.blobs.put(workspace, "mail", raw).await?, attachments })
    }

    fn keys(&self) -> Vec<String> {
        let files = self.attachments.iter().map(|(attachment, _)| attachment.blob.clone());
        files.chain([self.raw.clone()]).collect()
    }
}

async fn store(
    app: &App,
    workspace: WorkspaceId,
    mailbox: &Mailbox,
    joins: Option<ConversationId>,
    mail: &ParsedMail,
    id_hash: i64,
    files: &Files,
) -> Result<Outcome> {
    let mut tx = app.begin(workspace).await?;
    let known = same_id(&mut tx, mailbox, id_hash).await?;
    if let Some(stored) = known.iter().find(|known| known.content_hash == mail.fingerprint) {
        return Ok(Outcome::Duplicate(stored.place));
    }
    let joins = match joins {
        Some(chosen) => Some(chosen),
        None => thread::find(&mut tx, mailbox.id, &mail.references).await?,
    };
    let inbound = judged(&mut tx, joins, mail, id_hash, !known.is_empty(), files).await?;
    let stored = match joins {
        Some(conversation) => {
            inbound::join(&mut tx, mailbox, conversation, &inbound, &app.config.public_url).await?
        }
        None => inbound::start(&mut tx, mailbox, &inbound, &app.config.public_url).await?,
    };
    let Ok(stored) = stored else {
        // Another node stored the same mail between our look and our insert: it is committed now.
        drop(tx);
        let mut tx = app.begin(workspace).await?;
        let known = same_id(&mut tx, mailbox, id_hash).await?;
        let twin = known.into_iter().find(|known| known.content_hash == mail.fingerprint);
        return twin.map(|twin| Outcome::Duplicate(twin.place)).ok_or_else(|| {
            crate::error::Error::internal("a duplicate mail was refused, but its twin is not there")
        });
    };
    for (parsed, (attachment, content_hash)) in mail.attachments.iter().zip(&files.attachments) {
        if parsed.is_filed() {
            let document = NewDocument {
                audience: mailbox.audience,
                conversation: stored.conversation,
                filename: &attachment.filename,
                content_type: &attachment.content_type,
                size: attachment.size,
                content_hash: *content_hash,
                blob: &attachment.blob,
            };
            file(&mut tx, document).await?;
        }
    }
    tx.commit().await?;
    Ok(Outcome::Stored(stored))
}

struct Known {
    place: Stored,
    content_hash: Vec<u8>,
}

/// Mail of this inbox that carries the same Message-ID.
async fn same_id(tx: &mut Tx<'_>, mailbox: &Mailbox, id_hash: i64) -> Result<Vec<Known>> {
    let workspace = tx.workspace().0;
    let rows = sqlx::query!(
        r#"select conversation_id as "conversation: ConversationId", id as "message: MessageId",
                  content_hash as "content_hash!"
           from messages
           where workspace_id = $1 and mailbox_id = $2 and id_hash = $3 and direction = 'inbound'
           limit 100"#,
        workspace,
        mailbox.id.0,
        id_hash
    )
    .fetch_all(&mut **tx)
    .await?;
    let known = rows.into_iter().map(|row| Known {
        place: Stored { conversation: row.conversation, message: row.message },
        content_hash: row.content_hash,
    });
    Ok(known.collect())
}

/// The mail as it will be stored: history taken away, and the scam check's opinion.
async fn judged(
    tx: &mut Tx<'_>,
    joins: Option<ConversationId>,
    mail: &ParsedMail,
    id_hash: i64,
    repeated_id: bool,
    files: &Files,
) -> Result<Inbound> {
    let workspace = tx.workspace();
    let us = identity::of(tx, workspace).await?;
    let sender = mail.from.as_ref().map(|from| from.email.as_str());
    let new_sender_in_thread = match joins {
        Some(conversation) => !takes_part(tx, conversation, sender).await?,
        None => false,
    };
    let assessment = scam::assess(
        mail,
        &scam::Context {
            // Neither simulated nor imported mail has a sending server to check.
            dmarc_failed: false,
            our_domains: &us.domains,
            team_names: &us.team_names,
            workspace_name: &us.name,
            new_sender_in_thread,
            repeated_id,
        },
    );
    let text = quote::without_history(&mail.text);
    Ok(Inbound {
        from: Contact {
            name: mail.from.as_ref().and_then(|from| from.name.clone()),
            email: sender.map(str::to_owned),
        },
        subject: mail.subject.clone(),
        whole_text: (text != mail.text).then(|| mail.text.clone()),
        text,
        attachments: files.attachments.iter().map(|(attachment, _)| attachment.clone()).collect(),
        automatic: mail.automatic,
        risk: assessment.risk.map(|risk| Risk {
            label: risk.as_str(),
            reasons: assessment.reasons.iter().map(ToString::to_string).collect(),
            held: assessment.held,
        }),
        rfc_message_id: mail.message_id.clone(),
        id_hash,
        content_hash: mail.fingerprint,
        raw_blob: files.raw.clone(),
    })
}

/// Whether this sender has written on the conversation before.
async fn takes_part(tx: &mut Tx<'_>, conversation: ConversationId, sender: Option<&str>) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (select from conversations where workspace_id = $1 and id = $2 and contact_email = $3)
               or exists (select from messages where workspace_id = $1 and conversation_id = $2
                          and direction = 'inbound' and from_email = $3) as "takes_part!""#,
        workspace, conversation.0, sender)
        .fetch_one(&mut **tx)
        .await?)
}

/// Mail without a Message-ID shares one hash; its content alone tells it apart.
fn id_hash(message_id: Option<&str>) -> i64 {
    let Some(message_id) = message_id else { return 0 };
    let digest = Sha256::digest(message_id);
    i64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}
