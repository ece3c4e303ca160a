//! Cursors: a list goes on where the page before ended, by REST and by MCP, while mail comes in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures::future::join_all;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Reply, ToolAnswer, story, story_with};

/// The path that `Link` leads to, below the prefix, and its cursor.
fn next_of(reply: &Reply) -> Option<(String, String)> {
    let link = reply.header("link")?;
    let path = link.strip_prefix("<https://rookery.example/api/v1").expect(link);
    let path = path.strip_suffix(">; rel=\"next\"").expect(link).to_owned();
    let cursor = path.rsplit_once("cursor=").expect(link).1.to_owned();
    Some((path, cursor))
}

/// All ids of a list, page by page: by REST and, with the same cursors, by MCP.
async fn walk(key: &Key<'_>, path: &str, tool: &str, arguments: Value) -> Vec<Vec<String>> {
    let (mut path, mut arguments, mut pages) = (path.to_owned(), arguments, Vec::new());
    loop {
        let reply = key.get(&path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        let ToolAnswer::Done { text, structured } = key.tool(tool, arguments.clone()).await else {
            panic!("{tool} failed with {arguments}");
        };
        assert_eq!(text, reply.text, "{path}");
        let next = next_of(&reply);
        assert_eq!(structured["nextCursor"].as_str(), next.as_ref().map(|(_, cursor)| cursor.as_str()));
        let items = reply.json();
        let ids = items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
        pages.push(ids.collect());
        let Some((following, cursor)) = next else { return pages };
        arguments["cursor"] = json!(cursor);
        path = following;
    }
}

#[tokio::test]
async fn every_filter_is_walked_page_by_page_to_the_same_list_as_in_one() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let (help, sales) = (
            acme.mailbox("help@acme.example", "Help").await,
            acme.mailbox("sales@acme.example", "Sales").await,
        );
        let ids = acme.many(help, 23, "parcel").await;
        world.wait(chrono::TimeDelta::minutes(1));
        acme.many(sales, 9, "invoice").await;
        for id in &ids[..7] {
            acme.set(*id, "status = 'closed'").await;
        }
        for id in &ids[7..12] {
            acme.set(*id, "reference = 'inv-7'").await;
        }
        world.work().await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for query in [
            "",
            "view=closed",
            &format!("mailbox={help}"),
            &format!("mailbox={help}&assigned=unassigned"),
            "assigned=unassigned",
            "view=all&reference=INV-7",
            "q=parcel",
            &format!("q=Parcel&mailbox={help}"),
        ] {
            let whole = key.listed(&format!("{query}&limit=100")).await;
            assert!(whole.len() > 4, "{query} has too few: {whole:?}");
            let mut arguments: Value = url::form_urlencoded::parse(query.as_bytes())
                .map(|(name, value)| (name.into_owned(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into();
            arguments["limit"] = json!(3);
            let pages =
                walk(&key, &format!("/conversations?{query}&limit=3"), "list_conversations", arguments).await;
            assert!(pages.iter().rev().skip(1).all(|page| page.len() == 3), "{query}: {pages:?}");
            assert!(pages.last().is_some_and(|page| !page.is_empty()), "{query} ends with an empty page");
            assert_eq!(pages.concat(), whole, "{query}");
        }
        // The number on a page may change on the way.
        let first = key.get("/conversations?limit=2").await;
        let cursor = next_of(&first).unwrap().1;
        let rest = key.listed(&format!("limit=100&cursor={cursor}")).await;
        assert_eq!(rest, key.listed("limit=100").await[2..]);
    })
    .await;
}

#[tokio::test]
async fn a_cursor_with_other_parameters_or_of_another_list_is_refused() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.many(help, 6, "parcel").await;
        world.work().await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let (_, cursor) = next_of(&key.get("/conversations?limit=2").await).unwrap();
        let mailbox = help.to_string();
        let others = [
            ("view", json!("closed")),
            ("mailbox", json!(mailbox)),
            ("q", json!("parcel")),
            ("assigned", json!("me")),
            ("reference", json!("inv-7")),
        ];
        for (name, value) in others {
            let (status, error) =
                key.list(&format!("{name}={}&cursor={cursor}", value.as_str().unwrap())).await;
            assert_eq!(
                (status, error),
                (400, json!({ "error": "cursor: belongs to other parameters" })),
                "{name}"
            );
        }
        let refused = key.get(&format!("/documents?cursor={cursor}")).await;
        assert_eq!(refused.status, 400);
        for broken in ["abc", "1.2.3", "-1.cnv_1.2", "%00", "9999999999999999999999.cnv_0000000000000.0", "'"]
        {
            let (status, error) = key.list(&format!("cursor={broken}")).await;
            assert_eq!(status, 400, "{broken}: {error}");
            assert!(error["error"].as_str().unwrap().starts_with("cursor: must be the cursor"), "{error}");
        }
        // A cursor opens nothing: another workspace's key goes on in its own list.
        let other = world.workspace("Other").await;
        let theirs = other.key("bot", "read", Mode::Live).await;
        assert_eq!(theirs.list(&format!("cursor={cursor}")).await, (200, json!([])));
    })
    .await;
}

