//! What an examination goes by that is neither a setting nor stored: the date of the release, limits of the machine, and how
//! much should be free. Tests give other ones.

use std::path::PathBuf;
use std::time::Duration;

use chrono::NaiveDate;

use rookery_base::confined::scans;
use rookery_base::net::fd_limit;

/// When this version was released. A year later it is not supported any more; `just release` writes it.
const RELEASED: &str = "2026-11-16";

#[derive(Clone, Debug)]
pub struct Given {
    pub released: NaiveDate,
    /// The limit of open files.
    pub descriptors: u64,
    /// Where mail servers reach each other.
    pub mail_port: u16,
    /// How long somebody who is asked over the network may take.
    pub patience: Duration,
    /// Bytes that should be free where files are, and where backups are, beside what the next one takes.
    pub least_free: u64,
    pub least_backup_room: u64,
    /// Of a hundred files that the disk can name, how many should be free.
    pub least_inodes: u64,
    /// What recognises text, and the languages it knows.
    pub tesseract: Option<PathBuf>,
    pub languages: Option<String>,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            released: RELEASED.parse().unwrap_or_default(),
            descriptors: fd_limit::raise(),
            mail_port: 25,
            patience: Duration::from_secs(5),
            least_free: 2 << 30,
            least_backup_room: 1 << 30,
            least_inodes: 5,
            tesseract: scans::program(),
            languages: scans::languages(),
        }
    }
}
