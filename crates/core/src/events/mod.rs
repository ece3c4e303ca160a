//! Events for apps that listen (specification 6). This module does not know its listeners: whoever delivers events
//! reads what is recorded here.

pub mod envelope;
pub mod event;
pub mod feed;
pub mod outbox;
pub mod read;
pub mod record;
pub mod take;
