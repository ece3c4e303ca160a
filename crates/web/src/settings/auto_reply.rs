//! What an inbox answers by itself, as its settings page shows it and as its form comes back. Hours are texts such as
//! `09:00`, because a browser's own field for times goes by the language of the device.

use jiff::tz::TimeZone;
use sqlx::PgConnection;

use crate::settings::period::PeriodFields;
use crate::show::Times;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_core::workspace::inbox_settings::auto_reply::{self, AutoReply};
use rookery_core::workspace::inbox_settings::hours::{DAYS, Hours, HoursSpan};

const OPENS: &str = "09:00";
const CLOSES: &str = "17:00";

pub struct AutoReplyForm {
    pub is_on: bool,
    pub outside: bool,
    pub subject: String,
    pub text: String,
    pub days: Vec<AutoReplyDay>,
    pub period: PeriodFields,
    /// The period that is saved ended.
    pub is_over: bool,
    /// The zone of the hours and the period.
    pub zone: String,
    /// Whether the hours that are saved are open now.
    pub is_open: bool,
    pub problem: Option<String>,
}

pub struct AutoReplyDay {
    pub n: usize,
    pub name: &'static str,
    pub is_open: bool,
    pub from: String,
    pub to: String,
}

/// As it is saved.
pub async fn load(conn: &mut PgConnection, asked: &MemberRequest, inbox: MailboxId) -> Result<AutoReplyForm> {
    let workspace = asked.person.workspace;
    let saved = auto_reply::load(conn, workspace, inbox).await?;
    let zone = auto_reply::zone(conn, workspace).await?;
    let times = times_in(asked, &zone);
    let is_open = saved.hours.is_open(times.now, &times.zone);
    let days = DAYS.into_iter().zip(&saved.hours.0).enumerate().map(|(n, (name, span))| AutoReplyDay {
        n,
        name,
        is_open: span.is_some(),
        from: span.map_or(OPENS.to_owned(), |span| span.from()),
        to: span.map_or(CLOSES.to_owned(), |span| span.to()),
    });
    Ok(AutoReplyForm {
        is_on: saved.is_on,
        outside: saved.outside,
        subject: saved.subject,
        text: saved.text,
        days: days.collect(),
        period: PeriodFields::saved(&times, saved.period.from, saved.period.until),
        is_over: saved.period.until.is_some_and(|until| until <= times.now),
        zone,
        is_open,
        problem: None,
    })
}

/// Times as they are in the workspace's zone.
pub fn times_in(asked: &MemberRequest, zone: &str) -> Times {
    Times { zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC), ..asked.times() }
}

impl AutoReplyForm {
    /// With what was typed, and what is wrong with it.
    pub fn typed(mut self, form: &FormFields, problem: String) -> Self {
        let field = |name: &str| form.get(name).unwrap_or_default().to_owned();
        (self.is_on, self.outside) = (form.flag("on"), form.get("when") != Some("always"));
        (self.subject, self.text) = (field("subject"), field("text"));
        for day in &mut self.days {
            let AutoReplyDay { n, .. } = *day;
            day.is_open = form.flag(&format!("open-{n}"));
            (day.from, day.to) = (field(&format!("from-{n}")), field(&format!("to-{n}")));
        }
        self.period = PeriodFields::typed(form);
        self.problem = Some(problem);
        self
    }
}

/// What the form says.
pub fn read(form: &FormFields, times: &Times) -> Result<AutoReply> {
    let field = |name: &str| form.get(name).unwrap_or_default();
    let mut days = [None; 7];
    for (n, day) in days.iter_mut().enumerate() {
        if form.flag(&format!("open-{n}")) {
            let (from, to) = (field(&format!("from-{n}")), field(&format!("to-{n}")));
            *day = Some(HoursSpan::read(DAYS[n], from, to)?);
        }
    }
    Ok(AutoReply {
        is_on: form.flag("on"),
        outside: form.get("when") != Some("always"),
        subject: field("subject").to_owned(),
        text: field("text").to_owned(),
        hours: Hours(days),
        period: PeriodFields::typed(form).read(times)?,
    })
}
