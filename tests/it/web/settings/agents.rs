//! Agents as people watch over them: what each did, how much it may write in a day, and the button that stops all of them.
//! The same under load on two nodes is in faults/stop_agents.rs.

use chrono::TimeDelta;
use futures::future::join_all;
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::{Key, Mode, ToolAnswer, Workspace, World, story, story_with};

const AGENTS: &str = "/settings/agents";

async fn texts(world: &World, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(&world.app.pool).await.unwrap()
}

async fn audited(world: &World) -> Vec<String> {
    texts(
        world,
        "select actor_name || ' ' || did || ' ' || data from audit_entries where did like 'agent%' order by n",
    )
    .await
}

/// What the page of an agent says of its month, in words.
async fn month(acme: &Workspace<'_>, viewer: rookery_base::ids::PersonId, key: &Key<'_>) -> String {
    let page = acme.world.browser(acme.id, viewer).await.get(&format!("{AGENTS}/{}", key.agent)).await.page();
    let from = page.find("In 30 days: ").expect("a picture");
    page[from..].split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_page_of_an_agent_tells_what_became_of_what_it_wrote() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "write,draft,send", Mode::Live).await;
        let mut mails = Vec::new();
        for number in 0..5 {
            let subject = format!("Case <b>{number}</b>");
            mails.push(acme.mail(help, &format!("c{number}@x.example"), &subject, "Hello").await);
        }
        let mut drafts = Vec::new();
        for mail in &mails[..4] {
            drafts.push(bot.drafts(mail, "A draft").await);
        }
        bot.sends(mails[4], "Sent by itself").await;
        acme.approve(acme.owner, &drafts[0], None).await.unwrap();
        acme.approve(acme.owner, &drafts[1], Some("Better words")).await.unwrap();
        acme.discard(acme.owner, &drafts[2]).await.unwrap();
        world.wait(TimeDelta::hours(1));
        world.work().await;

        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("{AGENTS}/{}", bot.agent)).await.page();
        for words in [
            "In 30 days: 1 approved unedited, 1 edited first, 1 sent without approval, 1 discarded",
            "<b>4</b> drafts; 3 decided, too few for a percentage",
            "3 messages sent",
            "Approved unedited by Olga Owner, sent 10:00",
            "Edited and approved by Olga Owner, sent",
            "Without approval, sent",
            "Discarded",
            "Waits for approval",
            "Case &#60;b&#62;0&#60;/b&#62;",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(page.contains(&format!("/approvals/{}", drafts[3])), "what waits leads to its page");
        let list = owner.get(AGENTS).await.page();
        assert!(
            list.contains(&format!("{AGENTS}/{}", bot.agent)) && list.contains("class=\"some\""),
            "{list}"
        );

        // A month later the picture is empty, and so is what is kept of single messages.
        world.wait(TimeDelta::days(31));
        world.work().await;
        let page =
            world.browser(acme.id, acme.owner).await.get(&format!("{AGENTS}/{}", bot.agent)).await.page();
        assert!(
            page.contains("In 30 days: 0 approved") && page.contains("Nothing in the last 30 days"),
            "{page}"
        );
    })
    .await;
}

