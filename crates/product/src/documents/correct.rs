//! A person sets a field right. It stays, whatever is read later, until a person sets it otherwise; what stood there before
//! is kept beside it.

use chrono::{Datelike, NaiveDate};
use serde_json::{Map, Value, json};

use crate::documents::fields::{DocumentStatement, NAMES, Set};
use crate::documents::library::NO_DOCUMENT;
use crate::documents::to_read;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{DocumentId, PersonId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::{Actor, SANDBOX};
use rookery_reading::kinds::DocumentClass;
use rookery_reading::text;

const LONGEST: usize = 200;
/// Of an amount, either way.
const MOST: f64 = 1e12;

/// What was typed into the fields of a document, by name; an empty text says that there is none. Only what differs from
/// what stands there is set.
pub async fn correct(
    tx: &mut Tx<'_>,
    actor: &Actor,
    by: PersonId,
    id: DocumentId,
    typed: &[(&str, String)],
) -> Result<usize> {
    let mut problems = Vec::new();
    let mut wanted = Vec::new();
    for (name, text) in typed.iter().filter(|(name, _)| NAMES.contains(name)) {
        match value(name, text) {
            Ok(value) => wanted.push(Set { field: (*name).to_owned(), value }),
            Err(what) => problems.push(Problem { field: (*name).to_owned(), what: what.to_owned() }),
        }
    }
    if !problems.is_empty() {
        return Err(Error::Problems(problems));
    }
    let workspace = tx.workspace().0;
    let row = sqlx::query!(
        "select kind, title, filename, fields from documents
         where workspace_id = $1 and id = $2 and audience = any($3) for no key update",
        workspace,
        id.0,
        &actor.audiences()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_DOCUMENT)?;
    let fields: Map<String, Value> = row.fields.as_object().cloned().unwrap_or_default();
    let mut told = DocumentStatement { kind: row.kind, title: row.title, fields };
    let before = told.clone();
    wanted.retain(|set| {
        before.value(&set.field) != set.value && !(is_title(set) && is_no_title(set, &before, &row.filename))
    });
    if wanted.is_empty() {
        return Ok(0);
    }
    let now = tx.now();
    for set in &wanted {
        told.set(set, &row.filename);
        sqlx::query!(
            "insert into document_corrections (workspace_id, document_id, field, value, was, set_by, set_at)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (workspace_id, document_id, field)
             do update set value = excluded.value, set_by = excluded.set_by, set_at = excluded.set_at",
            workspace,
            id.0,
            set.field,
            set.value,
            before.value(&set.field),
            by.0,
            now
        )
        .execute(&mut **tx)
        .await?;
    }
    to_read::write(tx, id, &told, &row.filename).await?;
    Ok(wanted.len())
}

fn is_title(set: &Set) -> bool {
    set.field == "title"
}

/// An empty title is the file's name, which may stand there already.
fn is_no_title(set: &Set, before: &DocumentStatement, filename: &str) -> bool {
    set.value == json!("") && before.title == filename
}

/// A person wants it read once more; what people set stays. Nothing of the sandbox is ever read (HLP-7).
pub async fn read_again(tx: &mut Tx<'_>, actor: &Actor, id: DocumentId) -> Result<()> {
    let workspace = tx.workspace().0;
    let audience = sqlx::query_scalar!(
        "select audience from documents where workspace_id = $1 and id = $2 and audience = any($3)
         for no key update",
        workspace,
        id.0,
        &actor.audiences()
    )
    .fetch_optional(&mut **tx)
    .await?
    .ok_or(NO_DOCUMENT)?;
    if audience == SANDBOX { Ok(()) } else { to_read::ask(tx, id).await }
}

/// The value of a text that was typed. What cannot be one says what to type instead.
fn value(name: &str, typed: &str) -> Result<Value, &'static str> {
    let typed = text::line(typed);
    if typed.chars().count() > LONGEST {
        return Err("has at most 200 characters");
    }
    if typed.is_empty() {
        return Ok(if name == "title" { json!("") } else { Value::Null });
    }
    match name {
        "kind" => DocumentClass::named(&typed).map(|kind| json!(kind)).ok_or("must be one of the kinds"),
        "amount" => amount(&typed).map(|number| json!(number)).ok_or("must be a number such as 1487.50"),
        "currency" => {
            let code = typed.to_uppercase();
            let sound = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
            if sound { Ok(json!(code)) } else { Err("must be three letters such as EUR") }
        }
        "date" | "dueDate" => {
            let date: Option<NaiveDate> = typed.parse().ok();
            let date = date.filter(|date| (1..=9999).contains(&date.year()));
            date.map(|date| json!(date.to_string())).ok_or("must be a date such as 2031-01-06")
        }
        _ => Ok(json!(typed)),
    }
}

/// `1487.50`, `1,487.50` and `1.487,50`.
fn amount(typed: &str) -> Option<f64> {
    let digits: String = typed.chars().filter(|letter| !letter.is_whitespace() && *letter != '\'').collect();
    let plain = match (digits.rfind('.'), digits.rfind(',')) {
        (Some(point), Some(comma)) if comma > point => digits.replace('.', "").replace(',', "."),
        (Some(_), Some(_)) => digits.replace(',', ""),
        // One comma before two digits is the decimal one.
        (None, Some(comma)) if digits.len() - comma <= 3 && digits.matches(',').count() == 1 => {
            digits.replace(',', ".")
        }
        (None, Some(_)) => digits.replace(',', ""),
        // 1.487 is a thousand to some and not to others: nobody guesses.
        (Some(point), None) if digits.len() - point == 4 => return None,
        _ => digits,
    };
    let sound = plain.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    let number: f64 =
        plain.parse().ok().filter(|number: &f64| sound && number.is_finite() && number.abs() < MOST)?;
    Some((number * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_type_them() {
        for typed in ["1487.5", "1,487.50", "1.487,50", "1 487,50", "1'487.50"] {
            assert_eq!(value("amount", typed), Ok(json!(1487.5)), "{typed}");
        }
        assert_eq!(value("amount", "1,487"), Ok(json!(1487.0)));
        assert_eq!(value("amount", "-3"), Ok(json!(-3.0)));
        for wrong in ["five", "1.487", "1e9", "NaN", "inf", "--1", "99999999999999"] {
            assert!(value("amount", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_field_has_its_form() {
        assert_eq!(value("currency", " eur "), Ok(json!("EUR")));
        assert!(value("currency", "euros").is_err());
        assert_eq!(value("date", "2031-01-06"), Ok(json!("2031-01-06")));
        assert!(value("dueDate", "06.01.2031").is_err() && value("date", "+12031-01-06").is_err());
        assert!(value("kind", "letter").is_err());
        assert_eq!(value("vendor", ""), Ok(Value::Null));
        assert_eq!(value("vendor", "A\r\nB"), Ok(json!("A B")));
        assert!(value("reference", &"x".repeat(201)).is_err());
    }
}
