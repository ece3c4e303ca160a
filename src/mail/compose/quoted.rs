//! The mail that a letter answers, as it stands below the letter's text.
//! Names and words are the sender's: they are held to lines here, and cut where they are long.

use crate::conversations::earlier::{Answered, QUOTED};
use crate::text;

/// The answered mail as it stands below the text.
pub struct Quoted {
    pub opening: String,
    pub text: String,
}

impl Quoted {
    pub fn of(answered: &Answered) -> Self {
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
