//! How a workspace is run: its audit log, its people, inboxes, keys and agents.

mod agent_day;
mod audit;
mod zones;
