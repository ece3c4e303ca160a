//! The page: five numbers of twelve weeks, each with its picture and one sentence that says what is counted and what is
//! not. All inboxes that the person can see, or one of them.

use askama::Template;
use askama::filters::Safe;
use axum::response::Response;
use chrono::{NaiveDate, TimeDelta};

use crate::reports::PATH;
use crate::reports::chart::{self, Bars};
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::{filters, grouped_of};
use crate::visit::MemberRequest;
use rookery_base::error::{NO_MAILBOX, Result};
use rookery_base::ids::MailboxId;
use rookery_core::conversations::inboxes::CountedMailbox;
use rookery_core::conversations::reports::weeks::{self, Figures};

/// No percentage is shown of fewer cases.
const ENOUGH: i64 = 30;

#[derive(Template)]
#[template(path = "reports/show.html")]
struct ReportsPage {
    shell: Shell,
    page: &'static str,
    inboxes: Vec<CountedMailbox>,
    chosen: Option<MailboxId>,
    /// Everything of the twelve weeks.
    all: Figures,
    wait_picture: Safe<String>,
    arrived_picture: Safe<String>,
    answered_picture: Safe<String>,
    open_picture: Safe<String>,
    drafts_picture: Safe<String>,
    /// The first week with a number of open conversations, if earlier weeks have none.
    open_since: Option<NaiveDate>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let chosen: Option<MailboxId> = asked.queries().parse("inbox").map_err(|_| NO_MAILBOX)?;
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let report = weeks::lately(&mut reading, &asked.person, shell.times.now).await?;
    let figures = match chosen {
        None => report.together(),
        // One that they cannot see is not among them.
        Some(id) => {
            let one = report.inboxes.iter().find(|(inbox, _)| inbox.id == id);
            one.map(|(_, figures)| figures.clone()).ok_or(NO_MAILBOX)?
        }
    };
    let weeks = &report.weeks;
    let of = |number: fn(&Figures) -> i64| -> Vec<i64> { figures.iter().map(number).collect() };
    let said = |values: &[i64]| values.iter().map(|n| grouped_of(*n)).collect::<Vec<_>>().join(", ");
    let (arrived, answered) = (of(|week| week.arrived), of(|week| week.answered));
    let (approved, edited) = (of(|week| week.approved), of(|week| week.edited));
    let open: Vec<Option<i64>> = figures.iter().map(|week| week.open).collect();
    let (half, most): (Vec<_>, Vec<_>) = figures.iter().map(|week| (week.half(), week.most())).unzip();
    let or_none = |values: Vec<Option<String>>| -> String {
        values.into_iter().map(|value| value.unwrap_or_else(|| "none".into())).collect::<Vec<_>>().join(", ")
    };
    let times = |values: &[Option<TimeDelta>]| or_none(values.iter().map(|time| time.map(lasting)).collect());
    let known = figures.iter().position(|week| week.open.is_some());
    respond::page(&ReportsPage {
        page: PATH,
        all: figures.iter().fold(Figures::default(), Figures::and),
        wait_picture: chart::times(
            weeks,
            &half,
            &most,
            &format!(
                "Time to the first answer by week. Median: {}. 90th percentile: {}",
                times(&half),
                times(&most)
            ),
        ),
        arrived_picture: chart::bars(
            weeks,
            &[Bars { class: "soft", values: arrived.clone() }],
            &format!("Mails that arrived, by week: {}", said(&arrived)),
        ),
        answered_picture: chart::bars(
            weeks,
            &[Bars { class: "solid", values: answered.clone() }],
            &format!("Conversations that got their first answer, by week: {}", said(&answered)),
        ),
        open_picture: chart::counts(
            weeks,
            &open,
            &format!(
                "Open conversations at the end of each week: {}",
                or_none(open.iter().map(|open| open.map(grouped_of)).collect())
            ),
        ),
        drafts_picture: chart::bars(
            weeks,
            &[
                Bars { class: "asis", values: approved.clone() },
                Bars { class: "edited", values: edited.clone() },
            ],
            &format!(
                "Drafts approved unedited, by week: {}. After editing: {}",
                said(&approved),
                said(&edited)
            ),
        ),
        open_since: known.filter(|first| *first > 0).and_then(|first| weeks.get(first).copied()),
        inboxes: report.inboxes.into_iter().map(|(inbox, _)| inbox).collect(),
        chosen,
        shell,
    })
}

/// `40 min`, `1 h 52 min`, `3.2 days`
fn lasting(time: TimeDelta) -> String {
    match time.num_minutes() {
        minutes @ ..60 => format!("{} min", minutes.max(1)),
        minutes @ 60..2_880 => format!("{} h {} min", minutes / 60, minutes % 60),
        minutes => format!("{:.1} days", minutes as f64 / 1_440.0),
    }
}

impl ReportsPage {
    fn is_chosen(&self, id: &MailboxId) -> bool {
        self.chosen.as_ref() == Some(id)
    }

    fn half(&self) -> Option<String> {
        self.all.half().map(lasting)
    }

    fn most(&self) -> Option<String> {
        self.all.most().map(lasting)
    }

    fn decided(&self) -> i64 {
        self.all.approved + self.all.edited
    }

    /// Of a hundred drafts that were approved, how many went out as they were written. Few say nothing.
    fn unedited(&self) -> Option<i64> {
        (self.decided() >= ENOUGH).then(|| 100 * self.all.approved / self.decided())
    }

    fn open(&self) -> String {
        grouped_of(self.all.open.unwrap_or_default())
    }

    fn grouped_decided(&self) -> String {
        grouped_of(self.decided())
    }
}
