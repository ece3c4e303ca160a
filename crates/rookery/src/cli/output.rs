//! The output of an `admin` command: a line for people, the same as JSON for programs, and what it could not do.
//! A command that does all of it or nothing returns the line and the object alone.

use serde_json::Value;

/// The output of a command.
pub struct CommandOutput {
    pub line: String,
    /// The same as JSON.
    pub object: Value,
    /// What it could not do: a sentence on standard error, and exit code 1.
    pub left: Option<String>,
}

impl CommandOutput {
    /// It did all of it.
    pub fn whole(line: String, object: Value) -> Self {
        Self { line, object, left: None }
    }
}
