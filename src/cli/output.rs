//! The output of an `admin` command: a line for people, the same as JSON for programs, and what it could not do.
//! Every `admin` command returns a `Done`.

use serde_json::Value;

/// The output of a command.
pub struct Done {
    pub line: String,
    /// The same as JSON.
    pub object: Value,
    /// What it could not do: a sentence on standard error, and exit code 1.
    pub left: Option<String>,
}

impl From<(String, Value)> for Done {
    fn from((line, object): (String, Value)) -> Self {
        Self { line, object, left: None }
    }
}
