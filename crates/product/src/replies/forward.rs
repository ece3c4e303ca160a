//! Passing a message on: what it says below the note of whoever passes it on, and its files. One message and nothing
//! beside it: no note of the team, no history that was cut off, no other mail of the conversation.

use sqlx::PgConnection;
use sqlx::types::Json;

use chrono::{DateTime, Utc};

use rookery_base::error::{NO_MESSAGE, Result};
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::signatures::pictures::is_signature_picture;
use rookery_reading::text;

pub struct PassedOn {
    pub message: MessageId,
    pub at: DateTime<Utc>,
    pub from_name: Option<String>,
    pub from_email: String,
    pub to: Vec<String>,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// A message of the conversation that has come or gone. What is only written yet cannot be passed on.
pub async fn find(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    message: MessageId,
) -> Result<PassedOn> {
    let row = sqlx::query!(
        r#"select at, from_name, from_email, to_addresses, coalesce(written, text) as "text!",
               attachments as "attachments: Json<Vec<Attachment>>", direction = 'outbound' as "ours!"
           from messages
           where workspace_id = $1 and conversation_id = $2 and id = $3 and channel = 'mail' and item >= 0
             and (direction = 'inbound' or status = 'sent')"#,
        workspace.0,
        conversation.id.0,
        message.0
    )
    .fetch_optional(conn)
    .await?
    .ok_or(NO_MESSAGE)?;
    // Its text says where the logo of our signature was.
    let mut attachments = row.attachments.0;
    attachments.retain(|file| !row.ours || !file.content_id.as_deref().is_some_and(is_signature_picture));
    Ok(PassedOn {
        message,
        at: row.at,
        from_name: row.from_name,
        from_email: row.from_email,
        to: row.to_addresses.unwrap_or_default(),
        text: row.text,
        attachments,
    })
}

impl PassedOn {
    /// What `under` had put a note above: the note, and whether all else is still as it was. Nothing when the message is
    /// not there any more.
    pub fn note_above<'a>(&self, whole: &'a str, subject: &str) -> Option<(&'a str, bool)> {
        let whole = whole.trim_end();
        if let Some(note) = whole.strip_suffix(&self.under("", subject)) {
            return Some((note.trim_end(), true));
        }
        let at = whole.find(&self.begins())?;
        Some((whole[..at].trim_end(), false))
    }

    /// How the message begins under a note.
    fn begins(&self) -> String {
        let sender = match self.from_name.as_deref().map(text::line).filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} <{}>", text::line(&self.from_email)),
            None => text::line(&self.from_email),
        };
        let date = self.at.format("%-d %B %Y at %H:%M UTC");
        format!("---------- Forwarded message ----------\nFrom: {sender}\nDate: {date}\n")
    }

    /// The note with the message under it.
    pub fn under(&self, note: &str, subject: &str) -> String {
        let mut head = format!("{}Subject: {}\n", self.begins(), text::line(subject));
        if !self.to.is_empty() {
            head.push_str(&format!("To: {}\n", text::line(&self.to.join(", "))));
        }
        let note = note.trim_end();
        let gap = if note.is_empty() { "" } else { "\n\n" };
        format!("{note}{gap}{head}\n{}", text::lines(&self.text).trim_end())
    }
}

/// `Fwd:` once.
pub fn subject(of: &str) -> String {
    let of = text::line(of);
    let begins = ["fwd:", "fw:"]
        .iter()
        .any(|start| of.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)));
    let whole = if begins { of } else { format!("Fwd: {of}") };
    whole.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stands_under_the_note_with_who_wrote_it_and_when() {
        let passed = PassedOn {
            message: MessageId(1),
            at: "2031-01-06T09:10:00Z".parse().unwrap(),
            from_name: Some("Ada\r\nBcc: eve@x.example".into()),
            from_email: "ada@customer.example".into(),
            to: vec!["help@acme.example".into()],
            text: "Where is it?\r\n".into(),
            attachments: Vec::new(),
        };
        insta::assert_snapshot!(passed.under("Can you look?\n", "Parcel"), @r"
        Can you look?

        ---------- Forwarded message ----------
        From: Ada Bcc: eve@x.example <ada@customer.example>
        Date: 6 January 2031 at 09:10 UTC
        Subject: Parcel
        To: help@acme.example

        Where is it?
        ");
        assert!(passed.under(" ", "Parcel").starts_with("----------"));
        let whole = passed.under("Can you look?\n", "Parcel");
        assert_eq!(passed.note_above(&whole, "Parcel"), Some(("Can you look?", true)));
        assert_eq!(passed.note_above(&passed.under("", "Parcel"), "Parcel"), Some(("", true)));
        let changed = whole.replace("Where is it?", "Where?");
        assert_eq!(passed.note_above(&changed, "Parcel"), Some(("Can you look?", false)));
        assert_eq!(passed.note_above("Can you look?", "Parcel"), None);
    }

    #[test]
    fn fwd_is_said_once() {
        for (given, wanted) in [
            ("Parcel", "Fwd: Parcel"),
            ("FWD: Parcel", "FWD: Parcel"),
            ("Fw: Parcel", "Fw: Parcel"),
            ("ä", "Fwd: ä"),
        ] {
            assert_eq!(subject(given), wanted);
        }
    }
}
