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
    pub fn from_address(address: &str) -> Self {
        let address = address.to_lowercase();
        let Some((local, domain)) = address.rsplit_once('@') else { return Self::Delivered };
        if domain.rsplit('.').next() != Some("test") {
            return Self::Delivered;
        }
        let word = local.split('+').next();
        let known = MAGIC.iter().find(|known| Some(known.word) == word);
        known.map_or(Self::Delivered, |known| known.magic)
    }
}

/// What a word does, for whoever reads about it.
pub struct Explained {
    pub word: &'static str,
    magic: Magic,
    pub about: &'static str,
    /// What becomes of the message.
    pub status: &'static str,
    /// What test webhooks hear.
    pub events: &'static [&'static str],
}

/// The one list of words.
pub const MAGIC: &[Explained] = &[
    Explained {
        word: "delivered",
        magic: Magic::Delivered,
        about: "Arrives, and nothing comes back. So does every other word.",
        status: "sent",
        events: &["message.sent"],
    },
    Explained {
        word: "reply",
        magic: Magic::Reply,
        about: "Arrives. About 5 seconds later the recipient writes back in the same conversation.",
        status: "sent",
        events: &["message.sent", "client.replied"],
    },
    Explained {
        word: "docs",
        magic: Magic::Docs,
        about: "The same, with invoice.pdf attached, which is filed as a document.",
        status: "sent",
        events: &["message.sent", "client.replied"],
    },
    Explained {
        word: "ooo",
        magic: Magic::Ooo,
        about: "Arrives. An out-of-office note comes back, which is no reply.",
        status: "sent",
        events: &["message.sent"],
    },
    Explained {
        word: "bounce",
        magic: Magic::Bounce,
        about: "Is refused at once, for good.",
        status: "failed",
        events: &[],
    },
    Explained {
        word: "complaint",
        magic: Magic::Complaint,
        about: "Arrives, then is reported as spam: every later mail to this address fails.",
        status: "sent",
        events: &["message.sent"],
    },
];

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
            assert_eq!(Magic::from_address(address), magic, "{address}");
        }
    }
}
