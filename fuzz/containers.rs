//! Archives, office files and pictures: whatever the bytes, nothing is read beyond them and nothing grows beyond its limit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rookery_fuzz::{let_panics_unwind, quickly};
use rookery_reading::files::{archive, office, picture};

const MOST: usize = 100_000;

fuzz_target!(init: let_panics_unwind(), |bytes: &[u8]| {
    if let Some(parts) = archive::parts(bytes) {
        let _ = office::has_macros(bytes, &parts);
        for part in parts.iter().take(20) {
            assert!(archive::unpack(bytes, part, MOST).unwrap_or_default().len() <= MOST);
        }
    }
    let _ = quickly(|| office::text(bytes));
    let _ = (picture::size(bytes), picture::by_camera(bytes));
    // The child that strips pictures may panic and be read as "no picture".
    let _ = std::panic::catch_unwind(|| picture::stripped(bytes));
});
