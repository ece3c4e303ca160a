//! Contacts: who conversations are with, and the conversations of one
//! (docs/decisions/contacts.md).

pub mod get_contact;
pub mod list_contacts;
