//! A value that was found, and where: nobody has to believe a value whose line they can look at.
//! A place is a line of a page, as people count them.

use crate::page::{Bounds, Cell, TextLine, TextPage};

/// Where a value was read: a line of a page, the words of it, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuePlace {
    pub page: u32,
    /// From one.
    pub line: u32,
    pub text: String,
    pub at: Bounds,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundValue<T> {
    pub value: T,
    pub place: ValuePlace,
}

pub fn place(page: &TextPage, line: usize) -> ValuePlace {
    let own: &TextLine = &page.lines[line];
    ValuePlace {
        page: page.number,
        line: line as u32 + 1,
        text: own.text().chars().take(200).collect(),
        at: own.at(),
    }
}

/// The first line with such a cell.
pub fn line_with(pages: &[TextPage], is: impl Fn(&Cell) -> bool) -> Option<ValuePlace> {
    pages.iter().find_map(|page| {
        let row = page.lines.iter().position(|line| line.cells.iter().any(&is))?;
        Some(place(page, row))
    })
}
