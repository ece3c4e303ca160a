//! `POST /conversations/changes`: what set_status, tag_conversation and assign_conversation do, to up to 100 conversations,
//! with a result for each (docs/decisions/many-by-the-api.md). An id that leads nowhere is one result, and never an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::assign_conversation::{TO_PATTERN, TO_SAYS};
use super::set_status::StatusName;
use super::tag_conversation::{TagName, names, too_long};
use crate::operation::{Call, MOST_AT_ONCE, Nothing, Operation, Spec};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::db::Tx;
use rookery_core::conversations::assign::not_on_the_team;
use rookery_core::conversations::bulk::at_once::{self, WantedChanges};

pub struct ChangeConversations;

#[derive(Deserialize, JsonSchema)]
pub struct ChangeConversationsInput {
    /// The conversations' ids, `cnv_…`.
    #[schemars(length(min = 1, max = MOST_AT_ONCE))]
    ids: Vec<GivenId>,
    /// `waiting` is waiting on the customer.
    status: Option<StatusName>,
    /// Tags to put on.
    #[serde(default)]
    #[schemars(length(max = 10))]
    add: Vec<TagName>,
    /// Tags to take away.
    #[serde(default)]
    #[schemars(length(max = 10))]
    remove: Vec<TagName>,
    /// `user:usr_…` or `agent:agt_…` from the conversations' `team`, `me`, or `none`.
    #[schemars(length(max = 80), regex(pattern = TO_PATTERN), extend("x-says" = TO_SAYS))]
    to: Option<String>,
}

/// A conversation's id. One that is none gets the result of one that does not exist.
#[derive(Deserialize, JsonSchema)]
struct GivenId(#[schemars(length(max = 80))] String);

#[derive(Serialize, JsonSchema)]
pub struct Changed {
    /// One for each id, in the order of the ids.
    results: Vec<ChangeResult>,
}

/// What came of one conversation.
#[derive(Serialize, JsonSchema)]
struct ChangeResult {
    /// As it was given.
    id: String,
    /// It is as was asked for. Otherwise nothing of it was changed.
    ok: bool,
    /// Why not: the status that a call for this one alone would have had.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16")]
    status: Option<u16>,
    /// Why not, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    error: Option<String>,
}

impl Operation for ChangeConversations {
    const SPEC: Spec = Spec {
        title: "Change many conversations",
        about: "Sets the status, adds and removes tags and assigns, for up to 100 conversations at once. Each has a result of its own: one that cannot be changed stops no other. Every ten ids count as a request.",
        many: Some("ids"),
        ..Spec::write("change_conversations", "/conversations/changes")
    };
    type Db = Tx<'static>;
    type Target = Nothing;
    type Input = ChangeConversationsInput;
    type Output = Changed;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        _: Nothing,
        input: ChangeConversationsInput,
    ) -> Result<Changed> {
        let ids: Vec<String> = input.ids.into_iter().map(|GivenId(id)| id).collect();
        let to = input.to.map(|to| to.parse().map_err(|_| not_on_the_team())).transpose()?;
        let status = input.status.map(Into::into);
        let wanted = WantedChanges { add: names(input.add), remove: names(input.remove), to, status };
        let outcomes = at_once::change(&mut call.db, call.actor, &ids, &wanted).await?;
        let each = ids.into_iter().zip(outcomes).map(|(id, outcome)| ChangeResult::from_change(id, outcome));
        Ok(Changed { results: each.collect() })
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        let mut problems = too_long(given);
        if !["status", "add", "remove", "to"].iter().any(|field| given.contains_key(*field)) {
            let what = "is required, or one of add, remove and to".to_owned();
            problems.push(Problem { field: "status".into(), what });
        }
        problems
    }
}

impl ChangeResult {
    fn from_change(id: String, outcome: Result<()>) -> Self {
        let refused = outcome.err();
        Self {
            id,
            ok: refused.is_none(),
            status: refused.as_ref().map(Error::status),
            error: refused.as_ref().map(Error::sentence),
        }
    }
}
