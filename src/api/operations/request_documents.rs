//! `POST /conversations/{id}/document-requests` (specification 4.9): asks the customer for documents on a
//! private page with a checklist.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{AskedItem, Written};
use crate::api::operation::{Call, Needs, Operation, Spec};
use crate::conversations::conversation::Locked;
use crate::db::Tx;
use crate::documents::request::Asked;
use crate::error::{Problem, Result};
use crate::replies::write::{NewReply, write};

pub struct RequestDocuments;

/// What stands above the checklist when the caller writes nothing.
const POLITE: &str = "Hello,\n\nplease send us the documents listed below. Thank you!";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    #[schemars(length(min = 1, max = 20))]
    documents: Vec<AskedItem>,
    /// A short note above the checklist.
    #[schemars(length(max = 5_000))]
    message: Option<String>,
    /// A date such as 2031-05-09. It is shown, not enforced.
    #[schemars(regex(pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), extend("x-says" = "must be a date such as 2031-05-09"))]
    due_date: Option<String>,
    /// False makes a draft that waits for a person. True sends after the undo window and needs the `send` scope.
    #[serde(default)]
    send: bool,
}

impl Operation for RequestDocuments {
    const SPEC: Spec = Spec {
        title: "Ask for documents",
        about: "Asks the customer for documents. They upload them on a private page; reminders follow on days 2, 4 and 7.",
        needs: Needs::DraftOrSend,
        status: 201,
        repeatable: false,
        reaches_out: true,
        ..Spec::write("request_documents", "/conversations/{id}/document-requests")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = Input;
    type Output = Written;

    async fn run(call: &mut Call<'_, Tx<'static>>, conversation: Locked, input: Input) -> Result<Written> {
        let items = input.documents.into_iter().map(AskedItem::stored).collect();
        let due = input.due_date.as_deref().and_then(a_date);
        let message = input.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
        let reply = NewReply {
            body: message.unwrap_or(POLITE),
            summary: None,
            asks: Some(Asked { items, due }),
            send: input.send,
        };
        let written = write(call.app, &mut call.db, &conversation, call.actor, reply).await?;
        Ok(Written::from(written))
    }

    /// The form is the schema's; whether there is such a day is not.
    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        match given.get("dueDate").and_then(Value::as_str).is_some_and(|text| a_date(text).is_none()) {
            true => {
                vec![Problem { field: "dueDate".into(), what: "must be a date such as 2031-05-09".into() }]
            }
            false => Vec::new(),
        }
    }
}

fn a_date(text: &str) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| text.len() == 10)
}
