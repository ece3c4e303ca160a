//! Connections: half requests, silent clients and clients that do not read are given up in time, and however many
//! there are, the doors for requests and for mail stay open to others.

use std::time::{Duration, Instant};

use rookery_base::net::fd_limit;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use rookery_world::mail::client::Client;
use rookery_world::mail::dns::Zone;
use rookery_world::mail::post::mail;
use rookery_world::ports;
use rookery_world::programs::raw::{LONG, answer, is_closed, said, socket};
use rookery_world::site::Site;

const HALF: [&[u8]; 4] =
    [b"", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"PRI * HTTP/2.0\r\n", b"P"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_half_requests_than_descriptors_keep_neither_requests_nor_mail_out_and_end_in_time() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    let (_, key) = site.key(&workspace, &owner, "bot", "live");
    site.inbox(&workspace, "help@acme.example", "Help");
    let smtp = ports::free();
    let zone = Zone::serve(&[]).await;
    let (listen, dns) = (smtp.to_string(), zone.address.to_string());
    let settings =
        [("ROOKERY_SMTP_LISTEN", &*listen), ("ROOKERY_DNS", &dns), ("ROOKERY_HTTP_TIMEOUT_SECONDS", "5")];
    // This process needs them too.
    fd_limit::raise();
    let node = site.serve_with_descriptors("one", &settings, 1024).await;
    let address = socket(&node.address);
    let mut half: Vec<TcpStream> = Vec::new();
    for number in 0..1200 {
        // Where the other side takes no more connections, the next would wait for minutes.
        let connecting = tokio::time::timeout(Duration::from_secs(5), TcpStream::connect(address)).await;
        let Ok(Ok(mut stream)) = connecting else { break };
        let _ = stream.write_all(HALF[number % HALF.len()]).await;
        half.push(stream);
    }
    for number in 0..10 {
        let reply = tokio::time::timeout(LONG, site.get(&node, "/api/v1/me", &key));
        assert_eq!(reply.await.expect("an answer in time").status, 200);
        // On a connection of its own each time.
        let mut stream = said(address, b"GET /livez HTTP/1.0\r\n\r\n").await;
        assert_eq!(answer(&mut stream).await.map(|(code, _)| code), Some(200));
        let raw = mail("anna@customer.example", &format!("Mail {number}"), "", "Hello");
        let sent = async {
            Client::greeted(smtp).await.mail("anna@customer.example", "help@acme.example", &raw).await
        };
        assert_eq!(tokio::time::timeout(LONG, sent).await.expect("an answer in time").code, 250);
    }
    let started = Instant::now();
    for stream in &mut half {
        assert!(is_closed(stream).await, "half a request is still waited for");
    }
    assert!(started.elapsed() < LONG, "it took {:?}", started.elapsed());
    assert!(half.len() > 1000, "only {} were let in", half.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_its_answers_is_given_up() {
    let site = Site::migrated().await;
    let node = site.serve("one", &[("ROOKERY_HTTP_TIMEOUT_SECONDS", "2")]).await;
    let mut stream = TcpStream::connect(socket(&node.address)).await.unwrap();
    let asking = async {
        // Until nothing more is taken, and then until the connection breaks.
        while stream.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n").await.is_ok() {}
    };
    assert!(tokio::time::timeout(LONG, asking).await.is_ok(), "the connection is still there");
    assert_eq!(site.http.get(format!("{}/livez", node.address)).send().await.unwrap().status(), 200);
}
