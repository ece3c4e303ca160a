//! A word that must not be left anywhere: looked for in every row, as text and as the hex that bytes are shown in, and in
//! every file.

use std::path::PathBuf;

use sqlx::PgPool;

use super::World;
use super::probe::rows_of;

pub const CANARY: &str = "zanzibarcanary";

/// Whether the canary stands in a row's text.
pub fn stands_in(row: &str) -> bool {
    let (row, hex) =
        (row.to_lowercase(), CANARY.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());
    row.contains(CANARY) || row.contains(&hex)
}

/// Rows of a database that have it, with their table.
pub async fn rows_with_it(pool: &PgPool) -> Vec<String> {
    let mut left = Vec::new();
    for (table, rows) in rows_of(pool).await {
        left.extend(rows.into_iter().filter(|row| stands_in(row)).map(|row| format!("{table}: {row}")));
    }
    left
}

pub fn files_with_it(files: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
    let has_it = |file: &PathBuf| {
        let bytes = std::fs::read(file).expect("a file can be read");
        bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
    };
    files.into_iter().filter(has_it).map(|file| file.display().to_string()).collect()
}

impl World {
    /// Where the canary still stands, in tables and files.
    pub async fn left_of_canary(&self) -> Vec<String> {
        let mut left = rows_with_it(&self.app.pool).await;
        left.extend(files_with_it(self.files()));
        left
    }
}
