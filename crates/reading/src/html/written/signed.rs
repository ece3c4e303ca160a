//! A formatted signature under the words of a mail: a blank line apart, as in its text, and taken off again exactly as it was put
//! there.

use super::clean::stored;

/// The line between them.
const GAP: &str = "<div><br></div>";

/// Words with a signature under them, both as they are stored; the words may be of the service (`from_text`). None if this
/// is too much to keep, or the signature could not be taken off again.
pub fn signed(words: &str, signature: &str) -> Option<String> {
    let gap = if words.is_empty() { "" } else { GAP };
    let whole = stored(&format!("{words}{gap}{signature}"))?;
    unsigned(&whole, signature)?;
    Some(whole)
}

/// The words alone; none if this signature is not at the end.
pub fn unsigned<'a>(whole: &'a str, signature: &str) -> Option<&'a str> {
    let words = whole.strip_suffix(signature).filter(|_| !signature.is_empty())?;
    if words.is_empty() { Some(words) } else { words.strip_suffix(GAP) }
}
