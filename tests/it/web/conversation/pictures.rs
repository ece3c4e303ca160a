//! Pictures of the web: off until somebody asks, then through us; never from an address that is not public, whatever the
//! mail, a name or a redirect says; never anything but a picture.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rookery_base::ids::WorkspaceId;
use rookery_base::net::outside::Outside;
use rookery_base::net::pictures::Pictures;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use super::{stored, with_html};
use rookery_world::story;

const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;";

/// A web server that answers each path as it is told; it notes what it was asked.
async fn server(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (noted, answer) = (asked.clone(), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (noted, answer) = (noted.clone(), answer.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let read = stream.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                noted.lock().unwrap().push(head);
                let _ = stream.write_all(&answer(&path)).await;
            });
        }
    });
    (address, asked)
}

fn ok(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn to(location: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn nothing_is_fetched_from_this_machine_a_private_network_or_in_the_clear() {
    story(async |world| {
        let (here, asked) = server(|_| ok("image/gif", GIF)).await;
        let port = Url::parse(&here).unwrap().port().unwrap();
        for address in [
            format!("http://127.0.0.1:{port}/a.gif"),
            format!("https://127.0.0.1:{port}/a.gif"),
            format!("https://localhost:{port}/a.gif"),
            format!("https://[::1]:{port}/a.gif"),
            format!("https://[::ffff:127.0.0.1]:{port}/a.gif"),
            format!("https://2130706433:{port}/a.gif"),
            format!("https://0x7f.1:{port}/a.gif"),
            format!("https://127.1:{port}/a.gif"),
            format!("https://0.0.0.0:{port}/a.gif"),
            "https://169.254.169.254/latest/meta-data".into(),
            "https://10.0.0.1/a.gif".into(),
            "https://192.168.1.1/a.gif".into(),
            "https://metadata.internal/a.gif".into(),
            "https://printer.local/a.gif".into(),
            "ftp://93.184.216.34/a.gif".into(),
            "file:///etc/passwd".into(),
        ] {
            let address = Url::parse(&address).unwrap();
            assert!(world.app.pictures.fetch(WorkspaceId(1), &address).await.is_none(), "{address}");
        }
        assert_eq!(asked.lock().unwrap().len(), 0, "nobody was asked");
    })
    .await;
}

#[tokio::test]
async fn a_redirect_is_followed_to_public_addresses_only_and_not_for_ever() {
    let (inside, asked) = server(|_| ok("image/gif", GIF)).await;
    let private = format!("{}/secret", inside.replace("127.0.0.1", "127.0.0.2"));
    let (outside, _) = server(move |path| match path {
        "/private" => to(&private),
        "/metadata" => to("https://169.254.169.254/latest"),
        "/script" => to("javascript:alert(1)"),
        "/loop" => to("/loop"),
        "/once" => to("/a.gif"),
        _ => ok("text/html", GIF),
    })
    .await;
    let time = Duration::from_secs(10);
    // The one address of the server stands for the public web.
    let web = Outside::new(vec!["127.0.0.1/32".parse().unwrap()], &[], None, time).unwrap();
    let pictures = Pictures::new(web);
    for path in ["/private", "/metadata", "/script", "/loop"] {
        let address = Url::parse(&format!("{outside}{path}")).unwrap();
        assert!(pictures.fetch(WorkspaceId(1), &address).await.is_none(), "{path}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    let fetched = pictures
        .fetch(WorkspaceId(1), &Url::parse(&format!("{outside}/once")).unwrap())
        .await
        .expect("a picture");
    assert_eq!(
        (fetched.content_type, &fetched.bytes[..]),
        ("image/gif", GIF),
        "the type is that of the bytes"
    );
}

#[tokio::test]
async fn only_pictures_of_a_bearable_size_are_shown() {
    let (address, asked) = server(|path| match path {
        "/svg" => ok("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        "/html" => ok("image/gif", b"<script>alert(1)</script>"),
        "/large" => ok("image/gif", &[GIF, &vec![0; 5 << 20]].concat()),
        "/error" => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        "/nothing" => Vec::new(),
        _ => ok("image/gif", GIF),
    })
    .await;
    let allow = vec!["127.0.0.0/8".parse().unwrap()];
    let pictures = Pictures::new(Outside::new(allow, &[], None, Duration::from_secs(10)).unwrap());
    for path in ["/svg", "/html", "/large", "/error", "/nothing"] {
        assert!(
            pictures.fetch(WorkspaceId(1), &Url::parse(&format!("{address}{path}")).unwrap()).await.is_none(),
            "{path}"
        );
    }
    assert!(
        pictures.fetch(WorkspaceId(1), &Url::parse(&format!("{address}/a?b=c#d")).unwrap()).await.is_some()
    );
    let head = asked.lock().unwrap().last().unwrap().to_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1"), "{head}");
    assert!(!head.contains("cookie") && !head.contains("referer") && !head.contains("forwarded"), "{head}");
}

#[tokio::test]
async fn pictures_of_the_web_are_off_until_somebody_asks_and_then_come_through_us() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let html = "<table>".to_owned()
            + &"<tr><td>x</td></tr>".repeat(8)
            + "</table><img src=\"https://pictures.test/a.png\" alt=\"A cat\"><img src=\"cid:logo\">";
        let (conversation, message) = stored(acme.receives(help, &with_html("News", &html)).await);
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{conversation}")).await.page();
        assert!(
            page.contains(&format!("src=\"/messages/{message}/html\"")),
            "laid out mail is shown as it is"
        );
        assert!(page.contains("sandbox=\"allow-same-origin allow-popups allow-popups-to-escape-sandbox\""));
        assert!(page.contains("Images are blocked"));
        let frame = owner.get(&format!("/messages/{message}/html")).await.page();
        assert!(!frame.contains("pictures.test") && !frame.contains("/images/"), "{frame}");
        assert!(
            frame.contains("alt=\"A cat\"")
                && frame.contains(&format!("/messages/{message}/files/0/preview"))
        );
        // One click: the same page, and the frame with pictures.
        let page = owner.get(&format!("/conversations/{conversation}?images={message}")).await.page();
        assert!(page.contains(&format!("src=\"/messages/{message}/html?images=on\"")));
        let frame = owner.get(&format!("/messages/{message}/html?images=on")).await.page();
        let picture =
            frame.split("src=\"").find(|part| part.starts_with("/images/")).expect("a picture of ours");
        assert!(!frame.contains("src=\"https"), "{frame}");
        // There is no such name: the words that stand for it are shown.
        let shown = owner.get(picture.split('"').next().unwrap()).await;
        assert_eq!((shown.status, shown.html.len()), (404, 0));
        // Another word in the address, and it is not ours any more.
        let forged = picture.split('"').next().unwrap().replace(".", ".A");
        assert_eq!(owner.get(&forged).await.status, 404);
    })
    .await;
}

/// Whoever reads the mail again within a day would see the half that came.
#[tokio::test]
async fn a_picture_that_breaks_off_is_none() {
    let (address, _) = server(|path| match path {
        "/cut" => ok("image/gif", GIF)[..100].to_vec(),
        _ => ok("image/gif", GIF),
    })
    .await;
    let web =
        Outside::new(vec!["127.0.0.1/32".parse().unwrap()], &[], None, Duration::from_secs(10)).unwrap();
    let pictures = Pictures::new(web);
    let fetch = async |path: &str| {
        pictures.fetch(WorkspaceId(1), &Url::parse(&format!("{address}{path}")).unwrap()).await
    };
    assert!(fetch("/cut").await.is_none());
    assert!(fetch("/whole").await.is_some());
}

#[tokio::test]
async fn a_host_that_does_not_answer_keeps_no_other_waiting() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = Url::parse(&format!("http://{}/a.gif", silent.local_addr().unwrap())).unwrap();
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let other = Url::parse(&format!("http://{}/a.gif", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 8192];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(&ok("image/gif", GIF)).await;
        }
    });
    let web = Outside::new(vec!["127.0.0.0/8".parse().unwrap()], &[], None, Duration::from_secs(10)).unwrap();
    let pictures = Pictures::new(web);
    let waiting = futures::future::join_all((0..50).map(|_| pictures.fetch(WorkspaceId(1), &silent)));
    let fetched =
        async { tokio::time::timeout(Duration::from_secs(3), pictures.fetch(WorkspaceId(1), &other)).await };
    tokio::select! {
        _ = waiting => panic!("nobody answers them"),
        fetched = fetched => assert!(fetched.is_ok_and(|picture| picture.is_some()), "it had to wait"),
    }
}
