//! What the timeline says in plain words: events, why mail was filed where it is, what is known of its sender, why mail did
//! not leave, what a risk is called (specification 2.4, 4.14).

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::show::Times;
use rookery_core::conversations::messages::message::Channel;
use rookery_core::conversations::messages::shown::MessageDetails;
use rookery_core::conversations::timeline::Message;

/// A line of the timeline: who did it, and what. Names and tags of it are shown bold.
pub struct TimelineSentence {
    pub who: Option<String>,
    pub what: String,
    pub object: Option<String>,
}

impl TimelineSentence {
    /// The same line without who did it.
    fn of_nobody(self) -> Self {
        Self { who: None, ..self }
    }
}

/// What happened, for an event of the timeline.
pub fn event(actor: &str, event: &str, data: &Value, times: &Times) -> TimelineSentence {
    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    let name = |key: &str| data[key]["name"].as_str().or(data[key].as_str()).map(str::to_owned);
    let list = |key: &str| -> Vec<String> {
        data[key].as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let when = |key: &str| text(key).parse::<DateTime<Utc>>().ok().map(|at| times.coming(&at));
    let who = Some(actor.to_owned()).filter(|actor| actor != "System");
    let told = |what: &str, object: Option<String>| TimelineSentence {
        who: who.clone(),
        what: what.to_owned(),
        object,
    };
    match event {
        "status" => {
            let by = |yes: &str, no: &str| if who.is_some() { yes.to_owned() } else { no.to_owned() };
            match (text("to").as_str(), text("reason").as_str()) {
                ("open", "reply") => told("Reopened: the customer wrote", None),
                ("open", _) => told(&by("opened it", "It is open again"), None),
                ("waiting", _) => told(&by("set it to waiting", "It waits for the customer"), None),
                ("closed", _) => told(&by("closed it", "Closed"), None),
                _ => told("changed the status", None),
            }
        }
        "snoozed" => {
            let until = text("until").parse::<DateTime<Utc>>().ok().map(|until| times.brief(&until));
            told("snoozed it until", until)
        }
        "unsnoozed" => told("The snooze ended", None),
        "assigned" => match (name("to"), name("from")) {
            (Some(to), _) if Some(&to) == who.as_ref() => told("took the conversation", None),
            (Some(to), _) => told("assigned it to", Some(to)),
            (None, Some(from)) if Some(&from) == who.as_ref() => told("unassigned the conversation", None),
            (None, Some(from)) => told("unassigned it from", Some(from)),
            (None, None) => told("unassigned it", None),
        },
        "tags" => {
            let (added, removed) = (list("added").join(", "), list("removed").join(", "));
            match (added.is_empty(), removed.is_empty()) {
                (false, true) => told("added", Some(added)),
                (true, _) => told("removed", Some(removed)),
                (false, false) => told("changed tags:", Some(format!("+ {added}, − {removed}"))),
            }
        }
        "sorted" => match (text("field").as_str(), data["to"].as_str()) {
            ("urgency", to) => told("set the urgency to", to.map(str::to_owned)),
            (_, Some(to)) => told("set the topic to", Some(to.to_owned())),
            (_, None) => told("removed the topic", None),
        },
        "notified" => told("notified", name("to")),
        "secure-read" => told("The secure message was read for the first time", None),
        "secure-ended" if text("reason") == "guessed" => {
            told("The secure link ended after too many wrong tries", None)
        }
        "secure-ended" => told("revoked the secure link", None),
        "held" => told("Held: this may be a scam", None),
        "risk-raised" => told("The sorting assistant marked this as a likely scam", None),
        "released" => told("marked this as not a scam", None),
        "approved" if data["edited"] == true => told("edited and approved a draft", None),
        "approved" => told("approved a draft", None),
        "draft-discarded" if text("reason") == "taken-over" => told("took over a draft", None),
        "draft-discarded" => told("discarded a draft", None),
        "send-stopped" => match text("reason").as_str() {
            "agents-stopped" => told("Not sent: all agents were stopped. It’s a draft again", None),
            "key-revoked" => told("Not sent: the agent’s key was revoked", None),
            "person-left" => told("Not sent: its author left the team", None),
            _ => told("stopped a message before it was sent", None),
        },
        "sent-again" => told("resent an undelivered message", None),
        "send-time" => {
            let at = text("to").parse::<DateTime<Utc>>().ok().map(|at| times.brief(&at));
            told("rescheduled a message to", at)
        }
        "delivery-failed" => told("A message was not delivered to", Some(text("email"))),
        "spam-complaint" => told("Marked our email as spam:", Some(text("email"))),
        "suppression-lifted" => told("Can be emailed again:", Some(text("email"))),
        "new-sender" => told("Joined as a colleague of the contact:", Some(text("email"))),
        "mail-limited" => {
            told("More mail than a day allows came for this conversation; some was refused", None)
        }
        "app-mail-unread" => told("The text of the app’s email could not be fetched", None),
        "documents-requested" => told("Documents were requested", None),
        "documents-cancelled" if who.is_some() => told("cancelled the request for documents", None),
        "documents-cancelled" => told("The request for documents was cancelled", None),
        "documents-completed" => told("All requested documents have arrived", None).of_nobody(),
        "documents-reopened" => told("The request for documents is open again", None).of_nobody(),
        "documents-expired" => told("The link for documents ended", None),
        "documents-extended" => told("gave the customer more time for documents", None),
        "document-uploaded" => told("The customer sent", Some(text("label"))),
        "document-ticked" => told("ticked off", Some(text("label"))),
        "document-accepted" => told("accepted", Some(text("label"))),
        "document-refused" => told("rejected and requested again:", Some(text("label"))),
        "document-put-back" => told("undid the decision on", Some(text("label"))),
        "booking-created" => told("The customer booked", when("startsAt")),
        "booking-cancelled" => match (&who, text("reason").as_str()) {
            (Some(_), _) => told("cancelled the booking of", when("startsAt")),
            (None, "moved") => told("The customer moved the booking of", when("startsAt")),
            (None, _) => told("The customer cancelled the booking of", when("startsAt")),
        },
        "followed" => told("follows it", None),
        "merged" => told("merged another conversation into this one", name("subject")),
        "moved" => told("moved it to the inbox", name("to")),
        "merged-into" => told("merged this into another conversation", name("subject")),
        other => told(&other.replace('-', " "), None),
    }
}

/// What is known of a mail: why it is here, whose it is, what it is.
pub fn why(message: &Message, shown: Option<&MessageDetails>) -> Vec<(&'static str, String)> {
    let Some(shown) = shown else { return Vec::new() };
    let mut why = Vec::new();
    if let Some(placed) = &shown.placed {
        why.push(("Filed", filed(placed)));
    }
    if let Some(verdict) = &shown.verdict {
        why.push(("Sender", sender(verdict, &message.from_email)));
    }
    why.push(("From", message.from_email.clone()));
    if shown.automatic {
        why.push(("Kind", "Sent by a machine, so it changed no status.".to_owned()));
    }
    if shown.channel == Channel::Secure {
        why.push(("Way", "Written on a private page.".to_owned()));
    }
    why.push(("Message", message.id.to_string()));
    why
}

/// Why a mail stands here. `placed` is what was written down when it came (incoming/thread.rs).
pub fn filed(placed: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("joined by In-Reply-To", "Joined: its In-Reply-To header names a mail of ours here."),
        ("joined by References", "Joined: its References header names a mail of ours here."),
        (
            "joined as a colleague",
            "Joined: it answers our mail, and its sender is a colleague of the contact.",
        ),
        ("joined as a report", "Joined: it reports what became of a mail of ours."),
        ("joined as a reply to the app", "Joined: it answers the mail that the app sent."),
        (
            "joined by the reference in its address and its sender, who is not confirmed",
            "Joined by the plus tag in its address. Its sender is not confirmed.",
        ),
        ("joined by the reference", "Joined by the plus tag in its address, and its sender is known here."),
        ("joined where the sandbox", "Joined: placed here by the sandbox."),
        ("started: it answers no mail", "New: it answers no mail of this inbox."),
        ("started: the first reply", "New: the first reply to the mail that the app sent."),
        ("started: the app's mail was answered", "New: the app’s mail was answered in another inbox before."),
        (
            "started: its sender is not on",
            "New: it answers our mail, but its sender is not on that conversation.",
        ),
        ("refused to join: its address names", "Kept apart: its address names another reference."),
        ("refused to join: DMARC", "Kept apart: refused, DMARC"),
        (
            "refused to join: the sender's signature",
            "Kept apart: the sender’s signature does not cover what it answers.",
        ),
        ("refused to join: the mail does not name", "Kept apart: it does not name exactly one sender."),
        ("refused to join: the sender is not on", "Kept apart: its sender is not on the app’s mail."),
    ];
    match WORDS.iter().find(|(start, _)| placed.starts_with(start)) {
        // Which way the check went follows.
        Some((start, words)) if start.ends_with("DMARC") => {
            let result = placed[start.len()..].split('(').next().unwrap_or_default().trim();
            format!("{words} {result}.")
        }
        Some((_, words)) => (*words).to_owned(),
        None => placed.to_owned(),
    }
}

