//! A workspace moves to another cell while it is used. PostgreSQL copies its rows by logical replication and lets changes
//! follow; both sides are compared; the fence closes for a moment, the rest follows, and the directory names the new cell.
//!
//! Every step can be repeated, and the directory's row says which is next: a command that was killed is run again and goes
//! on. Until the directory names the new cell, the move can be given up and nothing has happened.

mod clean;
pub mod compare;
mod copy;
mod fence;
mod side;
mod tell;

use std::time::{Duration, Instant};

use crate::cells::REMEMBERED_FOR;
use crate::error::{Error, Result};
use crate::store::cells::{Move, Step};
use crate::store::directory::Directory;
pub use side::Side;
pub use tell::Tell;

/// For how long after the switch the new cell stays closed: until no node remembers the old place.
const UNTIL_KNOWN: Duration = Duration::from_millis(REMEMBERED_FOR.as_millis() as u64 + 100);

/// Both databases of a move, each as a role that may do all this.
pub struct Sides {
    pub from: Side,
    pub to: Side,
}

/// Goes on with a move from where it is to its end.
pub async fn go_on(directory: &Directory, sides: &mut Sides, moving: &Move, tell: &dyn Tell) -> Result<()> {
    let (from, to) = (&mut sides.from, &mut sides.to);
    from.is_nobody_elses(moving.workspace).await?;
    from.is_like(to).await?;
    let mut step = moving.step;
    loop {
        tell.step(step);
        step = match step {
            Step::Copy => {
                copy::begin(from, to, moving.workspace).await?;
                copy::wait(to, moving.workspace, tell).await?;
                Step::Check
            }
            Step::Check => {
                let (mut theirs, mut ours) = fence::snapshots(from, to, moving.workspace).await?;
                let compared = compare::whole(&mut theirs, &mut ours, moving.workspace).await?;
                tell.compared(&compared);
                compared.is_equal()?;
                Step::Switch
            }
            Step::Switch => {
                let closed = match ready(from, to, moving, tell).await {
                    Ok(closed) => closed,
                    // Nothing has switched, so nobody has to wait for the next try.
                    Err(error) => {
                        fence::open(from, moving.workspace).await?;
                        return Err(error);
                    }
                };
                directory.switch(moving).await?;
                tokio::time::sleep(UNTIL_KNOWN).await;
                fence::open(to, moving.workspace).await?;
                tell.was_closed(closed.elapsed());
                Step::Open
            }
            Step::Open => {
                if moving.step == Step::Open {
                    tokio::time::sleep(UNTIL_KNOWN).await;
                }
                fence::open(to, moving.workspace).await?;
                copy::end(from, to, moving.workspace).await?;
                directory.move_reached(moving.workspace, Step::Clean).await?;
                Step::Clean
            }
            Step::Clean => {
                clean::clean(from, moving.workspace).await?;
                return directory.end_move(moving.workspace).await;
            }
        };
        if step < Step::Open {
            directory.move_reached(moving.workspace, step).await?;
        }
    }
}

/// Closes the fence, and sees to it that the new cell has everything. Gives when it was closed.
async fn ready(from: &mut Side, to: &mut Side, moving: &Move, tell: &dyn Tell) -> Result<Instant> {
    fence::drain(from, moving.workspace).await?;
    fence::followed(from, to, moving.workspace).await?;
    let newest = compare::newest(from, moving.workspace).await?;
    let closed = fence::close(from, to, moving.workspace).await?;
    copy::rest(from, to, moving.workspace).await?;
    let compared = compare::since(from, to, moving.workspace, &newest).await?;
    tell.compared(&compared);
    compared.is_equal()?;
    Ok(closed)
}

/// Everything is as it was before the move.
pub async fn give_up(directory: &Directory, sides: &mut Sides, moving: &Move) -> Result<()> {
    if moving.step >= Step::Open {
        return Err(Error::internal(
            "The workspace lives in its new cell already. Finish the move, then move it back.",
        ));
    }
    let (from, to) = (&mut sides.from, &mut sides.to);
    from.is_nobody_elses(moving.workspace).await?;
    fence::open(from, moving.workspace).await?;
    copy::end(from, to, moving.workspace).await?;
    clean::clean(to, moving.workspace).await?;
    directory.end_move(moving.workspace).await
}
