//! What sending services report, each in its own words, read into one form. An adapter is a pure function: it gets the
//! keys, the head and the bytes of a request, and gives reports whose signature holds, or nothing.
//!
//! Everything in a request is a stranger's until its signature is checked, and hostile after that: what cannot be read is
//! counted and said, and takes nothing else with it.

pub mod mailgun;
pub mod own;
pub mod postmark;
pub mod report;
pub mod resend;
pub mod sendgrid;
pub mod ses;

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hyper::HeaderMap;

use crate::app_mail::adapters::report::ReadReports;
use rookery_base::error::{Error, Result};

const LONGEST_KEY: usize = 2000;

rookery_base::text_enum! {
    /// Whose hook it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Provider {
        Postmark = "postmark",
        Resend = "resend",
        Ses = "ses",
        Mailgun = "mailgun",
        Sendgrid = "sendgrid",
        /// Our own JSON, for services that are not in this list.
        Own = "own",
    }
}

impl Provider {
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "Another service",
            Self::Postmark => "Postmark",
            Self::Resend => "Resend",
            Self::Ses => "Amazon SES",
            Self::Mailgun => "Mailgun",
            Self::Sendgrid => "SendGrid",
        }
    }

    /// We make the secret and the service uses it; else the service has a key, and somebody brings it here.
    pub fn uses_our_secret(self) -> bool {
        matches!(self, Self::Own | Self::Postmark)
    }

    /// Where the words of a mail are, when it is always the same place.
    pub fn content_url(self) -> Option<&'static str> {
        match self {
            Self::Postmark => Some("https://api.postmarkapp.com/messages/outbound/{id}/details"),
            Self::Resend => Some("https://api.resend.com/emails/{id}"),
            _ => None,
        }
    }

    /// What a request may weigh. SendGrid sends many events at once, and SNS wraps JSON in JSON.
    pub fn most_bytes(self) -> usize {
        match self {
            Self::Own | Self::Resend | Self::Mailgun => 256 << 10,
            Self::Postmark | Self::Ses => 512 << 10,
            Self::Sendgrid => 1 << 20,
        }
    }

    /// A key that somebody copied from the service, as the bytes it is used as.
    pub fn key(self, given: &str) -> Result<Vec<u8>> {
        let given = given.trim();
        let wrong = |what: &str| Err(Error::problem("key", what));
        if given.is_empty() || given.len() > LONGEST_KEY {
            return wrong("is required, in at most 2000 letters");
        }
        match self {
            Self::Own | Self::Postmark => wrong("is made here for this service, and not entered"),
            Self::Resend => resend::key(given).map_or_else(
                || wrong("must be the signing secret of the webhook, which begins with whsec_"),
                Ok,
            ),
            Self::Ses => ses::topic(given).map_or_else(
                || {
                    wrong(
                        "must be the ARN of the topic, such as arn:aws:sns:eu-west-1:123456789012:sent-mail",
                    )
                },
                Ok,
            ),
            Self::Mailgun => {
                if given.bytes().all(|byte| byte.is_ascii_graphic()) {
                    Ok(given.as_bytes().to_vec())
                } else {
                    wrong("must be the HTTP webhook signing key, one word")
                }
            }
            Self::Sendgrid => sendgrid::key(given).map_or_else(
                || wrong("must be the verification key of the Event Webhook, which begins with MFkw"),
                Ok,
            ),
        }
    }

    /// The secret we made, as the service wants it.
    pub fn secret_text(self, secret: &[u8]) -> String {
        match self {
            Self::Postmark => postmark::password(secret),
            _ => format!("whsec_{}", STANDARD.encode(secret)),
        }
    }
}

impl FromStr for Provider {
    type Err = &'static str;
    fn from_str(code: &str) -> std::result::Result<Self, Self::Err> {
        Self::named(code).ok_or("must be one of own, postmark, resend, ses, mailgun, sendgrid")
    }
}

/// A request of what a service can sign by itself; SNS needs a certificate too (`ses`).
pub fn read(
    provider: Provider,
    keys: &[Vec<u8>],
    headers: &HeaderMap,
    body: &[u8],
    now: DateTime<Utc>,
) -> Result<ReadReports> {
    let read = match provider {
        Provider::Own => own::read(keys, headers, body, now)?,
        Provider::Postmark => postmark::read(keys, headers, body, now),
        Provider::Resend => resend::read(keys, headers, body, now),
        Provider::Mailgun => mailgun::read(keys, body, now),
        Provider::Sendgrid => sendgrid::read(keys, headers, body, now),
        Provider::Ses => None,
    };
    read.ok_or(Error::Unauthorized)
}

/// Whether the head alone shows that the request is nobody's: then its body is not read.
pub fn may_be_signed(provider: Provider, keys: &[Vec<u8>], headers: &HeaderMap, now: DateTime<Utc>) -> bool {
    match provider {
        Provider::Own => own::signature(headers, now).is_some(),
        Provider::Postmark => postmark::is_signed(keys, headers),
        Provider::Resend => resend::signature(headers, now).is_some(),
        Provider::Sendgrid => sendgrid::signature(headers, now).is_some(),
        // These sign inside of the body.
        Provider::Ses | Provider::Mailgun => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_as_its_service_shows_it_and_nothing_else_is() {
        let right = [
            (Provider::Resend, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            (Provider::Ses, " arn:aws:sns:eu-west-1:123456789012:sent-mail "),
            (Provider::Mailgun, "key-3ax6xnjp29jd6fds4gc373sgvjxteol0"),
            (
                Provider::Sendgrid,
                "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQ4LIFtWztlsF7skFqOncjD1lun4H5w8XOhyOArHW9RcIx/FfEzx6cikC/yPfUvwaX/JScE7Fc9CJD2afQ9Ok3Q==",
            ),
        ];
        for (provider, key) in right {
            assert!(provider.key(key).is_ok(), "{provider:?}");
            for wrong in ["", "  ", "two words", &"k".repeat(2001)] {
                assert!(provider.key(wrong).is_err(), "{provider:?} {wrong}");
            }
            // Any word can be a key of Mailgun.
            for wrong in ["whsec_!!", "arn:aws:sns:eu-west-1:1:x", "MFkw"] {
                assert_eq!(
                    provider.key(wrong).is_ok(),
                    provider == Provider::Mailgun,
                    "{provider:?} {wrong}"
                );
            }
        }
        for provider in [Provider::Own, Provider::Postmark] {
            assert!(provider.key("anything").is_err());
        }
    }
}
