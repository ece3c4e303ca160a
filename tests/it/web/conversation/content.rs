//! An origin of its own for the HTML of mails: what it answers, to whom, until when, and that nothing else is there.

use chrono::TimeDelta;
use reqwest::Method;
use rookery_core::workspace::people::Role;

use super::{stored, with_file, with_html};
use rookery_world::browser::{Browser, Shown};
use rookery_world::story_with;

const ORIGIN: &str = "https://mail.example";
const SETTINGS: &[(&str, &str)] = &[("CONTENT_URL", ORIGIN)];

/// A table, so that it is shown as laid out.
fn laid_out(rest: &str) -> String {
    format!("<table>{}</table>{rest}", "<tr><td>x</td></tr>".repeat(8))
}

/// Asks the content host, with any cookie the browser has.
async fn there(browser: &Browser<'_>, path: &str) -> Shown {
    browser.send(browser.request(Method::GET, path).header("host", "mail.example")).await
}

/// The path of the first frame of a page.
#[track_caller]
fn frame_of(page: &str) -> String {
    let source = page.split("<iframe src=\"").nth(1).expect("a frame").split('"').next().unwrap();
    source.strip_prefix(ORIGIN).unwrap_or_else(|| panic!("{source} is not there")).to_owned()
}

#[tokio::test]
async fn mail_is_framed_from_its_own_origin_and_only_there() {
    story_with(SETTINGS, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let html = laid_out("<p>Hello</p><img src=\"cid:logo\"><img src=\"https://pictures.test/a.png\">");
        let (conversation, message) = stored(acme.receives(help, &with_html("News", &html)).await);
        let owner = world.browser(acme.id, acme.owner).await;
        let shown = owner.get(&format!("/conversations/{conversation}")).await;
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.ends_with("frame-src 'self' https://mail.example"), "{policy}");
        let page = shown.page();
        assert!(page.contains("sandbox=\"allow-popups allow-popups-to-escape-sandbox\""));
        let frame = frame_of(&page);
        // No cookie counts there: nobody is signed in.
        let nobody = world.browser_with("");
        let shown = there(&nobody, &frame).await;
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy,
            "default-src 'none'; style-src 'unsafe-inline'; img-src https://mail.example; base-uri 'none'; form-action \
             'none'; frame-ancestors https://rookery.example; sandbox allow-popups allow-popups-to-escape-sandbox"
        );
        assert!(shown.headers.get("x-frame-options").is_none() && shown.headers.get("set-cookie").is_none());
        assert_eq!(shown.headers["cache-control"], "private, no-store");
        let body = shown.page();
        assert!(body.contains("<p>Hello</p>") && !body.contains("pictures.test"), "{body}");
        let logo = format!("{frame}/files/0");
        assert!(body.contains(&format!("src=\"{logo}\"")), "{body}");
        let logo = there(&nobody, &logo).await;
        assert_eq!((logo.status, logo.headers["content-type"].to_str().unwrap()), (200, "image/gif"));
        assert_eq!(logo.headers["cross-origin-resource-policy"], "cross-origin");
        // The app does not frame it any more, and the content's host has nothing of the app.
        assert_eq!(owner.get(&format!("/messages/{message}/html")).await.status, 404);
        assert_eq!(owner.get(&frame).await.status, 404);
        for path in [
            "/",
            "/inbox",
            "/sign-in",
            "/readyz",
            "/metrics",
            "/api/v1/me",
            "/mail/",
            &format!("/conversations/{conversation}"),
            &format!("/messages/{message}/html"),
            &format!("/messages/{message}/files/0"),
            &format!("/messages/{message}/files/0/preview"),
            &format!("{frame}/files/1"),
        ] {
            assert_eq!(there(&owner, path).await.status, 404, "{path}");
        }
        let form = owner.request(Method::POST, "/sign-out").header("host", "mail.example:443");
        let form = form.header("origin", ORIGIN).header("sec-fetch-site", "same-origin");
        assert_eq!(owner.send(form).await.status, 404);
        assert_eq!(owner.get("/inbox").await.status, 200, "the session goes on");
    })
    .await;
}

