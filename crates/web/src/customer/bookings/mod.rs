//! Pages on which visitors book a time (specification 6.2): `show`, its page; `times`, all that are free; `details`, with the code that proves an
//! address; `booked`, what came of it; `cancel` and `move_to`, by the private link. To open any of them changes nothing.

pub mod booked;
pub mod cancel;
pub mod details;
pub mod move_to;
pub mod page;
pub mod show;
pub mod times;
mod words;
