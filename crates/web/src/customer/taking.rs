//! `POST /upload/wsp_…/req_…/token/itm_…`: files for an item, as a plain form sends them. Each is stored as it comes, checked
//! by its bytes and by the scanner, and named by a row; only then the page says "received". What is refused leaves nothing.
//!
//! What is too large is read to its end and thrown away, because a browser that is cut off shows no page.

use std::time::Duration;

use axum::body::Body;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::response::Response;
use futures::TryStreamExt;
use tokio::time::timeout;

use crate::customer::answers;
use crate::customer::language::for_visit;
use crate::customer::upload::{self, UploadNotice};
use crate::customer::words::Word;
use crate::respond;
use crate::visit::Visit;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::RequestItemId;
use rookery_base::languages::Language;
use rookery_base::limits::customers::Visits;
use rookery_base::limits::fair_seats::Sitter;
use rookery_base::net::clamd::Scanned;
use rookery_base::store::blobs::StoredBlob;
use rookery_http::slow_bodies::{Pile, paced};
use rookery_product::documents::checks::{self, HeaderVerdict, MOST_BYTES, Why};
use rookery_product::documents::uploads::kinds;
use rookery_product::documents::uploads::link::{self, UploadLink};
use rookery_product::documents::uploads::receive::{self, MOST_OF_ITEM, Received, UploadedFile};
use rookery_product::replies::upload::name as plain_name;

/// Bytes of a whole form, read or thrown away.
const MOST_FORM: usize = 300 << 20;
/// Most fields of a form.
const MOST_PARTS: usize = 40;
/// How long to read what is thrown away.
const THROWN_AWAY: Duration = Duration::from_secs(300);
/// How long a file waits for its check.
pub(super) const TURN: Duration = Duration::from_secs(90);

pub async fn take(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    Ok(answers::answered(language, taken(&visit, language).await))
}

