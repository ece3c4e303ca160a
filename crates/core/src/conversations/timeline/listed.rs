//! The one list of what a timeline tells of: each event's name, when it is written, and the keys of its `data` (specification
//! 2.4). docs/api.md has the same table. Names and keys are only added; who reads a timeline passes over unknown ones.

use serde_json::Value;

/// An event of the timeline.
#[derive(Debug, PartialEq, Eq)]
pub struct TimelineEventInfo {
    pub name: &'static str,
    pub when: &'static str,
    /// Keys that are always written, and those that are where there is something to say.
    pub keys: &'static [&'static str],
    pub sometimes: &'static [&'static str],
}

macro_rules! listed {
    ($($name:literal $when:literal [$($key:literal)*] $([$($more:literal)*])?;)*) => {
        pub const LISTED: &[TimelineEventInfo] = &[$(TimelineEventInfo {
            name: $name,
            when: $when,
            keys: &[$($key),*],
            sometimes: &[$($($more),*)?],
        }),*];
    };
}

listed! {
    "status" "the status changed" ["from" "to" "reason"];
    "assigned" "somebody else has it, or nobody" ["from" "to"];
    "tags" "tags were added or removed" ["added" "removed"];
    "snoozed" "it sleeps until a time" ["until"];
    "unsnoozed" "the snooze ended" ["reason"];
    "approved" "a person approved a draft" ["messageId" "edited"] ["simulated"];
    "draft-discarded" "a person threw a draft away, or took it over" ["messageId"] ["reason"];
    "send-stopped" "a message that was about to leave was stopped" ["messageId" "reason"];
    "send-time" "a message leaves at another time" ["messageId" "to"];
    "sent-again" "a message that failed was sent again, as another" ["messageId" "as"];
    "delivery-failed" "a message could not be delivered" ["messageId" "email" "reason"];
    "spam-complaint" "a recipient called a message spam" ["messageId" "email"];
    "suppression-lifted" "somebody who could not be written to wrote again" ["email"];
    "mail-limited" "so much mail came that the rest of the day's was refused" ["day"];
    "new-sender" "a colleague of the contact joined" ["messageId" "email"];
    "app-mail-unread" "the words of the app's mail could not be fetched" ["messageId"];
    "documents-requested" "a request for documents left" ["requestId" "messageId" "items"];
    "documents-cancelled" "a request for documents was thrown away" ["requestId"];
    "document-uploaded" "a customer sent a file over the page of a request" ["requestId" "documentId" "label"];
    "document-ticked" "a person ticked off what came another way" ["requestId" "label"];
    "document-accepted" "a person looked at what came, and it is right" ["requestId" "label"];
    "document-refused" "a person refused what came, and asked again" ["requestId" "label"];
    "document-put-back" "a person took such a decision back" ["requestId" "label"];
    "documents-completed" "everything that a request asks for is in" ["requestId"];
    "documents-reopened" "something of a completed request is missing again" ["requestId"];
    "documents-extended" "a person gave a request more time" ["requestId" "dueDate"];
    "documents-expired" "the link of a request ended before everything was in" ["requestId"];
    "booking-created" "the customer booked a time that was offered, or another one" ["bookingId" "startsAt" "endsAt"];
    "booking-cancelled" "such a time was cancelled or moved" ["bookingId" "startsAt" "endsAt" "reason"];
    "held" "a mail is held as a likely scam" ["risk"];
    "released" "a person released what was held" [];
    "risk-raised" "the sorting assistant takes a mail for a likely scam" ["risk"];
    "sorted" "a person said topic or urgency" ["field" "from" "to"];
    "merged" "another conversation became part of this one" ["conversationId" "subject"];
    "moved" "a person moved it to another inbox" ["from" "to"];
    "notified" "a rule notified someone" ["to"];
    "secure-read" "a secure message was read for the first time" ["messageId"];
    "secure-ended" "the link of a secure message ended: a person took it back, or it was guessed at too often" ["messageId" "reason"];
}

/// What is wrong with an event that is about to be written.
pub fn problem(event: &str, data: &Value) -> Option<String> {
    let Some(listed) = LISTED.iter().find(|listed| listed.name == event) else {
        return Some(format!("{event} is not in the list of timeline events"));
    };
    let Some(data) = data.as_object() else { return Some(format!("the data of {event} is no object")) };
    let lacks = listed.keys.iter().find(|key| !data.contains_key(**key));
    let known = |key: &String| listed.keys.iter().chain(listed.sometimes).any(|listed| listed == key);
    let more = data.keys().find(|key| !known(key));
    lacks.map(|key| format!("the data of {event} lacks {key}")).or_else(|| {
        more.map(|key| format!("the data of {event} has {key}, which the list of timeline events does not"))
    })
}
