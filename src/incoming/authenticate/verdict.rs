//! The result of authenticating a mail. Stored with the message, and shown when someone asks why it was filed
//! where it is.

use serde::{Deserialize, Serialize};

use super::coverage::Part;
use crate::incoming::organization;

/// The result of one check, in the words of RFC 8601.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    Pass,
    Fail,
    SoftFail,
    Neutral,
    TempError,
    PermError,
    #[default]
    None,
}

/// The result of authenticating a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
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
    pub vouched: Vec<Part>,
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
pub enum Standing {
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

impl Verdict {
    /// Mail that nobody checked: imported, or simulated with the DMARC result that was asked for.
    pub fn unchecked(dmarc: Dmarc) -> Self {
        let dmarc = match dmarc {
            Dmarc::Pass => Check::Pass,
            Dmarc::Fail => Check::Fail,
            Dmarc::Unknown => Check::None,
        };
        let vouched = if dmarc == Check::Pass { Part::ALL.to_vec() } else { Vec::new() };
        Self { dmarc, vouched, ..Self::default() }
    }

    pub fn is_confirmed(&self) -> bool {
        self.dmarc == Check::Pass
    }

    pub fn vouches_for(&self, part: Part) -> bool {
        self.is_confirmed() && self.vouched.contains(&part)
    }

    pub fn standing(&self, sender: Option<&str>) -> Standing {
        let its_own = |domain: &String| sender.is_some_and(|sender| organization::is_shared(domain, sender));
        let sent = self.spf_domain.iter().filter(|_| self.spf == Check::Pass);
        match self.dmarc {
            Check::Pass => Standing::Confirmed,
            Check::Fail => Standing::Denied,
            _ if self.dkim_domains.iter().chain(sent).any(its_own) => Standing::Plausible,
            _ => Standing::Unknown,
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

impl Check {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::SoftFail => "softfail",
            Self::Neutral => "neutral",
            Self::TempError => "temperror",
            Self::PermError => "permerror",
            Self::None => "none",
        }
    }
}
