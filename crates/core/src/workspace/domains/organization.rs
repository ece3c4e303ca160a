//! The organizational domain of an address, by the public suffix list. Two addresses of one organization are
//! colleagues, except at public mail providers, whose users have nothing to do with each other (specification
//! 4.13.3).

use std::collections::HashSet;
use std::sync::LazyLock;

static PROVIDERS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("organization/public_providers.txt").lines();
    lines.filter(|line| !line.starts_with('#')).collect()
});

/// The organizational domain of an address, in ASCII form. `None` for a public suffix or an invalid domain.
pub fn from_address(address: &str) -> Option<String> {
    let domain = address.rsplit_once('@').map_or(address, |(_, domain)| domain);
    let domain = idna::domain_to_ascii(domain).ok()?;
    psl::domain_str(domain.trim_end_matches('.')).map(str::to_owned)
}

/// Whether two addresses are of one organization.
pub fn is_shared(one: &str, other: &str) -> bool {
    from_address(one).is_some_and(|organization| from_address(other) == Some(organization))
}

/// Whether two addresses are of one organization that is not a public mail provider.
pub fn are_colleagues(one: &str, other: &str) -> bool {
    from_address(one).is_some_and(|organization| {
        from_address(other).as_ref() == Some(&organization) && !is_public(&organization)
    })
}

pub fn is_public(organization: &str) -> bool {
    let name = organization.split('.').next().unwrap_or_default();
    PROVIDERS.contains(organization) || PROVIDERS.contains(format!("{name}.*").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_organization_is_what_stands_before_a_public_suffix() {
        for (address, organization) in [
            ("anna@customer.example", Some("customer.example")),
            ("anna@mail.eu.customer.co.uk", Some("customer.co.uk")),
            ("anna@Müller.example", Some("xn--mller-kva.example")),
            ("anna@one.github.io", Some("one.github.io")),
            ("anna@co.uk", None),
            ("anna@example", None),
            ("anna", None),
        ] {
            assert_eq!(from_address(address).as_deref(), organization, "{address}");
        }
        assert!(is_shared("a@gmail.com", "b@gmail.com") && !is_shared("a@one.github.io", "b@two.github.io"));
    }

    #[test]
    fn nobody_is_a_colleague_at_a_public_provider() {
        assert!(are_colleagues("anna@customer.example", "ben@sales.customer.example"));
        for (one, other) in [
            ("anna@customer.example", "ben@other.example"),
            ("anna@customer.co.uk", "ben@other.co.uk"),
            ("anna@gmail.com", "ben@gmail.com"),
            ("anna@yahoo.co.jp", "ben@yahoo.co.jp"),
            ("anna@yahoo.com", "ben@mail.yahoo.com"),
            ("anna@web.de", "ben@web.de"),
            ("anna@one.github.io", "ben@two.github.io"),
            ("anna@reply.airbnb.com", "ben@guest.airbnb.com"),
            ("anna@marketplace.amazon.de", "ben@marketplace.amazon.de"),
        ] {
            assert!(!are_colleagues(one, other), "{one} {other}");
        }
    }

    #[test]
    fn every_provider_is_written_as_its_organizational_domain() {
        assert!(PROVIDERS.len() > 700, "{}", PROVIDERS.len());
        let listed = PROVIDERS.iter().filter(|provider| !provider.ends_with(".*"));
        let other: Vec<_> =
            listed.filter(|provider| from_address(provider).as_deref() != Some(provider)).collect();
        assert!(other.is_empty(), "{other:?}");
    }
}