#[tokio::test]
async fn an_address_is_for_one_reader_and_one_message_and_ends() {
    story_with(SETTINGS, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let (hidden, secret) = stored(acme.receives(own, &with_html("Hers", &laid_out("Hers"))).await);
        let (open, message) = stored(acme.receives(help, &with_html("Ours", &laid_out("Ours"))).await);
        let hers = world.browser(acme.id, mia).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let nobody = world.browser_with("");
        let see = async |browser: &Browser<'_>, conversation: &str| {
            frame_of(&browser.get(&format!("/conversations/{conversation}")).await.page())
        };
        let frame = see(&owner, &open).await;
        assert_eq!(frame, see(&owner, &open).await, "a page that is refreshed keeps its frame");
        assert_eq!(there(&nobody, &frame).await.status, 200);
        let her_frame = see(&hers, &hidden).await;
        assert_eq!(there(&nobody, &her_frame).await.status, 200);
        // Another message, reader, session, time or choice is another signature.
        let (message, secret) = (message.to_string(), secret.to_string());
        let parts: Vec<&str> = frame.split('.').collect();
        for (n, other) in [
            (0, format!("/mail/{secret}")),
            (1, "1".into()),
            (2, mia.to_string()),
            (3, "ses_0000000000001".into()),
            (4, "1".into()),
            (5, "99999999999".into()),
            (6, "AAAA".into()),
        ] {
            let mut forged = parts.clone();
            forged[n] = &other;
            assert_eq!(there(&nobody, &forged.join(".")).await.status, 404, "{n}");
        }
        assert!(frame.starts_with(&format!("/mail/{message}.")));
        // It ends with the session, and after an hour in any case.
        hers.post("/sign-out", &[]).await;
        let ended = there(&nobody, &her_frame).await;
        assert_eq!((ended.status, ended.html.as_str()), (404, "Load the page again to see this mail.\n"));
        world.app.clock.advance(TimeDelta::minutes(29));
        assert_eq!(there(&nobody, &frame).await.status, 200);
        world.app.clock.advance(TimeDelta::minutes(31));
        assert_eq!(there(&nobody, &frame).await.status, 404);
        let fresh = see(&owner, &open).await;
        assert_ne!(fresh, frame);
        assert_eq!(there(&nobody, &fresh).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn pictures_of_the_web_need_an_address_that_allows_them() {
    story_with(SETTINGS, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let html = laid_out("<img src=\"https://pictures.test/a.png\">");
        let (conversation, message) = stored(acme.receives(help, &with_html("News", &html)).await);
        let owner = world.browser(acme.id, acme.owner).await;
        let off = frame_of(&owner.get(&format!("/conversations/{conversation}")).await.page());
        let page = owner.get(&format!("/conversations/{conversation}?images={message}")).await.page();
        let on = frame_of(&page);
        let body = there(&owner, &on).await.page();
        let picture = body.split("src=\"").find(|part| part.contains("/images/")).expect("a picture");
        let picture = picture.split('"').next().unwrap();
        assert!(picture.starts_with(&format!("{on}/images/{message}.")), "{picture}");
        // There is no such name, so there is no picture; but the address was taken.
        let shown = there(&owner, picture).await;
        assert_eq!((shown.status, shown.html.as_str()), (404, ""));
        let refused = "Load the page again to see this mail.\n";
        for forged in [picture.replace(&on, &off), picture[..picture.len() - 1].to_owned()] {
            let shown = there(&owner, &forged).await;
            assert_eq!((shown.status, shown.html.as_str()), (404, refused), "{forged}");
        }
        assert_eq!(
            owner.get(picture.strip_prefix(&on).unwrap()).await.status,
            404,
            "not on the app's own host"
        );
    })
    .await;
}

#[tokio::test]
async fn files_that_are_no_pictures_of_the_mail_are_not_there() {
    story_with(SETTINGS, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let html = with_html("Two", &laid_out("<img src=\"cid:logo\">"));
        let pdf = "Content-Type: application/pdf; name=a.pdf\r\nContent-ID: <logo>\r\nContent-Disposition: inline; \
                   filename=a.pdf";
        // The picture's bytes are a PDF now.
        let html = html.replace("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "JVBERi0xLjQKJQ==");
        let (conversation, message) = stored(acme.receives(help, &html).await);
        let owner = world.browser(acme.id, acme.owner).await;
        let frame = frame_of(&owner.get(&format!("/conversations/{conversation}")).await.page());
        assert_eq!(owner.get(&format!("/messages/{message}/files/0/preview")).await.status, 200);
        assert_eq!(there(&owner, &format!("{frame}/files/0")).await.status, 404);
        // A mail without HTML has no frame; a ticket for one cannot be had.
        let (plain, _) = stored(acme.receives(help, &with_file("One", pdf, "JVBERi0xLjQKJQ==")).await);
        let page = owner.get(&format!("/conversations/{plain}")).await.page();
        assert!(!page.contains("<iframe"));
    })
    .await;
}
