//! A report of a sending service as every adapter gives it, and the checks that hold for all of them: ids, addresses,
//! sizes, times, and whether a failure means that an address does not exist.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use chrono::{DateTime, TimeDelta, Utc};
use hyper::HeaderMap;

use crate::app_mail::fields::{self, LONGEST_SUBJECT, MOST_RECIPIENTS};
use rookery_reading::text;

/// Reports of one request that are looked at.
pub const MOST_REPORTS: usize = 2000;
/// How old a signed request may be: services try again for hours. What was taken is remembered for longer.
const OLDEST: TimeDelta = TimeDelta::hours(24);
const AHEAD: TimeDelta = TimeDelta::minutes(5);
const LONGEST_REF: usize = 200;

rookery_base::text_enum! {
    /// What happened to a mail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReportKind {
        Sent = "sent",
        Delivered = "delivered",
        /// The address does not exist.
        Bounced = "bounced",
        /// It did not arrive, which says nothing of the address.
        Failed = "failed",
        Complained = "complained",
    }
}

/// One report, whoever sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceReport {
    /// The service's own id of it: the same again is the same report.
    pub key: String,
    /// Something that a request may bring only once.
    pub once: Option<String>,
    pub kind: ReportKind,
    /// Without angle brackets. Some reports only have the service's own name of the mail.
    pub message_id: Option<String>,
    pub service_ref: Option<String>,
    /// Whom it is about: everybody the mail went to, or those whom it did not reach or who complained.
    pub to: Vec<String>,
    pub subject: String,
    pub at: Option<DateTime<Utc>>,
    pub reference: Option<String>,
}

impl ServiceReport {
    /// What the mail is called in lists.
    pub fn mail(&self) -> &str {
        self.message_id.as_deref().or(self.service_ref.as_deref()).unwrap_or_default()
    }
}

/// What a request held.
#[derive(Debug, Default, PartialEq)]
pub struct ReadReports {
    pub reports: Vec<ServiceReport>,
    /// Why each of the others could not be read.
    pub unread: Vec<&'static str>,
    /// Reports of things we do not follow, such as opened mail.
    pub passed_over: usize,
}

impl ReadReports {
    pub(super) fn from_result(one: One) -> Self {
        let mut read = Self::default();
        read.add(one);
        read
    }

    pub(super) fn add(&mut self, one: One) {
        match one {
            Ok(Some(report)) => self.reports.push(report),
            Ok(None) => self.passed_over += 1,
            Err(why) => self.unread.push(why),
        }
    }
}

/// A report, one of a kind we do not follow, or why it cannot be read.
pub(super) type One = std::result::Result<Option<ServiceReport>, &'static str>;

pub(super) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    verify_slices_are_equal(one, other).is_ok()
}

pub(super) fn is_fresh(seconds: i64, now: DateTime<Utc>) -> bool {
    let age = now.timestamp().saturating_sub(seconds);
    (-AHEAD.num_seconds()..=OLDEST.num_seconds()).contains(&age)
}

/// What an adapter found, before it is checked.
pub(super) struct FoundReport<'a> {
    pub(super) key: String,
    pub(super) kind: ReportKind,
    pub(super) message_id: Option<&'a str>,
    pub(super) service_ref: Option<&'a str>,
    pub(super) to: Vec<&'a str>,
    pub(super) subject: Option<&'a str>,
    pub(super) at: Option<DateTime<Utc>>,
}

impl FoundReport<'_> {
    /// The checks that hold for every service.
    pub(super) fn checked(self, now: DateTime<Utc>) -> One {
        let message_id = match self.message_id {
            Some(text) => Some(fields::message_id(text).ok_or("Its Message-ID cannot be read.")?),
            None => None,
        };
        let service_ref = self.service_ref.filter(|text| {
            (1..=LONGEST_REF).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        });
        let records = matches!(self.kind, ReportKind::Sent | ReportKind::Delivered);
        if message_id.is_none() && (records || service_ref.is_none()) {
            return Err("It has no Message-ID.");
        }
        if self.to.is_empty() {
            return Err("It names no recipient.");
        }
        if self.to.len() > MOST_RECIPIENTS {
            return Err("It names more than 50 recipients.");
        }
        let to: Option<Vec<String>> = self.to.into_iter().map(fields::recipient).collect();
        let to = to.ok_or("The address of a recipient cannot be read.")?;
        let subject = text::line(self.subject.unwrap_or_default());
        let could_be = DateTime::UNIX_EPOCH..=now + TimeDelta::days(1);
        Ok(Some(ServiceReport {
            key: self.key,
            once: None,
            kind: self.kind,
            message_id,
            service_ref: service_ref.map(str::to_owned),
            to: fields::each_once(to),
            subject: subject.chars().take(LONGEST_SUBJECT).collect(),
            at: self.at.filter(|at| could_be.contains(at)),
            reference: None,
        }))
    }
}

/// Whether a permanent failure means that the address does not exist. 5.1.7 and 5.1.8 are about the sender's address.
/// Where no enhanced status is given, the service's own word counts.
pub(super) fn is_gone(status: Option<&str>) -> bool {
    match status.map(str::trim).filter(|status| !status.is_empty()) {
        Some(status) => status.starts_with("5.1.") && !matches!(status, "5.1.7" | "5.1.8"),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_gone_by_its_status_or_by_the_word_of_the_service() {
        for gone in [None, Some(""), Some("5.1.1"), Some("5.1.10")] {
            assert!(is_gone(gone), "{gone:?}");
        }
        for here in ["5.1.8", "5.1.7", "5.7.1", "5.2.2", "4.1.1", "5.0.0"] {
            assert!(!is_gone(Some(here)), "{here}");
        }
    }
}
