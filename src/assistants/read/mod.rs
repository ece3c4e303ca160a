//! Reads what was filed: the file goes through a confined child, and what it says is written under its claim. Scans and
//! pictures are read by tesseract where it is installed. No connection is held meanwhile. What the rules leave empty a model
//! is asked for (`ask`), where an owner agreed to one.

pub mod ask;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use crate::app::App;
use crate::assistants::settings::{self, Engine, Settings};
use crate::assistants::tasks::{self, Kind as Task};
use crate::confined::job::{Job, MOST_INPUT};
use crate::confined::run::{Broken, Outcome};
use crate::confined::scans;
use crate::documents::to_read::{self, Claimed, Read};
use crate::due::lease::{self, Claim, Lease, Tried, Work};
use crate::error::Result;
use crate::reading::kinds::Kind;
use crate::reading::whole::{FIELDS, RULES, Reading, Source, State};
use crate::store::db::Tx;
use crate::text;

/// The worker's loop.
pub const LOOP: &str = "read documents";

/// Pages of a scan that are looked at; each takes a second or more.
const MOST_SCANNED: u32 = 3;
/// Words in a picture that make it a paper.
const PAPER: usize = 12;

/// Works off everything that is due now.
pub async fn read_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Documents { app }, at_once).await
}

struct Documents<'a> {
    app: &'a App,
}

impl Work for Documents<'_> {
    const WHAT: &'static str = "a document";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = Claimed;
    /// Nothing when nobody is to read it: it stays as it was filed, until a person asks for it.
    type Outcome = Option<Read>;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<Claimed>> {
        to_read::claim(conn, lease.began, lease.ends).await
    }

    fn claim_of(&self, claimed: &Claimed) -> Claim {
        Claim { workspace: claimed.workspace, number: claimed.claim, tries: claimed.tries }
    }

    async fn act(&self, app: &App, claimed: &Claimed) -> Result<Tried<Option<Read>>> {
        let settings = settings::of(&mut *app.connection().await?, claimed.workspace).await?;
        if !reads(app, &settings) {
            return Ok(Tried::Done(None));
        }
        if usize::try_from(claimed.size).is_ok_and(|size| size > MOST_INPUT) {
            return Ok(Tried::Done(Some(read_as(&Reading::default(), Vec::new(), 0))));
        }
        let bytes: Bytes = app.blobs.get(&claimed.blob).await?.into();
        match read(app, bytes).await? {
            Some(read) => Ok(Tried::Done(Some(read))),
            // A busy machine is slow too, so it has more than one chance.
            None if claimed.tries < 2 => {
                tracing::warn!(workspace = %claimed.workspace, document = %claimed.document, "reading took too long");
                Ok(Tried::Later)
            }
            None => Ok(Tried::Done(Some(read_as(&Reading::default(), Vec::new(), 0)))),
        }
    }

    async fn finish(&self, tx: &mut Tx<'_>, claimed: &Claimed, read: Option<Read>) -> Result<bool> {
        let settings = settings::held(tx).await?;
        let Some(read) = read.filter(|_| reads(self.app, &settings)) else {
            return to_read::leave(tx, claimed).await;
        };
        let stored = to_read::store(tx, claimed, &read).await?;
        if stored && settings.reading == Engine::Model && read.state == "read" {
            tasks::note(tx, &[claimed.document.0], Task::Read).await?;
        }
        Ok(stored)
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        claimed: &Claimed,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        to_read::again(tx, claimed, due_at, tried).await
    }

    async fn give_up(&self, tx: &mut Tx<'_>, claimed: &Claimed) -> Result<bool> {
        to_read::give_up(tx, claimed).await
    }
}

fn reads(app: &App, settings: &Settings) -> bool {
    settings.reading != Engine::Off && !settings.is_stopped(app)
}

