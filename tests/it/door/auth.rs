//! Keys and authentication: what opens the door, what does not, and what a key is made of.

use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use rookery_core::workspace::access::{By, Scope};
use rookery_core::workspace::agents::caps::Caps;
use rookery_core::workspace::keys;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::plan::Plan;
use serde_json::json;

use rookery_world::furnished::furnished;
use rookery_world::probe::{NOBODY, operations};
use rookery_world::{Key, Mode, Reply, Workspace, World, story};

/// proves: AUTH-1, AUTH-2, AUTH-3, AUTH-4, AUTH-20
#[tokio::test]
async fn without_a_valid_bearer_key_every_path_answers_the_same_401() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let good = acme.key("good", "read,write", Mode::Test).await;
        let revoked = acme.key("revoked", "read,write", Mode::Test).await;
        assert_eq!(revoked.get("/me").await.status, 200);
        acme.revoke(&revoked).await;

        let known =
            operations(NOBODY).map(|(entry, path)| (entry.spec.method.as_str(), format!("/api/v1{path}")));
        let mut doors: Vec<(&str, String)> = known.collect();
        let others = ["/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/me/", "/api/v1/conversations/a/b"];
        doors.extend(others.map(|path| ("GET", path.to_owned())));
        doors.extend([("POST", "/mcp".to_owned()), ("DELETE", "/api/v1/me".to_owned())]);

        let mut bodies = Vec::new();
        for (method, path) in &doors {
            let ask = |query: &str| world.ask(method, &format!("{path}{query}"));
            let key = &good.text;
            let wrong = format!("rk_test_{}", "x".repeat(48));
            let tries = [
                ("none", ask("")),
                ("wrong", ask("").bearer_auth(wrong)),
                ("revoked", ask("").bearer_auth(&revoked.text)),
                ("no key at all", ask("").bearer_auth("secret")),
                ("empty", ask("").header("authorization", "Bearer ")),
                ("scheme alone", ask("").header("authorization", "Bearer")),
                ("no scheme", ask("").header("authorization", key)),
                ("another scheme", ask("").header("authorization", format!("Token {key}"))),
                ("two tokens", ask("").header("authorization", format!("Bearer {key} {key}"))),
                ("longer", ask("").bearer_auth(format!("{key}x"))),
                ("other case", ask("").bearer_auth(key.to_uppercase())),
                ("query", ask(&format!("?key={key}&api_key={key}&access_token={key}&token={key}"))),
                ("cookie", ask("").header("cookie", format!("key={key}; authorization=Bearer {key}"))),
                ("basic", ask("").basic_auth(key, Some(key))),
                ("two headers", ask("").bearer_auth(key).bearer_auth(key)),
                ("another header", ask("").header("x-api-key", key)),
            ];
            for (what, request) in tries {
                let reply = Reply::of(request).await;
                assert_eq!(reply.status, 401, "{method} {path} with {what}: {}", reply.text);
                assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {path} with {what}");
                reply.error();
                let mut headers = reply.headers.clone();
                headers.remove("x-request-id");
                headers.remove("date");
                bodies.push((reply.text, headers));
            }
            assert_ne!(Reply::of(ask("").bearer_auth(key)).await.status, 401, "{method} {path}");
        }
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    })
    .await;
}

#[tokio::test]
async fn the_letter_case_of_the_scheme_does_not_matter() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read", Mode::Live).await;
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let header = format!("{scheme} {}", key.text);
            let reply = Reply::of(world.ask("GET", "/api/v1/me").header("authorization", header)).await;
            assert_eq!(reply.status, 200, "{scheme}");
        }
    })
    .await;
}

/// proves: AUTH-5, AUTH-10, AUTH-14
#[tokio::test]
async fn a_new_key_has_its_form_its_name_its_scopes_and_an_agent_of_its_own() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for (mode, prefix) in [(Mode::Live, "rk_live_"), (Mode::Test, "rk_test_")] {
            let one = acme.key("one", "write", mode).await;
            let two = acme.key("two", "read,send", mode).await;
            for key in [&one, &two] {
                let letters = key.text.strip_prefix(prefix).unwrap_or_else(|| panic!("{}", key.text));
                assert_eq!(letters.len(), 48);
                assert!(letters.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            }
            assert_ne!(one.text, two.text);
            let (one, two) = (one.get("/me").await.json(), two.get("/me").await.json());
            assert_eq!((&one["agent"]["name"], &one["scopes"]), (&json!("one"), &json!(["read", "write"])));
            assert_eq!((&two["agent"]["name"], &two["scopes"]), (&json!("two"), &json!(["read", "send"])));
            assert_ne!(one["agent"]["id"], two["agent"]["id"]);
            assert_eq!(one["livemode"], mode == Mode::Live);
        }
    })
    .await;
}

