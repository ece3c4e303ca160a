//! The page in front of what gives others power: whoever showed who they are more than 60 minutes ago does so once more,
//! here, by what they sign in with. What was typed into a form waits in this page. With script the same page is a dialog
//! over the form, and nothing leaves the form before it is known who asks.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use url::form_urlencoded;

use crate::show::filters;
use crate::visit::{FormFields, MemberRequest};
use crate::{respond, session};
use rookery_base::error::Result;
use rookery_core::workspace::passwords::{self, Recognized};
use rookery_core::workspace::{passkeys, people, second_factor};

/// Where the sign-in beside a form leads.
const DONE: &str = "/signed-in";

/// What goes on once it is known who asks.
pub enum Waiting {
    /// A page of ours.
    Page(String),
    Form(WaitingForm),
    /// The page below the dialog, which has kept everything.
    Dialog,
}

/// A form, with what was typed into it.
pub struct WaitingForm {
    action: String,
    fields: Vec<(String, String)>,
}

/// How somebody can show who they are: as they sign in, and by nothing less.
pub struct ProofWays {
    pub passkey: bool,
    pub password: bool,
    /// The password counts together with a code only.
    pub code: bool,
    /// The provider says who they are, and nothing else does.
    pub sso: bool,
    /// The page at which to sign in once more, which is there for everybody.
    pub elsewhere: String,
}

/// What was wrong with a try, and with which field.
pub struct ProofProblem {
    pub sentence: String,
    pub field: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in/again.html")]
struct AgainPage<'a> {
    waiting: &'a Waiting,
    ways: ProofWays,
    email: String,
    problem: Option<ProofProblem>,
}

#[derive(Template)]
#[template(path = "sign_in/again_done.html")]
struct DonePage<'a> {
    form: Option<&'a WaitingForm>,
}

/// In front of a page, or of a form with what was typed into it.
pub async fn ask(asked: &MemberRequest, form: Option<&FormFields>) -> Result<Response> {
    let here = asked.here().to_owned();
    let waiting = match form {
        Some(form) => Waiting::Form(WaitingForm { action: here, fields: form.pairs().to_vec() }),
        None => Waiting::Page(here),
    };
    let ways = ProofWays::load(asked, &waiting).await?;
    page(asked, StatusCode::FORBIDDEN, &waiting, ways, None).await
}

/// `GET /sign-in/again`: leads on at once if it is known already who asks.
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let waiting = Waiting::of_query(&asked);
    if session::is_fresh(&asked) {
        return respond_to(&waiting);
    }
    let ways = ProofWays::load(&asked, &waiting).await?;
    match waiting {
        Waiting::Page(_) if ways.sso => Ok(respond::see_other(&ways.elsewhere)),
        waiting => page(&asked, StatusCode::OK, &waiting, ways, None).await,
    }
}

/// What comes after a proof.
pub fn respond_to(waiting: &Waiting) -> Result<Response> {
    match waiting {
        Waiting::Page(next) => Ok(respond::see_other(next)),
        Waiting::Form(form) => respond::page(&DonePage { form: Some(form) }),
        Waiting::Dialog => Ok(respond::nothing()),
    }
}

pub async fn page(
    asked: &MemberRequest,
    status: StatusCode,
    waiting: &Waiting,
    ways: ProofWays,
    problem: Option<ProofProblem>,
) -> Result<Response> {
    let (workspace, person) = (asked.person.workspace, asked.person.id);
    let email = people::email_of(&mut *asked.reading().await?, workspace, person).await?;
    respond::page_with(status, &AgainPage { waiting, ways, email, problem })
}

/// `GET /signed-in`
pub async fn done(_: MemberRequest) -> Result<Response> {
    respond::page(&DonePage { form: None })
}

impl Waiting {
    /// Of an address, which anybody can have written: it names a page of ours and never a form that is filled in.
    fn of_query(asked: &MemberRequest) -> Self {
        if is_dialog(asked) { Self::Dialog } else { Self::Page(ours(asked, asked.query("next"))) }
    }

    /// Of a form, which only our own pages send.
    pub fn of_form(asked: &MemberRequest, form: &FormFields) -> Self {
        if is_dialog(asked) {
            return Self::Dialog;
        }
        match (form.get("waiting_for"), form.get("waiting_fields")) {
            (Some(action), Some(typed)) => Self::Form(WaitingForm {
                action: ours(asked, Some(action)),
                fields: FormFields::of_query(typed).pairs().to_vec(),
            }),
            _ => Self::Page(ours(asked, form.get("next"))),
        }
    }

    fn next(&self) -> Option<&str> {
        match self {
            Self::Page(next) => Some(next),
            _ => None,
        }
    }

    fn form(&self) -> Option<&WaitingForm> {
        match self {
            Self::Form(form) => Some(form),
            _ => None,
        }
    }
}

/// Whether the script of the dialog asks.
fn is_dialog(asked: &MemberRequest) -> bool {
    asked.header("x-proof").is_some()
}

/// A path, unless it leads elsewhere.
fn ours(asked: &MemberRequest, path: Option<&str>) -> String {
    path.filter(|path| session::is_ours(asked.visit.app(), path)).unwrap_or(session::FIRST_PAGE).to_owned()
}

impl WaitingForm {
    /// As one field of another form.
    fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.fields).finish()
    }
}

impl ProofWays {
    pub async fn load(asked: &MemberRequest, waiting: &Waiting) -> Result<Self> {
        let mut reading = asked.reading().await?;
        let (workspace, person) = (asked.person.workspace, asked.person.id);
        let sso = session::is_by_sso(&mut reading, asked).await?;
        let elsewhere = session::sign_in_again(asked, sso, waiting.next().unwrap_or(DONE));
        if sso {
            return Ok(Self { passkey: false, password: false, code: false, sso, elsewhere });
        }
        let standing = second_factor::standing(&mut reading, workspace, person).await?;
        // Where a code is required of everybody, a password of somebody who has none opens nothing.
        let is_enough = standing.since.is_some() || !standing.required;
        let has_password = passwords::has_one(&mut reading, Recognized { workspace, person }).await?;
        Ok(Self {
            passkey: passkeys::can_be_used(&asked.visit.app().config)
                && !passkeys::list(&mut reading, workspace, person).await?.is_empty(),
            password: has_password && is_enough,
            code: standing.since.is_some(),
            sso,
            elsewhere,
        })
    }
}

impl AgainPage<'_> {
    fn is_wrong(&self, field: &str) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.field.as_deref() == Some(field))
    }

    /// Whether the field is the first one that waits for an answer.
    fn is_next(&self, field: &str) -> bool {
        match &self.problem {
            Some(problem) => problem.field.as_deref() == Some(field),
            None => field == "password" && !self.ways.passkey,
        }
    }
}