/// Reads a file, as far as this machine can. Nothing when that took too long.
pub async fn read(app: &App, bytes: Bytes) -> Result<Option<Read>> {
    let began = app.clock.now();
    let took = || i32::try_from((app.clock.now() - began).num_milliseconds()).unwrap_or(i32::MAX);
    let mut reading: Reading = match app.confined.run(&Job::Read, bytes.clone()).await? {
        Outcome::Said(said) => serde_json::from_slice(&said).unwrap_or_default(),
        Outcome::Broken(Broken::Unsafe) => {
            return Ok(Some(Read { state: "failed", ..read_as(&Reading::default(), Vec::new(), took()) }));
        }
        Outcome::Broken(Broken::Late) => return Ok(None),
        Outcome::Broken(_) => Reading::default(),
    };
    let mut by = vec![format!("rules {RULES}")];
    if reading.xml {
        by.push("the XML in the file".to_owned());
    }
    if reading.state == State::NoText
        && let Some(languages) = scans::languages()
    {
        let pages = scanned(app, &bytes, &reading, &languages).await?;
        let (found, understood) = understood(app, &pages).await?;
        if found >= PAPER {
            reading = Reading { pages: reading.pages, ..understood };
            by.push("tesseract".to_owned());
        } else if reading.kind.is_none() && !pages.is_empty() && !bytes.starts_with(b"%PDF-") {
            reading.kind = Some(Kind::Photo);
        }
    }
    Ok(Some(read_as(&reading, by, took())))
}

/// How many words there are, and what they say. What tesseract says is as strange as the file it looked at.
async fn understood(app: &App, pages: &[(u32, String)]) -> Result<(usize, Reading)> {
    if pages.is_empty() {
        return Ok((0, Reading::default()));
    }
    match app.confined.run(&Job::Understand, serde_json::to_vec(pages)?.into()).await? {
        Outcome::Said(said) => Ok(serde_json::from_slice(&said).unwrap_or_default()),
        Outcome::Broken(_) => Ok((0, Reading::default())),
    }
}

/// The words of a scan or a picture.
async fn scanned(app: &App, bytes: &Bytes, reading: &Reading, languages: &str) -> Result<Vec<(u32, String)>> {
    let mut pages = Vec::new();
    let began = app.clock.now();
    // Each page fits into what the lease has room for; a slow machine reads fewer.
    let room = app.config.handover() / 3;
    for number in 1..=reading.pages.clamp(1, MOST_SCANNED) {
        if app.clock.now() - began > room {
            break;
        }
        let picture = match bytes.starts_with(b"%PDF-") {
            true => match app.confined.run(&Job::Scan(number), bytes.clone()).await? {
                Outcome::Said(picture) => picture.into(),
                Outcome::Broken(_) => continue,
            },
            false => bytes.clone(),
        };
        let job = Job::Words { languages: languages.to_owned() };
        if let Outcome::Said(said) = app.confined.run(&job, picture).await? {
            pages.push((number, String::from_utf8_lossy(&said).into_owned()));
        }
    }
    Ok(pages)
}

fn read_as(reading: &Reading, by: Vec<String>, milliseconds: i32) -> Read {
    Read {
        by: by.join(", "),
        milliseconds,
        state: match reading.state {
            State::Read => "read",
            State::NoText => "no-text",
            State::Encrypted => "encrypted",
            State::Unreadable => "unreadable",
        },
        pages: i32::try_from(reading.pages).unwrap_or(i32::MAX),
        kind: reading.kind.map(|kind| kind.as_str().to_owned()),
        title: reading.title.as_deref().map(text::line),
        fields: cleaned(&reading.fields),
        sources: Value::Object(cleaned_sources(&reading.sources)),
        text: text::lines(&reading.text),
    }
}

/// What a child says is a stranger's: only what a document has, one line each, and nothing that PostgreSQL cannot keep.
fn cleaned(fields: &Map<String, Value>) -> Map<String, Value> {
    let clean = |value: &Value| match value {
        Value::String(text) => Some(Value::String(text::snippet(text, 200))),
        Value::Number(_) | Value::Null => Some(value.clone()),
        _ => None,
    };
    let known = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), clean(fields.get(*name)?)?)));
    known.collect()
}

fn cleaned_sources(sources: &Map<String, Value>) -> Map<String, Value> {
    let clean = |name: &str| {
        let source: Source = serde_json::from_value(sources.get(name)?.clone()).ok()?;
        let line = source.text.as_deref().map(|line| text::snippet(line, 200));
        Some(json!(Source { by: text::snippet(&source.by, 20), text: line, ..source }))
    };
    FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), clean(name)?))).collect()
}
