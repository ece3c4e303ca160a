//! `POST /sandbox/document-requests/{id}/decisions`: what a person of the team makes of a request for documents, simulated.
//! The app shows people nothing of the sandbox; the specification has no such endpoint, so it changes nothing there.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::operation::{Call, Needs, Operation, PathSubject, Spec};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{DocumentRequestId, MessageId, RequestItemId};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::Scope;
use rookery_core::workspace::people;
use rookery_product::documents::items::{self, ItemRefusal};
use rookery_product::documents::uploads::decide::{self, Decision};
use rookery_product::documents::uploads::locked::{self, Request};
use rookery_product::replies::ask_again::{self, MOST_WORDS};

pub struct SimulateDecision;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulateDecisionInput {
    decision: DecisionName,
    /// Which document of the checklist, from 1. For all but `extend` and `cancel`.
    #[schemars(range(min = 1, max = 20))]
    item: Option<usize>,
    /// Why the customer is asked again; `unreadable` when left out.
    reason: Option<ReasonName>,
    /// What is added to the mail that asks again.
    #[schemars(length(max = MOST_WORDS))]
    message: Option<String>,
    /// With `extend`: the day it is due, such as 2031-05-09. None when left out.
    due_date: Option<NaiveDate>,
    /// With `extend`: the last day of the link, within a year.
    link_ends: Option<NaiveDate>,
}

/// `tick-off`: it came another way. `put-back` undoes a decision.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum DecisionName {
    TickOff,
    Accept,
    AskAgain,
    PutBack,
    Extend,
    Cancel,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReasonName {
    Unreadable,
    Incomplete,
    Wrong,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidedRequest {
    request_id: DocumentRequestId,
    /// `open`, `completed`, `cancelled` or `expired`.
    state: &'static str,
    documents: Vec<RequestedDocument>,
    /// The mail that asks again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MessageId")]
    message_id: Option<MessageId>,
}

#[derive(Serialize, JsonSchema)]
struct RequestedDocument {
    label: String,
    required: bool,
    /// `open`, `received`, `accepted`, `refused` or `ticked`.
    state: &'static str,
}

impl Operation for SimulateDecision {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Simulate a decision on documents",
        about: "Test keys only. Does what a person of the team does with a request: tick off, accept, ask again, put back, extend, cancel.",
        names: PathSubject::DocumentRequest,
        needs: Needs::TestKey(Scope::Write),
        repeatable: false,
        ..Spec::write("simulate_decision", "/sandbox/document-requests/{id}/decisions")
    };
    type Db = Tx<'static>;
    type Target = Request;
    type Input = SimulateDecisionInput;
    type Output = DecidedRequest;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        request: Request,
        input: SimulateDecisionInput,
    ) -> Result<DecidedRequest> {
        let (tx, id) = (&mut call.db, request.id);
        let person = people::simulated(tx, call.actor).await?;
        let item = item_of(tx, id, input.item).await?;
        let mut message_id = None;
        // The API has no 409: what is in the way of a decision is a problem of it.
        let refused = |error| match error {
            Error::Conflict(sentence) => Error::problem("decision", sentence),
            other => other,
        };
        match (input.decision, item) {
            (DecisionName::AskAgain, Some(item)) => {
                let words = input.message.as_deref().unwrap_or_default();
                let why = input.reason.map_or(ItemRefusal::Unreadable, ReasonName::why);
                let asking = ask_again::ask_again(call.app, tx, &person, id, item, why, words)
                    .await
                    .map_err(refused)?;
                message_id = Some(asking.message);
            }
            (DecisionName::TickOff, Some(item)) => {
                decide::decide(tx, &person, id, item, Decision::Tick).await.map_err(refused)?;
            }
            (DecisionName::Accept, Some(item)) => {
                decide::decide(tx, &person, id, item, Decision::Accept).await.map_err(refused)?;
            }
            (DecisionName::PutBack, Some(item)) => {
                decide::decide(tx, &person, id, item, Decision::TakeBack).await.map_err(refused)?;
            }
            (DecisionName::Extend, _) => {
                let ends = input.link_ends.ok_or_else(|| Error::problem("linkEnds", "is required"))?;
                decide::extend(tx, &person, id, input.due_date, ends).await.map_err(refused)?;
            }
            (DecisionName::Cancel, _) => {
                decide::cancel(tx, &person, id).await.map_err(refused)?;
            }
            (_, None) => return Err(Error::problem("item", "is not one of the checklist")),
        }
        let state = locked::visible(tx, call.actor, id).await?.state;
        let documents =
            items::load(tx, call.actor.workspace, id).await?.into_iter().map(|listed| RequestedDocument {
                label: listed.item.label,
                required: listed.item.required,
                state: listed.state.as_str(),
            });
        Ok(DecidedRequest {
            request_id: id,
            state: state.as_str(),
            documents: documents.collect(),
            message_id,
        })
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        let decision = given.get("decision").and_then(Value::as_str);
        let needed = match decision {
            Some("tick-off" | "accept" | "ask-again" | "put-back") => "item",
            Some("extend") => "linkEnds",
            _ => return Vec::new(),
        };
        match given.get(needed) {
            None | Some(Value::Null) => vec![Problem { field: needed.into(), what: "is required".into() }],
            Some(_) => Vec::new(),
        }
    }
}

async fn item_of(
    tx: &mut Tx<'_>,
    request: DocumentRequestId,
    place: Option<usize>,
) -> Result<Option<RequestItemId>> {
    let Some(place) = place else { return Ok(None) };
    let workspace = tx.workspace();
    let listed = items::load(tx, workspace, request).await?;
    Ok(listed.get(place.saturating_sub(1)).map(|listed| listed.id))
}

impl ReasonName {
    fn why(self) -> ItemRefusal {
        match self {
            Self::Unreadable => ItemRefusal::Unreadable,
            Self::Incomplete => ItemRefusal::Incomplete,
            Self::Wrong => ItemRefusal::Wrong,
        }
    }
}
