//! `POST /conversations/{id}/tags` (specification 4.6): adds and removes tags.
//! Unknown names are made; a name in both lists ends up present.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::input::NOT_BLANK;
use crate::api::operation::{Call, Operation, Spec};
use crate::api::operations::Done;
use crate::conversations::conversation::Locked;
use crate::conversations::ruled::tagging;
use crate::conversations::tags;
use crate::error::{Problem, Result};
use crate::store::db::Tx;

pub struct TagConversation;

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    #[serde(default)]
    #[schemars(length(max = 10))]
    add: Vec<Name>,
    #[serde(default)]
    #[schemars(length(max = 10))]
    remove: Vec<Name>,
}

/// A tag's name.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Name(#[schemars(length(max = 40), regex(pattern = NOT_BLANK))] String);

pub(super) fn names(list: Vec<Name>) -> Vec<String> {
    list.into_iter().map(|Name(name)| name).collect()
}

impl Operation for TagConversation {
    const SPEC: Spec = Spec {
        title: "Tag a conversation",
        about: "Adds and removes tags. Unknown names are made. Letter case and outer spaces do not make another tag.",
        ..Spec::write("tag_conversation", "/conversations/{id}/tags")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = Input;
    type Output = Done;

    async fn run(call: &mut Call<'_, Tx<'static>>, conversation: Locked, input: Input) -> Result<Done> {
        let (add, remove) = (names(input.add), names(input.remove));
        tagging::change(&mut call.db, &conversation, call.actor, &add, &remove).await?;
        Ok(Done::ok())
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
