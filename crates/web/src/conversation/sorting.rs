//! Topic and urgency of a conversation: what was said, by whom and when, and a person's own word, which stands.
//! `POST /conversations/cnv_…/sort` takes one of the two.

use axum::response::Response;
use sqlx::PgConnection;

use crate::bulk::asked_action::{here, path_in};
use crate::respond;
use crate::show::Times;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_assistants::corrections;
use rookery_assistants::settings;
use rookery_base::error::{Error, Result};
use rookery_base::ids::ConversationId;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::sorting::said::{self, Field, SortingWords, Word};

/// What the two menus show.
pub struct Sorting {
    pub id: ConversationId,
    pub said: SortingWords,
    pub topics: Vec<String>,
    pub times: Times,
    pub back: String,
}

impl Sorting {
    pub async fn load(
        conn: &mut PgConnection,
        asked: &MemberRequest,
        conversation: &Conversation,
    ) -> Result<Self> {
        let workspace = asked.person.workspace;
        let topics = settings::load(conn, workspace).await?.topics();
        Ok(Self {
            id: conversation.id,
            said: said::load(conn, workspace, conversation.id).await?,
            topics: topics.into_iter().map(|topic| topic.name).collect(),
            times: asked.times(),
            back: here(asked),
        })
    }

    pub fn is_topic(&self, name: &str) -> bool {
        self.said.topic.value.as_deref() == Some(name)
    }

    pub fn is_urgency(&self, name: &str) -> bool {
        self.said.urgency.value.as_deref() == Some(name)
    }

    pub fn urgencies(&self) -> [&'static str; 3] {
        said::URGENCIES
    }

    /// Who said it and when: "Said by Mia, 3 May, 10:12".
    pub fn describe_author(&self, word: &Word) -> String {
        match (&word.by, word.at) {
            (Some(by), Some(at)) if word.by_person => format!("Said by {by}, {}", self.times.brief(&at)),
            (Some(by), Some(at)) => {
                format!("Sorted by {by}, {}. Your choice is kept.", self.times.brief(&at))
            }
            (None, Some(at)) if word.by_person => {
                format!("Said by somebody who left, {}", self.times.brief(&at))
            }
            _ => "Nobody has said anything yet.".to_owned(),
        }
    }
}

pub async fn correct(asked: MemberRequest) -> Result<Response> {
    let id: ConversationId = asked.id("id")?;
    let form = asked.form().await?;
    let (field, value) = match (form.get("topic"), form.get("urgency")) {
        (Some(topic), None) => (Field::Topic, topic),
        (None, Some(urgency)) => (Field::Urgency, urgency),
        _ => return Err(Error::problem("topic", "is missing what to put there")),
    };
    let mut tx = asked.tx().await?;
    corrections::correct(&mut tx, &asked.person, &id.to_string(), field, value).await?;
    tx.commit().await?;
    let own = format!("/conversations/{id}");
    let next = path_in(&form, "back").unwrap_or(&own);
    Ok(respond::see_other_with(next, Toast::new(Done::Corrected, id)))
}