/// A key as the database may hold it: any text, any mode.
async fn stored_key<'w>(acme: &Workspace<'w>, text: &str, livemode: bool) -> Key<'w> {
    let made = acme.key(&format!("made for {text:.12}"), "read,write", Mode::Live).await;
    let hash: String = keys::hash(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let statement = format!(
        r"update agents set key_hash = '\x{hash}', livemode = {livemode} where id = {};
          insert into directory.api_keys values ('\x{hash}', {})",
        made.agent.0, acme.id.0
    );
    acme.world.sql(&statement).await;
    Key { text: text.to_owned(), ..made }
}

/// proves: AUTH-6, ME-3
#[tokio::test]
async fn an_older_key_works_and_is_live() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let old = stored_key(&acme, &format!("rk_{}", "Ab3".repeat(16)), true).await;
        let help = acme.mailbox("help@rookery.example", "Help").await;
        let mail = acme.mail(help, "zoe@customer.example", "Hello", "Only asking.").await;
        assert_eq!(old.get("/me").await.json()["livemode"], true);
        assert_eq!(old.listed("").await, [mail.to_string()]);
        assert_eq!(old.post("/sandbox/inbound", json!({})).await.status, 403);
    })
    .await;
}

/// proves: AUTH-17
#[tokio::test]
async fn the_stored_record_decides_live_or_test_and_not_the_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let called_test = stored_key(&acme, &format!("rk_test_{}", "a".repeat(48)), true).await;
        let called_live = stored_key(&acme, &format!("rk_live_{}", "b".repeat(48)), false).await;
        assert_eq!(called_test.get("/me").await.json()["livemode"], true);
        assert_eq!(called_live.get("/me").await.json()["livemode"], false);
        let mail = json!({ "from": "a@b.test", "text": "Hi" });
        assert_eq!(called_test.post("/sandbox/inbound", mail.clone()).await.status, 403);
        assert_eq!(called_live.post("/sandbox/inbound", mail).await.status, 201);

        let live = acme.key("live", "read", Mode::Live).await;
        let edited = Key { text: live.text.replace("rk_live_", "rk_test_"), ..live };
        assert_eq!(edited.get("/me").await.status, 401);
    })
    .await;
}

/// proves: AUTH-7
#[tokio::test]
async fn no_answer_and_no_row_holds_a_key_after_it_was_made() {
    story(async |world| {
        let home = furnished(world).await;
        let mut texts: Vec<String> =
            home.answers().await.into_iter().map(|(_, answer)| answer.to_string()).collect();
        for entry in OPERATIONS.iter().filter(|entry| entry.spec.has_tool && entry.spec.method == Method::Get)
        {
            texts.push(format!(
                "{:?}",
                home.live.tool(entry.spec.name, json!({ "id": home.full.to_string() })).await
            ));
        }
        let rows = world.rows().await;
        assert!(rows["public.agents"].len() == 2 && rows["directory.api_keys"].len() == 2);
        texts.extend(rows.into_values().flatten());
        for key in [&home.live, &home.test] {
            // Its name for people shows four letters; more than that must be nowhere, nor in hexadecimal.
            let secret = &key.text[12..];
            let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(!texts.iter().any(|text| text.contains(secret) || text.contains(&hex)));
            assert!(!texts.iter().any(|text| text.contains(&key.text[key.text.len() - 10..])));
        }
    })
    .await;
}

async fn make(
    world: &World,
    acme: &Workspace<'_>,
    name: &str,
    scopes: &[Scope],
    live: bool,
) -> Result<String, String> {
    let wanted = keys::KeyChoices { name, scopes, livemode: live, caps: Caps::default() };
    let made = keys::create(&world.app, acme.id, &By::System, acme.owner, wanted).await;
    made.map(|key| key.key).map_err(|error| format!("{} {}", error.status(), error.sentence()))
}

/// proves: AUTH-9
#[tokio::test]
async fn owners_and_admins_make_keys_and_members_cannot() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let admin = acme.person("Ann Admin", Role::Admin).await;
        let member = acme.person("Max Member", Role::Member).await;
        assert_eq!(acme.key_of(admin, "by admin", "read", Mode::Live).await.get("/me").await.status, 200);
        assert_eq!(acme.key("by owner", "read", Mode::Live).await.get("/me").await.status, 200);
        let before = world.rows().await;
        for (maker, code) in [(member, 403), (rookery_base::ids::PersonId(7), 404)] {
            let wanted =
                keys::KeyChoices { name: "x", scopes: &[Scope::Read], livemode: true, caps: Caps::default() };
            let refused = keys::create(&world.app, acme.id, &By::System, maker, wanted).await;
            assert_eq!(refused.err().expect("a refusal").status(), code);
        }
        assert_eq!(world.rows().await, before);
    })
    .await;
}

