//! Errors: one field, one sentence, every problem at once, and no internals.

use rookery_api::operation::Method;
use rookery_api::registry::OPERATIONS;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use rookery_world::furnished::furnished;
use rookery_world::probe::{NOBODY, operations, with_query};
use rookery_world::{Key, Mode, Reply, ToolAnswer, World, story, story_with};

const INBOUND: &str = "/sandbox/inbound";
const OUR_FAULT: &str = "Something went wrong on our side. Try again shortly.";

/// proves: ERR-1, ERR-10
#[tokio::test]
async fn each_code_has_its_meaning_and_one_sentence() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write", Mode::Test).await;
        let reader = acme.key("reader", "read", Mode::Test).await;
        let live = acme.key("live", "write", Mode::Live).await;
        let mail = json!({ "from": "a@b.test", "text": "Hi" });
        let sandbox = key.simulate(mail.clone()).await;
        let unknown = json!({ "from": "a@b.test", "text": "Hi", "conversationId": NOBODY });
        let mut seen = vec![
            (400, key.get("/conversations?limit=0").await),
            (400, key.post(INBOUND, json!({})).await),
            (401, Reply::of(world.ask("GET", "/api/v1/me")).await),
            (403, reader.post(INBOUND, mail.clone()).await),
            (403, live.post(INBOUND, mail.clone()).await),
            (404, key.get(&format!("/conversations/{NOBODY}")).await),
            (404, live.get(&format!("/conversations/{sandbox}")).await),
            (404, key.get("/conversations?mailbox=mbx_0000000000000").await),
            (404, key.post(INBOUND, unknown).await),
            (404, key.get("/nothing").await),
            (405, Reply::of(key.ask("PUT", "/me")).await),
        ];
        world.sql("alter table tags rename to tags_gone").await;
        seen.push((500, key.get("/tags").await));
        world.sql("alter table tags_gone rename to tags").await;
        while key.get("/me").await.status == 200 {}
        seen.push((429, key.get("/me").await));
        for (code, reply) in seen {
            let sentence = reply.error();
            assert_eq!(reply.status, code, "{sentence}");
            assert!(sentence.contains(' ') && !sentence.contains("cnv_"), "{sentence}");
        }
    })
    .await;
}

/// proves: ERR-2, ERR-3, ERR-4
#[tokio::test]
async fn all_problems_are_told_at_once_in_the_order_of_the_fields() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read,write", Mode::Test).await;
        let fine = json!({ "filename": "a", "contentType": "text/plain", "content": "YQ==" });
        let bad = json!({ "contentType": "pdf", "content": "%" });
        let body = json!({
            "attachments": [fine, bad, 5], "conversationId": "nonsense", "name": "n".repeat(201),
            "subject": true, "text": " \n", "from": "ada@example.com; drop",
        });
        let reply = key.post(INBOUND, body).await;
        assert_eq!(reply.status, 400);
        let error = reply.error();
        assert_eq!(
            error.split("; ").collect::<Vec<_>>(),
            [
                "from: must be a mail address on a .test domain",
                "name: must be at most 200 characters",
                "subject: must be a string",
                "text: must not be blank",
                "conversationId: must be a conversation id",
                "attachments[1].filename: is required",
                "attachments[1].contentType: must look like application/pdf",
                "attachments[1].content: must be base64",
                "attachments[2]: must be an object",
            ]
        );
        let (status, error) = key.list(&format!("limit=0&q={}&view=all&assigned=you", "q".repeat(201))).await;
        assert_eq!(status, 400);
        assert_eq!(
            error["error"],
            "view: all needs reference; q: must be at most 200 characters; \
             assigned: must be one of me, unassigned; limit: must be a whole number from 1 to 100"
        );
        let missing = key.post(INBOUND, json!({ "subject": "only this" })).await;
        assert_eq!((missing.status, missing.error().as_str()), (400, "from: is required; text: is required"));
    })
    .await;
}

