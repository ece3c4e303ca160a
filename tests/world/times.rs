//! What a story took, for the table at the end of the gate: a line in the file that `TEST_TIMES` names, if it names one.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::thread;
use std::time::Instant;

/// Writes down how long a story took when it ends, also when it fails.
pub struct Timed(Instant);

impl Timed {
    pub fn begin() -> Self {
        Self(Instant::now())
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let Some((_, path)) = std::env::vars().find(|(name, _)| name == "TEST_TIMES") else { return };
        let thread = thread::current();
        let line = format!("{} {}\n", self.0.elapsed().as_millis(), thread.name().unwrap_or("?"));
        // One write of a short line is whole, however many stories end at once.
        let file = OpenOptions::new().append(true).create(true).open(path);
        if let Ok(mut file) = file {
            let _ = file.write_all(line.as_bytes());
        }
    }
}
