//! Identify: takes the keys by which mails are known again and gives `Known`: for each whether its inbox has the same mail
//! already, and what else of the workspace the later stages need. All of it is read in one query.

use std::collections::HashSet;

use chrono::NaiveDate;

use crate::incoming::authenticate::SenderStanding;
use crate::incoming::delivery::Incoming;
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::{ConversationId, MailboxId, MessageId, PersonId};
use rookery_base::secrets::hashes::{number, sha256};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::mailboxes::Mailbox;

/// What the database knows before mail is judged.
pub(super) struct Known {
    pub us: Us,
    /// For each mail.
    pub earlier: Vec<Earlier>,
    /// One of the senders is suppressed, or may be one who was erased, which only its hash tells.
    pub suppressed: bool,
    /// The workspace has rules that are on.
    pub ruled: bool,
    /// Inboxes that answer by themselves, always, outside their hours or in a period.
    pub answering: Vec<MailboxId>,
    /// People who are away now and have a text for customers.
    pub away: Vec<PersonId>,
    /// The week it is in the workspace's zone.
    pub week: NaiveDate,
}

/// Earlier mail of the same inbox with the same Message-ID.
#[derive(Clone, Copy)]
pub(super) struct Earlier {
    /// The same mail, authenticated as well or better. A copy that is authenticated worse does not count.
    pub twin: Option<Stored>,
    /// There is one with other content. For confirmed mail only confirmed mail counts here.
    pub other: bool,
}

/// Names and domains of a workspace, which a scam might imitate.
pub(super) struct Us {
    pub name: String,
    pub team_names: Vec<String>,
    /// Domains of the live inboxes.
    pub domains: Vec<String>,
}

/// The keys by which a duplicate is found.
pub(super) struct Identity<'m> {
    mailbox: &'m Mailbox,
    /// 0 for all mail without a Message-ID, which only its content distinguishes.
    pub id_hash: i64,
    /// The content hash of older versions, which had no standing; such a row matches any standing.
    plain: [u8; 32],
    content: [u8; 32],
    standing: SenderStanding,
    sender: &'m str,
}

/// Whether two mails of a lot may be the same one, which the database cannot tell before one of them is stored.
pub(super) fn are_alike(mails: &[Identity<'_>]) -> bool {
    mails.iter().map(|mail| mail.id_hash).collect::<HashSet<_>>().len() < mails.len()
}

impl<'m> Identity<'m> {
    pub fn from_incoming(incoming: &Incoming<'m>) -> Self {
        let Incoming { delivery, mail } = *incoming;
        let sender = mail.from.as_ref().map(|from| from.email.as_str());
        Self {
            mailbox: &delivery.mailbox,
            id_hash: mail.message_id.as_ref().map_or(0, |id| number(sha256(id))),
            plain: mail.fingerprint,
            content: sha256([mail.fingerprint, mail.heading].concat()),
            standing: delivery.verdict.standing(sender),
            sender: sender.unwrap_or_default(),
        }
    }

    /// The content hash with the standing as its last byte: in an index, equal content with the same or a better
    /// standing is one range.
    pub fn content_hash(&self) -> [u8; 33] {
        let mut hash = [self.standing as u8; 33];
        hash[..32].copy_from_slice(&self.content);
        hash
    }
}

impl Known {
    /// The mail that one of these is a copy of.
    pub fn twin(&self) -> Option<Stored> {
        self.earlier.iter().find_map(|earlier| earlier.twin)
    }

    pub async fn read(tx: &mut Tx<'_>, mails: &[Identity<'_>]) -> Result<Self> {
        let (workspace, now) = (tx.workspace().0, tx.now());
        let mailboxes: Vec<i64> = mails.iter().map(|mail| mail.mailbox.id.0).collect();
        let ids: Vec<i64> = mails.iter().map(|mail| mail.id_hash).collect();
        let plain: Vec<&[u8]> = mails.iter().map(|mail| &mail.plain[..]).collect();
        let contents: Vec<&[u8]> = mails.iter().map(|mail| &mail.content[..]).collect();
        let hashes: Vec<[u8; 33]> = mails.iter().map(|mail| mail.content_hash()).collect();
        let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash[..]).collect();
        let confirmed: Vec<bool> =
            mails.iter().map(|mail| mail.standing == SenderStanding::Confirmed).collect();
        let senders: Vec<&str> = mails.iter().map(|mail| mail.sender).collect();
        let audiences: Vec<i64> = mails.iter().map(|mail| mail.mailbox.audience).collect();
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
                         where workspace_id = $1 and (is_on or dated_at = changed_at)
                           and mailbox_id = any($2)) as "answering!: Vec<MailboxId>",
                   array(select id from people
                         where workspace_id = $1 and away_until > $10 and away_from <= $10 and away_text <> ''
                           and removed_at is null) as "away!: Vec<PersonId>",
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
            &audiences,
            now
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
        let earlier = twins.zip(row.others).map(|(twin, other)| Earlier { twin, other });
        let earlier: Vec<Earlier> = earlier.collect();
        if earlier.len() != mails.len() {
            return Err(Error::internal("each mail has one answer"));
        }
        let us = Us { name: row.name, team_names: row.team_names, domains: row.domains };
        let week = Zone::named(&row.time_zone).week(now);
        let (suppressed, ruled) = (row.suppressed, row.ruled);
        Ok(Self { us, earlier, suppressed, ruled, answering: row.answering, away: row.away, week })
    }
}
