//! `/approvals/many`: several drafts at once. The page shows all that would leave, mail by mail, before anything does; its form
//! approves what was shown. Discarding needs no reading.
//!
//! Each is decided in a transaction of its own. Risky and outdated ones are never approved with others, nor is one that changed
//! after it was shown; the queue says how many stayed and why.

use askama::Template;
use axum::response::Response;

use crate::approvals::queue::{PAGE, part, read_pick, version};
use crate::conversation::files::{Chip, chips};
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::store::db::Handle;
use rookery_core::conversations::messages::message::MessageStatus;
use rookery_mail::outgoing::whole_mail::{self, WholeMail};
use rookery_product::replies::approve::{Picked, Skipped, approve_many};
use rookery_product::replies::discard::discard;
use rookery_product::replies::queue::edit::is_as_shown;
use rookery_product::replies::queue::list::QueueCursor;
use rookery_product::replies::queue::review::{self, Review};

const MOST: usize = 100;

#[derive(Template)]
#[template(path = "approvals/many.html")]
struct ManyPage {
    shell: Shell,
    after: Option<QueueCursor>,
    mails: Vec<PickedDraft>,
    /// How many of the picked drafts are left out of `mails`: risky, outdated, or no longer drafts.
    left: usize,
}

/// One of the picked drafts, with the whole mail that would leave.
struct PickedDraft {
    review: Review,
    mail: WholeMail,
}

impl PickedDraft {
    /// The value of the form field: the id of the draft and its version, so that only what is shown is approved.
    fn pick(&self) -> String {
        format!("{}@{}", self.review.message, version(self.review.edited_at))
    }

    fn files(&self) -> Vec<Chip> {
        chips(self.review.message, &self.mail.files)
    }
}

impl ManyPage {
    fn part(&self) -> String {
        part(self.after, '?')
    }
}

/// `GET /approvals/many?id=…&id=…`: what leaves if these are approved.
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let after: Option<QueueCursor> = asked.query("after").and_then(|after| after.parse().ok());
    let picked: Vec<Picked> = asked.queries().all("id").filter_map(read_pick).take(PAGE as usize).collect();
    if picked.is_empty() {
        return Ok(respond::see_other(&format!("/approvals{}", part(after, '?'))));
    }
    let mut snapshot = asked.snapshot().await?;
    let (now, workspace) = (snapshot.now(), asked.person.workspace);
    let mut mails = Vec::with_capacity(picked.len());
    for picked in &picked {
        let found = review::find(&mut snapshot, &asked.person, now, picked.message, None).await;
        let review = match found {
            Err(Error::Missing(_)) => continue,
            found => found?,
        };
        let is_plain = review.status == MessageStatus::Draft && review.conversation.risk.is_none();
        if is_plain && review.news.is_none() {
            let mail = whole_mail::of_message(&mut snapshot, workspace, picked.message).await?;
            mails.push(PickedDraft { review, mail });
        }
    }
    let shell = Shell::load(&mut snapshot, &asked, Here::Approvals).await?;
    let left = asked.queries().all("id").count().saturating_sub(mails.len());
    respond::page(&ManyPage { shell, after, mails, left })
}

pub async fn decide(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let after: Option<QueueCursor> = form.get("after").and_then(|after| after.parse().ok());
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

async fn approved(asked: &MemberRequest, picked: &[Picked]) -> String {
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

async fn discarded(asked: &MemberRequest, picked: &[Picked]) -> String {
    let (mut discarded, mut changed, mut gone, mut failed) = (0, 0, 0, 0);
    for picked in picked {
        match discard_one(asked, *picked).await {
            Ok(true) => discarded += 1,
            Ok(false) => changed += 1,
            Err(Error::Missing(_) | Error::Problems(_)) => gone += 1,
            Err(error) => {
                let (workspace, message) = (asked.person.workspace, picked.message);
                tracing::warn!(%workspace, message_id = %message, %error, "a draft could not be discarded with others");
                failed += 1;
            }
        }
    }
    format!("&discarded={discarded}&changed={changed}&gone={gone}&failed={failed}")
}

/// False when a colleague changed it after it was listed.
async fn discard_one(asked: &MemberRequest, Picked { message, edited_at }: Picked) -> Result<bool> {
    let mut tx = asked.tx().await?;
    if !is_as_shown(&mut tx, &asked.person, message, edited_at).await? {
        return Ok(false);
    }
    let gone = discard(&mut tx, &asked.person, message, None).await?;
    tx.commit().await?;
    asked.app().blobs.discard(&gone.files).await;
    Ok(true)
}
