//! Files: downloads that a browser can do nothing with, previews of what is a picture or a PDF, and one answer for every
//! file that is not there for the one who asks.

use rookery_core::workspace::people::Role;

use super::{stored, with_file, with_html};
use rookery_world::{Mode, story};

const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
/// `<script>alert(1)</script>`
const SCRIPT: &str = "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==";

#[tokio::test]
async fn a_file_is_downloaded_whole_as_an_attachment_of_no_type() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let header = "Content-Type: text/html; name=\"x.html\"\r\nContent-Disposition: attachment; filename=\"x.html\"";
        let (_, message) = stored(acme.receives(help, &with_file("Run me", header, SCRIPT)).await);
        let shown = owner.get(&format!("/messages/{message}/files/0")).await;
        assert_eq!((shown.status, shown.html.as_str()), (200, "<script>alert(1)</script>"));
        assert_eq!(shown.headers["content-type"], "application/octet-stream");
        assert_eq!(shown.headers["content-length"], "25");
        assert_eq!(shown.headers["content-security-policy"], "sandbox; default-src 'none'");
        assert_eq!(shown.headers["x-content-type-options"], "nosniff");
        let disposition = shown.headers["content-disposition"].to_str().unwrap();
        assert_eq!(disposition, "attachment; filename=\"x.html\"; filename*=UTF-8''x%2Ehtml");
        // What says it is a picture and is none has no preview, whatever its name.
        let header = "Content-Type: image/png; name=\"a.png\"\r\nContent-Disposition: attachment; filename=\"a.png\"";
        let (_, message) = stored(acme.receives(help, &with_file("Look", header, SCRIPT)).await);
        assert_eq!(owner.get(&format!("/messages/{message}/files/0/preview")).await.status, 404);
        let (_, message) = stored(acme.receives(help, &with_file("Look again", header, GIF)).await);
        let shown = owner.get(&format!("/messages/{message}/files/0/preview")).await;
        assert_eq!(shown.headers["content-type"], "image/gif", "by its bytes");
        let id = acme.receives(help, &with_file("In the viewer", header, GIF)).await;
        let (id, message) = stored(id);
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        let link = format!(
            "href=\"/messages/{message}/files/0/preview\" target=\"_blank\" rel=\"noopener\" title=\"a.png\" \
             data-picture=\"/messages/{message}/files/0\""
        );
        assert!(page.contains(&link), "{page}");
        assert_eq!(shown.headers["content-security-policy"], "sandbox; default-src 'none'");
        let header = "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"bill.pdf\"";
        let (_, message) = stored(acme.receives(help, &with_file("Bill", header, "JVBERi0xLjQK")).await);
        let shown = owner.get(&format!("/messages/{message}/files/0/preview")).await;
        assert_eq!(shown.headers["content-type"], "application/pdf");
        assert!(shown.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    })
    .await;
}

#[tokio::test]
async fn a_file_name_cannot_write_into_the_header_or_the_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        for name in [
            "a\\\"; filename=\\\"evil.html",
            "=?utf-8?Q?a=0D=0ASet-Cookie:_x=3D1.pdf?=",
            "<img src=x onerror=alert(1)>.pdf",
            "..%2f..%2fetc%2fpasswd",
            "=?utf-8?Q?=E2=80=AEfdp.exe?=",
        ] {
            let header = format!(
                "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"{name}\""
            );
            let (conversation, message) =
                stored(acme.receives(help, &with_file(name, &header, "JVBERi0xLjQK")).await);
            let shown = owner.get(&format!("/messages/{message}/files/0")).await;
            assert!(!shown.headers.contains_key("set-cookie"), "{name}");
            let disposition = shown.headers["content-disposition"].to_str().unwrap();
            assert!(
                disposition.starts_with("attachment; filename=\"") && disposition.is_ascii(),
                "{disposition}"
            );
            assert_eq!(disposition.matches('"').count(), 2, "{disposition}");
            let page = owner.get(&format!("/conversations/{conversation}")).await.page();
            assert!(!page.contains("<img src=x"), "{name}");
        }
    })
    .await;
}

/// proves: VIS-16
#[tokio::test]
async fn a_hidden_foreign_simulated_and_guessed_file_frame_and_picture_are_the_same_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let html = "<p>Hello</p><img src=cid:logo><img src=https://pictures.test/a.png>";
        let (hidden, in_private) = stored(acme.receives(own, &with_html("Private", html)).await);
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.test", "Help").await;
        let (foreign, in_foreign) = stored(other.receives(theirs, &with_html("Foreign", html)).await);
        let key = acme.key("bot", "read,write", Mode::Test).await;
        let simulated =
            key.simulate(serde_json::json!({ "from": "a@b.test", "subject": "S", "text": "T" })).await;
        let header =
            "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"bill.pdf\"";
        let (_, _) = stored(acme.receives(own, &with_file("Bill", header, "JVBERi0xLjQK")).await);
        let document: i64 =
            sqlx::query_scalar("select id from documents").fetch_one(&world.app.pool).await.unwrap();
        let document = rookery_base::ids::DocumentId(document);
        let hers = world.browser(acme.id, mia).await;
        let owner = world.browser(acme.id, acme.owner).await;
        for path in [
            format!("/conversations/{hidden}"),
            format!("/messages/{in_private}/html"),
            format!("/messages/{in_private}/files/0"),
            format!("/messages/{in_private}/files/0/preview"),
            format!("/documents/{document}"),
            format!("/documents/{document}/file"),
        ] {
            assert_eq!(hers.get(&path).await.status, 200, "{path}");
        }
        // An address that was signed for her is of no use to him.
        let frame = hers.get(&format!("/messages/{in_private}/html?images=on")).await.page();
        let picture = frame.split("src=\"").find(|part| part.starts_with("/images/")).expect("a picture");
        let picture = picture.split('"').next().unwrap();
        let nothing = owner.get("/conversations/cnv_0000000000001").await;
        assert_eq!(nothing.status, 404);
        for path in [
            format!("/conversations/{hidden}"),
            format!("/conversations/{foreign}"),
            format!("/conversations/{simulated}"),
            format!("/conversations/{hidden}?earlier=1.1"),
            format!("/messages/{in_private}/html"),
            format!("/messages/{in_private}/html?images=on"),
            format!("/messages/{in_private}/files/0"),
            format!("/messages/{in_private}/files/0/preview"),
            format!("/messages/{in_foreign}/html"),
            format!("/messages/{in_foreign}/files/0"),
            format!("/messages/{in_private}/files/7"),
            format!("/messages/{in_private}/files/-1"),
            "/messages/msg_0000000000001/html".into(),
            "/messages/x/html".into(),
            format!("/documents/{document}"),
            format!("/documents/{document}/file"),
            "/documents/doc_0000000000001".into(),
            "/documents/..%2f..%2fetc%2fpasswd".into(),
            picture.to_owned(),
            "/images/x".into(),
            format!("/images/{in_private}.x.aHR0cHM6Ly9hLnRlc3Q"),
        ] {
            let shown = owner.get(&path).await;
            assert_eq!((shown.status, &shown.html), (404, &nothing.html), "{path}");
        }
        let posted = owner.post(&format!("/conversations/{hidden}/release"), &[]).await;
        assert_eq!((posted.status, &posted.html), (404, &nothing.html));
    })
    .await;
}
