//! Five numbers by week and inbox: arrived, answered, time to the first answer, open, drafts approved as they were written.
//! `count` keeps them in the transactions of what they count, `weeks` reads them, `waits` is the scale of times.

pub mod count;
pub mod waits;
pub mod weeks;
