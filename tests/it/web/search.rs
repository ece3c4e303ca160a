//! `/search`: what is found for whom, how it is marked, and what is said when something is missing.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use serde_json::json;

use super::inbox::next;
use rookery_world::{Mode, story, story_with};

/// The ids of the hits of a page, in order.
fn hits(html: &str) -> Vec<String> {
    html.split("id=\"hit-").skip(1).filter_map(|hit| hit.split('"').next()).map(str::to_owned).collect()
}

/// proves: VIS-16
#[tokio::test]
async fn a_search_finds_what_the_person_may_see_in_every_status_and_marks_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let text = "Could the <b>DÉPOSIT</b> go to my new account?";
        let open = acme.mail(help, "Priya <priya@customer.example>", "About the deposit", text).await;
        world.wait(TimeDelta::seconds(1));
        let closed = acme.mail(sales, "ben@customer.example", "Old", "The deposit was paid").await;
        acme.set(closed, "status = 'closed'").await;
        let hidden = acme.mail(private, "anna@customer.example", "Hers", "A secret deposit").await;
        let test = acme.key("tester", "read,write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "x@y.test", "text": "A sandbox deposit" })).await;
        let olga = world.browser(acme.id, acme.owner).await;

        let html = olga.get("/search?q=deposit").await.page();
        assert_eq!(hits(&html), [closed.to_string(), open.to_string()]);
        assert!(html.contains("About the <mark>deposit</mark>"));
        assert!(html.contains("Could the &#60;b&#62;<mark>DÉPOSIT</mark>&#60;/b&#62; go to"));
        assert!(!html.contains(&hidden.to_string()) && !html.contains(&simulated));
        let found = async |query: &str| hits(&olga.get(&format!("/search?{query}")).await.page());
        assert_eq!(found("q=deposit&status=closed").await, [closed.to_string()]);
        assert_eq!(found(&format!("q=deposit&inbox={help}")).await, [open.to_string()]);
        assert_eq!(found("q=deposit&assigned=nobody").await.len(), 2);
        assert_eq!(found("q=deposit&assigned=me").await, [] as [&str; 0]);
        assert_eq!(found("q=priya").await, [open.to_string()]);
        assert_eq!(found("q=deposit+account").await, [open.to_string()]);
        for (query, told) in [
            ("", "Find any mail"),
            ("q=zebra", "No results for"),
            ("q=%21%21", "Enter a search term"),
            (&*format!("q={}", "a".repeat(201)), "That is too long"),
        ] {
            let html = olga.get(&format!("/search?{query}")).await.page();
            assert!(html.contains(told), "{query}");
        }
        for query in [format!("inbox={private}"), "status=x".into(), "assigned=x".into(), "before=x".into()] {
            assert_eq!(olga.get(&format!("/search?q=deposit&{query}")).await.status, 404, "{query}");
        }
    })
    .await;
}

/// The same operators as in the API, and a mistake says what to write.
#[tokio::test]
async fn operators_narrow_what_is_found_and_are_not_marked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let priya =
            acme.mail(help, "Priya <priya@customer.example>", "From the deposit", "The deposit").await;
        let ben = acme.mail(help, "ben@customer.example", "About priya", "The deposit").await;
        acme.tag(ben, "vip").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |query: &str| hits(&olga.get(&format!("/search?q={query}")).await.page());
        assert_eq!(found("priya").await, [ben.to_string(), priya.to_string()]);
        assert_eq!(found("from:priya").await, [priya.to_string()]);
        assert_eq!(found("tag:vip").await, [ben.to_string()]);
        assert_eq!(found("tag:vip+from:priya").await, [] as [&str; 0]);
        assert_eq!(found("tag:nothing+deposit").await, [] as [&str; 0]);
        assert_eq!(found("before:2100-01-01").await.len(), 2);
        assert_eq!(found("after:2100-01-01").await, [] as [&str; 0]);
        assert_eq!(found("after:2020-01-01+in:help").await.len(), 2);
        assert_eq!(found("is:closed").await, [] as [&str; 0]);
        assert_eq!(found("is:open&status=closed").await, [] as [&str; 0], "both have to hold");
        assert_eq!(found("deposit+assigned:nobody&since=2020-01-01&until=2100-01-01").await.len(), 2);
        let html = olga.get("/search?q=deposit+after:2021-05-05&since=2020-01-01").await.page();
        assert!(html.contains("Since <b>1 Jan 2020</b>") && html.contains("q=deposit\""), "{html}");
        let html = olga.get("/search?q=deposit+from:priya").await.page();
        assert!(html.contains("From the <mark>deposit</mark>"), "the operator is no word");
        let html = olga.get("/search?q=before:soon").await.page();
        assert!(html.contains("Please write a day after before: as in before:2026-01-31."), "{html}");
    })
    .await;
}

#[tokio::test]
async fn hits_are_read_to_their_end_by_links() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let made = acme.many(help, 45, "blowtorch").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let (mut seen, mut path) = (Vec::new(), Some("/search?q=blowtorch&status=open".to_owned()));
        while let Some(here) = path {
            let html = olga.get(&here).await.page();
            seen.extend(hits(&html));
            path = next(&html);
        }
        assert_eq!(seen, made.iter().map(ToString::to_string).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn files_are_found_by_parts_of_their_names() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        for (inbox, name) in [(help, "Kontoauszug_Mai.pdf"), (private, "Kontoauszug_geheim.pdf")] {
            let raw = format!(
                "From: ada@customer.example\nSubject: File\nMIME-Version: 1.0\n\
                 Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n--b\nContent-Type: application/pdf\n\
                 Content-Disposition: attachment; filename={name}\n\n%PDF {name}\n--b--\n"
            );
            acme.receives(inbox, &raw).await;
        }
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/search?kind=files&q=kontoauszug").await.page();
        assert!(html.contains("Kontoauszug") && html.contains("Mai") && !html.contains("geheim"));
        let html = olga.get("/search?kind=files&q=auszug").await.page();
        assert!(html.contains("Kontoauszug_Mai.pdf"));
    })
    .await;
}

#[tokio::test]
async fn a_search_that_is_behind_says_so() {
    story_with(&[("SEARCH_PATIENCE_MILLISECONDS", "0")], async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, "anna@customer.example", "Parcel", "The blowtorch").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let html = olga.get("/search?q=blowtorch").await.page();
        assert!(html.contains("aren’t searchable yet"));
        world.work().await;
    })
    .await;
}
