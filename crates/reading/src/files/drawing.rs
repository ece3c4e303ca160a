//! One page of a PDF as a drawing of our own: pieces of text and ruled lines with their places. The app draws it again from
//! these, so that nothing of the file reaches a browser but words and numbers.

use serde::{Deserialize, Serialize};

use crate::files::pdf;
use crate::page::{Bounds, TextPage};

/// Of a page that says nothing sensible of its size.
const PAPER: (f32, f32) = (595.0, 842.0);
/// In points; no paper is as large.
const FAR: f32 = 1e5;
const MOST_PIECES: usize = 4_000;
const MOST_BYTES: usize = 400_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawing {
    pub page: u32,
    pub pages: u32,
    pub width: f32,
    pub height: f32,
    pub pieces: Vec<DrawnPiece>,
    pub rules: Vec<Bounds>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPiece {
    pub text: String,
    pub at: Bounds,
}

/// Nothing when it is no PDF that can be read, or has no such page.
pub fn page(bytes: &[u8], number: u32) -> Option<Drawing> {
    let document = pdf::open(bytes).ok()?;
    let pages = pdf::page_count(&document);
    if number == 0 || number > pages {
        return None;
    }
    let shown = pdf::show(&document, number, 60_000);
    let paper = Bounds { width: shown.width, height: shown.height, ..Bounds::default() };
    let (width, height) = if is_sound(&paper) { (shown.width, shown.height) } else { PAPER };
    let rules =
        shown.rules.iter().map(rounded).filter(|rule| is_sound(rule) && is_rule(rule, width)).collect();
    let page = TextPage::of_letters(number, width, height, shown.letters);
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    for cell in page.lines.into_iter().flat_map(|line| line.cells).take(MOST_PIECES) {
        if !is_sound(&cell.at) {
            continue;
        }
        bytes += 2 * cell.text.len() + 80;
        if bytes > MOST_BYTES {
            break;
        }
        pieces.push(DrawnPiece { text: cell.text, at: rounded(&cell.at) });
    }
    Some(Drawing { page: number, pages, width: page.width, height: page.height, pieces, rules })
}

fn rounded(at: &Bounds) -> Bounds {
    let one = |number: f32| (number * 10.0).round() / 10.0;
    Bounds { x: one(at.x), y: one(at.y), width: one(at.width), height: one(at.height) }
}

/// A place that can be on paper. What is infinite cannot even be told.
fn is_sound(at: &Bounds) -> bool {
    [at.x, at.y, at.width, at.height].iter().all(|number| number.abs() < FAR)
}

/// A thin line or a small box; what covers the page is its paper.
fn is_rule(rule: &Bounds, width: f32) -> bool {
    let thin = rule.width < 2.0 || rule.height < 2.0;
    thin && rule.width.max(rule.height) > 4.0 && rule.width <= width + 1.0
}
