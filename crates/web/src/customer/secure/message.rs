//! The messages of a secure page, for a browser that proved to be meant: what was written both ways, files to save, and a box
//! to answer in. What is shown here for the first time counts as read.

use std::net::IpAddr;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::customer::answers;
use crate::customer::language::for_visit;
use crate::customer::secure::words::SecureWord;
use crate::customer::secure::{Met, admit, meet, path_of};
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, SecureFileId};
use rookery_base::languages::Language;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::message::Direction;
use rookery_core::conversations::secure::files;
use rookery_core::conversations::secure::page::SecurePage;
use rookery_core::conversations::secure::thread::{self, SecureMessage};
use rookery_core::conversations::secure::vault::Vault;
use rookery_core::conversations::secure::visits::{self, VisitEvent};
use rookery_http::files::attached;

#[derive(Template)]
#[template(path = "customer/secure/message.html")]
struct MessagePage {
    language: Language,
    here: String,
    name: String,
    inbox: String,
    open_until: String,
    messages: Vec<Message>,
    /// A random name of this form, so that sending it twice stores one reply.
    once: String,
    told: Option<AnswerNotice>,
}

struct Message {
    is_theirs: bool,
    who: String,
    at: String,
    stamp: String,
    text: String,
    files: Vec<Saved>,
}

struct Saved {
    id: SecureFileId,
    name: String,
    size: String,
}

/// What is said of an answer that was just sent.
pub struct AnswerNotice {
    pub word: SecureWord,
    /// The text of a reply that was not taken.
    pub text: String,
}

impl MessagePage {
    fn say(&self, word: SecureWord) -> &'static str {
        self.language.say(word)
    }

    fn with_name(&self, word: SecureWord) -> String {
        self.language.fill(word, &[("name", &self.name)])
    }

    fn say_notice(&self, told: &AnswerNotice) -> &'static str {
        self.say(told.word)
    }

    fn left(&self) -> &str {
        self.told.as_ref().map_or("", |told| told.text.as_str())
    }
}

/// The page as it is now, for a browser that has proved who it is.
pub async fn show(
    visit: &Visit,
    language: Language,
    page: &SecurePage,
    until: DateTime<Utc>,
    told: Option<AnswerNotice>,
    status: StatusCode,
) -> Result<Response> {
    let app = visit.app();
    let now = app.clock.now();
    let mut conn = app.connection_of(page.workspace).await?;
    let shown = thread::read(&mut conn, app.config.needs_secret_key()?, page, now).await?;
    let ours: Vec<MessageId> =
        shown.iter().filter(|one| one.direction == Direction::Outbound).map(|one| one.id).collect();
    let is_new = !visits::unread(&mut conn, page.workspace, &ours).await?.is_empty();
    drop(conn);
    if is_new {
        mark_read(app, page, visit.asker()).await?;
    }
    let today = page.zone.day(now);
    let ends = language.date(page.zone.day(page.expires_at - TimeDelta::seconds(1)), today);
    let time = page.zone.clock(until);
    let told = told.or_else(|| {
        visit.query("sent").map(|_| AnswerNotice { word: SecureWord::Sent, text: String::new() })
    });
    let view = MessagePage {
        here: path_of(page, visit),
        name: page.workspace_name.clone(),
        inbox: page.inbox.clone(),
        open_until: language.fill(SecureWord::OpenUntil, &[("time", &time), ("date", &ends)]),
        messages: shown.into_iter().map(|one| Message::from_message(one, language, page, now)).collect(),
        once: app.random.hex(16),
        told,
        language,
    };
    respond::page_with(status, &view)
}

/// Marks all messages of the page as read, and tells the team of those that were unread.
pub async fn mark_read(app: &App, page: &SecurePage, network: IpAddr) -> Result<()> {
    let mut tx = app.begin(page.workspace).await?;
    let conversation = lock_any(&mut tx, page.conversation).await?;
    let now = app.clock.now();
    let shown = thread::read(&mut tx, app.config.needs_secret_key()?, page, now).await?;
    let ours: Vec<MessageId> =
        shown.iter().filter(|one| one.direction == Direction::Outbound).map(|one| one.id).collect();
    visits::read(&mut tx, &conversation, &ours, network).await?;
    tx.commit().await
}

/// `GET …/files/{file}`: a file of the page, to be saved.
pub async fn file(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let mut response = answers::answered(language, given(&visit, language).await);
    response.headers_mut().remove("content-language");
    Ok(response)
}

async fn given(visit: &Visit, language: Language) -> Result<Response> {
    admit(visit)?;
    let app = visit.app();
    let mut conn = visit.customers_connection().await?;
    let page = match meet(visit, &mut conn, language).await? {
        Met::Answered(answer) => return Ok(answer),
        // Who has proved nothing is shown the way in.
        Met::Page(page, None) => return Ok(respond::see_other(&path_of(&page, visit))),
        Met::Page(page, Some(_)) => page,
    };
    let Ok(id) = visit.id::<SecureFileId>("file") else { return answers::nothing(language) };
    let keys = app.config.needs_secret_key()?;
    let shown = thread::read(&mut conn, keys, &page, app.clock.now()).await?;
    let found = shown.into_iter().flat_map(|one| one.files).find(|file| file.id == id);
    let Some(file) = found else { return answers::nothing(language) };
    let vault = Vault::must(&mut conn, keys, page.workspace).await?;
    drop(conn);
    let mut tx = app.begin(page.workspace).await?;
    visits::note(&mut tx, page.message, VisitEvent::File, visit.asker()).await?;
    tx.commit().await?;
    Ok(attached(files::read(app, &vault, &file).await?, &file.filename))
}

impl Message {
    fn from_message(shown: SecureMessage, language: Language, page: &SecurePage, now: DateTime<Utc>) -> Self {
        let is_theirs = shown.direction == Direction::Inbound;
        let day = language.date(page.zone.day(shown.at), page.zone.day(now));
        Self {
            is_theirs,
            who: if is_theirs {
                language.say(SecureWord::You).to_owned()
            } else {
                shown.author.unwrap_or_else(|| page.inbox.clone())
            },
            at: format!("{day}, {}", page.zone.clock(shown.at)),
            stamp: shown.at.format("%Y-%m-%dT%H:%MZ").to_string(),
            text: shown.text,
            files: shown
                .files
                .into_iter()
                .map(|file| Saved { id: file.id, size: language.size(file.size), name: file.filename })
                .collect(),
        }
    }
}
