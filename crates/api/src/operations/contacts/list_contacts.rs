//! `GET /contacts`: whoever has a conversation in an inbox that the key can see, and nobody else. Narrowed by an address or by
//! words, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cursor::{self, ListQuery};
use crate::operation::{Call, Nothing, Operation, Spec};
use crate::operations::list_conversations::default_limit;
use rookery_base::error::Result;
use rookery_base::ids::ContactId;
use rookery_base::search_terms;
use rookery_base::store::db::Reading;
use rookery_core::conversations::contacts::{self, ContactFilter};
use rookery_core::conversations::search::index;
use rookery_core::conversations::search::pending::Searched;

pub struct ListContacts;

#[derive(Deserialize, JsonSchema)]
pub struct ListContactsInput {
    /// Only the contact with this address.
    #[schemars(length(max = 254))]
    email: Option<String>,
    /// Whole words that must all occur in the name or the address.
    #[schemars(length(max = 200))]
    q: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: i64,
    /// Of an earlier answer with the same parameters: the list goes on where that one ended. Only `limit` may differ.
    #[schemars(regex(pattern = cursor::PATTERN), extend("x-says" = cursor::NOT_ONE))]
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct KnownContact {
    pub(super) id: ContactId,
    pub(super) email: String,
    /// As they last called themselves.
    pub(super) name: Option<String>,
}

impl Operation for ListContacts {
    const SPEC: Spec = Spec {
        title: "List contacts",
        about: "People who have a conversation in an inbox that this key can see, those first who came last. Narrow the list by an address or by words of name and address.",
        ..Spec::read("list_contacts", "/contacts")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = ListContactsInput;
    type Output = Vec<KnownContact>;

    async fn run(
        call: &mut Call<'_, Reading>,
        _: Nothing,
        input: ListContactsInput,
    ) -> Result<Vec<KnownContact>> {
        let email = input.email.map(|email| email.trim().to_lowercase()).filter(|email| !email.is_empty());
        let query = input.q.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let asked = ListQuery::new(Self::SPEC.name, (&email, query))?;
        let before = asked.place(input.cursor.as_deref())?;
        if query.is_some() {
            index::catch_up(call.app, &mut call.db, Searched::Contacts).await;
        }
        let words = query.map(|query| search_terms::hash_query(call.actor.workspace, query));
        // One more tells whether there is a next page.
        let filter = ContactFilter { email, words, before, limit: input.limit + 1 };
        let mut page = contacts::list(&mut call.db, call.actor, &filter).await?;
        if page.len() as i64 > input.limit {
            page.truncate(input.limit as usize);
            call.next = page.last().map(|last| asked.cursor(last.since));
        }
        Ok(page.into_iter().map(KnownContact::from).collect())
    }
}

impl From<contacts::ListedContact> for KnownContact {
    fn from(contact: contacts::ListedContact) -> Self {
        Self { id: contact.id, email: contact.email, name: contact.name }
    }
}
