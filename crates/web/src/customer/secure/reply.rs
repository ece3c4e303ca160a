//! `POST …/reply`: what somebody writes on a secure page, with files. Each file is sealed as it comes, so no plain byte of it is
//! ever stored. All of it is one message, however often the form is sent: a double click is one.

use axum::extract::Multipart;
use axum::extract::multipart::Field;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::TryStreamExt;

use crate::customer::answers;
use crate::customer::language::for_visit;
use crate::customer::secure::message::{self, AnswerNotice};
use crate::customer::secure::words::SecureWord;
use crate::customer::secure::{Met, admit, ended, gate, meet, path_of};
use crate::customer::taking::{TURN, broken, form, throw_away};
use crate::respond;
use crate::visit::Visit;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::DocumentRequestId;
use rookery_base::languages::Language;
use rookery_base::limits::customers::Visits;
use rookery_base::limits::fair_seats::Sitter;
use rookery_base::net::clamd::Scanned;
use rookery_core::conversations::secure::answer::{self, AnswerRefusal, SecureAnswer};
use rookery_core::conversations::secure::files::{self, SealedFile};
use rookery_core::conversations::secure::page::SecurePage;
use rookery_core::conversations::secure::vault::Vault;
use rookery_core::conversations::secure::visits::{self, VisitEvent};
use rookery_http::slow_bodies::Pile;
use rookery_product::replies::ready::LONGEST_BODY;
use rookery_product::replies::upload::{MOST_BYTES, name as plain_name};
use rookery_reading::text;

const MOST_FILES: usize = 10;
const MOST_PARTS: usize = 20;

pub async fn take(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    Ok(answers::answered(language, taken(&visit, language).await))
}

/// What the form holds.
struct Filled {
    /// Whose files they are.
    sitter: Sitter,
    text: String,
    once: String,
    files: Vec<SealedFile>,
    /// Whether a file was refused.
    refused: bool,
}

async fn taken(visit: &Visit, language: Language) -> Result<Response> {
    admit(visit)?;
    let app = visit.app();
    let met = meet(visit, &mut *visit.customers_connection().await?, language).await?;
    let (page, until) = match met {
        Met::Answered(answer) => return Ok(answer),
        Met::Page(page, None) => return too_late(visit, language, &page).await,
        Met::Page(page, Some(until)) => (page, until),
    };
    let (now, network) = (app.clock.now(), visit.asker());
    // A link of this kind is counted by the number of its message, which no request has.
    let link = DocumentRequestId(page.message.0);
    app.customers.count(Visits::FilesOfNetwork(network), now)?;
    app.customers.count(Visits::FilesOfLink(link), now)?;
    let _place = app.uploads.begin_by_link(page.workspace, link, network)?;
    let mut conn = app.connection_of(page.workspace).await?;
    let vault = Vault::must(&mut conn, app.config.needs_secret_key()?, page.workspace).await?;
    drop(conn);
    let pile = Pile::default();
    let mut form = form(visit, &pile).await?;
    let mut filled = Filled::blank_for(Sitter::by_link(page.workspace, link.0));
    let read = filled.read(app, &vault, &mut form, &pile).await;
    let blobs: Vec<String> = filled.files.iter().map(|file| file.blob.clone()).collect();
    let written = match read {
        Ok(()) => write(visit, &vault, &page, until, language, &filled).await,
        Err(error) => Err(error),
    };
    let leaves_the_bytes = match &written {
        Ok((_, taken)) => !taken,
        // Nobody knows whether a row names them; if none does, the sweep finds them.
        Err(error) => !error.is_uncertain(),
    };
    if leaves_the_bytes {
        app.blobs.discard(&blobs).await;
    }
    written.map(|(response, _)| response)
}

/// The eight hours were over before it was sent: what was written goes through the way in. Files do not, because nothing is
/// stored for whoever has proved nothing.
async fn too_late(visit: &Visit, language: Language, page: &SecurePage) -> Result<Response> {
    let (app, network) = (visit.app(), visit.asker());
    app.customers.count(Visits::FilesOfNetwork(network), app.clock.now())?;
    let _place = app.uploads.begin_by_link(page.workspace, DocumentRequestId(page.message.0), network)?;
    let pile = Pile::default();
    let text = match form(visit, &pile).await {
        Ok(mut form) => typed(&mut form, &pile).await?,
        // What scanners of mail send is no form of ours.
        Err(_) => String::new(),
    };
    gate::again(visit, language, page, &text)
}

async fn typed(form: &mut Multipart, pile: &Pile) -> Result<String> {
    for _ in 0..MOST_PARTS {
        let Ok(Some(part)) = form.next_field().await else { break };
        pile.used();
        if part.name() == Some("text") {
            let text = words(part, pile).await?;
            throw_away(form, pile).await;
            return Ok(text);
        }
    }
    Ok(String::new())
}

