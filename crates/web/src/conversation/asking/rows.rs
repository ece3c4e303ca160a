//! The rows of a request for documents, as the form has them (specification 4.9). Rows without a name are offered, and ask for
//! nothing. A draft keeps them as lines; what these lines would not give back as it was typed is refused, never rewritten.

use crate::visit::FormFields;
use rookery_base::languages::Language;
use rookery_product::documents::items::ChecklistItem;
use rookery_product::documents::lists::DocumentList;
use rookery_product::replies::asking::{self, MOST_DOCUMENTS};
use rookery_reading::text;

/// Rows that an empty form offers.
const OFFERED: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedRow {
    pub name: String,
    pub hint: String,
    pub optional: bool,
}

#[derive(Debug)]
pub struct TypedRequest {
    pub rows: Vec<TypedRow>,
    /// The row that was just added, or that is the first to fill in.
    pub focus: usize,
    pub due: String,
    /// None leaves it to the customer's browser.
    pub language: Option<Language>,
    /// The name to save the rows under.
    pub list_name: String,
}

impl TypedRequest {
    /// What a draft asks for.
    pub fn from_lines(lines: &str, language: Option<Language>) -> Self {
        let rows = asking::listed(lines).into_iter().map(TypedRow::from_item).collect();
        let due = asking::split(lines).1;
        Self { rows, focus: 0, due, language, list_name: String::new() }.offering()
    }

    pub fn read(form: &FormFields) -> Self {
        let text = |name: &str| form.get(name).map(text::line).unwrap_or_default();
        let rows = (0..MOST_DOCUMENTS)
            .filter(|row| form.flag(&format!("name-{row}")))
            .map(|row| TypedRow {
                name: text(&format!("name-{row}")),
                hint: text(&format!("hint-{row}")),
                optional: form.flag(&format!("optional-{row}")),
            })
            .collect();
        let language = form.get("language").and_then(Language::named);
        Self { rows, focus: 0, due: text("due"), language, list_name: text("list-name") }.offering()
    }

    /// An empty form has some rows, and no form has too many.
    fn offering(mut self) -> Self {
        self.rows.truncate(MOST_DOCUMENTS);
        self.rows.resize(self.rows.len().max(OFFERED), TypedRow::default());
        self.focus = self.first_empty().unwrap_or(0);
        self
    }

    fn first_empty(&self) -> Option<usize> {
        self.rows.iter().position(|row| row.name.is_empty())
    }

    pub fn can_grow(&self) -> bool {
        self.rows.len() < MOST_DOCUMENTS
    }

    pub fn add_row(&mut self) {
        if self.can_grow() {
            self.rows.push(TypedRow::default());
        }
        self.focus = self.rows.len() - 1;
    }

    /// The next row to fill in, if need be a new one.
    pub fn next_row(&mut self) {
        match self.first_empty() {
            Some(row) => self.focus = row,
            None => self.add_row(),
        }
    }

    pub fn take_out(&mut self, row: usize) {
        if row < self.rows.len() {
            self.rows.remove(row);
        }
        if self.rows.is_empty() {
            self.rows.push(TypedRow::default());
        }
        self.focus = row.min(self.rows.len() - 1);
    }

    /// Puts the documents of a list under those that are there. False if there are too many for all of them.
    pub fn fill(&mut self, list: DocumentList) -> bool {
        self.rows.retain(|row| !row.name.is_empty());
        for item in list.items {
            if !self.rows.iter().any(|row| row.name.to_lowercase() == item.label.to_lowercase()) {
                self.rows.push(TypedRow::from_item(item));
            }
        }
        let all = self.rows.len() <= MOST_DOCUMENTS;
        self.rows.truncate(MOST_DOCUMENTS);
        self.list_name = list.name;
        self.focus = self.first_empty().unwrap_or(self.rows.len().saturating_sub(1));
        all
    }

    /// Why this cannot be asked for as it is.
    pub fn problem(&self) -> Option<String> {
        if let Some(row) = self.rows.iter().position(|row| row.name.is_empty() && !row.hint.is_empty()) {
            return Some(format!("Enter a name for document {}, or remove its hint.", row + 1));
        }
        match self.rows.iter().position(|row| !row.can_be_kept()) {
            Some(row) => Some(format!(
                "Change document {}: its name can’t be “due” or contain “: ”, and neither its name nor its hint can end with “(optional)”. Tick “Optional” instead.",
                row + 1
            )),
            None => asking::read(&self.lines()).err(),
        }
    }

