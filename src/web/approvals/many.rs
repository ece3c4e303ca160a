//! `POST /approvals/many`: approves or discards several drafts, each in a transaction of its own. Risky and outdated ones
//! are never approved with others; the page then says how many stayed and why.

use axum::response::Response;

use crate::error::{Error, Result};
use crate::ids::MessageId;
use crate::replies::approve::{Skipped, approve_many};
use crate::replies::discard::discard;
use crate::web::respond;
use crate::web::visit::Asked;

const MOST: usize = 100;

pub async fn decide(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let picked: Vec<MessageId> = form.all("id").filter_map(|id| id.parse().ok()).take(MOST).collect();
    if picked.is_empty() {
        return Ok(respond::see_other("/approvals"));
    }
    let told = match form.get("do") {
        Some("approve") => approved(&asked, &picked).await,
        Some("discard") => discarded(&asked, &picked).await,
        _ => return Err(Error::problem("do", "must be approve or discard")),
    };
    Ok(respond::see_other(&format!("/approvals?many=1{told}")))
}

async fn approved(asked: &Asked, picked: &[MessageId]) -> String {
    let outcomes = approve_many(asked.app(), asked.person.workspace, &asked.person, picked).await;
    let skipped = |why| outcomes.iter().filter(|(_, outcome)| *outcome == Err(why)).count();
    format!(
        "&approved={}&risky={}&outdated={}&gone={}&failed={}",
        outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).count(),
        skipped(Skipped::Risky),
        skipped(Skipped::Outdated),
        skipped(Skipped::Gone),
        skipped(Skipped::Failed),
    )
}

async fn discarded(asked: &Asked, picked: &[MessageId]) -> String {
    let (mut discarded, mut gone, mut failed) = (0, 0, 0);
    for message in picked {
        match discard_one(asked, *message).await {
            Ok(()) => discarded += 1,
            Err(Error::Missing(_) | Error::Problems(_)) => gone += 1,
            Err(error) => {
                let workspace = asked.person.workspace;
                tracing::warn!(%workspace, %message, %error, "a draft could not be discarded with others");
                failed += 1;
            }
        }
    }
    format!("&discarded={discarded}&gone={gone}&failed={failed}")
}

async fn discard_one(asked: &Asked, message: MessageId) -> Result<()> {
    let mut tx = asked.tx().await?;
    discard(&mut tx, &asked.person, message, None).await?;
    tx.commit().await
}