#[tokio::test]
async fn documents_and_long_timelines_are_walked_alike() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Papers", "Hello").await;
        world
            .sql(&format!(
                "insert into documents (workspace_id, id, audience, conversation_id, filename, content_type, size, content_hash,
                     blob, title, kind, fields, searched, pieces, created_at)
                 select {}, n, 0, {}, 'f' || n || '.pdf', 'application/pdf', 1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'b' || n,
                     'Paper ' || n, case when n % 2 = 0 then 'invoice' end, '{{}}', 'paper ' || n, '{{}}',
                     timestamptz '2030-01-01' + (n / 3) * interval '1 hour'
                 from generate_series(1, 20) n;
                 insert into notes (workspace_id, conversation_id, id, item, at, author, body)
                 select {0}, {1}, n, n, timestamptz '2030-06-01' + n * interval '1 minute', 'Olga', 'Note ' || n
                 from generate_series(1, 1200) n;
                 update conversations set last_item = 1300 where id = {1}",
                acme.id.0, id.0
            ))
            .await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for (query, many) in [("", 20), ("kind=invoice", 10), ("q=paper", 20)] {
            let whole = key.get(&format!("/documents?{query}&limit=100")).await.json();
            let whole: Vec<&str> = whole.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
            assert_eq!(whole.len(), many, "{query}");
            let mut arguments = json!({ "limit": 3 });
            if let Some((name, value)) = query.split_once('=') {
                arguments[name] = json!(value);
            }
            let pages = walk(&key, &format!("/documents?{query}&limit=3"), "search_documents", arguments).await;
            assert_eq!(pages.concat(), whole, "{query}");
        }

        let (mut path, mut cursor) = (format!("/conversations/{id}"), None);
        let mut seen = Vec::new();
        loop {
            let reply = key.get(&path).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            let read = reply.json();
            let mut notes: Vec<String> = read["timeline"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|item| item["type"] == "note")
                .map(|item| item["body"].as_str().unwrap().to_owned())
                .collect();
            notes.append(&mut seen);
            seen = notes;
            let mut arguments = json!({ "id": id });
            if let Some(cursor) = &cursor {
                arguments["cursor"] = json!(cursor);
            }
            let ToolAnswer::Done { structured, .. } = key.tool("get_conversation", arguments).await else {
                panic!("get_conversation failed");
            };
            assert_eq!(structured["timeline"], read["timeline"]);
            assert_eq!(structured.get("nextCursor").is_some(), read.get("earlier").is_some());
            let Some((following, next)) = next_of(&reply) else { break };
            // The form of before leads to the same place.
            let before = read["earlier"].as_str().unwrap();
            let (one, other) = (key.get(&following).await, key.get(&format!("/conversations/{id}?before={before}")).await);
            assert_eq!((&one.text, next_of(&one)), (&other.text, next_of(&other)));
            (path, cursor) = (following, Some(next));
        }
        assert_eq!(seen, (1..=1200).map(|n| format!("Note {n}")).collect::<Vec<_>>());
        let cursor = cursor.unwrap();
        let both = key.get(&format!("/conversations/{id}?before=1.1&cursor={cursor}")).await;
        assert_eq!((both.status, both.error()), (400, "cursor: cannot be given with before".to_owned()));
        let other = acme.mail(help, "zoe@customer.example", "Other", "Hello").await;
        let elsewhere = key.get(&format!("/conversations/{other}?cursor={cursor}")).await;
        assert_eq!((elsewhere.status, elsewhere.error()), (400, "cursor: belongs to other parameters".to_owned()));
    })
    .await;
}

