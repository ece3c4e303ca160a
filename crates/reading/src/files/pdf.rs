//! Pages of a PDF as text with places, and the picture of a page that is a scan. A page that the parser panics on is left
//! out; how deep, how long and how large a file may be is the walls' affair.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::{Dictionary, Document, Object, ObjectId};
use pdf_extract::{ColorSpace, MediaBox, OutputDev, OutputError, Path, PathOp, Transform, output_doc_page};

use crate::files::pixels;
use crate::page::{Bounds, PageLetter, TextPage};

/// Pages that are read from the beginning: who sends, what and how much stands there.
pub const MOST_PAGES: usize = 12;
const MOST_LETTERS: usize = 200_000;
const MOST_RULES: usize = 2_000;
/// An invoice in XML is a small file.
const MOST_FILE: usize = 2_000_000;
const MOST_FILES: usize = 20;

/// What a page shows.
#[derive(Default)]
pub struct PdfPage {
    pub number: u32,
    pub width: f32,
    pub height: f32,
    pub letters: Vec<PageLetter>,
    /// Lines and boxes: what a table is drawn with.
    pub rules: Vec<Bounds>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    Encrypted,
    Damaged,
}

/// A PDF that can be read without a password.
pub fn open(bytes: &[u8]) -> Result<Document, Unreadable> {
    let mut document = Document::load_mem(bytes)
        .map_err(|_| if has_encryption(bytes) { Unreadable::Encrypted } else { Unreadable::Damaged })?;
    if document.is_encrypted() {
        document.decrypt("").map_err(|_| Unreadable::Encrypted)?;
    }
    Ok(document)
}

fn has_encryption(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|part| part == b"/Encrypt")
}

pub fn page_count(document: &Document) -> u32 {
    document.get_pages().len() as u32
}

/// The first pages, each as far as it can be read.
pub fn pages(document: &Document) -> Vec<TextPage> {
    let numbers: Vec<u32> = document.get_pages().into_keys().take(MOST_PAGES).collect();
    let mut left = MOST_LETTERS;
    let mut pages = Vec::new();
    for number in numbers {
        let shown = show(document, number, left);
        left = left.saturating_sub(shown.letters.len());
        pages.push(TextPage::of_letters(number, shown.width, shown.height, shown.letters));
    }
    pages
}

pub fn show(document: &Document, number: u32, most: usize) -> PdfPage {
    let mut pen = Pen {
        shown: PdfPage { number, ..PdfPage::default() },
        left: 0.0,
        top: 0.0,
        most,
        turned: Default::default(),
    };
    // What was written down before a panic stays.
    let _ = catch_unwind(AssertUnwindSafe(|| output_doc_page(document, &mut pen, number)));
    pen.upright()
}

struct Pen {
    shown: PdfPage,
    /// The upper left corner in the page's own measure, whose heights grow upwards.
    left: f64,
    top: f64,
    most: usize,
    /// Letters by the way their line runs: to the right, up, to the left, down.
    turned: [Vec<PageLetter>; 4],
}

impl Pen {
    /// The page as people hold it: as most of its letters stand. The others are a stamp or a margin, and would cut
    /// through the lines.
    fn upright(mut self) -> PdfPage {
        let most = self.turned.iter().map(Vec::len).max().unwrap_or_default();
        let turn = self.turned.iter().position(|letters| letters.len() == most).unwrap_or_default();
        let (width, height) = (self.shown.width, self.shown.height);
        let to = |x: f32, y: f32| turned(turn, x, y, width, height);
        for rule in &mut self.shown.rules {
            let (one, other) = (to(rule.x, rule.y), to(rule.right(), rule.y + rule.height));
            let point = |(x, y): (f32, f32)| Bounds { x, y, width: 0.0, height: 0.0 };
            *rule = point(one).with(&point(other));
        }
        let mut letters = std::mem::take(&mut self.turned[turn]);
        for letter in &mut letters {
            (letter.x, letter.y) = to(letter.x, letter.y);
        }
        if turn % 2 == 1 {
            (self.shown.width, self.shown.height) = (height, width);
        }
        PdfPage { letters, ..self.shown }
    }

    fn place(&self, x: f64, y: f64) -> (f32, f32) {
        ((x - self.left) as f32, (self.top - y) as f32)
    }

    fn rule(&mut self, transform: &Transform, path: &Path) {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for op in &path.ops {
            match *op {
                PathOp::MoveTo(x, y) => {
                    self.keep(transform, &std::mem::take(&mut corners));
                    corners.push((x, y));
                }
                PathOp::LineTo(x, y) => corners.push((x, y)),
                PathOp::Rect(x, y, width, height) => {
                    self.keep(transform, &[(x, y), (x + width, y + height)]);
                }
                // Curves are no rules.
                PathOp::CurveTo(..) => corners.clear(),
                PathOp::Close => {}
            }
        }
        self.keep(transform, &corners);
    }

    fn keep(&mut self, transform: &Transform, corners: &[(f64, f64)]) {
        if corners.len() < 2 || self.shown.rules.len() >= MOST_RULES {
            return;
        }
        let moved = corners.iter().map(|(x, y)| {
            let to = |a: f64, b: f64, c: f64| x * a + y * b + c;
            self.place(
                to(transform.m11, transform.m21, transform.m31),
                to(transform.m12, transform.m22, transform.m32),
            )
        });
        let points: Vec<(f32, f32)> = moved.filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let point = |(x, y): (f32, f32)| Bounds { x, y, width: 0.0, height: 0.0 };
        if let Some(all) = points.into_iter().map(point).reduce(|one, other| one.with(&other)) {
            self.shown.rules.push(all);
        }
    }
}

