//! A file read as a whole: the XML inside it first, because it is exact, then the rules on its text. Where both speak the
//! XML is believed, and the page shows where it stands.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::check::{self, FileKind, Why};
use crate::fields::{self, FoundFields};
use crate::files::einvoice::{self, Einvoice};
use crate::files::{office, pdf, picture, plain};
use crate::folded::{Folded, fold};
use crate::found::{FoundValue, ValuePlace, line_with};
use crate::kinds::{self, DocumentClass};
use crate::page::{Bounds, TextPage};
use crate::{amounts, dates, title};

/// Counts up when the rules say something else of the same file.
pub const RULES: u32 = 2;
/// The names of fields, as the API has them.
pub const FIELDS: [&str; 6] = ["vendor", "amount", "currency", "date", "dueDate", "reference"];
/// Bytes of the text that is kept; the child's answer has its limit.
const MOST_TEXT: usize = 30_000;

/// What a child says of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReading {
    pub state: ReadingState,
    pub pages: u32,
    pub kind: Option<DocumentClass>,
    pub title: Option<String>,
    /// Every name of [`FIELDS`] when it is a paper that has them, with null for what was not found.
    pub fields: Map<String, Value>,
    /// Where each value stands.
    pub sources: Map<String, Value>,
    pub text: String,
    /// The XML inside the file spoke.
    pub xml: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadingState {
    Read,
    /// A scan or a picture: there are pixels and no words.
    NoText,
    Encrypted,
    /// Nothing that can be read, or broken.
    #[default]
    Unreadable,
}

/// Where a value stands, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueSource {
    /// `xml`, `rules`, `both` when they agree, or `model`.
    pub by: String,
    pub page: Option<u32>,
    pub line: Option<u32>,
    pub text: Option<String>,
    pub at: Option<Bounds>,
}

pub fn read(bytes: &[u8]) -> FileReading {
    if let Some(einvoice) = alone(bytes) {
        let pages = [TextPage::of_text(1, &String::from_utf8_lossy(&bytes[..bytes.len().min(100_000)]))];
        return FileReading { pages: 1, ..understand(&pages, Some(&einvoice)) };
    }
    match check::kind(bytes) {
        Ok(FileKind::Pdf) => read_pdf(bytes),
        Ok(FileKind::Docx | FileKind::Xlsx | FileKind::Odt | FileKind::Ods) => match office::text(bytes) {
            Some(text) => understand(&[TextPage::of_text(1, &text)], None),
            None => FileReading::default(),
        },
        Ok(file @ (FileKind::Csv | FileKind::Txt)) => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200_000)]);
            let text = if file == FileKind::Csv { plain::table(&text) } else { plain::columns(&text) };
            understand(&[TextPage::of_text(1, &text)], None)
        }
        Ok(FileKind::Jpeg | FileKind::Png | FileKind::Webp | FileKind::Tiff | FileKind::Heic) => {
            let photo = matches!(check::kind(bytes), Ok(FileKind::Heic)) || picture::by_camera(bytes);
            FileReading {
                state: ReadingState::NoText,
                pages: 1,
                kind: photo.then_some(DocumentClass::Photo),
                ..FileReading::default()
            }
        }
        Err(Why::Encrypted) => FileReading { state: ReadingState::Encrypted, ..FileReading::default() },
        Err(_) => FileReading::default(),
    }
}

/// An invoice that came as XML and nothing else.
fn alone(bytes: &[u8]) -> Option<Einvoice> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if start.starts_with(b"<") && bytes.len() < 5_000_000 { einvoice::read(bytes) } else { None }
}

fn read_pdf(bytes: &[u8]) -> FileReading {
    let document = match pdf::open(bytes) {
        Ok(document) => document,
        Err(pdf::Unreadable::Encrypted) => {
            return FileReading { state: ReadingState::Encrypted, ..FileReading::default() };
        }
        Err(pdf::Unreadable::Damaged) => return FileReading::default(),
    };
    let einvoice = pdf::embedded(&document).iter().find_map(|file| einvoice::read(file));
    let pages = pdf::pages(&document);
    FileReading { pages: pdf::page_count(&document), ..understand(&pages, einvoice.as_ref()) }
}

