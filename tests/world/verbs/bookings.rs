//! A type of booking as its rows are, and visitors who book it by the verb alone.

use chrono::{DateTime, Utc};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{BookingTypeId, ConversationId, PersonId, WorkspaceId};
use rookery_product::bookings::book::{Booked, BookingRefusal, Visitor, WantedBooking, book};
use rookery_product::bookings::schedule::{self, Bookable};

use crate::Workspace;

pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

/// `call`, half an hour with the owner and whoever else, on weekdays from 9 to 17 in Berlin. The inbox is help@acme.example.
pub async fn a_type(acme: &Workspace<'_>, hosts: &[PersonId]) -> BookingTypeId {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    let (workspace, now) = (acme.id.0, acme.world.now());
    let id = BookingTypeId(inbox.0 + 1);
    let mut sql = format!(
        "insert into booking_types (workspace_id, id, mailbox_id, slug, name, place, minutes, step, questions, created_at)
         values ({workspace}, {}, {}, 'call', 'Call', 'By phone', 30, 30,
             '[{{\"label\": \"Phone\", \"required\": true}}, {{\"label\": \"Order\"}}]', '{now}');",
        id.0, inbox.0
    );
    for host in hosts {
        sql += &format!(
            "insert into booking_hosts (workspace_id, person_id, time_zone) values ({workspace}, {host}, 'Europe/Berlin');
             insert into booking_hours (workspace_id, person_id, weekday, opens, closes)
             select {workspace}, {host}, day, 540, 1020 from generate_series(1, 5) day;
             insert into booking_type_hosts (workspace_id, type_id, person_id) values ({workspace}, {}, {host});",
            id.0,
            host = host.0
        );
    }
    acme.world.sql(&sql).await;
    id
}

pub async fn bookable(app: &App, workspace: WorkspaceId, id: BookingTypeId) -> Bookable {
    let mut conn = app.connection().await.expect("a connection");
    schedule::of_type(&mut conn, workspace, id).await.expect("it can be read").expect("it is there")
}

/// Somebody books, as their page does.
pub async fn books(
    app: &App,
    bookable: &Bookable,
    email: &str,
    starts_at: DateTime<Utc>,
    conversation: Option<ConversationId>,
) -> Result<Result<Booked, BookingRefusal>> {
    let visitor = Visitor {
        name: "Ada".to_owned(),
        email: email.to_owned(),
        note: "The lease.".to_owned(),
        answers: Vec::new(),
        time_zone: "Asia/Kolkata".to_owned(),
    };
    let wanted = WantedBooking { bookable, starts_at, visitor, conversation, press: "" };
    let mut tx = app.begin(bookable.workspace).await?;
    let booked = book(&mut tx, &wanted).await?;
    if booked.is_ok() {
        tx.commit().await?;
    }
    Ok(booked)
}
