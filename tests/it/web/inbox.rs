//! `/inbox`: what the list and the side bar show to whom, page by page, and what a person has read.

use chrono::TimeDelta;
use rookery::ids::{ConversationId, PersonId};
use rookery::workspace::people::Role;
use serde_json::json;

use crate::world::browser::{Browser, Shown};
use crate::world::{Message, Mode, Workspace, World, story};

/// The ids of the rows of a page, in order.
pub fn rows(html: &str) -> Vec<String> {
    let rows = html.split("<li class=\"item").skip(1);
    rows.filter_map(|row| row.split("id=\"").nth(1)?.split('"').next()).map(str::to_owned).collect()
}

/// The markup of one row.
fn row(html: &str, id: ConversationId) -> String {
    let mark = format!("id=\"{id}\"");
    let rows = html.split("<li class=\"item").skip(1);
    let found = rows.into_iter().find(|row| row.split('>').next().is_some_and(|tag| tag.contains(&mark)));
    found.unwrap_or_else(|| panic!("no row of {id}")).split("</li>").next().unwrap_or_default().to_owned()
}

fn is_unread(html: &str, id: ConversationId) -> bool {
    row(html, id).starts_with(" is-unread")
}

/// Where the link to the next page leads.
pub fn next(html: &str) -> Option<String> {
    let link = html.split("id=\"next-page\" href=\"").nth(1)?;
    Some(link.split('"').next()?.replace("&amp;", "&").replace("&#38;", "&"))
}

/// What stands beside a link of the side bar.
fn counted(html: &str, name: &str) -> String {
    let link = html.split(&format!("id=\"to-{name}\"")).nth(1).expect("the link is there");
    let link = link.split("</a>").next().unwrap_or_default();
    let count = link.rsplit("<span class=\"").next().unwrap_or_default();
    match count.contains("count") || count.contains("badge") {
        true => count.split('>').nth(1).and_then(|count| count.split('<').next()).unwrap_or_default().into(),
        false => String::new(),
    }
}

async fn of<'w>(world: &'w World, acme: &Workspace<'_>, person: PersonId) -> Browser<'w> {
    world.browser(acme.id, person).await
}

/// proves: APP-4, APP-7, VIS-16
#[tokio::test]
async fn a_colleagues_private_mail_and_the_sandbox_are_in_no_list_count_or_link() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mias secret box", mia).await;
        let shown = acme.mail(help, "anna@customer.example", "For all", "Hello").await;
        let hidden = acme.mail(private, "anna@customer.example", "For Mia alone", "Hello").await;
        let test = acme.key("tester", "read,write", Mode::Test).await;
        let simulated = test.simulate(json!({ "from": "x@y.test", "text": "In the sandbox" })).await;
        let [olga, mia] = [of(world, &acme, acme.owner).await, of(world, &acme, mia).await];

        for view in ["", "?view=open", "?view=unassigned", "?unread=1", "?order=oldest"] {
            let html = olga.get(&format!("/inbox{view}")).await.page();
            assert_eq!(rows(&html), [shown.to_string()], "{view}");
            assert_eq!(counted(&html, "open"), "1");
            assert_eq!(counted(&html, "unassigned"), "1");
            assert!(!html.contains("Mias secret box") && !html.contains(&private.to_string()), "{view}");
            assert!(!html.contains(&hidden.to_string()) && !html.contains(&simulated), "{view}");
        }
        let html = mia.get("/inbox").await.page();
        assert_eq!(rows(&html).len(), 2);
        assert_eq!(counted(&html, "open"), "2");
        assert_eq!(counted(&html, &private.to_string()), "1");
        assert_eq!(rows(&mia.get(&format!("/inbox?inbox={private}")).await.page()), [hidden.to_string()]);

        // Hidden, of the sandbox, unknown and malformed are the same page.
        let sandbox: String = sqlx::query_scalar("select id from mailboxes where audience = -1")
            .fetch_one(&world.app.pool)
            .await
            .map(|id: i64| rookery::ids::MailboxId(id).to_string())
            .unwrap();
        let mut answers = Vec::new();
        for query in [
            format!("inbox={private}"),
            format!("inbox={sandbox}"),
            "inbox=mbx_0000000000001".into(),
            "inbox=%00".into(),
            "view=everything".into(),
            "assignee=nobody".into(),
            "before=1.2.3".into(),
        ] {
            let Shown { status, html, .. } = olga.get(&format!("/inbox?{query}")).await;
            answers.push((status, html));
        }
        assert_eq!(answers[0].0, 404);
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    })
    .await;
}

