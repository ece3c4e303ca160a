//! Agents as other agents may know them: what one did on a day.
//! Who made a key and what it may do is for people.

pub mod get_agent_day;
