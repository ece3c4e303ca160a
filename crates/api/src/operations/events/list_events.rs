//! `GET /events`: what happened, as webhooks are told it, for whoever asks instead of being called. The cursor is one number,
//! and what it leads to is whole: nothing appears before it later (docs/decisions/feed.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::follow_sandbox::Body;
use super::waiting::EventWait;
use crate::operation::{Call, Nothing, Operation, Spec};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::db::NoConnection;
use rookery_core::events::event::Kind;
use rookery_core::events::feed;

const NOT_ONE: &str = "must be `next` of an earlier answer, or 0";
/// Characters of `types`: more than all of them have.
const LONGEST: usize = 300;
/// Pages without a hit that one request looks through when it need not wait.
const MOST_PAGES: usize = 10;

pub struct ListEvents;

#[derive(Deserialize, JsonSchema)]
pub struct ListEventsInput {
    /// `next` of the answer before; 0 begins with the oldest that is kept. Without it the answer is empty and says where to begin.
    #[schemars(regex(pattern = r"^[0-9]{1,19}$"), extend("x-says" = NOT_ONE))]
    after: Option<String>,
    /// Only events of these types, separated by commas: `client.replied,message.sent`.
    #[schemars(length(max = LONGEST))]
    types: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Seconds to wait for something to happen when nothing has.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    wait: u64,
}

fn default_limit() -> i64 {
    100
}

#[derive(Serialize, JsonSchema)]
pub struct EventPage {
    /// Events as webhooks get them, in the order in which they can be read.
    events: Vec<Body>,
    /// Give this as `after` the next time.
    next: String,
}

impl Operation for ListEvents {
    const SPEC: Spec = Spec {
        waits: true,
        title: "List events",
        about: "What happened in the inboxes this key can see, in one order, for 30 days. Give `next` as `after` of the next call; `wait` keeps the call open until something happens.",
        ..Spec::read("list_events", "/events")
    };
    type Db = NoConnection;
    type Target = Nothing;
    type Input = ListEventsInput;
    type Output = EventPage;

    async fn run(call: &mut Call<'_, NoConnection>, _: Nothing, input: ListEventsInput) -> Result<EventPage> {
        let (app, actor) = (call.app, call.actor);
        let Some(after) = input.after else {
            let mut conn = app.connection_of(actor.workspace).await?;
            let next = feed::head(&mut conn, actor, app.clock.now()).await?;
            return Ok(EventPage { events: Vec::new(), next: next.to_string() });
        };
        let mut number: i64 = after.parse().map_err(|_| Error::problem("after", NOT_ONE))?;
        let kinds: Option<Vec<String>> =
            input.types.as_deref().map(|types| names(types).map(str::to_owned).collect());
        let (mut waiting, mut pages) = (EventWait::begin(app, actor.workspace, input.wait), 0);
        loop {
            // No connection is held while waiting.
            let mut conn = app.connection_of(actor.workspace).await?;
            let page =
                feed::after(&mut conn, actor, number, kinds.as_deref(), input.limit, app.clock.now()).await?;
            drop(conn);
            (number, pages) = (page.next, pages + 1);
            if page.bodies.is_empty() && page.cut && pages < MOST_PAGES {
                continue;
            }
            if !page.bodies.is_empty() || page.cut || waiting.is_over() {
                let events = page.bodies.into_iter().map(|body| RawValue::from_string(body).map(Body));
                return Ok(EventPage { events: events.collect::<Result<_, _>>()?, next: number.to_string() });
            }
            pages = 0;
            waiting.pause().await?;
        }
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        let Some(types) = given.get("types").and_then(Value::as_str) else { return Vec::new() };
        // What is too long is told by the schema.
        if types.chars().count() > LONGEST || names(types).all(|name| Kind::NAMES.contains(&name)) {
            Vec::new()
        } else {
            let what = format!("must be some of {}, separated by commas", Kind::NAMES.join(", "));
            vec![Problem { field: "types".into(), what }]
        }
    }
}

fn names(types: &str) -> impl Iterator<Item = &str> {
    types.split(',').map(str::trim)
}
