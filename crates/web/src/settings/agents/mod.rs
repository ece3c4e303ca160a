//! `/settings/agents`: what agents did lately, how much each may write in a day, and the one button that stops all of them.
//! Only what the viewer may see is shown and counted.

mod chart;
pub mod day;
pub mod limits;
pub mod list;
pub mod one;
pub mod secure_words;
pub mod stop;

pub const PATH: &str = "/settings/agents";
