//! Files: takes parsed mails and gives the bytes of each as they are kept, its raw form and its attachments. Blobs are stored
//! before the transaction that refers to them begins, so a mail that is not stored leaves some to be discarded.

use crate::incoming::delivery::Incoming;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::hex;
use rookery_core::conversations::messages::inbound::Raw;
use rookery_core::conversations::timeline::Attachment;

/// Raw mail up to this size is stored in its row, larger mail in the blob store.
pub(super) const SMALL: usize = 64 * 1024;

/// The stored bytes of a mail.
pub(super) struct Files {
    pub raw: Raw,
    /// One for each attachment.
    pub attachments: Vec<AttachedFile>,
}

pub(super) struct AttachedFile {
    pub attachment: Attachment,
    pub hash: [u8; 32],
}

pub(super) async fn store_files(
    app: &App,
    workspace: WorkspaceId,
    lot: &[Incoming<'_>],
) -> Result<Vec<Files>> {
    let mut files = Vec::with_capacity(lot.len());
    for incoming in lot {
        files.push(Files::store(app, workspace, *incoming).await?);
    }
    Ok(files)
}

impl Files {
    async fn store(app: &App, workspace: WorkspaceId, incoming: Incoming<'_>) -> Result<Self> {
        let Incoming { delivery, mail } = incoming;
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
            attachments.push(AttachedFile { attachment: stored, hash: written.hash });
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

    pub fn keys(&self) -> Vec<String> {
        let files = self.attachments.iter().map(|file| file.attachment.blob.clone());
        let raw = match &self.raw {
            Raw::Blob(key) => Some(key.clone()),
            Raw::Here(_) => None,
        };
        files.chain(raw).collect()
    }
}
