//! `/upload/wsp_…/req_…/token`: the private page of a request for documents (specification 4.9). It shows the checklist,
//! what is in, and takes files; no word of the mail, no file to download (D163). To open it changes nothing.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{NaiveDate, TimeDelta};
use sqlx::PgConnection;

use crate::customer::answers;
use crate::customer::language::{chosen, for_visit};
use crate::customer::words::Word;
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::ids::{DocumentRequestId, RequestItemId, WorkspaceId};
use rookery_base::languages::{DayPhrase, Language};
use rookery_base::limits::customers::Visits;
use rookery_product::documents::checks::MOST_BYTES;
use rookery_product::documents::items::{ItemRefusal, ItemState};
use rookery_product::documents::progress::{ReceivedFile, RequestState};
use rookery_product::documents::uploads::link::{self, Behind, UploadItem};
use rookery_product::documents::uploads::receive::MOST_OF_ITEM;

/// The gap between two steps of the progress bar, in percent.
const BETWEEN_STEPS: f64 = 1.25;

#[derive(Template)]
#[template(path = "customer/upload.html")]
struct UploadPage {
    language: Language,
    name: String,
    /// The address of this page, without its language.
    here: String,
    due: Option<String>,
    is_late: bool,
    ends: String,
    is_complete: bool,
    done: usize,
    all: usize,
    /// The parts of the progress bar: where each begins, in percent, and whether it is filled.
    steps: Vec<(String, bool)>,
    width: String,
    needed: Vec<Card>,
    nice: Vec<Card>,
}

/// An item of the checklist.
struct Card {
    id: RequestItemId,
    n: usize,
    label: String,
    description: Option<String>,
    class: &'static str,
    /// A word in front, and a sentence: what was found.
    result: Option<(&'static str, &'static str)>,
    files: Vec<SentFile>,
    /// Why the team refused it.
    refused: Option<&'static str>,
    takes_more: bool,
    is_in: bool,
    notices: Vec<(String, &'static str)>,
}

struct SentFile {
    name: String,
    size: String,
}

/// What is said of files that were just sent and not taken: the name, and why.
pub struct UploadNotice {
    pub item: RequestItemId,
    pub notices: Vec<(String, Word)>,
}

impl UploadPage {
    fn say(&self, word: Word) -> &'static str {
        self.language.say(word)
    }

    fn count(&self) -> String {
        let (done, all) = (self.done.to_string(), self.all.to_string());
        self.language.fill(Word::Count, &[("done", &done), ("all", &all)])
    }

    /// The parts of a sentence before and after the date in it.
    fn around(&self, word: Word) -> (String, String) {
        let whole = self.language.fill(word, &[("date", "\u{1}"), ("name", &self.name)]);
        let (before, after) = whole.split_once('\u{1}').unwrap_or((&whole, ""));
        (before.to_owned(), after.to_owned())
    }

    fn with_name(&self, word: Word) -> String {
        self.language.fill(word, &[("name", &self.name), ("date", &self.ends)])
    }

    fn not_taken(&self, name: &str) -> String {
        self.language.fill(Word::NotTaken, &[("name", name)])
    }

    fn most(&self) -> u64 {
        MOST_BYTES
    }
}

/// `GET /upload/{workspace}/{request}/{token}`
pub async fn show(visit: Visit) -> Result<Response> {
    let mut language = for_visit(&visit);
    let answer = shown(&visit, &mut language).await;
    Ok(answers::answered(language, answer))
}

/// The page opens in the language that the customer chooses, else in the one that they were written to in, else in the browser's.
async fn shown(visit: &Visit, language: &mut Language) -> Result<Response> {
    admit(visit)?;
    let mut conn = visit.customers_connection().await?;
    let Some(behind) = find(visit, &mut conn).await? else { return answers::nothing(*language) };
    *language = chosen(visit).or(behind.language).unwrap_or(*language);
    if behind.is_over(visit.app().clock.now()) {
        return answers::ended(*language);
    }
    let items = link::items(&mut conn, behind.link).await?;
    page(visit, *language, &behind, items, None, StatusCode::OK)
}

/// Counts a visit for the rate limit, before the database is asked.
pub fn admit(visit: &Visit) -> Result<()> {
    let app = visit.app();
    app.customers.count(Visits::OfNetwork(visit.asker()), app.clock.now())
}

