//! `POST /conversations/{id}/replies` (specification 4.8): a draft for a person to approve, or, with the
//! `send` scope and `send: true`, a message that leaves after the undo window.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{AskedItem, WrittenMessage};
use crate::attached::{self, AttachedFile};
use crate::input::NOT_BLANK;
use crate::operation::{Call, Needs, Operation, Spec};
use rookery_base::error::{Problem, Result};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Locked;
use rookery_product::documents::request::RequestForm;
use rookery_product::replies::upload;
use rookery_product::replies::write::{NewReply, write};

pub struct Reply;

#[derive(Deserialize, JsonSchema)]
pub struct ReplyInput {
    /// Plain text.
    #[schemars(length(max = 50_000), regex(pattern = NOT_BLANK))]
    body: String,
    /// False makes a draft that waits for a person. True sends after the undo window and needs the `send` scope.
    #[serde(default)]
    send: bool,
    /// One line for the person who approves it. The customer does not see it.
    #[schemars(length(max = 500))]
    summary: Option<String>,
    /// Documents to ask for. A private upload link and a checklist are added under the reply: do not write
    /// the link yourself.
    #[serde(default)]
    #[schemars(length(max = 20))]
    documents: Vec<AskedItem>,
    /// Files that go with it, 18 MB together. The person who approves a draft sees them.
    #[serde(default)]
    #[schemars(length(max = upload::MOST_FILES))]
    attachments: Vec<AttachedFile>,
}

impl Operation for Reply {
    const SPEC: Spec = Spec {
        title: "Reply",
        about: "Writes a reply to the customer. By default it is a draft that a person has to approve.",
        needs: Needs::DraftOrSend,
        status: 201,
        repeatable: false,
        reaches_out: true,
        irrevocable: true,
        most_body_bytes: attached::MOST_BODY_BYTES,
        ..Spec::write("reply", "/conversations/{id}/replies")
    };
    type Db = Tx<'static>;
    type Target = Locked;
    type Input = ReplyInput;
    type Output = WrittenMessage;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        conversation: Locked,
        input: ReplyInput,
    ) -> Result<WrittenMessage> {
        let items: Vec<_> = input.documents.into_iter().map(AskedItem::stored).collect();
        let reply = NewReply {
            body: &input.body,
            summary: input.summary.as_deref(),
            asks: (!items.is_empty()).then_some(RequestForm { items, due: None, language: None }),
            send: input.send,
        };
        let files = std::mem::take(&mut call.brought);
        let written = write(call.app, &mut call.db, &conversation, call.actor, reply, files).await?;
        call.show_mail(written.message).await?;
        Ok(WrittenMessage::from(written))
    }

    fn files(input: &ReplyInput) -> &[AttachedFile] {
        &input.attachments
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        attached::problems(given)
    }
}
