//! `/inbox`: what the list and the side bar show to whom, page by page, and what a person has read.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, PersonId};
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, reply, write};
use rookery_world::{Message, Mode, Workspace, World, story};

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
    if count.contains("count") || count.contains("badge") {
        count.split('>').nth(1).and_then(|count| count.split('<').next()).unwrap_or_default().into()
    } else {
        String::new()
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
        assert_eq!(
            html.matches(r#"class="item__inbox clip""#).count(),
            2,
            "rows without tags say their inbox"
        );
        assert_eq!(counted(&html, "open"), "2");
        assert_eq!(counted(&html, &private.to_string()), "1");
        assert_eq!(rows(&mia.get(&format!("/inbox?inbox={private}")).await.page()), [hidden.to_string()]);

        // Hidden, of the sandbox, unknown and malformed are the same page.
        let sandbox: String = sqlx::query_scalar("select id from mailboxes where audience = -1")
            .fetch_one(&world.app.pool)
            .await
            .map(|id: i64| rookery_base::ids::MailboxId(id).to_string())
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
        // It is noted when the page is on its way.
        for _ in 0..200 {
            if !unread().await.0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(unread().await, (false, true));
        let noted = async || -> String {
            let newest = "select max(xmin::text || seen_to::text) from conversation_reads";
            sqlx::query_scalar(newest).fetch_one(&world.app.pool).await.unwrap()
        };
        let before = noted().await;
        olga.get(&format!("/conversations/{id}")).await.page();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(noted().await, before, "what was seen is not noted again");
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
        acme.set(id, "risk = 'payment-fraud', held_at = now(), urgency = 'high'").await;
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
        assert!(olga.get("/inbox").await.page().contains(r#"href="/welcome""#));
        assert!(!mia.get("/inbox").await.page().contains(r#"href="/welcome""#));
        let help = acme.mailbox("help@acme.example", "Help").await;
        assert!(olga.get("/inbox").await.page().contains("New mail to help@acme.example"));
        let id = acme.mail(help, "anna@customer.example", "Parcel", "Hello").await;
        assert!(olga.get("/inbox?view=mine").await.page().contains("Choose from 1 unassigned"));
        acme.set(id, "status = 'waiting'").await;
        assert!(olga.get("/inbox").await.page().contains("See what’s waiting"));
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

/// proves: APP-1
#[tokio::test]
async fn a_list_and_a_search_are_narrowed_to_a_tag() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let key = acme.key("bot", "read,write", Mode::Live).await;
        let mut ids = Vec::new();
        for n in 0..6 {
            let from = format!("kim{n}@customer.test");
            ids.push(acme.mail(help, &from, &format!("Order {n}"), "Where is it?").await.to_string());
            world.wait(TimeDelta::seconds(1));
        }
        for (n, tag) in [(0, "billing"), (2, "billing"), (4, "billing"), (1, "other")] {
            key.post(&format!("/conversations/{}/tags", ids[n]), json!({ "add": [tag] })).await;
        }
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(&format!("/conversations/{}/do", ids[4]), &[("act", "close")]).await;
        let page = owner.get("/inbox").await.page().replace("&#38;", "&");
        // The menu of the list names the tags, each as an address.
        let tag = |name: &str| {
            let end = page
                .find(&format!("dir=\"auto\">{name}</span></a>"))
                .unwrap_or_else(|| panic!("no {name}: {page}"));
            let from = page[..end].rfind("&tag=").unwrap() + 5;
            page[from..from + 17].to_owned()
        };
        let billing = tag("billing");
        let listed = |page: &str| -> Vec<usize> {
            rows(page).iter().filter_map(|row| ids.iter().position(|id| id == row)).collect()
        };
        let page = owner.get(&format!("/inbox?view=open&tag={billing}")).await.page();
        assert_eq!(listed(&page), [2, 0], "newest first, and open ones");
        assert!(
            page.contains("Remove: tag billing")
                && page.contains(&format!("name=\"tagged\" value=\"{billing}\""))
        );
        let page = owner.get(&format!("/inbox?view=open&order=oldest&tag={billing}")).await.page();
        assert_eq!(listed(&page), [0, 2]);
        let page = owner.get(&format!("/inbox?view=closed&tag={billing}")).await.page();
        assert_eq!(listed(&page), [4]);
        let page = owner.get(&format!("/inbox?view=waiting&tag={billing}")).await.page();
        assert!(page.contains("Nothing here is tagged billing"), "{page}");
        // The list stays so beside a conversation.
        let page = owner.get(&format!("/conversations/{}?view=open&tag={billing}", ids[2])).await.page();
        assert_eq!(listed(&page), [2, 0]);
        let page = owner.get(&format!("/search?q=where&tag={billing}")).await.page();
        assert!(page.contains(&ids[0]) && page.contains(&ids[4]) && !page.contains(&ids[1]), "{page}");
        // Only what is seen is changed, though all were asked for and another tag is put on.
        let all =
            [("all", "1"), ("view", "open"), ("tagged", billing.as_str()), ("act", "tag"), ("tag", "done")];
        owner.post("/bulk", &all).await;
        let mut done = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            let tags = key.conversation(id).await["tags"].to_string();
            done.extend(tags.contains("done").then_some(n));
        }
        assert_eq!(done, [0, 2]);
        // A tag that was only ever used where one cannot see is none.
        let hidden = acme.mail(own, "kim@customer.test", "Hers", "Hello").await;
        let hers = world.browser(acme.id, mia).await;
        hers.post(&format!("/conversations/{hidden}/do"), &[("act", "tag"), ("tag", "secret")]).await;
        let page = hers.get("/inbox").await.page().replace("&#38;", "&");
        let at = page.find("dir=\"auto\">secret</span></a>").expect("hers");
        let from = page[..at].rfind("&tag=").unwrap() + 5;
        let secret = &page[from..from + 17];
        assert_eq!(hers.get(&format!("/inbox?tag={secret}")).await.status, 200);
        for path in
            [format!("/inbox?tag={secret}"), format!("/search?q=x&tag={secret}"), "/inbox?tag=tag_x".into()]
        {
            assert_eq!(owner.get(&path).await.status, 404, "{path}");
        }
        assert!(!owner.get("/inbox").await.page().contains("secret"));
    })
    .await;
}

/// Of a tag that many have, the list is walked; pages join without a gap.
#[tokio::test]
async fn a_tag_of_thousands_is_listed_page_by_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        acme.many(help, 2_600, "word").await;
        let key = acme.key("bot", "read,write", Mode::Live).await;
        let first = key.listed("limit=1").await[0].clone();
        key.post(&format!("/conversations/{first}/tags"), json!({ "add": ["many"] })).await;
        // Every conversation but each seventh.
        world
            .sql(
                "insert into conversation_tags (workspace_id, conversation_id, tag_id, audience)
                 select c.workspace_id, c.id, (select id from tags), c.audience
                 from (select *, row_number() over (order by last_message_at desc, id desc) as n from conversations) c
                 where n % 7 <> 0 on conflict do nothing",
            )
            .await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/inbox").await.page().replace("&#38;", "&");
        let from = page.find("&tag=").expect("a tag");
        let tag: String = page[from..].chars().skip_while(|letter| *letter != '=').skip(1).take(17).collect();
        let mut path = format!("/inbox?view=open&tag={tag}");
        let (mut seen, mut pages) = (std::collections::HashSet::new(), 0);
        loop {
            let page = owner.get(&path).await.page();
            let before = seen.len();
            for row in rows(&page) {
                assert!(seen.insert(row), "no row twice");
            }
            assert!(seen.len() > before, "{pages}");
            pages += 1;
            let Some(next) = page.split("id=\"next-page\" href=\"").nth(1) else { break };
            path = next.split('"').next().unwrap().replace("&#38;", "&");
            if pages > 100 {
                panic!("it does not end");
            }
        }
        assert_eq!(seen.len(), 2_600 - 2_600 / 7);
    })
    .await;
}

