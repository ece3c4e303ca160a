//! What customers do on the pages behind their private links: they read what was sealed for them, send the files that they
//! were asked for, and book a time.

use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::demo::diary;
use crate::demo::files::{self, FileSender, MadeFile};
use crate::demo::play::{Play, Scene};
use crate::demo::story::Story;
use rookery_base::error::{Error, Result};
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::secure::visits;
use rookery_product::bookings::book::Visitor;
use rookery_product::documents::items;
use rookery_product::documents::uploads::link::UploadLink;
use rookery_product::documents::uploads::receive::{self, Received, UploadedFile};

/// An address that belongs to nobody (RFC 5737).
const NETWORK: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));

impl Play<'_> {
    pub async fn read_secure(&self, scene: &Scene) -> Result<()> {
        let message = scene.secure.ok_or_else(|| Error::internal("there is nothing secure to read"))?;
        let mut tx = self.app.begin(self.workspace).await?;
        let conversation = lock_any(&mut tx, scene.conversation()?).await?;
        visits::read(&mut tx, &conversation, &[message], NETWORK).await?;
        tx.commit().await
    }

    /// `line` is that of the checklist, counted from one.
    pub async fn upload(&self, scene: &Scene, story: &Story, line: usize, name: &str) -> Result<()> {
        let request = scene.request.ok_or_else(|| Error::internal("nothing was asked for"))?;
        let MadeFile { kind, bytes, .. } =
            files::make(name, FileSender { name: &story.name, at: self.app.clock.now() });
        let written = self.app.blobs.put(self.workspace, "file", [Bytes::from(bytes)]).await?;
        let mut tx = self.app.begin(self.workspace).await?;
        let listed = items::load(&mut tx, self.workspace, request).await?;
        let item = listed.get(line.wrapping_sub(1)).ok_or_else(|| Error::internal("no such line"))?.id;
        let link = UploadLink { workspace: self.workspace, request, generation: 0 };
        let file = UploadedFile { filename: name, kind, written: &written };
        match receive::receive(&mut tx, &link, item, &file).await? {
            Received::Taken => tx.commit().await,
            other => Err(Error::internal(format!("{name} was not accepted: {other:?}"))),
        }
    }

    /// By the link that was offered in the conversation, so the booking belongs to it.
    pub async fn book_offered(
        &self,
        scene: &Scene,
        story: &Story,
        slug: &str,
        after: DateTime<Utc>,
    ) -> Result<()> {
        let visitor = Visitor {
            name: story.name.clone(),
            email: story.email.clone(),
            note: String::new(),
            answers: Vec::new(),
            time_zone: "UTC".to_owned(),
        };
        let time = diary::Wish { slug, after, conversation: Some(scene.conversation()?) };
        diary::take(self.app, self.workspace, visitor, time).await.map(drop)
    }
}
