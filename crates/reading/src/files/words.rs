//! What tesseract says of a picture: its TSV, a word a row with its place, becomes a page like any other. It is as strange
//! as the picture, so it is bounded and parsed like one, in the child.

use crate::page::{PageLetter, TextPage};

const MOST_WORDS: usize = 20_000;
/// Less sure than this is noise, of a hundred.
const SURE: f32 = 30.0;

/// Places are in pixels; the page is as large as the picture.
pub fn page(number: u32, tsv: &str) -> TextPage {
    let (mut width, mut height) = (0.0, 0.0);
    let mut letters = Vec::new();
    for row in tsv.lines().skip(1).take(MOST_WORDS) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [level, _, block, paragraph, line, _, left, top, wide, high, confidence, text] = cells.as_slice()
        else {
            continue;
        };
        let value = |cell: &str| cell.trim().parse::<f32>().ok().filter(|value| value.is_finite());
        let (Some(left), Some(top), Some(wide), Some(high)) =
            (value(left), value(top), value(wide), value(high))
        else {
            continue;
        };
        match *level {
            "1" => (width, height) = (wide, high),
            "5" if value(confidence).unwrap_or_default() >= SURE && !text.trim().is_empty() => {
                let same_line = (*block, *paragraph, *line);
                letters.push((same_line, text.trim(), left, top, wide, high));
            }
            _ => {}
        }
    }
    // Words of one line have its height, however high each one is.
    let mut words = Vec::new();
    let mut from = 0;
    while from < letters.len() {
        let line = letters[from].0;
        let end =
            letters[from..].iter().position(|word| word.0 != line).map_or(letters.len(), |more| from + more);
        let own = &letters[from..end];
        let base = own.iter().map(|word| word.3 + word.5).fold(0.0, f32::max);
        let size = own.iter().map(|word| word.5).fold(0.0, f32::max);
        words.extend(own.iter().map(|(_, text, left, _, wide, _)| PageLetter {
            text: (*text).to_owned(),
            x: *left,
            y: base,
            width: *wide,
            size,
        }));
        from = end;
    }
    TextPage::of_letters(number, width, height, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_scan_become_lines() {
        let tsv = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
                   1\t1\t0\t0\t0\t0\t0\t0\t1000\t1400\t-1\t\n\
                   5\t1\t1\t1\t1\t1\t100\t100\t80\t20\t96.1\tInvoice\n\
                   5\t1\t1\t1\t1\t2\t190\t102\t40\t18\t95\t77\n\
                   5\t1\t1\t1\t2\t1\t100\t140\t60\t20\t96\tTotal\n\
                   5\t1\t2\t1\t1\t1\t700\t141\t60\t19\t91\t5,00\n\
                   5\t1\t2\t1\t1\t2\t900\t141\t60\t19\t3\t~~\n\
                   garbage\n";
        let page = page(1, tsv);
        assert_eq!((page.width, page.height), (1000.0, 1400.0));
        let lines: Vec<String> = page.lines.iter().map(crate::page::TextLine::text).collect();
        assert_eq!(lines, ["Invoice 77", "Total 5,00"]);
        assert_eq!(page.lines[1].cells.len(), 2);
    }
}