/// Whether the sender's domain vouches for the mail. None if it has said nothing of its mail at all.
pub fn is_confirmed(verdict: &Value) -> Option<bool> {
    match verdict["dmarc"].as_str() {
        Some("pass") => Some(true),
        Some("fail") => Some(false),
        _ => None,
    }
}

/// What the checks found out about the sender.
pub fn sender(verdict: &Value, email: &str) -> String {
    let check = |name: &str| verdict[name].as_str().unwrap_or("none").to_owned();
    let domain = email.rsplit('@').next().unwrap_or_default();
    let rest = format!("SPF {}, DKIM {}", check("spf"), check("dkim"));
    match check("dmarc").as_str() {
        "pass" => format!("Confirmed by {domain}: DMARC pass."),
        "fail" => format!("Not confirmed: DMARC fail for {domain}. {rest}."),
        "none" => format!("{domain} confirms nothing: no DMARC. {rest}."),
        other => format!("Could not be checked: DMARC {other}. {rest}."),
    }
}

/// Why a message of ours was not delivered, wherever that is told.
pub fn failure(reason: &str, email: &str) -> String {
    match reason {
        "bounce" => format!("{email} bounced: no email can be delivered there."),
        "rejected" => format!("The server of {email} refused it."),
        "suppressed" => {
            format!("{email} can’t be emailed any more: an email bounced, or the recipient reported spam.")
        }
        "gave-up" => format!("The server of {email} didn’t accept it for a day."),
        "taken-back" => "Its link was taken back before the mail had left.".to_owned(),
        "unproven-domain" => {
            "Not sent: the domain of its inbox isn’t verified as this workspace’s. See Settings, Domains."
                .to_owned()
        }
        _ => "It could not be delivered.".to_owned(),
    }
}

