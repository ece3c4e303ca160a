//! The door for people: the pages of the app, one file a page. Pages of customers are in it_customers.

mod web;
