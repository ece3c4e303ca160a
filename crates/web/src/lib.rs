//! The door for people: pages of server-rendered HTML over the same verbs as the API. `door` has the one table of pages; a page
//! is one file with its form, its template and its handler. `customer` has the pages of customers, who have a private link
//! and nothing else.
//!
//! Everything works as plain links and forms; script makes it faster and live. Templates are in `templates/`, style sheets and
//! scripts in `static/`, joined by `build.rs`.
//!
//! It must never change rows itself, and never show what the visitor's `Person` may not see.

pub mod approvals;
pub mod assets;
pub mod bookings;
pub mod bulk;
pub mod compose;
pub mod conversation;
pub mod csv;
pub mod customer;
pub mod door;
pub mod inbox;
pub mod library;
pub mod live;
pub mod notices;
pub mod outgoing;
pub mod presence;
pub mod reports;
pub mod respond;
pub mod saved_replies;
pub mod search;
pub mod session;
pub mod settings;
pub mod shell;
pub mod show;
pub mod sign_in;
pub mod status;
pub mod toast;
pub mod visit;
pub mod welcome;
