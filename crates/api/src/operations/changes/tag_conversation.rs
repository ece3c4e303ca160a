//! `POST /conversations/{id}/tags` (specification 4.6): adds and removes tags.
//! Unknown names are made; a name in both lists ends up present.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::input::NOT_BLANK;
use crate::operation::{Call, Operation, Spec};
use crate::operations::OkOutput;
use rookery_base::error::{Problem, Result};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_core::conversations::ruled::tagging;
use rookery_core::conversations::tags;

pub struct TagConversation;

#[derive(Deserialize, JsonSchema)]
pub struct TagConversationInput {
    #[serde(default)]
    #[schemars(length(max = 10))]
    add: Vec<TagName>,
    #[serde(default)]
    #[schemars(length(max = 10))]
    remove: Vec<TagName>,
}

/// A tag's name.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TagName(#[schemars(length(max = 40), regex(pattern = NOT_BLANK))] String);

pub(super) fn names(list: Vec<TagName>) -> Vec<String> {
    list.into_iter().map(|TagName(name)| name).collect()
}

impl Operation for TagConversation {
    const SPEC: Spec = Spec {
        title: "Tag a conversation",
        about: "Adds and removes tags. Unknown names are made. Letter case and outer spaces do not make another tag.",
        ..Spec::write("tag_conversation", "/conversations/{id}/tags")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = TagConversationInput;
    type Output = OkOutput;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: TagConversationInput,
    ) -> Result<OkOutput> {
        let (add, remove) = (names(input.add), names(input.remove));
        tagging::change(&mut call.db, &conversation, call.actor, &add, &remove).await?;
        Ok(OkOutput::ok())
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        too_long(given)
    }
}

/// A name may grow when it is brought to its stored form, and is measured in that form too.
pub(super) fn too_long(given: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for list in ["add", "remove"] {
        let names = given.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, name) in names.iter().enumerate() {
            if name.as_str().is_some_and(|name| tags::spelling(name).chars().count() > tags::LONGEST_NAME) {
                let what = format!("must be at most {} characters", tags::LONGEST_NAME);
                problems.push(Problem { field: format!("{list}[{index}]"), what });
            }
        }
    }
    problems
}
