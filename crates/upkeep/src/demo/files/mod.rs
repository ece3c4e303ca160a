//! The files of the demonstration, made here by their names: one-page PDFs that say what such papers say, tables as CSV,
//! and drawings as PNG. `papers.txt` and `tables.txt` hold the words.

mod papers;
mod pdf;
mod png;

pub use crate::demo::files::papers::FileSender;
use rookery_reading::check::FileKind;

const TABLES: &str = include_str!("tables.txt");

pub struct MadeFile {
    pub kind: FileKind,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// A file by its name; what it is follows from how that ends.
pub fn make(name: &str, from: FileSender<'_>) -> MadeFile {
    match name.rsplit_once('.') {
        Some((title, "png")) => {
            MadeFile { kind: FileKind::Png, media_type: "image/png", bytes: png::drawn(title) }
        }
        Some((title, "csv")) => {
            MadeFile { kind: FileKind::Csv, media_type: "text/csv", bytes: table(title).into() }
        }
        Some((title, _)) => paper(title, from),
        None => paper(name, from),
    }
}

fn paper(title: &str, from: FileSender<'_>) -> MadeFile {
    let bytes = pdf::printed(&papers::written(title, from));
    MadeFile { kind: FileKind::Pdf, media_type: "application/pdf", bytes }
}

/// The table of this name, or the first.
fn table(title: &str) -> String {
    let mut tables = TABLES.split("== ").filter_map(|part| part.split_once('\n'));
    let found = tables.clone().find(|(name, _)| *name == title).or_else(|| tables.next());
    let (_, rows) = found.unwrap_or_default();
    rows.trim().replace('\n', "\r\n") + "\r\n"
}

#[cfg(test)]
mod tests {
    use rookery_reading::kinds::DocumentClass;
    use rookery_reading::whole::{self, ReadingState};
    use serde_json::json;

    use super::*;

    fn from() -> FileSender<'static> {
        FileSender { name: "Gwen Parry", at: "2031-11-14T09:00:00Z".parse().unwrap() }
    }

    #[test]
    fn a_picture_is_a_png_a_table_a_csv_and_a_paper_a_pdf() {
        assert!(make("leak.png", from()).bytes.starts_with(b"\x89PNG"));
        let table = make("meter-readings.csv", from());
        assert_eq!(table.media_type, "text/csv");
        assert!(table.bytes.starts_with(b"Flat,"), "{}", String::from_utf8_lossy(&table.bytes));
        let paper = make("lease.pdf", from());
        assert_eq!(paper.media_type, "application/pdf");
        assert!(paper.bytes.starts_with(b"%PDF-1.4") && paper.bytes.ends_with(b"%%EOF\n"));
    }

    #[test]
    fn papers_are_read_like_those_of_customers() {
        let read = |name| whole::read(&make(name, from()).bytes);
        let invoice = read("invoice-0417.pdf");
        assert_eq!((invoice.state, invoice.kind), (ReadingState::Read, Some(DocumentClass::Invoice)));
        let fields = &invoice.fields;
        assert_eq!(
            (&fields["amount"], &fields["currency"]),
            (&json!(254.4), &json!("EUR")),
            "{}",
            invoice.text
        );
        assert_eq!((&fields["reference"], &fields["date"]), (&json!("0417"), &json!("2031-11-14")));
        assert_eq!(fields["dueDate"], json!("2031-11-28"));
        for (name, kind) in [
            ("passport.pdf", DocumentClass::Id),
            ("bank-statement.pdf", DocumentClass::Statement),
            ("lease.pdf", DocumentClass::Contract),
            ("payslip-october.pdf", DocumentClass::Other),
        ] {
            assert_eq!(read(name).kind, Some(kind), "{name}");
        }
    }
}
