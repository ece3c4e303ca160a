//! Addresses that are nobody's inbox: those of the server itself. Whoever reads postmaster@ or admin@ of a host can get a
//! certificate for it, and whoever reads the address that service mail comes from reads what comes back of it.

use rookery_base::config::Config;
use rookery_base::search_terms::fold;
use rookery_base::store::addresses::{ascii_domain, domain_of, untagged};

/// What service mail comes from, before the @.
pub const SENDER: &str = "rookery";

/// RFC 2142, what certificate authorities write to, and names that people take for the server.
const ROLES: [&str; 26] = [
    SENDER,
    "abuse",
    "admin",
    "administrator",
    "bounce",
    "bounces",
    "ftp",
    "hostmaster",
    "mailer-daemon",
    "news",
    "no-reply",
    "nobody",
    "noc",
    "noreply",
    "postmaster",
    "root",
    "security",
    "ssladmin",
    "ssladministrator",
    "sslwebmaster",
    "sysadmin",
    "system",
    "usenet",
    "uucp",
    "webmaster",
    "www",
];

/// The names of the server itself: where mail and people reach it, and where pictures of mail come from.
pub fn hosts(config: &Config) -> Vec<String> {
    let content = config.content_url.as_ref().and_then(|url| url.host_str());
    let named =
        [Some(config.mail_name()), config.public_url.host_str().map(String::from), content.map(String::from)];
    named.into_iter().flatten().map(|host| ascii_domain(&host)).collect()
}

pub fn is_host(config: &Config, domain: &str) -> bool {
    hosts(config).contains(&ascii_domain(domain))
}

/// Whether an address is one of the server's own, however it is spelled.
pub fn is_reserved(config: &Config, address: &str) -> bool {
    is_host(config, &domain_of(address)) && ROLES.contains(&local_of(address).as_str())
}

/// Whether service mail comes from this address, with whatever tag.
pub fn is_sender(config: &Config, address: &str) -> bool {
    domain_of(address) == ascii_domain(&config.mail_name()) && local_of(address) == SENDER
}

fn local_of(address: &str) -> String {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local).trim_matches('"');
    fold(untagged(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let given = [
            ("ROOKERY_DATABASE_URL", "x"),
            ("ROOKERY_PUBLIC_URL", "https://desk.acme.example"),
            ("ROOKERY_MAIL_NAME", "mx.müller.example"),
        ];
        Config::load(None, given.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap()
    }

    #[test]
    fn a_role_of_the_server_is_reserved_whatever_its_spelling() {
        let config = config();
        for address in [
            "postmaster@mx.müller.example",
            "PostMaster@MX.xn--mller-kva.example.",
            "admin+x@desk.acme.example",
            "rookery@desk.acme.example",
            "ädmin@desk.acme.example",
            "\"root\"@desk.acme.example",
            "ｗｅｂｍａｓｔｅｒ@desk.acme.example",
        ] {
            assert!(is_reserved(&config, address), "{address}");
        }
        for address in ["help@desk.acme.example", "admin@acme.example", "postmaster@other.example", "admin"] {
            assert!(!is_reserved(&config, address), "{address}");
        }
        assert!(is_sender(&config, "Rookery+n=1=2@mx.müller.example"));
        assert!(!is_sender(&config, "rookery@desk.acme.example"));
    }
}
