//! `GET /conversations` (specification 4.2): the list, with every filter.
//! Filters combine with AND; the limit cuts after them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Nothing, Operation, Spec};
use crate::wire;
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::db::Reading;
use rookery_core::conversations::filter::{Assigned, ConversationCursor, ConversationFilter, View};
use rookery_core::conversations::list::{self};
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::narrowing::Narrowing;
use rookery_core::conversations::search::pending::Searched;
use rookery_core::conversations::search::query::Query;
use rookery_core::conversations::search::sought::SoughtWords;
use rookery_core::conversations::views::tagged;
use rookery_core::workspace::mailboxes;

pub struct ListConversations;

#[derive(Deserialize, JsonSchema)]
pub struct ListConversationsInput {
    /// Which conversations: by status, or those that are snoozed. `all` needs `reference`. Without it: what `is:` in `q` says, or `open`.
    view: Option<ViewName>,
    /// Only this inbox.
    mailbox: Option<String>,
    /// Whole words that must all occur in the subject, the names, the addresses or the text of the mail.
    /// Searches inside the chosen view. `from:`, `to:`, `tag:`, `before:2026-01-31`, `after:2026-01-01`, `has:attachment`,
    /// `is:closed`, `in:help@acme.example` and `assigned:me` narrow it; in quotes they are words.
    #[schemars(length(max = 200))]
    q: Option<String>,
    /// `me`: assigned to this agent. `unassigned`: to nobody.
    assigned: Option<AssignedName>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Only conversations with this app reference, in any letter case.
    #[schemars(length(max = 40))]
    reference: Option<String>,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum ViewName {
    #[default]
    Open,
    Waiting,
    Snoozed,
    Closed,
    All,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum AssignedName {
    Me,
    Unassigned,
}

pub fn default_limit() -> i64 {
    25
}

impl Operation for ListConversations {
    const SPEC: Spec = Spec {
        title: "List conversations",
        about: "Conversations this key can see, newest first. Narrow the list with the parameters; the cursor of an answer leads to what comes next.",
        ..Spec::read("list_conversations", "/conversations")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = ListConversationsInput;
    type Output = Vec<wire::ConversationSummary>;

    async fn run(
        call: &mut Call<'_, Reading>,
        _: Nothing,
        input: ListConversationsInput,
    ) -> Result<Self::Output> {
        let (actor, now) = (call.actor, call.now());
        let mailbox = match &input.mailbox {
            Some(id) => Some(mailboxes::find_visible(&mut call.db, actor, id).await?.id),
            None => None,
        };
        let query = input.q.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let reference = input.reference.map(|reference| reference.trim().to_lowercase());
        let view = input.view.unwrap_or_default();
        let asked = (view, mailbox.map(|id| id.0), query, input.assigned, &reference);
        let asked = ListQuery::new(Self::SPEC.name, asked)?;
        let cursor: Option<ConversationCursor> = asked.place(input.cursor.as_deref())?;
        let query = Query::read(query.unwrap_or_default())?;
        if let (Some(chosen), Some(typed)) = (input.view.map(View::from), query.status)
            && chosen != View::All
            && chosen != typed
        {
            return Err(Error::problem("view", "is not what is: in q says. Leave one of them out"));
        }
        let Some(typed) = Narrowing::look_up(&mut call.db, actor, &query).await? else {
            return Ok(Vec::new());
        };
        let words = query.hashes(actor.workspace);
        if words.is_some() {
            index::catch_up(call.app, &mut call.db, Searched::Mail).await;
        }
        let before = [cursor, query.place()].into_iter().flatten().min_by_key(|place| (place.at, place.id));
        let filter = ConversationFilter {
            view: view.into(),
            mailbox,
            assigned: input.assigned.map(|assigned| match assigned {
                AssignedName::Me => Assigned::To(actor.member),
                AssignedName::Unassigned => Assigned::ToNobody,
            }),
            reference,
            words: words.map(SoughtWords::from),
            before,
            since: query.since(),
            // One more tells whether there is a next page.
            limit: input.limit + 1,
        };
        let Some(filter) = typed.narrow(filter, input.view.map(View::from)) else { return Ok(Vec::new()) };
        if !typed.tags.is_empty() {
            let filter = ConversationFilter { limit: input.limit, ..filter };
            let (found, next) = tagged::page_of(&mut call.db, actor, now, &filter, &typed.tags).await?;
            call.next = next.map(|place| asked.cursor(place));
            let page = list::these(&mut call.db, actor, now, &found).await?;
            return Ok(page.into_iter().map(wire::ConversationSummary::from).collect());
        }
        let mut page = list::list(&mut call.db, actor, now, &filter).await?;
        if page.len() as i64 > input.limit {
            page.truncate(input.limit as usize);
            call.next = page
                .last()
                .map(|last| asked.cursor(ConversationCursor { at: last.last_message_at, id: last.id }));
        }
        Ok(page.into_iter().map(wire::ConversationSummary::from).collect())
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        if given.get("view").is_some_and(|view| view == "all") && !given.contains_key("reference") {
            vec![Problem { field: "view".into(), what: "all needs reference".into() }]
        } else {
            Vec::new()
        }
    }
}

impl From<ViewName> for View {
    fn from(name: ViewName) -> Self {
        match name {
            ViewName::Open => Self::Open,
            ViewName::Waiting => Self::Waiting,
            ViewName::Snoozed => Self::Snoozed,
            ViewName::Closed => Self::Closed,
            ViewName::All => Self::All,
        }
    }
}
