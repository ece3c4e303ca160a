//! The way in: who wrote, to whom, until when; a code by mail, or the passphrase. Everything that does something is a form.
//! Whoever opens, heads or follows the link leaves no trace, and whoever presses "send me a code" has it sent to the one
//! address that is meant.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::TimeDelta;

use crate::customer::answers;
use crate::customer::language::for_visit;
use crate::customer::secure::message::AnswerNotice;
use crate::customer::secure::words::SecureWord;
use crate::customer::secure::{Met, admit, chosen, ended, keep, meet, message, path_of};
use crate::respond;
use crate::show::filters;
use crate::visit::Visit;
use rookery_base::error::Result;
use rookery_base::languages::Language;
use rookery_core::conversations::secure::page::{OPEN_FOR, SecurePage, Way};
use rookery_core::conversations::secure::proof::{self, ProofVerdict};
use rookery_core::workspace::one_time_codes::{CodeMail, CodeSending, PLACE};

/// Most characters of a code or passphrase that are looked at.
const MOST_TYPED: usize = 1000;
/// Most bytes of a reply that the sign-in forms carry along. A form of somebody who has not proved who they are has no room
/// for more.
const MOST_CARRIED: usize = 12_000;

#[derive(Clone, Copy, PartialEq)]
enum GateStep {
    /// Who wrote, and the button for a code.
    Ask,
    Code,
    Passphrase,
}

#[derive(Template)]
#[template(path = "customer/secure/gate.html")]
struct Gate {
    language: Language,
    here: String,
    name: String,
    from: String,
    address: String,
    sent: String,
    until: String,
    step: GateStep,
    wrong: Option<String>,
    /// The text of a reply that was sent after the eight hours were over.
    kept: String,
}

impl Gate {
    fn for_visit(
        visit: &Visit,
        language: Language,
        page: &SecurePage,
        step: GateStep,
        wrong: Option<String>,
    ) -> Self {
        let today = page.zone.day(visit.app().clock.now());
        let day = |at| language.date(page.zone.day(at), today);
        Self {
            here: path_of(page, visit),
            name: page.workspace_name.clone(),
            from: page
                .author
                .as_ref()
                .map_or_else(|| page.inbox.clone(), |author| format!("{author}, {}", page.inbox)),
            address: page.masked(),
            sent: day(page.sent_at),
            until: day(page.expires_at - TimeDelta::seconds(1)),
            language,
            step,
            wrong,
            kept: String::new(),
        }
    }

    fn keeping(self, kept: &str) -> Self {
        Self { kept: kept.to_owned(), ..self }
    }

    /// Whether the forms carry the reply along. A longer one is shown, so that it can be copied.
    fn carries(&self) -> bool {
        !self.kept.is_empty()
            && url::form_urlencoded::byte_serialize(self.kept.as_bytes()).map(str::len).sum::<usize>()
                <= MOST_CARRIED
    }

    fn say(&self, word: SecureWord) -> &'static str {
        self.language.say(word)
    }

    fn with(&self, word: SecureWord) -> String {
        self.language.fill(word, &[("name", &self.name), ("address", &self.address)])
    }

    fn asks(&self) -> bool {
        self.step == GateStep::Ask
    }

    fn wants_code(&self) -> bool {
        self.step == GateStep::Code
    }
}

/// `GET /secure/{workspace}/{message}/{token}`: the way in, or the messages.
pub async fn show(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    Ok(answers::answered(language, shown(&visit, language).await))
}

async fn shown(visit: &Visit, language: Language) -> Result<Response> {
    admit(visit)?;
    let met = meet(visit, &mut *visit.customers_connection().await?, language).await?;
    let (page, until) = match met {
        Met::Answered(answer) => return Ok(answer),
        Met::Page(page, until) => (page, until),
    };
    if let Some(until) = until {
        return message::show(visit, language, &page, until, None, StatusCode::OK).await;
    }
    if page.is_locked(visit.app().clock.now()).is_some() {
        return locked(language);
    }
    let step = match first_step(&page) {
        GateStep::Ask if visit.query("step") == Some("code") => GateStep::Code,
        step => step,
    };
    respond::page(&Gate::for_visit(visit, language, &page, step, None))
}

fn first_step(page: &SecurePage) -> GateStep {
    match page.way {
        Way::Passphrase => GateStep::Passphrase,
        Way::Code => GateStep::Ask,
    }
}

/// The sign-in page for a reply that came after the eight hours were over. Its forms carry the text along.
pub(super) fn again(visit: &Visit, language: Language, page: &SecurePage, kept: &str) -> Result<Response> {
    if kept.trim().is_empty() {
        return Ok(respond::see_other(&here(visit, language, page)));
    }
    refused(&Gate::for_visit(visit, language, page, first_step(page), None).keeping(kept))
}

/// `POST …/code`: has a code sent.
pub async fn send_code(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    Ok(answers::answered(language, code_sent(&visit, language).await))
}

