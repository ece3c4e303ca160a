//! `POST /approvals/many`: approves or discards several drafts, each in a transaction of its own. Risky and outdated ones
//! are never approved with others, nor is one that changed after it was listed; the page says how many stayed and why.

use axum::response::Response;

use crate::error::{Error, Result};
use crate::replies::approve::{Picked, Skipped, approve_many};
use crate::replies::discard::discard;
use crate::replies::queue::edit::is_as_shown;
use crate::replies::queue::list::Place;
use crate::web::approvals::queue::{part, read_pick};
use crate::web::respond;
use crate::web::visit::Asked;

const MOST: usize = 100;

pub async fn decide(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let after: Option<Place> = form.get("after").and_then(|after| after.parse().ok());
    let picked: Vec<Picked> = form.all("id").filter_map(read_pick).take(MOST).collect();
    if picked.is_empty() {
        return Ok(respond::see_other(&format!("/approvals{}", part(after, '?'))));
    }
    let told = match form.get("do") {
        Some("approve") => approved(&asked, &picked).await,
        Some("discard") => discarded(&asked, &picked).await,
        _ => return Err(Error::problem("do", "must be approve or discard")),
    };
    Ok(respond::see_other(&format!("/approvals?many=1{told}{}", part(after, '&'))))
}

async fn approved(asked: &Asked, picked: &[Picked]) -> String {
    let outcomes = approve_many(asked.app(), asked.person.workspace, &asked.person, picked).await;
    let skipped = |why| outcomes.iter().filter(|(_, outcome)| *outcome == Err(why)).count();
    format!(
        "&approved={}&risky={}&outdated={}&changed={}&gone={}&failed={}",
        outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).count(),
        skipped(Skipped::Risky),
        skipped(Skipped::Outdated),
        skipped(Skipped::Crossed),
        skipped(Skipped::Gone),
        skipped(Skipped::Failed),
    )
}

async fn discarded(asked: &Asked, picked: &[Picked]) -> String {
    let (mut discarded, mut changed, mut gone, mut failed) = (0, 0, 0, 0);
    for picked in picked {
        match discard_one(asked, *picked).await {
            Ok(true) => discarded += 1,
            Ok(false) => changed += 1,
            Err(Error::Missing(_) | Error::Problems(_)) => gone += 1,
            Err(error) => {
                let (workspace, message) = (asked.person.workspace, picked.message);
                tracing::warn!(%workspace, %message, %error, "a draft could not be discarded with others");
                failed += 1;
            }
        }
    }
    format!("&discarded={discarded}&changed={changed}&gone={gone}&failed={failed}")
}

/// False when a colleague changed it after it was listed.
async fn discard_one(asked: &Asked, Picked { message, edited_at }: Picked) -> Result<bool> {
    let mut tx = asked.tx().await?;
    if !is_as_shown(&mut tx, &asked.person, message, edited_at).await? {
        return Ok(false);
    }
    let gone = discard(&mut tx, &asked.person, message, None).await?;
    tx.commit().await?;
    asked.app().blobs.discard(&gone.files).await;
    Ok(true)
}
