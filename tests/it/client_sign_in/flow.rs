//! The way of a program that has only an address: it is told where to sign in, registers, is let in, works and goes on working.

use chrono::TimeDelta;
use serde_json::json;

use super::{DOOR, ISSUER, Program, REDIRECT, RESOURCE, Tokens, agents, asks, leads_to, opens, registers};
use rookery_world::programs::client_sign_in::parameter;
use rookery_world::{Mode, Reply, story};

/// proves: VER-6
#[tokio::test]
async fn a_program_with_only_an_address_is_led_to_a_token_and_works_with_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Order 7", "Where is it?").await;

        // Whatever it tries first, it is told where to read on.
        for method in ["GET", "POST", "DELETE", "HEAD", "PUT"] {
            let refused = Reply::of(world.ask(method, DOOR)).await;
            let told = refused.header("www-authenticate").unwrap_or_default().to_owned();
            let metadata = "https://rookery.example/.well-known/oauth-protected-resource/mcp/sign-in";
            assert_eq!(refused.status, 401, "{method}");
            assert_eq!(told, format!("Bearer resource_metadata=\"{metadata}\", scope=\"read write draft\""));
        }
        let wrong = Reply::of(world.ask("POST", DOOR).bearer_auth("nothing")).await;
        assert!(wrong.header("www-authenticate").unwrap().ends_with(", error=\"invalid_token\""));
        let resource = Reply::of(world.ask("GET", "/.well-known/oauth-protected-resource/mcp/sign-in")).await.json();
        assert_eq!(resource["resource"], RESOURCE);
        assert_eq!(resource["authorization_servers"], json!([ISSUER]));
        assert_eq!(resource["scopes_supported"], json!(["read", "write", "draft"]));
        let server = Reply::of(world.ask("GET", "/.well-known/oauth-authorization-server/oauth")).await.json();
        assert_eq!(server["issuer"], ISSUER);
        assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(server["scopes_supported"], json!(["read", "write", "draft", "send"]));
        for name in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            assert!(server[name].as_str().unwrap().starts_with(ISSUER), "{server}");
        }

        let asked = json!({ "client_name": "Helper", "redirect_uris": [REDIRECT], "grant_types": ["authorization_code"],
            "token_endpoint_auth_method": "client_secret_post", "scope": "read" });
        let made = registers(world, &asked).await;
        assert_eq!((made.status, made.header("cache-control")), (201, Some("no-store")));
        assert_eq!(made.json()["token_endpoint_auth_method"], "none");
        assert!(made.json().get("client_secret").is_none());
        let program = Program {
            world,
            id: made.json()["client_id"].as_str().unwrap().to_owned(),
            redirect: REDIRECT.replace("51234", "40001"),
        };

        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&program.address()).await.page();
        for words in ["Helper", "127.0.0.1:40001", "Acme", "Simulated mail only"] {
            assert!(page.contains(words), "{words}: {page}");
        }
        let shown = program.allowed_by(&owner, &[("name", "Helper"), ("mode", "live"), ("scope_allowed", "write")]).await;
        let back = leads_to(&shown);
        assert!(back.as_str().starts_with("http://127.0.0.1:40001/callback?"), "{back}");
        assert_eq!(parameter(&back, "state").as_deref(), Some("st&te=1"));
        assert_eq!(parameter(&back, "iss").as_deref(), Some(ISSUER));
        let given = program.redeems(&parameter(&back, "code").unwrap()).await;
        assert_eq!((given.json()["scope"].clone(), given.json()["expires_in"].clone()), (json!("read write"), json!(3600)));
        let first = Tokens::of(&given);

        // The same as a key with these scopes, and under the agent's own name.
        let twin = acme.key("twin", "read,write", Mode::Live).await;
        let address = json!({ "uri": format!("rookery://conversations/{mail}") });
        for (method, params) in [
            ("tools/list", json!({})),
            ("prompts/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", address),
        ] {
            let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let answer = asks(world, &first.access, method, params).await;
            assert!(answer.json().get("result").is_some(), "{}", answer.text);
            assert_eq!(answer.text, twin.mcp(asked).await.text, "{method}");
        }
        let note = json!({ "name": "add_note", "arguments": { "id": mail, "body": "Looked into it." } });
        let noted = asks(world, &first.access, "tools/call", note).await;
        assert!(noted.status == 200 && !noted.text.contains("isError\":true"), "{}", noted.text);
        let read = twin.conversation(mail).await.to_string();
        assert!(read.contains("Helper") && read.contains("Looked into it."), "{read}");
        let get = Reply::of(world.ask("GET", DOOR).bearer_auth(&first.access)).await;
        assert_eq!((get.status, get.header("allow")), (405, Some("POST")));

        // After an hour it asks for the next token, and goes on as the same agent.
        world.wait(TimeDelta::minutes(61));
        assert!(!opens(world, &first.access).await);
        let second = Tokens::of(&program.refreshes(&first.refresh).await);
        assert!(opens(world, &second.access).await && agents(world).await == 2);
        let owner = world.browser(acme.id, acme.owner).await;
        let listed = owner.get("/settings/keys").await.page();
        assert!(listed.contains("Helper") && listed.contains("sign-in: 127.0.0.1:40001"), "{listed}");
        let rows: String = world.rows().await.into_values().flatten().collect();
        for secret in [&first.access, &first.refresh, &second.access, &second.refresh] {
            assert!(!rows.contains(secret.as_str()), "only hashes are kept");
        }
    })
    .await;
}

#[tokio::test]
async fn the_sandbox_and_the_rate_are_those_of_any_agent() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, "ada@x.example", "Live mail", "Hello").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let tokens = program.signs_in(&owner).await;
        let list = json!({ "name": "list_conversations", "arguments": {} });
        let listed = asks(world, &tokens.access, "tools/call", list.clone()).await;
        assert!(listed.status == 200 && !listed.text.contains("Live mail"), "{}", listed.text);
        assert!(
            listed.header("ratelimit").is_some_and(|left| left.contains("r=119")),
            "{:?}",
            listed.header("ratelimit")
        );
        // What the whole team's agents may not do now, it may not either.
        owner.post("/settings/agents/stop", &[]).await;
        assert_eq!(asks(world, &tokens.access, "tools/call", list).await.status, 403);
    })
    .await;
}
