//! A period as a form has it: two fields for a day and a time, in a zone that the page names beside them.

use chrono::{DateTime, Utc};

use crate::conversation::later;
use crate::show::Times;
use crate::visit::FormFields;
use rookery_base::error::{Error, Result};
use rookery_core::workspace::inbox_settings::period::ReplyPeriod;

pub struct PeriodFields {
    pub from: String,
    pub until: String,
}

impl PeriodFields {
    pub fn saved(times: &Times, from: Option<DateTime<Utc>>, until: Option<DateTime<Utc>>) -> Self {
        let field = |at: Option<DateTime<Utc>>| at.map(|at| times.field(&at)).unwrap_or_default();
        Self { from: field(from), until: field(until) }
    }

    pub fn typed(form: &FormFields) -> Self {
        let field = |name| form.get(name).unwrap_or_default().trim().to_owned();
        Self { from: field("from"), until: field("until") }
    }

    pub fn read(&self, times: &Times) -> Result<ReplyPeriod> {
        let read = |name: &str, value: &str| match later::read(times, value) {
            _ if value.is_empty() => Ok(None),
            None => Err(Error::problem(name, "must be a day and a time")),
            at => Ok(at),
        };
        Ok(ReplyPeriod { from: read("from", &self.from)?, until: read("until", &self.until)? })
    }
}