#[tokio::test]
async fn private_inboxes_of_others_are_shown_and_counted_nowhere() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let ben = acme.person("Ben", Role::Admin).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.private_mailbox("ben@acme.example", "Ben", ben).await;
        let bens = acme.key_of(ben, "bens-bot", "draft,send", Mode::Live).await;
        let team = acme.mail(help, "ada@x.example", "Team words", "Hello").await;
        let hidden = acme.mail(own, "eve@x.example", "Hidden words", "Hello").await;
        let shown = bens.drafts(team, "One").await;
        acme.approve(ben, &shown, None).await.unwrap();
        for number in 0..3 {
            let draft = bens.drafts(hidden, &format!("Private {number}")).await;
            acme.approve(ben, &draft, None).await.unwrap();
        }
        world.wait(TimeDelta::hours(1));
        world.work().await;
        assert!(month(&acme, acme.owner, &bens).await.contains(" 1 approved unedited"));
        assert!(month(&acme, ben, &bens).await.contains(" 4 approved unedited"));
        let olga = world.browser(acme.id, acme.owner).await;
        for path in [AGENTS.to_owned(), format!("{AGENTS}/{}", bens.agent)] {
            let page = olga.get(&path).await.page();
            assert!(!page.contains("Hidden words") && !page.contains("eve@"), "{page}");
        }
        let page = world.browser(acme.id, ben).await.get(&format!("{AGENTS}/{}", bens.agent)).await.page();
        assert!(page.contains("Hidden words") && page.contains("Team words"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn a_daily_cap_holds_exactly_and_ends_at_midnight_of_the_workspaces_zone() {
    story_with(&[("RATE_LIMIT_REQUESTS", "100000"), ("DATABASE_CONNECTIONS", "20")], async |world| {
        let acme = world.workspace("Acme").await;
        world.sql("update workspaces set time_zone = 'Europe/Berlin'").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let bot = acme.key("bot", "write,draft,send", Mode::Live).await;
        let other = acme.key("other", "draft", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let cap = format!("{AGENTS}/{}/cap", bot.agent);
        for wrong in ["-1", "many", "100001", "1.5", "99999999999999999999"] {
            let shown = owner.post(&cap, &[("cap", wrong)]).await;
            assert!(shown.status == 400 && shown.html.contains("must be a number from 0"), "{wrong}: {}", shown.html);
            assert!(shown.html.contains(&format!(r#"value="{wrong}""#)), "what was typed stays");
        }
        assert!(owner.post(&cap, &[("cap", " 10 ")]).await.location().contains("done=saved"));

        let mut mails = Vec::new();
        for number in 0..10 {
            let inbox = if number % 2 == 0 { help } else { private };
            mails.push(acme.mail(inbox, &format!("c{number}@x.example"), "Case", "Hello").await);
        }
        // Forty at once, drafts and sent ones, in two kinds of inbox.
        let calls = (0..40).map(|number| {
            let path = format!("/conversations/{}/replies", mails[number % mails.len()]);
            let (bot, send) = (&bot, number % 3 == 0);
            async move { bot.post(&path, json!({ "body": "Hello", "send": send })).await }
        });
        let replies = join_all(calls).await;
        let written = replies.iter().filter(|reply| reply.status == 201).count();
        let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
        assert_eq!((written, refused.len()), (10, 30));
        let stored: i64 = sqlx::query_scalar("select count(*) from messages where author_type = 'agent'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(stored, 10, "what is refused is not there");
        let sentence = "Enough for today: this agent may write 10 messages a day. The next day begins at midnight (Europe/Berlin).";
        assert_eq!(refused[0].error(), sentence);
        // Ten in the morning there: fourteen hours to midnight.
        assert_eq!(refused[0].header("retry-after"), Some("50400"));
        let tool = bot.tool("reply", json!({ "id": mails[0], "body": "Hello" })).await;
        assert_eq!(tool, ToolAnswer::Failed { status: 429, sentence: sentence.to_owned() });
        let note = bot.post(&format!("/conversations/{}/notes", mails[0]), json!({ "body": "A note" })).await;
        assert_eq!(note.status, 201, "notes reach no customer and are not counted");
        other.drafts(mails[0], "Another agent is counted apart").await;
        let page = owner.get(&format!("{AGENTS}/{}", bot.agent)).await.page();
        assert!(page.contains("10 of 10 today: Both together"), "{page}");

        world.wait(TimeDelta::hours(13) + TimeDelta::minutes(59));
        assert_eq!(bot.post(&format!("/conversations/{}/replies", mails[0]), json!({ "body": "x" })).await.status, 429);
        world.wait(TimeDelta::minutes(1));
        bot.drafts(mails[0], "A new day").await;

        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(&cap, &[("cap", "0")]).await;
        let none = bot.post(&format!("/conversations/{}/replies", mails[0]), json!({ "body": "x" })).await;
        assert!(none.status == 429 && none.error().contains("may write no messages a day"), "{}", none.text);
        owner.post(&cap, &[("cap", "")]).await;
        bot.drafts(mails[0], "Without a cap").await;
        assert_eq!(
            audited(world).await,
            [
                r#"Olga Owner agent.capped {"before":null,"after":10}"#,
                r#"Olga Owner agent.capped {"before":10,"after":0}"#,
                r#"Olga Owner agent.capped {"before":0,"after":null}"#,
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn sends_and_drafts_have_limits_of_their_own_and_each_change_is_in_the_audit_log() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Case", "Hello").await;
        let bot = acme.key("bot", "draft,send", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = format!("{AGENTS}/{}", bot.agent);
        let cap = format!("{page}/cap");
        let shown = owner.post(&cap, &[("sends", "-1"), ("drafts", "many"), ("cap", "3")]).await;
        let said = "sends: must be a number from 0 to 100000, or empty; drafts: must be a number";
        assert!(shown.status == 400 && shown.html.contains(said), "{}", shown.html);
        assert!(shown.html.contains(r#"value="many""#) && shown.html.contains(r#"value="3""#), "what was typed stays");
        assert!(owner.post(&cap, &[("sends", "1"), ("drafts", "2"), ("cap", "")]).await.location().contains("done=saved"));
        owner.post(&cap, &[("sends", "1"), ("drafts", "2"), ("cap", "")]).await;
        assert_eq!(bot.get("/me").await.json()["limits"], json!({ "sendsADay": 1, "draftsADay": 2, "messagesADay": null }));

        let path = format!("/conversations/{mail}/replies");
        let write = async |send: bool| bot.post(&path, json!({ "body": "Hello", "send": send })).await;
        let sent = write(true).await;
        assert_eq!(sent.status, 201);
        // A draft is no send, and what is undone stays counted: else an agent could try for ever.
        let message = sent.json()["messageId"].as_str().unwrap().to_owned();
        acme.undo(acme.owner, &message).await.unwrap();
        let refused = write(true).await;
        assert_eq!(
            (refused.status, refused.error().as_str()),
            (429, "Enough for today: this agent may send one message a day. The next day begins at midnight (UTC).")
        );
        assert!(refused.header("retry-after").is_some());
        assert_eq!([write(false).await.status, write(false).await.status, write(false).await.status], [201, 201, 429]);
        let shown = owner.get(&page).await.page();
        for words in ["1 of 1 today: Sent without approval", "2 of 2 today: Drafts", "3 today"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        for list in [AGENTS, "/settings/keys"] {
            let list = owner.get(list).await.page();
            assert!(list.contains("1 send, 2 drafts"), "{list}");
        }
        assert_eq!(
            audited(world).await,
            [r#"Olga Owner agent.capped {"sends":{"before":null,"after":1},"drafts":{"before":null,"after":2}}"#],
            "what changes nothing is no entry"
        );
    })
    .await;
}

#[tokio::test]
async fn one_press_stops_every_agent_and_everybody_is_told() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let mia = acme.person("Mia", Role::Member).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Hello", "Hello").await;
        let (bot, test) =
            (acme.key("bot", "write,draft,send,record", Mode::Live).await, acme.key("test", "write,send", Mode::Test).await);
        let elsewhere = other.key("elsewhere", "read", Mode::Live).await;
        let simulated = test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let alone = bot.sends(mail, "Sent by itself").await;
        let approved = bot.drafts(mail, "Approved").await;
        acme.approve(mia, &approved, None).await.unwrap();
        test.sends(&simulated, "In the sandbox").await;

        let (owner, member) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        assert_eq!(member.post("/settings/agents/stop", &[]).await.status, 404);
        assert!(!member.get("/inbox").await.page().contains("Every agent is stopped"));
        let pressed = owner.post("/settings/agents/stop", &[]).await;
        assert!(pressed.location().starts_with("/settings/agents?done=agents-stopped"), "{}", pressed.location());
        assert!(owner.get(pressed.location()).await.page().contains(r#"action="/settings/agents/start""#), "undo");
        for browser in [&owner, &member] {
            for path in ["/inbox", "/profile", "/outgoing"] {
                let page = browser.get(path).await.page();
                assert!(page.contains("Every agent is stopped") && page.contains("Olga Owner"), "{path}: {page}");
            }
        }
        assert!(!member.get("/inbox").await.page().contains("Start them again"), "a member cannot");

        // REST and MCP alike, reads and writes, live and test.
        let sentence = "Every agent of this workspace is stopped. An owner or admin can start them again in Settings, Agents.";
        for key in [&bot, &test] {
            for path in ["/me", "/conversations", "/mailboxes", "/openapi.json"] {
                let reply = key.get(path).await;
                assert_eq!((reply.status, reply.error().as_str()), (403, sentence), "{path}");
            }
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
            assert_eq!(key.mcp(call).await.status, 403);
        }
        let before = world.rows().await;
        for (path, body) in [
            (format!("/conversations/{mail}/replies"), json!({ "body": "x", "send": true })),
            (format!("/conversations/{mail}/notes"), json!({ "body": "x" })),
            (format!("/conversations/{mail}/tags"), json!({ "add": ["x"] })),
            ("/app-mail".to_owned(), json!({ "messageId": "a@b.example", "reference": "r1", "to": ["a@b.example"], "subject": "s" })),
        ] {
            assert_eq!(bot.post(&path, body).await.status, 403, "{path}");
        }
        assert_eq!(test.post("/sandbox/inbound", json!({ "from": "a@customer.test", "text": "x" })).await.status, 403);
        assert_eq!(world.rows().await, before, "nothing was changed");
        assert_eq!(elsewhere.get("/me").await.status, 200, "another workspace goes on");

        // What a person approved leaves; what agents sent by themselves is held, for as long as it takes.
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1, "the approved one");
        assert!(world.sandbox_ledger().await.is_empty());
        assert_eq!(world.due_messages().await, 2);
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get("/outgoing").await.page().contains("Held"));
        assert!(owner.get(&format!("/conversations/{mail}")).await.page().contains("Held: agents are stopped"));

        // Starting without a word asks; then they are drafts for a person.
        assert_eq!(owner.post("/settings/agents/start", &[]).await.location(), "/settings/agents/start");
        let question = owner.get("/settings/agents/start").await.page();
        assert!(question.contains("<b>2 messages</b>"), "{question}");
        assert_eq!(bot.get("/me").await.status, 403, "asking starts nothing");
        let started = owner.post("/settings/agents/start", &[("waiting", "drafts")]).await;
        assert!(started.location().contains("done=agents-started"), "{}", started.location());
        assert_eq!(bot.message(mail, &alone).await["status"], "draft");
        assert_eq!(bot.told(mail, "send-stopped").await[0]["reason"], "agents-stopped");
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert_eq!((world.outbox.letters().len(), world.sandbox_ledger().await.len()), (1, 0));
        assert_eq!(
            audited(world).await,
            ["Olga Owner agents.stopped {}", r#"Olga Owner agents.started {"drafts":2,"leave":0}"#]
        );
    })
    .await;
}

#[tokio::test]
async fn what_was_held_leaves_after_a_whole_undo_window_when_a_person_says_so() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Hello", "Hello").await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        bot.sends(mail, "Sent by itself").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/agents/stop", &[]).await;
        // Pressing twice is as good as once.
        owner.post("/settings/agents/stop", &[]).await;
        world.wait(TimeDelta::hours(3));
        world.work().await;
        assert!(world.outbox.letters().is_empty());
        owner.post("/settings/agents/start", &[("waiting", "leave")]).await;
        world.work().await;
        assert!(world.outbox.letters().is_empty(), "anyone can still stop it");
        world.wait(world.app.config.undo_window(true));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        assert_eq!(bot.get("/me").await.status, 200);
        // With nothing held one press starts them.
        owner.post("/settings/agents/stop", &[]).await;
        assert!(owner.post("/settings/agents/start", &[]).await.location().contains("done=agents-started"));
        assert_eq!(bot.get("/me").await.status, 200);
    })
    .await;
}