/// Where a point stands when the page is turned, so that lines that ran to the right, up, to the left or down run to the
/// right.
fn turned(turn: usize, x: f32, y: f32, width: f32, height: f32) -> (f32, f32) {
    match turn {
        1 => (height - y, x),
        2 => (width - x, height - y),
        3 => (y, width - x),
        _ => (x, y),
    }
}

impl OutputDev for Pen {
    fn begin_page(
        &mut self,
        _: u32,
        page: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        (self.left, self.top) = (page.llx.min(page.urx), page.lly.max(page.ury));
        self.shown.width = (page.urx - page.llx).abs() as f32;
        self.shown.height = (page.ury - page.lly).abs() as f32;
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        transform: &Transform,
        width: f64,
        _: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        if self.turned.iter().map(Vec::len).sum::<usize>() >= self.most {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        let (along, up) = (transform.m11 * font_size.signum(), transform.m12 * font_size.signum());
        let turn = if up.abs() <= 0.2 * along.abs() {
            // Mirrored is not turned: then the letters' height runs on as ever.
            if along < 0.0 && transform.m22 * font_size < 0.0 { 2 } else { 0 }
        } else if along.abs() <= 0.2 * up.abs() {
            if up > 0.0 { 1 } else { 3 }
        } else {
            return Ok(());
        };
        let size = transform.m21.hypot(transform.m22) * font_size.abs();
        let advance = transform.m11.hypot(transform.m12) * font_size.abs();
        // A font without widths: half the height is near enough.
        let width = if width > 0.0 { width * advance } else { 0.5 * size };
        let (x, y) = self.place(transform.m31, transform.m32);
        self.turned[turn].push(PageLetter {
            text: text.to_owned(),
            x,
            y,
            width: width as f32,
            size: size as f32,
        });
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn stroke(
        &mut self,
        transform: &Transform,
        _: &ColorSpace,
        _: &[f64],
        path: &Path,
    ) -> Result<(), OutputError> {
        self.rule(transform, path);
        Ok(())
    }

    fn fill(
        &mut self,
        transform: &Transform,
        _: &ColorSpace,
        _: &[f64],
        path: &Path,
    ) -> Result<(), OutputError> {
        self.rule(transform, path);
        Ok(())
    }
}

/// XML that a PDF carries as a file. What it is called does not matter, what it says does.
pub fn embedded(document: &Document) -> Vec<Vec<u8>> {
    let mut named: BTreeSet<ObjectId> = BTreeSet::new();
    for (id, object) in &document.objects {
        match object {
            Object::Dictionary(dictionary) => named.extend(files_of(document, dictionary)),
            Object::Stream(stream) if is_file(&stream.dict) => {
                named.insert(*id);
            }
            _ => {}
        }
    }
    let streams =
        named.into_iter().take(MOST_FILES).filter_map(|id| document.get_object(id).ok()?.as_stream().ok());
    let small = streams.filter(|stream| stream.content.len() <= MOST_FILE);
    let plain = small.filter_map(|stream| stream.get_plain_content().ok());
    plain.filter(|bytes| bytes.len() <= MOST_FILE).collect()
}

/// What a specification of a file leads to.
fn files_of(document: &Document, dictionary: &Dictionary) -> Vec<ObjectId> {
    let files = dictionary.get_deref(b"EF", document).and_then(Object::as_dict);
    let Ok(files) = files else { return Vec::new() };
    files.iter().filter_map(|(_, file)| file.as_reference().ok()).collect()
}

fn is_file(dictionary: &Dictionary) -> bool {
    let is =
        |key: &[u8], name: &[u8]| dictionary.get(key).and_then(Object::as_name).is_ok_and(|own| own == name);
    is(b"Type", b"EmbeddedFile") || is(b"Subtype", b"text/xml") || is(b"Subtype", b"application/xml")
}

/// The picture that fills a page, when there is one: a scan.
pub fn scan(bytes: &[u8], number: u32) -> Option<Vec<u8>> {
    let document = open(bytes).ok()?;
    let page = *document.get_pages().get(&number)?;
    let images = document.get_page_images(page).ok()?;
    let largest = images.into_iter().max_by_key(|image| image.width.saturating_mul(image.height))?;
    let is_page = largest.width >= 600 && largest.height >= 600;
    is_page.then(|| pixels::picture(&largest)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_on_its_side_is_turned() {
        // A line that runs up a page of 100 by 200: its first letter is below, and becomes the left one.
        let (first, next) = (turned(1, 10.0, 190.0, 100.0, 200.0), turned(1, 10.0, 180.0, 100.0, 200.0));
        assert_eq!((first, next), ((10.0, 10.0), (20.0, 10.0)));
        let (first, next) = (turned(3, 90.0, 10.0, 100.0, 200.0), turned(3, 90.0, 20.0, 100.0, 200.0));
        assert_eq!((first, next), ((10.0, 10.0), (20.0, 10.0)));
        assert_eq!(turned(2, 90.0, 190.0, 100.0, 200.0), (10.0, 10.0));
    }
}
