//! Writes every invitation of a few stories into a folder, for the calendar libraries of tests/peers/calendars.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_core::workspace::access::By;
use rookery_product::bookings::{cancel, read, reschedule};
use serde_json::{Value, json};

use rookery_world::verbs::bookings::{a_type, at, bookable, books};
use rookery_world::{World, story};

/// Names that try to be more than a name.
const NAMES: [&str; 4] = [
    "Help",
    "Ünïcode \u{1f426} 名前 and a name that is long enough to be folded at least once",
    "Semi; comma, colon: \"quoted\" ^caret \\ back\\nslash",
    "END:VEVENT BEGIN:VALARM;X=\"1\":y",
];

fn field(text: &str, name: &str) -> String {
    let line =
        text.split("\r\n").find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
    line[name.len()..].trim_start_matches(':').to_owned()
}

/// The event of a mail, unfolded from its attached file.
fn event(raw: &str) -> String {
    use base64::Engine;
    let part = raw.split("application/ics").nth(1).expect("a file");
    let (head, body) = part.split_once("\r\n\r\n").expect("a body");
    let body = body.split("\r\n--").next().unwrap();
    if head.to_lowercase().contains("base64") {
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(body.replace("\r\n", "")).expect("base64");
        String::from_utf8(bytes).expect("text")
    } else {
        body.to_owned()
    }
}

async fn move_to(
    world: &World,
    bookable: &rookery_product::bookings::schedule::Bookable,
    id: rookery_base::ids::BookingId,
    to: DateTime<Utc>,
) {
    let mut tx = world.app.begin(bookable.workspace).await.unwrap();
    let row = read::newest(&mut tx, bookable.workspace, id).await.unwrap().unwrap();
    reschedule::move_to(&mut tx, bookable, &row, to).await.unwrap().unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
#[ignore = "tests/peers/calendars reads what it writes: just calendars"]
async fn every_invitation_is_written_down_for_other_calendars() {
    let folder =
        std::env::vars().find(|(name, _)| name == "TEST_CALENDARS").expect("`just calendars` sets it").1;
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let id = a_type(&acme, &[acme.owner]).await;
        let mut meant: Vec<Value> = Vec::new();
        for (n, name) in NAMES.iter().enumerate() {
            sqlx::query("update mailboxes set name = $1 where address = 'help@acme.example'").bind(name).execute(&world.app.pool).await.unwrap();
            sqlx::query("update booking_types set name = $1, place = $2").bind(name).bind(format!("{name}\n{name}")).execute(&world.app.pool).await.unwrap();
            let bookable = bookable(&world.app, acme.id, id).await;
            // Tuesdays and their Wednesdays, some of them weeks ahead.
            let starts_at = at("2031-01-07T13:30:00Z") + TimeDelta::weeks(2 * n as i64);
            let booked = books(&world.app, &bookable, &format!("ada{n}@customer.example"), starts_at, None).await.unwrap().unwrap();
            world.work().await;
            move_to(world, &bookable, booked.series, starts_at + TimeDelta::days(1)).await;
            world.work().await;
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let row = read::newest(&mut tx, acme.id, booked.series).await.unwrap().unwrap();
            cancel::by_host(&mut tx, &By::System, row.id, Some(name)).await.unwrap();
            tx.commit().await.unwrap();
            world.work().await;
            let mails = world.outbox.mails();
            for mail in &mails[meant.len()..] {
                let raw = String::from_utf8(mail.raw.clone()).unwrap();
                let event = event(&raw);
                let unfolded = event.replace("\r\n ", "");
                let file = format!("{:03}.eml", meant.len());
                std::fs::write(format!("{folder}/{file}"), &mail.raw).unwrap();
                std::fs::write(format!("{folder}/{file}.ics"), &event).unwrap();
                let to_host = mail.to == "olga@rookery.example";
                let cancelled = unfolded.contains("METHOD:CANCEL");
                let sequence: i64 = field(&unfolded, "SEQUENCE").parse().unwrap();
                let day = starts_at + TimeDelta::days(i64::from(sequence > 0));
                let uid = if to_host {
                    format!("{}-{}@rookery.example", booked.series, acme.owner)
                } else {
                    format!("{}@rookery.example", booked.series)
                };
                meant.push(json!({
                    "file": file, "method": if cancelled { "CANCEL" } else { "REQUEST" }, "uid": uid, "sequence": sequence,
                    "starts": day.to_rfc3339(), "organizer": name,
                    "summary": if to_host { format!("{name} with Ada") } else { format!("{name} with Olga Owner") },
                }));
            }
        }
        assert_eq!(meant.len(), NAMES.len() * 6, "invited, moved, cancelled, for both");
        std::fs::write(format!("{folder}/meant.json"), serde_json::to_string(&meant).unwrap()).unwrap();
    })
    .await;
}
