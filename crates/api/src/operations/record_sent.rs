//! `POST /app-mail` (specification 4.13.2): records what an app sent, so that the answer comes back with the
//! app's reference. Recording the same Message-ID again is safe.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::OkOutput;
use crate::operation::{Call, Needs, Nothing, Operation, Spec};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::Scope;
use rookery_product::app_mail::fields::{self, NOT_AN_ID};
use rookery_product::app_mail::sent::{SentMail, upsert};
use rookery_reading::mail::plus_tag;
use rookery_reading::text;

pub struct RecordSent;

macro_rules! address_pattern {
    () => {
        r#"[^\s@<>,;"\x00-\x1f\x7f-\x9f]+@([^\s@<>,;".\x00-\x1f\x7f-\x9f]+\.)*[^\s@<>,;".\x00-\x1f\x7f-\x9f]+"#
    };
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordSentInput {
    /// The Message-ID header the email went out with, with or without angle brackets. It must be unguessable.
    #[schemars(length(max = 998), regex(pattern = MESSAGE_ID), extend("x-says" = NOT_AN_ID))]
    message_id: String,
    /// Letters, digits, `_` and `-` with at least one digit. It comes back in lower case.
    #[schemars(length(max = 40), regex(pattern = r"^[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*$"))]
    #[schemars(extend("x-says" = plus_tag::NOT_ONE))]
    reference: String,
    /// Who it went to: `a@b.example` or `Name <a@b.example>`.
    #[schemars(length(min = 1, max = 50))]
    to: Vec<SentRecipient>,
    #[schemars(length(max = 998))]
    subject: String,
    #[schemars(length(max = 100_000))]
    text: Option<String>,
    #[schemars(length(max = 500_000))]
    html: Option<String>,
}

/// One recipient.
#[derive(Deserialize, JsonSchema)]
struct SentRecipient(
    #[schemars(length(max = 254), regex(pattern = RECIPIENT), extend("x-says" = "must be a mail address"))]
    String,
);

const MESSAGE_ID: &str = r"^\s*<?[^\s@<>\x00-\x1f\x7f-\x9f]+@[^\s@<>\x00-\x1f\x7f-\x9f]+>?\s*$";

/// An address, bare or behind a name in angle brackets.
const RECIPIENT: &str = concat!("^(", address_pattern!(), "|[^<>]*<", address_pattern!(), ">)$");

impl Operation for RecordSent {
    const SPEC: Spec = Spec {
        title: "Record a sent email",
        about: "Records an email your app sent by itself. A reply from someone it went to is filed with your reference.",
        needs: Needs::Scope(Scope::Record),
        status: 201,
        repeat_status: Some(200),
        most_body_bytes: 8 << 20,
        ..Spec::write("record_sent", "/app-mail")
    };
    type Db = Tx<'static>;
    type Target = Nothing;
    type Input = RecordSentInput;
    type Output = OkOutput;

    async fn run(call: &mut Call<'_, Tx<'static>>, _: Nothing, input: RecordSentInput) -> Result<OkOutput> {
        // White space is not the same letters in every language of patterns.
        let message_id = fields::message_id(&input.message_id);
        let message_id = message_id.ok_or_else(|| Error::problem("messageId", NOT_AN_ID))?;
        let to = input.to.iter().filter_map(|SentRecipient(text)| fields::recipient(text)).collect();
        let sent = SentMail {
            message_id,
            reference: plus_tag::parse(&input.reference),
            to: fields::each_once(to),
            subject: text::line(&input.subject),
            text: input.text.as_deref().map(text::lines),
            html: input.html,
            sent_at: None,
            service: None,
            service_ref: None,
        };
        let keep = call.app.config.app_mail_retention();
        let first = upsert(&mut call.db, call.actor.livemode, &sent, keep).await?;
        Ok(if first { OkOutput::ok() } else { OkOutput::again() })
    }

    fn is_repeat(output: &OkOutput) -> bool {
        output.again
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        let recipients = given.get("to").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let strange =
            |(_, to): &(usize, &Value)| to.as_str().is_some_and(|text| fields::recipient(text).is_none());
        let problem =
            |(index, _)| Problem { field: format!("to[{index}]"), what: "must be a mail address".into() };
        recipients.iter().enumerate().filter(strange).map(problem).collect()
    }
}
