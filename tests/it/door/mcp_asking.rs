//! Asking the person before mail leaves (docs/decisions/asking.md): who is asked, what an answer is good for, and that nothing
//! changes for clients that cannot ask.

use chrono::TimeDelta;
use serde_json::{Value, json};

use rookery_world::furnished::{Furnished, furnished};
use rookery_world::probe::NOBODY;
use rookery_world::programs::mcp::{NEW, modern, modern_able, rpc, send};
use rookery_world::{Key, Mode, ToolAnswer, World, story};

const NO: &str = "Nobody allowed it, so nothing was written. Call again without `send` and it is a draft, which a person approves; \
                  if your person has just said no, ask them first what should change.";
const NOT_THIS_QUESTION: &str = "This answer belongs to another question, or came too late. Call again without it to ask the person again.";

/// A client that can put forms to its person.
fn able() -> Value {
    json!({ "elicitation": {} })
}

/// The result of a tool's call by a client that can ask, with what it brings back.
async fn calls(key: &Key<'_>, tool: &str, arguments: &Value, brought: &Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments });
    for (name, value) in brought.as_object().expect("what is brought has names") {
        params[name] = value.clone();
    }
    let reply = modern_able(key, "tools/call", Some(tool), params, NEW, able()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()["result"].clone()
}

/// What the person says to a question.
fn says(question: &Value, answer: Value) -> Value {
    json!({ "requestState": question["requestState"], "inputResponses": { "send": answer } })
}

fn yes(question: &Value) -> Value {
    says(question, json!({ "action": "accept", "content": { "send": true } }))
}

#[track_caller]
fn asked(result: &Value) -> &Value {
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result["requestState"].is_string() && result.get("content").is_none(), "{result}");
    &result["inputRequests"]["send"]["params"]
}

#[track_caller]
fn failed(result: &Value) -> (u64, &str) {
    assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(true)), "{result}");
    let (code, sentence) = result["content"][0]["text"].as_str().unwrap().split_once(' ').unwrap();
    assert_eq!(result["_meta"]["status"].to_string(), code);
    (code.parse().unwrap(), sentence)
}

fn reply_to(home: &Furnished<'_>, body: &str) -> Value {
    json!({ "id": home.full.to_string(), "body": body, "send": true })
}

async fn written(world: &World, body: &str) -> Vec<String> {
    let found = "select status from messages where text like $1 || '%' order by id";
    sqlx::query_scalar(found).bind(body).fetch_all(&world.app.pool).await.expect("messages")
}

#[tokio::test]
async fn a_client_that_can_ask_is_given_a_question_first_and_sends_on_yes() {
    story(async |world| {
        let home = furnished(world).await;
        let arguments = json!({
            "id": home.full.to_string(), "body": "Paid\u{202e} today.\n\nattachments:\n\n", "send": true, "summary": null,
            "documents": [{ "label": "Passport" }, { "label": "Lease", "description": "signed" }],
            "attachments": [{ "filename": "a.txt", "contentType": "text/plain", "content": "YWJjZGVm" }],
        });
        let rows = world.rows().await;
        let question = calls(&home.live, "reply", &arguments, &json!({})).await;
        assert_eq!(world.rows().await, rows, "a question changes nothing");
        assert_eq!(question["inputRequests"]["send"]["method"], "elicitation/create");
        let form = asked(&question);
        assert_eq!(form["mode"], "form");
        let message = form["message"].as_str().unwrap();
        assert!(
            message.starts_with(
                "billing-bot wants to send this mail:\n\n\
                 From: Help <help@rookery.example>\nTo: ada@customer.example\nSubject: Re: Our invoice\n\
                 File, not shown here: a.txt (text/plain, 6 bytes)\n\n\
                 > Paid\\u{202e} today.\n> \n> attachments:\n> \n> Please send us these documents:\n> \n> - Passport\n> - Lease\n\
                 >   signed\n> \n> Upload them here, no account needed:\n> [the customer’s private link]\n> \n> On "
            ),
            "{message}"
        );
        assert!(
            message.ends_with(
                "\n\nIt was written by a program. Send it only if you have read it and would sign it."
            ),
            "{message}"
        );
        let schema = &form["requestedSchema"];
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["send"])));
        let tick = &schema["properties"]["send"];
        assert_eq!((&tick["type"], &tick["default"]), (&json!("boolean"), &json!(false)));

        let sent = calls(&home.live, "reply", &arguments, &yes(&question)).await;
        let structured = &sent["structuredContent"];
        assert_eq!((&sent["isError"], &structured["status"]), (&json!(false), &json!("scheduled")), "{sent}");
        assert_eq!(structured["to"], json!(["ada@customer.example"]));

        // The other tool that can send asks as well.
        let asks = json!({ "id": home.full.to_string(), "documents": [{ "label": "Deed" }], "send": true });
        let question = calls(&home.live, "request_documents", &asks, &json!({})).await;
        assert!(asked(&question)["message"].as_str().unwrap().contains("\n> - Deed\n"), "{question}");
        let sent = calls(&home.live, "request_documents", &asks, &yes(&question)).await;
        assert_eq!(sent["structuredContent"]["status"], "scheduled", "{sent}");
        // A long text is whole, and says how long it is.
        let question = calls(&home.live, "reply", &reply_to(&home, &"x".repeat(5_000)), &json!({})).await;
        let message = asked(&question)["message"].as_str().unwrap();
        let told = "It is long: 5000 characters in 1 line. Read it to its end.";
        assert!(message.contains(&"x".repeat(5_000)) && message.contains(told), "{message}");
    })
    .await;
}