/// What the banner over a risky conversation says first.
pub fn risk(label: &str) -> &'static str {
    match label {
        "malware" => "Do not open its files: they may be malware",
        "payment-fraud" => "Check before you pay: this may be fraud",
        "phishing" => "Do not follow its links: this may be phishing",
        "impersonation" => "The sender may not be who they say",
        "spam" => "This looks like spam",
        _ => "Be careful: this may be a scam",
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;
    use rookery_core::workspace::preferences::Dates;

    #[test]
    fn why_a_mail_is_here_is_said_in_plain_words() {
        let apart = "refused to join: DMARC fail (it answers a mail in cnv_0000000000001)";
        assert_eq!(filed(apart), "Kept apart: refused, DMARC fail.");
        assert!(
            filed("joined by the reference in its address and its sender")
                .starts_with("Joined by the plus tag")
        );
        assert_eq!(filed("something new"), "something new");
        assert_eq!(sender(&json!({ "dmarc": "pass" }), "a@b.example"), "Confirmed by b.example: DMARC pass.");
    }

    #[test]
    fn events_say_who_did_what() {
        let times = Times { now: DateTime::UNIX_EPOCH, zone: TimeZone::UTC, dates: Dates::default() };
        let told = |name: &str, data: Value| event("Ada", name, &data, &times);
        let took = told("assigned", json!({ "from": null, "to": { "name": "Ada" } }));
        assert_eq!((took.who.as_deref(), took.what.as_str()), (Some("Ada"), "took the conversation"));
        let left = told("assigned", json!({ "from": { "name": "Bob" }, "to": null }));
        assert_eq!((left.what.as_str(), left.object.as_deref()), ("unassigned it from", Some("Bob")));
        let gave_back = told("assigned", json!({ "from": { "name": "Ada" }, "to": null }));
        assert_eq!((gave_back.what.as_str(), gave_back.object), ("unassigned the conversation", None));
        let taken = told("draft-discarded", json!({ "messageId": "m", "reason": "taken-over" }));
        assert_eq!(taken.what, "took over a draft");
        assert_eq!(told("draft-discarded", json!({ "messageId": "m" })).what, "discarded a draft");
        let tags = told("tags", json!({ "added": ["a", "b"], "removed": [] }));
        assert_eq!((tags.what.as_str(), tags.object.as_deref()), ("added", Some("a, b")));
        assert_eq!(event("System", "held", &json!({}), &times).who, None);
        assert_eq!(told("some-new-kind", json!({})).what, "some new kind");
    }
}
