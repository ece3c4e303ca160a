//! The page of the assistants: spend of the month, the three with their scores, the model, topics, and the newest calls.
//! Everything on it is numbers and settings; no word of mail.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{Datelike, Days, Months, NaiveDate};

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::{FormFields, MemberRequest};
use rookery_assistants::model::Model;
use rookery_assistants::runs::{self, ListedRun};
use rookery_assistants::scores::{self, Lately};
use rookery_assistants::settings::{self, Engine, Settings};
use rookery_assistants::sort::learn::{FEWEST, Score};
use rookery_assistants::sort::topics;
use rookery_assistants::spend::{self, Month};
use rookery_assistants::stop;
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_base::store::db::Handle;
use rookery_core::workspace::people::Role;

/// No score is shown of fewer cases.
const ENOUGH: i64 = 30;
const MILLION: i64 = 1_000_000;

/// An inbox of the team, and whether its mail is shown to the model.
struct Inbox {
    id: MailboxId,
    name: String,
    shown: bool,
}

#[derive(Template)]
#[template(path = "settings/assistants/show.html")]
pub struct AssistantsPage {
    shell: Shell,
    page: &'static str,
    settings: Settings,
    /// The model that would be asked.
    model: Option<Model>,
    operators: Option<String>,
    agreed: Option<(String, String)>,
    is_owner: bool,
    stopped_by_operator: bool,
    month: Month,
    lately: Lately,
    sorted: (i64, i64),
    scores: Vec<Score>,
    waiting: i64,
    runs: Vec<ListedRun>,
    inboxes: Vec<Inbox>,
    base: String,
    name: String,
    price_in: String,
    price_out: String,
    limit: String,
    calls: String,
    topics: String,
    problem: Option<String>,
    /// What came of a test question: an answer, or why there is none.
    pub answered: Option<String>,
    pub in_vain: Option<String>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&load(&asked, None).await?)
}

/// The page again, with what was typed and what is wrong with it.
pub async fn refused(asked: &MemberRequest, typed: &FormFields, problem: String) -> Result<Response> {
    let mut page = load(asked, Some(typed)).await?;
    page.problem = Some(problem);
    respond::page_with(StatusCode::BAD_REQUEST, &page)
}

pub async fn load(asked: &MemberRequest, typed: Option<&FormFields>) -> Result<AssistantsPage> {
    let workspace = asked.person.workspace;
    let mut reading = asked.reading().await?;
    let now = reading.now();
    let settings = settings::load(&mut reading, workspace).await?;
    let app = asked.visit.app();
    let shell = Shell::frame(asked, Here::Settings);
    let typed = |name: &str| typed.and_then(|typed| typed.get(name)).map(str::to_owned);
    let (base, name) = settings.own.clone().unwrap_or_default();
    let inboxes = settings::team_inboxes(&mut reading, workspace).await?.into_iter();
    let inboxes =
        inboxes.map(|(id, name)| Inbox { shown: settings.inboxes.contains(&id), id, name }).collect();
    let agreed = settings.agreement(app).map(|agreed| (agreed.by.clone(), shell.times.date(&agreed.at)));
    Ok(AssistantsPage {
        page: super::PATH,
        model: settings.model(app),
        operators: Model::of_the_operator(&app.config).map(|model| model.name),
        agreed,
        is_owner: asked.person.role == Role::Owner,
        stopped_by_operator: app.config.assistants_stopped,
        month: spend::this_month(&mut reading, workspace, now).await?,
        lately: scores::lately(&mut reading, workspace, now).await?,
        sorted: runs::sorted(&mut reading, workspace, now).await?,
        scores: scores::known(&mut reading, workspace).await?.map(|(_, scores)| scores).unwrap_or_default(),
        waiting: stop::waiting(&mut reading, workspace).await?.len() as i64,
        runs: runs::newest(&mut reading, workspace).await?,
        inboxes,
        base: typed("base").unwrap_or(base),
        name: typed("model").unwrap_or(name),
        price_in: typed("price_in").unwrap_or_else(|| price(&settings, settings.price_in)),
        price_out: typed("price_out").unwrap_or_else(|| price(&settings, settings.price_out)),
        limit: typed("limit").unwrap_or_else(|| (settings.monthly_limit / MILLION).to_string()),
        calls: typed("calls").unwrap_or_else(|| settings.daily_calls.to_string()),
        topics: typed("topics").unwrap_or_else(|| topics::written(&settings.topics())),
        problem: None,
        answered: None,
        in_vain: None,
        settings,
        shell,
    })
}

