//! Customers: their pages, documents, bookings and secure messages.

mod bookings;
mod documents;
mod secure;
mod web {
    mod customer;
}
