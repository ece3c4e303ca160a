//! `POST /sandbox/inbound` (specification 4.14): an incoming email, simulated, through the very pipeline
//! that real mail takes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::attached;
use crate::input::NOT_BLANK;
use crate::operation::{Call, Needs, Nothing, Operation, Spec};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{ConversationId, MessageId};
use rookery_base::store::db::{Handle, NoConnection};
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::access::Scope;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::Asking;
use rookery_mail::sandbox::simulate::{
    LONGEST_ADDRESS, LONGEST_NAME, LONGEST_SUBJECT, LONGEST_TEXT, Simulated, SimulatedFile, simulate,
};

/// `is_simulated_sender` as a pattern.
const SENDER: &str =
    r#"^[^\s\x00-\x1f\x7f"(),:;<>@\[\\\]\u00ad\u200b-\u206f\ufeff]+@([A-Za-z0-9-]+\.)+[Tt][Ee][Ss][Tt]$"#;

pub struct SimulateInbound;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulateInboundInput {
    /// The sender, on a `.test` domain.
    #[schemars(length(max = LONGEST_ADDRESS), regex(pattern = SENDER))]
    #[schemars(extend("x-says" = "must be a mail address on a .test domain"))]
    from: String,
    /// The sender's name.
    #[schemars(length(max = LONGEST_NAME))]
    name: Option<String>,
    #[schemars(length(max = LONGEST_SUBJECT))]
    subject: Option<String>,
    #[schemars(length(max = LONGEST_TEXT), regex(pattern = NOT_BLANK))]
    text: String,
    /// Makes the email a reply on this sandbox conversation.
    #[schemars(regex(pattern = "^cnv_[0-9a-z]+$"), extend("x-says" = "must be a conversation id"))]
    conversation_id: Option<String>,
    /// Files that come with it, 10 MB together.
    #[schemars(length(max = 5))]
    #[serde(default)]
    attachments: Vec<InboundFile>,
    /// The sandbox address it was written to, with a plus tag to carry a reference.
    #[schemars(length(max = LONGEST_ADDRESS))]
    to: Option<String>,
    /// The Message-ID it answers: of recorded app mail, or of a message we sent. Ignored with `conversationId`.
    #[schemars(length(max = 1000))]
    in_reply_to: Option<String>,
    /// What the sender domain's DMARC check says; `pass` when left out.
    dmarc: Option<DmarcName>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DmarcName {
    Pass,
    Fail,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InboundFile {
    #[schemars(length(max = attached::LONGEST_NAME), regex(pattern = NOT_BLANK))]
    filename: String,
    #[schemars(length(max = attached::LONGEST_TYPE), regex(pattern = attached::TYPE), extend("x-says" = "must look like application/pdf"))]
    content_type: String,
    /// The bytes as base64.
    #[schemars(extend("contentEncoding" = "base64"))]
    content: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulateInboundOutput {
    ok: bool,
    conversation_id: ConversationId,
    message_id: MessageId,
}

impl From<Stored> for SimulateInboundOutput {
    fn from(stored: Stored) -> Self {
        Self { ok: true, conversation_id: stored.conversation, message_id: stored.message }
    }
}

impl Operation for SimulateInbound {
    const SPEC: Spec = Spec {
        has_tool: false,
        title: "Simulate an incoming email",
        about: "Test keys only. The email goes through the normal pipeline into the sandbox inbox.",
        needs: Needs::TestKey(Scope::Write),
        status: 201,
        repeatable: false,
        most_body_bytes: attached::MOST_BODY_BYTES,
        ..Spec::write("simulate_inbound", "/sandbox/inbound")
    };
    type Db = NoConnection;
    type Target = Nothing;
    type Input = SimulateInboundInput;
    type Output = SimulateInboundOutput;

    async fn run(
        call: &mut Call<'_, NoConnection>,
        _: Nothing,
        input: SimulateInboundInput,
    ) -> Result<SimulateInboundOutput> {
        let (app, actor, now) = (call.app, call.actor, call.now());
        let mut conn = app.connection_of(actor.workspace).await?;
        let joins = match &input.conversation_id {
            Some(id) => Some(find_visible(&mut conn, actor, now, id).await?),
            None => None,
        };
        let mail = Simulated {
            from: input.from,
            name: input.name,
            subject: input.subject,
            text: input.text,
            files: input.attachments.into_iter().map(SimulatedFile::try_from).collect::<Result<_>>()?,
            joins,
            to: input.to.map(|to| to.trim().to_owned()),
            in_reply_to: input.in_reply_to,
            dmarc: match input.dmarc {
                Some(DmarcName::Fail) => Dmarc::Fail,
                Some(DmarcName::Pass) | None => Dmarc::Pass,
            },
        };
        drop(conn);
        let asked = Asking {
            frame: call.db.frame().clone(),
            answer: |stored| {
                Ok((Self::SPEC.status, serde_json::to_string(&SimulateInboundOutput::from(stored))?))
            },
        };
        Ok(simulate(app, actor.workspace, mail, Some(asked)).await?.into())
    }

    fn check(given: &Map<String, Value>) -> Vec<Problem> {
        let wrong = attached::contents(given).filter(|(_, content)| STANDARD.decode(content).is_err());
        let not_base64 = |(number, _)| Problem {
            field: format!("attachments[{number}].content"),
            what: "must be base64".into(),
        };
        let mut problems: Vec<Problem> = wrong.map(not_base64).collect();
        problems.extend(attached::problems(given));
        problems
    }
}

impl TryFrom<InboundFile> for SimulatedFile {
    type Error = Error;
    fn try_from(file: InboundFile) -> Result<Self> {
        let content = STANDARD.decode(&file.content).map_err(Error::internal)?;
        Ok(Self { filename: file.filename, content_type: file.content_type, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_mail::sandbox::simulate::is_simulated_sender;

    #[test]
    fn the_published_pattern_and_the_check_are_the_same_rule() {
        let schema = serde_json::json!({ "type": "string", "pattern": SENDER });
        let pattern = jsonschema::validator_for(&schema).unwrap();
        let strange =
            ['"', '(', ')', ',', ':', ';', '<', '>', '@', '[', '\\', ']', ' ', '\t', '\n', '\0', '\u{7f}'];
        let hidden = ['\u{ad}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{a0}', 'é', '+', '.', '\'', '日'];
        let made = strange.into_iter().chain(hidden).map(|letter| format!("a{letter}b@customer.test"));
        let given = [
            "a@b.test",
            "a@B.TEST",
            "a@x.y.test",
            "a@b.tests",
            "a@test",
            "@b.test",
            "a@.test",
            "a@b..test",
            "a@b.test.",
            "a@b_c.test",
            "a@b-c.test",
            "a@é.test",
            "a@b.test\n",
            "ab.test",
            "",
            "a@b@c.test",
            "a@b.Test",
        ];
        let mut taken = 0;
        for text in made.chain(given.map(str::to_owned)) {
            let is_taken = is_simulated_sender(&text);
            assert_eq!(is_taken, pattern.is_valid(&serde_json::json!(text)), "{text:?}");
            taken += usize::from(is_taken);
        }
        assert_eq!(taken, 10);
    }
}
