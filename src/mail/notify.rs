//! Sends the service's notices to its own people (a webhook was paused, and the like). They leave by the relay
//! that customers' mail takes, from an address of the service itself, and are mail of a machine.

use chrono::TimeDelta;
use mail_builder::MessageBuilder;
use mail_builder::headers::message_id::MessageId as Named;
use mail_builder::headers::raw::Raw;

use crate::app::App;
use crate::error::Result;
use crate::ids::{ConversationId, MessageId};
use crate::mailer::{Handover, Letter, Mail};
use crate::put_off::caught;
use crate::workspace::notices::{self, Claimed};

/// The worker's loop.
pub const LOOP: &str = "send notices";

/// Waits after tries that ended with "later"; the last is repeated.
const LATER: [TimeDelta; 5] = [
    TimeDelta::minutes(1),
    TimeDelta::minutes(15),
    TimeDelta::hours(1),
    TimeDelta::hours(6),
    TimeDelta::hours(12),
];
/// A notice that could not be sent for this long is old news.
const STALE: TimeDelta = TimeDelta::days(30);

/// Works off every notice that is due now.
pub async fn notify_due(app: &App) -> Result<()> {
    while !app.stop.told() {
        let now = app.clock.now();
        let claimed = notices::claim(&mut *app.connection().await?, now, now + app.config.lease()).await?;
        if claimed.is_empty() {
            break;
        }
        for notice in &claimed {
            if let Err(error) = caught(notify(app, notice)).await {
                app.loops.of(LOOP).count(&error);
                let (workspace, notice) = (notice.workspace, notice.id);
                tracing::warn!(%error, %workspace, %notice, "a notice was not sent; its lease will end");
            }
        }
    }
    Ok(())
}

async fn notify(app: &App, notice: &Claimed) -> Result<()> {
    let outcome = hand_over(app, notice).await?;
    let mut tx = app.begin(notice.workspace).await?;
    match outcome {
        Handover::Accepted => notices::done(&mut tx, notice, None).await?,
        Handover::Later if notice.created_at + STALE > tx.now() => {
            let tries = usize::try_from(notice.claim - 1).unwrap_or_default().min(LATER.len() - 1);
            let again_at = tx.now() + LATER[tries];
            notices::done(&mut tx, notice, Some(again_at)).await?;
        }
        Handover::Later | Handover::Refused(_) => {
            tracing::warn!(workspace = %notice.workspace, notice = %notice.id, "a notice cannot be sent");
            notices::drop(&mut tx, notice).await?;
        }
    }
    tx.commit().await
}

async fn hand_over(app: &App, notice: &Claimed) -> Result<Handover> {
    let name = app.config.mail_name();
    let from = format!("rookery@{name}");
    let rfc_message_id = format!("{}.{}@{name}", notice.id, notice.workspace);
    let raw = MessageBuilder::new()
        .message_id(Named::new(rfc_message_id.clone()))
        .date(notice.created_at.timestamp())
        .from(("Rookery", from.as_str()))
        .to(notice.recipient.as_str())
        .subject(notice.subject.as_str())
        .header("Auto-Submitted", Raw::new("auto-generated"))
        .text_body(notice.body.as_str())
        .write_to_vec()?;
    let letter = Letter {
        workspace: notice.workspace,
        // It belongs to no conversation.
        conversation: ConversationId(0),
        message: MessageId(notice.id.0),
        rfc_message_id,
        from_name: Some("Rookery".into()),
        from: from.clone(),
        to: notice.recipient.clone(),
        subject: notice.subject.clone(),
        text: notice.body.clone(),
    };
    let mail = Mail { return_path: from, to: notice.recipient.clone(), raw };
    app.mailer.hand_over(&letter, &mail).await
}