/// The request behind the link of a visit. Invalid links are counted, so that guessing soon ends in a refusal.
pub async fn find(visit: &Visit, conn: &mut PgConnection) -> Result<Option<Behind>> {
    let (app, network) = (visit.app(), visit.asker());
    let now = app.clock.now();
    let (workspace, request) =
        (visit.id::<WorkspaceId>("workspace"), visit.id::<DocumentRequestId>("request"));
    let found = match (workspace, request) {
        (Ok(workspace), Ok(request)) => {
            let token = visit.param("token").unwrap_or_default();
            link::find(conn, app.config.needs_secret_key()?, workspace, request, token).await?
        }
        _ => None,
    };
    if found.is_none() {
        app.customers.count(Visits::Astray(network), now)?;
    }
    Ok(found)
}

/// The page as it is now, with what is said of files that were just sent.
pub fn page(
    visit: &Visit,
    language: Language,
    behind: &Behind,
    items: Vec<UploadItem>,
    told: Option<&UploadNotice>,
    status: StatusCode,
) -> Result<Response> {
    let today = behind.zone.day(visit.app().clock.now());
    let ends = language.date(behind.zone.day(behind.ends_at - TimeDelta::seconds(1)), today);
    let is_counted = |shown: &UploadItem| shown.listed.item.required;
    // Where nothing is required, everything counts.
    let any_required = items.iter().any(is_counted);
    let (needed, nice): (Vec<UploadItem>, Vec<UploadItem>) =
        items.into_iter().partition(|shown| is_counted(shown) || !any_required);
    let is_in: Vec<bool> = needed.iter().map(|shown| !shown.listed.state.is_missing()).collect();
    let done = is_in.iter().filter(|is_in| **is_in).count();
    let many = needed.len();
    let step = (100.0 + BETWEEN_STEPS) / many.max(1) as f64 - BETWEEN_STEPS;
    let card = |(at, shown): (usize, UploadItem)| Card::for_item(at + 1, shown, language, told);
    let page = UploadPage {
        name: behind.workspace_name.clone(),
        here: path(behind, visit),
        due: behind.due.map(|due| language.date(due, today)),
        is_late: behind.due.is_some_and(|due: NaiveDate| due < today),
        ends,
        is_complete: behind.state == RequestState::Completed || done == many,
        done,
        all: many,
        steps: is_in
            .iter()
            .enumerate()
            .map(|(at, on)| (format!("{:.2}", at as f64 * (step + BETWEEN_STEPS)), *on))
            .collect(),
        width: format!("{step:.2}"),
        needed: needed.into_iter().enumerate().map(card).collect(),
        nice: nice.into_iter().enumerate().map(card).collect(),
        language,
    };
    respond::page_with(status, &page)
}

fn path(behind: &Behind, visit: &Visit) -> String {
    let token = visit.param("token").unwrap_or_default();
    format!("/upload/{}/{}/{token}", behind.link.workspace, behind.link.request)
}

impl Card {
    fn for_item(n: usize, shown: UploadItem, language: Language, told: Option<&UploadNotice>) -> Self {
        let UploadItem { listed, files } = shown;
        let notices: Vec<(String, &'static str)> = told
            .filter(|told| told.item == listed.id)
            .map(|told| told.notices.iter().map(|(name, why)| (name.clone(), language.say(*why))).collect())
            .unwrap_or_default();
        let say = |first: Word, more: Option<Word>| {
            Some((language.say(first), more.map_or("", |more| language.say(more))))
        };
        let result = match listed.state {
            ItemState::Received => say(Word::Received, Some(Word::ReceivedMore)),
            ItemState::Accepted => say(Word::Accepted, Some(Word::AcceptedMore)),
            ItemState::Ticked => say(Word::Ticked, None),
            ItemState::Open | ItemState::Refused => None,
        };
        let refused = (listed.state == ItemState::Refused).then_some(match listed.why {
            Some(ItemRefusal::Incomplete) => Word::NotComplete,
            Some(ItemRefusal::Wrong) => Word::NotRight,
            Some(ItemRefusal::Unreadable) | None => Word::NotReadable,
        });
        let is_in = !listed.state.is_missing();
        let class = match (is_in, refused.is_some() || !notices.is_empty()) {
            (true, false) => "is-in",
            (_, true) => "is-refused",
            (false, false) => "",
        };
        let counts = |file: &&ReceivedFile| listed.refused_at.is_none_or(|at| file.received_at > at);
        let sent = |file: ReceivedFile| SentFile { size: language.size(file.size), name: file.filename };
        Self {
            id: listed.id,
            n,
            label: listed.item.label,
            description: listed.item.description,
            class,
            result,
            takes_more: (files.iter().filter(|file| counts(file)).count() as i64) < MOST_OF_ITEM,
            files: files.into_iter().map(sent).collect(),
            refused: refused.map(|word| language.say(word)),
            is_in,
            notices,
        }
    }
}