/// The answer, and whether rows name the files now.
async fn write(
    visit: &Visit,
    vault: &Vault,
    page: &SecurePage,
    until: DateTime<Utc>,
    language: Language,
    filled: &Filled,
) -> Result<(Response, bool)> {
    let app = visit.app();
    let words = text::lines(&filled.text).trim_end().to_owned();
    let wrong = if filled.refused {
        Some(SecureWord::NotTaken)
    } else if words.trim().is_empty() && filled.files.is_empty() {
        Some(SecureWord::EmptyReply)
    } else if words.chars().count() > LONGEST_BODY {
        Some(SecureWord::LongReply)
    } else {
        None
    };
    if let Some(word) = wrong {
        let told = AnswerNotice { word, text: filled.text.clone() };
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok((message::show(visit, language, page, until, Some(told), status).await?, false));
    }
    let mut tx = app.begin(page.workspace).await?;
    let once = if filled.once.is_empty() { &words } else { &filled.once };
    let answer = SecureAnswer { text: &words, files: &filled.files, once };
    let there = path_of(page, visit);
    let there = respond::see_other(&format!("{there}?lang={}&sent=1#sent", language.code()));
    match answer::write(&mut tx, vault, page, answer).await? {
        Ok(_) => {
            visits::note(&mut tx, page.message, VisitEvent::Replied, visit.asker()).await?;
            tx.commit().await?;
            Ok((there, true))
        }
        // The same form came before.
        Err(AnswerRefusal::Duplicate) => Ok((there, false)),
        Err(AnswerRefusal::Ended) => Ok((ended(language)?, false)),
    }
}

impl Filled {
    fn blank_for(sitter: Sitter) -> Self {
        Self { sitter, text: String::new(), once: String::new(), files: Vec::new(), refused: false }
    }

    async fn read(&mut self, app: &App, vault: &Vault, form: &mut Multipart, pile: &Pile) -> Result<()> {
        for _ in 0..MOST_PARTS {
            let part = match form.next_field().await {
                Ok(Some(part)) => part,
                Ok(None) => return Ok(()),
                Err(_) => {
                    self.refused = true;
                    return Ok(());
                }
            };
            pile.used();
            match part.name() {
                Some("text") => self.text = words(part, pile).await?,
                Some("once") => self.once = words(part, pile).await?.chars().take(64).collect(),
                Some("file") if part.file_name().is_some_and(|name| !name.is_empty()) => {
                    let room = !self.refused && self.files.len() < MOST_FILES;
                    self.refused = !(room && self.take(app, vault, part, pile).await?);
                }
                _ => {}
            }
            if self.refused {
                throw_away(form, pile).await;
                return Ok(());
            }
        }
        self.refused = true;
        throw_away(form, pile).await;
        Ok(())
    }

    /// False when it cannot be taken.
    async fn take(&mut self, app: &App, vault: &Vault, part: Field<'_>, pile: &Pile) -> Result<bool> {
        let name = plain_name(part.file_name().unwrap_or_default());
        let kind = part.content_type().unwrap_or("application/octet-stream").to_owned();
        let taken: i64 = self.files.iter().map(|file| file.size).sum();
        let room = u64::try_from(MOST_BYTES - taken).unwrap_or_default();
        let bytes = part.map_err(broken).inspect_ok(|_| pile.used());
        let file = match files::store(app, vault, &name, &kind, bytes, room).await {
            Ok(file) => file,
            Err(Error::TooLarge | Error::Problems(_)) => return Ok(false),
            Err(other) => return Err(other),
        };
        let is_clean = is_clean(app, vault, &file, self.sitter).await;
        self.files.push(file);
        is_clean
    }
}

/// A field that is text, up to a size that no answer needs.
async fn words(mut part: Field<'_>, pile: &Pile) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(more) = part.chunk().await.map_err(broken)? {
        pile.used();
        bytes.extend_from_slice(&more);
        if bytes.len() > 8 * LONGEST_BODY {
            return Err(Error::TooLarge);
        }
    }
    Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"))
}

/// The scanner sees the plain bytes, in memory alone.
async fn is_clean(app: &App, vault: &Vault, file: &SealedFile, sitter: Sitter) -> Result<bool> {
    let Some(clamd) = &app.config.clamd else { return Ok(true) };
    let Some(_turn) = app.customers.checks.take(sitter, TURN).await else { return Ok(false) };
    let mut whole = Vec::new();
    let mut bytes = files::read_sealed(app, vault, file).await?.bytes;
    while let Some(piece) = bytes.try_next().await? {
        whole.extend_from_slice(&piece);
    }
    Ok(match clamd.scan(&whole).await {
        Scanned::Clean => true,
        Scanned::Found(what) => {
            tracing::warn!(what, "the virus scanner refused a file of a secure page");
            false
        }
        Scanned::Away(cause) => {
            tracing::error!(%clamd, cause, "the virus scanner does not answer: files of secure pages are not taken");
            false
        }
    })
}
