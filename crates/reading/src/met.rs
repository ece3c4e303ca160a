//! Labels on a page, and the texts beside and below them in which their values can be.
//! A label is known by its words alone; which value is meant, whoever asks decides.

use crate::folded::Folded;
use crate::lists::Label;
use crate::page::{Bounds, TextPage};

/// How far below a label its value may stand, in lines and in heights of its letters.
const BELOW: usize = 3;
const BELOW_HEIGHTS: f32 = 4.0;
/// Cells of a line that can hold the value of one label.
const MOST_BESIDE: usize = 12;

/// A label that was met, with the texts its value can be in, the likeliest first.
pub struct Met<'a> {
    pub weight: u8,
    /// The words of the label's cell, folded, and where the label begins in them.
    pub cell: Folded,
    pub start: usize,
    pub page: &'a TextPage,
    pub candidates: Vec<Candidate<'a>>,
}

#[derive(Clone)]
pub struct Candidate<'a> {
    pub text: &'a str,
    pub line: usize,
    pub how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    Behind,
    Right,
    Below,
}

pub fn meet<'a>(pages: &'a [TextPage], labels: &[Label]) -> Vec<Met<'a>> {
    let mut all = Vec::new();
    for page in pages {
        for (row, line) in page.lines.iter().enumerate() {
            for (column, cell) in line.cells.iter().enumerate() {
                let folded = Folded::from_text(&cell.text);
                // The heaviest label of a cell speaks for it.
                let best = labels
                    .iter()
                    .filter_map(|(words, weight)| {
                        folded.find(words).map(|(end, start)| (*weight, words.len(), end, start))
                    })
                    .max();
                if let Some((weight, _, end, start)) = best {
                    let candidates = around(page, row, column, &cell.text[end..]);
                    all.push(Met { weight, cell: folded, start, page, candidates });
                }
            }
        }
    }
    all
}

fn around<'a>(page: &'a TextPage, row: usize, column: usize, behind: &'a str) -> Vec<Candidate<'a>> {
    let line = &page.lines[row];
    let cell = &line.cells[column];
    let mut all = vec![Candidate { text: behind, line: row, how: How::Behind }];
    all.extend(line.cells[column + 1..].iter().take(MOST_BESIDE).map(|cell| Candidate {
        text: &cell.text,
        line: row,
        how: How::Right,
    }));
    // A small label and its larger value can stand a little apart in height.
    let bottom = |at: &Bounds| at.y + at.height;
    for (below, line) in page.lines.iter().enumerate().skip(row + 1).take(2) {
        let beside = line.cells.iter().filter(|other| {
            other.at.x >= cell.at.right() && bottom(&other.at) - bottom(&cell.at) < 0.9 * cell.at.height
        });
        all.extend(beside.map(|cell| Candidate { text: &cell.text, line: below, how: How::Right }));
    }
    for (below, line) in page.lines.iter().enumerate().skip(row + 1).take(BELOW) {
        let near = line.at().y - cell.at.y < BELOW_HEIGHTS * cell.at.height.max(6.0);
        let under = line.cells.iter().filter(|other| near && other.at.shares_column(&cell.at));
        all.extend(under.map(|cell| Candidate { text: &cell.text, line: below, how: How::Below }));
    }
    all
}

impl Met<'_> {
    /// A cell that is nothing but its label heads what is below it.
    pub fn is_heading(&self) -> bool {
        self.start == 0 && self.cell.text.split_whitespace().count() <= 4
    }
}