    /// What is asked for.
    pub fn items(&self) -> Vec<ChecklistItem> {
        self.rows.iter().filter(|row| !row.name.is_empty()).map(TypedRow::item).collect()
    }

    /// As a draft keeps it.
    pub fn lines(&self) -> String {
        asking::join(&asking::write(self.items().iter(), None), &self.due)
    }
}

impl TypedRow {
    fn from_item(item: ChecklistItem) -> Self {
        Self {
            name: item.label,
            hint: item.description.map(|hint| text::line(&hint)).unwrap_or_default(),
            optional: !item.required,
        }
    }

    fn item(&self) -> ChecklistItem {
        ChecklistItem {
            label: self.name.clone(),
            description: Some(self.hint.clone()).filter(|hint| !hint.is_empty()),
            required: !self.optional,
        }
    }

    /// The line that a draft has for it says the same again.
    fn can_be_kept(&self) -> bool {
        let item = self.item();
        let line = asking::write(std::iter::once(&item), None);
        self.name.is_empty() || asking::listed(&line) == [item]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(query: &str) -> TypedRequest {
        TypedRequest::read(&FormFields::of_query(query))
    }

    #[test]
    fn rows_are_what_a_draft_keeps_and_rows_again() {
        let form =
            typed("name-0=Passport&hint-0=both+pages&name-1=&name-2=Payslip&optional-2=1&due=2031-05-09");
        let lines = "Passport: both pages\nPayslip (optional)\ndue: 2031-05-09";
        assert_eq!(form.lines(), lines);
        let again = TypedRequest::from_lines(lines, Some(Language::De));
        assert_eq!((again.items(), again.due.as_str()), (form.items(), "2031-05-09"));
        assert_eq!((again.rows.len(), again.focus), (3, 2), "one is left to fill in");
        assert_eq!(form.problem(), None);
        let unnamed = typed("name-0=Passport&name-1=&hint-1=both+pages").problem();
        assert!(unnamed.is_some_and(|problem| problem.starts_with("Enter a name for document 2")));
    }

    #[test]
    fn what_a_line_would_change_is_refused() {
        for lost in [
            "name-1=Invoice%3A+March&hint-1=as+a+PDF",
            "name-1=Payslip+(optional)",
            "name-1=Payslip&hint-1=of+May+(optional)",
            "name-1=due%3A+2031-01-01",
            "name-1=due&hint-1=2031-01-01",
        ] {
            let problem = typed(&format!("name-0=Passport&{lost}")).problem();
            assert!(problem.is_some_and(|what| what.starts_with("Change document 2: ")), "{lost}");
        }
        for kept in [
            "name-0=Payslip+(optional)&optional-0=1",
            "name-0=Invoice:&hint-0=Date:+March",
            "name-0=due&due=2031-05-09",
        ] {
            let form = typed(kept);
            let again = TypedRequest::from_lines(&form.lines(), None);
            assert_eq!((form.problem(), again.items(), again.due), (None, form.items(), form.due), "{kept}");
        }
        assert_eq!(typed("name-0=Passport&language=").language, None, "the customer's browser decides");
        assert_eq!(typed("language=de").language, Some(Language::De));
    }

    #[test]
    fn rows_come_and_go_and_are_never_too_many() {
        let mut form = typed("name-0=A&name-1=B");
        form.add_row();
        assert_eq!((form.rows.len(), form.focus), (4, 3));
        form.take_out(0);
        assert_eq!(form.items()[0].label, "B");
        form.take_out(99);
        form.next_row();
        assert_eq!((form.rows.len(), form.focus), (3, 1), "an empty one is there already");
        let items = (0..MOST_DOCUMENTS).map(|n| TypedRow { name: format!("b{n}"), ..TypedRow::default() });
        let items = TypedRequest { rows: items.collect(), ..typed("") }.items();
        let list = DocumentList { id: rookery_base::ids::DocumentListId(1), name: "All".into(), items };
        assert!(!form.fill(list), "the one that was there stays, so not all fit");
        assert_eq!((form.rows.len(), form.list_name.as_str()), (MOST_DOCUMENTS, "All"));
        assert!(!form.can_grow());
    }
}
