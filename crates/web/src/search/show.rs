//! `/search?q=…`: conversations that have all words, the last perhaps begun only, or files whose names do, newest first, with the words marked.
//!
//! Marks are pieces of text that the template escapes one by one. What the search could not do, it says: mail that is
//! not indexed yet, and a search that was given up.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use chrono::Days;
use sqlx::PgConnection;
use url::form_urlencoded;

use crate::inbox::item::InboxItem;
use crate::respond;
use crate::search::typed::{SearchWords, TypedSearch};
use crate::shell::{Here, Shell};
use crate::show::{Times, filters};
use crate::status;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::{ConversationId, MailboxId, TagId};
use rookery_core::conversations::filter::{Assigned, ConversationCursor, ConversationFilter, View};
use rookery_core::conversations::messages::message::Direction;
use rookery_core::conversations::search::excerpts::{self, Excerpt, ExcerptPiece};
use rookery_core::conversations::search::query::Query;
use rookery_core::conversations::tags;
use rookery_core::conversations::views::rows::{self, RowsPage};
use rookery_core::conversations::views::tagged;
use rookery_core::conversations::views::view::Order;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::mailboxes;
use rookery_product::documents::library::{self, LibraryDocument};

const PAGE: i64 = 20;

#[derive(Template)]
#[template(path = "search/show.html")]
struct SearchPage {
    shell: Shell,
    asked: SearchRequest,
    hits: Vec<Hit>,
    files: Vec<FileHit>,
    next: Option<ConversationCursor>,
    state: SearchState,
    /// What to write instead.
    mistake: String,
    /// Tags it can be narrowed to.
    tags: Vec<(TagId, String)>,
    /// The person's id, under which the browser keeps recent searches.
    whose: String,
}

/// What was asked for, as the address has it.
pub struct SearchRequest {
    pub q: String,
    status: View,
    inbox: Option<MailboxId>,
    assigned: Option<Assigned>,
    tag: Option<(TagId, String)>,
    pub files: bool,
    before: Option<ConversationCursor>,
}

/// A conversation that was found, with the words marked.
pub struct Hit {
    pub row: InboxItem,
    pub subject: Vec<ExcerptPiece>,
    pub excerpt: Option<Excerpt>,
}

