//! `GET /conversations/{id}` (specification 4.3): one conversation, whole, as of one instant.
//! Reading changes nothing and leaves no trace that others could see.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Operation, Spec};
use crate::wire;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::db::Snapshot;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::read;

pub struct GetConversation;

#[derive(Deserialize, JsonSchema)]
pub struct GetConversationInput {
    /// `earlier` of an answer before: the timeline then has the items before those.
    #[schemars(regex(pattern = r"^[0-9]{1,17}\.[0-9]{1,9}$"))]
    #[schemars(extend("x-says" = "must be `earlier` of an earlier answer"))]
    before: Option<String>,
    /// Of an earlier answer: the same as `before`, in the form that lists have.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

impl Operation for GetConversation {
    const SPEC: Spec = Spec {
        title: "Read a conversation",
        about: "The whole conversation: its timeline of messages, notes and events, oldest first, and the team it can be assigned to. A long timeline has its newest items; `earlier` leads to the others.",
        ..Spec::read("get_conversation", "/conversations/{id}")
    };
    type Db = Snapshot;
    type Target = Conversation;
    type Input = GetConversationInput;
    type Output = wire::Conversation;

    async fn run(
        call: &mut Call<'_, Snapshot>,
        conversation: Conversation,
        input: GetConversationInput,
    ) -> Result<Self::Output> {
        let before = input.before.map(|before| {
            before.parse().map_err(|_| Error::problem("before", "must be `earlier` of an earlier answer"))
        });
        let asked = ListQuery::new(Self::SPEC.name, conversation.id)?;
        let before = before.transpose()?.or(asked.place(input.cursor.as_deref())?);
        let whole = read::whole(&mut call.db, conversation, before).await?;
        call.next = whole.timeline.earlier.map(|earlier| asked.cursor(earlier));
        Ok(whole.into())
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        if given.contains_key("before") && given.contains_key(cursor::NAME) {
            vec![Problem { field: cursor::NAME.into(), what: "cannot be given with before".into() }]
        } else {
            Vec::new()
        }
    }
}
