//! Parses stored raw mail again (D143), after an update that parses better, and replaces the text. Mail is not
//! moved, no events are recorded, and mail whose raw bytes were deleted stays as it is.

use crate::incoming::receive::take_apart;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_core::conversations::messages::inbound::{self, Raw};
use rookery_reading::mail::parse::Refusal;
use rookery_reading::mail::quote;

#[derive(Debug, PartialEq, Eq)]
pub enum Replayed {
    Same,
    Changed,
    Refused(Refusal),
}

pub async fn replay(app: &App, workspace: WorkspaceId, message: MessageId) -> Result<Replayed> {
    let kept = inbound::explained(&mut *app.connection().await?, workspace, message).await?;
    let kept = kept.ok_or(Error::Missing("No such received message."))?;
    let raw = match kept.raw {
        Some(Raw::Here(bytes)) => bytes,
        Some(Raw::Blob(key)) => app.blobs.get(&key).await?,
        None => return Err(Error::Missing("The bytes of this message are not kept any more.")),
    };
    let mail = match take_apart(&raw.into()).await? {
        Ok(mail) => mail,
        Err(refusal) => return Ok(Replayed::Refused(refusal)),
    };
    let text = quote::own_words(&mail);
    let whole = (text != mail.text).then_some(mail.text);
    let mut tx = app.begin(workspace).await?;
    let changed = inbound::reword(&mut tx, kept.conversation, message, &text, whole.as_deref()).await?;
    tx.commit().await?;
    Ok(if changed { Replayed::Changed } else { Replayed::Same })
}
