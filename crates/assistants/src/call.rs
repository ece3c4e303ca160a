//! One call of a model, from its budget to its run: the worst case is taken, the question asked without a connection or a
//! lock, and what it cost written down together with the run. Whoever calls checks again before it writes anything.

use std::time::Duration;

use serde_json::Value;

use crate::model::{Caps, Model, Prompt, Trouble};
use crate::runs::{self, Assistant, Run};
use crate::spend::{self, NotTaken};
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_base::secrets::hashes::sha256;

#[derive(Debug)]
pub enum Called {
    Answered {
        value: Value,
        milliseconds: i32,
        cost: i64,
    },
    /// It was not asked.
    NotTaken(NotTaken),
    /// It was asked in vain.
    Trouble(Trouble),
}

/// What a model is asked, the form of the answer, and how long both may be.
pub struct Question<'a> {
    pub prompt: &'a Prompt,
    /// The JSON schema that the answer has to match.
    pub form: &'a Value,
    pub caps: Caps,
}

pub async fn call(
    app: &App,
    workspace: WorkspaceId,
    model: &Model,
    assistant: Assistant,
    question: Question<'_>,
) -> Result<Called> {
    let Question { prompt, form, caps } = question;
    let worst = model.cost(model.worst(prompt, form, caps));
    let taken = match spend::take_up_to(app, workspace, worst, model.monthly_most).await? {
        Ok(taken) => taken,
        Err(why) => return Ok(Called::NotTaken(why)),
    };
    let asked = model.ask(app, prompt, form, caps).await;
    let (usage, milliseconds, outcome) = match &asked {
        Ok(answer) => (answer.usage, answer.milliseconds, "answered"),
        Err(none) => (none.usage, none.milliseconds, none.why.code()),
    };
    let took = Duration::from_millis(milliseconds.unsigned_abs().into());
    app.figures.model_asked(assistant.as_str(), outcome, took);
    // Who does not say what it used has used the worst, unless it never heard us.
    let unheard = asked.as_ref().is_err_and(|none| none.why.was_not_asked());
    let cost = match usage {
        Some(usage) => model.cost(usage),
        None if unheard => 0,
        None => taken.worst,
    };
    let mut tx = app.begin(workspace).await?;
    let cost = spend::settle(&mut tx, taken, cost).await?;
    let run = Run {
        assistant,
        engine: &model.called(),
        prompt: prompt.version,
        input_hash: sha256([prompt.task.as_bytes(), b"\0", prompt.material.as_bytes()].concat()),
        usage: usage.unwrap_or_default(),
        cost,
        milliseconds,
        outcome,
    };
    runs::write(&mut tx, &run).await?;
    tx.commit().await?;
    Ok(match asked {
        Ok(answer) => Called::Answered { value: answer.value, milliseconds, cost },
        Err(none) => Called::Trouble(none.why),
    })
}
