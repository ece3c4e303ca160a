//! `/documents`: the library. A search in titles, file names and what was read, by kind, newest first.
//! It is the search of the API, with what a person can see.

use std::collections::HashMap;

use askama::Template;
use axum::response::Response;
use chrono::NaiveDate;
use serde_json::Value;
use url::form_urlencoded;

use crate::documents::library::{self, CameWith, Document, Filter};
use crate::error::{NO_ENDPOINT, Result};
use crate::ids::ConversationId;
use crate::reading::kinds::Kind;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::visit::Asked;

/// As many are shown, and as many more each time somebody asks for them.
const PAGE: i64 = 50;
const MOST: i64 = 500;
const LONGEST: usize = 200;

#[derive(Template)]
#[template(path = "library/list.html")]
struct ListPage {
    shell: Shell,
    q: String,
    kind: Option<Kind>,
    rows: Vec<Row>,
    shown: i64,
    too_long: bool,
}

struct Row {
    document: Document,
    came_with: Option<CameWith>,
}

pub async fn show(asked: Asked) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let q = asked.query("q").unwrap_or_default().trim().to_owned();
    let kind = match asked.query("kind").filter(|kind| !kind.is_empty()) {
        Some(name) => Some(Kind::named(name).ok_or(NO_ENDPOINT)?),
        None => None,
    };
    let shown: i64 = asked.query("show").and_then(|shown| shown.parse().ok()).unwrap_or(PAGE);
    let shown = shown.clamp(PAGE, MOST);
    let too_long = q.chars().count() > LONGEST;
    let filter = Filter {
        words: Some(q.clone()).filter(|_| !too_long),
        kind: kind.map(|kind| kind.as_str().to_owned()),
        before: None,
        limit: shown,
    };
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
    respond::page(&ListPage { shell, q, kind, rows, shown, too_long })
}

impl ListPage {
    /// The kinds as tabs: what the address says, what people read, whether it is this one.
    fn tabs(&self) -> Vec<(String, &'static str, bool)> {
        let mut tabs = vec![(self.at(None, PAGE), "All", self.kind.is_none())];
        tabs.extend(
            Kind::ALL.map(|kind| (self.at(Some(kind), PAGE), kind_title(kind), self.kind == Some(kind))),
        );
        tabs
    }

    fn at(&self, kind: Option<Kind>, shown: i64) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("q", self.q.as_str()), ("kind", kind.map_or("", Kind::as_str))] {
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

impl Row {
    fn kind(&self) -> Option<&'static str> {
        Kind::named(self.document.kind.as_deref()?).map(kind_name)
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
    let kind = document.kind.as_deref().and_then(Kind::named).map_or("File", kind_name);
    match amount {
        Some(amount) => format!("{kind}, {}", money(amount, text("currency"))),
        None => kind.to_owned(),
    }
}

/// What people call a kind.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Invoice => "Invoice",
        Kind::Receipt => "Receipt",
        Kind::Statement => "Statement",
        Kind::Contract => "Contract",
        Kind::Id => "ID",
        Kind::Tax => "Tax",
        Kind::Photo => "Photo",
        Kind::Other => "Other",
    }
}

/// As tabs name it.
fn kind_title(kind: Kind) -> &'static str {
    match kind {
        Kind::Invoice => "Invoices",
        Kind::Receipt => "Receipts",
        Kind::Statement => "Statements",
        Kind::Contract => "Contracts",
        Kind::Id => "IDs",
        Kind::Photo => "Photos",
        Kind::Tax | Kind::Other => kind_name(kind),
    }
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
