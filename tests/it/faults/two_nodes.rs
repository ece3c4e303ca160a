//! Real `rookery` processes: two of them on one database, and what an operator sees of one.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;

use rookery_world::Reply;
use rookery_world::probe::rows_of;
use rookery_world::site::{SECRET_KEY, Site, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_together_take_at_most_120_requests_of_a_key_in_a_minute() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    let (_, other) = site.key(&workspace, &owner, "other", "live");
    let nodes = [site.serve("one", &[]).await, site.serve("two", &[]).await];
    let started = Instant::now();
    let asked = join_all((0..300).map(|number| site.get(&nodes[number % 2], "/api/v1/me", &key)));
    let mut codes: Vec<u16> = asked.await.iter().map(|reply| reply.status).collect();
    for node in &nodes {
        // On a busy machine a node has a part of its last share left.
        loop {
            codes.push(site.get(node, "/api/v1/me", &key).await.status);
            if codes.last() != Some(&200) {
                break;
            }
        }
        assert_eq!(site.get(node, "/api/v1/me", &other).await.status, 200, "another key is counted apart");
    }
    assert!(started.elapsed() < Duration::from_secs(50), "too slow a machine to tell anything");
    let accepted = codes.iter().filter(|code| **code == 200).count();
    let refused = codes.iter().filter(|code| **code == 429).count();
    assert_eq!(accepted + refused, codes.len(), "{codes:?}");
    assert!((110..=120).contains(&accepted), "{accepted} were accepted");
}

/// proves: AUTH-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_key_is_refused_by_every_node_at_the_very_next_request() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let nodes = [site.serve("one", &[]).await, site.serve("two", &[]).await];
    for round in 0..5 {
        let (agent, key) = site.key(&workspace, &owner, &format!("bot {round}"), "live");
        for node in &nodes {
            for _ in 0..3 {
                assert_eq!(site.get(node, "/api/v1/me", &key).await.status, 200);
            }
        }
        let revoked = site.admin(&["revoke-key", "--workspace", &workspace, "--agent", &agent]);
        assert_eq!(revoked, json!({ "agent": agent, "revoked": true }));
        for node in &nodes {
            assert_eq!(site.get(node, "/api/v1/me", &key).await.status, 401);
            let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
            let request = site.http.post(format!("{}/mcp", node.address)).bearer_auth(&key).json(&ping);
            assert_eq!(Reply::of(request).await.status, 401);
        }
    }
}