/// Gives every field of every operation a value of a wrong type at once: one part for each, by name.
///
/// proves: ERR-5, ERR-8
#[tokio::test]
async fn nothing_is_coerced_and_splitting_at_semicolons_gives_one_part_for_each_field() {
    story(async |world| {
        let home = furnished(world).await;
        let mut asked = 0;
        for (entry, path) in operations(&home.sandbox) {
            let properties = entry.input.json["properties"].as_object().cloned().unwrap_or_default();
            let wrong: Map<String, Value> = properties
                .iter()
                .map(|(name, schema)| {
                    let takes_text = schema.to_string().contains("\"string\"");
                    (name.clone(), if takes_text { json!(5) } else { json!("5; true") })
                })
                .collect();
            let mut sentences = Vec::new();
            if entry.spec.method == Method::Post {
                let reply = home.test.post(&path, Value::Object(wrong.clone())).await;
                sentences.push((reply.status, reply.error()));
            }
            if entry.spec.has_tool && !wrong.is_empty() {
                let mut arguments = wrong.clone();
                arguments.insert("id".into(), json!(home.sandbox));
                match home.test.tool(entry.spec.name, Value::Object(arguments)).await {
                    ToolAnswer::Failed { status, sentence } => sentences.push((status, sentence)),
                    done => panic!("{}: {done:?}", entry.spec.name),
                }
            }
            for (status, sentence) in sentences {
                assert_eq!(status, 400, "{sentence}");
                let named: Vec<&str> =
                    sentence.split(';').map(|part| part.trim().split(':').next().unwrap()).collect();
                assert_eq!(named, properties.keys().collect::<Vec<_>>(), "{sentence}");
                asked += 1;
            }
        }
        assert!(asked >= 3, "only {asked} operations were asked");
        for limit in ["0x10", "1e1", "+5", "5.0", " 5", "٥", "true", "99999999999999999999"] {
            let reply = home.live.get(&with_query("/conversations", "limit", limit)).await;
            assert_eq!(reply.error(), "limit: must be a whole number from 1 to 100", "{limit}");
        }
    })
    .await;
}

/// proves: ERR-9
#[tokio::test]
async fn a_value_that_is_not_on_the_list_is_refused_with_the_list() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "read", Mode::Live).await;
        for (query, sentence) in [
            ("view=Open", "view: must be one of open, waiting, snoozed, closed, all"),
            ("assigned=ME", "assigned: must be one of me, unassigned"),
        ] {
            assert_eq!(key.list(query).await, (400, json!({ "error": sentence })));
        }
        let kinds = "kind: must be one of invoice, receipt, statement, contract, id, tax, photo, other";
        let answer = key.read("/documents?kind=bill", "search_documents", json!({ "kind": "bill" })).await;
        assert_eq!(answer, (400, json!({ "error": kinds })));
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_no_json_object_is_refused_as_such() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        let deep = format!("{{\"text\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        let invalid = "request body: is not valid JSON";
        let cases: Vec<(Vec<u8>, &str)> = vec![
            (b"{".to_vec(), invalid),
            (b"from=a@b.test&text=Hi".to_vec(), invalid),
            (b"{\"from\":\"a@b.test\",\"text\":\"Hi\"} and more".to_vec(), invalid),
            (b"{\"from\":\"a@b.test\",\"text\":\"\\ud83d\"}".to_vec(), invalid),
            (b"{\"from\":\"a@b.test\",\"text\":\"\xff\"}".to_vec(), invalid),
            (b"{\"from\":\"a@b.test\",\"text\":\"\0\"}".to_vec(), invalid),
            (b"{\"from\":\"a@b.test\",\"text\":NaN}".to_vec(), invalid),
            (deep.into_bytes(), invalid),
            (b"[]".to_vec(), "request body: must be a JSON object"),
            (b"\"text\"".to_vec(), "request body: must be a JSON object"),
            (b"null".to_vec(), "request body: must be a JSON object"),
            (b"".to_vec(), "from: is required; text: is required"),
            (b" \n".to_vec(), "from: is required; text: is required"),
        ];
        for (body, sentence) in cases {
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let reply = Reply::of(key.ask("POST", INBOUND).body(body)).await;
            assert_eq!((reply.status, reply.error().as_str()), (400, sentence), "{shown}");
        }
        // The header's word for the body does not matter, and of two equal names the last wins.
        let body = "{\"from\":\"a@b.test\",\"text\":5,\"text\":\"Hi\"}";
        let form = key.ask("POST", INBOUND).header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(Reply::of(form.body(body)).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn null_is_absent_and_blank_is_missing() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        let nulls = json!({ "from": null, "text": null, "name": null, "attachments": null });
        assert_eq!(key.post(INBOUND, nulls).await.error(), "from: is required; text: is required");
        key.simulate(json!({ "from": "a@b.test", "text": "Hi", "name": null, "conversationId": null })).await;
        assert_eq!(key.list("view=&q=&limit=&assigned=&mailbox=").await.0, 200);
        let twice = key.get("/conversations?view=open&view=closed").await;
        assert_eq!(twice.error(), "view: is given more than once");
    })
    .await;
}

