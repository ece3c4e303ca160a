//! The last examination, kept in the blob store, and what has changed since. It is there for all nodes and outlives a
//! database that is gone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::doctor::row::{CheckRow, DoctorReport};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;

const FOLDER: &str = "doctor";
const LAST: &str = "last";

/// What is different from the last time, by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowChange {
    Broke(String),
    Mended(String),
    /// It was not looked at before.
    New(String),
    Gone(String),
}

impl RowChange {
    pub fn name(&self) -> &str {
        match self {
            Self::Broke(name) | Self::Mended(name) | Self::New(name) | Self::Gone(name) => name,
        }
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Broke(name) => format!("{name} was right and is not any more"),
            Self::Mended(name) => format!("{name} is right again"),
            Self::New(name) => format!("{name} was not looked at before"),
            Self::Gone(name) => format!("{name} was not looked at this time"),
        }
    }
}

/// An examination, and what was different from the one before: names and sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub report: DoctorReport,
    pub changed: Vec<(String, String)>,
}

impl Kept {
    fn since(before: Option<Kept>, report: DoctorReport) -> Self {
        let changed = before.map(|before| changes(&before.report, &report)).unwrap_or_default();
        let changed = changed.iter().map(|change| (change.name().to_owned(), change.sentence())).collect();
        Self { report, changed }
    }

    /// What one workspace may know of it.
    fn for_workspace(mut self, workspace: WorkspaceId) -> Self {
        let own = Some(workspace.to_string());
        self.report.rows.retain(|row| row.workspace == own);
        self.changed.retain(|(name, _)| self.report.rows.iter().any(|row| row.name == *name));
        self
    }
}

/// The last one, if there is one that can be read.
pub async fn last(app: &App) -> Option<Kept> {
    let bytes = app.blobs.read_kept(&[FOLDER, LAST]).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What was found of one workspace: when it was looked at last, or everything was.
pub async fn last_of(app: &App, workspace: WorkspaceId) -> Option<Kept> {
    let own = app.blobs.read_kept(&[FOLDER, &workspace.to_string()]).await.ok();
    let own: Option<Kept> = own.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let whole = last(app).await.map(|kept| kept.for_workspace(workspace));
    [own, whole].into_iter().flatten().max_by(|one, other| one.report.at.cmp(&other.report.at))
}

/// Keeps what was found of one workspace, beside the last examination of everything.
pub async fn keep_of(app: &App, workspace: WorkspaceId, report: DoctorReport) -> Result<()> {
    let before = last_of(app, workspace).await;
    let kept = Kept::since(before, report);
    app.blobs.keep(&[FOLDER, &workspace.to_string()], serde_json::to_vec(&kept)?).await?;
    Ok(())
}

/// Keeps it as the last, and tells what is different.
pub async fn keep(app: &App, report: DoctorReport) -> Result<Kept> {
    let before = last(app).await;
    let kept = Kept::since(before, report);
    app.blobs.keep(&[FOLDER, LAST], serde_json::to_vec(&kept)?).await?;
    Ok(kept)
}

/// What broke first, then what was mended, then rows that came and went.
pub fn changes(before: &DoctorReport, now: &DoctorReport) -> Vec<RowChange> {
    let by_name = |report: &DoctorReport| -> BTreeMap<String, bool> {
        report.rows.iter().map(|row: &CheckRow| (row.name.clone(), row.ok)).collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let (mut broke, mut mended, mut came) = (Vec::new(), Vec::new(), Vec::new());
    for (name, ok) in &now {
        match (before.get(name), ok) {
            (Some(true), false) => broke.push(RowChange::Broke(name.clone())),
            (Some(false), true) => mended.push(RowChange::Mended(name.clone())),
            (None, _) => came.push(RowChange::New(name.clone())),
            _ => {}
        }
    }
    let gone = before.keys().filter(|name| !now.contains_key(*name)).cloned().map(RowChange::Gone);
    broke.into_iter().chain(mended).chain(came).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::row::either;

    #[test]
    fn what_is_different_is_told_and_nothing_else() {
        let report = |rows: &[(&str, bool)]| DoctorReport {
            at: String::new(),
            rows: rows.iter().map(|(name, ok)| CheckRow::new(*name, "", either(*ok, "", ""))).collect(),
        };
        let before = report(&[("a", true), ("b", false), ("c", true), ("d", false)]);
        let now = report(&[("a", false), ("b", true), ("c", true), ("e", true)]);
        let told: Vec<String> = changes(&before, &now).iter().map(RowChange::sentence).collect();
        assert_eq!(
            told,
            [
                "a was right and is not any more",
                "b is right again",
                "e was not looked at before",
                "d was not looked at this time"
            ]
        );
        assert!(changes(&now, &now).is_empty());
    }
}