/// Of the currency for a million tokens; nothing where there is no model to have one.
fn price(settings: &Settings, millionths: i64) -> String {
    match millionths {
        0 if settings.own.is_none() => String::new(),
        some => (some as f64 / MILLION as f64).to_string(),
    }
}

/// An amount with two decimals, rounded up, so that small spending does not read as 0.00.
pub fn money(millionths: i64) -> String {
    let cents = (millionths + 9_999) / 10_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl AssistantsPage {
    fn sorts(&self, engine: &str) -> bool {
        self.settings.sorting.as_str() == engine
    }

    fn drafts(&self, engine: &str) -> bool {
        self.settings.drafting.as_str() == engine
    }

    fn reads(&self, engine: &str) -> bool {
        self.settings.reading.as_str() == engine
    }

    /// Whether a model can be chosen: one is named, and an owner agreed to it.
    fn may_ask(&self) -> bool {
        self.agreed.is_some()
    }

    fn spent(&self) -> String {
        money(self.month.spent)
    }

    fn monthly_limit(&self) -> String {
        money(self.settings.monthly_limit)
    }

    fn money(&self, millionths: &i64) -> String {
        match *millionths {
            0 => "0".to_owned(),
            some => format!("{:.4}", some as f64 / MILLION as f64),
        }
    }

    /// Of a hundred, for the picture.
    fn share(&self) -> i64 {
        match self.settings.monthly_limit {
            0 => 0,
            limit => (100 * self.month.spent / limit).clamp(0, 100),
        }
    }

    /// How much of the month is over, of a hundred.
    fn over(&self) -> i64 {
        i64::from(100 * self.month.day.day() / days_in(self.month.day))
    }

    /// What the month costs when it goes on like this.
    fn pace(&self) -> String {
        let (day, days) = (i64::from(self.month.day.day()), i64::from(days_in(self.month.day)));
        money(self.month.spent / day.max(1) * days)
    }

    fn named_month(&self) -> String {
        self.month.day.format("%B").to_string()
    }

    /// Of topics that were said, how many of a hundred nobody changed. Few say nothing.
    fn right(&self) -> Option<i64> {
        let (_, claimed) = self.sorted;
        (claimed >= ENOUGH).then(|| 100 - (100 * self.lately.corrected / claimed).clamp(0, 100))
    }

    fn left_open(&self) -> Option<i64> {
        let (mails, claimed) = self.sorted;
        (mails >= ENOUGH).then(|| 100 - 100 * claimed / mails)
    }

    fn decided(&self) -> i64 {
        self.lately.unedited + self.lately.edited + self.lately.discarded()
    }

    fn percent(&self, part: &i64) -> Option<i64> {
        (self.decided() >= ENOUGH).then(|| 100 * part / self.decided())
    }

    fn used(&self) -> Vec<&str> {
        let used = self.scores.iter().filter(|score| score.sure_from.is_some());
        used.map(|score| score.topic.as_str()).collect()
    }

    fn not_yet(&self) -> Vec<String> {
        let not = self.scores.iter().filter(|score| score.sure_from.is_none());
        not.map(|score| {
            if score.labels < FEWEST {
                format!("{} ({} of {FEWEST})", score.topic, score.labels)
            } else {
                format!("{} (not right often enough)", score.topic)
            }
        })
        .collect()
    }

    fn seconds(&self, milliseconds: &i32) -> String {
        format!("{:.1} s", f64::from(*milliseconds) / 1_000.0)
    }

    /// There is a model of its own, and its key cannot be opened.
    fn is_locked(&self) -> bool {
        self.settings.own.is_some() && self.model.is_none()
    }

    /// Whether the model has a price but the limit is 0, so that it is never asked.
    fn may_spend_nothing(&self) -> bool {
        let costs = |model: &Model| model.price_in > 0 || model.price_out > 0;
        self.settings.monthly_limit == 0 && self.model.as_ref().is_some_and(costs)
    }

    fn says_model(&self) -> bool {
        [self.settings.sorting, self.settings.drafting, self.settings.reading].contains(&Engine::Model)
    }
}

fn days_in(day: NaiveDate) -> u32 {
    let first = day.with_day(1).unwrap_or(day);
    let last = first.checked_add_months(Months::new(1)).and_then(|next| next.checked_sub_days(Days::new(1)));
    last.map_or(30, |last| last.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_up_and_a_month_has_its_days() {
        assert_eq!(["0.00", "0.01", "18.40"], [money(0), money(1), money(18_400_000)]);
        assert_eq!(days_in("2031-02-10".parse().unwrap()), 28);
        assert_eq!(days_in("2031-12-31".parse().unwrap()), 31);
    }
}