/// proves: AUTH-15
#[tokio::test]
async fn scopes_are_listed_in_their_order_and_always_hold_read() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for scope in Scope::ALL {
            let key = acme.key(&format!("only {scope}"), scope.as_str(), Mode::Live).await;
            let scopes = key.get("/me").await.json()["scopes"].clone();
            let wanted = if scope == Scope::Read { json!(["read"]) } else { json!(["read", scope.as_str()]) };
            assert_eq!(scopes, wanted);
        }
        let key = acme.key("all", "record,send,draft,write,write", Mode::Test).await;
        let all = json!(["read", "write", "draft", "send", "record"]);
        assert_eq!(key.get("/me").await.json()["scopes"], all);
        let refused = make(world, &acme, "none", &[], true).await;
        assert_eq!(refused.unwrap_err(), "400 scopes: needs at least one scope");
    })
    .await;
}

/// proves: AUTH-16
#[tokio::test]
async fn the_database_takes_no_key_without_read() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.key("bot", "write", Mode::Live).await;
        for scopes in ["{write}", "{}", "{write,draft,send,record}", "{read,admin}"] {
            for statement in [
                format!("update agents set scopes = '{scopes}'"),
                format!(
                    "insert into agents (workspace_id, id, name, maker_id, livemode, scopes, key_hash, key_hint, created_at)
                     select workspace_id, 1, 'x', maker_id, livemode, '{scopes}', sha256('x'), 'x', created_at from agents"
                ),
            ] {
                let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&world.app.pool).await;
                let error = refused.expect_err(scopes).to_string();
                assert!(error.contains("agents_scopes_check"), "{error}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_key_has_a_short_name_of_one_line_that_no_other_has() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let make = async |name: &str, live| make(world, &acme, name, &[Scope::Read], live).await;
        for name in ["", "  ", "\n\t"] {
            assert_eq!(make(name, true).await.unwrap_err(), "400 name: is required", "{name:?}");
        }
        assert_eq!(
            make(&"🐦".repeat(61), true).await.unwrap_err(),
            "400 name: must be at most 60 characters"
        );
        assert!(make(&"🐦".repeat(60), true).await.is_ok());
        let key = acme.key(" Billing\n\u{7}bot ", "read", Mode::Live).await;
        assert_eq!(key.get("/me").await.json()["agent"]["name"], "Billing bot");
        let taken = "400 name: is the name of another key already";
        assert_eq!(make("BILLING BOT", true).await.unwrap_err(), taken);
        assert!(make("billing bot", false).await.is_ok(), "test keys are a set of their own");
        assert_eq!(make("Billing Bot", false).await.unwrap_err(), taken);
        acme.revoke(&key).await;
        assert!(make("billing bot", true).await.is_ok(), "the name is free after the key is revoked");
        let other = world.workspace("Other").await;
        other.key("billing bot", "read", Mode::Live).await;
    })
    .await;
}

#[tokio::test]
async fn a_plan_without_api_closes_every_door_until_it_is_upgraded() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let keys = [
            acme.key("live", "read,write,draft,send,record", Mode::Live).await,
            acme.key("test", "read,write,draft,send,record", Mode::Test).await,
        ];
        let sentence = "This workspace's plan has no API access. It is part of Pro and Team.";
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        world.sql("update workspaces set plan = 'free'").await;
        let before = world.rows().await;
        for key in &keys {
            for (entry, path) in operations(NOBODY) {
                let reply = Reply::of(key.ask(entry.spec.method.as_str(), &path)).await;
                assert_eq!((reply.status, reply.error().as_str()), (403, sentence), "{path}");
            }
            let reply = key.mcp(ping.clone()).await;
            assert_eq!((reply.status, reply.error().as_str()), (403, sentence));
        }
        assert_eq!(
            make(world, &acme, "new", &[Scope::Read], false).await.unwrap_err(),
            format!("403 {sentence}")
        );
        assert_eq!(world.rows().await, before);

        for plan in ["pro", "team"] {
            world.sql(&format!("update workspaces set plan = '{plan}'")).await;
            assert_eq!(keys[0].get("/me").await.status, 200, "{plan}");
            assert_eq!(keys[1].mcp(ping.clone()).await.status, 200, "{plan}");
            assert!(make(world, &acme, plan, &[Scope::Read], true).await.is_ok());
        }
        let free = world.workspace_on("Free", Plan::Free).await;
        assert_eq!(
            make(world, &free, "new", &[Scope::Read], true).await.unwrap_err(),
            format!("403 {sentence}")
        );
    })
    .await;
}
