//! The wire form of an event (specification 6.1): one envelope, and `data` with a summary made from templates.
//!
//! A summary contains only template text and the names of inboxes, people and keys. Subjects, senders' names and
//! tags may be a customer's own words, so they never appear in it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::events::event::{Assignee, Doer, Event, Turn};
use rookery_base::clock::written;
use rookery_base::error::Result;
use rookery_base::ids::EventId;
use rookery_base::store::db::Frame;

pub const VERSION: u8 = 1;
const LONGEST_SUMMARY: usize = 200;

#[derive(Serialize)]
struct Envelope<'a> {
    id: EventId,
    r#type: &'a str,
    version: u8,
    created_at: String,
    workspace: String,
    livemode: bool,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    fields: &'a RawFields,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

type RawFields = serde_json::Map<String, serde_json::Value>;

/// The body of an event, byte for byte as every delivery sends it.
pub fn body(
    id: EventId,
    event: &Event,
    frame: &Frame,
    livemode: bool,
    inbox: &str,
    url: Option<String>,
) -> Result<Box<RawValue>> {
    let fields = fields(event)?;
    Ok(serde_json::value::to_raw_value(&Envelope {
        id,
        r#type: event.kind().name(),
        version: VERSION,
        created_at: written(frame.now),
        workspace: frame.workspace.to_string(),
        livemode,
        data: Data { fields: &fields, summary: summary(event, inbox), url },
    })?)
}

fn fields(event: &Event) -> Result<RawFields> {
    match event.data()? {
        serde_json::Value::Object(fields) => Ok(fields),
        _ => unreachable!("every kind of event is a struct with named fields"),
    }
}

/// One line that says what happened. `inbox` is the inbox's name; for a booking it is the host's.
fn summary(event: &Event, inbox: &str) -> String {
    let text = match event {
        Event::AskCompleted(_) => format!("Everything asked for in {inbox} is in."),
        Event::ClientReplied(_) => format!("A client replied in {inbox}."),
        Event::ConversationAssigned(data) => match &data.assignee {
            Some(assignee) => {
                let to = assignee_name(assignee);
                format!("{} assigned a conversation in {inbox} to {to}.", doer_name(&data.assigned_by))
            }
            None => format!("{} unassigned a conversation in {inbox}.", doer_name(&data.assigned_by)),
        },
        Event::TurnChanged(data) => match data.turn {
            Turn::Ours => format!("It is the team's turn in {inbox}."),
            Turn::Theirs => format!("Waiting on the client in {inbox}."),
            Turn::Done => format!("A conversation in {inbox} was closed."),
        },
        Event::DraftApproved(data) => {
            format!("{} approved a draft in {inbox}.", doer_name(&data.approved_by))
        }
        Event::MessageSent(_) => format!("An email went out from {inbox}."),
        Event::BookingCreated(_) => format!("A time with {inbox} was booked."),
        Event::BookingCancelled(_) => format!("A time with {inbox} was cancelled."),
        Event::ScoutHeld(_) => format!("A likely scam was held in {inbox}."),
        Event::WebhookTest(_) => "Test event.".to_owned(),
    };
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(LONGEST_SUMMARY).collect()
}

fn assignee_name(assignee: &Assignee) -> &str {
    let (Assignee::User { name, .. } | Assignee::Agent { name, .. }) = assignee;
    name.as_deref().unwrap_or("a teammate")
}

fn doer_name(doer: &Doer) -> &str {
    let (Doer::User { name, .. } | Doer::Agent { name, .. } | Doer::System { name, .. }) = doer;
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::event::WebhookTest;
    use rookery_base::clock::Clock;
    use rookery_base::ids::{WebhookId, WorkspaceId};
    use rookery_base::random::Random;

    fn url() -> std::sync::Arc<url::Url> {
        std::sync::Arc::new("https://rookery.example".parse().unwrap())
    }

    #[test]
    fn an_envelope_has_all_fields_in_their_form() {
        let now = chrono::DateTime::from_timestamp_millis(1_900_000_000_007).unwrap();
        let frame = Frame {
            workspace: WorkspaceId(1),
            now,
            clock: Clock::set_to(now),
            random: Random::seeded(1),
            public_url: url(),
            feed: Default::default(),
            keys: None,
            by_agent: false,
            ending: rookery_base::store::db::Ending::Kept,
            writing: None,
        };
        let event = Event::WebhookTest(WebhookTest { endpoint_id: WebhookId(2) });
        let body = body(EventId(3), &event, &frame, true, "", None).unwrap();
        insta::assert_snapshot!(body.get(), @r#"{"id":"evt_0000000000003","type":"webhook.test","version":1,"created_at":"2030-03-17T17:46:40.007Z","workspace":"wsp_0000000000001","livemode":true,"data":{"endpoint_id":"whk_0000000000002","summary":"Test event."}}"#);
    }

    #[test]
    fn a_summary_is_one_line_of_at_most_200_characters() {
        let event = Event::WebhookTest(WebhookTest { endpoint_id: WebhookId(2) });
        assert_eq!(summary(&event, "x"), "Test event.");
        let held = Event::ScoutHeld(crate::events::event::ScoutHeld {
            conversation_id: rookery_base::ids::ConversationId(1),
        });
        let long = summary(&held, &format!("A\n{}", "ü".repeat(300)));
        assert_eq!(long.chars().count(), 200);
        assert!(!long.contains('\n'));
    }
}
