//! XML inside files: without a document type, so that no name means anything but itself, and with an end.
//! Nothing when it is none.

use roxmltree::{Document, ParsingOptions};

const MOST_NODES: u32 = 500_000;

pub fn parse(xml: &str) -> Option<Document<'_>> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(xml.trim_start_matches('\u{feff}'), options).ok()
}
