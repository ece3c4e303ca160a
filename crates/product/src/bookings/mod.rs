//! Visitors book a time with somebody of the team (specification 6.2, D276): `free_times`, which there are; `schedule`, what
//! they follow from; `book`, `reschedule`, `cancel`, each in one transaction with what it tells; `mails`, what is to leave,
//! and `invitation`, its calendar form; `link`, who may; `read`, what there is. `types` and `hosts` are how it is set up and
//! `setter` by whom; `busy`, hosts' other calendars; `rsvp`, what calendars answer; `forget`, when somebody is erased.

pub mod book;
pub mod busy;
pub mod cancel;
pub mod forget;
pub mod free_times;
pub mod hosts;
pub mod invitation;
pub mod link;
mod lock;
pub mod mails;
pub mod questions;
pub mod read;
pub mod reschedule;
pub mod rsvp;
pub mod schedule;
pub mod setter;
pub mod tell;
pub mod types;
