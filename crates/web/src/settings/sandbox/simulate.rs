//! `/settings/sandbox/inbound`: a mail from a form, by the verb that `POST /sandbox/inbound` calls. It lands in the
//! sandbox's inbox, and joins only conversations of the sandbox.

use axum::response::Response;

use crate::respond;
use crate::settings::sandbox::PATH;
use crate::settings::sandbox::show::{Form, page};
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_core::conversations::conversation::find_visible;
use rookery_core::workspace::plan;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::sandbox::simulate::{Simulated, simulate};

pub async fn simulate_mail(asked: MemberRequest) -> Result<Response> {
    let form = Form::read(&*asked.form().await?);
    match taken_in(&asked, &form).await {
        Ok(conversation) => {
            let path = format!("{PATH}?taken={conversation}#simulate");
            Ok(respond::see_other_with(&path, Toast::new(Done::Simulated, "")))
        }
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. } | Error::Missing(_))) => {
            let mut page = page(&asked).await?;
            page.problems = sentences(&error);
            page.form = form;
            let mut response = respond::page_with(respond::status_of(&error), &page)?;
            respond::retry_after(&mut response, &error);
            Ok(response)
        }
        Err(error) => Err(error),
    }
}

async fn taken_in(asked: &MemberRequest, form: &Form) -> Result<String> {
    let (app, workspace) = (asked.app(), asked.person.workspace);
    let mut reading = asked.reading().await?;
    plan::plan_of(&mut reading, workspace).await?.needs_api()?;
    let joins = match form.conversation.as_str() {
        "" => None,
        id => {
            let (who, now) = (asked.person.in_sandbox(), app.clock.now());
            Some(find_visible(&mut reading, &who, now, id).await?)
        }
    };
    drop(reading);
    let given = |text: &String| Some(text.clone()).filter(|text| !text.trim().is_empty());
    let mail = Simulated {
        from: form.from.clone(),
        name: given(&form.name),
        subject: given(&form.subject),
        text: form.text.clone(),
        files: Vec::new(),
        joins,
        to: None,
        in_reply_to: None,
        dmarc: if form.fails { Dmarc::Fail } else { Dmarc::Pass },
    };
    Ok(simulate(app, workspace, mail, None).await?.conversation.to_string())
}

/// One for each field that is wrong.
fn sentences(error: &Error) -> Vec<String> {
    match error {
        Error::Problems(problems) => problems
            .iter()
            .map(|problem| match problem.field.as_str() {
                "from" => format!("From {}.", problem.what),
                "name" => format!("The name {}.", problem.what),
                "subject" => format!("The subject {}.", problem.what),
                _ => format!("The text {}.", problem.what),
            })
            .collect(),
        Error::Missing(_) => {
            vec![
                "There is no such conversation in the sandbox. Leave the field empty to begin one."
                    .to_owned(),
            ]
        }
        error => vec![error.sentence()],
    }
}
