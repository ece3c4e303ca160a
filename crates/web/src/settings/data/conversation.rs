//! Deleting one conversation: the question, with what it would take, and then doing it.
//! Only what the owner or admin can see; a hold answers with 409.

use askama::Template;
use axum::response::Response;

use crate::bulk::asked_action::{path_in, where_from};
use crate::inbox::reading::list_path;
use crate::respond;
use crate::settings::data::PATH;
use crate::settings::data::show::{TypedDataForms, refused};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::ConversationId;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::keeping::holds;
use rookery_upkeep::erasures::conversation::delete;

#[derive(Template)]
#[template(path = "settings/data/conversation.html")]
struct ConversationPage {
    shell: Shell,
    page: &'static str,
    id: ConversationId,
    subject: String,
    contact: String,
    messages: i64,
    holds: Vec<String>,
    /// Where one goes on when it is deleted, and where when it is not.
    onward: String,
    back: String,
}

/// `GET /settings/data/conversation?id=cnv_…`
pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let id = asked.query("id").unwrap_or_default().trim().to_owned();
    let mut reading = asked.reading().await?;
    let now = asked.times().now;
    let found = match find_visible(&mut reading, &asked.person, now, &id).await {
        Err(Error::Missing(_)) => {
            drop(reading);
            let error = Error::problem("conversation", "none that you can see has this id");
            return refused(
                &asked,
                TypedDataForms { conversation: id, ..TypedDataForms::default() },
                "conversation",
                error,
            )
            .await;
        }
        found => found?,
    };
    let holds = holds::on(&mut reading, asked.person.workspace, found.id).await?;
    let messages = sqlx::query_scalar!(
        r#"select count(*) as "n!" from messages where workspace_id = $1 and conversation_id = $2"#,
        asked.person.workspace.0,
        found.id.0
    )
    .fetch_one(&mut *reading)
    .await?;
    let shell = Shell::frame(&asked, Here::Settings);
    // Whoever comes from the conversation goes on in its list.
    let from = where_from(&asked).filter(|from| from.starts_with("/conversations/"));
    let list = from.as_deref().map(|from| list_path(from.split_once('?').map_or("", |(_, query)| query)));
    respond::page(&ConversationPage {
        onward: list.unwrap_or_else(|| PATH.to_owned()),
        back: from.unwrap_or_else(|| PATH.to_owned()),
        shell,
        page: PATH,
        id: found.id,
        contact: found.contact.name.clone().or(found.contact.email.clone()).unwrap_or_default(),
        messages,
        subject: found.subject.clone(),
        holds,
    })
}

/// `POST /settings/data/conversation`
pub async fn erase(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    delete(&mut tx, &asked.person, form.text("id")?).await?;
    tx.commit().await?;
    let onward = path_in(&form, "onward").unwrap_or(PATH);
    Ok(respond::see_other_with(onward, Toast::new(Done::ConversationDeleted, "")))
}
