//! Simulated customers who write back (specification 8.3): an answer is a row with a due time, written in the
//! commit that marked the mail as sent, and arrives through the pipeline that real mail takes.
//!
//! Its Message-ID and date come from the mail it answers: an answer that is given twice is stored once.

use chrono::{DateTime, TimeDelta, Utc};
use mail_builder::MessageBuilder;
use mail_builder::headers::content_type::ContentType;
use mail_builder::headers::message_id::MessageId as Named;
use mail_builder::headers::raw::Raw;
use mail_builder::mime::MimePart;
use serde_json::json;
use sqlx::PgConnection;

use crate::incoming::authenticate::Dmarc;
use crate::incoming::delivery::Delivery;
use crate::incoming::receive::receive;
use crate::sandbox::invoice;
use crate::sandbox::magic::Magic;
use rookery_base::app::App;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::due::turns::claim_by_turns;
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::relay::mailer::OutgoingLetter;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::timeline;
use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;
use rookery_product::replies::suppress::{Reason, suppress};

/// The worker's loop.
pub const LOOP: &str = "answer in the sandbox";

const AFTER: TimeDelta = TimeDelta::seconds(5);

/// What follows a mail that has left.
pub async fn after(tx: &mut Tx<'_>, conversation: &Locked, letter: &OutgoingLetter) -> Result<()> {
    let kind = match Magic::from_address(&letter.to) {
        Magic::Delivered | Magic::Bounce => return Ok(()),
        Magic::Complaint => {
            suppress(tx, false, &letter.to, Reason::Complaint, Some(letter.message)).await?;
            let data = json!({ "messageId": letter.message, "email": letter.to });
            return timeline::append(tx, conversation.id, &By::System, "spam-complaint", data).await;
        }
        Magic::Reply => "reply",
        Magic::Docs => "docs",
        Magic::Ooo => "ooo",
    };
    let (workspace, due_at) = (tx.workspace().0, tx.now() + AFTER);
    sqlx::query!(
        "insert into sandbox_answers (workspace_id, message_id, conversation_id, kind, due_at)
         values ($1, $2, $3, $4, $5)",
        workspace,
        letter.message.0,
        conversation.id.0,
        kind,
        due_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// When the next answer is due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from sandbox_answers").fetch_one(conn).await?)
}

/// Works off every answer that is due now.
pub async fn answer_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Answers, at_once).await
}

struct Answers;

impl Work for Answers {
    const WHAT: &'static str = "a simulated answer";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = SimulatedAnswer;
    type Outcome = ();

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<SimulatedAnswer>> {
        claim(conn, lease).await
    }

    fn claim_of(&self, answer: &SimulatedAnswer) -> Claim {
        Claim { workspace: answer.workspace, number: answer.claim, tries: answer.tries }
    }

    /// If it is cut off before it is written down, the same answer comes again and is recognised.
    async fn act(&self, app: &App, answer: &SimulatedAnswer) -> Result<TriedRow<()>> {
        let mailbox = mailboxes::sandbox(&mut *app.connection().await?, answer.workspace).await?;
        let raw = written(answer, &mailbox.address)?;
        let recipient = Some(mailbox.address.clone());
        let delivery = Delivery { recipient, ..Delivery::from_raw(mailbox, raw, Dmarc::Pass) };
        receive(app, answer.workspace, delivery).await?;
        Ok(TriedRow::Done(()))
    }

    async fn finish(&self, tx: &mut Tx<'_>, answer: &SimulatedAnswer, (): ()) -> Result<bool> {
        let gone = sqlx::query!(
            "delete from sandbox_answers where workspace_id = $1 and message_id = $2 and claim = $3",
            answer.workspace.0,
            answer.message.0,
            answer.claim
        )
        .execute(&mut **tx)
        .await?;
        Ok(gone.rows_affected() == 1)
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        answer: &SimulatedAnswer,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        let given_back = sqlx::query!(
            "update sandbox_answers set due_at = $4, tries = tries + $5
             where workspace_id = $1 and message_id = $2 and claim = $3",
            answer.workspace.0,
            answer.message.0,
            answer.claim,
            due_at,
            i16::from(tried)
        )
        .execute(&mut **tx)
        .await?;
        Ok(given_back.rows_affected() == 1)
    }

    /// The customer says nothing.
    async fn give_up(&self, tx: &mut Tx<'_>, answer: &SimulatedAnswer) -> Result<bool> {
        self.finish(tx, answer, ()).await
    }
}

struct SimulatedAnswer {
    workspace: WorkspaceId,
    message: MessageId,
    claim: i32,
    /// Tries in vain.
    tries: i16,
    kind: String,
    rfc_message_id: String,
    sent_at: DateTime<Utc>,
    from: String,
    name: Option<String>,
    subject: String,
}

async fn claim(conn: &mut PgConnection, lease: &Lease) -> Result<Vec<SimulatedAnswer>> {
    Ok(claim_by_turns!(
        SimulatedAnswer, conn, lease.began, lease.ends, most "50", from "sandbox_answers", due "due_at", claim "claim",
        only "true", with ", conversations c, messages m",
        " and c.workspace_id = t.workspace_id and c.id = t.conversation_id and m.workspace_id = t.workspace_id
          and m.conversation_id = t.conversation_id and m.id = t.message_id",
        returning r#"t.workspace_id as "workspace: WorkspaceId", t.message_id as "message: MessageId", t.claim, t.tries,
            t.kind, coalesce(m.rfc_message_id, '') as "rfc_message_id!", coalesce(m.sent_at, m.at) as "sent_at!",
            coalesce(c.contact_email, '') as "from!", c.contact_name as name, c.subject"#
    ))
}

fn written(answer: &SimulatedAnswer, to: &str) -> Result<Vec<u8>> {
    let domain = answer.from.rsplit('@').next().unwrap_or_default();
    let message = MessageBuilder::new()
        .message_id(Named::new(format!("{}.{}@{domain}", answer.kind, answer.message)))
        .in_reply_to(Named::new(answer.rfc_message_id.clone()))
        .references(Named::new(answer.rfc_message_id.clone()))
        .date((answer.sent_at + AFTER).timestamp())
        .from((answer.name.clone().unwrap_or_default(), answer.from.clone()))
        .to(to.to_owned());
    let message = match answer.kind.as_str() {
        "ooo" => message
            .header("Auto-Submitted", Raw::new("auto-replied"))
            .subject(format!("Automatic reply: {}", answer.subject))
            .text_body("I am out of the office this week and will read your mail when I am back."),
        "docs" => message.subject(format!("Re: {}", answer.subject)).body(MimePart::new(
            // A boundary drawn by chance would make the same answer another mail.
            ContentType::new("multipart/mixed").attribute("boundary", "the-invoice-you-asked-for"),
            vec![
                MimePart::new("text/plain", "Here is the invoice you asked for."),
                MimePart::new("application/pdf", invoice::pdf()).attachment("invoice.pdf"),
            ],
        )),
        _ => message
            .subject(format!("Re: {}", answer.subject))
            .text_body("Thank you, that answers my question."),
    };
    Ok(message.write_to_vec()?)
}

/// Answers come so much earlier.
pub async fn sooner(tx: &mut Tx<'_>, by: TimeDelta) -> Result<u64> {
    let workspace = tx.workspace().0;
    let done = sqlx::query!(
        "update sandbox_answers set due_at = due_at - make_interval(secs => $2)
         where workspace_id = $1 and due_at is not null and tries = 0 and claim = 0",
        workspace,
        by.num_seconds() as f64
    )
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected())
}