struct FileHit {
    name: Vec<ExcerptPiece>,
    document: LibraryDocument,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchState {
    /// Nothing was asked for yet.
    Blank,
    TooLong,
    /// There is no word in it that could be found.
    NoWord,
    /// An operator is not whole.
    Mistake,
    Done,
    /// Mail that came just now may be missing.
    Behind,
    /// It took too long.
    Stopped,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let wanted = SearchRequest::read(&mut reading, &asked, asked.queries()).await?;
    let shell = Shell::load(&mut reading, &asked, Here::Search).await?;
    let typed = TypedSearch::read(&mut reading, &asked, &wanted.q).await?;
    let mut page = SearchPage {
        hits: Vec::new(),
        files: Vec::new(),
        next: None,
        tags: tags::offered(&mut reading, &asked.person).await?,
        whose: asked.person.id.to_string(),
        state: match &typed {
            TypedSearch::Nothing => SearchState::Blank,
            TypedSearch::TooLong => SearchState::TooLong,
            TypedSearch::NoWord => SearchState::NoWord,
            TypedSearch::Mistake(_) => SearchState::Mistake,
            TypedSearch::Words(words) if words.is_behind && !wanted.files => SearchState::Behind,
            TypedSearch::Words(_) => SearchState::Done,
        },
        mistake: String::new(),
        shell,
        asked: wanted,
    };
    let mut typed = match typed {
        TypedSearch::Words(typed) => typed,
        TypedSearch::Mistake(what) => {
            page.mistake = what;
            return respond::page(&page);
        }
        TypedSearch::Nothing | TypedSearch::TooLong | TypedSearch::NoWord => return respond::page(&page),
    };
    if page.asked.files {
        page.files = files(&mut reading, &asked, &page.asked.q, &typed.plain).await?;
        return respond::page(&page);
    }
    match find(&mut reading, &asked, &page.asked, &mut typed).await {
        Ok((hits, next)) => (page.hits, page.next) = (hits, next),
        // The database gives a statement up that takes too long.
        Err(error) if error.may_pass() && !error.is_outage() => page.state = SearchState::Stopped,
        Err(error) => return Err(error),
    }
    respond::page(&page)
}

/// A page of what is found, and where the next one begins.
pub async fn find(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    wanted: &SearchRequest,
    typed: &mut SearchWords,
) -> Result<(Vec<Hit>, Option<ConversationCursor>)> {
    let filter = ConversationFilter {
        view: wanted.status,
        mailbox: wanted.inbox,
        assigned: wanted.assigned,
        reference: None,
        words: None,
        before: [wanted.before, typed.place].into_iter().flatten().min_by_key(|place| (place.at, place.id)),
        since: typed.since,
        limit: PAGE,
    };
    let Some(filter) = typed.narrow(conn, asked, filter, Some(wanted.status)).await? else {
        return Ok((Vec::new(), None));
    };
    let now = asked.app().clock.now();
    let tags: Vec<TagId> =
        wanted.tag.iter().map(|(tag, _)| *tag).chain(typed.narrowing.tags.iter().copied()).collect();
    let found = if tags.is_empty() {
        rows::page(conn, &asked.person, now, &filter, Order::Newest).await?
    } else {
        tagged::page(conn, &asked.person, now, &filter, Order::Newest, &tags, false).await?
    };
    let next = found.next;
    Ok((hits(conn, asked, found, &typed.plain).await?, next))
}

async fn hits(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    found: RowsPage,
    words: &BTreeSet<String>,
) -> Result<Vec<Hit>> {
    let ids: Vec<ConversationId> = found.rows.iter().map(|row| row.id).collect();
    let mut excerpts = excerpts::load(conn, asked.person.workspace, &ids, words).await?;
    let hit = |row: rows::ConversationRow| Hit {
        subject: excerpts::marked(&row.subject, words),
        excerpt: excerpts.remove(&row.id),
        row: InboxItem(row),
    };
    Ok(found.rows.into_iter().map(hit).collect())
}

async fn files(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    query: &str,
    words: &BTreeSet<String>,
) -> Result<Vec<FileHit>> {
    let filter =
        library::DocumentFilter { words: Some(query.to_owned()), kind: None, before: None, limit: PAGE };
    let found = library::search(conn, &asked.person, &filter).await?;
    let file =
        |document: LibraryDocument| FileHit { name: excerpts::marked(&document.filename, words), document };
    Ok(found.into_iter().map(file).collect())
}

impl SearchRequest {
    /// What is not there or cannot be seen is the same 404.
    pub async fn read(conn: &mut PgConnection, asked: &MemberRequest, query: &FormFields) -> Result<Self> {
        let given = |name| query.get(name).map(str::trim).filter(|text| !text.is_empty());
        let inbox = match given("inbox") {
            Some(inbox) => Some(mailboxes::find_visible(conn, &asked.person, inbox).await?.id),
            None => None,
        };
        let status = match given("status") {
            None => View::All,
            Some(status) => STATUSES.iter().find(|(name, ..)| *name == status).ok_or(NO_ENDPOINT)?.2,
        };
        let assigned = match given("assigned") {
            None => None,
            Some("me") => Some(Assigned::To(asked.person.member)),
            Some("nobody") => Some(Assigned::ToNobody),
            Some(member) => Some(Assigned::To(member.parse::<MemberId>().map_err(|_| NO_ENDPOINT)?)),
        };
        let tag = match given("tag") {
            None => None,
            Some(tag) => {
                let tag: TagId = tag.parse().map_err(|_| NO_ENDPOINT)?;
                Some((tag, tags::find_visible(conn, &asked.person, tag).await?))
            }
        };
        let before = given("before").map(|place| place.parse().map_err(|_| NO_ENDPOINT)).transpose()?;
        let mut q = given("q").unwrap_or_default().to_owned();
        // Days that were chosen in the form stand in the search from then on.
        for (field, operator) in [("since", "after"), ("until", "before")] {
            if let Some(day) = given(field) {
                // In front, where no open quote has it.
                q = format!("{operator}:{day} {}", Query::without(&q, operator)).trim().to_owned();
            }
        }
        Ok(Self { q, status, inbox, assigned, tag, files: given("kind") == Some("files"), before })
    }