#[tokio::test]
async fn what_strangers_wrote_is_text_wherever_it_stands() {
    story(async |world| {
        let acme = world.workspace("<i>Acme</i>").await;
        let help = acme.mailbox("help@acme.example", "<b>Help</b>").await;
        acme.mailbox("more@acme.example", "\"><script>inbox()</script>").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let named = format!("update people set name = '<script>person()</script>' where id = {}", mia.0);
        world.sql(&named).await;
        acme.key("<script>agent()</script>", "read", Mode::Live).await;
        let from = "\"<script>name()</script>\" <anna@customer.example>";
        let subject = "<img src=x onerror=subject()>";
        let id = acme.mail(help, from, subject, "</span><script>text()</script>").await;
        acme.tag(id, "<script>tag()</script>").await;
        acme.set(id, "risk = '<script>risk()</script>', urgency = 'high'").await;
        let olga = of(world, &acme, acme.owner).await;
        for path in ["/inbox".to_owned(), format!("/inbox?inbox={help}"), "/search?q=script".into()] {
            let html = olga.get(&path).await.page();
            for told in ["<script>", "<img src=x", "<i>Acme", "<b>Help", "</span><script"] {
                assert!(!html.to_lowercase().contains(told), "{path}: {told} in\n{html}");
            }
            assert!(html.contains("&#60;script&#62;name()"), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn opening_makes_a_conversation_read_for_that_person_alone() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let [olga, mia] = [of(world, &acme, acme.owner).await, of(world, &acme, mia).await];
        let id = acme.mail(help, "anna@customer.example", "Parcel", "Hello").await;
        let unread = async || {
            let [for_olga, for_mia] = [olga.get("/inbox").await.page(), mia.get("/inbox").await.page()];
            (is_unread(&for_olga, id), is_unread(&for_mia, id))
        };
        assert_eq!(unread().await, (true, true));

        // Nobody looked at what a browser fetched ahead, or what a tab in the background brought up to date.
        for (name, value) in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch"), ("x-live", "1")]
        {
            let request = olga.request(reqwest::Method::GET, &format!("/conversations/{id}"));
            assert_eq!(olga.send(request.header(name, value)).await.status, 200);
        }
        assert_eq!(unread().await, (true, true));

        olga.get(&format!("/conversations/{id}")).await.page();
        assert_eq!(unread().await, (false, true));
        let marked =
            olga.post(&format!("/conversations/{id}/unread"), &[("list", "view=mine&order=oldest")]).await;
        assert_eq!(
            (marked.status, marked.location()),
            (303, &*format!("/inbox?view=mine&order=oldest&done=unread&of={id}"))
        );
        assert_eq!(unread().await, (true, true));
        let evil =
            olga.post(&format!("/conversations/{id}/read"), &[("list", "\r\nx: y//evil.example")]).await;
        assert_eq!(evil.location(), format!("/inbox?done=read&of={id}"));
        assert_eq!(unread().await, (false, true));
        assert_eq!(rows(&olga.get("/inbox?unread=1").await.page()), [] as [&str; 0]);
        assert_eq!(rows(&mia.get("/inbox?unread=1").await.page()), [id.to_string()]);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_that_somebody_cannot_see_cannot_be_marked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let hidden = acme.mail(private, "anna@customer.example", "For Mia alone", "Hello").await;
        let olga = of(world, &acme, acme.owner).await;
        for id in [hidden.to_string(), "cnv_0000000000001".into(), "cnv_x".into()] {
            for done in ["read", "unread"] {
                assert_eq!(olga.post(&format!("/conversations/{id}/{done}"), &[]).await.status, 404);
            }
        }
        let rows: i64 = sqlx::query_scalar("select count(*) from conversation_reads")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(rows, 0);
    })
    .await;
}

#[tokio::test]
async fn a_list_is_read_to_its_end_by_its_links_and_keeps_its_place_beside_a_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let made = acme.many(help, 120, "case").await;
        let olga = of(world, &acme, acme.owner).await;
        for order in ["", "&order=oldest"] {
            let (mut seen, mut path) = (Vec::new(), format!("/inbox?view=open{order}"));
            loop {
                let html = olga.get(&path).await.page();
                seen.extend(rows(&html));
                // A row leads to its conversation and carries the page of the list along.
                let query = path.split_once('?').map(|(_, query)| query).unwrap();
                let link = format!("/conversations/{}?{}", rows(&html)[0], query.replace('&', "&#38;"));
                assert!(html.contains(&link), "{link}");
                let Some(next) = next(&html) else { break };
                path = next;
            }
            let mut wanted: Vec<String> = made.iter().map(ToString::to_string).collect();
            if !order.is_empty() {
                wanted.reverse();
            }
            assert_eq!(seen, wanted);
        }
        assert_eq!(counted(&olga.get("/inbox").await.page(), "open"), "120");
        assert_eq!(counted(&olga.get("/inbox").await.page(), "unassigned"), "99+");
    })
    .await;
}

