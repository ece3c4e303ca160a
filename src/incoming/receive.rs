//! The inbound pipeline, top to bottom: parse, store blobs, thread, assess the scam risk, store rows
//! (specification 1, 4.12, 4.14). Simulated, imported and received mail all go through it.
//!
//! Blobs are stored before the transaction that refers to them begins; everything else is one commit. Mail may be
//! acknowledged after this returns.

mod answering;
pub mod batch;
mod rsvp;

use bytes::Bytes;
use chrono::NaiveDate;
use serde_json::json;

use crate::app::App;
use crate::app_mail::sent::answered;
use crate::bookings::rsvp as bookings;
use crate::conversations::conversation::{Contact, Conversation};
use crate::conversations::lock::lock_in;
use crate::conversations::messages::html::Html;
use crate::conversations::messages::inbound::{self, Header, Inbound, Raw, Risk, Stored, takes_part};
use crate::conversations::ruled::engine;
use crate::conversations::timeline::{self, Attachment};
use crate::documents::filing::{NewDocument, file};
use crate::error::{Error, NO_MAILBOX, Result};
use crate::ids::{ConversationId, MailboxId, MessageId, WorkspaceId};
use crate::incoming::authenticate::{Dmarc, Part, Standing, Verdict};
use crate::incoming::delivery::{Delivery, Received};
use crate::incoming::parse::{Address, ParsedMail, Refusal, parse};
use crate::incoming::quota::{admit_to, tell};
use crate::incoming::reports::{
    apply_report, apply_to_booking, author, bounced_booking, lift_suppressions, verify_report,
};
use crate::incoming::thread::{Placement, Why, place};
use crate::incoming::{quote, scam};
use crate::replies::automatic::answer::answer;
use crate::rules::store::active;
use crate::secrets::hashes::{hex, number, sha256};
use crate::store::db::{Handle, Tx};
use crate::workspace::access::By;
use crate::workspace::mailboxes::{self, Mailbox};
use crate::zone::Zone;

/// Raw mail up to this size is stored in its row, larger mail in the blob store.
const SMALL: usize = 64 * 1024;
/// Mail from this size on is parsed off the runtime's threads.
const LARGE: usize = 64 * 1024;

pub async fn receive(app: &App, workspace: WorkspaceId, delivery: Delivery) -> Result<Received> {
    match take_apart(&delivery.raw).await? {
        Ok(mail) => deliver(app, workspace, &delivery, &mail).await,
        Err(refusal) => Ok(Received::Refused(refusal)),
    }
}

/// Parses the mail: the part that is the same for every recipient.
pub async fn take_apart(raw: &Bytes) -> Result<Result<ParsedMail, Refusal>> {
    if raw.len() < LARGE {
        return Ok(parse(raw));
    }
    // Parsing a large mail would block a runtime thread.
    let raw = raw.clone();
    tokio::task::spawn_blocking(move || parse(&raw)).await.map_err(Error::internal)
}

/// Stores a parsed mail in one inbox.
pub async fn deliver(
    app: &App,
    workspace: WorkspaceId,
    delivery: &Delivery,
    mail: &ParsedMail,
) -> Result<Received> {
    let files = Files::store(app, workspace, mail, delivery).await?;
    let outcome = store(app, workspace, delivery, mail, &files).await;
    let not_stored = match &outcome {
        Ok(Received::Stored(_)) => false,
        Ok(Received::Duplicate(_) | Received::Refused(_)) => true,
        Err(error) => !error.is_uncertain(),
    };
    // If the commit is uncertain a row may refer to the blobs; then they are left to the sweep.
    if not_stored {
        app.blobs.discard(&files.keys()).await;
    }
    outcome
}