#[tokio::test]
async fn the_operators_commands_print_what_was_agreed() {
    let site = Site::migrated().await;
    let again = site.run(&["migrate"]);
    assert!(again.status.success(), "migrating twice is harmless: {again:?}");
    let made = site.admin(&[
        "create-workspace",
        "--name",
        "Café Müller",
        "--plan",
        "team",
        "--owner-email",
        "olga@acme.example",
        "--owner-name",
        "Olga Owner",
    ]);
    assert_eq!(
        made.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["workspace", "owner", "sandboxAddress"]
    );
    let (workspace, owner) = (text(&made, "workspace"), text(&made, "owner"));
    assert!(workspace.starts_with("wsp_") && owner.starts_with("usr_"));
    let sandbox = text(&made, "sandboxAddress");
    assert!(sandbox.starts_with("sandbox@") && sandbox.ends_with(".test"), "{sandbox}");

    let user = site.admin(&[
        "create-user",
        "--workspace",
        &workspace,
        "--email",
        "max@acme.example",
        "--name",
        "Max",
        "--role",
        "member",
    ]);
    assert!(user.as_object().unwrap().len() == 1 && text(&user, "user").starts_with("usr_"), "{user}");
    let user = text(&user, "user");
    let inbox = |address: &str, more: &[&str]| {
        let fixed = ["create-mailbox", "--workspace", &workspace, "--address", address, "--name", "Help"];
        site.admin(&[&fixed, more].concat())
    };
    let help = inbox("help@acme.example", &[]);
    assert!(help.as_object().unwrap().len() == 1 && text(&help, "mailbox").starts_with("mbx_"), "{help}");
    assert!(text(&inbox("max@acme.example", &["--private-to", &user]), "mailbox").starts_with("mbx_"));
    let (agent, key) = site.key(&workspace, &owner, "bot", "test");
    assert!(agent.starts_with("agt_") && key.starts_with("rk_test_"));

    let mail = "Message-ID: <1@x.example>\r\nFrom: a@x.example\r\nSubject: Hi\r\n\r\nHello\r\n";
    let files = ["one.eml", "two.eml"].map(|name| site.folder.join(name).display().to_string());
    files.iter().for_each(|file| std::fs::write(file, mail).unwrap());
    let mailbox = text(&help, "mailbox");
    let fixed = ["import-mail", "--workspace", &workspace, "--mailbox", &mailbox];
    let imported = site.admin(&[&fixed[..], &[&files[0], &files[1], "missing.eml"]].concat());
    assert_eq!(imported, json!({ "imported": 1, "duplicates": 1, "failed": 1 }));

    // Without --json it is a sentence; what cannot be done is one on standard error, with exit code 1.
    let spoken = site.run(&["admin", "revoke-key", "--workspace", &workspace, "--agent", &agent]);
    assert_eq!(String::from_utf8(spoken.stdout).unwrap(), format!("Revoked the key of {agent}.\n"));
    let by_member = ["--maker", &user, "--name", "x", "--scopes", "read", "--mode", "live"];
    for (arguments, sentence) in [
        (
            [&["create-key", "--workspace", &workspace][..], &by_member].concat(),
            "Only owners and admins can make keys.",
        ),
        (
            [&["create-key", "--workspace", "wsp_0000000000000"][..], &by_member].concat(),
            "No such workspace, or it is being moved.",
        ),
    ] {
        let refused = site.run(&[&["admin", "--json"], &arguments[..]].concat());
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
        assert_eq!(String::from_utf8(refused.stderr).unwrap(), format!("rookery: {sentence}\n"));
    }
}

