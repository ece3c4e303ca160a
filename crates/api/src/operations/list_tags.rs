//! `GET /tags` (specification 4.11): all tags with their counts.
//! A count covers only conversations the key can see.

use schemars::JsonSchema;
use serde::Serialize;

use super::NoInput;
use crate::operation::{Call, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::ids::TagId;
use rookery_base::store::db::Reading;
use rookery_core::conversations::tags;

pub struct ListTags;

#[derive(Serialize, JsonSchema)]
pub struct Tag {
    id: TagId,
    name: String,
    /// Conversations this key can see that have the tag.
    count: i64,
}

impl Operation for ListTags {
    const SPEC: Spec = Spec {
        title: "List tags",
        about: "Every tag, with the number of conversations that have it.",
        ..Spec::read("list_tags", "/tags")
    };
    type Db = Reading;
    type Target = Nothing;
    type Input = NoInput;
    type Output = Vec<Tag>;

    async fn run(call: &mut Call<'_, Reading>, _: Nothing, _: NoInput) -> Result<Vec<Tag>> {
        let tags = tags::list(&mut call.db, call.actor).await?;
        Ok(tags.into_iter().map(|tag| Tag { id: tag.id, name: tag.name, count: tag.count }).collect())
    }
}