async fn taken(visit: &Visit, language: Language) -> Result<Response> {
    let app = visit.app();
    upload::admit(visit)?;
    let found = upload::find(visit, &mut *visit.customers_connection().await?).await?;
    let Some(behind) = found else { return answers::nothing(language) };
    let Ok(item) = visit.id::<RequestItemId>("item") else { return answers::nothing(language) };
    let (now, network) = (app.clock.now(), visit.asker());
    app.customers.count(Visits::FilesOfNetwork(network), now)?;
    app.customers.count(Visits::FilesOfLink(behind.link.request), now)?;
    app.customers.is_within(Visits::LateFilesOfLink(behind.link.request), now)?;
    let _place = app.uploads.begin_by_link(behind.link.workspace, behind.link.request, network)?;
    let pile = Pile::default();
    let mut form = form(visit, &pile).await?;
    if behind.is_over(now) {
        throw_away(&mut form, &pile).await;
        return answers::ended(language);
    }
    let told = files(app, behind.link, item, &mut form, &pile).await?;
    if told.iter().any(|(_, why)| *why == Word::EndedTitle) {
        return answers::ended(language);
    }
    if told.is_empty() {
        let chosen = visit.query("lang").map(|_| format!("?lang={}", language.code())).unwrap_or_default();
        let (here, _) = visit.parts.uri.path().rsplit_once('/').unwrap_or_default();
        return Ok(respond::see_other(&format!("{here}{chosen}#{item}")));
    }
    let status = if told.iter().any(|(_, why)| *why == Word::NotNow) {
        StatusCode::SERVICE_UNAVAILABLE
    } else if told.iter().any(|(_, why)| *why == Word::TooLarge) {
        StatusCode::PAYLOAD_TOO_LARGE
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let told = UploadNotice { item, notices: told };
    let mut conn = visit.customers_connection().await?;
    let Some(behind) = upload::find(visit, &mut conn).await? else { return answers::nothing(language) };
    let items = link::items(&mut conn, behind.link).await?;
    upload::page(visit, language, &behind, items, Some(&told), status)
}

pub(super) async fn form(visit: &Visit, pile: &Pile) -> Result<Multipart> {
    let body = paced(visit.take_body(), pile.clone(), visit.app().stop.clone());
    let mut request = Request::new(Body::from_stream(body));
    *request.headers_mut() = visit.parts.headers.clone();
    DefaultBodyLimit::max(MOST_FORM).apply(&mut request);
    Multipart::from_request(request, &()).await.map_err(|_| Error::Missing("This is no form."))
}

/// All files of the form, one after the other. Gives those that were not taken, and why.
async fn files(
    app: &App,
    link: UploadLink,
    item: RequestItemId,
    form: &mut Multipart,
    pile: &Pile,
) -> Result<Vec<(String, Word)>> {
    let (mut told, mut many) = (Vec::new(), 0);
    for _ in 0..MOST_PARTS {
        let part = match form.next_field().await {
            Ok(Some(part)) => part,
            Ok(None) => break,
            Err(_) => {
                told.push((String::new(), Word::CutOff));
                return Ok(told);
            }
        };
        pile.used();
        let given = part.file_name().unwrap_or_default().to_owned();
        // A field without a chosen file is an empty one.
        if part.name() != Some("file") || given.is_empty() {
            continue;
        }
        many += 1;
        let name = plain_name(&given);
        if many > MOST_OF_ITEM {
            // It is said once, for all that follow.
            told.push((name, Word::TooMany));
            drop(part);
            throw_away(form, pile).await;
            return Ok(told);
        }
        let why = one(app, link, item, &name, part, pile).await?;
        if let Some(why) = why {
            told.push((name, why));
            if matches!(why, Word::CutOff | Word::EndedTitle) {
                return Ok(told);
            }
        }
    }
    if many == 0 {
        told.push((String::new(), Word::NoFile));
    }
    Ok(told)
}

/// Takes one file, or says why not.
async fn one(
    app: &App,
    link: UploadLink,
    item: RequestItemId,
    name: &str,
    mut part: Field<'_>,
    pile: &Pile,
) -> Result<Option<Word>> {
    let bytes = (&mut part).map_err(broken).inspect_ok(|_| pile.used());
    let written = match app.blobs.write(link.workspace, "file", bytes, MOST_BYTES).await {
        Ok(written) => written,
        Err(Error::TooLarge) => {
            read_to_end(&mut part, pile).await;
            return Ok(Some(Word::TooLarge));
        }
        Err(Error::Problems(_)) => return Ok(Some(Word::CutOff)),
        Err(other) => return Err(other),
    };
    let taken = named(app, link, item, name, &written).await;
    let leaves_the_bytes = match &taken {
        Ok(Ok(received)) => received.leaves_the_bytes(),
        Ok(Err(_)) => true,
        // Nobody knows whether a row names them; if none does, the sweep finds them.
        Err(error) => !error.is_uncertain(),
    };
    if leaves_the_bytes {
        app.blobs.discard(&[written.key]).await;
    }
    Ok(match taken? {
        Ok(Received::Taken | Received::Known) => None,
        Ok(Received::RefusedBefore) => Some(Word::SentBefore),
        Ok(Received::TooManyOfItem | Received::TooManyOfRequest) => Some(Word::TooMany),
        Ok(Received::Ended) => Some(Word::EndedTitle),
        Err(why) => Some(why),
    })
}

/// Checks what is stored, and gives it its row.
async fn named(
    app: &App,
    link: UploadLink,
    item: RequestItemId,
    name: &str,
    written: &StoredBlob,
) -> Result<Result<Received, Word>> {
    let kind = {
        // Its bytes are in memory for that, also while the scanner has them; a scanner that hangs makes nobody wait for long.
        let sitter = Sitter::by_link(link.workspace, link.request.0);
        let Some(_turn) = app.customers.checks.take(sitter, TURN).await else { return Ok(Err(Word::NotNow)) };
        let file: bytes::Bytes = app.blobs.get(&written.key).await?.into();
        let kind = match checks::check(app, link.workspace, link.request, file.clone()).await? {
            HeaderVerdict::Fine { kind } => kind,
            HeaderVerdict::Refused(Why::NotAllowed) if kinds::is_archive(&file) => {
                return Ok(Err(Word::Archive));
            }
            HeaderVerdict::Refused(why) => return Ok(Err(why_not(why))),
        };
        if let Some(clamd) = &app.config.clamd {
            match clamd.scan(&file).await {
                Scanned::Clean => {}
                Scanned::Found(what) => {
                    tracing::warn!(request = %link.request, what, "the virus scanner refused a customer's file");
                    return Ok(Err(Word::Virus));
                }
                Scanned::Away(cause) => {
                    tracing::error!(%clamd, cause, "the virus scanner does not answer: customers' files are not taken");
                    return Ok(Err(Word::NotNow));
                }
            }
        }
        kind
    };
    let filename = kinds::named(kind, name);
    let mut tx = app.begin(link.workspace).await?;
    let sent = UploadedFile { filename: &filename, kind, written };
    let received = receive::receive(&mut tx, &link, item, &sent).await?;
    tx.commit().await?;
    Ok(Ok(received))
}

fn why_not(why: Why) -> Word {
    match why {
        Why::Empty => Word::Empty,
        Why::TooLarge => Word::TooLarge,
        Why::Damaged => Word::Damaged,
        Why::NotAllowed => Word::WrongKind,
        Why::Macros => Word::Macros,
        Why::Encrypted => Word::Encrypted,
        Why::TooManyPixels => Word::Pixels,
    }
}

pub(super) fn broken(error: MultipartError) -> Error {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge,
        _ => Error::problem("file", "broke off"),
    }
}

/// Reads what is not wanted to its end, for a while.
pub(super) async fn throw_away(form: &mut Multipart, pile: &Pile) {
    let reading = async {
        for _ in 0..MOST_PARTS {
            let Ok(Some(mut part)) = form.next_field().await else { return };
            pile.used();
            read_to_end(&mut part, pile).await;
        }
    };
    let _ = timeout(THROWN_AWAY, reading).await;
}

async fn read_to_end(part: &mut Field<'_>, pile: &Pile) {
    let reading = async {
        while let Ok(Some(_)) = part.chunk().await {
            pile.used();
        }
    };
    let _ = timeout(THROWN_AWAY, reading).await;
}
