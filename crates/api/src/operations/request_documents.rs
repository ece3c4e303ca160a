//! `POST /conversations/{id}/document-requests` (specification 4.9): asks the customer for documents on a
//! private page with a checklist.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{AskedItem, WrittenMessage};
use crate::operation::{Call, Needs, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_product::documents::request::RequestForm;
use rookery_product::replies::write::ask;

pub struct RequestDocuments;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestDocumentsInput {
    #[schemars(length(min = 1, max = 20))]
    documents: Vec<AskedItem>,
    /// A short note above the checklist.
    #[schemars(length(max = 5_000))]
    message: Option<String>,
    /// A date such as 2031-05-09. It is shown, not enforced.
    due_date: Option<NaiveDate>,
    /// The language of the checklist, of reminders and of the customer's page. If omitted, the language of
    /// this customer's last request; if there is none, the email is in English and the page uses the browser's language.
    language: Option<Language>,
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
        irrevocable: true,
        ..Spec::write("request_documents", "/conversations/{id}/document-requests")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = RequestDocumentsInput;
    type Output = WrittenMessage;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: RequestDocumentsInput,
    ) -> Result<WrittenMessage> {
        let items = input.documents.into_iter().map(AskedItem::stored).collect();
        let asked = RequestForm { items, due: input.due_date, language: input.language };
        let message = input.message.as_deref();
        let written =
            ask(call.app, &mut call.db, &conversation, call.actor, asked, message, input.send).await?;
        call.show_mail(written.message).await?;
        Ok(WrittenMessage::from(written))
    }
}
