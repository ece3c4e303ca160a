//! A row of a list as it is shown: who wrote, and the signals beside the subject.
//! The most pressing signal comes first, because a narrow row cuts the last.

use std::ops::Deref;

use crate::shell::Shell;
use crate::show::{Times, in_words};
use crate::status;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::views::rows::ConversationRow;
use rookery_core::workspace::access::MemberId;

/// Letters of the newest mail in a row, which is one line and at most as wide as a tablet.
const ROOM: usize = 120;

pub struct InboxItem(pub ConversationRow);

/// A signal: icon and words.
pub struct Chip {
    /// The end of its class: `risk`, `warn`, `agent`, or nothing.
    pub kind: &'static str,
    pub icon: &'static str,
    pub text: String,
}

impl Deref for InboxItem {
    type Target = ConversationRow;
    fn deref(&self) -> &ConversationRow {
        &self.0
    }
}

impl InboxItem {
    pub fn who(&self) -> &str {
        self.contact.called()
    }

    /// As much of it as the widest row has room for.
    pub fn start(&self) -> &str {
        let end = self.snippet.char_indices().nth(ROOM).map_or(self.snippet.len(), |(end, _)| end);
        &self.snippet[..end]
    }

    /// Who of the team wrote what the row begins with: `You`, or a first name. None if the customer did, or somebody who left.
    pub fn written_by<'s>(&self, shell: &'s Shell) -> Option<&'s str> {
        match self.by? {
            MemberId::Person(id) if id.to_string() == shell.whose => Some("You"),
            id @ MemberId::Person(_) => {
                let member = shell.team.iter().find(|member| member.id == id)?;
                member.name.split_whitespace().next()
            }
            id @ MemberId::Agent(_) => {
                shell.team.iter().find(|member| member.id == id).map(|member| member.name.as_str())
            }
        }
    }

    /// `mixed` lists have conversations of every status, so each tells its own.
    pub fn chips(&self, times: &Times, mixed: bool) -> Vec<Chip> {
        let mut chips = Vec::new();
        let mut chip = |kind, icon, text: String| chips.push(Chip { kind, icon, text });
        if let Some(risk) = &self.risk {
            let risk = in_words(risk);
            let text = if self.held { format!("Held: {}", risk.to_lowercase()) } else { risk };
            chip("risk", "shield-alert", text);
        }
        if self.failed {
            chip("risk", "circle-alert", "Not sent".into());
        }
        if self.to_approve {
            chip("agent", "bot", "Draft to approve".into());
        }
        if self.urgency.as_deref() == Some("high") {
            chip("warn", "flame", "Urgent".into());
        }
        if let Some(until) = &self.snoozed_until {
            chip("", "alarm-clock", times.brief(until));
        } else if mixed {
            match self.status {
                Status::Open => {}
                other => chip("", status::icon(other, false), status::name(other, false).into()),
            }
        }
        chips
    }
}
