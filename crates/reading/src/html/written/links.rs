//! Where a link may lead from a mail of ours: to the web, to a mail address, to a telephone; and whether its words say already
//! where that is.

use url::Url;

/// A longer link is left out: nobody can see where it leads.
const MAX_BYTES: usize = 2_048;

/// An address in the form that is kept, if a link may lead there.
pub fn address(value: &str) -> Option<String> {
    let mut address = Url::parse(value.trim()).ok()?;
    if address.scheme() == "mailto" {
        // Further recipients and words that nobody sees.
        address.set_query(None);
        address.set_fragment(None);
    }
    let is_sound = match address.scheme() {
        "http" | "https" => {
            address.has_host() && address.username().is_empty() && address.password().is_none()
        }
        "mailto" | "tel" => address.cannot_be_a_base() && !address.path().trim().is_empty(),
        _ => false,
    };
    // As the parser wrote it out, so that a browser reads what we have judged.
    Some(address.to_string()).filter(|address| is_sound && address.len() <= MAX_BYTES)
}

/// Where a link leads, as people write it: of a mail address or a number only this.
pub fn readable(href: &str) -> &str {
    href.strip_prefix("mailto:").or_else(|| href.strip_prefix("tel:")).unwrap_or(href)
}

/// Whether one who reads only the words of a link knows where it leads.
pub fn is_said(href: &str, words: &str) -> bool {
    let words = words.trim();
    if words.len() > MAX_BYTES {
        return false;
    }
    let leads_there = |words: &str| address(words).as_deref() == Some(href);
    match href.split_once(':') {
        Some(("mailto", _)) => {
            words.strip_prefix("mailto:").unwrap_or(words).eq_ignore_ascii_case(readable(href))
        }
        Some(("tel", number)) => !words.contains(char::is_alphabetic) && digits(words).eq(digits(number)),
        _ => {
            leads_there(words)
                || leads_there(&format!("https://{words}"))
                || leads_there(&format!("http://{words}"))
        }
    }
}

/// Whether the words of a link are a link by themselves, as mail of text has them.
pub fn is_text(href: &str, words: &str) -> bool {
    match href.split_once(':') {
        Some(("mailto", _)) => is_said(href, words),
        Some(("http" | "https", _)) => words.len() <= MAX_BYTES && address(words).as_deref() == Some(href),
        _ => false,
    }
}

fn digits(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| letter.is_ascii_digit() || *letter == '+')
}
