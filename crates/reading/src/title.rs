//! What a document is called: by its kind, number and sender, or by its heading. Without enough of that the name of the file
//! stays.

use crate::fields::FoundFields;
use crate::kinds::DocumentClass;
use crate::page::{TextLine, TextPage};

/// A title in words, when there is enough to make one of; else the name of the file stays.
pub fn title(kind: Option<DocumentClass>, fields: &FoundFields, pages: &[TextPage]) -> Option<String> {
    let name = match kind? {
        DocumentClass::Invoice => "Invoice",
        DocumentClass::Receipt => "Receipt",
        DocumentClass::Statement => "Statement",
        DocumentClass::Contract | DocumentClass::Tax | DocumentClass::Other => return heading(pages),
        DocumentClass::Id | DocumentClass::Photo => return None,
    };
    let reference = fields.reference.as_ref().map(|found| found.value.as_str());
    let vendor = fields.vendor.as_ref().map(|found| found.value.as_str());
    let date = fields.date.as_ref().map(|found| found.value.to_string());
    let title = match (vendor, reference, date) {
        (Some(vendor), Some(reference), _) => format!("{name} {reference}, {vendor}"),
        (Some(vendor), None, Some(date)) => format!("{name} of {date}, {vendor}"),
        (Some(vendor), None, None) => format!("{name}, {vendor}"),
        (None, Some(reference), _) => format!("{name} {reference}"),
        (None, None, Some(date)) => format!("{name} of {date}"),
        (None, None, None) => return None,
    };
    Some(title.chars().take(150).collect())
}

/// The line in the largest letters of the upper half, when it reads like one.
fn heading(pages: &[TextPage]) -> Option<String> {
    let page = pages.first()?;
    let upper = page.lines.iter().filter(|line| line.at().y < 0.5 * page.height);
    let readable = upper.filter(|line| {
        let text = line.text();
        let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
        (4..=90).contains(&text.chars().count()) && letters * 2 > text.chars().count()
    });
    let line = readable.reduce(|best, line| if line.size() > best.size() * 1.05 { line } else { best })?;
    let usual =
        page.lines.iter().map(TextLine::size).fold((0.0, 0.0), |(sum, n), size| (sum + size, n + 1.0));
    (line.size() > 1.15 * usual.0 / usual.1).then(|| crate::text::line(&line.text()))
}
