//! The text of letters and tables: DOCX, XLSX, ODT and ODS. A paragraph or a row is a line, a cell of a table a cell.
//! Neither formulas nor macros nor anything that is linked is followed.

use roxmltree::Node;

use crate::files::archive::{self, ArchivePart};
use crate::files::sheet::{self, Style};
use crate::files::xml::parse;

const MOST_UNPACKED: usize = 20_000_000;
/// Of the list of types.
const MOST_TYPES: usize = 1_000_000;
const MOST_TEXT: usize = 200_000;

/// Parts that hold code; files that have one are refused.
const CODE: &[&str] = &["vbaproject.bin", "vbadata.xml", "activex", "basic/", "scripts/", "macros/"];

/// By the names of parts, and by what the list of their types says: a part can be called anything.
pub fn has_macros(bytes: &[u8], parts: &[ArchivePart]) -> bool {
    let is_code = |part: &ArchivePart| {
        let name = part.name.to_lowercase();
        CODE.iter().any(|code| name.contains(code))
    };
    let lists = |part: &&ArchivePart| part.name.eq_ignore_ascii_case("[Content_Types].xml");
    let mut types = parts.iter().filter(lists).filter_map(|part| archive::unpack(bytes, part, MOST_TYPES));
    let names_code = |types: Vec<u8>| {
        let types = String::from_utf8_lossy(&types).to_lowercase();
        types.contains("macroenabled") || types.contains("vbaproject")
    };
    parts.iter().any(is_code) || types.any(names_code)
}

/// Nothing when it is none of the four.
pub fn text(bytes: &[u8]) -> Option<String> {
    let parts = archive::parts(bytes)?;
    let part = |name: &str| {
        let part = parts.iter().find(|part| part.name == name)?;
        String::from_utf8(archive::unpack(bytes, part, MOST_UNPACKED)?).ok()
    };
    if let Some(xml) = part("word/document.xml") {
        // A firm's name and numbers stand in the head and the foot of its letters.
        let side =
            |name: &str| (1..=3).filter_map(|at| part(&format!("word/{name}{at}.xml"))).collect::<Vec<_>>();
        let texts = side("header").into_iter().chain([xml]).chain(side("footer"));
        let texts: Vec<String> = texts.filter_map(|xml| paragraphs(&xml, &["p"], &["t"])).collect();
        return (!texts.is_empty()).then(|| texts.join("\n"));
    }
    if let Some(xml) = part("content.xml") {
        return paragraphs(&xml, &["p", "h", "table-row"], &[]);
    }
    let sheet = part("xl/worksheets/sheet1.xml")?;
    let shared = part("xl/sharedStrings.xml").unwrap_or_default();
    rows(&sheet, &shared, &sheet::styles(&part("xl/styles.xml").unwrap_or_default()))
}

/// Lines are elements of one kind; their text is that of another, or all there is.
fn paragraphs(xml: &str, lines: &[&str], texts: &[&str]) -> Option<String> {
    let document = parse(xml)?;
    let mut text = String::new();
    for node in document.descendants() {
        let name = node.tag_name().name();
        if node.is_element() && lines.contains(&name) && !text.ends_with('\n') {
            // A paragraph in a cell of a table stays on the table's line.
            let in_row =
                node.ancestors().skip(1).any(|above| matches!(above.tag_name().name(), "table-row" | "tr"));
            text.push(if in_row { '\t' } else { '\n' });
        }
        if name == "tr" && node.is_element() && !text.ends_with('\n') {
            text.push('\n');
        }
        if name == "tab" || name == "br" || name == "line-break" {
            text.push('\t');
        }
        if node.is_text() && (texts.is_empty() || parent_is(node, texts)) {
            text.push_str(node.text().unwrap_or_default());
        }
        if text.len() > MOST_TEXT {
            break;
        }
    }
    Some(text)
}

fn parent_is(node: Node<'_, '_>, names: &[&str]) -> bool {
    node.parent().is_some_and(|parent| names.contains(&parent.tag_name().name()))
}

/// A sheet of XLSX names most of its words by their number in another part.
fn rows(sheet: &str, shared: &str, styles: &[Style]) -> Option<String> {
    let shared = parse(shared);
    let words: Vec<String> = shared
        .iter()
        .flat_map(|document| document.descendants())
        .filter(|node| node.has_tag_name_local("si"))
        .map(all_text)
        .collect();
    let sheet = parse(sheet)?;
    let mut text = String::new();
    for row in sheet.descendants().filter(|node| node.has_tag_name_local("row")) {
        let cells = row.children().filter(|node| node.has_tag_name_local("c")).map(|cell| {
            let plain = all_text(cell);
            match cell.attribute("t") {
                Some("s") => plain
                    .trim()
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| words.get(at).cloned())
                    .unwrap_or_default(),
                Some(_) => plain,
                None => {
                    let style = cell.attribute("s").and_then(|at| at.parse::<usize>().ok());
                    sheet::shown(&plain, style.and_then(|at| styles.get(at)))
                }
            }
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
        if text.len() > MOST_TEXT {
            break;
        }
    }
    Some(text)
}

fn all_text(node: Node<'_, '_>) -> String {
    // What is worked out, not the formula.
    let texts = node.descendants().filter(|inner| inner.is_text() && !parent_is(*inner, &["f"]));
    texts.filter_map(|inner| inner.text()).collect()
}

trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::archive::tests::archive;

    #[test]
    fn the_words_of_a_letter_are_read_by_paragraphs() {
        let xml = "<w:document xmlns:w='w'><w:p><w:r><w:t>Invoice</w:t></w:r><w:r><w:t> 7</w:t></w:r></w:p>\
                   <w:p><w:r><w:t>Total</w:t><w:tab/><w:t>5.00</w:t></w:r></w:p></w:document>";
        let read = text(&archive(&[("word/document.xml", xml)])).unwrap();
        assert_eq!(read.trim(), "Invoice 7\nTotal\t5.00");
    }

    #[test]
    fn the_words_of_a_sheet_are_read_by_rows() {
        let shared = "<sst><si><t>Total</t></si><si><t>Sum</t></si></sst>";
        let sheet = "<worksheet><sheetData><row><c t='s'><v>0</v></c><c><f>A1+1</f><v>5.5</v></c></row></sheetData></worksheet>";
        let bytes = archive(&[("xl/worksheets/sheet1.xml", sheet), ("xl/sharedStrings.xml", shared)]);
        assert_eq!(text(&bytes).unwrap().trim(), "Total\t5.50");
    }

    #[test]
    fn code_is_seen_by_the_name_of_its_part() {
        let has_macros = |name| {
            let bytes = archive(&[("word/document.xml", "<a/>"), (name, "x")]);
            has_macros(&bytes, &archive::parts(&bytes).unwrap())
        };
        assert!(has_macros("word/vbaProject.bin") && has_macros("Basic/Standard/Module1.xml"));
        assert!(!has_macros("word/styles.xml"));
    }
}
