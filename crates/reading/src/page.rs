//! Text with its places: letters become cells, cells that stand on one height become lines. A column of a table is a cell of
//! its own, so that a label and the value beside or below it are found again.

use serde::{Deserialize, Serialize};

/// A gap that ends a word, and one that ends a cell, in heights of the letters.
const WORD_GAP: f32 = 0.17;
const CELL_GAP: f32 = 1.3;
/// Letters on one line may be so far apart in height.
const ONE_HEIGHT: f32 = 0.4;

/// Lines of one page; no paper has as many.
const MOST_LINES: usize = 2_000;

/// A place on a page in points, from its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// A letter, or several that a font keeps together. `y` is its base line.
#[derive(Clone, Debug)]
pub struct PageLetter {
    pub text: String,
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub size: f32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub text: String,
    pub at: Bounds,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextLine {
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextPage {
    pub number: u32,
    pub width: f32,
    pub height: f32,
    pub lines: Vec<TextLine>,
}

impl Bounds {
    pub fn right(&self) -> f32 {
        self.x + self.width
    }

    /// Whether something stands above or below, at least in part.
    pub fn shares_column(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right()
    }

    pub fn with(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = self.right().max(other.right());
        let bottom = (self.y + self.height).max(other.y + other.height);
        Self { x, y, width: right - x, height: bottom - y }
    }
}

impl TextLine {
    pub fn text(&self) -> String {
        let cells: Vec<&str> = self.cells.iter().map(|cell| cell.text.as_str()).collect();
        cells.join(" ")
    }

    pub fn at(&self) -> Bounds {
        let all = self.cells.iter().map(|cell| cell.at);
        all.reduce(|one, other| one.with(&other)).unwrap_or_default()
    }

    /// The height of its largest letters.
    pub fn size(&self) -> f32 {
        self.cells.iter().map(|cell| cell.at.height).fold(0.0, f32::max)
    }
}

impl TextPage {
    pub fn of_letters(number: u32, width: f32, height: f32, mut letters: Vec<PageLetter>) -> Self {
        letters.retain(|letter| {
            letter.x.is_finite()
                && letter.y.is_finite()
                && letter.width.is_finite()
                && letter.size.is_finite()
                && letter.size > 0.5
        });
        letters.sort_by(|one, other| one.y.total_cmp(&other.y).then(one.x.total_cmp(&other.x)));
        let mut lines = Vec::new();
        let mut current: Vec<PageLetter> = Vec::new();
        for letter in letters {
            let apart = current.last().is_some_and(|last| {
                let base = current.first().map_or(last.y, |first| first.y);
                letter.y - base > ONE_HEIGHT * last.size.min(letter.size)
            });
            if apart {
                lines.push(line_of(std::mem::take(&mut current)));
            }
            current.push(letter);
        }
        lines.push(line_of(current));
        lines.retain(|line: &TextLine| !line.cells.is_empty());
        lines.truncate(MOST_LINES);
        Self { number, width, height, lines }
    }

    /// Text without places, a line each, as a letter of plain text has it.
    pub fn of_text(number: u32, text: &str) -> Self {
        let (width, height) = (595.0, 842.0);
        let line = |(row, text): (usize, &str)| {
            let cells = text.split('\t').map(str::trim).filter(|cell| !cell.is_empty());
            let mut x = 40.0;
            let cells = cells.map(|text| {
                let width = 5.0 * text.chars().count().min(200) as f32;
                let at = Bounds { x, y: 40.0 + 12.0 * row as f32, width, height: 10.0 };
                x += width + 20.0;
                Cell { text: text.to_owned(), at }
            });
            TextLine { cells: cells.collect() }
        };
        let mut lines: Vec<TextLine> = text.lines().enumerate().map(line).collect();
        lines.retain(|line| !line.cells.is_empty());
        lines.truncate(MOST_LINES);
        Self { number, width, height, lines }
    }

    pub fn words(&self) -> usize {
        self.lines.iter().flat_map(|line| &line.cells).map(|cell| cell.text.split_whitespace().count()).sum()
    }
}

fn line_of(mut letters: Vec<PageLetter>) -> TextLine {
    letters.sort_by(|one, other| one.x.total_cmp(&other.x));
    let mut cells: Vec<Cell> = Vec::new();
    let (mut end, mut spaced) = (f32::MIN, false);
    let mut last: Option<(String, f32)> = None;
    for letter in letters {
        if letter.text.trim().is_empty() {
            spaced = true;
            continue;
        }
        // Bold that is made by printing twice.
        let again =
            |(text, x): &(String, f32)| *text == letter.text && (letter.x - x).abs() < 0.2 * letter.size;
        if last.as_ref().is_some_and(again) {
            continue;
        }
        let gap = letter.x - end;
        let at = Bounds {
            x: letter.x,
            y: letter.y - 0.8 * letter.size,
            width: letter.width,
            height: 1.05 * letter.size,
        };
        match cells.last_mut() {
            Some(cell) if gap < CELL_GAP * letter.size => {
                if spaced || gap > WORD_GAP * letter.size {
                    cell.text.push(' ');
                }
                cell.text.push_str(&letter.text);
                cell.at = cell.at.with(&at);
            }
            _ => cells.push(Cell { text: letter.text.clone(), at }),
        }
        end = letter.x + letter.width;
        spaced = false;
        last = Some((letter.text, letter.x));
    }
    for cell in &mut cells {
        cell.text = together(crate::text::line(&cell.text));
    }
    cells.retain(|cell| !cell.text.is_empty());
    TextLine { cells }
}

/// `R E C H N U N G` is a word that somebody wanted to be seen.
fn together(text: String) -> String {
    let is_letter = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    };
    let spaced = text.split(' ').count() >= 5 && text.split(' ').all(is_letter);
    if spaced { text.replace(' ', "") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str, x: f32, y: f32) -> Vec<PageLetter> {
        let letter = |(at, letter): (usize, char)| PageLetter {
            text: letter.to_string(),
            x: x + 5.0 * at as f32,
            y,
            width: 5.0,
            size: 10.0,
        };
        text.chars().enumerate().map(letter).collect()
    }

    #[test]
    fn letters_in_any_order_become_lines_of_cells() {
        let mut all = letters("529,87", 400.0, 100.2);
        all.extend(letters("Total due", 50.0, 100.0));
        all.extend(letters("Invoice", 50.0, 60.0));
        all.extend(letters("Invoice", 50.3, 60.0));
        let page = TextPage::of_letters(1, 595.0, 842.0, all);
        let told: Vec<Vec<&str>> = page
            .lines
            .iter()
            .map(|line| line.cells.iter().map(|cell| cell.text.as_str()).collect())
            .collect();
        assert_eq!(told, [vec!["Invoice"], vec!["Total due", "529,87"]]);
        assert_eq!(page.lines[1].text(), "Total due 529,87");
        assert_eq!(page.lines[1].cells[1].at.x, 400.0);
    }

    #[test]
    fn letters_without_a_place_are_left_out() {
        let mut all = letters("ok", 50.0, 60.0);
        all.push(PageLetter { text: "x".into(), x: f32::NAN, y: 1.0, width: 1.0, size: 9.0 });
        all.push(PageLetter { text: "x".into(), x: 1.0, y: f32::INFINITY, width: 1.0, size: 9.0 });
        assert_eq!(TextPage::of_letters(1, 1.0, 1.0, all).lines.len(), 1);
        assert_eq!(TextPage::of_letters(1, 1.0, 1.0, Vec::new()).lines, []);
    }
}