#[tokio::test]
async fn a_start_that_cannot_work_is_refused_with_a_sentence_that_helps() {
    let site = Site::empty().await;
    let refusal = |command: &mut Command| {
        let output = command.output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let unmigrated = refusal(&mut site.command(&["serve"]));
    assert!(unmigrated.contains("run: rookery migrate"), "{unmigrated}");
    let unknown = refusal(site.command(&["serve"]).env("ROOKERY_LISTNE", "127.0.0.1:1"));
    assert!(unknown.contains("listne"), "{unknown}");
    let keyless = refusal(site.command(&["serve"]).env_remove("ROOKERY_SECRET_KEY"));
    assert!(keyless.contains("openssl rand -base64 32"), "{keyless}");
    let short = refusal(site.command(&["serve"]).env("ROOKERY_SECRET_KEY", "c2hvcnQ="));
    assert!(short.contains("32 bytes") && !short.contains("c2hvcnQ="), "{short}");
    let nowhere = "postgres://me:hunter2@127.0.0.1:1/nothing";
    let unreachable = refusal(site.command(&["migrate"]).env("ROOKERY_DATABASE_URL", nowhere));
    assert!(
        unreachable.contains("ROOKERY_DATABASE_URL") && !unreachable.contains("hunter2"),
        "{unreachable}"
    );
    assert!(site.run(&["migrate"]).status.success());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let busy = refusal(site.command(&["serve"]).env("ROOKERY_LISTEN", &address));
    assert!(busy.contains(&address) && busy.contains("ROOKERY_LISTEN"), "{busy}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_limit_is_told_loudly_and_a_plain_start_warns_of_nothing() {
    let site = Site::migrated().await;
    let settings = [("ROOKERY_RATE_LIMIT_REQUESTS", "7"), ("ROOKERY_RATE_LIMIT_WINDOW_SECONDS", "30")];
    let changed = site.serve("changed", &settings).await.log();
    for words in ["rate_limit_requests is 7 instead of 120", "rate_limit_window_seconds is 30 instead of 60"]
    {
        let line = changed.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{changed}"));
        assert!(line.contains("\"level\":\"WARN\"") && line.contains("NOT FOR PRODUCTION"), "{line}");
    }
    let plain = site.serve("plain", &[]).await.log();
    assert!(plain.contains("serving") && !plain.contains("WARN"), "{plain}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_told_to_stop_finishes_what_it_began() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let mut node = site.serve("one", &[]).await;
    // A lock on the table keeps the request waiting while the node is told to stop.
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("lock table tags in access exclusive mode").execute(&mut *tx).await.unwrap();
    let waiting = site.get(&node, "/api/v1/tags", &key);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        node.terminate();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(
            site.http.get(format!("{}/livez", node.address)).send().await.is_err(),
            "it takes no new requests"
        );
        tx.rollback().await.unwrap();
    };
    let (reply, ()) = futures::join!(waiting, stopping);
    assert_eq!((reply.status, reply.text.as_str()), (200, "[]"));
    assert_eq!(node.ended().await, Some(0));
    assert!(node.log().contains("stopping"));
}

/// proves: AUTH-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_log_nor_database_holds_a_key_and_the_log_no_customers_words() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    // The most talkative log there is.
    let mut node = site.serve("one", &[("ROOKERY_LOG", "trace")]).await;
    let canary = "zanzibarcanary";
    let mail = json!({
        "from": format!("{canary}@customer.test"), "name": canary, "subject": canary, "text": format!("It says {canary}."),
        "attachments": [{ "filename": format!("{canary}.txt"), "contentType": "text/plain", "content": "emFueg==" }],
    });
    let url = |path: &str| format!("{}{path}", node.address);
    let inbound = site.http.post(url("/api/v1/sandbox/inbound")).bearer_auth(&key).json(&mail);
    let made = Reply::of(inbound).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let conversation = text(&made.json(), "conversationId");
    for path in [
        format!("/api/v1/conversations?q={canary}"),
        format!("/api/v1/documents?q={canary}"),
        format!("/api/v1/conversations/{conversation}"),
    ] {
        let reply = site.get(&node, &path, &key).await;
        assert!(reply.status == 200 && reply.text.contains(canary), "{path}: {}", reply.text);
    }
    // Refused and failed requests are logged too.
    for path in [
        format!("/api/v1/conversations?limit=0&q={canary}"),
        format!("/api/v1/{canary}"),
        format!("/api/v1/me?key={key}"),
    ] {
        site.get(&node, &path, &key).await;
        site.get(&node, &path, &format!("{key}x")).await;
    }
    let broken =
        site.http.post(url("/api/v1/sandbox/inbound")).bearer_auth(&key).body(format!("{{\"{canary}"));
    assert_eq!(Reply::of(broken).await.status, 400);
    for arguments in [json!({ "q": canary }), json!({ "q": canary, "limit": 0 })] {
        let params = json!({ "name": "list_conversations", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = site.http.post(url("/mcp")).bearer_auth(&key).json(&call);
        assert_eq!(Reply::of(request).await.status, 200);
    }
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    sqlx::query("alter table documents rename to documents_gone").execute(&pool).await.unwrap();
    let failed = site.http.post(url("/api/v1/sandbox/inbound")).bearer_auth(&key).json(&mail);
    assert_eq!(Reply::of(failed).await.status, 500);
    assert_eq!(site.get(&node, &format!("/api/v1/documents?q={canary}"), &key).await.status, 500);
    sqlx::query("alter table documents_gone rename to documents").execute(&pool).await.unwrap();

    node.terminate();
    assert_eq!(node.ended().await, Some(0));
    let log = node.log();
    assert!(log.lines().filter(|line| line.contains("\"message\":\"request\"")).count() >= 14, "{log}");
    assert!(log.contains("\"status\":500") && log.contains("request failed") && log.contains(&workspace));
    let secret = &key["rk_test_".len()..];
    for word in [canary, secret, &secret[..20], SECRET_KEY, "emFueg"] {
        let line = log.lines().find(|line| line.contains(word));
        assert_eq!(line, None, "the log holds {word}");
    }
    let rows = rows_of(&pool).await;
    assert!(rows["public.agents"].len() == 1 && rows["public.messages"].len() == 1);
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    for row in rows.values().flatten() {
        assert!(!row.contains(secret) && !row.contains(&hex), "a row holds the key: {row}");
    }
}
