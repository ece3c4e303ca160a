//! How well documents are read: each goes through the confined child as mail's does, scans by tesseract where it is installed.
//! A field is right when it says what its label says, or another answer that the label allows; a value where the label has
//! none is wrong. A corpus has `documents/` with `labels.jsonl`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::evaluate::{Half, Share};
use crate::read::file;
use rookery_base::confined::run::Confined;
use rookery_base::error::Result;
use rookery_reading::whole::FIELDS;

/// For the pages of a scan.
const ROOM: Duration = Duration::from_secs(60);

/// A file, and what a careful reader finds in it.
#[derive(Clone, Debug, Deserialize)]
pub struct Labelled {
    #[serde(rename = "file")]
    path: PathBuf,
    pub half: Half,
    /// `text`, `embedded`, `scan`, `image`, …
    form: String,
    kind: String,
    fields: Map<String, Value>,
    /// Other answers that are right, too: by field, or `kind`.
    #[serde(default)]
    also: BTreeMap<String, Vec<Value>>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    documents: usize,
    /// Fields that have a value, how many of them were read right, and how many values were read at all.
    there: usize,
    right: usize,
    said: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Of the values that are there, how many were read right; of those that were read, how many are right.
    pub right: Share,
    pub precision: Share,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentsReport {
    pub documents: usize,
    pub kinds: Share,
    pub fields: Score,
    pub by_field: BTreeMap<String, Score>,
    pub by_form: BTreeMap<String, (usize, Score)>,
    /// File, field, what is there and what was read.
    pub wrong: Vec<(String, String, Value, Value)>,
}

/// Nothing when the corpus has no documents.
pub fn read(folder: &Path) -> Result<Vec<Labelled>> {
    let folder = folder.join("documents");
    let labels = folder.join("labels.jsonl");
    if !labels.exists() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for line in std::fs::read_to_string(labels)?.lines().filter(|line| !line.trim().is_empty()) {
        let mut label: Labelled = serde_json::from_str(line)?;
        label.path = folder.join(&label.path);
        all.push(label);
    }
    Ok(all)
}

pub async fn by_rules(confined: &Confined, documents: &[Labelled]) -> Result<DocumentsReport> {
    let mut kinds = 0;
    let mut by_field: BTreeMap<String, Counts> = BTreeMap::new();
    let mut by_form: BTreeMap<String, Counts> = BTreeMap::new();
    let mut wrong = Vec::new();
    for document in documents {
        let bytes = std::fs::read(&document.path)?;
        let said = file::read(confined, ROOM, bytes.into()).await?;
        let kind = said.as_ref().and_then(|said| said.kind.clone()).map_or(Value::Null, Value::String);
        kinds += usize::from(document.allows("kind", &Value::String(document.kind.clone()), &kind));
        by_form.entry(document.form.clone()).or_default().documents += 1;
        for name in FIELDS {
            let label = document.fields.get(name).cloned().unwrap_or_default();
            let value = said.as_ref().and_then(|said| said.fields.get(name).cloned()).unwrap_or_default();
            let is_right = document.allows(name, &label, &value);
            let counted = [
                by_field.entry(name.to_owned()).or_default(),
                by_form.entry(document.form.clone()).or_default(),
            ];
            for counts in counted {
                counts.there += usize::from(!label.is_null());
                counts.said += usize::from(!value.is_null());
                // Nothing said, where that is no fault, is neither read nor wrong.
                counts.right += usize::from(is_right && !value.is_null());
            }
            if !is_right && !value.is_null() {
                let file = document.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                wrong.push((file, name.to_owned(), label, value));
            }
        }
    }
    let mut whole = Counts::default();
    for counts in by_field.values() {
        whole.there += counts.there;
        whole.right += counts.right;
        whole.said += counts.said;
    }
    Ok(DocumentsReport {
        documents: documents.len(),
        kinds: Share::new(kinds, documents.len()),
        fields: whole.score(),
        by_field: by_field.iter().map(|(name, counts)| (name.clone(), counts.score())).collect(),
        by_form: by_form
            .iter()
            .map(|(name, counts)| (name.clone(), (counts.documents, counts.score())))
            .collect(),
        wrong,
    })
}

impl Counts {
    fn score(&self) -> Score {
        Score {
            right: Share::new(self.right.min(self.there), self.there),
            precision: Share::new(self.right, self.said),
        }
    }
}

impl Labelled {
    fn allows(&self, name: &str, label: &Value, value: &Value) -> bool {
        let also = self.also.get(name).map(Vec::as_slice).unwrap_or_default();
        is_same(label, value) || also.iter().any(|other| is_same(other, value))
    }
}

/// Without case, spaces and punctuation.
fn is_same(label: &Value, value: &Value) -> bool {
    match (label, value) {
        (Value::Number(one), Value::Number(other)) => {
            let hundredths =
                |number: &serde_json::Number| (number.as_f64().unwrap_or_default() * 100.0).round();
            hundredths(one) == hundredths(other)
        }
        (Value::String(one), Value::String(other)) => letters(one) == letters(other),
        (one, other) => one == other,
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl DocumentsReport {
    /// For a terminal.
    pub fn render(&self) -> String {
        let row = |name: &str, score: &Score| {
            format!("    {name:<10} read right {}; right of those read {}", score.right, score.precision)
        };
        let mut lines = vec![
            format!("rules: {} documents", self.documents),
            format!("  kinds right                  {}", self.kinds),
            format!("  fields read right            {}", self.fields.right),
            format!("  values right of those read   {}", self.fields.precision),
            "  by field:".to_owned(),
        ];
        lines.extend(self.by_field.iter().map(|(name, score)| row(name, score)));
        lines.push("  by form of the file:".to_owned());
        lines.extend(
            self.by_form.iter().map(|(name, (documents, score))| row(&format!("{name} {documents}"), score)),
        );
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_right_as_its_label_says_it_or_allows_it() {
        let label: Labelled = serde_json::from_value(json!({
            "file": "a.pdf", "half": "open", "form": "text", "kind": "invoice",
            "fields": { "vendor": "Lamp & Co. KG", "amount": 12.5, "date": null },
            "also": { "vendor": ["Lamp Works", null] },
        }))
        .unwrap();
        for (name, value, right) in [
            ("vendor", json!("LAMP & CO KG"), true),
            ("vendor", json!("lamp works"), true),
            ("vendor", json!(null), true),
            ("vendor", json!("Lamp"), false),
            ("amount", json!(12.50), true),
            ("amount", json!(12.51), false),
            ("date", json!(null), true),
            ("date", json!("2031-01-06"), false),
        ] {
            assert_eq!(label.allows(name, &label.fields[name].clone(), &value), right, "{name} {value}");
        }
    }
}
