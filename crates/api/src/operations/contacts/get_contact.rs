//! `GET /contacts/{id}`: one contact with their conversations, page by page, as of one instant. Hidden ones and those that never
//! were are the same 404.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_contacts::KnownContact;
use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Operation, PathSubject, Spec};
use crate::operations::list_conversations::default_limit;
use crate::wire;
use rookery_base::error::Result;
use rookery_base::store::db::Snapshot;
use rookery_core::conversations::contacts::{self, ListedContact};

pub struct GetContact;

#[derive(Deserialize, JsonSchema)]
pub struct GetContactInput {
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer: the conversations go on where that one ended.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct ContactWithConversations {
    #[serde(flatten)]
    contact: KnownContact,
    /// Those that this key can see, in every status, the one first that began last.
    conversations: Vec<wire::ConversationSummary>,
}

impl Operation for GetContact {
    const SPEC: Spec = Spec {
        title: "Read a contact",
        about: "A contact and their conversations, those first that began last; the cursor of an answer leads to earlier ones.",
        names: PathSubject::Contact,
        ..Spec::read("get_contact", "/contacts/{id}")
    };
    type Db = Snapshot;
    type Target = ListedContact;
    type Input = GetContactInput;
    type Output = ContactWithConversations;

    async fn run(
        call: &mut Call<'_, Snapshot>,
        contact: ListedContact,
        input: GetContactInput,
    ) -> Result<Self::Output> {
        let (actor, now) = (call.actor, call.now());
        let asked = ListQuery::new(Self::SPEC.name, contact.id)?;
        let before = asked.place(input.cursor.as_deref())?;
        // One more tells whether there is a next page.
        let most = input.limit + 1;
        let mut page = contacts::conversations(&mut call.db, actor, now, &contact, before, most).await?;
        if page.len() as i64 > input.limit {
            page.truncate(input.limit as usize);
            call.next = page.last().map(|last| asked.cursor(last.id));
        }
        let conversations = page.into_iter().map(wire::ConversationSummary::from).collect();
        Ok(ContactWithConversations { contact: contact.into(), conversations })
    }
}