/// What the words of these pages say.
pub fn understand(pages: &[TextPage], einvoice: Option<&Einvoice>) -> FileReading {
    let count = pages.len() as u32;
    let words: usize = pages.iter().map(TextPage::words).sum();
    if words == 0 && einvoice.is_none() {
        return FileReading { state: ReadingState::NoText, pages: count, ..FileReading::default() };
    }
    let kind = match einvoice {
        Some(_) => Some(DocumentClass::Invoice),
        None => kinds::of_text(pages),
    };
    // A few words, or a picture: nothing is asked of them.
    let Some(paper) = kind.filter(|kind| *kind != DocumentClass::Photo) else {
        let title = title::title(kind, &FoundFields::default(), pages);
        return FileReading {
            state: ReadingState::Read,
            pages: count,
            title,
            kind,
            text: text(pages),
            ..FileReading::default()
        };
    };
    let mut read = fields::find_in(pages, paper);
    let mut said = FieldValues::default();
    said.text("vendor", read.vendor.as_ref());
    said.tell("amount", read.amount.as_ref(), |amount| json!(decimal(*amount)));
    said.text("currency", read.currency.as_ref());
    said.tell("date", read.date.as_ref(), |date| json!(date.to_string()));
    said.tell("dueDate", read.due_date.as_ref(), |date| json!(date.to_string()));
    said.text("reference", read.reference.as_ref());
    if let Some(einvoice) = einvoice {
        said.believe(einvoice, pages);
        // What the XML leaves out is not guessed beside it: it is the invoice.
        apply(&mut read, einvoice, pages);
    }
    FileReading {
        state: ReadingState::Read,
        pages: count,
        title: title::title(kind, &read, pages),
        kind,
        fields: said.fields,
        sources: said.sources,
        text: text(pages),
        xml: einvoice.is_some(),
    }
}

/// What is told of each field.
struct FieldValues {
    fields: Map<String, Value>,
    sources: Map<String, Value>,
}

impl Default for FieldValues {
    fn default() -> Self {
        let nothing = FIELDS.iter().map(|name| ((*name).to_owned(), Value::Null));
        Self { fields: nothing.collect(), sources: Map::new() }
    }
}

impl FieldValues {
    fn text(&mut self, name: &str, found: Option<&FoundValue<String>>) {
        self.tell(name, found, |text| json!(text));
    }

    fn tell<T>(&mut self, name: &str, found: Option<&FoundValue<T>>, as_json: impl FnOnce(&T) -> Value) {
        if let Some(found) = found {
            self.fields.insert(name.to_owned(), as_json(&found.value));
            self.sources.insert(name.to_owned(), json!(ValueSource::from_place("rules", Some(&found.place))));
        }
    }

    fn believe(&mut self, einvoice: &Einvoice, pages: &[TextPage]) {
        let day = |date: &chrono::NaiveDate| json!(date.to_string());
        let all: [(&str, Option<Value>); 6] = [
            ("vendor", einvoice.vendor.as_ref().map(|text| json!(text))),
            ("amount", einvoice.amount.map(|amount| json!(decimal(amount)))),
            ("currency", einvoice.currency.as_ref().map(|text| json!(text))),
            ("date", einvoice.date.as_ref().map(day)),
            ("dueDate", einvoice.due_date.as_ref().map(day)),
            ("reference", einvoice.reference.as_ref().map(|text| json!(text))),
        ];
        for (name, value) in all {
            let Some(value) = value else {
                self.fields.insert(name.to_owned(), Value::Null);
                self.sources.remove(name);
                continue;
            };
            let agree = self.fields.get(name) == Some(&value);
            if !agree {
                let place = seen(name, &value, pages);
                self.sources.insert(name.to_owned(), json!(ValueSource::from_place("xml", place.as_ref())));
            } else if let Some(Value::Object(source)) = self.sources.get_mut(name) {
                source.insert("by".to_owned(), json!("both"));
            }
            self.fields.insert(name.to_owned(), value);
        }
    }
}

impl ValueSource {
    fn from_place(by: &str, place: Option<&ValuePlace>) -> Self {
        Self {
            by: by.to_owned(),
            page: place.map(|place| place.page),
            line: place.map(|place| place.line),
            text: place.map(|place| place.text.clone()),
            at: place.map(|place| place.at),
        }
    }
}

