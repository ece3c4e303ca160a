//! Operations about events: everything that happened where a key can see it, and what happens in the sandbox.
//! Both give the bodies that webhooks get, to the byte.

pub mod follow_sandbox;
pub mod list_events;
mod waiting;
