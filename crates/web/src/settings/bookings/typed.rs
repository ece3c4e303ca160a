//! The form of a booking type as it was typed, which a page shows again whatever is wrong with it.
//! Numbers are read here; what they may be is said by the verb.

use std::str::FromStr;

use crate::visit::FormFields;
use rookery_base::error::{Error, Result};
use rookery_base::ids::PersonId;
use rookery_product::bookings::questions::{MOST_QUESTIONS, Question};
use rookery_product::bookings::types::settings::Settings;

/// How long before a time it can be booked at the latest, and how long before it somebody is reminded.
pub const NOTICES: &[(&str, &str)] = &[
    ("0", "Up to the last minute"),
    ("60", "1 hour before"),
    ("240", "4 hours before"),
    ("720", "12 hours before"),
    ("1440", "1 day before"),
    ("2880", "2 days before"),
    ("10080", "7 days before"),
];
pub const REMINDERS: &[(&str, &str)] = &[
    ("", "No reminder"),
    ("60", "1 hour before"),
    ("240", "4 hours before"),
    ("1440", "1 day before"),
    ("2880", "2 days before"),
];

#[derive(Clone, Debug, Default)]
pub struct TypedBookingType {
    pub name: String,
    pub slug: String,
    pub about: String,
    pub place: String,
    pub mailbox: String,
    pub minutes: String,
    pub step: String,
    pub before: String,
    pub after: String,
    pub notice: String,
    pub horizon: String,
    pub limit: String,
    pub remind: String,
    /// As many as there may be, empty ones too.
    pub questions: Vec<(String, bool)>,
    pub origins: String,
    pub hosts: Vec<String>,
}

impl TypedBookingType {
    pub fn from_settings(settings: &Settings) -> Self {
        let mut questions: Vec<(String, bool)> =
            settings.questions.iter().map(|one| (one.label.clone(), one.required)).collect();
        questions.resize(MOST_QUESTIONS, (String::new(), false));
        Self {
            name: settings.name.clone(),
            slug: settings.slug.clone(),
            about: settings.about.clone(),
            place: settings.place.clone(),
            mailbox: settings.mailbox.map(|mailbox| mailbox.to_string()).unwrap_or_default(),
            minutes: settings.minutes.to_string(),
            step: settings.step.to_string(),
            before: settings.before.to_string(),
            after: settings.after.to_string(),
            notice: settings.notice.to_string(),
            horizon: settings.horizon_days.to_string(),
            limit: settings.daily_limit.map(|limit| limit.to_string()).unwrap_or_default(),
            remind: settings.remind.map(|remind| remind.to_string()).unwrap_or_default(),
            questions,
            origins: settings.embed_origins.join("\n"),
            hosts: settings.hosts.iter().map(ToString::to_string).collect(),
        }
    }

    pub fn blank(host: PersonId) -> Self {
        Self { name: String::new(), ..Self::from_settings(&Settings::new("", "", 30, host)) }
    }

    pub fn read(form: &FormFields) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().to_owned();
        let questions = (0..MOST_QUESTIONS)
            .map(|n| (text(&format!("question-{n}")), form.flag(&format!("required-{n}"))))
            .collect();
        Self {
            name: text("name"),
            slug: text("slug"),
            about: text("about"),
            place: text("place"),
            mailbox: text("mailbox"),
            minutes: text("minutes"),
            step: text("step"),
            before: text("before"),
            after: text("after"),
            notice: text("notice"),
            horizon: text("horizon"),
            limit: text("limit"),
            remind: text("remind"),
            questions,
            origins: text("origins"),
            hosts: form.all("host").map(str::to_owned).collect(),
        }
    }

    pub fn settings(&self) -> Result<Settings> {
        let mut hosts = Vec::new();
        for host in &self.hosts {
            let host: PersonId = host.parse().map_err(|_| Error::problem("Hosts", "must be of the team"))?;
            hosts.push(host);
        }
        Ok(Settings {
            name: self.name.clone(),
            slug: self.slug.clone(),
            about: self.about.clone(),
            place: self.place.clone(),
            mailbox: match self.mailbox.as_str() {
                "" => None,
                id => Some(id.parse().map_err(|_| Error::problem("Inbox", "is not one of those offered"))?),
            },
            minutes: number("Length", &self.minutes)?,
            step: number("Step", &self.step)?,
            before: number("Buffer before", or_none(&self.before))?,
            after: number("Buffer after", or_none(&self.after))?,
            notice: number("Notice", or_none(&self.notice))?,
            horizon_days: number("Horizon", &self.horizon)?,
            daily_limit: maybe("Limit", &self.limit)?,
            remind: maybe("Reminder", &self.remind)?,
            questions: self
                .questions
                .iter()
                .map(|(label, required)| Question { label: label.clone(), required: *required })
                .collect(),
            embed_origins: self.origins.lines().map(str::to_owned).collect(),
            hosts,
        })
    }
}

fn or_none(text: &str) -> &str {
    if text.trim().is_empty() { "0" } else { text }
}

fn number<T: FromStr>(field: &str, text: &str) -> Result<T> {
    text.trim().parse().map_err(|_| Error::problem(field, "must be a whole number that is not too large"))
}

fn maybe<T: FromStr>(field: &str, text: &str) -> Result<Option<T>> {
    match text.trim() {
        "" => Ok(None),
        text => number(field, text).map(Some),
    }
}
