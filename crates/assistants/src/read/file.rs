//! What a file says, as far as this machine can read it: the confined child parses it, and scans and pictures go through
//! tesseract where it is installed.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use rookery_base::confined::job::Job;
use rookery_base::confined::run::{Broken, Confined, RunOutcome};
use rookery_base::confined::scans;
use rookery_base::error::Result;
use rookery_product::documents::to_read::ReadDocument;
use rookery_reading::kinds::DocumentClass;
use rookery_reading::text;
use rookery_reading::whole::{FIELDS, FileReading, RULES, ReadingState, ValueSource};

/// Pages of a scan that are looked at; each takes a second or more.
const MOST_SCANNED: u32 = 3;
/// Words in a picture that make it a paper.
const PAPER: usize = 12;

/// Reads a file, as far as this machine can. Nothing when that took too long.
pub async fn read(confined: &Confined, room: Duration, bytes: Bytes) -> Result<Option<ReadDocument>> {
    let began = Instant::now();
    let took = || i32::try_from(began.elapsed().as_millis()).unwrap_or(i32::MAX);
    let mut reading: FileReading = match confined.run(&Job::Read, bytes.clone()).await? {
        RunOutcome::Said(said) => serde_json::from_slice(&said).unwrap_or_default(),
        RunOutcome::Broken(Broken::Unsafe) => {
            return Ok(Some(ReadDocument {
                state: "failed",
                ..read_as(&FileReading::default(), Vec::new(), took())
            }));
        }
        RunOutcome::Broken(Broken::Late) => return Ok(None),
        RunOutcome::Broken(_) => FileReading::default(),
    };
    let mut by = vec![format!("rules {RULES}")];
    if reading.xml {
        by.push("the XML in the file".to_owned());
    }
    if reading.state == ReadingState::NoText
        && let Some(languages) = scans::languages()
    {
        let pages = scanned(confined, room, &bytes, &reading, &languages).await?;
        let (found, understood) = understood(confined, &pages).await?;
        if found >= PAPER {
            reading = FileReading { pages: reading.pages, ..understood };
            by.push("tesseract".to_owned());
        } else if reading.kind.is_none() && !pages.is_empty() && !bytes.starts_with(b"%PDF-") {
            reading.kind = Some(DocumentClass::Photo);
        }
    }
    Ok(Some(read_as(&reading, by, took())))
}

/// How many words there are, and what they say. What tesseract says is as strange as the file it looked at.
async fn understood(confined: &Confined, pages: &[(u32, String)]) -> Result<(usize, FileReading)> {
    if pages.is_empty() {
        return Ok((0, FileReading::default()));
    }
    match confined.run(&Job::Understand, serde_json::to_vec(pages)?.into()).await? {
        RunOutcome::Said(said) => Ok(serde_json::from_slice(&said).unwrap_or_default()),
        RunOutcome::Broken(_) => Ok((0, FileReading::default())),
    }
}

/// The words of a scan or a picture, of as many pages as there is time to begin.
async fn scanned(
    confined: &Confined,
    room: Duration,
    bytes: &Bytes,
    reading: &FileReading,
    languages: &str,
) -> Result<Vec<(u32, String)>> {
    let mut pages = Vec::new();
    let began = Instant::now();
    for number in 1..=reading.pages.clamp(1, MOST_SCANNED) {
        if began.elapsed() > room {
            break;
        }
        let picture = if bytes.starts_with(b"%PDF-") {
            match confined.run(&Job::Scan(number), bytes.clone()).await? {
                RunOutcome::Said(picture) => picture.into(),
                RunOutcome::Broken(_) => continue,
            }
        } else {
            bytes.clone()
        };
        let job = Job::Words { languages: languages.to_owned() };
        if let RunOutcome::Said(said) = confined.run(&job, picture).await? {
            pages.push((number, String::from_utf8_lossy(&said).into_owned()));
        }
    }
    Ok(pages)
}

/// As it is stored.
pub fn read_as(reading: &FileReading, by: Vec<String>, milliseconds: i32) -> ReadDocument {
    ReadDocument {
        by: by.join(", "),
        milliseconds,
        state: match reading.state {
            ReadingState::Read => "read",
            ReadingState::NoText => "no-text",
            ReadingState::Encrypted => "encrypted",
            ReadingState::Unreadable => "unreadable",
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
        let source: ValueSource = serde_json::from_value(sources.get(name)?.clone()).ok()?;
        let line = source.text.as_deref().map(|line| text::snippet(line, 200));
        Some(json!(ValueSource { by: text::snippet(&source.by, 20), text: line, ..source }))
    };
    FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), clean(name)?))).collect()
}