#[tokio::test]
async fn no_writes_nothing_and_a_box_that_is_not_ticked_writes_a_draft() {
    story(async |world| {
        let home = furnished(world).await;
        let arguments = reply_to(&home, "Perhaps.");
        let question = calls(&home.live, "reply", &arguments, &json!({})).await;
        let rows = world.rows().await;
        for action in ["decline", "cancel"] {
            let answer = json!({ "action": action, "content": { "send": true } });
            let refused = calls(&home.live, "reply", &arguments, &says(&question, answer)).await;
            assert_eq!(failed(&refused), (409, NO), "{action}");
        }
        // What is no answer is no yes: the question comes again.
        for answer in [json!(null), json!(true), json!("accept"), json!({}), json!({ "action": "ok" })] {
            asked(&calls(&home.live, "reply", &arguments, &says(&question, answer)).await);
        }
        asked(&calls(&home.live, "reply", &arguments, &json!({ "requestState": question["requestState"] })).await);
        let others = json!({ "requestState": question["requestState"], "inputResponses": { "other": { "action": "accept" } } });
        asked(&calls(&home.live, "reply", &arguments, &others).await);
        assert_eq!(world.rows().await, rows);

        // A client that fills in forms by itself leaves a draft, which somebody has to approve.
        for content in [json!(null), json!({}), json!({ "send": false }), json!({ "send": "true" }), json!({ "send": 1 })] {
            let question = calls(&home.live, "reply", &arguments, &json!({})).await;
            let answer = says(&question, json!({ "action": "accept", "content": content }));
            let draft = calls(&home.live, "reply", &arguments, &answer).await;
            assert_eq!(draft["structuredContent"]["status"], "draft", "{content}: {draft}");
        }
        assert_eq!(written(world, "Perhaps.").await, ["draft"; 5]);
        // A key that may send and not draft has no such way.
        let sender = home.workspace.key("sender", "send", Mode::Live).await;
        let question = calls(&sender, "reply", &arguments, &json!({})).await;
        let answer = says(&question, json!({ "action": "accept", "content": { "send": false } }));
        let refused = calls(&sender, "reply", &arguments, &answer).await;
        assert_eq!(failed(&refused), (403, "This key lacks the draft scope."));
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_good_for_one_question_of_one_agent_for_an_hour_and_once() {
    story(async |world| {
        let home = furnished(world).await;
        let arguments = reply_to(&home, "Agreed.");
        let question = calls(&home.live, "reply", &arguments, &json!({})).await;
        let answer = yes(&question);
        let rows = world.rows().await;

        // Not for another text, customer, file or tool than the person has seen, nor for another agent.
        let twin = home.workspace.key("twin", "read,draft,send", Mode::Live).await;
        let mut elsewhere = arguments.clone();
        elsewhere["id"] = json!(home.bare.to_string());
        let mut more = arguments.clone();
        more["attachments"] =
            json!([{ "filename": "a.txt", "contentType": "text/plain", "content": "YQ==" }]);
        let documents = json!({ "id": home.full.to_string(), "documents": [{ "label": "x" }], "send": true });
        let others = [
            (&home.live, "reply", reply_to(&home, "Agreed!")),
            (&home.live, "reply", elsewhere),
            (&home.live, "reply", more),
            (&home.live, "request_documents", documents),
            (&twin, "reply", arguments.clone()),
        ];
        for (key, tool, other) in others {
            let refused = calls(key, tool, &other, &answer).await;
            assert_eq!(failed(&refused), (409, NOT_THIS_QUESTION), "{tool} {other}");
        }
        // Nor in the other mode, whose conversations are others.
        let mut there = arguments.clone();
        there["id"] = json!(home.sandbox);
        assert_eq!(failed(&calls(&home.test, "reply", &there, &answer).await), (409, NOT_THIS_QUESTION));
        assert_eq!(failed(&calls(&home.test, "reply", &arguments, &answer).await).0, 404);
        // Nor when it would go to somebody else meanwhile.
        home.workspace.set(home.full, "contact_email = 'eve@customer.example'").await;
        assert_eq!(failed(&calls(&home.live, "reply", &arguments, &answer).await), (409, NOT_THIS_QUESTION));
        home.workspace.set(home.full, "contact_email = 'ada@customer.example'").await;
        // Nor for a key that may not send any more.
        let scopes = |scopes: &str| {
            format!("update agents set scopes = '{{{scopes}}}' where id = {}", home.live.agent.0)
        };
        world.sql(&scopes("read,draft")).await;
        let refused = calls(&home.live, "reply", &arguments, &answer).await;
        assert_eq!(failed(&refused), (403, "This key lacks the send scope."));
        world.sql(&scopes("read,draft,send")).await;
        // Nor is one that was made up or altered.
        let state = question["requestState"].as_str().unwrap();
        let (until, rest) = state.split_once('.').unwrap();
        let later = format!("{}.{rest}", until.parse::<i64>().unwrap() + 1);
        for state in ["", "x", "1.2.3", "..", &state[..state.len() - 1], &*format!("{state}A"), &*later] {
            let mut answer = answer.clone();
            answer["requestState"] = json!(state);
            let refused = calls(&home.live, "reply", &arguments, &answer).await;
            assert_eq!(failed(&refused), (409, NOT_THIS_QUESTION), "{state}");
        }
        // A yes that nobody was asked for is none: the question comes first.
        let unasked = json!({ "inputResponses": answer["inputResponses"] });
        asked(&calls(&home.live, "reply", &arguments, &unasked).await);
        // Nor can it be used under another name of the request, to send twice.
        let named = |name: &str| {
            let mut answer = answer.clone();
            answer["_meta"] = json!({ "rookery/idempotencyKey": name });
            answer
        };
        assert_eq!(
            failed(&calls(&home.live, "reply", &arguments, &named("a")).await),
            (409, NOT_THIS_QUESTION)
        );
        assert!(written(world, "Agreed").await.is_empty());
        assert_eq!(world.rows().await["public.messages"], rows["public.messages"]);

        // Once: whoever brings it again gets the first answer, and cannot change it.
        let first = calls(&home.live, "reply", &arguments, &answer).await;
        assert_eq!(first["structuredContent"]["status"], "scheduled", "{first}");
        let again = calls(&home.live, "reply", &arguments, &answer).await;
        assert_eq!(again["content"], first["content"]);
        assert_eq!(again["_meta"]["rookery/idempotencyReplayed"], true);
        let unticked = says(&question, json!({ "action": "accept", "content": {} }));
        assert_eq!(failed(&calls(&home.live, "reply", &arguments, &unticked).await).0, 422);
        assert_eq!(written(world, "Agreed").await, ["scheduled"]);

        // With a name of its own the request is known by that, here and by REST.
        let named = |name: &str, mut brought: Value| {
            brought["_meta"] = json!({ "rookery/idempotencyKey": name });
            brought
        };
        let arguments = reply_to(&home, "Named.");
        let question = calls(&home.live, "reply", &arguments, &named("n", json!({}))).await;
        let sent = calls(&home.live, "reply", &arguments, &named("n", yes(&question))).await;
        let path = format!("/conversations/{}/replies", home.full);
        let again = home.live.post_once("n", &path, &json!({ "body": "Named.", "send": true })).await;
        assert_eq!(again.text, sent["content"][0]["text"].as_str().unwrap());
        assert_eq!(written(world, "Named.").await, ["scheduled"]);

        // For an hour.
        let arguments = reply_to(&home, "Late.");
        let question = calls(&home.live, "reply", &arguments, &json!({})).await;
        world.wait(TimeDelta::minutes(60));
        let refused = calls(&home.live, "reply", &arguments, &yes(&question)).await;
        assert_eq!(failed(&refused), (409, NOT_THIS_QUESTION));
        assert!(written(world, "Late.").await.is_empty());
        let question = calls(&home.live, "reply", &arguments, &json!({})).await;
        world.wait(TimeDelta::minutes(59));
        let sent = calls(&home.live, "reply", &arguments, &yes(&question)).await;
        assert_eq!(sent["structuredContent"]["status"], "scheduled", "{sent}");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_ask_sends_as_before() {
    story(async |world| {
        let home = furnished(world).await;
        let params = |number: usize| json!({ "name": "reply", "arguments": reply_to(&home, &format!("Straight {number}.")) });
        let sent = |reply: rookery_world::Reply| {
            let result = reply.json()["result"].clone();
            assert_eq!(result["structuredContent"]["status"], "scheduled", "{}", reply.text);
            assert_eq!(result.get("requestState"), None);
        };
        // The new revision without the ability, or with one that opens addresses only.
        sent(modern(&home.live, "tools/call", Some("reply"), params(1), NEW).await);
        for (number, able) in [json!({ "elicitation": { "url": {} } }), json!({ "sampling": {}, "roots": {} })].iter().enumerate() {
            let params = params(10 + number);
            sent(modern_able(&home.live, "tools/call", Some("reply"), params, NEW, able.clone()).await);
        }
        // Revisions of before, whatever they say they are able to do, and an answer to a question that nobody asked.
        for (number, version) in ["2025-03-26", "2025-06-18", "2025-11-25"].into_iter().enumerate() {
            let mut params = params(20 + number);
            params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": able() });
            params["requestState"] = json!("x");
            sent(send(&home.live, &[("mcp-protocol-version", version)], rpc("tools/call", params)).await);
        }
        // Nobody is asked about a draft, or about what sends nothing.
        let mut draft = reply_to(&home, "Draft.");
        for given in [json!(false), json!(null)] {
            draft["send"] = given;
            let made = calls(&home.live, "reply", &draft, &json!({})).await;
            assert_eq!(made["structuredContent"]["status"], "draft", "{made}");
        }
        let note = json!({ "id": home.full.to_string(), "body": "Look.", "send": true });
        assert_eq!(calls(&home.live, "add_note", &note, &json!({})).await["isError"], false);
        // A form that is named as such is the same as none that is named.
        let forms = json!({ "elicitation": { "form": {}, "url": {} } });
        let question = modern_able(&home.live, "tools/call", Some("reply"), params(30), NEW, forms).await;
        asked(&question.json()["result"]);
    })
    .await;
}

#[tokio::test]
async fn nobody_is_asked_about_what_cannot_be_done() {
    story(async |world| {
        let home = furnished(world).await;
        let acme = &home.workspace;
        let other = acme.person("Otto Other", rookery_core::workspace::people::Role::Admin).await;
        let private = acme.private_mailbox("otto@rookery.example", "Otto", other).await;
        let hidden = acme.mail(private, "zoe@customer.example", "Hello", "For Otto alone.").await.to_string();
        let drafter = acme.key("drafter", "read,draft", Mode::Live).await;
        let blank = json!({ "id": home.full.to_string(), "body": " ", "documents": [{}], "send": true });
        let mut unclear = reply_to(&home, "x");
        unclear["send"] = json!("true");
        let wrong = [
            (&home.live, json!({ "id": hidden, "body": "x", "send": true })),
            (&home.live, json!({ "id": NOBODY, "body": " ", "send": true })),
            (&home.live, json!({ "id": home.sandbox, "body": "x", "send": true })),
            (&home.live, json!({ "body": "x", "send": true })),
            (&home.live, blank),
            (&home.live, unclear),
            (&drafter, reply_to(&home, "x")),
        ];
        for (key, arguments) in wrong {
            let ToolAnswer::Failed { status, sentence } = key.tool("reply", arguments.clone()).await else {
                panic!("{arguments}")
            };
            let refused = calls(key, "reply", &arguments, &json!({})).await;
            assert_eq!(failed(&refused), (u64::from(status), &*sentence), "{arguments}");
        }
        // One whose customer was erased has nobody to send to, and says so.
        acme.set(home.full, "contact_email = null").await;
        let refused = calls(&home.live, "reply", &reply_to(&home, "x"), &json!({})).await;
        assert_eq!(failed(&refused), (400, "body: this conversation has no address to reply to"));
    })
    .await;
}
