//! Links and addresses in the middle of a text. Names that go into the service's mail to strangers hold none: whoever chose the
//! name would have the operator's domain carry it to whom they like.
//!
//! A link is what mail programs make one of: something with `://`, a host of a known ending, a mail address.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use rookery_reading::text::without_unseen;

/// What somebody is told who typed a name with one.
pub const NO_LINKS: &str = "cannot hold a web or mail address";

/// Whether a link or an address stands in the text.
pub fn has_link(text: &str) -> bool {
    text.split(char::is_whitespace).any(|word| kind_of(word) != WordKind::Plain)
}

/// The text without them. Of a bare host the words stay, apart from each other.
pub fn without_links(text: &str) -> Cow<'_, str> {
    if !has_link(text) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let space = &piece[word.len()..];
        match kind_of(word) {
            WordKind::Plain => plain.push_str(word),
            WordKind::Host => plain.push_str(seen(word).replace('.', " ").trim()),
            WordKind::Link => plain.push('…'),
        }
        plain.push_str(space);
    }
    Cow::Owned(plain)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Plain,
    /// `acme.com`, which may be what a company is called.
    Host,
    Link,
}

/// As a mail program reads it: one spelling of every sign, and nothing that nobody sees.
fn seen(word: &str) -> String {
    without_unseen(word).nfkc().collect::<String>().replace('\u{3002}', ".")
}

fn kind_of(word: &str) -> WordKind {
    // Most words have none of the signs that make a link.
    if word.is_ascii() && !word.bytes().any(|byte| matches!(byte, b'.' | b'@' | b':')) {
        return WordKind::Plain;
    }
    let word = seen(word).to_lowercase();
    if word.contains("://") || word.contains("mailto:") {
        return WordKind::Link;
    }
    // Signs around it and between several.
    let apart = |letter: char| !(letter.is_alphanumeric() || ".-_@/:+%#?&=~".contains(letter));
    word.split(apart).map(kind_of_part).max_by_key(|kind| *kind as u8).unwrap_or(WordKind::Plain)
}

fn kind_of_part(part: &str) -> WordKind {
    let is_signed = |(before, after): (&str, &str)| {
        before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric)
    };
    if part.split_once('@').is_some_and(is_signed) {
        return WordKind::Link;
    }
    // `Refund:evil.com/claim`: what stands behind such a sign is read by itself, too.
    let signs = ['/', ':', '?', '#', '%', '&', '=', '~'];
    if part.split_once(signs).is_some_and(|(_, rest)| kind_of_part(rest) != WordKind::Plain) {
        return WordKind::Link;
    }
    let end = part.find(signs).unwrap_or(part.len());
    let (host, rest) = part.split_at(end);
    let host = host.trim_matches(['.', '-', '_', '@', '+']);
    let leads_on = rest.trim_start_matches([':', '/', '?', '#']).starts_with(char::is_alphanumeric);
    let labels = host.split('.').count();
    let is_whole = labels > 1 && host.split('.').all(|label| !label.is_empty());
    let has_letters = host
        .rsplit('.')
        .next()
        .is_some_and(|last| last.chars().count() > 1 && last.chars().any(char::is_alphabetic));
    match (is_whole, leads_on && rest.starts_with('/') && has_letters) {
        (false, _) => WordKind::Plain,
        (true, true) => WordKind::Link,
        (true, false) if host.starts_with("www.") || is_dotted_quad(host) => WordKind::Link,
        (true, false) if has_letters && ends_like_a_host(host) => {
            if leads_on {
                WordKind::Link
            } else {
                WordKind::Host
            }
        }
        // Whatever it ends with: three words with dots between them are a host's name, or read like one.
        (true, false) if labels > 2 && host.split('.').all(|label| label.chars().count() > 2) => {
            WordKind::Host
        }
        (true, false) => WordKind::Plain,
    }
}

/// By the list of public suffixes: `Dr.Smith` and `Node.js` are no hosts.
fn ends_like_a_host(host: &str) -> bool {
    let Ok(ascii) = idna::domain_to_ascii(host) else { return false };
    psl::suffix(ascii.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

fn is_dotted_quad(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_hosts_and_addresses_are_found_however_they_are_written() {
        for name in [
            "Your bank: refund 940 EUR, claim at https://bank.evil.example/r before noon. Support",
            "claim at evil.com",
            "Evil.Com!",
            "(evil.com)",
            "see evil.com/refund",
            "evil.example/refund",
            "www.evil.example",
            "bank.evil.example",
            "http://1.2.3.4",
            "192.0.2.7",
            "a@evil.example",
            "help＠evil.com",
            "evil。com",
            "evil．com",
            "ev\u{200b}il.co\u{200b}m",
            "mailto:a",
            "bücher.de",
            "почта.рф",
            "xn--bcher-kva.de",
            "evil.com:8080",
            "Acme|evil.com",
            "hxxp://evil",
            "Refund:evil.com/claim",
            "see/evil.com",
            "https:evil.com/x",
            "a#evil.com",
            "evil.com=",
            "evil.com~",
            "evil.com%",
        ] {
            assert!(has_link(name), "{name}");
            assert!(!has_link(&without_links(name)), "{name}: {}", without_links(name));
        }
    }

    #[test]
    fn names_of_people_and_companies_are_taken() {
        for name in [
            "Rosa Luz",
            "Dr. Smith",
            "Dr.Smith",
            "J.R.R. Tolkien",
            "St.Gallen",
            "Müller & Söhne GmbH & Co. KG",
            "Förderverein e.V.",
            "Barilla S.p.A.",
            "Node.js",
            "Rosa @ Acme",
            "@rosa",
            "30 min: call",
            "24/7 Support",
            "A/B",
            "O'Neil",
            "Acme, Inc.",
            "No. 5",
            "v2.0",
            "打ち合わせ",
            "Call (30 min.)",
            "AC/DC",
            "Yahoo!",
            "U.S.A.",
        ] {
            assert!(!has_link(name), "{name}");
            assert_eq!(without_links(name), name);
        }
    }

    #[test]
    fn what_is_taken_out_leaves_the_rest_as_it_was() {
        assert_eq!(without_links("Acme.io"), "Acme io");
        assert_eq!(without_links("A\n\nclaim at https://evil.example/r now.\n"), "A\n\nclaim at … now.\n");
        assert_eq!(without_links("Your code: {code booking 7}\n"), "Your code: {code booking 7}\n");
    }
}
