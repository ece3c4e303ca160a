//! Figures have a listener of their own, and tell what was done; traces go to a collector when one is named.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use rookery_world::ports;
use rookery_world::site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_tell_what_was_done_and_are_not_public() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let figures = ports::free().to_string();
    let node = site.serve("one", &[("ROOKERY_METRICS_LISTEN", &figures)]).await;
    assert_eq!(site.get(&node, "/api/v1/conversations", &key).await.status, 200);
    assert_eq!(site.get(&node, "/api/v1/conversations", "rk_test_wrong").await.status, 401);
    assert_eq!(site.get(&node, "/sign-in", &key).await.status, 200);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_tags", "arguments": {} } });
    let called = site.http.post(format!("{}/mcp", node.address)).bearer_auth(&key).json(&body).send().await;
    assert_eq!(called.unwrap().status(), 200);

    assert_eq!(site.get(&node, "/metrics", &key).await.status, 404, "the public listener has no figures");
    let answer = site.http.get(format!("http://{figures}/metrics")).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.unwrap();
    for line in [
        "rookery_requests_total{door=\"api\",method=\"GET\",operation=\"list_conversations\",code=\"200\"} 1",
        "rookery_requests_total{door=\"api\",method=\"GET\",operation=\"none\",code=\"401\"} 1",
        "rookery_requests_total{door=\"web\",method=\"GET\",operation=\"/sign-in\",code=\"200\"} 1",
        "rookery_requests_total{door=\"tool\",method=\"POST\",operation=\"list_tags\",code=\"200\"} 1",
        "rookery_request_seconds_count{door=\"api\",method=\"GET\",operation=\"list_conversations\"} 1",
        "rookery_live_streams 0",
        "rookery_database_connections_most 10",
        "rookery_sends_total{mode=\"live\",outcome=\"accepted\"} 0",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} in {text}");
    }
    for begin in [
        "rookery_build_info{version=\"",
        "process_resident_memory_bytes ",
        "rookery_loop_lag_seconds{loop=\"send\"} ",
    ] {
        assert!(text.lines().any(|written| written.starts_with(begin)), "{begin} in {text}");
    }
    // No word of a request is ever a label.
    assert!(!text.contains(&workspace) && !text.contains("rk_test"), "{text}");
    for (path, status) in [("/readyz", 200), ("/api/v1/me", 404), ("/", 404)] {
        let answer = site.http.get(format!("http://{figures}{path}")).bearer_auth(&key).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path} beside the figures");
    }
}

/// The body of the first POST that comes with one, answered 200.
async fn first_post(listener: tokio::net::TcpListener) -> Value {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut read = Vec::new();
    loop {
        let mut piece = [0; 8192];
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "it ended early");
        read.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(body) = serde_json::from_str(body) {
            assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            return body;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_follow_the_caller_and_hold_no_words() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "test");
    let collector = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", collector.local_addr().unwrap());
    let node = site.serve("one", &[("ROOKERY_TRACES_URL", &url)]).await;
    let asked = site
        .http
        .get(format!("{}/api/v1/conversations?q=secretword", node.address))
        .header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0bb902b7-01")
        .bearer_auth(&key);
    assert_eq!(asked.send().await.unwrap().status(), 200);
    let told = tokio::time::timeout(Duration::from_secs(20), first_post(collector)).await.unwrap();
    let spans = told["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let span = spans.iter().find(|span| span["name"] == "GET list_conversations").expect("its span");
    assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(span["parentSpanId"], "00f067aa0bb902b7");
    assert!(!told.to_string().contains("secretword") && !told.to_string().contains(&key), "{told}");
}