/// Where a value that came from the XML stands on the page.
fn seen(name: &str, value: &Value, pages: &[TextPage]) -> Option<ValuePlace> {
    match (name, value) {
        ("amount", Value::Number(number)) => {
            let wanted = (number.as_f64()? * 100.0).round() as i64;
            line_with(pages, |cell| {
                amounts::amounts(&cell.text).iter().any(|amount| amount.hundredths == wanted)
            })
        }
        ("date" | "dueDate", Value::String(text)) => {
            let wanted = text.parse().ok()?;
            line_with(pages, |cell| {
                dates::dates(&cell.text, dates::Order::DayFirst).iter().any(|dated| dated.date == wanted)
            })
        }
        (_, Value::String(text)) => {
            let wanted = fold(text);
            line_with(pages, |cell| fold(&cell.text).contains(&wanted))
        }
        _ => None,
    }
}

/// Where a value stands in the text of a document as it is kept: what a model says counts only then. Pages are parted by an
/// empty line; where on the page it was is not known any more.
pub fn in_text(name: &str, value: &Value, text: &str) -> Option<ValueSource> {
    let pages: Vec<TextPage> =
        text.split("\n\n").zip(1..).map(|(part, number)| TextPage::of_text(number, part)).collect();
    let place = match (name, value) {
        ("currency", Value::String(code)) => {
            line_with(&pages, |cell| amounts::currencies(&cell.text).contains(&code.as_str()))
        }
        ("vendor" | "reference", Value::String(words)) => {
            line_with(&pages, |cell| Folded::from_text(&cell.text).has(&fold(words)))
        }
        _ => seen(name, value, &pages),
    }?;
    Some(ValueSource { at: None, ..ValueSource::from_place("model", Some(&place)) })
}

/// The title is made of what is believed.
fn apply(read: &mut FoundFields, einvoice: &Einvoice, pages: &[TextPage]) {
    let nowhere = || ValuePlace { page: 1, line: 1, text: String::new(), at: Bounds::default() };
    let at = |name: &str, text: &str| seen(name, &json!(text), pages).unwrap_or_else(nowhere);
    read.vendor =
        einvoice.vendor.as_ref().map(|name| FoundValue { value: name.clone(), place: at("vendor", name) });
    read.reference = einvoice
        .reference
        .as_ref()
        .map(|name| FoundValue { value: name.clone(), place: at("reference", name) });
    read.date = einvoice.date.map(|date| FoundValue { value: date, place: nowhere() });
}

fn decimal(hundredths: i64) -> f64 {
    hundredths as f64 / 100.0
}

fn text(pages: &[TextPage]) -> String {
    let mut text = String::new();
    for page in pages {
        if !text.is_empty() {
            text.push('\n');
        }
        for line in &page.lines {
            let line = line.text();
            if text.len() + line.len() > MOST_TEXT {
                return text;
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_of_plain_text_is_read_like_a_page() {
        let read =
            read("Invoice\nInvoice number: A-7\nInvoice date: 2031-01-06\nTotal: 12.00 EUR\n".as_bytes());
        assert_eq!((read.state, read.kind), (ReadingState::Read, Some(DocumentClass::Invoice)));
        assert_eq!(read.fields["amount"], json!(12.0));
        assert_eq!(read.fields["vendor"], Value::Null);
        assert_eq!(read.title.as_deref(), Some("Invoice A-7"));
        assert_eq!(read.sources["reference"]["line"], 2);
        assert!(read.text.starts_with("Invoice\nInvoice number: A-7\n"));
    }

    #[test]
    fn what_cannot_be_read_is_said_to_be_so() {
        assert_eq!(read(b"").state, ReadingState::Unreadable);
        assert_eq!(read(b"MZ\x90\0").state, ReadingState::Unreadable);
        assert_eq!(read(b"%PDF-1.7 broken").state, ReadingState::Unreadable);
        assert_eq!(read(b"").fields, Map::new());
    }

    #[test]
    fn an_answer_always_fits() {
        let long = format!("Invoice\n{}", "\"\\\u{e9} Total 5,00 € ".repeat(20_000));
        let said = serde_json::to_vec(&read(long.as_bytes())).unwrap();
        assert!(said.len() <= 64 << 10, "{}", said.len());
    }
}
