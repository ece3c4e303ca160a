//! A period as a form has it: two fields for a day and a time, in a zone that the page names beside them. An inbox has one for
//! its automatic reply, a person for being out of office.

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

/// What is wrong with a form that has a period, by the labels of its fields.
pub fn sentence(error: &Error) -> String {
    let Error::Problems(problems) = error else { return error.sentence() };
    let sentences = problems.iter().map(|problem| {
        let field = match problem.field.as_str() {
            "from" => "“From”",
            "until" => "“Until”",
            "subject" => "The subject",
            "text" => "The text",
            day => day,
        };
        format!("{field} {}.", problem.what)
    });
    sentences.collect::<Vec<_>>().join(" ")
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
