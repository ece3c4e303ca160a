//! Documents to ask for, as a draft keeps them (specification 4.9): one a line, `Payslip: of the last month (optional)`, and the day
//! they are due as a line of its own, `due: 2031-05-09`. What the API takes is written so, and read back.

use chrono::NaiveDate;

use crate::documents::items::ChecklistItem;
use crate::documents::request::RequestForm;
use rookery_reading::text;

pub const MOST_DOCUMENTS: usize = 20;
pub const LONGEST_LABEL: usize = 120;
pub const LONGEST_DESCRIPTION: usize = 500;
const DUE: &str = "due: ";
const OPTIONAL: &str = "(optional)";

/// What the lines ask for; nothing when they name nothing. An error is a sentence for their writer.
pub fn read(lines: &str) -> Result<Option<RequestForm>, String> {
    let (items, due) = (listed(lines), split(lines).1);
    if items.len() > MOST_DOCUMENTS {
        return Err(format!("You can ask for up to {MOST_DOCUMENTS} documents at a time."));
    }
    if items.iter().any(|item| item.label.chars().count() > LONGEST_LABEL) {
        return Err(format!("Name each document in at most {LONGEST_LABEL} characters."));
    }
    let described = |item: &ChecklistItem| item.description.as_ref().map_or(0, |words| words.chars().count());
    if items.iter().any(|item| described(item) > LONGEST_DESCRIPTION) {
        return Err(format!("Describe each document in at most {LONGEST_DESCRIPTION} characters."));
    }
    let due = match due.as_str() {
        "" => None,
        day => match day.parse::<NaiveDate>() {
            Ok(day) => Some(day),
            Err(_) => return Err("Enter the due date as 2031-05-09, or leave it empty.".to_owned()),
        },
    };
    match (items.is_empty(), due) {
        (true, Some(_)) => Err("Add at least one document, or clear the due date.".to_owned()),
        (true, None) => Ok(None),
        (false, due) => Ok(Some(RequestForm { items, due, language: None })),
    }
}

/// The documents, also when they cannot be asked for as they are.
pub fn listed(lines: &str) -> Vec<ChecklistItem> {
    split(lines).0.lines().filter_map(item).collect()
}

fn item(line: &str) -> Option<ChecklistItem> {
    let line = text::line(line);
    let (line, required) = match line.strip_suffix(OPTIONAL) {
        Some(short) => (short.trim_end(), false),
        None => (line.as_str(), true),
    };
    let (label, description) = match line.split_once(": ") {
        Some((label, words)) => (label.trim(), Some(words.trim().to_owned())),
        None => (line, None),
    };
    let item = ChecklistItem { label: label.to_owned(), description, required };
    (!item.label.is_empty()).then_some(item)
}

/// The lines that `read` reads as this.
pub fn write<'a>(items: impl Iterator<Item = &'a ChecklistItem>, due: Option<NaiveDate>) -> String {
    let lines: Vec<String> = items
        .map(|item| {
            let words = item.description.as_deref().map(|words| format!(": {}", text::line(words)));
            let optional = if item.required { String::new() } else { format!(" {OPTIONAL}") };
            format!("{}{}{optional}", item.label, words.unwrap_or_default())
        })
        .collect();
    join(&lines.join("\n"), &due.map(|due| due.to_string()).unwrap_or_default())
}

/// The documents, and the day as it was typed; empty without one.
pub fn split(lines: &str) -> (String, String) {
    let is_due = |line: &&str| line.starts_with(DUE);
    let documents: Vec<&str> = lines.lines().filter(|line| !is_due(line)).collect();
    let due = lines.lines().find(is_due).map(|line| line[DUE.len()..].trim().to_owned());
    (documents.join("\n"), due.unwrap_or_default())
}

/// Both in one text.
pub fn join(documents: &str, due: &str) -> String {
    match (documents.trim_end(), due.trim()) {
        (documents, "") => documents.to_owned(),
        ("", due) => format!("{DUE}{}", text::line(due)),
        (documents, due) => format!("{documents}\n{DUE}{}", text::line(due)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_asked_for_line_by_line() {
        let asked = read("Passport\r\n\n  Payslip: of May (optional) \ndue: 2031-05-09").unwrap().unwrap();
        let items: Vec<_> = asked
            .items
            .iter()
            .map(|item| (item.label.as_str(), item.description.as_deref(), item.required))
            .collect();
        assert_eq!(items, [("Passport", None, true), ("Payslip", Some("of May"), false)]);
        assert_eq!(asked.due, NaiveDate::from_ymd_opt(2031, 5, 9));
        assert!(read(" \n").unwrap().is_none());
        assert!(read(&"a\n".repeat(21)).is_err());
        assert!(read(&format!("a: {}", "b".repeat(501))).is_err());
        assert!(read("Passport\ndue: soon").unwrap_err().contains("2031-05-09"));
        assert!(read("due: 2031-05-09").unwrap_err().contains("Add at least one document"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let lines = "Passport: both pages\nPayslip (optional)\ndue: 2031-05-09";
        let asked = read(lines).unwrap().unwrap();
        assert_eq!(write(asked.items.iter(), asked.due), lines);
        let (documents, due) = split(lines);
        assert_eq!(join(&documents, &due), lines);
        assert_eq!(split("Passport"), ("Passport".to_owned(), String::new()));
    }
}
