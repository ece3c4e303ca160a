//! `/documents`: what is listed for whom, a document with its marked lines, and setting a field right.

use reqwest::Method;
use rookery_core::workspace::people::Role;

use rookery_world::papers;
use rookery_world::papers::with_file;
use rookery_world::{Mode, story};

/// The ids of the documents of a page, in order.
fn listed(html: &str) -> Vec<String> {
    let links = html.split("class=\"lib-doc\" href=\"/documents/").skip(1);
    links.filter_map(|link| link.split('"').next()).map(str::to_owned).collect()
}

/// proves: DOC-5
#[tokio::test]
async fn the_library_lists_what_was_read_and_finds_it_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        acme.receives(inbox, &with_file("a", "a.pdf", &papers::invoice())).await;
        acme.receives(inbox, &with_file("b", "<b>.txt", b"just a few words")).await;
        acme.receives(private, &with_file("c", "secret.txt", b"hers")).await;
        world.work().await;
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/documents").await.page();
        assert_eq!(listed(&html).len(), 2);
        assert!(html.contains("Nordwind Heiztechnik GmbH") && html.contains("1,487.50 EUR"));
        assert!(html.contains("&#60;b&#62;.txt") && !html.contains("secret"));
        assert_eq!(listed(&olga.get("/documents?kind=invoice").await.page()).len(), 1);
        assert_eq!(listed(&olga.get("/documents?q=nordwind+1487.50").await.page()).len(), 1);
        assert!(olga.get("/documents?q=zebra").await.page().contains("No documents found"));
        assert_eq!(olga.get("/documents?kind=letter").await.status, 404);
        assert!(
            olga.get(&format!("/documents?q={}", "a".repeat(201))).await.page().contains("That is too long")
        );
        let theirs = world.browser(acme.id, mia).await;
        assert_eq!(listed(&theirs.get("/documents").await.page()).len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_document_shows_its_page_with_the_lines_its_fields_were_read_from() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        acme.receives(inbox, &with_file("a", "a.pdf", &papers::invoice())).await;
        world.work().await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = listed(&olga.get("/documents").await.page()).remove(0);
        let html = olga.get(&format!("/documents/{id}")).await.page();
        assert!(html.contains("class=\"doc-sheet\"") && html.contains(">Larkfield Homes</text>"), "{html}");
        for mark in 1..=5 {
            assert!(html.contains(&format!("id=\"m{mark}\"")), "mark {mark}");
        }
        assert!(html.contains("Grand total 1487.50 EUR"), "the line is told");
        assert!(html.contains("value=\"NW-4471\"") && html.contains("value=\"2031-01-20\""));
        let file = olga.get(&format!("/documents/{id}/file")).await;
        assert_eq!(file.status, 200);
        assert!(file.headers["content-disposition"].to_str().unwrap().starts_with("attachment; "));
        assert_eq!(olga.get(&format!("/documents/{id}/preview")).await.status, 404, "it is no scan");
    })
    .await;
}

#[tokio::test]
async fn a_person_sets_a_field_right_and_it_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        acme.receives(inbox, &with_file("a", "a.pdf", &papers::invoice())).await;
        world.work().await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = listed(&olga.get("/documents").await.page()).remove(0);
        let path = format!("/documents/{id}");
        let wrong = olga.post(&path, &[("amount", "a lot"), ("vendor", "Kept while typing")]).await;
        assert_eq!(wrong.status, 400);
        assert!(
            wrong.html.contains("must be a number such as 1487.50")
                && wrong.html.contains("Kept while typing")
        );
        let saved =
            olga.post(&path, &[("vendor", "Nordwind"), ("amount", "1.500,00"), ("kind", "receipt")]).await;
        assert_eq!(saved.status, 303);
        let told = key.get(&path).await.json();
        assert_eq!(
            (told["kind"].as_str(), told["fields"]["amount"].as_f64()),
            (Some("receipt"), Some(1500.0))
        );
        let html = olga.get(&path).await.page();
        assert!(
            html.contains("Was <s><bdi>Nordwind Heiztechnik GmbH</bdi></s>") && html.contains("Olga Owner")
        );
        assert_eq!(olga.post(&format!("{path}/read"), &[]).await.status, 303);
        world.work().await;
        let told = key.get(&path).await.json();
        assert_eq!(
            (&told["fields"]["vendor"], &told["fields"]["reference"]),
            (&"Nordwind".into(), &"NW-4471".into())
        );
    })
    .await;
}

#[tokio::test]
async fn nobody_reads_or_changes_a_document_they_cannot_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        acme.receives(private, &with_file("a", "a.pdf", &papers::invoice())).await;
        world.work().await;
        let theirs = world.browser(acme.id, mia).await;
        let path = format!("/documents/{}", listed(&theirs.get("/documents").await.page()).remove(0));
        let olga = world.browser(acme.id, acme.owner).await;
        for page in [path.clone(), format!("{path}/file"), format!("{path}/preview")] {
            assert_eq!(olga.get(&page).await.status, 404, "{page}");
        }
        assert_eq!(olga.post(&path, &[("vendor", "Mine")]).await.status, 404);
        assert_eq!(olga.post(&format!("{path}/read"), &[]).await.status, 404);
        assert_eq!(theirs.get(&path).await.status, 200);
    })
    .await;
}

/// A page that is open asks for other parts of itself again and again; none of that opens the file.
#[tokio::test]
async fn only_whoever_opens_a_document_has_its_page_drawn() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        acme.receives(inbox, &with_file("a", "a.pdf", &papers::invoice())).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let id = listed(&olga.get("/documents").await.page()).remove(0);
        let path = format!("/documents/{id}");
        let live = olga.send(olga.request(Method::GET, &path).header("x-live", "counts")).await.page();
        assert!(!live.contains("class=\"doc-sheet\"") && live.contains("data-live=\"counts\""));
        let html = olga.get(&path).await.page();
        assert!(html.contains("class=\"doc-sheet\"") && html.contains("It will be read in a moment."));
        world.sql("delete from unread_documents").await;
        assert!(!olga.get(&path).await.page().contains("within moments"), "nobody reads it");
    })
    .await;
}

/// Places that no paper has, and a picture that would fill the memory of whoever looks.
#[tokio::test]
async fn a_document_without_a_picture_can_still_be_corrected_and_saved() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let far = papers::pdf(&[
            (54.0, 700.0, 1e38, "Far"),
            (1e38, 600.0, 12.0, "away"),
            (54.0, 500.0, 12.0, "here"),
        ]);
        acme.receives(inbox, &with_file("a", "far.pdf", &far)).await;
        let mut large = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0".to_vec();
        large.extend([0; 16]);
        acme.receives(inbox, &with_file("b", "large.png", &large)).await;
        world.work().await;
        let olga = world.browser(acme.id, acme.owner).await;
        let ids = listed(&olga.get("/documents").await.page());
        assert_eq!(ids.len(), 2);
        for id in ids {
            let html = olga.get(&format!("/documents/{id}")).await.page();
            assert!(
                html.contains("name=\"vendor\"")
                    && !html.contains("=\"inf")
                    && !html.contains(">Far<")
                    && !html.contains("/preview")
            );
            assert_eq!(olga.get(&format!("/documents/{id}/preview")).await.status, 404);
            assert_eq!(olga.post(&format!("/documents/{id}"), &[("vendor", "Set")]).await.status, 303);
        }
    })
    .await;
}
