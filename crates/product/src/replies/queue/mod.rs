//! The approval queue (specification 3.3): which drafts wait, what one says and what came after it, and what a person does
//! with one beside approving it or throwing it away.

pub mod changes;
pub mod edit;
pub mod foreign;
pub mod list;
pub mod news;
pub mod review;
pub mod take_over;
