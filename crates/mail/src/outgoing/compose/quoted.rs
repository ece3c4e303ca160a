//! The answered mail as it is quoted below the text of a letter. Name and text are the sender's: they are reduced
//! to plain lines here, and cut when long.

use rookery_core::conversations::messages::reply_context::{Answered, QUOTED};
use rookery_reading::text;

/// A quote with its opening line.
#[derive(Debug)]
pub struct Quoted {
    pub opening: String,
    pub text: String,
}

impl Quoted {
    pub fn from_answered(answered: &Answered) -> Self {
        let sender = match answered.from_name.as_deref().map(text::line).filter(|name| !name.is_empty()) {
            Some(name) => format!("{name} <{}>", text::line(&answered.from_email)),
            None => text::line(&answered.from_email),
        };
        let mut text = text::lines(&answered.text).trim_end().to_owned();
        if answered.text.chars().count() > QUOTED {
            text = text.chars().take(QUOTED).chain("\n[…]".chars()).collect();
        }
        Self {
            opening: format!("On {}, {sender} wrote:", answered.at.format("%-d %B %Y at %H:%M UTC")),
            text,
        }
    }
}