#[tokio::test]
async fn lengths_count_characters_and_a_nul_is_refused_everywhere() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        let mail = |name: String, subject: String| json!({ "from": "a@b.test", "text": "Hi", "name": name, "subject": subject });
        key.simulate(mail("🐦".repeat(200), "🐦".repeat(998))).await;
        let over = key.post(INBOUND, mail("🐦".repeat(201), "🐦".repeat(999))).await;
        assert_eq!(over.error(), "name: must be at most 200 characters; subject: must be at most 998 characters");
        assert_eq!(key.list(&format!("q={}", "🐦".repeat(200))).await.0, 200);
        assert_eq!(key.list(&format!("q={}", "🐦".repeat(201))).await.0, 400);

        let file = json!({ "filename": "a\0.txt", "contentType": "text/plain", "content": "YQ==" });
        let body = json!({ "from": "a@b.test", "text": "H\0i", "subject": "\0", "attachments": [file] });
        assert_eq!(
            key.post(INBOUND, body).await.error(),
            "subject: must not contain U+0000; text: must not contain U+0000; \
             attachments[0].filename: must not contain U+0000"
        );
        assert_eq!(key.list("q=a%00b").await, (400, json!({ "error": "q: must not contain U+0000" })));
    })
    .await;
}

#[tokio::test]
async fn at_most_fifty_problems_are_told() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        let files: Vec<Value> = (0..60).map(|_| json!({})).collect();
        let reply = key.post(INBOUND, json!({ "attachments": files })).await;
        assert_eq!((reply.status, reply.error().split("; ").count()), (400, 50));
    })
    .await;
}

/// proves: ERR-13
#[tokio::test]
async fn unknown_paths_answer_404_and_methods_not_offered_405() {
    story_with(&[("RATE_LIMIT_REQUESTS", "1000")], async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        for path in ["", "/", "/nothing", "/me/", "//me", "/ME", "/me/x", "/conversations/a/b/c"] {
            for method in ["GET", "POST", "DELETE"] {
                let reply = Reply::of(key.ask(method, path)).await;
                assert_eq!(
                    (reply.status, reply.error().as_str()),
                    (404, "No such endpoint."),
                    "{method} {path}"
                );
            }
        }
        for (_, path) in operations(NOBODY) {
            // What stands where an id may stand is asked for as an id too.
            let is_here = |spec: &str| {
                let (parts, given) = (spec.split('/'), path.split('/'));
                parts.clone().count() == given.clone().count()
                    && parts.zip(given).all(|(part, given)| part == given || part == "{id}")
            };
            let here = OPERATIONS.iter().filter(|other| is_here(other.spec.path));
            let mut allowed: Vec<&str> = Vec::new();
            for entry in here {
                allowed.extend(if entry.spec.method == Method::Get {
                    ["GET", "HEAD"].as_slice()
                } else {
                    &["POST"]
                });
            }
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"] {
                let reply = Reply::of(key.ask(method, &path)).await;
                assert_eq!(reply.status == 405, !allowed.contains(&method), "{method} {path}");
                if reply.status == 405 {
                    assert_eq!(reply.header("allow"), Some(allowed.join(", ").as_str()), "{method} {path}");
                    if method != "HEAD" {
                        reply.error();
                    }
                }
            }
            assert_eq!(Reply::of(world.ask("OPTIONS", &format!("/api/v1{path}"))).await.status, 204);
        }
    })
    .await;
}

/// Sends the head of a request and then `sent`, and reads the answer's code and body.
async fn raw(world: &World, head: &str, sent: &[u8]) -> (u16, Value) {
    let mut stream = TcpStream::connect(world.address.trim_start_matches("http://")).await.unwrap();
    let head = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    tokio::time::timeout(std::time::Duration::from_secs(10), reading).await.expect("an answer").unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
}

