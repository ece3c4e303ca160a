//! The result of authenticating a mail. Stored with the message, and shown when someone asks why it was filed
//! where it is.

use serde::{Deserialize, Serialize};

use super::coverage::MailPart;
use rookery_core::workspace::domains::organization;

rookery_base::text_enum! {
    /// The result of one check, in the words of RFC 8601.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Check {
        Pass = "pass",
        Fail = "fail",
        SoftFail = "softfail",
        Neutral = "neutral",
        TempError = "temperror",
        PermError = "permerror",
        #[default]
        None = "none",
    }
}

/// The result of authenticating a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationVerdict {
    pub spf: Check,
    /// The domain that SPF checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spf_domain: Option<String>,
    /// The best of all signatures.
    pub dkim: Check,
    /// Domains with a valid signature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dkim_domains: Vec<String>,
    pub dmarc: Check,
    pub arc: Check,
    /// Parts that are authentic when DMARC passes, besides From and the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vouched: Vec<MailPart>,
    /// The envelope sender is empty, as for bounces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null_sender: bool,
    /// DMARC failed and the author's domain publishes `p=reject`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwanted: bool,
    /// The operator's setting is to hold such mail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// How far a sender is authenticated. It is part of the content hash: copies of a mail are the same mail only if
/// they are authenticated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SenderStanding {
    /// DMARC failed.
    Denied,
    Unknown,
    /// No DMARC result, but SPF or a DKIM signature of the sender's organization passed.
    Plausible,
    Confirmed,
}

/// DMARC, reduced to what decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dmarc {
    Pass,
    Fail,
    /// Not checked, or the domain has no policy. Not a pass.
    Unknown,
}

impl AuthenticationVerdict {
    /// Mail that nobody checked: imported, or simulated with the DMARC result that was asked for.
    pub fn unchecked(dmarc: Dmarc) -> Self {
        let dmarc = match dmarc {
            Dmarc::Pass => Check::Pass,
            Dmarc::Fail => Check::Fail,
            Dmarc::Unknown => Check::None,
        };
        let vouched = if dmarc == Check::Pass { MailPart::ALL.to_vec() } else { Vec::new() };
        Self { dmarc, vouched, ..Self::default() }
    }

    pub fn is_confirmed(&self) -> bool {
        self.dmarc == Check::Pass
    }

    pub fn vouches_for(&self, part: MailPart) -> bool {
        self.is_confirmed() && self.vouched.contains(&part)
    }

    pub fn standing(&self, sender: Option<&str>) -> SenderStanding {
        let its_own = |domain: &String| sender.is_some_and(|sender| organization::is_shared(domain, sender));
        let sent = self.spf_domain.iter().filter(|_| self.spf == Check::Pass);
        match self.dmarc {
            Check::Pass => SenderStanding::Confirmed,
            Check::Fail => SenderStanding::Denied,
            _ if self.dkim_domains.iter().chain(sent).any(its_own) => SenderStanding::Plausible,
            _ => SenderStanding::Unknown,
        }
    }

    pub fn dmarc(&self) -> Dmarc {
        match self.dmarc {
            Check::Pass => Dmarc::Pass,
            Check::Fail => Dmarc::Fail,
            _ => Dmarc::Unknown,
        }
    }
}
