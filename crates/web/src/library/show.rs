//! `/documents/{id}`: a document with its page on the left, the lines marked that were read, and its fields on the right, to
//! be set right. Each field says who says so and where it stands.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use crate::library::list::kind_name;
use crate::library::sheet::{Sheet, sheet};
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Problem, Result};
use rookery_base::ids::DocumentId;
use rookery_product::documents::library::{self, CameWith};
use rookery_product::documents::whole::{self, WholeDocument};
use rookery_reading::kinds::DocumentClass;

#[derive(Template)]
#[template(path = "library/show.html")]
struct DocumentPage {
    shell: Shell,
    whole: WholeDocument,
    sheet: Option<Sheet>,
    fields: Vec<Field>,
    title: String,
    kind: String,
    currency: String,
    came_with: Option<CameWith>,
    newer: Option<DocumentId>,
    older: Option<DocumentId>,
    problems: Vec<Problem>,
}

/// One field as it stands beside the page.
struct Field {
    number: usize,
    name: &'static str,
    label: &'static str,
    value: String,
    /// Where the value comes from: the person who set it, or how it was read.
    who: Option<String>,
    is_set: bool,
    page: Option<u32>,
    line: Option<u32>,
    text: Option<String>,
    was: Option<String>,
    wrong: Option<String>,
}

const LABELS: [(&str, &str); 5] = [
    ("vendor", "Vendor"),
    ("reference", "Reference"),
    ("date", "Date"),
    ("amount", "Amount"),
    ("dueDate", "Due"),
];

/// `GET /documents/{id}?page=2`
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let page = load(&asked, None, Vec::new()).await?;
    respond::page(&page)
}

/// The same after a form that cannot be saved as it is.
pub async fn refused(asked: &MemberRequest, typed: &FormFields, problems: Vec<Problem>) -> Result<Response> {
    let page = load(asked, Some(typed), problems).await?;
    respond::page_with(StatusCode::BAD_REQUEST, &page)
}

async fn load(
    asked: &MemberRequest,
    typed: Option<&FormFields>,
    problems: Vec<Problem>,
) -> Result<DocumentPage> {
    let id: DocumentId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let whole = whole::find(&mut reading, &asked.person, id).await?;
    let (newer, older) = whole::beside(&mut reading, &asked.person, &whole).await?;
    let shell = Shell::load(&mut reading, asked, Here::Library).await?;
    let came_with = match whole.conversation_id {
        Some(id) => library::came_with(&mut reading, &asked.person, &[id]).await?.remove(&id),
        None => None,
    };
    // No connection is held while the page is drawn.
    drop(reading);
    let page = asked.query("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    // Whoever asks for other parts of the page again gets those alone.
    let mut drawn = if asked.wants("document") {
        sheet(asked.app(), asked.person.workspace, &whole, page).await?
    } else {
        None
    };
    let mut fields = Vec::new();
    for (at, (name, label)) in LABELS.iter().enumerate() {
        let field = Field::from_document(&whole, &shell, at + 1, name, label, typed, &problems);
        if let (Some(drawn), Some(source)) = (&mut drawn, whole.source(name))
            && source.page == Some(drawn.page)
            && let Some(place) = source.at
        {
            drawn.mark(at + 1, place);
        }
        fields.push(field);
    }
    let typed_or =
        |name: &str, own: String| typed.and_then(|typed| typed.get(name)).map_or(own, str::to_owned);
    Ok(DocumentPage {
        title: typed_or("title", whole.title.clone()),
        kind: typed_or("kind", whole.kind.clone().unwrap_or_default()),
        currency: typed_or("currency", text_of(whole.fields.get("currency"))),
        shell,
        sheet: drawn,
        fields,
        whole,
        came_with,
        newer,
        older,
        problems,
    })
}

impl Field {
    fn from_document(
        whole: &WholeDocument,
        shell: &Shell,
        number: usize,
        name: &'static str,
        label: &'static str,
        typed: Option<&FormFields>,
        problems: &[Problem],
    ) -> Self {
        let (source, correction) = (whole.source(name), whole.correction(name));
        let own = text_of(whole.fields.get(name));
        let who = match (correction, &source) {
            (Some(set), _) => Some(format!("{}, {}", set.by, shell.times.brief(&set.at))),
            (None, Some(source)) => Some(
                match source.by.as_str() {
                    "xml" => "From the XML",
                    "both" => "XML and rules agree",
                    "model" => "By the model",
                    _ => "By rules",
                }
                .to_owned(),
            ),
            (None, None) => None,
        };
        let (page, line, text) = match source {
            Some(source) => (source.page, source.line, source.text),
            None => (None, None, None),
        };
        Self {
            number,
            name,
            label,
            value: typed.and_then(|typed| typed.get(name)).map_or(own, str::to_owned),
            who,
            is_set: correction.is_some(),
            page,
            line,
            text,
            was: correction.map(|set| text_of(Some(&set.was))).filter(|was| !was.is_empty()),
            wrong: problems.iter().find(|problem| problem.field == name).map(|problem| problem.what.clone()),
        }
    }
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => format!("{:.2}", number.as_f64().unwrap_or_default()),
        _ => String::new(),
    }
}

impl DocumentPage {
    fn kinds(&self) -> Vec<(&'static str, &'static str, bool)> {
        DocumentClass::ALL.map(|kind| (kind.as_str(), kind_name(kind), self.kind == kind.as_str())).to_vec()
    }

    /// What came of reading it, in words.
    fn state(&self) -> &'static str {
        match self.whole.reading.as_ref().map(|reading| reading.state.as_str()) {
            None if self.whole.waits => "Not read yet",
            None => "Not read",
            Some("read") => "Read",
            Some("no-text") => "A picture",
            Some("encrypted") => "Needs a password",
            Some("failed") => "Could not be read here",
            Some(_) => "Cannot be read",
        }
    }

    fn is_read(&self) -> bool {
        self.whole.reading.as_ref().is_some_and(|reading| reading.state == "read")
    }

    fn said_by(&self) -> &str {
        self.whole.reading.as_ref().map(|reading| reading.by.as_str()).unwrap_or_default()
    }

    fn described(&self) -> String {
        let lines = self.sheet.as_ref().map_or(0, |sheet| sheet.marks.len());
        match lines {
            0 => "A page of the document.".to_owned(),
            1 => "A page of the document. One line is marked.".to_owned(),
            n => format!("A page of the document. {n} lines are marked, each with the number of its field."),
        }
    }

    fn problem(&self, name: &str) -> bool {
        self.problems.iter().any(|problem| problem.field == name)
    }
}
