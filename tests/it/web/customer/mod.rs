//! Customers' pages over real HTTP: a private link, no cookie, forms as a browser without script sends them.

mod bookings;
mod deciding;
mod edges;
mod kept;
mod kills;
mod page;
mod seats;
mod taking;
