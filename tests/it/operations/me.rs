//! `GET /me`.

use serde_json::json;

use rookery_world::{Mode, story};

/// proves: ME-1, ME-2, ME-3, ME-4, AUTH-15
#[tokio::test]
async fn a_key_learns_its_agent_scopes_and_mode() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for (mode, livemode) in [(Mode::Live, true), (Mode::Test, false)] {
            let key = acme.key("billing-bot", "draft", mode).await;
            let reply = key.get("/me").await;
            assert_eq!(reply.status, 200);
            assert_eq!(
                reply.json(),
                json!({
                    "agent": { "id": key.agent.to_string(), "name": "billing-bot" },
                    "scopes": ["read", "draft"],
                    "livemode": livemode,
                    "limits": { "sendsADay": null, "draftsADay": null, "messagesADay": null },
                })
            );
        }
    })
    .await;
}
