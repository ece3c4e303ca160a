//! What a move tells while it goes on, to whoever runs it: the steps, how far the copy is, what was compared, and for how long
//! nobody could write.

use std::time::Duration;

use super::compare::Compared;
use rookery_base::store::cells::MoveStep;

pub trait Tell: Sync {
    fn step(&self, step: MoveStep);
    /// So many of so many tables are there, and so many rows of the one that is being copied.
    fn copied(&self, tables: i64, of: i64, rows: i64);
    fn compared(&self, compared: &Compared);
    fn was_closed(&self, time: Duration);
}
