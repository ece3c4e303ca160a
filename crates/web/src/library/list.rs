//! `/documents`: the library. A search in titles, file names and what was read, by kind, newest first.
//! It is the search of the API, with what a person can see.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use chrono::NaiveDate;
use serde_json::Value;
use url::form_urlencoded;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::ConversationId;
use rookery_product::documents::library::{self, CameWith, DocumentFilter, LibraryDocument};
use rookery_reading::kinds::DocumentClass;

/// As many are shown, and as many more each time somebody asks for them.
const PAGE: i64 = 50;
const MOST: i64 = 500;
const LONGEST: usize = 200;

#[derive(Template)]
#[template(path = "library/list.html")]
struct ListPage {
    shell: Shell,
    q: String,
    kind: Option<DocumentClass>,
    rows: Vec<LibraryRow>,
    shown: i64,
    too_long: bool,
}

struct LibraryRow {
    document: LibraryDocument,
    came_with: Option<CameWith>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let q = asked.query("q").unwrap_or_default().trim().to_owned();
    let kind = match asked.query("kind").filter(|kind| !kind.is_empty()) {
        Some(name) => Some(DocumentClass::named(name).ok_or(NO_ENDPOINT)?),
        None => None,
    };
    let shown: i64 = asked.query("show").and_then(|shown| shown.parse().ok()).unwrap_or(PAGE);
    let shown = shown.clamp(PAGE, MOST);
    let too_long = q.chars().count() > LONGEST;
    let filter = DocumentFilter {
        words: Some(q.clone()).filter(|_| !too_long),
        kind: kind.map(|kind| kind.as_str().to_owned()),
        before: None,
        limit: shown,
    };
    let found =
        if too_long { Vec::new() } else { library::search(&mut reading, &asked.person, &filter).await? };
    let conversations: Vec<ConversationId> =
        found.iter().filter_map(|document| document.conversation_id).collect();
    let came_with: HashMap<ConversationId, CameWith> =
        library::came_with(&mut reading, &asked.person, &conversations).await?;
    let row = |document: LibraryDocument| LibraryRow {
        came_with: document.conversation_id.and_then(|id| came_with.get(&id).cloned()),
        document,
    };
    let rows = found.into_iter().map(row).collect();
    let shell = Shell::load(&mut reading, &asked, Here::Library).await?;
    respond::page(&ListPage { shell, q, kind, rows, shown, too_long })
}

impl ListPage {
    /// The kinds as tabs: what the address says, what people read, whether it is this one.
    fn tabs(&self) -> Vec<(String, &'static str, bool)> {
        let mut tabs = vec![(self.at(None, PAGE), "All", self.kind.is_none())];
        tabs.extend(
            DocumentClass::ALL
                .map(|kind| (self.at(Some(kind), PAGE), kind_title(kind), self.kind == Some(kind))),
        );
        tabs
    }

    fn at(&self, kind: Option<DocumentClass>, shown: i64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", self.q.as_str()), ("kind", kind.map_or("", DocumentClass::as_str))] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if shown > PAGE {
            query.append_pair("show", &shown.to_string());
        }
        match query.finish() {
            none if none.is_empty() => "/documents".to_owned(),
            query => format!("/documents?{query}"),
        }
    }

    /// There may be more than this.
    fn is_full(&self) -> bool {
        self.rows.len() as i64 == self.shown
    }

    fn more(&self) -> Option<String> {
        (self.is_full() && self.shown < MOST).then(|| self.at(self.kind, self.shown + PAGE))
    }
}

impl LibraryRow {
    fn kind(&self) -> Option<&'static str> {
        DocumentClass::named(self.document.kind.as_deref()?).map(kind_name)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.document.fields.get(name).and_then(Value::as_str)
    }

    fn vendor(&self) -> Option<&str> {
        self.text("vendor")
    }

    fn amount(&self) -> Option<String> {
        let amount = self.document.fields.get("amount").and_then(Value::as_f64)?;
        Some(money(amount, self.text("currency")))
    }

    fn day(&self, name: &str, shell: &Shell) -> Option<String> {
        let day: NaiveDate = self.text(name)?.parse().ok()?;
        Some(shell.times.day(day))
    }

    fn date(&self, shell: &Shell) -> Option<String> {
        self.day("date", shell)
    }

    fn due(&self, shell: &Shell) -> Option<String> {
        self.day("dueDate", shell)
    }

    fn is_picture(&self) -> bool {
        matches!(self.document.kind.as_deref(), Some("photo" | "id"))
    }
}

/// What a document is, in a few words: `Invoice, 1,487.50 EUR`
pub fn gist(document: &LibraryDocument) -> String {
    let text = |name: &str| document.fields.get(name).and_then(Value::as_str);
    let amount = document.fields.get("amount").and_then(Value::as_f64);
    let kind = document.kind.as_deref().and_then(DocumentClass::named).map_or("File", kind_name);
    match amount {
        Some(amount) => format!("{kind}, {}", money(amount, text("currency"))),
        None => kind.to_owned(),
    }
}

/// What people call a kind.
pub fn kind_name(kind: DocumentClass) -> &'static str {
    match kind {
        DocumentClass::Invoice => "Invoice",
        DocumentClass::Receipt => "Receipt",
        DocumentClass::Statement => "Statement",
        DocumentClass::Contract => "Contract",
        DocumentClass::Id => "ID",
        DocumentClass::Tax => "Tax",
        DocumentClass::Photo => "Photo",
        DocumentClass::Other => "Other",
    }
}

/// As tabs name it.
fn kind_title(kind: DocumentClass) -> &'static str {
    match kind {
        DocumentClass::Invoice => "Invoices",
        DocumentClass::Receipt => "Receipts",
        DocumentClass::Statement => "Statements",
        DocumentClass::Contract => "Contracts",
        DocumentClass::Id => "IDs",
        DocumentClass::Photo => "Photos",
        DocumentClass::Tax | DocumentClass::Other => kind_name(kind),
    }
}

/// `1,487.50 EUR`
fn money(amount: f64, currency: Option<&str>) -> String {
    let hundredths = (amount * 100.0).round() as i64;
    let whole = crate::show::grouped_of((hundredths / 100).abs());
    let sign = if hundredths < 0 { "-" } else { "" };
    let number = format!("{sign}{whole}.{:02}", (hundredths % 100).abs());
    match currency {
        Some(code) => format!("{number} {code}"),
        None => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_in_groups() {
        assert_eq!(money(1487.5, Some("EUR")), "1,487.50 EUR");
        assert_eq!(money(-0.05, None), "-0.05");
        assert_eq!(money(1e9, Some("JPY")), "1,000,000,000.00 JPY");
    }
}
