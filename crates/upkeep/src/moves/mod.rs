//! A workspace moves to another cell while it is used. PostgreSQL copies its rows by logical replication and lets changes
//! follow; both sides are compared; the fence closes for a moment, the rest follows, and the directory names the new cell.
//!
//! Every step can be repeated, and the directory's row says which is next: a command that was killed is run again and goes
//! on. Until the directory names the new cell, the move can be given up and nothing has happened. Of several commands one
//! has the locks of both sides, and only then reads which step is next.

mod clean;
pub mod compare;
mod copy;
pub mod fence;
mod side;
pub mod strays;
mod tell;

use std::time::{Duration, Instant};

use rookery_base::cells::REMEMBERED_FOR;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::cells::{Move, MoveStep};
use rookery_base::store::directory::Directory;
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
pub async fn go_on(directory: &Directory, sides: &mut Sides, known: &Move, tell: &dyn Tell) -> Result<()> {
    let moving = &alone(directory, sides, known).await?;
    let (from, to) = (&mut sides.from, &mut sides.to);
    from.is_like(to).await?;
    let mut step = moving.step;
    loop {
        tell.step(step);
        step = match step {
            MoveStep::Copy => {
                copy::begin(directory, from, to, moving.workspace).await?;
                copy::wait(to, moving.workspace, tell).await?;
                MoveStep::Check
            }
            MoveStep::Check => {
                let (mut theirs, mut ours) = fence::snapshots(from, to, moving.workspace).await?;
                let compared = compare::whole(&mut theirs, &mut ours, moving.workspace).await?;
                tell.compared(&compared);
                compared.is_equal()?;
                MoveStep::Switch
            }
            MoveStep::Switch => {
                let closed = match ready(from, to, moving, tell).await {
                    Ok(closed) => closed,
                    // Nobody has to wait for the next try, unless the commit of a command before this one has switched.
                    Err(error) => {
                        if directory.set_back(moving, MoveStep::Check).await? {
                            fence::open(from, moving.workspace).await?;
                        }
                        return Err(error);
                    }
                };
                directory.switch(moving).await?;
                tokio::time::sleep(UNTIL_KNOWN).await;
                fence::open(to, moving.workspace).await?;
                tell.was_closed(closed.elapsed());
                MoveStep::Open
            }
            MoveStep::Open => {
                if moving.step == MoveStep::Open {
                    tokio::time::sleep(UNTIL_KNOWN).await;
                }
                fence::open(to, moving.workspace).await?;
                copy::end(from, to, moving.workspace).await?;
                directory.move_reached(moving, MoveStep::Clean).await?;
                MoveStep::Clean
            }
            MoveStep::Clean => {
                clean::clean(directory, from, to, moving.workspace).await?;
                return directory.end_move(moving).await;
            }
        };
        if step < MoveStep::Open {
            directory.move_reached(moving, step).await?;
        }
    }
}

/// From here on no other command touches the workspace, in either cell. Only now it is known which step is next: what was read
/// before is as old as connecting took, and another command may have ended the move meanwhile.
async fn alone(directory: &Directory, sides: &mut Sides, known: &Move) -> Result<Move> {
    sides.from.is_nobody_elses(known.workspace).await?;
    sides.to.is_nobody_elses(known.workspace).await?;
    let now = directory.move_of(known.workspace).await?.filter(|now| now.is(known));
    now.ok_or_else(|| {
        Error::internal("Another command has ended this move already. See where it lives: rookery cells list")
    })
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
pub async fn give_up(directory: &Directory, sides: &mut Sides, known: &Move) -> Result<()> {
    let moving = &alone(directory, sides, known).await?;
    // The command that switched may be gone while its commit is not.
    if !directory.set_back(moving, MoveStep::Copy).await? {
        return Err(Error::internal(
            "The workspace lives in its new cell already. Finish the move, then move it back.",
        ));
    }
    let (from, to) = (&mut sides.from, &mut sides.to);
    fence::open(from, moving.workspace).await?;
    copy::end(from, to, moving.workspace).await?;
    clean::clean(directory, to, from, moving.workspace).await?;
    directory.end_move(moving).await
}

/// Removes what a restored cell has of a workspace that lives elsewhere. Only when it really does: it may be the directory that
/// was restored, and then these rows are the only ones.
pub async fn clean_stray(
    directory: &Directory,
    side: &mut Side,
    home: &mut Side,
    workspace: WorkspaceId,
) -> Result<()> {
    side.is_nobody_elses(workspace).await?;
    home.is_nobody_elses(workspace).await?;
    if directory.move_of(workspace).await?.is_some() {
        return Err(Error::internal("This workspace is being moved. Finish that first: rookery cells list"));
    }
    clean::clean(directory, side, home, workspace).await
}
