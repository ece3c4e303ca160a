//! The inbound pipeline, top to bottom: understand, judge, store the bytes, find the place, store the rows
//! (specification 1, 4.12, 4.14). Simulated, imported and received mail all take this one way.
//!
//! Bytes are stored before the transaction that names them begins, and everything else is one commit:
//! whoever acknowledges mail does it after this returns.

pub mod together;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::app_mail::record::answered;
use crate::conversations::conversation::{Contact, Conversation, lock_in};
use crate::conversations::inbound::{self, Inbound, Raw, Risk, Stored, takes_part};
use crate::conversations::timeline::Attachment;
use crate::db::Tx;
use crate::documents::file::{NewDocument, file};
use crate::error::{Error, Result};
use crate::ids::{ConversationId, MessageId, WorkspaceId};
use crate::mail::authenticate::Verdict;
use crate::mail::heed::{author, heed, lift, prove};
use crate::mail::parse::{ParsedMail, Refusal, parse};
use crate::mail::thread::{Dmarc, Placement, Why, place};
use crate::mail::{quote, scam};
use crate::workspace::mailboxes::{self, Mailbox};

/// The bytes of mail up to this size stand in its row, and need no file of their own.
const SMALL: usize = 64 * 1024;
/// Mail of this size is taken apart elsewhere.
const LARGE: usize = 64 * 1024;

/// Mail for one inbox.
pub struct Delivery {
    pub mailbox: Mailbox,
    pub raw: Bytes,
    /// Header lines of our own: how the mail came here. They are kept in front of it.
    pub trace: Bytes,
    /// The address it was handed over for, when that is known apart from the header.
    pub recipient: Option<String>,
    /// A conversation the sandbox's caller chose; other mail is placed by what it answers.
    pub joins: Option<ConversationId>,
    pub verdict: Verdict,
}

impl Delivery {
    /// Mail that did not come from outside.
    pub fn of(mailbox: Mailbox, raw: Vec<u8>, dmarc: Dmarc) -> Self {
        let verdict = Verdict::unchecked(dmarc);
        Self { mailbox, raw: raw.into(), trace: Bytes::new(), recipient: None, joins: None, verdict }
    }
}

#[derive(Debug)]
pub enum Outcome {
    Stored(Stored),
    /// The inbox has this very mail already.
    Duplicate(Stored),
    Refused(Refusal),
}

pub async fn receive(app: &App, workspace: WorkspaceId, delivery: Delivery) -> Result<Outcome> {
    match take_apart(&delivery.raw).await? {
        Ok(mail) => deliver(app, workspace, &delivery, &mail).await,
        Err(refusal) => Ok(Outcome::Refused(refusal)),
    }
}

/// The first half, which is the same for every inbox the mail goes to.
pub async fn take_apart(raw: &Bytes) -> Result<Result<ParsedMail, Refusal>> {
    if raw.len() < LARGE {
        return Ok(parse(raw));
    }
    // A large mail takes a moment: not on the threads that answer requests.
    let raw = raw.clone();
    tokio::task::spawn_blocking(move || parse(&raw)).await.map_err(Error::internal)
}

