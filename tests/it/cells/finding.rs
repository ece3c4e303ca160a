//! A request, a page and a mail find their workspace's cell, whichever node they reach.

use std::time::{Duration, Instant};

use futures::future::join_all;
use rookery_base::ids::WorkspaceId;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use url::form_urlencoded;

use super::fleet::{Fleet, Serves, Tenant};
use rookery_world::Reply;
use rookery_world::mail::client::Client;
use rookery_world::mail::dns::Zone;
use rookery_world::ports;
use rookery_world::programs::client_sign_in::{VERIFIER, challenge, parameter, way_back};
use rookery_world::site::{Node, text};

async fn get(fleet: &Fleet, node: &Node, path: &str, key: &str) -> Reply {
    fleet.site.get(node, path, key).await
}

async fn simulate(fleet: &Fleet, node: &Node, tenant: &Tenant, subject: &str) -> Reply {
    let mail = json!({ "from": "carla@customer.test", "subject": subject, "text": "Hello" });
    let request = fleet.site.http.post(format!("{}/api/v1/sandbox/inbound", node.address));
    Reply::of(request.bearer_auth(&tenant.test).json(&mail)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_workspaces_go_to_the_emptiest_cell_and_one_node_serves_both() {
    let fleet = Fleet::new().await;
    let (first, second) = (fleet.workspace("Acme"), fleet.workspace("Birch"));
    let mut cells = [fleet.lives_in(&first).await, fleet.lives_in(&second).await];
    cells.sort();
    assert_eq!(cells, ["main", "west"]);
    let node = fleet.serve("both", Serves::Both, &[]).await;
    for tenant in [&first, &second] {
        assert_eq!(simulate(&fleet, &node, tenant, "Order").await.status, 201);
        let listed = get(&fleet, &node, "/api/v1/conversations", &tenant.test).await;
        assert_eq!((listed.status, listed.json().as_array().unwrap().len()), (200, 1), "{}", listed.text);
        let cell = fleet.lives_in(tenant).await;
        let other = if cell == "main" { "west" } else { "main" };
        assert!(fleet.rows(&cell, tenant).await > 0);
        assert_eq!(fleet.rows(other, tenant).await, 0, "nothing of it is anywhere else");
    }
    let drained = fleet.run(&["cells", "drain", "main", "--only-mark"]);
    assert!(drained.status.success(), "{drained:?}");
    assert_eq!(fleet.lives_in(&fleet.workspace("Cedar")).await, "west");
    let listed = String::from_utf8(fleet.run(&["cells", "list"]).stdout).unwrap();
    assert!(listed.contains("draining") && listed.contains("2 workspaces"), "{listed}");

    let drained = tokio::task::block_in_place(|| fleet.run(&["cells", "drain", "main"]));
    assert!(drained.status.success(), "{drained:?}");
    for tenant in [&first, &second] {
        assert_eq!(fleet.lives_in(tenant).await, "west");
        assert_eq!(fleet.rows("main", tenant).await, 0, "nothing of it stays");
        let listed = get(&fleet, &node, "/api/v1/conversations", &tenant.test).await;
        assert_eq!((listed.status, listed.json().as_array().unwrap().len()), (200, 1), "{}", listed.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reaches_a_node_of_another_cell_is_sent_on_once() {
    let fleet = Fleet::new().await;
    let (acme, birch) = (fleet.workspace("Acme"), fleet.workspace("Birch"));
    let (smtp, lmtp) = (ports::free().to_string(), ports::free().to_string());
    let zone = Zone::serve(&[]).await;
    let dns = ("ROOKERY_DNS", &*zone.address.to_string());
    let main = fleet.serve("main", Serves::Main, &[("ROOKERY_SMTP_LISTEN", &smtp), dns]).await;
    let west = fleet.serve("west", Serves::West, &[("ROOKERY_LMTP_LISTEN", &lmtp), dns]).await;
    let (here, there) = match fleet.lives_in(&acme).await.as_str() {
        "main" => (&acme, &birch),
        _ => (&birch, &acme),
    };
    assert_eq!(get(&fleet, &main, "/api/v1/me", &here.live).await.status, 200);
    assert_eq!(
        get(&fleet, &main, "/api/v1/me", &there.live).await.status,
        500,
        "nobody knows where its nodes are"
    );
    let known = fleet.run(&["cells", "add", "west", "--address", &west.address, "--mail-address", &lmtp]);
    assert!(known.status.success(), "{known:?}");
    tokio::time::sleep(rookery_base::cells::REMEMBERED_FOR).await;

    // Programs.
    let me = get(&fleet, &main, "/api/v1/me", &there.live).await;
    assert_eq!((me.status, &me.text), (200, &get(&fleet, &west, "/api/v1/me", &there.live).await.text));
    assert_eq!(simulate(&fleet, &main, there, "Order").await.status, 201);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "list_conversations", "arguments": {} } });
    let request = fleet.site.http.post(format!("{}/mcp", main.address)).bearer_auth(&there.test).json(&list);
    let listed = Reply::of(request).await;
    assert!(listed.status == 200 && listed.text.contains("Order"), "{}", listed.text);
    let request = fleet.site.http.get(format!("{}/api/v1/me", main.address)).bearer_auth(&there.live);
    let again = Reply::of(request.header("rookery-sent-on", "1")).await;
    assert_eq!(again.status, 500, "it is not sent on a second time");
    assert_eq!(get(&fleet, &main, "/api/v1/me", "rk_live_nobody").await.status, 401);
    hang_up_in_the_body(&main, &there.test).await;
    let listed = get(&fleet, &west, "/api/v1/conversations", &there.test).await;
    assert_eq!(listed.json().as_array().unwrap().len(), 1, "half a request is none: {}", listed.text);

    // People.
    let link = fleet.admin(&["sign-in-link", "--workspace", &there.id, "--person", &there.owner]);
    let path =
        text(&link, "url").split_once("/sign-in/").map(|(_, token)| format!("/sign-in/{token}")).unwrap();
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let signed_in = browser.post(format!("{}{path}", main.address)).send().await.unwrap();
    assert_eq!(signed_in.status(), 303, "{}", signed_in.text().await.unwrap());
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let inbox = Reply::of(browser.get(format!("{}/inbox", main.address)).header("cookie", &cookie)).await;
    assert_eq!(inbox.status, 200, "{}", inbox.text);
    // What else names a workspace leads nobody away from their own.
    for (path, name, value) in [
        (format!("/inbox?next={}", here.id), "x-workspace", String::new()),
        ("/inbox".to_owned(), "authorization", format!("Bearer {}.{}", here.id, "0".repeat(64))),
        ("/inbox".to_owned(), "cookie", format!("theme={}.0; rookery_half={}.0", here.id, here.id)),
        (format!("/search?q={}", here.id), "referer", format!("/upload/{}", here.id)),
    ] {
        let request = browser.get(format!("{}{path}", main.address)).header("cookie", &cookie);
        let page = Reply::of(request.header(name, &value)).await;
        assert_eq!(page.status, 200, "{path} {name}: {value}");
    }

    // Programs that people sign in to: whichever node they ask, for whatever.
    let site = &fleet.site.http;
    let told = site.get(format!("{}/.well-known/oauth-authorization-server/oauth", main.address));
    let issuer = Reply::of(told).await.json()["issuer"].as_str().unwrap().to_owned();
    let asked = json!({ "client_name": "Helper", "redirect_uris": ["http://localhost/back"] });
    let made = Reply::of(site.post(format!("{}/oauth/register", west.address)).json(&asked)).await;
    let client = made.json()["client_id"].as_str().unwrap().to_owned();
    let challenge = challenge(VERIFIER);
    let form = |fields: &[(&str, &str)]| {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    };
    let consent = form(&[
        ("response_type", "code"),
        ("client_id", &client),
        ("redirect_uri", "http://localhost:7/back"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("decision", "allow"),
        ("name", "Helper"),
        ("mode", "test"),
    ]);
    let request = browser.post(format!("{}/oauth/authorize", main.address)).body(consent);
    let request = request.header("cookie", &cookie).header("origin", issuer.trim_end_matches("/oauth"));
    let allowed = Reply::of(request.header("content-type", "application/x-www-form-urlencoded")).await;
    let code = parameter(&way_back(&allowed.text), "code").unwrap();
    let token = async |fields: &[(&str, &str)]| {
        let request = site.post(format!("{}/oauth/token", main.address)).body(form(fields));
        let reply = Reply::of(request.header("content-type", "application/x-www-form-urlencoded")).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    };
    let first = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("client_id", &client),
        ("code_verifier", VERIFIER),
    ];
    let first = token(&first).await;
    let refresh = first["refresh_token"].as_str().unwrap();
    let second =
        token(&[("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", &client)]).await;
    for given in [&first, &second] {
        let access = given["access_token"].as_str().unwrap();
        let request = site.post(format!("{}/mcp/sign-in", main.address)).bearer_auth(access).json(&list);
        let listed = Reply::of(request).await;
        assert!(listed.status == 200 && listed.text.contains("Order"), "{}", listed.text);
    }

    // Customers' mail.
    fleet.admin(&[
        "create-mailbox",
        "--workspace",
        &there.id,
        "--address",
        "help@birch.example",
        "--name",
        "Help",
    ]);
    let raw = "Message-ID: <1@customer.example>\r\nFrom: carla@customer.example\r\nTo: help@birch.example\r\n\
               Subject: By mail\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
               --b\r\n\r\nHello\r\n--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=bill.txt\r\n\r\n\
               Invoice 7\r\n--b--\r\n";
    let mut client = Client::greeted(smtp.parse().unwrap()).await;
    let answer = client.mail("carla@customer.example", "help@birch.example", raw).await;
    assert_eq!(answer.code, 250, "{answer:?}");
    let listed = get(&fleet, &west, "/api/v1/conversations", &there.live).await;
    assert!(listed.text.contains("By mail"), "a 250 is said after the other cell's commit: {}", listed.text);

    // Files.
    let document = a_document(&fleet, &main, there).await;
    let asked = get(&fleet, &main, &format!("/api/v1/documents/{document}/download"), &there.live).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    let link = text(&asked.json(), "url");
    let path = &link[link.find("/files/").expect("a link to a file")..];
    for node in [&main, &west] {
        let file = Reply::of(fleet.site.http.get(format!("{}{path}", node.address))).await;
        assert_eq!((file.status, file.text.trim()), (200, "Invoice 7"));
    }
    drop(west);
    let mut client = Client::greeted(smtp.parse().unwrap()).await;
    let answer =
        client.mail("carla@customer.example", "help@birch.example", &raw.replace("<1@", "<2@")).await;
    assert_eq!(answer.code, 451, "{answer:?}");
    assert_eq!(
        get(&fleet, &main, "/api/v1/me", &here.live).await.status,
        200,
        "one cell that is away is one cell"
    );
}

/// The first that was made of their mail.
async fn a_document(fleet: &Fleet, node: &Node, tenant: &Tenant) -> String {
    for _ in 0..600 {
        let listed = get(fleet, node, "/api/v1/documents", &tenant.live).await;
        if let [document, ..] = &listed.json().as_array().unwrap()[..] {
            return text(document, "id");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("mail with a file has no document");
}

/// Once a byte before the end that was promised, once without the chunk that says that this is the end.
async fn hang_up_in_the_body(node: &Node, key: &str) {
    let mail = r#"{"from":"carla@customer.test","subject":"Cut off","text":"Hello"}"#;
    let (length, half) = (mail.len(), &mail[..mail.len() - 1]);
    for (header, body) in [
        (format!("content-length: {length}"), half.to_owned()),
        ("transfer-encoding: chunked".to_owned(), format!("{length:x}\r\n{mail}\r\n")),
    ] {
        let mut stream = TcpStream::connect(node.address.trim_start_matches("http://")).await.unwrap();
        let request = format!(
            "POST /api/v1/sandbox/inbound HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\n{header}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        // It is on its way to the other node by then.
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(stream);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_signs_in_is_looked_for_in_every_cell() {
    let fleet = Fleet::new().await;
    let tenants = [fleet.workspace("Acme"), fleet.workspace("Birch")];
    let node = fleet.serve("both", Serves::Both, &[]).await;
    for (tenant, name) in tenants.iter().zip(["acme", "birch"]) {
        let form = fleet
            .site
            .http
            .post(format!("{}/sign-in", node.address))
            .body(format!("email=olga%40{name}.example"));
        let asked = Reply::of(form.header("content-type", "application/x-www-form-urlencoded")).await;
        assert_eq!(asked.status, 200, "{}", asked.text);
        let pool = fleet.pool(&fleet.lives_in(tenant).await).await;
        let links: i64 = sqlx::query_scalar("select count(*) from notices where workspace_id = $1")
            .bind(tenant.number())
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(links, 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_and_names_that_strangers_make_up_take_one_connection() {
    let fleet = Fleet::new().await;
    let node = fleet.serve("both", Serves::Both, &[]).await;
    let pool = fleet.pool("main").await;
    for (table, path) in [
        ("directory.cells", (|number| format!("/upload/{}/x", WorkspaceId(number))) as fn(i64) -> String),
        ("directory.workspaces", |number| format!("/book/nobody-{number}")),
    ] {
        #[expect(clippy::disallowed_methods, reason = "the pool is the test's own")]
        let mut tx = pool.begin().await.unwrap();
        let lock = format!("lock table {table} in access exclusive mode");
        sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *tx).await.unwrap();
        let status = async |path: &str| {
            fleet.site.http.get(format!("{}{path}", node.address)).send().await.unwrap().status().as_u16()
        };
        let strangers = join_all((0..200).map(async |number| status(&path(number)).await));
        let honest = async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let started = Instant::now();
            let ready = status("/readyz").await;
            let took = started.elapsed();
            tx.rollback().await.unwrap();
            (ready, took)
        };
        let (codes, (ready, took)) = futures::join!(strangers, honest);
        assert_eq!((codes, ready), (vec![404; 200], 200), "{table}");
        assert!(took < Duration::from_secs(2), "it waited for strangers: {took:?}");
    }
}
