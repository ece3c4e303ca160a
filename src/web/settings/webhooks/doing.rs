//! What is done to a webhook by one press: pause, resume, a test, events chosen anew, an event or all that failed once
//! more. Each leads back to the webhook's page.

use axum::response::Response;

use crate::error::{Error, Result};
use crate::ids::{EventId, WebhookId};
use crate::web::conversation::later;
use crate::web::respond;
use crate::web::settings::webhooks::{PATH, events};
use crate::web::toast::{Done, Toast};
use crate::web::visit::Asked;
use crate::webhooks::redeliver::{Again, MOST_AT_ONCE};
use crate::webhooks::{manage, redeliver, webhook};

pub async fn pause(asked: Asked) -> Result<Response> {
    let id = asked.id("id")?;
    manage::pause(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookPaused).await
}

pub async fn resume(asked: Asked) -> Result<Response> {
    let id = asked.id("id")?;
    manage::resume(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookResumed).await
}

pub async fn test(asked: Asked) -> Result<Response> {
    let id = asked.id("id")?;
    redeliver::send_test(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookTested).await
}

pub async fn choose(asked: Asked) -> Result<Response> {
    let id = asked.id("id")?;
    let kinds = events::read(&*asked.form().await?)?;
    manage::change_events(asked.app(), asked.person.workspace, &asked.person.by(), id, &kinds).await?;
    back(&asked, id, Done::Saved).await
}

pub async fn one_again(asked: Asked) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let form = asked.form().await?;
    let event: EventId = form.parse("event")?.ok_or_else(|| Error::problem("event", "is required"))?;
    redeliver::redeliver(asked.app(), asked.person.workspace, &asked.person.by(), id, event).await?;
    back(&asked, id, Done::Redelivered).await
}

pub async fn failed_again(asked: Asked) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let form = asked.form().await?;
    let since = later::read(&asked.times(), form.text("since")?)
        .ok_or_else(|| Error::problem("Since", "must be a day and a time"))?;
    let again = Again { since, skipped: form.flag("skipped") };
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let done = match redeliver::redeliver_failed(asked.app(), workspace, &by, id, again).await? {
        0 => Done::NothingFailed,
        MOST_AT_ONCE.. => Done::RedeliveredMost,
        _ => Done::RedeliveredMany,
    };
    back(&asked, id, done).await
}

/// Who may not see the webhook's own page goes back to the list.
async fn back(asked: &Asked, id: WebhookId, done: Done) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let found = webhook::find(&mut reading, asked.person.workspace, id).await?;
    let path = match found.is_open_to(&asked.person.by()) {
        true => format!("{PATH}/{id}"),
        false => PATH.to_owned(),
    };
    Ok(respond::see_other_with(&path, Toast::new(done, "")))
}
