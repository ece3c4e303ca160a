//! The forms of `/welcome`. Each calls the verb that the settings page of the same thing calls, and comes back here with the
//! next step open.

use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use crate::welcome::PATH;
use crate::welcome::progress::{self, domain_of, is_real};
use crate::welcome::samples::Sample;
use crate::welcome::steps::{NAME, TypedInbox, page};
use rookery_base::error::{Error, Result};
use rookery_core::workspace::first_run::steps::{self, FirstRunStep};
use rookery_core::workspace::mailboxes;
use rookery_mail::outgoing::domain::{self, checked};
use rookery_mail::sandbox::try_it::{self, TrialMail};
use rookery_product::replies::test_mail;

/// Leaves a step out, or takes it up again.
pub async fn skip(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let step: FirstRunStep = form.text("step")?.parse()?;
    let skips = form.get("do") != Some("take-up");
    let mut tx = asked.tx().await?;
    steps::skip(&mut tx, &asked.person, step, skips).await?;
    tx.commit().await?;
    if skips {
        Ok(respond::see_other(PATH))
    } else {
        Ok(respond::see_other(&format!("{PATH}?step={}", step.as_str())))
    }
}

/// What the workspace is called, and its zone.
pub async fn rename(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let (name, zone) = (form.text("name")?, form.text("zone")?);
    let mut tx = asked.tx().await?;
    let renamed = match steps::rename(&mut tx, &asked.person, name, zone).await {
        Ok(()) => tx.commit().await,
        Err(error) => {
            drop(tx);
            Err(error)
        }
    };
    let typed = TypedInbox { name: name.to_owned(), ..TypedInbox::default() };
    answered(&asked, NAME, typed, renamed.map(|()| Toast::new(Done::Saved, ""))).await
}

/// The first inbox, and with it the key of its domain.
pub async fn inbox(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let (address, name) = (form.text("address")?, form.text("name")?);
    let typed = TypedInbox { address: address.to_owned(), name: name.to_owned(), ..TypedInbox::default() };
    let made = make(&asked, address, name).await.map(|()| Toast::new(Done::InboxMade, ""));
    answered(&asked, FirstRunStep::Inbox.as_str(), typed, made).await
}

async fn make(asked: &MemberRequest, address: &str, name: &str) -> Result<()> {
    let (workspace, by) = (asked.person.workspace, asked.person.by());
    let address = address.trim().to_lowercase();
    if !is_real(&address) {
        let what = "must not end in .test, because no mail from outside reaches it";
        return Err(Error::problem("address", what));
    }
    mailboxes::create(asked.app(), workspace, &by, &address, name, None).await?;
    match domain::add(asked.app(), workspace, &by, domain_of(&address)).await {
        // The inbox is there, whatever its domain is called; the domain's own page tells more.
        Ok(_) | Err(Error::Problems(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the key of the inbox's domain unless it is there, and asks the name servers.
pub async fn check_domain(asked: MemberRequest) -> Result<Response> {
    let progress = progress::load(&asked).await?;
    if let Some(inbox) = progress.inbox {
        let (workspace, by) = (asked.person.workspace, asked.person.by());
        let domain = domain::add(asked.app(), workspace, &by, domain_of(&inbox.address)).await?;
        let (_, findings) = checked::check(asked.app(), workspace, &by, &domain.name).await?;
        if findings.iter().all(|finding| finding.ok) {
            return Ok(respond::see_other(PATH));
        }
    }
    Ok(respond::see_other(&format!("{PATH}?step={}", FirstRunStep::Dns.as_str())))
}

pub async fn send_test(asked: MemberRequest) -> Result<Response> {
    let progress = progress::load(&asked).await?;
    let step = FirstRunStep::TestMail.as_str();
    let Some(inbox) = progress.inbox else { return Ok(respond::see_other(PATH)) };
    let mut tx = asked.tx().await?;
    let sent = match test_mail::send(asked.visit.app(), &mut tx, &asked.person, inbox.id).await {
        Ok(_) => tx.commit().await.map(|()| Toast::new(Done::TestSent, "")),
        Err(error) => {
            drop(tx);
            Err(error)
        }
    };
    answered(&asked, step, TypedInbox::default(), sent).await
}

/// Somebody plays a customer: a mail that is ready, or their own words.
pub async fn write(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let field = |name| form.get(name).unwrap_or_default().to_owned();
    let own = || TrialMail {
        name: field("name"),
        subject: field("subject"),
        text: field("text"),
        is_forged: false,
    };
    let mail = form.get("sample").and_then(Sample::find).map_or_else(own, Sample::mail);
    match try_it::write(asked.app(), &asked.person, mail).await {
        Ok(stored) => {
            let path = format!("/conversations/{}?compose=reply#composer", stored.conversation);
            Ok(respond::see_other_with(&path, Toast::new(Done::TriedOut, "")))
        }
        Err(error @ (Error::Problems(_) | Error::SlowDown { .. })) => {
            let mut page = page(&asked, None).await?;
            page.typed = TypedInbox {
                name: field("name"),
                subject: field("subject"),
                text: field("text"),
                ..TypedInbox::default()
            };
            page.problem = Some(sentence(&error));
            let mut response = respond::page_with(respond::status_of(&error), &page)?;
            respond::retry_after(&mut response, &error);
            Ok(response)
        }
        Err(error) => Err(error),
    }
}

/// The page again with that step open, or what is next.
async fn answered(
    asked: &MemberRequest,
    step: &str,
    typed: TypedInbox,
    done: Result<Toast>,
) -> Result<Response> {
    match done {
        Ok(toast) if step == FirstRunStep::TestMail.as_str() => {
            Ok(respond::see_other_with(&format!("{PATH}?step={step}"), toast))
        }
        Ok(toast) => Ok(respond::see_other_with(PATH, toast)),
        Err(error @ Error::Problems(_)) => {
            let mut page = page(asked, Some(step)).await?;
            (page.typed, page.problem) = (typed, Some(sentence(&error)));
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

fn sentence(error: &Error) -> String {
    let Error::Problems(problems) = error else { return error.sentence() };
    let told = problems.iter().map(|problem| match problem.field.as_str() {
        "address" => format!("The address {}.", problem.what),
        "name" => format!("The name {}.", problem.what),
        "subject" => format!("The subject {}.", problem.what),
        "text" => format!("The text {}.", problem.what),
        "zone" => format!("The time zone {}.", problem.what),
        field => format!("{field} {}.", problem.what),
    });
    told.collect::<Vec<_>>().join(" ")
}
