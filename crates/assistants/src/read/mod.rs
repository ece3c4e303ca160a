//! Reads what was filed: the file goes through a confined child, and what it says is written under its claim. Scans and
//! pictures are read by tesseract where it is installed. No connection is held meanwhile. What the rules leave empty a model
//! is asked for (`ask`), where an owner agreed to one.

pub mod ask;
pub mod file;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::read::file::{read, read_as};
use crate::settings::{self, Engine, Settings};
use crate::tasks::{self, TaskKind};
use rookery_base::app::App;
use rookery_base::confined::job::MOST_INPUT;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_product::documents::to_read::{self, ClaimedDocument, ReadDocument};
use rookery_reading::whole::FileReading;

/// The worker's loop.
pub const LOOP: &str = "read documents";

/// Works off everything that is due now.
pub async fn read_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Documents { app }, at_once).await
}

struct Documents<'a> {
    app: &'a App,
}

impl Work for Documents<'_> {
    const WHAT: &'static str = "a document";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = ClaimedDocument;
    /// Nothing when nobody is to read it: it stays as it was filed, until a person asks for it.
    type Outcome = Option<ReadDocument>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedDocument>> {
        to_read::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, claimed: &ClaimedDocument) -> Claim {
        Claim { workspace: claimed.workspace, number: claimed.claim, tries: claimed.tries }
    }

    async fn act(&self, app: &App, claimed: &ClaimedDocument) -> Result<TriedRow<Option<ReadDocument>>> {
        let settings = settings::load(&mut *app.connection().await?, claimed.workspace).await?;
        if !reads(app, &settings) {
            return Ok(TriedRow::Done(None));
        }
        if usize::try_from(claimed.size).is_ok_and(|size| size > MOST_INPUT) {
            return Ok(TriedRow::Done(Some(read_as(&FileReading::default(), Vec::new(), 0))));
        }
        let bytes: Bytes = app.blobs.get(&claimed.blob).await?.into();
        // Each page of a scan fits into what the lease has room for; a slow machine reads fewer.
        let room = (app.config.handover() / 3).to_std().unwrap_or_default();
        match read(&app.confined, room, bytes).await? {
            Some(read) => Ok(TriedRow::Done(Some(read))),
            // A busy machine is slow too, so it has more than one chance.
            None if claimed.tries < 2 => {
                tracing::warn!(workspace = %claimed.workspace, document = %claimed.document, "reading took too long");
                Ok(TriedRow::Later)
            }
            None => Ok(TriedRow::Done(Some(read_as(&FileReading::default(), Vec::new(), 0)))),
        }
    }

    async fn finish(
        &self,
        tx: &mut Tx<'_>,
        claimed: &ClaimedDocument,
        read: Option<ReadDocument>,
    ) -> Result<bool> {
        let settings = settings::held(tx).await?;
        let Some(read) = read.filter(|_| reads(self.app, &settings)) else {
            return to_read::leave(tx, claimed).await;
        };
        let stored = to_read::store(tx, claimed, &read).await?;
        if stored && settings.reading == Engine::Model && read.state == "read" {
            tasks::note(tx, &[claimed.document.0], TaskKind::Read).await?;
        }
        Ok(stored)
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        claimed: &ClaimedDocument,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        to_read::again(tx, claimed, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, claimed: &ClaimedDocument) -> Result<bool> {
        to_read::give_up(tx, claimed).await
    }
}

fn reads(app: &App, settings: &Settings) -> bool {
    settings.reading != Engine::Off && !settings.is_stopped(app)
}
