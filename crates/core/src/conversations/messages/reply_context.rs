//! The context of an outgoing message, for its headers and its quote: the mail it answers and the Message-IDs of
//! the thread. It is computed as of the time the message was written and due, not as of now, so that a retry
//! produces the same mail. Only mail that the addressee wrote or received is answered, and so quoted; what was written on a
//! secure page never is.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_base::relay::mailer::OutgoingLetter;

/// How many Message-IDs the chain has at most.
const CHAIN: usize = 20;
/// Characters of the answered mail that are read: a quote need not be complete.
pub const QUOTED: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyContext {
    pub mailbox: MailboxId,
    /// When the message was to leave; of a draft, when it was written.
    pub date: DateTime<Utc>,
    /// Written by the service itself, not by a person or an agent.
    pub automatic: bool,
    /// It is an automatic reply, not mail of the service's own accord.
    pub auto_reply: bool,
    /// The mail it answers: the newest one that the addressee had when the message was written. Automatic mail
    /// only if there is no other.
    pub answers: Option<Answered>,
    /// Message-IDs of theirs and ours, oldest first, without the answered one.
    pub chain: Vec<String>,
    /// Whether the answered mail may be quoted: everybody who gets this had it.
    pub quotes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub rfc_message_id: Option<String>,
    pub at: DateTime<Utc>,
    pub from_name: Option<String>,
    pub from_email: String,
    /// At most one character more than [`QUOTED`].
    pub text: String,
}

impl ReplyContext {
    /// For a mail that belongs to the thread and says nothing of it: no quote, and a subject of its own.
    pub fn without_quote(mut self) -> Self {
        let answered = self.answers.take().and_then(|answered| answered.rfc_message_id);
        self.chain.extend(answered);
        self
    }
}

pub async fn earlier(conn: &mut PgConnection, letter: &OutgoingLetter) -> Result<ReplyContext> {
    let (workspace, conversation) = (letter.workspace.0, letter.conversation.0);
    let row = sqlx::query!(
        r#"select m.mailbox_id as "mailbox: MailboxId", coalesce(m.sends_at, m.at) as "sends_at!", m.at, m.item,
               (m.author_type is null and m.origin is distinct from 'assistant') as "automatic!", a.id as "answered?", a.rfc_message_id, a.at as "answered_at?",
               a.from_name, a.from_email as "from_email?", left(a.text, $4) as text, m.forwards, m.answers,
               a.reply_to, a.also_to as "also_to?", a.to_addresses, a.cc_addresses
           from messages m left join lateral (
               select * from messages
               where workspace_id = $1 and conversation_id = $2 and direction = 'inbound' and channel = 'mail'
                 and (at, item) < (m.at, m.item)
                 and m.forwards is null and (id = m.answers or (m.answers is null
                   and (from_email = $5 or (verdict ->> 'dmarc' = 'pass' and $5 = any(also_to)))))
               order by automatic, at desc, item desc limit 1) a on true
           where m.workspace_id = $1 and m.conversation_id = $2 and m.id = $3"#,
        workspace,
        conversation,
        letter.message.0,
        QUOTED as i32 + 1,
        letter.to
    )
    .fetch_one(&mut *conn)
    .await?;
    let had: Vec<&String> = [&row.also_to, &row.to_addresses, &row.cc_addresses]
        .into_iter()
        .flatten()
        .flatten()
        .chain(&row.from_email)
        .chain(&row.reply_to)
        .collect();
    // The newest mail was looked for among what the one recipient had.
    let chosen = row.answers.is_some();
    let quotes = (!chosen || had.contains(&&letter.to)) && letter.copies.all().all(|one| had.contains(&one));
    let passed_on = row.forwards.is_some();
    let answers = match (row.answered_at, row.from_email, row.text) {
        (Some(at), Some(from_email), Some(text)) => Some(Answered {
            rfc_message_id: row.rfc_message_id,
            at,
            from_name: row.from_name,
            from_email,
            text,
        }),
        _ => None,
    };
    if passed_on {
        // It begins a thread of its own: who gets it learns no id of the other one.
        let (mailbox, date) = (row.mailbox, row.sends_at);
        return Ok(ReplyContext {
            mailbox,
            date,
            automatic: false,
            auto_reply: false,
            answers: None,
            chain: Vec::new(),
            quotes,
        });
    }
    let mut chain = sqlx::query_scalar!(
        r#"select rfc_message_id as "id!" from messages
           where workspace_id = $1 and conversation_id = $2 and rfc_message_id is not null and id <> $3
             and id is distinct from $4 and forwards is null
             and ((direction = 'inbound' and (at, item) < ($5, $6)) or (status = 'sent' and sent_at <= $7))
           order by at desc, item desc limit $8"#,
        workspace,
        conversation,
        letter.message.0,
        row.answered,
        row.at,
        row.item,
        row.sends_at,
        (CHAIN - usize::from(answers.is_some())) as i64
    )
    .fetch_all(conn)
    .await?;
    chain.reverse();
    let (mailbox, date, automatic) = (row.mailbox, row.sends_at, row.automatic);
    // Of the service's own mail only an automatic reply names the mail it answers.
    let auto_reply = automatic && chosen;
    Ok(ReplyContext { mailbox, date, automatic, auto_reply, answers, chain, quotes })
}