/// The stored bytes of a mail: its raw form and its attachments.
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
            let written = app.blobs.put(workspace, "file", [attachment.content.clone()]).await?;
            let stored = Attachment {
                filename: attachment.filename.clone(),
                content_type: attachment.content_type.clone(),
                size: written.length as i64,
                blob: written.key,
                content_id: attachment.content_id.clone(),
                borrowed: false,
                content_hash: Some(hex(&written.hash)),
                document: None,
            };
            attachments.push((stored, written.hash));
        }
        let raw = match delivery.trace.len() + delivery.raw.len() {
            size if size <= SMALL => Raw::Here([&delivery.trace[..], &delivery.raw[..]].concat()),
            _ => {
                let both = [delivery.trace.clone(), delivery.raw.clone()];
                Raw::Blob(app.blobs.put(workspace, "mail", both).await?.key)
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
) -> Result<Received> {
    let mailbox = &delivery.mailbox;
    let identity = Identity::of(mail, &delivery.verdict);
    let mut tx = match &delivery.asked {
        Some(asked) => Tx::begin(app.connection().await?, asked.frame.clone()).await?,
        None => app.begin(workspace).await?,
    };
    let known = Known::of(&mut tx, &[(mailbox, &identity)]).await?;
    let [earlier] = known.earlier[..] else { return Err(Error::internal("one mail has one answer")) };
    if let Some(twin) = earlier.twin {
        return Ok(Received::Duplicate(twin));
    }
    let proven = verify_report(&mut tx, app, delivery, mail).await?;
    let named;
    let mut mail = mail;
    if let Some(proven) = &proven {
        named = ParsedMail { report: Some(proven.report.clone()), ..mail.clone() };
        mail = &named;
    }
    let heard = rsvp::heard(&mut tx, app, delivery, mail).await?;
    let bounced = bounced_booking(&mut tx, app, delivery, mail).await?;
    let about = bounced.as_ref().and_then(|bounced| bounced.booking.conversation);
    let booked_in = match heard.and_then(|heard| heard.conversation).or(about) {
        Some(conversation) => is_of(&mut tx, mailbox, conversation).await?.then_some(conversation),
        None => None,
    };
    let placement = match (delivery.joins.or(booked_in), &proven) {
        (Some(chosen), _) if booked_in.is_some() => Placement::joined(chosen, Why::Invitation),
        (Some(chosen), _) => Placement::joined(chosen, Why::Chosen),
        // Its sender takes no part in the conversation, but the proof shows that it is about our mail.
        (None, Some(proven)) => Placement::joined(proven.conversation, Why::Report),
        (None, None) => {
            let age = app.config.app_mail_retention().age;
            let recipient = delivery.recipient.as_deref();
            place(&mut tx, mailbox, recipient, mail, &delivery.verdict, age).await?
        }
    };
    let joined = match placement.joins {
        Some(conversation) => Some(lock_in(&mut tx, mailbox, conversation).await?),
        None => None,
    };
    if let Some(conversation) = joined.as_ref().map(|joined| joined.id).filter(|_| !delivery.trace.is_empty())
    {
        let (proven, size) = (delivery.verdict.dmarc() == Dmarc::Pass, delivery.raw.len());
        if !admit_to(app, &mut tx, mailbox.id, (conversation, proven), size).await? {
            drop(tx);
            let mut tx = app.begin(workspace).await?;
            tell(&mut tx, mailbox.id, conversation).await?;
            tx.commit().await?;
            return Ok(Received::Refused(Refusal::EnoughForToday));
        }
    }
    let signs = Signs {
        // Only a mail with a Message-ID can reuse one.
        repeated_id: earlier.other && mail.message_id.is_some(),
        new_sender_in_thread: match &joined {
            Some(conversation) => !wrote_before(&mut tx, conversation, mail).await?,
            None => false,
        },
    };
    let mut inbound = judged(delivery, &placement, mail, &identity, (&known.us, signs), files);
    // D146: mail from one of our own inboxes counts as automatic, so it changes no state and is not announced.
    inbound.automatic |= heard.is_some() || bounced.is_some() || is_ours(&mut tx, &known.us, mail).await?;
    let stored = match &joined {
        Some(conversation) => inbound::join(&mut tx, mailbox, conversation, &inbound, known.week).await?,
        None => inbound::start(&mut tx, &[(mailbox, &inbound)], known.week).await?.map(|stored| stored[0]),
    };
    let Ok(stored) = stored else {
        // Another node stored the same mail between our lookup and our insert. It is committed by now.
        drop(tx);
        let mut tx = app.begin(workspace).await?;
        let known = Known::of(&mut tx, &[(mailbox, &identity)]).await?;
        let twin = known.earlier.first().and_then(|earlier| earlier.twin);
        let lost = || Error::internal("a duplicate mail was refused, but its twin is not there");
        return twin.map(Received::Duplicate).ok_or_else(lost);
    };
    if placement.why == Why::Colleague {
        let data = json!({ "messageId": stored.message, "email": inbound.from.email });
        timeline::append(&mut tx, stored.conversation, &By::System, "new-sender", data).await?;
    }
    if let Some(message_id) = &placement.answers {
        answered(&mut tx, mailbox.livemode(), message_id, stored.conversation, !inbound.automatic).await?;
    }
    if let Some(heard) = heard {
        bookings::apply(&mut tx, heard).await?;
    }
    if let Some(bounced) = &bounced {
        apply_to_booking(&mut tx, bounced).await?;
    }
    if let Some(proven) = &proven {
        apply_report(&mut tx, joined.as_ref(), proven).await?;
    }
    if let Some(author) = author(delivery, mail, &inbound).filter(|_| known.suppressed) {
        lift_suppressions(&mut tx, &[(author, stored)]).await?;
    }
    file_attachments(&mut tx, mailbox, stored, mail, files).await?;
    if known.ruled {
        let rules = active(&mut tx, workspace).await?;
        engine::on_mail(&mut tx, &rules, mailbox, stored, &inbound).await?;
    }
    if known.answering.contains(&mailbox.id)
        && let Some(sender) = answering::whom(delivery, mail, &inbound)
    {
        answer(&mut tx, mailbox, stored, sender).await?;
    }
    if let Some(asked) = &delivery.asked {
        asked.answered(stored)?;
    }
    tx.commit().await?;
    Ok(Received::Stored(stored))
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

/// What the database knows before mail is judged, read in one query.
struct Known {
    us: Us,
    /// For each mail.
    earlier: Vec<Earlier>,
    /// One of the senders is suppressed, or may be one who was erased, which only its hash tells.
    suppressed: bool,
    /// The workspace has rules that are on.
    ruled: bool,
    /// Inboxes that answer by themselves, always or outside their hours.
    answering: Vec<MailboxId>,
    /// The week it is in the workspace's zone.
    week: NaiveDate,
}

/// Earlier mail of the same inbox with the same Message-ID.
#[derive(Clone, Copy)]
struct Earlier {
    /// The same mail, authenticated as well or better. A copy that is authenticated worse does not count.
    twin: Option<Stored>,
    /// There is one with other content. For confirmed mail only confirmed mail counts here.
    other: bool,
}

/// The keys by which a duplicate is found.
struct Identity<'a> {
    /// 0 for all mail without a Message-ID, which only its content distinguishes.
    id_hash: i64,
    /// The content hash of older versions, which had no standing; such a row matches any standing.
    plain: [u8; 32],
    content: [u8; 32],
    standing: Standing,
    sender: &'a str,
}

impl<'a> Identity<'a> {
    fn of(mail: &'a ParsedMail, verdict: &Verdict) -> Self {
        let sender = mail.from.as_ref().map(|from| from.email.as_str());
        Self {
            id_hash: mail.message_id.as_ref().map_or(0, |id| number(sha256(id))),
            plain: mail.fingerprint,
            content: sha256([mail.fingerprint, mail.heading].concat()),
            standing: verdict.standing(sender),
            sender: sender.unwrap_or_default(),
        }
    }

    /// The content hash with the standing as its last byte: in an index, equal content with the same or a better
    /// standing is one range.
    fn content_hash(&self) -> [u8; 33] {
        let mut hash = [self.standing as u8; 33];
        hash[..32].copy_from_slice(&self.content);
        hash
    }
}

impl Known {
    async fn of(tx: &mut Tx<'_>, mails: &[(&Mailbox, &Identity<'_>)]) -> Result<Self> {
        let workspace = tx.workspace().0;
        let mailboxes: Vec<i64> = mails.iter().map(|(mailbox, _)| mailbox.id.0).collect();
        let ids: Vec<i64> = mails.iter().map(|(_, mail)| mail.id_hash).collect();
        let plain: Vec<&[u8]> = mails.iter().map(|(_, mail)| &mail.plain[..]).collect();
        let contents: Vec<&[u8]> = mails.iter().map(|(_, mail)| &mail.content[..]).collect();
        let hashes: Vec<[u8; 33]> = mails.iter().map(|(_, mail)| mail.content_hash()).collect();
        let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash[..]).collect();
        let confirmed: Vec<bool> =
            mails.iter().map(|(_, mail)| mail.standing == Standing::Confirmed).collect();
        let senders: Vec<&str> = mails.iter().map(|(_, mail)| mail.sender).collect();
        let audiences: Vec<i64> = mails.iter().map(|(mailbox, _)| mailbox.audience).collect();
        // One index lookup per mail: a join may be planned as a scan over all messages.
        let row = sqlx::query!(
            r#"select us.name, us.time_zone,
                   array(select name from people where workspace_id = $1 and removed_at is null) as "team_names!",
                   array(select distinct split_part(address, '@', 2) from mailboxes
                         where workspace_id = $1 and kind <> 'sandbox') as "domains!",
                   exists (select from suppressed_addresses
                           where workspace_id = $1 and livemode and address = any($8))
                       or exists (select from erased_bans
                                  where workspace_id = $1 and livemode and reason = 'bounce') as "suppressed!",
                   exists (select from unnest($2::bigint[], $9::bigint[]) as mail (mailbox_id, audience)
                           where not exists (
                               select from mailboxes where workspace_id = $1 and id = mail.mailbox_id
                                 and mailboxes.audience = mail.audience and closed_at is null)) as "moved!",
                   exists (select from rules where workspace_id = $1 and is_on) as "ruled!",
                   array(select mailbox_id from auto_replies
                         where workspace_id = $1 and is_on and mailbox_id = any($2)) as "answering!: Vec<MailboxId>",
                   looked.conversations as "conversations!: Vec<Option<ConversationId>>",
                   looked.messages as "messages!: Vec<Option<MessageId>>", looked.others as "others!"
               from workspaces us cross join lateral (
                   select array_agg(twin.conversation_id order by place) as conversations,
                          array_agg(twin.id order by place) as messages,
                          array_agg(mail.id_hash <> 0 and exists (
                              select from (
                                  select content_hash, verdict from messages
                                  where workspace_id = $1 and mailbox_id = mail.mailbox_id and id_hash = mail.id_hash
                                    and direction = 'inbound' limit 20) earlier
                              where earlier.content_hash <> plain
                                and earlier.content_hash not between content and content || '\xff'
                                and (not confirmed or earlier.verdict ->> 'dmarc' = 'pass')) order by place) as others
                   from unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[], $7::boolean[])
                            with ordinality as mail (mailbox_id, id_hash, plain, content, hash, confirmed, place)
                   left join lateral (
                       select conversation_id, id from messages
                       where workspace_id = $1 and mailbox_id = mail.mailbox_id and id_hash = mail.id_hash
                         and content_hash between hash and content || '\xff' and direction = 'inbound'
                       union all
                       select conversation_id, id from messages
                       where workspace_id = $1 and mailbox_id = mail.mailbox_id and id_hash = mail.id_hash
                         and content_hash = plain and direction = 'inbound' limit 1) twin on true) looked
               where us.id = $1"#,
            workspace,
            &mailboxes,
            &ids,
            &plain as &[&[u8]],
            &contents as &[&[u8]],
            &hashes as &[&[u8]],
            &confirmed,
            &senders as &[&str],
            &audiences
        )
        .fetch_one(&mut **tx)
        .await?;
        // Its owner left since the recipient was accepted: whoever sends it again is told what holds now.
        if row.moved {
            return Err(NO_MAILBOX);
        }
        let twins = row.conversations.into_iter().zip(row.messages).map(|(conversation, message)| {
            conversation.zip(message).map(|(conversation, message)| Stored { conversation, message })
        });
        let earlier = twins.zip(row.others).map(|(twin, other)| Earlier { twin, other }).collect();
        let us = Us { name: row.name, team_names: row.team_names, domains: row.domains };
        let week = Zone::named(&row.time_zone).week(tx.now());
        let (suppressed, ruled, answering) = (row.suppressed, row.ruled, row.answering);
        Ok(Self { us, earlier, suppressed, ruled, answering, week })
    }
}

