//! Where a client may have people come back to: an https address, or http on the person's own machine. What it registered
//! is compared letter by letter, but for the port on that machine, which programs take as it comes (RFC 8252, 7.3).

use url::{Host, Url};

const LONGEST: usize = 1000;

/// Whether it may be registered at all.
pub fn is_sound(redirect: &str) -> bool {
    read(redirect).is_some()
}

/// Whether a client that registered the one may come back to the other.
pub fn is_same(registered: &str, asked: &str) -> bool {
    let (Some(known), Some(wanted)) = (read(registered), read(asked)) else { return false };
    registered == asked || is_own_machine(&known) && without_port(known) == without_port(wanted)
}

/// Whether it leads to a program on the person's own machine.
pub fn is_own_machine(url: &Url) -> bool {
    url.scheme() == "http"
        && match url.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
}

/// Only what reads the same to everybody: a text that a parser would change may mean another place to another parser.
pub fn read(text: &str) -> Option<Url> {
    let plain = text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let url = Url::parse(text).ok().filter(|_| plain)?;
    let unchanged = url.as_str() == text || url.as_str().strip_suffix('/') == Some(text);
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    let safe = url.scheme() == "https" && url.has_host() || is_own_machine(&url);
    (unchanged && bare && safe).then_some(url)
}

fn without_port(mut url: Url) -> Option<Url> {
    url.set_port(None).ok().map(|()| url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_to_come_back_to_is_https_or_the_persons_own_machine() {
        for sound in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://app.example",
            "https://app.example:8443/back?x=1",
            "http://localhost:3118/callback",
            "http://127.0.0.1/callback",
            "http://[::1]:9/",
        ] {
            assert!(is_sound(sound), "{sound}");
        }
        for bad in [
            "",
            "/callback",
            "http://app.example/callback",
            "http://localhost.evil.example/callback",
            "http://127.0.0.1.evil.example/callback",
            "http://0.0.0.0/callback",
            "http://2130706433/callback",
            "https://app.example/#code",
            "https://app.example@evil.example/",
            "https://user:word@app.example/",
            "https://@app.example/",
            "https://app.example\\@evil.example/",
            "https://app.example/a/../b",
            "https:app.example/b",
            "HTTPS://app.example/b",
            "https://ÄPP.example/b",
            "https://app.example/ b",
            "javascript:alert(1)",
            "data:text/html,x",
            "cursor://anysphere.cursor-mcp/oauth/callback",
        ] {
            assert!(!is_sound(bad), "{bad}");
        }
    }

    #[test]
    fn only_the_port_of_the_own_machine_may_differ() {
        for (registered, asked) in [
            ("https://app.example/back", "https://app.example/back"),
            ("http://localhost/callback", "http://localhost:51234/callback"),
            ("http://127.0.0.1:1/callback", "http://127.0.0.1:2/callback"),
            ("http://[::1]:1/callback", "http://[::1]/callback"),
        ] {
            assert!(is_same(registered, asked), "{registered} {asked}");
        }
        for (registered, asked) in [
            ("https://app.example/back", "https://app.example/back/"),
            ("https://app.example/back", "https://app.example/back?x=1"),
            ("https://app.example/back", "https://app.example:8443/back"),
            ("https://app.example/back", "https://evil.example/back"),
            ("https://app.example/back", "https://app.example/back#x"),
            ("http://localhost/callback", "http://127.0.0.1/callback"),
            ("http://localhost/callback", "http://localhost/other"),
            ("http://localhost/callback", "https://localhost/callback"),
            ("http://localhost/callback", "http://localhost:1@evil.example/callback"),
            ("http://localhost/callback", "http://x@localhost/callback"),
        ] {
            assert!(!is_same(registered, asked), "{registered} {asked}");
        }
    }
}
