//! A workspace with something to book, and visitors who book it by the verbs that the pages use.

use chrono::{DateTime, Utc};
use rookery_base::ids::{BookingTypeId, ConversationId, PersonId};
use rookery_core::workspace::people;
use rookery_product::bookings::book::{Booked, Visitor, WantedBooking, book};
use rookery_product::bookings::schedule;
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types;
use rookery_product::bookings::types::settings::Settings;

use crate::Workspace;

/// The first free time of a day in the world's first week, in UTC.
pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

impl Workspace<'_> {
    /// A type of half an hour, hosted by the owner, on weekdays from nine to five in UTC.
    pub async fn bookable(&self, name: &str) -> BookingTypeId {
        self.bookable_with(Settings::new(name, "", 30, self.owner)).await.expect("the type is sound")
    }

    pub async fn bookable_with(&self, settings: Settings) -> rookery_base::error::Result<BookingTypeId> {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let id = types::create(&mut tx, Setter::Operator, settings).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// The same as somebody of the team.
    pub async fn bookable_by(
        &self,
        person: PersonId,
        settings: Settings,
    ) -> rookery_base::error::Result<BookingTypeId> {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let person = people::teammate(&mut tx, self.id, person).await?;
        let id = types::create(&mut tx, Setter::Person(&person), settings).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// The times that can be booked now.
    pub async fn free_times(&self, id: BookingTypeId) -> Vec<DateTime<Utc>> {
        let mut conn = self.world.app.connection().await.unwrap();
        let bookable = schedule::of_type(&mut conn, self.id, id).await.unwrap().expect("it is there");
        let free = schedule::free(&mut conn, &bookable, self.world.now(), usize::MAX).await.unwrap();
        free.into_iter().map(|time| time.starts_at).collect()
    }

    /// Somebody books.
    pub async fn books(
        &self,
        id: BookingTypeId,
        email: &str,
        starts_at: &str,
        conversation: Option<ConversationId>,
    ) -> Booked {
        let mut tx = self.world.app.begin(self.id).await.unwrap();
        let bookable = schedule::of_type(&mut tx, self.id, id).await.unwrap().expect("it is there");
        let visitor = Visitor {
            name: "Ada".to_owned(),
            email: email.to_owned(),
            note: "About my order".to_owned(),
            answers: Vec::new(),
            time_zone: "Asia/Kolkata".to_owned(),
        };
        let press = self.world.app.random.hex(16);
        let wanted = WantedBooking {
            bookable: &bookable,
            starts_at: at(starts_at),
            visitor,
            conversation,
            press: &press,
        };
        let booked = book(&mut tx, &wanted).await.unwrap().expect("the time is free");
        tx.commit().await.unwrap();
        booked
    }
}
