//! How the directory spells addresses: the domain in its ASCII form, the local part in lower case, and what stands after its
//! first `+` a tag. However an address was typed, it has one key.

/// A domain in its ASCII form, without a dot at its end. What cannot be converted is left as it is, in lower case.
pub fn ascii_domain(domain: &str) -> String {
    let domain = domain.trim();
    let ascii = idna::domain_to_ascii(domain).unwrap_or_else(|_| domain.to_lowercase());
    ascii.trim_end_matches('.').to_owned()
}

/// The domain of an address, in its ASCII form.
pub fn domain_of(address: &str) -> String {
    ascii_domain(address.rsplit('@').next().unwrap_or_default())
}

/// The local part without its tag.
pub fn untagged(local: &str) -> &str {
    match local.split_once('+') {
        // `+x@` has nothing before its tag.
        Some(("", _)) | None => local,
        Some((base, _)) => base,
    }
}

/// What an address is known by: its local part without a tag, at its domain in ASCII.
pub fn key(address: &str) -> String {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local).to_lowercase();
    format!("{}@{}", untagged(&local), domain_of(address))
}

/// The same address by each spelling of its domain, tag included.
pub fn spellings(address: &str) -> Vec<String> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Vec::new() };
    let local = local.to_lowercase();
    let mut found = Vec::new();
    for domain in domain_spellings(domain) {
        let spelled = format!("{local}@{domain}");
        if !found.contains(&spelled) {
            found.push(spelled);
        }
    }
    found
}

/// A domain as it was given, in its ASCII and in its Unicode form.
pub fn domain_spellings(domain: &str) -> Vec<String> {
    let given = domain.trim_end_matches('.').to_lowercase();
    let ascii = ascii_domain(&given);
    let mut all = vec![given, ascii.clone()];
    if let (unicode, Ok(())) = idna::domain_to_unicode(&ascii) {
        all.push(unicode);
    }
    let mut once: Vec<String> = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// The domain itself and those above it, down to the one that an organization has. Nobody has what is above that.
pub fn with_those_above(domain: &str) -> Vec<String> {
    let organization = psl::domain_str(domain).unwrap_or(domain);
    let mut all = vec![domain.to_owned()];
    let mut rest = domain;
    while rest.len() > organization.len()
        && let Some((_, above)) = rest.split_once('.')
    {
        all.push(above.to_owned());
        rest = above;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_an_address_is_typed_it_has_one_key() {
        for typed in [
            "hilfe@müller.example",
            "HILFE@MÜLLER.example",
            "hilfe@xn--mller-kva.example",
            "hilfe@XN--MLLER-KVA.example.",
            "hilfe+inv-1042@müller.example",
            "hilfe@mu\u{308}ller.example",
            "hilfe@müller。example",
        ] {
            assert_eq!(key(typed), "hilfe@xn--mller-kva.example", "{typed}");
        }
        assert_eq!(key("+x@acme.example"), "+x@acme.example");
    }

    #[test]
    fn a_domain_is_looked_up_with_those_above_it() {
        assert_eq!(
            with_those_above("a.b.acme.example"),
            ["a.b.acme.example", "b.acme.example", "acme.example"]
        );
        assert_eq!(with_those_above("acme.co.uk"), ["acme.co.uk"]);
        assert_eq!(with_those_above("one.github.io"), ["one.github.io"]);
        assert_eq!(with_those_above("co.uk"), ["co.uk"]);
        assert_eq!(with_those_above("localhost"), ["localhost"]);
    }

    #[test]
    fn each_spelling_of_a_domain_is_known() {
        let both = ["help@xn--mller-kva.example", "help@müller.example"];
        assert_eq!(spellings(both[0]), both);
        assert_eq!(spellings(both[1]), [both[1], both[0]]);
        assert!(spellings("postmaster").is_empty());
    }
}
