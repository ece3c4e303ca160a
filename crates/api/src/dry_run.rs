//! `dryRun: true`, which every operation that writes takes: it is done whole, with all its checks, and then taken back.
//! This is how it is asked for and how an answer is marked; that nothing stays is `App::dry`'s doing
//! (docs/decisions/dry-run.md).

use serde_json::{Map, Value, json};
use url::form_urlencoded;

use rookery_base::error::{Error, Problem, Result};

/// The field of the body or the arguments.
pub const FIELD: &str = "dryRun";
/// The header of an answer that is one of a dry run.
pub const HEADER: &str = "dry-run";
/// The same in `_meta` of a tool's result.
pub const IN_META: &str = "rookery/dryRun";
/// The same in words, because models read content and not metadata.
pub const IN_WORDS: &str = "This was a dry run: nothing was changed or sent, and ids in it name nothing.";
/// Stands in the answer of a dry run in place of a secret.
pub const NO_SECRET: &str = "none, this was a dry run";
const ABOUT: &str = "True for a dry run: everything is checked and answered as usual, with `Dry-Run: true`, but nothing is changed or \
    sent, and nobody is notified. Ids in the answer are not real.";

/// Adds the field to the schema of an input.
pub fn offer(schema: &mut Value) {
    schema["properties"][FIELD] = json!({ "type": "boolean", "description": ABOUT });
}

/// Whether a dry run is asked for. A value that is neither true nor false counts as one until validation refuses it.
pub fn is_asked(given: &Map<String, Value>) -> bool {
    !matches!(given.get(FIELD), None | Some(Value::Null | Value::Bool(false)))
}

/// The problem of a misspelt field. Unknown fields are ignored, but ignoring `dry_run` would carry out what was meant as a
/// trial.
pub fn misspelt(given: &Map<String, Value>) -> Option<Problem> {
    let is_wrong = given.keys().any(|name| name != FIELD && is_meant(name));
    is_wrong.then(|| Problem { field: FIELD.into(), what: "must be written exactly so".into() })
}

/// Refuses the field in the query of a POST, where it would be ignored.
pub fn refuse_in_query(query: &str) -> Result<()> {
    if form_urlencoded::parse(query.as_bytes()).any(|(name, _)| is_meant(&name)) {
        Err(Error::problem(FIELD, "belongs into the body"))
    } else {
        Ok(())
    }
}

fn is_meant(name: &str) -> bool {
    let letters: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
    letters.eq_ignore_ascii_case(FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn only_what_clearly_says_no_is_kept() {
        for text in [r#"{}"#, r#"{"dryRun":null}"#, r#"{"dryRun":false}"#, r#"{"send":true}"#] {
            assert!(!is_asked(&given(text)), "{text}");
        }
        for text in [r#"{"dryRun":true}"#, r#"{"dryRun":"false"}"#, r#"{"dryRun":0}"#, r#"{"dry\u0052un":1}"#]
        {
            assert!(is_asked(&given(text)), "{text}");
        }
    }

    #[test]
    fn another_spelling_is_refused_and_other_fields_are_not() {
        for text in [
            r#"{"dry_run":true}"#,
            r#"{"dryrun":true}"#,
            r#"{"DRY-RUN":1}"#,
            r#"{"dryRun":true,"dry run":0}"#,
        ] {
            assert!(misspelt(&given(text)).is_some(), "{text}");
        }
        assert!(misspelt(&given(r#"{"dryRun":true,"dry":1,"run":2,"dryRunner":3}"#)).is_none());
        assert!(refuse_in_query("a=1&dryRun=true").is_err() && refuse_in_query("dry%5Frun=All").is_err());
        assert!(refuse_in_query("").is_ok() && refuse_in_query("q=dryRun").is_ok());
    }
}