/// The second half: stores the mail in its inbox.
pub async fn deliver(
    app: &App,
    workspace: WorkspaceId,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Outcome> {
    let files = Files::store(app, workspace, mail, delivery).await?;
    let outcome = store(app, workspace, delivery, mail, &files).await;
    if !matches!(outcome, Ok(Outcome::Stored(_))) {
        app.blobs.discard(&files.keys()).await;
    }
    outcome
}

/// What of a mail is kept outside the database.
struct Files {
    raw: Raw,
    /// One for each attachment, with the hash of its bytes.
    attachments: Vec<(Attachment, [u8; 32])>,
}

impl Files {
    async fn store(
        app: &App,
        workspace: WorkspaceId,
        mail: &ParsedMail,
        delivery: &Delivery,
    ) -> Result<Self> {
        let mut attachments = Vec::with_capacity(mail.attachments.len());
        for attachment in &mail.attachments {
            let blob = app.blobs.put(workspace, "file", [attachment.content.clone()]).await?;
            let stored = Attachment {
                filename: attachment.filename.clone(),
                content_type: attachment.content_type.clone(),
                size: attachment.content.len() as i64,
                blob,
            };
            attachments.push((stored, Sha256::digest(&attachment.content).into()));
        }
        let raw = match delivery.trace.len() + delivery.raw.len() {
            size if size <= SMALL => Raw::Here([&delivery.trace[..], &delivery.raw[..]].concat()),
            _ => {
                let both = [delivery.trace.clone(), delivery.raw.clone()];
                Raw::Blob(app.blobs.put(workspace, "mail", both).await?)
            }
        };
        Ok(Self { raw, attachments })
    }

    fn keys(&self) -> Vec<String> {
        let files = self.attachments.iter().map(|(attachment, _)| attachment.blob.clone());
        let raw = match &self.raw {
            Raw::Blob(key) => Some(key.clone()),
            Raw::Here(_) => None,
        };
        files.chain(raw).collect()
    }
}

async fn store(
    app: &App,
    workspace: WorkspaceId,
    delivery: &Delivery,
    mail: &ParsedMail,
    files: &Files,
) -> Result<Outcome> {
    let mailbox = &delivery.mailbox;
    let id_hash = id_hash(mail.message_id.as_deref());
    let mut tx = app.begin(workspace).await?;
    let known = Known::of(&mut tx, &[(mailbox, id_hash, &mail.fingerprint)]).await?;
    let [earlier] = known.earlier[..] else { return Err(Error::internal("one mail has one answer")) };
    if let Some(twin) = earlier.twin {
        return Ok(Outcome::Duplicate(twin));
    }
    let proven = prove(&mut tx, app, delivery, mail).await?;
    let named;
    let mut mail = mail;
    if let Some(proven) = &proven {
        named = ParsedMail { report: Some(proven.report.clone()), ..mail.clone() };
        mail = &named;
    }
    let placement = match delivery.joins {
        Some(chosen) => Placement { joins: Some(chosen), reference: None, answers: None, why: Why::Chosen },
        None => {
            let age = app.config.app_mail_keep().age;
            place(&mut tx, mailbox, delivery.recipient.as_deref(), mail, &delivery.verdict, age).await?
        }
    };
    let joined = match placement.joins {
        Some(conversation) => Some(lock_in(&mut tx, mailbox, conversation).await?),
        None => None,
    };
    let signs = Signs {
        // Mail without an id has none to repeat.
        repeated_id: earlier.other && mail.message_id.is_some(),
        new_sender_in_thread: match &joined {
            Some(conversation) => !wrote_before(&mut tx, conversation, mail).await?,
            None => false,
        },
    };
    let mut inbound = judged(delivery, &placement, mail, id_hash, (&known.us, signs), files);
    // D146: an inbox of ours is no customer, so what it writes moves and announces nothing.
    inbound.automatic |= is_ours(&mut tx, &known.us, mail).await?;
    let stored = match &joined {
        Some(conversation) => inbound::join(&mut tx, mailbox, conversation, &inbound).await?,
        None => inbound::start(&mut tx, &[(mailbox, &inbound)]).await?.map(|stored| stored[0]),
    };
    let Ok(stored) = stored else {
        // Another node stored the same mail between our look and our insert: it is committed now.
        drop(tx);
        let mut tx = app.begin(workspace).await?;
        let known = Known::of(&mut tx, &[(mailbox, id_hash, &mail.fingerprint)]).await?;
        let twin = known.earlier.first().and_then(|earlier| earlier.twin);
        let lost = || Error::internal("a duplicate mail was refused, but its twin is not there");
        return twin.map(Outcome::Duplicate).ok_or_else(lost);
    };
    if let Some(message_id) = &placement.answers {
        answered(&mut tx, mailbox.livemode(), message_id, stored.conversation, !inbound.automatic).await?;
    }
    if let Some(proven) = &proven {
        heed(&mut tx, joined.as_ref(), proven).await?;
    }
    if let Some(author) = author(delivery, mail, &inbound) {
        lift(&mut tx, &[(author, stored)]).await?;
    }
    file_attachments(&mut tx, mailbox, stored, mail, files).await?;
    tx.commit().await?;
    Ok(Outcome::Stored(stored))
}

async fn file_attachments(
    tx: &mut Tx<'_>,
    mailbox: &Mailbox,
    stored: Stored,
    mail: &ParsedMail,
    files: &Files,
) -> Result<()> {
    let attachments = mail.attachments.iter().zip(&files.attachments);
    for (_, (attachment, content_hash)) in attachments.filter(|(parsed, _)| parsed.is_filed()) {
        let document = NewDocument {
            audience: mailbox.audience,
            conversation: stored.conversation,
            filename: &attachment.filename,
            content_type: &attachment.content_type,
            size: attachment.size,
            content_hash: *content_hash,
            blob: &attachment.blob,
        };
        file(tx, document).await?;
    }
    Ok(())
}

/// What is known before mail is judged, in one look.
struct Known {
    us: Identity,
    /// For each mail.
    earlier: Vec<Earlier>,
}

/// Mail of the same inbox that carries the same Message-ID.
#[derive(Clone, Copy)]
struct Earlier {
    /// This very mail.
    twin: Option<Stored>,
    /// One with another content.
    other: bool,
}

impl Known {
    /// For mails by inbox, hash of the Message-ID, and hash of the content.
    async fn of(tx: &mut Tx<'_>, mails: &[(&Mailbox, i64, &[u8; 32])]) -> Result<Self> {
        let workspace = tx.workspace().0;
        let mailboxes: Vec<i64> = mails.iter().map(|(mailbox, ..)| mailbox.id.0).collect();
        let ids: Vec<i64> = mails.iter().map(|(_, id, _)| *id).collect();
        let contents: Vec<&[u8]> = mails.iter().map(|(.., content)| &content[..]).collect();
        // Mail by mail through the index: a join may be planned as a pass over all messages.
        let row = sqlx::query!(
            r#"select us.name,
                   array(select name from people where workspace_id = $1 and removed_at is null) as "team_names!",
                   array(select distinct split_part(address, '@', 2) from mailboxes
                         where workspace_id = $1 and kind <> 'sandbox') as "domains!",
                   looked.conversations as "conversations!: Vec<Option<ConversationId>>",
                   looked.messages as "messages!: Vec<Option<MessageId>>", looked.others as "others!"
               from workspaces us cross join lateral (
                   select array_agg(twin.conversation_id order by place) as conversations,
                          array_agg(twin.id order by place) as messages,
                          array_agg(exists (
                              select from messages
                              where workspace_id = $1 and mailbox_id = mail.mailbox_id and id_hash = mail.id_hash
                                and content_hash <> mail.content_hash and direction = 'inbound') order by place) as others
                   from unnest($2::bigint[], $3::bigint[], $4::bytea[]) with ordinality
                            as mail (mailbox_id, id_hash, content_hash, place)
                   left join lateral (
                       select conversation_id, id from messages
                       where workspace_id = $1 and mailbox_id = mail.mailbox_id and id_hash = mail.id_hash
                         and content_hash = mail.content_hash and direction = 'inbound' offset 0) twin on true) looked
               where us.id = $1"#,
            workspace,
            &mailboxes,
            &ids,
            &contents as &[&[u8]]
        )
        .fetch_one(&mut **tx)
        .await?;
        let twins = row.conversations.into_iter().zip(row.messages).map(|(conversation, message)| {
            conversation.zip(message).map(|(conversation, message)| Stored { conversation, message })
        });
        let earlier = twins.zip(row.others).map(|(twin, other)| Earlier { twin, other }).collect();
        Ok(Self {
            us: Identity { name: row.name, team_names: row.team_names, domains: row.domains },
            earlier,
        })
    }
}

/// Who a workspace is to the outside: the names and domains that a scam would borrow.
struct Identity {
    name: String,
    team_names: Vec<String>,
    /// Domains of the live inboxes.
    domains: Vec<String>,
}

/// What earlier mail makes of this one.
struct Signs {
    repeated_id: bool,
    new_sender_in_thread: bool,
}

/// Whether the sender is an inbox of the same workspace. Most senders are known not to be by their domain.
async fn is_ours(tx: &mut Tx<'_>, us: &Identity, mail: &ParsedMail) -> Result<bool> {
    let Some(from) = mail.from.as_ref().filter(|from| us.domains.iter().any(|ours| ours == from.domain()))
    else {
        return Ok(false);
    };
    let workspace = tx.workspace();
    Ok(mailboxes::at(tx, workspace, &from.email).await?.is_some())
}

/// Whether the sender is on the conversation. Mostly it is the contact, which is known without asking.
async fn wrote_before(tx: &mut Tx<'_>, conversation: &Conversation, mail: &ParsedMail) -> Result<bool> {
    let Some(sender) = mail.from.as_ref().map(|from| from.email.as_str()) else { return Ok(false) };
    let is_contact = conversation.contact.email.as_deref() == Some(sender);
    Ok(is_contact || takes_part(tx, conversation.id, sender).await?)
}

/// The mail as it will be stored: history taken away, and the scam check's opinion.
fn judged(
    delivery: &Delivery,
    placement: &Placement,
    mail: &ParsedMail,
    id_hash: i64,
    (us, signs): (&Identity, Signs),
    files: &Files,
) -> Inbound {
    let sender = mail.from.as_ref().map(|from| from.email.as_str());
    let text = quote::own_words(mail);
    let assessment = scam::assess(
        mail,
        &scam::Context {
            text: &text,
            dmarc_failed: delivery.verdict.dmarc() == Dmarc::Fail,
            our_domains: &us.domains,
            team_names: &us.team_names,
            workspace_name: &us.name,
            new_sender_in_thread: signs.new_sender_in_thread,
            repeated_id: signs.repeated_id,
        },
    );
    let written_to = mail.to.iter().chain(&mail.cc).map(|address| address.email.clone());
    Inbound {
        from: Contact {
            name: mail.from.as_ref().and_then(|from| from.name.clone()),
            email: sender.map(str::to_owned),
        },
        also_to: written_to.filter(|address| *address != delivery.mailbox.address).collect(),
        subject: mail.subject.clone(),
        reference: placement.reference.clone(),
        answers_app_mail: placement.answers.is_some(),
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
        raw: files.raw.clone(),
        verdict: serde_json::to_value(&delivery.verdict).unwrap_or_default(),
        placed: placement.why.to_string(),
    }
}

/// Mail without a Message-ID shares one hash; its content alone tells it apart.
fn id_hash(message_id: Option<&str>) -> i64 {
    let Some(message_id) = message_id else { return 0 };
    let digest = Sha256::digest(message_id);
    i64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
}