    /// This search with one thing changed: where a link leads.
    fn with(&self, name: &str, value: &str) -> String {
        let text = |of: Option<String>| of.unwrap_or_default();
        let status =
            STATUSES.iter().find(|(.., view)| *view == self.status).map(|(name, ..)| (*name).to_owned());
        let all = [
            ("q", self.q.clone()),
            ("kind", if self.files { "files".into() } else { String::new() }),
            ("status", text(status)),
            ("inbox", text(self.inbox.map(|inbox| inbox.to_string()))),
            ("assigned", text(self.assigned_field())),
            ("tag", text(self.tag.as_ref().map(|(tag, _)| tag.to_string()))),
            ("before", String::new()),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (own, now) in &all {
            let shown = if *own == name { value } else { now };
            if !shown.is_empty() {
                query.append_pair(own, shown);
            }
        }
        format!("/search?{}", query.finish())
    }

    /// This search without one of its operators.
    fn without(&self, operator: &str) -> String {
        self.with("q", &Query::without(&self.q, operator))
    }

    /// The days between which the newest mail is, as far as they are searched for.
    fn since(&self, times: &Times) -> Option<String> {
        Query::read(&self.q).ok()?.after.map(|day| times.day(day))
    }

    fn until(&self, times: &Times) -> Option<String> {
        Query::read(&self.q).ok()?.before.map(|day| times.day(day))
    }

    /// What came in the last days.
    fn of_last(&self, times: &Times, days: u64) -> String {
        let day = times.now.date_naive() - Days::new(days);
        self.with("q", format!("after:{day} {}", Query::without(&self.q, "after")).trim())
    }

    /// The query of its first page.
    pub fn saved(&self) -> String {
        let address = self.with("before", "");
        address.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    pub fn next(&self, place: &ConversationCursor) -> String {
        self.with("before", &place.to_string())
    }

    /// The query of this very page of it.
    pub fn query(&self) -> String {
        let place = self.before.map(|place| place.to_string()).unwrap_or_default();
        let address = self.with("before", &place);
        address.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
    }

    fn status_title(&self) -> Option<&'static str> {
        STATUSES.iter().find(|(.., view)| *view == self.status).map(|(_, title, _)| *title)
    }

    fn in_inbox(&self, id: &MailboxId) -> String {
        self.with("inbox", &id.to_string())
    }

    fn of_member(&self, id: &MemberId) -> String {
        self.with("assigned", &id.to_string())
    }

    fn of_tag(&self, id: &TagId) -> String {
        self.with("tag", &id.to_string())
    }

    fn assigned_field(&self) -> Option<String> {
        self.assigned.map(|assigned| match assigned {
            Assigned::To(member) => member.to_string(),
            Assigned::ToNobody => "nobody".to_owned(),
        })
    }

    fn is_narrowed(&self) -> bool {
        let is_dated = Query::read(&self.q).is_ok_and(|query| query.after.or(query.before).is_some());
        is_dated
            || self.status != View::All
            || self.inbox.is_some()
            || self.assigned.is_some()
            || self.tag.is_some()
    }

    /// Where the words are looked for, in all inboxes and whatever the status.
    fn widened(&self) -> String {
        let wide = Self {
            q: Query::without(&Query::without(&self.q, "after"), "before"),
            status: View::All,
            inbox: None,
            assigned: None,
            tag: None,
            files: self.files,
            before: None,
        };
        wide.with("", "")
    }
}

/// As addresses and as people call them.
const STATUSES: [(&str, &str, View); 4] = [
    ("open", "Open", View::Open),
    ("waiting", "Waiting", View::Waiting),
    ("snoozed", "Snoozed", View::Snoozed),
    ("closed", "Closed", View::Closed),
];

impl SearchPage {
    fn is(&self, name: &str) -> bool {
        match self.state {
            SearchState::Blank => name == "blank",
            SearchState::TooLong => name == "too long",
            SearchState::NoWord => name == "no word",
            SearchState::Mistake => name == "mistake",
            SearchState::Done => name == "done",
            SearchState::Behind => name == "behind",
            SearchState::Stopped => name == "stopped",
        }
    }

    fn counted(&self) -> String {
        format!("{} {}", self.hits.len(), if self.hits.len() == 1 { "conversation" } else { "conversations" })
    }

    fn statuses(&self) -> &'static [(&'static str, &'static str, View)] {
        &STATUSES
    }

    fn inbox_name(&self) -> Option<&str> {
        let id = self.asked.inbox?;
        self.shell.inboxes.iter().find(|inbox| inbox.id == id).map(|inbox| inbox.name.as_str())
    }

    fn assigned_name(&self) -> Option<&str> {
        match self.asked.assigned? {
            Assigned::ToNobody => Some("nobody"),
            Assigned::To(id) => {
                let member = self.shell.team.iter().find(|member| member.id == id);
                Some(member.map_or("somebody", |member| member.name.as_str()))
            }
        }
    }
}

impl Hit {
    fn status(&self) -> &'static str {
        status::name(self.row.status, self.row.snoozed_until.is_some())
    }

    pub fn is_ours(&self) -> bool {
        self.excerpt.as_ref().is_some_and(|excerpt| excerpt.direction == Some(Direction::Outbound))
    }

    /// Where the words stand in a note, the page opens there.
    pub fn place(&self) -> String {
        let note = self.excerpt.as_ref().and_then(|excerpt| excerpt.note);
        note.map(|note| format!("#{note}")).unwrap_or_default()
    }
}