/// What the newest message begins with, and who of us wrote it.
#[tokio::test]
async fn a_row_says_who_of_the_team_wrote_what_it_begins_with() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "anna@customer.example", "Order", "Where is it?").await;
        let [olga, mia] = [of(world, &acme, acme.owner).await, of(world, &acme, mia).await];
        let snippet = async |browser: &Browser<'_>| {
            let html = row(&browser.get("/inbox").await.page(), id);
            let html = html.split("class=\"item__snippet\" dir=\"auto\">").nth(1).unwrap().to_owned();
            html.split("</span>").next().unwrap().to_owned()
        };
        assert_eq!(snippet(&olga).await, "Where is it?");
        let composer = Composer::open(&olga, &reply(id)).await.set("body", "On Monday.");
        let sent = composer.press(&olga, &write(id), ("do", "send")).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        assert_eq!(snippet(&olga).await, "<bdi>You:</bdi> On Monday.");
        assert_eq!(snippet(&mia).await, "<bdi>Olga:</bdi> On Monday.");
        let key = acme.key("Lease Helper", "read,write,draft,send", Mode::Live).await;
        key.drafts(id, "Only a draft.").await;
        assert_eq!(snippet(&mia).await, "<bdi>Olga:</bdi> On Monday.");
        key.sends(id, "On Tuesday.").await;
        assert_eq!(snippet(&mia).await, "<bdi>Lease Helper:</bdi> On Tuesday.");
    })
    .await;
}
