//! The steps of an erasure, in their order. A step that this version does not know was written by a newer one, and is that one's
//! to do: it is an error here, and never the end of an erasure.

use rookery_base::error::{Error, Result};

rookery_base::text_enum! {
    /// As the column `step` has it. The version before this one takes a step that it does not know for the last, so a new one may only
    /// be written one release after it is known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ErasureStep {
        /// After an older backup came back: whom it means.
        Finding = "finding",
        /// Into the list in the blob store.
        Listing = "listing",
        /// The contact's own.
        Conversations = "conversations",
        /// All mail, for where else they are in.
        Messages = "messages",
        /// What other rooms have.
        Rest = "rest",
        /// What receivers of webhooks answered.
        Answers = "answers",
        Files = "files",
    }
}

impl ErasureStep {
    pub fn parse(written: &str) -> Result<Self> {
        Self::named(written).ok_or_else(|| {
            Error::internal(format!("the erasure is at the step {written}, which a newer version does"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_a_newer_version_is_an_error_and_not_the_end() {
        assert_eq!(ErasureStep::parse("rest").unwrap(), ErasureStep::Rest);
        for unknown in ["thumbnails", "done", ""] {
            assert!(ErasureStep::parse(unknown).is_err(), "{unknown}");
        }
    }
}
