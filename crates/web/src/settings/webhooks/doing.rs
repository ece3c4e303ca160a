//! What is done to a webhook by one press: pause, resume, a test, events chosen anew, an event or all that failed once
//! more. Each leads back to the webhook's page.

use axum::response::Response;

use crate::conversation::later;
use crate::respond;
use crate::settings::webhooks::{PATH, events};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{EventId, WebhookId};
use rookery_webhooks::redeliver_failed::{RedeliveryRequest, Resending};
use rookery_webhooks::{manage, redeliver, redeliver_failed, webhook};

pub async fn pause(asked: MemberRequest) -> Result<Response> {
    let id = asked.id("id")?;
    manage::pause(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookPaused).await
}

pub async fn resume(asked: MemberRequest) -> Result<Response> {
    let id = asked.id("id")?;
    manage::resume(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookResumed).await
}

pub async fn test(asked: MemberRequest) -> Result<Response> {
    let id = asked.id("id")?;
    redeliver::send_test(asked.app(), asked.person.workspace, &asked.person.by(), id).await?;
    back(&asked, id, Done::WebhookTested).await
}

pub async fn choose(asked: MemberRequest) -> Result<Response> {
    let id = asked.id("id")?;
    let kinds = events::read(&*asked.form().await?)?;
    manage::change_events(asked.app(), asked.person.workspace, &asked.person.by(), id, &kinds).await?;
    back(&asked, id, Done::Saved).await
}

pub async fn one_again(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let form = asked.form().await?;
    let event: EventId = form.parse("event")?.ok_or_else(|| Error::problem("event", "is required"))?;
    redeliver::redeliver(asked.app(), asked.person.workspace, &asked.person.by(), id, event).await?;
    back(&asked, id, Done::Redelivered).await
}

pub async fn failed_again(asked: MemberRequest) -> Result<Response> {
    let id: WebhookId = asked.id("id")?;
    let form = asked.form().await?;
    let since = later::read(&asked.times(), form.text("since")?)
        .ok_or_else(|| Error::problem("Since", "must be a day and a time"))?;
    let again = RedeliveryRequest { since, skipped: form.flag("skipped") };
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let done = match redeliver_failed::ask(asked.app(), workspace, &by, id, again).await? {
        Resending::Begun => Done::RedeliveredMany,
        Resending::WasUnderWay => Done::RedeliveringAlready,
    };
    back(&asked, id, done).await
}

/// Who may not see the webhook's own page goes back to the list.
async fn back(asked: &MemberRequest, id: WebhookId, done: Done) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let found = webhook::find(&mut reading, asked.person.workspace, id).await?;
    let path = if found.is_open_to(&asked.person.by()) { format!("{PATH}/{id}") } else { PATH.to_owned() };
    Ok(respond::see_other_with(&path, Toast::new(done, "")))
}
