//! The forms of the assistants' page. Naming a model and agreeing to it ask for a fresh proof of who it is, and only an
//! owner can; stopping asks for nothing.

use askama::Template;
use axum::response::Response;
use serde_json::json;

use crate::respond;
use crate::settings::assistants::PATH;
use crate::settings::assistants::show::{load, money, refused};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use rookery_assistants::call::{Called, Question, call};
use rookery_assistants::model::{Caps, Prompt};
use rookery_assistants::runs::Assistant;
use rookery_assistants::settings::{self, Engine, Engines};
use rookery_assistants::spend::NotTaken;
use rookery_assistants::stop;
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;

pub async fn choose(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let engine = |name: &str| {
        let given = form.get(name).and_then(Engine::named);
        given.ok_or_else(|| Error::problem(name, "is not one of those that are offered"))
    };
    let chosen =
        Engines { sorting: engine("sorting")?, drafting: engine("drafting")?, reading: engine("reading")? };
    let mut tx = asked.tx().await?;
    let done = settings::choose(asked.visit.app(), &mut tx, &asked.person, chosen).await;
    match done {
        Ok(()) => {
            tx.commit().await?;
            Ok(saved(Done::Saved))
        }
        Err(error) => {
            drop(tx);
            again(&asked, &form, error).await
        }
    }
}

pub async fn limit(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let number = |name: &str| form.get(name).map(str::trim).filter(|typed| !typed.is_empty());
    // What is no number is refused like one that is too small.
    let monthly = number("limit").and_then(|typed| typed.parse().ok()).unwrap_or(-1);
    let calls = number("calls").and_then(|typed| typed.parse().ok()).unwrap_or(-1);
    let mut tx = asked.tx().await?;
    match settings::limit(&mut tx, &asked.person, monthly, calls).await {
        Ok(()) => {
            tx.commit().await?;
            Ok(saved(Done::Saved))
        }
        Err(error) => {
            drop(tx);
            again(&asked, &form, error).await
        }
    }
}

pub async fn connect(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let typed = |name: &str| form.get(name).unwrap_or_default();
    let (price_in, price_out) = (typed("price_in"), typed("price_out"));
    let checked =
        settings::check(asked.app(), typed("base"), typed("model"), typed("key"), price_in, price_out).await;
    let connecting = async {
        let checked = checked?;
        let mut tx = asked.tx().await?;
        settings::connect(asked.visit.app(), &mut tx, &asked.person, &checked).await?;
        tx.commit().await
    };
    match connecting.await {
        Ok(()) => Ok(saved(Done::Saved)),
        Err(error) => again(&asked, &form, error).await,
    }
}

pub async fn agree(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let inboxes: Vec<MailboxId> = form.all("inbox").filter_map(|id| id.parse().ok()).collect();
    let agreeing = async {
        let mut tx = asked.tx().await?;
        settings::agree(asked.visit.app(), &mut tx, &asked.person, &inboxes).await?;
        tx.commit().await
    };
    match agreeing.await {
        Ok(()) => Ok(saved(Done::Agreed)),
        Err(error) => again(&asked, &form, error).await,
    }
}

pub async fn set_topics(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let setting = async {
        let mut tx = asked.tx().await?;
        settings::set_topics(&mut tx, &asked.person, form.get("topics").unwrap_or_default()).await?;
        tx.commit().await
    };
    match setting.await {
        Ok(()) => Ok(saved(Done::Saved)),
        Err(error) => again(&asked, &form, error).await,
    }
}

/// A question with no mail in it: whether the model answers, and in the form.
pub async fn ask(asked: MemberRequest) -> Result<Response> {
    let workspace = asked.person.workspace;
    let app = asked.app().clone();
    let settings = settings::load(&mut *app.connection_of(workspace).await?, workspace).await?;
    let Some(model) = settings.model(&app) else {
        let none = Error::problem("base", "There is no model yet: type its address and name first");
        return again(&asked, &asked.form().await?, none).await;
    };
    let prompt = Prompt {
        version: "test 1",
        task: "Answer with the JSON object alone.".to_owned(),
        material: "Which of these is a colour: blue, seven, table?".to_owned(),
    };
    let form = json!({
        "type": "object", "additionalProperties": false, "required": ["colour"],
        "properties": { "colour": { "type": "string", "enum": ["blue", "seven", "table"] } },
    });
    let caps = Caps { tokens_in: 200, tokens_out: 60 };
    let question = Question { prompt: &prompt, form: &form, caps };
    let called = call(&app, workspace, &model, Assistant::Test, question).await?;
    let told = match called {
        Called::Answered { milliseconds, cost, .. } => {
            let seconds = f64::from(milliseconds) / 1_000.0;
            Ok(format!("Answered in {seconds:.1} s, form right, € {}", money(cost)))
        }
        Called::Trouble(trouble) => Err(format!("That did not work: {trouble}.")),
        Called::NotTaken(NotTaken::Stopped) => Err("Not asked: the assistants are stopped.".to_owned()),
        Called::NotTaken(NotTaken::Money) => Err("Not asked: the monthly limit is reached.".to_owned()),
        Called::NotTaken(NotTaken::Calls) => Err("Not asked: the day’s calls are used up.".to_owned()),
    };
    let mut page = load(&asked, None).await?;
    match told {
        Ok(told) => page.answered = Some(told),
        Err(told) => page.in_vain = Some(told),
    }
    respond::page(&page)
}

pub async fn stop_all(asked: MemberRequest) -> Result<Response> {
    let mut tx = asked.tx().await?;
    stop::stop(&mut tx, &asked.person).await?;
    tx.commit().await?;
    Ok(saved(Done::AssistantsStopped))
}

pub async fn start(asked: MemberRequest) -> Result<Response> {
    let mut tx = asked.tx().await?;
    stop::start(&mut tx, &asked.person).await?;
    tx.commit().await?;
    Ok(saved(Done::AssistantsStarted))
}

#[derive(Template)]
#[template(path = "settings/assistants/discard.html")]
struct DiscardPage {
    shell: Shell,
    page: &'static str,
    waiting: i64,
}

pub async fn ask_to_discard(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let waiting = stop::waiting(&mut reading, asked.person.workspace).await?.len() as i64;
    drop(reading);
    respond::page(&DiscardPage { shell: Shell::frame(&asked, Here::Settings), page: PATH, waiting })
}

pub async fn discard(asked: MemberRequest) -> Result<Response> {
    stop::discard_all(asked.app(), &asked.person).await?;
    Ok(saved(Done::AssistantsDiscarded))
}

fn saved(done: Done) -> Response {
    respond::see_other_with(PATH, Toast::new(done, ""))
}

/// The page again with what was wrong. Errors that are not the person's are passed on.
async fn again(asked: &MemberRequest, form: &Form, error: Error) -> Result<Response> {
    match error {
        Error::Problems(problems) => {
            let said: Vec<String> = problems.into_iter().map(|problem| problem.what).collect();
            refused(asked, form, format!("{}.", said.join(". "))).await
        }
        Error::Forbidden(sentence) => refused(asked, form, sentence).await,
        other => Err(other),
    }
}
