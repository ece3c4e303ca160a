//! A row of the examination, and the report they make. The names are for programs and do not change; the rest is for
//! people.

use serde::{Deserialize, Serialize};

use rookery_base::error::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRow {
    pub name: String,
    pub ok: bool,
    pub found: String,
    pub expected: String,
    /// What mends it; nothing when it is right.
    pub fix: String,
    /// Whose it is, when it is not everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// All rows of one examination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    pub at: String,
    pub rows: Vec<CheckRow>,
}

/// What was found: right, or wrong with what mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowJudgement {
    Right(String),
    Wrong { found: String, fix: String },
}

pub fn right(found: impl Into<String>) -> RowJudgement {
    RowJudgement::Right(found.into())
}

pub fn wrong(found: impl Into<String>, fix: impl Into<String>) -> RowJudgement {
    RowJudgement::Wrong { found: found.into(), fix: fix.into() }
}

/// Right or wrong by a condition.
pub fn either(holds: bool, found: impl Into<String>, fix: impl Into<String>) -> RowJudgement {
    if holds { right(found) } else { wrong(found, fix) }
}

impl CheckRow {
    pub fn new(name: impl Into<String>, expected: impl Into<String>, judged: RowJudgement) -> Self {
        let (name, expected) = (name.into(), expected.into());
        let (ok, found, fix) = match judged {
            RowJudgement::Right(found) => (true, found, String::new()),
            RowJudgement::Wrong { found, fix } => (false, found, fix),
        };
        Self { name, ok, found, expected, fix, workspace: None }
    }

    /// The same when it may be that nothing could be found out.
    pub fn from_result(
        name: impl Into<String>,
        expected: impl Into<String>,
        judged: Result<RowJudgement>,
    ) -> Self {
        let judged = judged.unwrap_or_else(|error| {
            wrong(format!("could not be checked: {error}"), "Fix what the error says, then run it again.")
        });
        Self::new(name, expected, judged)
    }

    /// The name without the domain that it may be about.
    pub fn kind(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

impl DoctorReport {
    pub fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| !row.ok).count()
    }
}
