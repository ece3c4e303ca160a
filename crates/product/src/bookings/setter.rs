//! Who may set up bookings: owners and admins for everybody, members for themselves alone (D048), and an operator from the
//! command line.

use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::Person;

#[derive(Clone, Copy)]
pub enum Setter<'a> {
    Operator,
    Person(&'a Person),
}

impl Setter<'_> {
    pub fn by(self) -> By {
        match self {
            Self::Operator => By::System,
            Self::Person(person) => person.by(),
        }
    }

    /// Whether they may set up what is about these people.
    pub fn may(self, about: &[PersonId]) -> bool {
        match self {
            Self::Operator => true,
            Self::Person(person) => person.role.administers() || about == [person.id],
        }
    }

    pub fn must(self, about: &[PersonId]) -> Result<()> {
        if self.may(about) {
            Ok(())
        } else {
            Err(Error::Forbidden(
                "Members set up bookings for themselves. Ask an owner or admin for those of others."
                    .to_owned(),
            ))
        }
    }
}
