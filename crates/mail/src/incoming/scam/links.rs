//! Recognizes links that show one address and lead to another. A link whose text is not an address is never
//! suspicious. Specification 6.2.

use url::Url;

use super::domains::{belong_together, is_one_of};
use rookery_reading::mail::parse::{HtmlLink, ParsedMail};

/// Hosts that security products and phones rewrite links to; that is not the sender's doing.
const REWRITERS: &[&str] = &[
    "safelinks.protection.outlook.com",
    "urldefense.com",
    "urldefense.proofpoint.com",
    "protect-us.mimecast.com",
    "protect-eu.mimecast.com",
    "linkprotect.cudasvc.com",
    "google.com",
    "deref-gmx.net",
    "deref-web.de",
];

pub(super) fn hide_their_target(mail: &ParsedMail) -> bool {
    mail.links.iter().any(|link| has_address_as_user(link) || mismatch(link).is_some())
}

pub(super) fn pretend_to_be_ours(mail: &ParsedMail, ours: &[String]) -> bool {
    mail.links
        .iter()
        .filter_map(mismatch)
        .any(|(shown, target)| is_one_of(&shown, ours) && !is_one_of(&target, ours))
}

/// `https://bank.example@evil.test/` leads to evil.test.
fn has_address_as_user(link: &HtmlLink) -> bool {
    web_address(&link.target).is_some_and(|url| url.username().contains('.'))
}

fn mismatch(link: &HtmlLink) -> Option<(String, String)> {
    let shown = shown_host(&link.text)?;
    let target = web_address(&link.target)?.host_str()?.to_lowercase();
    let rewritten = REWRITERS.iter().any(|host| target == *host || target.ends_with(&format!(".{host}")));
    (!rewritten && !belong_together(&shown, &target)).then_some((shown, target))
}

fn web_address(target: &str) -> Option<Url> {
    Url::parse(target).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// The host a link's text names, if its text is an address and nothing else.
fn shown_host(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(char::is_whitespace) || text.contains('@') {
        return None;
    }
    if text.contains("://") {
        return web_address(text)?.host_str().map(str::to_lowercase);
    }
    let host = text.split(['/', '?', '#', ':']).next()?;
    let last = host.rsplit('.').next()?;
    // "Invoice.pdf" and "3.5" are no hosts.
    let is_host = host.contains('.')
        && (host.to_lowercase().starts_with("www.") || text.contains('/') || is_common_end(last))
        && last.len() >= 2
        && last.chars().all(char::is_alphabetic);
    is_host.then(|| web_address(&format!("https://{host}/")))??.host_str().map(str::to_lowercase)
}

fn is_common_end(last: &str) -> bool {
    const ENDS: &[&str] = &[
        "com", "net", "org", "info", "biz", "io", "co", "eu", "de", "at", "ch", "fr", "es", "it", "pt", "nl",
        "be", "uk", "ie", "se", "no", "dk", "fi", "cz", "tr", "us", "ca", "au", "jp", "cn", "kr", "in", "br",
        "mx", "app", "dev", "online", "shop", "site", "xyz", "test", "example",
    ];
    ENDS.contains(&last.to_lowercase().as_str())
}
