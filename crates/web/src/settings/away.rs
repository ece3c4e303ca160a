//! Out of office, as a person's own page shows it and as its form comes back. Times are in the person's zone.
//! What it means is in docs/decisions/out-of-office.md.

use sqlx::PgConnection;

use crate::settings::period::PeriodFields;
use crate::show::Times;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::Result;
use rookery_core::workspace::people::away::{self, Absence};

pub struct AwayForm {
    pub period: PeriodFields,
    pub text: String,
    /// What is saved and not over.
    pub absence: Option<Absence>,
    /// It has begun.
    pub is_away: bool,
    pub problem: Option<String>,
}

/// As it is saved. Of a period that is over only the text is left.
pub async fn load(conn: &mut PgConnection, asked: &MemberRequest, times: &Times) -> Result<AwayForm> {
    let saved = away::load(conn, asked.person.workspace, asked.person.id).await?;
    let absence = saved.absence.filter(|absence| absence.until > times.now);
    Ok(AwayForm {
        period: PeriodFields::saved(
            times,
            absence.map(|absence| absence.from),
            absence.map(|absence| absence.until),
        ),
        text: saved.text,
        is_away: absence.is_some_and(|absence| absence.holds(times.now)),
        absence,
        problem: None,
    })
}

impl AwayForm {
    /// With what was typed, and what is wrong with it.
    pub fn typed(mut self, form: &FormFields, problem: String) -> Self {
        self.period = PeriodFields::typed(form);
        self.text = form.get("text").unwrap_or_default().to_owned();
        self.problem = Some(problem);
        self
    }
}
