//! The rules that read papers: whatever the text, they end quickly, and every value they find stands in a line of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rookery_fuzz::quickly;
use rookery_reading::files::{einvoice, words};
use rookery_reading::page::TextPage;
use rookery_reading::{fields, kinds, title};

fuzz_target!(|bytes: &[u8]| {
    let _ = quickly(|| einvoice::read(bytes));
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(20_000)]);
    for page in [TextPage::of_text(1, &text), words::page(1, &text)] {
        let pages = [page];
        let found = quickly(|| fields::find(&pages));
        let kind = quickly(|| kinds::of_text(&pages));
        let _ = title::title(kind, &found, &pages);
        let lines = pages[0].lines.len() as u32;
        if let Some(vendor) = &found.vendor {
            assert!(vendor.place.line <= lines && !vendor.value.is_empty());
        }
        if let Some(reference) = &found.reference {
            let line = &pages[0].lines[reference.place.line as usize - 1];
            assert!(line.text().contains(reference.value.split(' ').next().unwrap_or_default()));
        }
    }
});
