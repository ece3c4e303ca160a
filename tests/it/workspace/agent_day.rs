//! An agent's day, by the API and on its page: what it read, changed and was refused, who may know of it, and that no word of
//! any mail or search is kept.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::probe::rows_of;
use rookery_world::{Key, Mode, story, story_with};

/// The day as a key reads it, once what waits in memory was written down.
async fn day(reader: &Key<'_>, of: &Key<'_>, query: &str) -> Value {
    reader.world.work().await;
    let reply = reader.get(&format!("/agents/{}/day{query}", of.agent)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

/// `did operation status times`, newest first.
fn told(day: &Value) -> Vec<String> {
    let calls = day["calls"].as_array().unwrap().iter();
    calls
        .map(|call| {
            let operation = call["operation"].as_str().unwrap_or("-");
            format!("{} {operation} {} {}", call["did"].as_str().unwrap(), call["status"], call["times"])
        })
        .collect()
}

fn numbers(day: &Value) -> [i64; 5] {
    ["reads", "writes", "refused", "sends", "drafts"].map(|name| day[name].as_i64().unwrap())
}

#[tokio::test]
async fn a_day_tells_what_an_agent_read_changed_and_was_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        world.sql("update workspaces set time_zone = 'Europe/Berlin'").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mail = acme.mail(help, "ada@x.example", "Where is <b>my order</b>", "Hello").await;
        let bot = acme.key("bot", "write,draft,send", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(&format!("/settings/agents/{}/cap", bot.agent), &[("sends", "1"), ("drafts", "5")]).await;

        // A minute between each, so that their order is known; by REST and by MCP.
        let minute = || world.wait(TimeDelta::minutes(1));
        for _ in 0..3 {
            assert_eq!(bot.get(&format!("/conversations/{mail}")).await.status, 200);
        }
        minute();
        assert_eq!(bot.get("/conversations?q=zanzibar").await.status, 200);
        minute();
        bot.tool("list_conversations", json!({ "limit": 5 })).await;
        minute();
        bot.tool("reply", json!({ "id": mail, "body": "A draft" })).await;
        minute();
        bot.sends(mail, "It left").await;
        minute();
        let path = format!("/conversations/{mail}/replies");
        assert_eq!(bot.post(&path, json!({ "body": "Again", "send": true })).await.status, 429);
        minute();
        assert_eq!(bot.get("/conversations/cnv_0000000000001").await.status, 404);
        minute();
        assert_eq!(bot.post("/app-mail", json!({})).await.status, 403);
        minute();
        assert_eq!(bot.get("/nothing").await.status, 404);
        minute();
        // The same request again is answered from memory: it changed nothing and is not told.
        let once = json!({ "status": "closed" });
        for _ in 0..2 {
            assert_eq!(bot.post_once("k", &format!("/conversations/{mail}/status"), &once).await.status, 200);
        }
        minute();

        let shown = day(&bot, &bot, "").await;
        assert_eq!(
            told(&shown),
            [
                "wrote set_status 200 1",
                "refused - 404 1",
                "refused record_sent 403 1",
                "refused get_conversation 404 1",
                "refused reply 429 1",
                "wrote reply 201 1",
                "wrote reply 201 1",
                "read list_conversations 200 1",
                "searched list_conversations 200 1",
                "read get_conversation 200 3",
            ]
        );
        assert_eq!(numbers(&shown), [5, 3, 4, 1, 1]);
        assert_eq!((&shown["date"], &shown["zone"]), (&json!("2031-01-06"), &json!("Europe/Berlin")));
        assert_eq!(shown["limits"], json!({ "sendsADay": 1, "draftsADay": 5, "messagesADay": null }));
        assert_eq!(shown["left"], json!({ "sendsADay": 0, "draftsADay": 4, "messagesADay": null }));
        assert_eq!(shown["calls"][9]["conversationId"], json!(mail.to_string()));
        assert_eq!(shown["calls"][4]["conversationId"], json!(mail.to_string()));
        assert_eq!(shown["calls"][3]["conversationId"], Value::Null);
        assert!(shown["calls"][4]["reason"].as_str().unwrap().starts_with("A limit was reached"));

        let page = owner.get(&format!("/settings/agents/{}/day", bot.agent)).await.page();
        for words in [
            "Where is &#60;b&#62;my order",
            "List of conversations",
            "Searched",
            "A limit was reached",
            "Left today: 0 sends, 4 drafts",
            "(Europe/Berlin)",
            ">10:00<",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(page.contains(&format!("/conversations/{mail}")), "{page}");
        for (link, on) in
            [("/day", format!("/settings/agents/{}", bot.agent)), ("/day", "/settings/keys".into())]
        {
            assert!(owner.get(&on).await.page().contains(&format!("{}{link}", bot.agent)), "{on}");
        }
        // Not even the word that was looked for, and none of the mail.
        let rows = rows_of(&world.app.pool).await.remove("public.agent_calls").unwrap().concat();
        assert!(!rows.contains("zanzibar") && !rows.contains("order"), "{rows}");

        // Another day is another page; what is a month old is dropped.
        assert_eq!(numbers(&day(&bot, &bot, "?date=2031-01-05").await), [0; 5]);
        assert_eq!(bot.get(&format!("/agents/{}/day?date=2031-02-31", bot.agent)).await.status, 400);
        world.wait(TimeDelta::days(32));
        assert_eq!(numbers(&day(&bot, &bot, "?date=2031-01-06").await), [0, 0, 0, 1, 1]);
    })
    .await;
}

#[tokio::test]
async fn what_happened_in_a_private_inbox_is_told_to_its_owner_alone_and_the_sandbox_is_apart() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let ben = acme.person("Ben", Role::Admin).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.private_mailbox("ben@acme.example", "Ben", ben).await;
        let team = acme.mail(help, "ada@x.example", "Team words", "Hello").await;
        let hidden = acme.mail(own, "eve@x.example", "Hidden words", "Hello").await;
        let bens = acme.key_of(ben, "bens-bot", "write,draft", Mode::Live).await;
        let olgas = acme.key("olgas-bot", "read", Mode::Live).await;
        for mail in [team, hidden] {
            assert_eq!(bens.get(&format!("/conversations/{mail}")).await.status, 200);
            bens.drafts(mail, "A draft").await;
            assert_eq!(bens.post(&format!("/conversations/{mail}/status"), json!({})).await.status, 400);
        }
        let seen = day(&olgas, &bens, "").await;
        assert_eq!(numbers(&seen), [1, 1, 2, 0, 1]);
        assert!(!seen.to_string().contains(&hidden.to_string()), "{seen}");
        assert_eq!(numbers(&day(&bens, &bens, "").await), [2, 2, 2, 0, 2]);
        for (viewer, is_shown) in [(acme.owner, false), (ben, true)] {
            let browser = world.browser(acme.id, viewer).await;
            let page = browser.get(&format!("/settings/agents/{}/day", bens.agent)).await.page();
            assert!(page.contains("Team words") && page.contains("Hidden words") == is_shown, "{page}");
        }

        let test = acme.key("tester", "write", Mode::Test).await;
        test.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        for (reader, of) in [(&test, &bens), (&bens, &test)] {
            assert_eq!(reader.get(&format!("/agents/{}/day", of.agent)).await.status, 404);
        }
        let other = world.workspace("Other").await.key("bot", "read", Mode::Live).await;
        assert_eq!(other.get(&format!("/agents/{}/day", bens.agent)).await.status, 404);
        assert_eq!(numbers(&day(&test, &test, "").await), [0, 1, 1, 0, 0]);
        let mia = acme.person("Mia", Role::Member).await;
        let member = world.browser(acme.id, mia).await;
        assert_eq!(member.get(&format!("/settings/agents/{}/day", bens.agent)).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn a_long_day_is_read_page_by_page() {
    story_with(&[("RATE_LIMIT_REQUESTS", "5")], async |world| {
        let acme = world.workspace("Acme").await;
        let (bot, other) =
            (acme.key("bot", "read", Mode::Live).await, acme.key("other", "read", Mode::Live).await);
        for _ in 0..4 {
            for path in ["/me", "/conversations", "/tags"] {
                bot.get(path).await;
            }
            world.wait(TimeDelta::seconds(90));
        }
        for _ in 0..9 {
            bot.get("/me").await;
        }
        // More often than it may: a flood is one line.
        let path = format!("/agents/{}/day?limit=2", bot.agent);
        world.work().await;
        let (mut all, mut path) = (Vec::new(), Some(path));
        while let Some(next) = path {
            let reply = other.get(&next).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            all.extend(told(&reply.json()));
            path = reply.header("link").map(|link| {
                let from = link.find("/agents/").unwrap();
                link[from..].split('>').next().unwrap().to_owned()
            });
        }
        assert_eq!(all.len(), 4, "each kind is counted: {all:?}");
        all.sort();
        let counted =
            ["read list_conversations 200 4", "read list_tags 200 4", "read me 200 9", "refused - 429 4"];
        assert_eq!(all, counted);
    })
    .await;
}
