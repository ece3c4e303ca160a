//! `/documents`: the library. A search in titles, file names and what was read, by kind, newest first.
//! It is the search of the API, with what a person can see.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use chrono::NaiveDate;
use serde_json::Value;
use url::form_urlencoded;

use crate::documents::fields::KINDS;
use crate::documents::library::{self, CameWith, Document, Filter};
use crate::error::{NO_ENDPOINT, Result};
use crate::ids::ConversationId;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

const PAGE: i64 = 50;
const LONGEST: usize = 200;

#[derive(Template)]
#[template(path = "library/list.html")]
struct ListPage {
    shell: Shell,
    q: String,
    kind: Option<String>,
    rows: Vec<Row>,
    too_long: bool,
}

struct Row {
    document: Document,
    came_with: Option<CameWith>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let q = asked.query("q").unwrap_or_default().trim().to_owned();
    let kind = asked.query("kind").filter(|kind| !kind.is_empty()).map(str::to_owned);
    if kind.as_deref().is_some_and(|kind| !KINDS.contains(&kind)) {
        return Err(NO_ENDPOINT);
    }
    let too_long = q.chars().count() > LONGEST;
    let filter = Filter { words: Some(q.clone()).filter(|_| !too_long), kind: kind.clone(), limit: PAGE };
    let found = match too_long {
        true => Vec::new(),
        false => library::search(&mut reading, &asked.person, &filter).await?,
    };
    let conversations: Vec<ConversationId> =
        found.iter().filter_map(|document| document.conversation_id).collect();
    let came_with: HashMap<ConversationId, CameWith> =
        library::came_with(&mut reading, &asked.person, &conversations).await?;
    let row = |document: Document| Row {
        came_with: document.conversation_id.and_then(|id| came_with.get(&id).cloned()),
        document,
    };
    let rows = found.into_iter().map(row).collect();
    let shell = Shell::load(&mut reading, &asked, Here::Library).await?;
    respond::page(&ListPage { shell, q, kind, rows, too_long })
}

impl ListPage {
    /// The kinds as tabs: what the address says, what people read, whether it is this one.
    fn tabs(&self) -> Vec<(String, &'static str, bool)> {
        let mut tabs = vec![(self.at(""), "All", self.kind.is_none())];
        for (kind, title) in KINDS.iter().zip(TITLES) {
            tabs.push((self.at(kind), title, self.kind.as_deref() == Some(kind)));
        }
        tabs
    }

    fn at(&self, kind: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", self.q.as_str()), ("kind", kind)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        match query.finish() {
            none if none.is_empty() => "/documents".to_owned(),
            query => format!("/documents?{query}"),
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() as i64 == PAGE
    }
}

/// As tabs name the kinds, in the order of [`KINDS`].
const TITLES: [&str; 8] =
    ["Invoices", "Receipts", "Statements", "Contracts", "IDs", "Tax", "Photos", "Other"];

impl Row {
    fn kind(&self) -> Option<&'static str> {
        kind_name(self.document.kind.as_deref()?)
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
pub fn gist(document: &Document) -> String {
    let text = |name: &str| document.fields.get(name).and_then(Value::as_str);
    let amount = document.fields.get("amount").and_then(Value::as_f64);
    let kind = document.kind.as_deref().and_then(kind_name).unwrap_or("File");
    match amount {
        Some(amount) => format!("{kind}, {}", money(amount, text("currency"))),
        None => kind.to_owned(),
    }
}

/// What people call a kind.
pub fn kind_name(kind: &str) -> Option<&'static str> {
    const NAMES: [&str; 8] = ["Invoice", "Receipt", "Statement", "Contract", "ID", "Tax", "Photo", "Other"];
    KINDS.iter().position(|known| *known == kind).map(|at| NAMES[at])
}

/// `1,487.50 EUR`
fn money(amount: f64, currency: Option<&str>) -> String {
    let hundredths = (amount * 100.0).round() as i64;
    let whole = crate::web::show::grouped_of((hundredths / 100).abs());
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
