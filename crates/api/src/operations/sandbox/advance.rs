//! `POST /sandbox/advance`: time passes in the sandbox of this workspace alone. Everything that waits there is due so much
//! earlier, and the worker does it as ever; what has happened keeps its time.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Call, Needs, Nothing, Operation, Spec};
use rookery_base::error::Result;
use rookery_base::store::db::Tx;
use rookery_core::conversations::messages::sending;
use rookery_core::conversations::{lock, snooze};
use rookery_core::workspace::access::Scope;
use rookery_mail::sandbox::answer;
use rookery_product::documents::request;
use rookery_webhooks::manage;

pub struct Advance;

#[derive(Deserialize, JsonSchema)]
pub struct AdvanceInput {
    /// How far, up to 366 days.
    #[schemars(range(min = 1, max = 31_622_400))]
    seconds: i64,
}

/// How many of each are due earlier now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvancedSandbox {
    /// Messages that wait for their undo window or their time.
    messages: u64,
    /// Open requests for documents: reminders, and the end of their links.
    document_requests: u64,
    snoozed: u64,
    /// Simulated customers who are about to answer.
    answers: u64,
    /// Deliveries of test webhooks that wait for their next try.
    deliveries: u64,
}

impl Operation for Advance {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Let time pass in the sandbox",
        about: "Test keys only. What waits in this workspace's sandbox is due so much earlier: mail that is about to leave, reminders, \
                snoozes, answers, tries of test webhooks. Nothing live changes.",
        needs: Needs::TestKey(Scope::Write),
        repeatable: false,
        ..Spec::write("advance_sandbox", "/sandbox/advance")
    };
    type Db = Tx<'static>;
    type Target = Nothing;
    type Input = AdvanceInput;
    type Output = AdvancedSandbox;

    async fn run(
        call: &mut Call<'_, Tx<'static>>,
        _: Nothing,
        input: AdvanceInput,
    ) -> Result<AdvancedSandbox> {
        let (tx, by) = (&mut call.db, TimeDelta::seconds(input.seconds));
        // Conversations first, as everybody locks them.
        lock::lock_waiting_in_sandbox(tx).await?;
        Ok(AdvancedSandbox {
            snoozed: snooze::sooner_in_sandbox(tx, by).await?,
            messages: sending::sooner_in_sandbox(tx, by).await?,
            document_requests: request::sooner_in_sandbox(tx, by).await?,
            answers: answer::sooner(tx, by).await?,
            deliveries: manage::sooner_in_sandbox(tx, by).await?,
        })
    }
}