#[tokio::test]
async fn rows_tell_what_presses() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("Lease Helper", "read,draft", Mode::Live).await;
        let olga = of(world, &acme, acme.owner).await;
        let plain = acme.mail(help, "anna@customer.example", "Plain", "Hello").await;
        let id = acme.mail(help, "anna@customer.example", "Pressing", "Hello").await;
        acme.set(id, "risk = 'payment_fraud', held_at = now(), urgency = 'high'").await;
        acme.set(id, &format!("assignee_type = 'agent', assignee_id = {}", bot.agent.0)).await;
        acme.tag(id, "deposit").await;
        bot.post(&format!("/conversations/{id}/replies"), json!({ "body": "A draft" })).await;
        world.wait(TimeDelta::minutes(1));
        acme.outbound(id, Message { status: "failed", text: "Lost", rfc_message_id: None }).await;

        let html = olga.get("/inbox").await.page();
        let pressing = row(&html, id);
        for told in [
            "Held: payment fraud",
            "Not sent",
            "Draft to approve",
            "Urgent",
            "deposit",
            "Assigned to Lease Helper",
        ] {
            assert!(pressing.contains(told), "{told} in\n{pressing}");
        }
        let plain = row(&html, plain);
        for told in ["chip", "class=\"tag\""] {
            assert!(!plain.contains(told), "{told} in\n{plain}");
        }
        assert!(plain.contains("Assigned to nobody"));
        assert_eq!(counted(&html, "approvals"), "1");
    })
    .await;
}

#[tokio::test]
async fn an_empty_list_says_what_to_do_next() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let [olga, mia] = [of(world, &acme, acme.owner).await, of(world, &acme, mia).await];
        assert!(olga.get("/inbox").await.page().contains("rookery admin"));
        assert!(!mia.get("/inbox").await.page().contains("rookery admin"));
        let help = acme.mailbox("help@acme.example", "Help").await;
        assert!(olga.get("/inbox").await.page().contains("New mail to help@acme.example"));
        let id = acme.mail(help, "anna@customer.example", "Parcel", "Hello").await;
        assert!(olga.get("/inbox?view=mine").await.page().contains("Choose from 1 unassigned"));
        acme.set(id, "status = 'waiting'").await;
        assert!(olga.get("/inbox").await.page().contains("See who we wait for"));
        for view in ["unassigned", "snoozed", "closed", "mentioned"] {
            let html = olga.get(&format!("/inbox?view={view}")).await.page();
            assert!(html.contains("empty__title"), "{view}");
            assert_eq!(rows(&html), [] as [&str; 0]);
        }
        assert!(olga.get("/inbox?view=waiting&unread=1").await.page().contains(&id.to_string()));
    })
    .await;
}

#[tokio::test]
async fn how_dense_rows_are_is_kept_by_the_browser() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = of(world, &acme, acme.owner).await;
        assert!(!olga.get("/inbox").await.page().contains("list--compact"));
        let chosen =
            olga.post("/inbox/density", &[("density", "compact"), ("back", "/inbox?view=mine")]).await;
        assert_eq!(chosen.location(), "/inbox?view=mine");
        assert!(chosen.cookie().starts_with("density=compact; Path=/;"), "{}", chosen.cookie());
        let cookie = format!("__Host-rookery={}; density=compact", olga.token);
        let request = world.http.get(format!("{}/inbox", world.address)).header("cookie", cookie);
        assert!(olga.send(request).await.page().contains("list--compact"));
        for back in ["https://evil.example/", "//evil.example", "/sign-out"] {
            assert_eq!(olga.post("/inbox/density", &[("back", back)]).await.location(), "/inbox");
        }
    })
    .await;
}
