//! The house itself: rules of the tree, requirements, the cost of hot queries, roles and what operators read.

mod budgets;
mod door {
    mod timeline_events;
}
mod operating;
mod requirements;
mod roles;
mod tidy;
