//! Magic recipients (specification 8.3): what becomes of a mail in the sandbox is read from the first part of
//! its address, before any `+`, at any `.test` domain.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// Delivered, and nothing comes back.
    Delivered,
    Bounce,
    Complaint,
    Reply,
    Docs,
    Ooo,
}

impl Magic {
    pub fn of(address: &str) -> Self {
        let address = address.to_lowercase();
        let Some((local, domain)) = address.rsplit_once('@') else { return Self::Delivered };
        if domain.rsplit('.').next() != Some("test") {
            return Self::Delivered;
        }
        match local.split('+').next() {
            Some("bounce") => Self::Bounce,
            Some("complaint") => Self::Complaint,
            Some("reply") => Self::Reply,
            Some("docs") => Self::Docs,
            Some("ooo") => Self::Ooo,
            _ => Self::Delivered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// proves: SBX-11, SBX-19
    #[test]
    fn the_word_before_any_plus_decides_in_any_letter_case_at_any_test_domain() {
        for (address, magic) in [
            ("reply@customer.test", Magic::Reply),
            ("REPLY+order-7@a.b.test", Magic::Reply),
            ("Docs@x.TEST", Magic::Docs),
            ("ooo++@x.test", Magic::Ooo),
            ("bounce+@x.test", Magic::Bounce),
            ("complaint@x.test", Magic::Complaint),
            ("delivered@x.test", Magic::Delivered),
            ("replys@x.test", Magic::Delivered),
            ("my+reply@x.test", Magic::Delivered),
            ("+reply@x.test", Magic::Delivered),
            ("reply@test.example", Magic::Delivered),
            ("reply", Magic::Delivered),
        ] {
            assert_eq!(Magic::of(address), magic, "{address}");
        }
    }
}
