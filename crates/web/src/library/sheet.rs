//! The picture of a page, drawn by us: a PDF's words and ruled lines where they stand, or the scan or photo itself, with the
//! lines marked that fields were read from. Nothing of the file runs or loads: words are escaped like any other.

use bytes::Bytes;

use rookery_base::app::App;
use rookery_base::confined::job::Job;
use rookery_base::confined::run::RunOutcome;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::fair_seats::Sitter;
use rookery_product::documents::whole::WholeDocument;
use rookery_reading::check::MOST_PIXELS;
use rookery_reading::files::drawing::{Drawing, DrawnPiece};
use rookery_reading::files::picture;
use rookery_reading::page::Bounds;

/// Bytes of a file that is shown; larger ones can only be downloaded.
pub const MOST_SHOWN: i64 = 25_000_000;
/// How far a mark reaches beyond its line.
const AROUND: f32 = 4.0;
/// Where the number of a mark stands, left of it.
const PIN: f32 = 14.0;

pub struct Sheet {
    pub page: u32,
    pub pages: u32,
    pub width: f32,
    pub height: f32,
    pub pieces: Vec<DrawnPiece>,
    pub rules: Vec<Bounds>,
    /// The address of the picture that is the page.
    pub picture: Option<String>,
    pub marks: Vec<Mark>,
}

/// A line that a field was read from.
pub struct Mark {
    /// The field's number beside the page.
    pub number: usize,
    pub at: Bounds,
    pub pin: (f32, f32),
    pub radius: f32,
}

/// The page of a document as it is drawn; None if there is no page to show.
pub async fn sheet(
    app: &App,
    workspace: WorkspaceId,
    whole: &WholeDocument,
    page: u32,
) -> Result<Option<Sheet>> {
    if whole.size > MOST_SHOWN {
        return Ok(None);
    }
    let Ok(_seat) = app.confined.seat(Sitter::by_workspace(workspace)).await else { return Ok(None) };
    let bytes: Bytes = app.blobs.get(&whole.blob).await?.into();
    if !bytes.starts_with(b"%PDF-") {
        let Some((width, height)) = size_to_show(&bytes) else { return Ok(None) };
        let address = format!("/documents/{}/preview", whole.id);
        return Ok(Some(pictured(1, 1, width, height, address)));
    }
    let drawing: Drawing = match app.confined.run(&Job::Page(page), bytes.clone()).await? {
        RunOutcome::Said(said) => match serde_json::from_slice(&said) {
            Ok(drawing) => drawing,
            Err(_) => return Ok(None),
        },
        RunOutcome::Broken(_) => return Ok(None),
    };
    if drawing.pieces.is_empty()
        && let RunOutcome::Said(scan) = app.confined.run(&Job::Scan(page), bytes).await?
        && let Some((width, height)) = size_to_show(&scan)
    {
        let address = format!("/documents/{}/preview?page={page}", whole.id);
        return Ok(Some(pictured(page, drawing.pages, width, height, address)));
    }
    Ok(Some(Sheet {
        page: drawing.page,
        pages: drawing.pages,
        width: drawing.width,
        height: drawing.height,
        pieces: drawing.pieces,
        rules: drawing.rules,
        picture: None,
        marks: Vec::new(),
    }))
}

fn pictured(page: u32, pages: u32, width: u64, height: u64, address: String) -> Sheet {
    Sheet {
        page,
        pages,
        width: width as f32,
        height: height as f32,
        pieces: Vec::new(),
        rules: Vec::new(),
        picture: Some(address),
        marks: Vec::new(),
    }
}

/// Width and height of a picture that browsers can show; None for anything else and for one that would fill their memory.
pub fn size_to_show(bytes: &[u8]) -> Option<(u64, u64)> {
    let small = |(width, height): &(u64, u64)| width.saturating_mul(*height) <= MOST_PIXELS;
    picture::size(bytes).filter(small).filter(|_| rookery_base::net::pictures::kind(bytes).is_some())
}

impl Sheet {
    pub fn mark(&mut self, number: usize, at: Bounds) {
        // A scan is measured in pixels, a page in points.
        let scale = (self.width / 595.0).max(0.2);
        let around = AROUND * scale;
        let at = Bounds {
            x: at.x - around,
            y: at.y - around / 2.0,
            width: at.width + 2.0 * around,
            height: at.height + around,
        };
        let radius = 8.0 * scale;
        let (mut x, y) = (at.x - PIN * scale, at.y + at.height / 2.0);
        // Two fields of one line have their numbers side by side.
        let is_taken =
            |x: f32| self.marks.iter().any(|mark| (mark.pin.0 - x).hypot(mark.pin.1 - y) < 1.9 * radius);
        while is_taken(x) && x > radius {
            x -= 2.2 * radius;
        }
        let pin = (x.max(radius), y);
        self.marks.push(Mark { number, at, pin, radius });
    }

    /// `0 0 595 842`
    pub fn view_box(&self) -> String {
        format!("0 0 {} {}", self.width.max(1.0), self.height.max(1.0))
    }

    /// Pages to go to: this one and a few around it.
    pub fn numbers(&self) -> std::ops::RangeInclusive<u32> {
        let first = self.page.saturating_sub(2).min(self.pages.saturating_sub(4)).max(1);
        first..=self.pages.min(first.saturating_add(4))
    }
}

impl Mark {
    pub fn text_y(&self) -> f32 {
        self.pin.1 + 0.4 * self.radius
    }

    pub fn text_size(&self) -> f32 {
        1.1 * self.radius
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_one_line_have_their_numbers_side_by_side() {
        let mut sheet = pictured(1, 1, 595, 842, String::new());
        let line = Bounds { x: 100.0, y: 50.0, width: 200.0, height: 10.0 };
        (1..=3).for_each(|number| sheet.mark(number, line));
        sheet.mark(4, Bounds { y: 90.0, ..line });
        let apart = |one: &Mark, other: &Mark| (one.pin.0 - other.pin.0).abs() > 2.0 * one.radius;
        assert!(apart(&sheet.marks[0], &sheet.marks[1]) && apart(&sheet.marks[1], &sheet.marks[2]));
        assert_eq!(sheet.marks[0].pin.0, sheet.marks[3].pin.0);
    }

    #[test]
    fn a_few_pages_around_this_one_can_be_gone_to() {
        let around = |page, pages| pictured(page, pages, 1, 1, String::new()).numbers();
        assert_eq!((around(1, 1), around(2, 3), around(1, 90)), (1..=1, 1..=3, 1..=5));
        assert_eq!((around(45, 90), around(90, 90)), (43..=47, 86..=90));
    }
}
