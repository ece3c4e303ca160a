//! What a file says, as far as this machine can read it: the confined child parses it, and scans and pictures go through
//! tesseract where it is installed.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::confined::job::Job;
use crate::confined::run::{Broken, Confined, Outcome};
use crate::confined::scans;
use crate::documents::to_read::Read;
use crate::error::Result;
use crate::reading::kinds::Kind;
use crate::reading::whole::{FIELDS, RULES, Reading, Source, State};
use crate::text;

/// Pages of a scan that are looked at; each takes a second or more.
const MOST_SCANNED: u32 = 3;
/// Words in a picture that make it a paper.
const PAPER: usize = 12;

/// Reads a file, as far as this machine can. Nothing when that took too long.
pub async fn read(confined: &Confined, room: Duration, bytes: Bytes) -> Result<Option<Read>> {
    let began = Instant::now();
    let took = || i32::try_from(began.elapsed().as_millis()).unwrap_or(i32::MAX);
    let mut reading: Reading = match confined.run(&Job::Read, bytes.clone()).await? {
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
        let pages = scanned(confined, room, &bytes, (&reading, &languages)).await?;
        let (found, understood) = understood(confined, &pages).await?;
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
async fn understood(confined: &Confined, pages: &[(u32, String)]) -> Result<(usize, Reading)> {
    if pages.is_empty() {
        return Ok((0, Reading::default()));
    }
    match confined.run(&Job::Understand, serde_json::to_vec(pages)?.into()).await? {
        Outcome::Said(said) => Ok(serde_json::from_slice(&said).unwrap_or_default()),
        Outcome::Broken(_) => Ok((0, Reading::default())),
    }
}

/// The words of a scan or a picture, of as many pages as there is time to begin.
async fn scanned(
    confined: &Confined,
    room: Duration,
    bytes: &Bytes,
    (reading, languages): (&Reading, &str),
) -> Result<Vec<(u32, String)>> {
    let mut pages = Vec::new();
    let began = Instant::now();
    for number in 1..=reading.pages.clamp(1, MOST_SCANNED) {
        if began.elapsed() > room {
            break;
        }
        let picture = match bytes.starts_with(b"%PDF-") {
            true => match confined.run(&Job::Scan(number), bytes.clone()).await? {
                Outcome::Said(picture) => picture.into(),
                Outcome::Broken(_) => continue,
            },
            false => bytes.clone(),
        };
        let job = Job::Words { languages: languages.to_owned() };
        if let Outcome::Said(said) = confined.run(&job, picture).await? {
            pages.push((number, String::from_utf8_lossy(&said).into_owned()));
        }
    }
    Ok(pages)
}

/// As it is stored.
pub fn read_as(reading: &Reading, by: Vec<String>, milliseconds: i32) -> Read {
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
