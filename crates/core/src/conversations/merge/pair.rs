//! Two conversations that somebody sees and wants to be one.
//! Both are locked, so what was read of them is still true when their rows move.

use crate::conversations::conversation::Locked;

#[derive(Debug)]
pub struct Pair {
    /// The one that stays.
    pub kept: Locked,
    /// The one that goes.
    pub gone: Locked,
}
