//! What whoever operates the service sees and does, with the real program.

mod figures;
mod handed_over;
mod logs;
mod quickstart;