/// Names and domains of a workspace, which a scam might imitate.
struct Us {
    name: String,
    team_names: Vec<String>,
    /// Domains of the live inboxes.
    domains: Vec<String>,
}

/// Scam signals that depend on earlier mail.
struct Signs {
    repeated_id: bool,
    new_sender_in_thread: bool,
}

/// Whether the sender is an inbox of this workspace. The domain rules that out for most senders without a query.
async fn is_ours(tx: &mut Tx<'_>, us: &Us, mail: &ParsedMail) -> Result<bool> {
    let Some(from) = mail.from.as_ref().filter(|from| us.domains.iter().any(|ours| ours == from.domain()))
    else {
        return Ok(false);
    };
    let workspace = tx.workspace();
    Ok(mailboxes::at(tx, workspace, &from.email).await?.is_some())
}

/// Whether mail to this inbox can join the conversation of a booking, which may be in another one.
async fn is_of(tx: &mut Tx<'_>, mailbox: &Mailbox, conversation: ConversationId) -> Result<bool> {
    let workspace = tx.workspace().0;
    Ok(sqlx::query_scalar!(
        r#"select exists (select from conversations
                          where workspace_id = $1 and id = $2 and mailbox_id = $3) as "is_of!""#,
        workspace,
        conversation.0,
        mailbox.id.0
    )
    .fetch_one(&mut **tx)
    .await?)
}