/// proves: ERR-14
#[tokio::test]
async fn a_body_over_its_cap_is_refused_and_one_below_is_not() {
    story(async |world| {
        let key = world.workspace("Acme").await.key("bot", "write", Mode::Test).await;
        let known =
            operations(NOBODY).map(|(entry, path)| (format!("/api/v1{path}"), entry.spec.most_body_bytes));
        let mut caps: Vec<(String, usize)> = known.collect();
        caps.extend([("/api/v1/nothing".into(), 1 << 20), ("/mcp".into(), 8 << 20)]);
        assert!(caps.contains(&("/api/v1/sandbox/inbound".into(), 16 << 20)));
        let too_large = json!({ "error": "The request body is too large." });
        for (path, cap) in &caps {
            let head = format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer {}", key.text);
            let declared = format!("{head}\r\nContent-Length: {}", cap + 1);
            assert_eq!(raw(world, &declared, b"").await, (413, too_large.clone()), "{path}");
            // Without a key too: it is refused before anybody reads it.
            let nobody = format!("POST {path} HTTP/1.1\r\nContent-Length: {}", cap + 1);
            assert_eq!(raw(world, &nobody, b"").await.0, 413, "{path}");
        }
        for (path, cap) in caps.iter().filter(|(path, _)| path.ends_with("/me") || path.ends_with("/mcp")) {
            let head = format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer {}", key.text);
            let mut chunk = format!("{:x}\r\n", cap + 1).into_bytes();
            chunk.resize(chunk.len() + cap + 1, b' ');
            let chunked = format!("{head}\r\nTransfer-Encoding: chunked");
            assert_eq!(
                raw(world, &chunked, &chunk).await,
                (413, too_large.clone()),
                "{path}, no length told"
            );
            let whole = format!("{head}\r\nContent-Length: {cap}");
            assert_ne!(raw(world, &whole, &vec![b' '; *cap]).await.0, 413, "{path}");
        }
    })
    .await;
}

/// proves: ERR-11
#[tokio::test]
async fn a_failure_of_ours_is_a_500_that_tells_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read,write", Mode::Test).await;
        let expect = |reply: &Reply| {
            assert_eq!(
                (reply.status, reply.text.as_str()),
                (500, json!({ "error": OUR_FAULT }).to_string().as_str())
            );
            assert_eq!(reply.header("retry-after"), Some("1"));
        };
        world.sql("alter table tags rename to tags_gone").await;
        expect(&key.get("/tags").await);
        let failed = ToolAnswer::Failed { status: 500, sentence: OUR_FAULT.into() };
        assert_eq!(key.tool("list_tags", json!({})).await, failed);
        world.sql("alter table tags_gone rename to tags").await;
        assert_eq!(key.get("/tags").await.status, 200);

        // When not even the key can be looked up, nobody is told that it is wrong.
        for (schema, table) in [("public", "agents"), ("directory", "api_keys")] {
            let fresh = acme.key(table, "read", Mode::Live).await;
            world.sql(&format!("alter table {schema}.{table} rename to gone")).await;
            for (entry, path) in operations(NOBODY) {
                expect(&Reply::of(fresh.ask(entry.spec.method.as_str(), &path)).await);
            }
            expect(&fresh.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).await);
            world.sql(&format!("alter table {schema}.gone rename to {table}")).await;
            assert_eq!(fresh.get("/me").await.status, 200);
        }
    })
    .await;
}

/// proves: ERR-12
#[tokio::test]
async fn a_failed_call_leaves_nothing_behind() {
    story(async |world| {
        let home = furnished(world).await;
        let before = world.rows().await;
        let all_wrong =
            |key: &Key<'_>, path: &str| key.ask("POST", path).body("{\"send\":[],\"add\":5,\"to\":5}");
        let mut asked = 0;
        for id in [home.sandbox.as_str(), NOBODY] {
            for (entry, path) in operations(id).filter(|(entry, _)| entry.spec.method == Method::Post) {
                let reply = Reply::of(all_wrong(&home.test, &path)).await;
                assert!([400, 404].contains(&reply.status), "{}: {}", entry.spec.name, reply.text);
                asked += 1;
            }
        }
        assert!(asked > 0);
        assert_eq!(world.rows().await, before);

        // The attachment is filed last, when conversation, message and events are written already.
        world.sql("alter table documents rename to documents_gone").await;
        let file =
            json!({ "filename": "a.pdf", "contentType": "application/pdf", "content": "JVBERi0xLjQK" });
        let mut mail = json!({ "from": "a@b.test", "text": "Hi", "attachments": [file] });
        assert_eq!(home.test.post(INBOUND, mail.clone()).await.status, 500);
        mail["conversationId"] = json!(home.sandbox);
        assert_eq!(home.test.post(INBOUND, mail.clone()).await.status, 500);
        world.sql("alter table documents_gone rename to documents").await;
        assert_eq!(world.rows().await, before);
        assert_eq!(home.test.post(INBOUND, mail).await.status, 201, "with the table it works");
    })
    .await;
}
