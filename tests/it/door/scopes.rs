//! Scopes: what each opens, what is refused without it, and where that stands in the order of checks.

use rookery_api::operation::{Method, Needs};
use rookery_core::workspace::access::Scope;
use serde_json::json;

use rookery_world::furnished::{furnished, needs_test_key};
use rookery_world::probe::{NOBODY, operations};
use rookery_world::{Mode, Reply, story};

/// proves: SCOPE-1, ME-4
#[tokio::test]
async fn a_key_with_read_alone_reads_everything() {
    story(async |world| {
        let home = furnished(world).await;
        let acme = &home.workspace;
        for (mode, id) in [(Mode::Live, home.full.to_string()), (Mode::Test, home.sandbox.clone())] {
            let key = acme.key("reader", "read", mode).await;
            let mut read = Vec::new();
            for (entry, path) in operations(&id).filter(|(entry, _)| entry.spec.method == Method::Get) {
                if needs_test_key(entry) && mode == Mode::Live {
                    continue;
                }
                let reply = key.get(&path).await;
                assert_eq!(reply.status, 200, "{path}: {}", reply.text);
                read.push(entry.spec.name);
            }
            for name in [
                "me",
                "list_conversations",
                "get_conversation",
                "list_mailboxes",
                "list_tags",
                "search_documents",
            ] {
                assert!(read.contains(&name), "{name} was not read");
            }
        }
    })
    .await;
}

/// Whatever the id and the body are, real, invented or broken: the scope is asked for first.
///
/// proves: SCOPE-2, SCOPE-10, SCOPE-12
#[tokio::test]
async fn without_the_scope_a_call_is_refused_by_its_name_before_anything_else_is_looked_at() {
    story(async |world| {
        let home = furnished(world).await;
        let acme = &home.workspace;
        let before = world.rows().await;
        let mut refused = 0;
        for scope in Scope::ALL.into_iter().filter(|scope| *scope != Scope::Read) {
            let others = Scope::ALL.into_iter().filter(|other| *other != scope).map(Scope::as_str);
            let others = others.collect::<Vec<_>>().join(",");
            for (mode, real) in [(Mode::Live, home.full.to_string()), (Mode::Test, home.sandbox.clone())] {
                let key = acme.key(&format!("without {scope}"), &others, mode).await;
                for id in [real.as_str(), NOBODY, "nonsense"] {
                    for (entry, path) in operations(id) {
                        let needed = match entry.spec.needs {
                            Needs::Scope(needed) => needed == scope,
                            Needs::TestKey(needed) => needed == scope && mode == Mode::Test,
                            // Which of the two depends on the body: replies.rs.
                            Needs::DraftOrSend | Needs::Nothing => false,
                        };
                        if !needed {
                            continue;
                        }
                        for body in ["", "{", "{\"conversationId\":\"cnv_0000000000000\",\"from\":5}"] {
                            let reply =
                                Reply::of(key.ask(entry.spec.method.as_str(), &path).body(body)).await;
                            assert_eq!(reply.status, 403, "{path} {body}: {}", reply.text);
                            assert!(reply.error().contains(scope.as_str()), "{}", reply.error());
                            refused += 1;
                        }
                    }
                }
                acme.revoke(&key).await;
            }
        }
        assert!(refused >= 9, "only {refused} calls were refused");
        let mut after = world.rows().await;
        // The keys themselves came and went.
        for table in ["public.agents", "directory.api_keys", "public.audit_entries", "public.audit_heads"] {
            after.insert(table.into(), before[table].clone());
        }
        assert_eq!(after, before, "a refused call left something behind");
    })
    .await;
}

/// proves: SCOPE-8
#[tokio::test]
async fn simulated_mail_needs_write_on_a_test_key() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mail = json!({ "from": "ada@customer.test", "text": "Hello" });
        let without = acme.key("without", "read,draft,send,record", Mode::Test).await;
        let reply = without.post("/sandbox/inbound", mail.clone()).await;
        assert_eq!((reply.status, reply.error().as_str()), (403, "This key lacks the write scope."));
        let with = acme.key("with", "write", Mode::Test).await;
        assert_eq!(with.post("/sandbox/inbound", mail).await.status, 201);
    })
    .await;
}

/// proves: SCOPE-9
#[tokio::test]
async fn a_live_key_cannot_simulate_mail_whatever_its_scopes() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let before = world.rows().await["public.conversations"].len();
        for (name, scopes) in [("all", "read,write,draft,send,record"), ("write", "write"), ("read", "read")]
        {
            let key = acme.key(name, scopes, Mode::Live).await;
            for body in [json!({ "from": "ada@customer.test", "text": "Hello" }), json!({}), json!([])] {
                let reply = key.post("/sandbox/inbound", body).await;
                assert_eq!(
                    (reply.status, reply.error().as_str()),
                    (403, "This endpoint works with test keys only.")
                );
            }
        }
        assert_eq!(world.rows().await["public.conversations"].len(), before);
    })
    .await;
}

/// proves: SCOPE-11, ME-2
#[tokio::test]
async fn record_is_listed_when_the_key_holds_it_and_only_then() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let recorder = acme.key("recorder", "record", Mode::Live).await;
        assert_eq!(recorder.get("/me").await.json()["scopes"], json!(["read", "record"]));
        let other = acme.key("other", "write,draft,send", Mode::Live).await;
        assert_eq!(other.get("/me").await.json()["scopes"], json!(["read", "write", "draft", "send"]));
    })
    .await;
}

/// Size and origin, key, rate, route, plan and scope, stored things, input.
#[tokio::test]
async fn checks_come_in_their_order() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let reader = acme.key("reader", "read", Mode::Test).await;
        let writer = acme.key("writer", "write", Mode::Test).await;
        let status = async |request| Reply::of(request).await.status;

        // Origin before the key, the key before the route.
        let evil = world.ask("GET", "/api/v1/nothing").header("origin", "https://evil.example");
        assert_eq!(status(evil).await, 403);
        assert_eq!(status(world.ask("GET", "/api/v1/nothing")).await, 401);
        assert_eq!(status(world.ask("DELETE", "/api/v1/me")).await, 401);
        // The route before the scope and the plan.
        assert_eq!(status(reader.ask("DELETE", "/sandbox/inbound")).await, 405);
        assert_eq!(status(reader.ask("POST", "/sandbox/nothing")).await, 404);
        // The scope before the conversation and the input, the input before what it names.
        let unknown = json!({ "from": "a@b.test", "text": "Hi", "conversationId": NOBODY });
        let broken = json!({ "from": "a@b.test", "conversationId": NOBODY });
        assert_eq!(reader.post("/sandbox/inbound", unknown.clone()).await.status, 403);
        assert_eq!(writer.post("/sandbox/inbound", broken).await.status, 400);
        assert_eq!(writer.post("/sandbox/inbound", unknown).await.status, 404);
        // The rate before the route, the key before the rate.
        for _ in 3..120 {
            reader.get("/me").await;
        }
        assert_eq!(reader.get("/nothing").await.status, 429);
        assert_eq!(reader.post("/sandbox/inbound", json!({})).await.status, 429);
        acme.revoke(&reader).await;
        assert_eq!(reader.get("/me").await.status, 401);
        // The route before the plan.
        world.sql("update workspaces set plan = 'free'").await;
        assert_eq!(writer.get("/nothing").await.status, 404);
        assert_eq!(writer.get("/me").await.status, 403);
    })
    .await;
}