async fn code_sent(visit: &Visit, language: Language) -> Result<Response> {
    admit(visit)?;
    let app = visit.app();
    let met = meet(visit, &mut *visit.customers_connection().await?, language).await?;
    let page = match met {
        Met::Answered(answer) => return Ok(answer),
        Met::Page(page, Some(_)) => return Ok(respond::see_other(&here(visit, language, &page))),
        Met::Page(page, None) => page,
    };
    if page.is_locked(app.clock.now()).is_some() {
        return locked(language);
    }
    if page.way != Way::Code {
        return Ok(respond::see_other(&here(visit, language, &page)));
    }
    let form = visit.strangers_form().await?;
    let kept = form.get("kept").unwrap_or_default();
    let values = [("name", page.workspace_name.as_str()), ("code", PLACE)];
    let subject = language.fill(SecureWord::CodeSubject, &values);
    let body = language.fill(SecureWord::CodeMail, &values) + "\n";
    match proof::send_code(app, &page, visit.asker(), CodeMail { subject: &subject, body: &body }).await? {
        CodeSending::Refused(too_much) => {
            let wrong = Some(language.say(SecureWord::EnoughCodes).to_owned());
            let gate = Gate::for_visit(visit, language, &page, GateStep::Code, wrong).keeping(kept);
            let mut response = respond::page_with(StatusCode::TOO_MANY_REQUESTS, &gate)?;
            respond::retry_after(&mut response, &too_much.error("", app.clock.now()));
            Ok(response)
        }
        CodeSending::Now | CodeSending::Before if !kept.is_empty() => {
            respond::page(&Gate::for_visit(visit, language, &page, GateStep::Code, None).keeping(kept))
        }
        CodeSending::Now | CodeSending::Before => {
            let joint = if visit.query("lang").is_some() { "&" } else { "?" };
            Ok(respond::see_other(&format!("{}{joint}step=code", here(visit, language, &page))))
        }
    }
}

/// `POST …/open`: tries a code or the passphrase.
pub async fn open(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    Ok(answers::answered(language, opened(&visit, language).await))
}

async fn opened(visit: &Visit, language: Language) -> Result<Response> {
    admit(visit)?;
    let app = visit.app();
    let met = meet(visit, &mut *visit.customers_connection().await?, language).await?;
    let page = match met {
        Met::Answered(answer) => return Ok(answer),
        // Another tab was quicker.
        Met::Page(page, Some(_)) => return Ok(respond::see_other(&here(visit, language, &page))),
        Met::Page(page, None) => page,
    };
    let form = visit.strangers_form().await?;
    let kept = form.get("kept").unwrap_or_default();
    let typed: String = form.get("proof").unwrap_or_default().chars().take(MOST_TYPED).collect();
    let (step, tried) = match page.way {
        Way::Code => {
            let digits: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
            // What cannot be a code is no try: whoever presses the button without one has guessed nothing.
            if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let wrong = Some(language.say(SecureWord::NotSix).to_owned());
                return refused(
                    &Gate::for_visit(visit, language, &page, GateStep::Code, wrong).keeping(kept),
                );
            }
            (GateStep::Code, proof::try_code(app, &page, visit.asker(), &digits).await?)
        }
        Way::Passphrase if typed.trim().is_empty() => {
            return refused(
                &Gate::for_visit(visit, language, &page, GateStep::Passphrase, None).keeping(kept),
            );
        }
        Way::Passphrase => {
            (GateStep::Passphrase, proof::try_passphrase(app, &page, visit.asker(), &typed).await?)
        }
    };
    let wrong = match tried {
        ProofVerdict::Right => return entered(visit, language, &page, kept).await,
        ProofVerdict::Ended => return ended(language),
        ProofVerdict::Locked { .. } => return locked(language),
        ProofVerdict::NoCode => language.say(SecureWord::NoCode).to_owned(),
        ProofVerdict::Wrong { left } => {
            let word = match step {
                GateStep::Passphrase => SecureWord::WrongPassphrase,
                _ => SecureWord::WrongCode,
            };
            language.fill(word, &[("left", &left.to_string())])
        }
    };
    refused(&Gate::for_visit(visit, language, &page, step, Some(wrong)).keeping(kept))
}

/// Lets somebody in who has proved who they are. Their code is used up, so they are let in even if marking the messages as
/// read fails; that is tried again when the page is shown.
async fn entered(visit: &Visit, language: Language, page: &SecurePage, kept: &str) -> Result<Response> {
    let app = visit.app();
    if let Err(error) = message::mark_read(app, page, visit.asker()).await {
        tracing::error!(message_id = %page.message, %error, "a secure message could not be marked as read");
    }
    let mut response = match kept {
        "" => respond::see_other(&here(visit, language, page)),
        kept => {
            let told = AnswerNotice { word: SecureWord::KeptReply, text: kept.to_owned() };
            let until = app.clock.now() + OPEN_FOR;
            message::show(visit, language, page, until, Some(told), StatusCode::OK)
                .await
                .unwrap_or_else(|_| respond::see_other(&here(visit, language, page)))
        }
    };
    keep(visit, page, &mut response, true)?;
    Ok(response)
}

/// `POST …/lock`: whoever uses a shared computer leaves nothing open.
pub async fn lock(visit: Visit) -> Result<Response> {
    let language = for_visit(&visit);
    let closed = async {
        admit(&visit)?;
        let met = meet(&visit, &mut *visit.customers_connection().await?, language).await?;
        let page = match met {
            Met::Answered(answer) => return Ok(answer),
            Met::Page(page, _) => page,
        };
        let mut response = respond::see_other(&here(&visit, language, &page));
        keep(&visit, &page, &mut response, false)?;
        Ok(response)
    };
    Ok(answers::answered(language, closed.await))
}

fn refused(gate: &Gate) -> Result<Response> {
    respond::page_with(StatusCode::UNPROCESSABLE_ENTITY, gate)
}

fn locked(language: Language) -> Result<Response> {
    answers::notice(language, StatusCode::TOO_MANY_REQUESTS, SecureWord::LockedTitle, SecureWord::LockedText)
}

fn here(visit: &Visit, language: Language, page: &SecurePage) -> String {
    path_of(page, visit) + &chosen(visit, language)
}
