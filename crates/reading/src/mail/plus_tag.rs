//! The reference in a plus tag (specification 4.13.1): letters, digits, `_` and `-`, at least one digit, at
//! most 40 characters. Any other tag is an ordinary plus address.

const LONGEST: usize = 40;
/// Error for a text that is not a reference.
pub const NOT_ONE: &str = "must be letters, digits, _ and - with at least one digit";

/// A reference in its stored form, if the text is one.
pub fn parse(text: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let sound = (1..=LONGEST).contains(&text.len())
        && text.bytes().all(allowed)
        && text.bytes().any(|byte| byte.is_ascii_digit());
    sound.then(|| text.to_ascii_lowercase())
}

/// The tag of an address that is the inbox's with a plus tag: what stands after the first `+`.
///
/// The inbox's own address is never taken apart, even when it has a `+` of its own.
pub fn tag_of<'a>(address: &'a str, inbox: &str) -> Option<&'a str> {
    if address.eq_ignore_ascii_case(inbox) {
        return None;
    }
    let (local, domain) = address.rsplit_once('@')?;
    let (base, tag) = local.split_once('+')?;
    let (inbox_local, inbox_domain) = inbox.rsplit_once('@')?;
    (base.eq_ignore_ascii_case(inbox_local) && domain.eq_ignore_ascii_case(inbox_domain)).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_reference_comes_back_in_lower_case() {
        assert_eq!(parse("INV-1042"), Some("inv-1042".into()));
        assert_eq!(parse(&"7".repeat(40)), Some("7".repeat(40)));
    }

    #[test]
    fn anything_else_is_an_ordinary_plus_address() {
        for tag in ["", "news", "a/1", "a%1", "ä1", "a 1", "a+1", "a.1", &"7".repeat(41)] {
            assert_eq!(parse(tag), None, "{tag}");
        }
    }

    #[test]
    fn a_tag_is_found_only_on_the_inboxs_own_address() {
        assert_eq!(tag_of("Help+INV-1@acme.example", "help@acme.example"), Some("INV-1"));
        assert_eq!(tag_of("help+a+1@acme.example", "help@acme.example"), Some("a+1"));
        assert_eq!(tag_of("help@acme.example", "help@acme.example"), None);
        assert_eq!(tag_of("sales+1@acme.example", "help@acme.example"), None);
        assert_eq!(tag_of("help+1@other.example", "help@acme.example"), None);
        assert_eq!(tag_of("help+1@acme.example", "help+1@acme.example"), None);
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(address in ".*", inbox in ".*") {
            let _ = tag_of(&address, &inbox).map(parse);
        }
    }
}
