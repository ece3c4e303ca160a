//! `/compose/people?q=…`: who could be meant by what somebody types as a recipient. It is asked by a script alone; without it
//! the field takes addresses as they are.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_core::conversations::contacts::suggest;

/// Letters of what is typed that are looked for.
const LONGEST: usize = 100;

pub async fn suggest(asked: MemberRequest) -> Result<Response> {
    let typed: String = asked.query("q").unwrap_or_default().chars().take(LONGEST).collect();
    let mut reading = asked.reading().await?;
    let found = suggest::suggest(&mut reading, &asked.person, &typed).await?;
    let people: Vec<Value> = found
        .into_iter()
        .map(|one| json!({ "email": one.email, "name": one.name, "team": one.is_team }))
        .collect();
    Ok(([(header::CONTENT_TYPE, "application/json")], Value::from(people).to_string()).into_response())
}
