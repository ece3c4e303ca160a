//! One pass of a loop over what is due, piece by piece: what fails or panics is put off, and whatever is behind it goes
//! on. A loop asks for a batch, gives each piece its turn and asks again, until nothing is left. It holds no connection
//! to the database while a piece has its turn, because the piece takes one of its own.

use std::collections::HashSet;
use std::future::Future;

use crate::app::App;
use crate::due::backoff::{Aside, Backoff, BackoffPiece, caught};
use crate::error::Result;

/// Whether a piece of work is done with, for this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassProgress {
    Done,
    /// It may have another turn when the others have had theirs.
    More,
}

pub struct Pass<'a> {
    app: &'a App,
    put_off: &'a Backoff,
    done: HashSet<BackoffPiece>,
    /// What came again after it was done with: it stays due for some reason of its own.
    again: Vec<BackoffPiece>,
}

impl<'a> Pass<'a> {
    pub fn begin(app: &'a App, put_off: &'a Backoff) -> Self {
        Self { app, put_off, done: HashSet::new(), again: Vec::new() }
    }

    /// What the next batch must leave out, or the pass would never end.
    pub fn aside(&self) -> Aside {
        let mut aside = self.put_off.aside(self.app.clock.now());
        self.again.iter().for_each(|work| aside.add(*work));
        aside
    }

    pub fn is_over<P>(&self, batch: &[P]) -> bool {
        batch.is_empty() || self.app.stop.is_told()
    }

    /// Does one piece of work, unless it was done with or the word to stop was given. An error means that the database
    /// is out of reach, and the pass with it.
    pub async fn turn(
        &mut self,
        work: BackoffPiece,
        doing: impl Future<Output = Result<PassProgress>>,
    ) -> Result<()> {
        if self.app.stop.is_told() {
            return Ok(());
        }
        if self.done.contains(&work) {
            self.again.push(work);
            return Ok(());
        }
        match caught(doing).await {
            Ok(progress) => {
                self.put_off.succeeded(work);
                if progress == PassProgress::Done {
                    self.done.insert(work);
                }
                Ok(())
            }
            Err(error) => {
                self.put_off.failed(work, &error, self.app.clock.now());
                self.done.insert(work);
                if error.is_outage() { Err(error) } else { Ok(()) }
            }
        }
    }
}
