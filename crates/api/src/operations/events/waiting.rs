//! A call that waits for something to happen. It holds a connection of its client meanwhile, so a workspace has so many of
//! them. One more waits for a moment only and is answered with what there is: if it ended another one, that would ask again at
//! once and end the next. As many again may do so; who comes then is told to come back.

use std::time::{Duration, Instant};

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::places::HeldPlace;

/// How often a call that waits looks again.
const LOOK: Duration = Duration::from_millis(300);
/// How long a call waits whose workspace has used up its places.
const MOMENT: Duration = Duration::from_millis(1500);

pub(super) struct EventWait<'a> {
    app: &'a App,
    workspace: WorkspaceId,
    ends: Instant,
    place: Option<HeldPlace<WorkspaceId>>,
    is_given_up: bool,
}

impl<'a> EventWait<'a> {
    pub(super) fn begin(app: &'a App, workspace: WorkspaceId, seconds: u64) -> Self {
        let ends = Instant::now() + Duration::from_secs(seconds);
        Self { app, workspace, ends, place: None, is_given_up: false }
    }

    /// Whether to answer now, whatever was found.
    pub(super) fn is_over(&self) -> bool {
        self.is_given_up || Instant::now() >= self.ends || self.app.stop.is_told()
    }

    /// Waits until it is time to look again. It holds no connection to the database meanwhile.
    pub(super) async fn pause(&mut self) -> Result<()> {
        let place = match self.place.take() {
            Some(place) => place,
            None => self.take()?,
        };
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = place.given_up() => self.is_given_up = true,
        }
        self.place = Some(place);
        Ok(())
    }

    fn take(&mut self) -> Result<HeldPlace<WorkspaceId>> {
        if let Some(place) = self.app.waiting_calls.try_take(self.workspace) {
            return Ok(place);
        }
        self.ends = self.ends.min(Instant::now() + MOMENT);
        self.app.crowded_calls.try_take(self.workspace).ok_or_else(|| {
            let sentence = "Too many calls wait for events. Try again in a moment.".to_owned();
            Error::SlowDown { sentence, retry_after: MOMENT }
        })
    }
}
