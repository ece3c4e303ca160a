//! An address as a line of the log holds it: its domain, and the part before the @ only where the operator asks for it
//! (ROOKERY_LOG_ADDRESSES). Strangers write addresses, so a line holds only so much of one.

use std::fmt;

/// The longest address that mail servers take (RFC 5321 4.5.3.1), and the longest domain.
const LONGEST: usize = 320;
const LONGEST_DOMAIN: usize = 255;

pub struct LoggedAddress<'a> {
    pub address: &'a str,
    pub whole: bool,
}

impl fmt::Display for LoggedAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, longest) = match (self.whole, self.address.rsplit_once('@')) {
            // Bounces come from nobody.
            _ if self.address.is_empty() => ("<>", LONGEST),
            (true, _) => (self.address, LONGEST),
            (false, Some((_, domain))) => (domain, LONGEST_DOMAIN),
            (false, None) => ("no domain", LONGEST_DOMAIN),
        };
        shown.chars().take(longest).try_for_each(|character| fmt::Write::write_char(f, character))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_domain_unless_the_operator_asks_for_more() {
        let shown = |address: &str, whole| LoggedAddress { address, whole }.to_string();
        assert_eq!(shown("ann.secret@customer.example", false), "customer.example");
        assert_eq!(shown("ann.secret@customer.example", true), "ann.secret@customer.example");
        assert_eq!(shown("\"a@b\"@customer.example", false), "customer.example");
        assert_eq!(shown("", false), "<>");
        assert_eq!(shown("ann", false), "no domain");
        assert_eq!(shown(&format!("ann@{}", "x".repeat(9000)), false).len(), LONGEST_DOMAIN);
    }
}
