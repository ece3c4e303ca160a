//! All that somebody who gets a letter reads of it, beside its files: the mail is made of it, and so is what people are shown before it
//! leaves (`outgoing/whole_mail`). Subject and names may come from outside: each is reduced to one line.

use super::quoted::Quoted;
use rookery_base::relay::mailer::OutgoingLetter;
use rookery_core::conversations::messages::reply_context::ReplyContext;
use rookery_reading::html::written;
use rookery_reading::text;

#[derive(Debug)]
pub struct Wording {
    pub from_name: Option<String>,
    pub subject: String,
    pub written: String,
    /// The same as HTML, if its writer formatted it.
    pub formatted: Option<String>,
    /// The answered mail, under what was written.
    pub quoted: Option<Quoted>,
}

impl Wording {
    pub fn from_letter(letter: &OutgoingLetter, earlier: &ReplyContext) -> Self {
        // Automatic mail such as a reminder quotes nothing.
        let quoted = earlier.answers.as_ref().filter(|_| !earlier.automatic && earlier.quotes);
        Self {
            from_name: letter.from_name.as_deref().map(text::line).filter(|name| !name.is_empty()),
            // An automatic reply has its subject as somebody wrote it.
            subject: subject(&letter.subject, earlier.answers.is_some() && !earlier.auto_reply),
            written: text::lines(&letter.text).trim_end().to_owned(),
            formatted: None,
            quoted: quoted.map(Quoted::from_answered),
        }
    }

    /// With the formatting that its writer gave it, if that still says what the text says.
    pub fn formatted_as(mut self, stored: Option<&str>) -> Self {
        self.formatted = stored.and_then(|stored| written::whole(stored, &self.written));
        self
    }

    /// The plain text.
    pub fn plain(&self) -> String {
        let mut plain = format!("{}\n", self.written);
        if let Some(quoted) = &self.quoted {
            plain.push_str(&format!("\n{}\n\n", quoted.opening));
            for line in quoted.text.lines() {
                // A quoted line gets one more `>`, without a space.
                let gap = if line.is_empty() || line.starts_with('>') { "" } else { " " };
                plain.push_str(&format!(">{gap}{line}\n"));
            }
        }
        plain
    }
}

pub(super) fn subject(subject: &str, answers: bool) -> String {
    let subject = text::line(subject);
    let begins = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if answers && !begins { format!("Re: {subject}") } else { subject }
}