/// Mail comes in all the while, as fast as it is taken; old conversations move to the front, and some are closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_under_mail_meets_every_untouched_conversation_exactly_once() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let all: BTreeSet<String> =
            acme.many(help, 1_000, "").await.iter().map(ToString::to_string).collect();
        let key = acme.key("bot", "read,write", Mode::Live).await;
        let touched: Vec<String> = all.iter().step_by(10).cloned().collect();
        let (started, done) = (Instant::now(), AtomicBool::new(false));
        let mailing = async {
            let mut mails = 0;
            while !done.load(Ordering::SeqCst) {
                let from: Vec<String> =
                    (0..8).map(|n| format!("new{}@customer.example", mails + n)).collect();
                join_all(from.iter().map(|from| acme.mail(help, from, "New", "Hello"))).await;
                mails += from.len();
                world.wait(chrono::TimeDelta::milliseconds(5));
            }
            mails
        };
        let walking = async {
            let mut met: BTreeMap<String, usize> = BTreeMap::new();
            let (mut path, mut pages) = ("/conversations?limit=20".to_owned(), 0);
            loop {
                let reply = key.get(&path).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                for item in reply.json().as_array().unwrap() {
                    *met.entry(item["id"].as_str().unwrap().to_owned()).or_default() += 1;
                }
                // One that is answered, and one that is closed, between any two pages.
                if let Some(id) = touched.get(pages) {
                    let assignment = format!("last_message_at = '{}'", world.now().to_rfc3339());
                    acme.set(id.parse().unwrap(), &assignment).await;
                }
                if let Some(id) = touched.get(pages + 60) {
                    key.post(&format!("/conversations/{id}/status"), json!({ "status": "closed" })).await;
                }
                pages += 1;
                match next_of(&reply) {
                    Some((following, _)) => path = following,
                    None => break,
                }
            }
            done.store(true, Ordering::SeqCst);
            (met, pages)
        };
        let (mails, (met, pages)) = tokio::join!(mailing, walking);
        let rate = mails as f64 / started.elapsed().as_secs_f64();
        println!("{pages} pages while {mails} mails came in, {rate:.0} a second");
        assert!(pages >= 40 && mails >= pages, "{pages} pages, {mails} mails");
        let twice: Vec<_> = met.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "met more than once: {twice:?}");
        let untouched = all.iter().filter(|id| !touched.contains(id));
        let missed: Vec<_> = untouched.filter(|id| !met.contains_key(*id)).collect();
        assert!(missed.is_empty(), "never met: {missed:?}");
    })
    .await;
}

#[tokio::test]
async fn a_short_list_has_no_next_page_and_a_tool_says_in_words_that_there_is_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.many(help, 3, "").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for limit in [3, 4] {
            assert!(next_of(&key.get(&format!("/conversations?limit={limit}")).await).is_none(), "{limit}");
        }
        let params = json!({ "name": "list_conversations", "arguments": { "limit": 2 } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let result = key.mcp(call).await.json()["result"].clone();
        let cursor = result["structuredContent"]["nextCursor"].as_str().unwrap();
        let words = result["content"][1]["text"].as_str().unwrap();
        assert!(words.contains(cursor), "{words}");
        let listed = key.mcp(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await.json();
        let tools = listed["result"]["tools"].as_array().unwrap();
        let paged =
            tools.iter().filter(|tool| tool["outputSchema"]["properties"].get("nextCursor").is_some());
        let paged: Vec<&str> = paged.map(|tool| tool["name"].as_str().unwrap()).collect();
        let wanted =
            ["list_conversations", "get_conversation", "list_contacts", "get_contact", "search_documents"];
        assert_eq!(paged, wanted);
    })
    .await;
}
