//! The app-mail bridge (specification 4.13): an app that sends its own email gets the replies back with its
//! own reference.

pub mod forget;
pub mod record;
pub mod reference;
