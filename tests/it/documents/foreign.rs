//! How much is read of invoices that others made: a folder with PDFs and a `truth.json`, named by `TEST_INVOICES`. Nothing
//! of it is in the tree, so without the folder there is nothing to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rookery_reading::fields::{self, FoundFields};
use rookery_reading::files::{einvoice, pdf};
use rookery_reading::page::TextPage;
use rookery_reading::whole::{self, ReadingState};
use serde_json::{Value, json};

const NAMES: [&str; 6] = ["vendor", "amount", "currency", "date", "dueDate", "reference"];

fn folder() -> Option<PathBuf> {
    std::env::vars().find(|(name, _)| name == "TEST_INVOICES").map(|(_, folder)| folder.into())
}

fn truth(folder: &Path) -> BTreeMap<String, Value> {
    serde_json::from_slice(&std::fs::read(folder.join("truth.json")).unwrap()).unwrap()
}

fn wanted(truth: &Value, name: &str) -> Option<String> {
    let value = truth[name].as_str().filter(|text| !text.is_empty())?;
    Some(match name {
        "amount" => format!("{:.2}", value.parse::<f64>().unwrap()),
        _ => rookery_reading::text::line(value),
    })
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(rookery_reading::text::line(text)),
        Value::Number(number) => Some(format!("{:.2}", number.as_f64().unwrap())),
        _ => None,
    }
}

/// Read on this thread, which is not confined: these files are known.
#[test]
fn invoices_with_xml_inside_are_exact() {
    let Some(folder) = folder() else { return };
    let (mut right, mut all, mut missed) = (0, 0, Vec::new());
    for (name, truth) in truth(&folder) {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let read = whole::read(&bytes);
        assert_eq!(read.state, ReadingState::Read, "{name}");
        for field in NAMES {
            let (wanted, said) = (wanted(&truth, field), read.fields.get(field).and_then(shown));
            if let Some(wanted) = wanted {
                all += 1;
                if said.as_deref() == Some(wanted.as_str()) {
                    right += 1;
                } else {
                    missed.push(format!("{name} {field}: {wanted:?}, read {said:?}"));
                }
            }
        }
    }
    println!("{right} of {all} fields by XML; missed:\n{}", missed.join("\n"));
    assert!(right * 100 >= all * 99, "{right} of {all}");
}

#[test]
fn invoices_without_their_xml_are_read_by_rules() {
    let Some(folder) = folder() else { return };
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, truth) in truth(&folder) {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        let document = pdf::open(&bytes).unwrap();
        assert!(pdf::embedded(&document).iter().any(|file| einvoice::read(file).is_some()), "{name}");
        let pages: Vec<TextPage> = pdf::pages(&document);
        if pages.iter().map(TextPage::words).sum::<usize>() == 0 {
            continue;
        }
        let read = values(&fields::find(&pages));
        for field in NAMES {
            let (wanted, said) = (wanted(&truth, field), shown(&read[field]));
            let [right, missing, false_, _] = counts.entry(field).or_default();
            match (wanted, said) {
                (None, None) => {}
                (wanted, Some(said)) if wanted.as_deref() == Some(said.as_str()) => *right += 1,
                (Some(_), None) => *missing += 1,
                (wanted, Some(said)) => {
                    *false_ += 1;
                    wrong.push(format!("{field} {name}: {wanted:?}, read {said:?}"));
                }
            }
        }
    }
    wrong.sort();
    println!("field, right, missing, wrong");
    for (field, [right, missing, false_, _]) in &counts {
        println!("{field}, {right}, {missing}, {false_}");
    }
    println!("{}", wrong.join("\n"));
}

fn values(fields: &FoundFields) -> Value {
    json!({
        "vendor": fields.vendor.as_ref().map(|found| &found.value),
        "amount": fields.amount.as_ref().map(|found| found.value as f64 / 100.0),
        "currency": fields.currency.as_ref().map(|found| &found.value),
        "date": fields.date.as_ref().map(|found| found.value.to_string()),
        "dueDate": fields.due_date.as_ref().map(|found| found.value.to_string()),
        "reference": fields.reference.as_ref().map(|found| &found.value),
    })
}