/// Whether the sender takes part in the conversation. Mostly it is the contact, which needs no query.
async fn wrote_before(tx: &mut Tx<'_>, conversation: &Conversation, mail: &ParsedMail) -> Result<bool> {
    let Some(sender) = mail.from.as_ref().map(|from| from.email.as_str()) else { return Ok(false) };
    let is_contact = conversation.contact.email.as_deref() == Some(sender);
    Ok(is_contact || takes_part(tx, conversation.id, sender).await?)
}

/// The mail as it will be stored: quoted history removed, scam risk assessed.
fn judged(
    delivery: &Delivery,
    placement: &Placement,
    mail: &ParsedMail,
    identity: &Identity<'_>,
    (us, signs): (&Us, Signs),
    files: &Files,
) -> Inbound {
    let sender = mail.from.as_ref().map(|from| from.email.as_str());
    let text = quote::own_words(mail);
    let assessment = scam::assess(
        mail,
        &scam::Context {
            text: &text,
            dmarc_failed: delivery.verdict.dmarc() == Dmarc::Fail,
            unwanted: delivery.verdict.held,
            our_domains: &us.domains,
            team_names: &us.team_names,
            workspace_name: &us.name,
            new_sender_in_thread: signs.new_sender_in_thread,
            repeated_id: signs.repeated_id,
        },
    );
    let vouched = [(Part::To, &mail.to), (Part::Cc, &mail.cc)].into_iter();
    let vouched = vouched.filter(|(part, _)| delivery.verdict.vouches_for(*part)).flat_map(|(_, list)| list);
    let written_to = vouched.map(|address| address.email.clone());
    let listed = |list: &[Address]| list.iter().map(|address| address.email.clone()).collect();
    let reply_to = mail.reply_to.as_ref().map(|address| address.email.clone());
    Inbound {
        from: Contact {
            name: mail.from.as_ref().and_then(|from| from.name.clone()),
            email: sender.map(str::to_owned),
        },
        also_to: written_to.filter(|address| *address != delivery.mailbox.address).collect(),
        header: Header { to: listed(&mail.to), cc: listed(&mail.cc), reply_to },
        subject: mail.subject.clone(),
        answers_in: placement.answers_in,
        reference: placement.reference.clone(),
        answers_app_mail: placement.answers.is_some(),
        whole_text: (text != mail.text).then(|| mail.text.clone()),
        text,
        html: mail.html.as_ref().map(|html| Html {
            source: html.source.clone(),
            laid_out: html.laid_out,
            remote_images: html.has_remote_pictures,
        }),
        attachments: files.attachments.iter().map(|(attachment, _)| attachment.clone()).collect(),
        automatic: mail.automatic,
        risk: assessment.risk.map(|risk| Risk {
            label: risk.as_str(),
            reasons: assessment.reasons.iter().map(ToString::to_string).collect(),
            held: assessment.held,
        }),
        rfc_message_id: mail.message_id.clone(),
        id_hash: identity.id_hash,
        content_hash: identity.content_hash(),
        raw: files.raw.clone(),
        verdict: serde_json::to_value(&delivery.verdict).unwrap_or_default(),
        placed: match placement.answers_in {
            Some(other) => format!("{} (it answers a mail in {other})", placement.why),
            None => placement.why.to_string(),
        },
    }
}
