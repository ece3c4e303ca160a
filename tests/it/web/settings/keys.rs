//! The page of API keys: made, shown once, listed without secrets, revoked after being told what that does; and when and
//! from where each was last used.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use rookery_web::door::PAGES;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use rookery_world::browser::Shown;
use rookery_world::{Mode, Reply, World, story};

const KEYS: &str = "/settings/keys";

/// The one key that a page shows.
fn key_on(page: &str) -> String {
    let from = page.find("rk_").expect("a key");
    page[from..].chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

async fn asks(world: &World, key: &str) -> Reply {
    Reply::of(world.http.get(format!("{}/api/v1/me", world.address)).bearer_auth(key)).await
}

/// proves: APP-1, AUTH-7, AUTH-10
#[tokio::test]
async fn an_owner_makes_a_key_that_is_shown_once_and_works() {
    story(async |world| {
        let acme = world.workspace("Café \"Müller\"").await;
        acme.mailbox("help@acme.example", "Help <b>desk</b>").await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(KEYS).await.page().contains("No keys yet"));
        let form = owner.get("/settings/keys/new").await.page();
        for words in
            ["Send replies without approval", "Each waits until a person approves it", "Help &#60;b&#62;desk"]
        {
            assert!(form.contains(words), "{words}: {form}");
        }

        let fields = [
            ("name", " lease & <i>bot</i> "),
            ("mode", "live"),
            ("scope", "draft"),
            ("scope", "write"),
            ("sends", ""),
            ("drafts", " 20 "),
        ];
        let shown = owner.post(KEYS, &fields).await;
        assert_eq!((shown.status, shown.location()), (201, ""), "it is the answer itself and has no address");
        assert!(shown.headers["cache-control"].to_str().unwrap().contains("no-store"));
        let key = key_on(&shown.html);
        assert!(key.starts_with("rk_live_") && key.len() == 56, "{key}");
        // Ready for four programs, and nothing of a name leaves its place.
        assert_eq!(shown.html.matches(&key).count(), 5);
        for words in ["claude mcp add --transport http cafe-muller https://rookery.example/mcp", "mcp.json"] {
            assert!(shown.html.contains(words), "{words}: {}", shown.html);
        }
        assert!(
            !shown.html.contains("<i>bot") && shown.html.contains("lease &#38; &#60;i&#62;bot&#60;/i&#62;")
        );
        let me = asks(world, &key).await;
        assert_eq!((me.status, me.json()["scopes"].clone()), (200, json!(["read", "write", "draft"])));
        assert_eq!(me.json()["livemode"], true);
        assert_eq!(me.json()["limits"], json!({ "sendsADay": null, "draftsADay": 20, "messagesADay": null }));

        // A test key, and the list: names, hints, never a key.
        let test = owner.post(KEYS, &[("name", "tests"), ("mode", "test")]).await;
        let test_key = key_on(&test.html);
        assert!(test_key.starts_with("rk_test_") && asks(world, &test_key).await.json()["livemode"] == false);
        let list = owner.get(KEYS).await.page();
        for secret in [&key, &test_key] {
            assert!(!list.contains(secret.as_str()));
            assert!(list.contains(&format!("…{}", &secret[secret.len() - 4..])), "{list}");
        }
        assert!(list.contains("Read, write and draft") && list.contains("Olga Owner"), "{list}");
        let rows: String = world.rows().await.into_values().flatten().collect();
        assert!(!rows.contains(&key) && !rows.contains(&test_key), "it stands in no table");
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_new_key_is_said_and_nothing_typed_is_lost() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.key("taken", "read", Mode::Test).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let long = "x".repeat(61);
        for (name, scope, said) in [
            ("", "draft", "name: is required"),
            (long.as_str(), "draft", "name: must be at most 60"),
            ("TAKEN", "draft", "name: is the name of another key already"),
            ("kept", "everything", "scope: must be one of those that are offered"),
            ("few", "send", "sends: must be a number from 0 to 100000, or empty"),
        ] {
            let sends = if name == "few" { "-5" } else { "5" };
            let fields = [("name", name), ("mode", "test"), ("scope", scope), ("sends", sends)];
            let shown = owner.post(KEYS, &fields).await;
            assert!(shown.html.contains(&format!(r#"value="{sends}""#)), "{}", shown.html);
            assert_eq!(shown.status, 400, "{said}");
            assert!(shown.html.contains(said) && shown.html.contains(r#"role="alert""#), "{}", shown.html);
            assert!(shown.html.contains(&format!(r#"value="{name}""#)), "{}", shown.html);
            assert!(shown.html.contains(r#"value="test" checked"#), "{}", shown.html);
            assert!(!shown.html.contains("rk_live_7"));
        }
        let made: i64 =
            sqlx::query_scalar("select count(*) from agents").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(made, 1);
    })
    .await;
}

/// Every form of the app, with everything a form could say about scopes.
///
/// proves: AUTH-11
#[tokio::test]
async fn no_form_changes_what_a_key_may_do() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bot = acme.key("bot", "read", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let about_agents = PAGES.iter().filter(|page| {
            page.method == "POST"
                && ["/settings/keys", "/settings/agents"].iter().any(|path| page.path.starts_with(path))
        });
        let paths: Vec<String> =
            about_agents.map(|page| page.path.replace("{id}", &bot.agent.to_string())).collect();
        assert!(paths.len() >= 5, "{paths:?}");
        // The one that revokes comes last.
        for path in paths.iter().filter(|path| !path.ends_with("/revoke")) {
            let all = [
                ("scope", "send"),
                ("scopes", "send"),
                ("scope", "record"),
                ("mode", "test"),
                ("cap", "7"),
                ("name", "bot"),
            ];
            owner.post(path, &all).await;
        }
        owner.post("/settings/agents/start", &[("waiting", "drafts")]).await;
        let me = bot.get("/me").await.json();
        assert_eq!((me["scopes"].clone(), me["livemode"].clone()), (json!(["read"]), json!(true)));
    })
    .await;
}

#[tokio::test]
async fn revoking_tells_first_what_it_does_and_counts_only_what_the_viewer_sees() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let ben = acme.person("Ben", Role::Admin).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let own = acme.private_mailbox("ben@acme.example", "Ben", ben).await;
        let bens = acme.key_of(ben, "bens-bot", "write,send", Mode::Live).await;
        let one = acme.mail(help, "ada@x.example", "One", "Hello").await;
        let two = acme.mail(help, "bob@x.example", "Two", "Hello").await;
        let hidden = acme.mail(own, "eve@x.example", "Hidden", "Hello").await;
        for conversation in [one, two, hidden] {
            bens.sends(conversation, "On my way").await;
        }
        for conversation in [one, hidden] {
            let taken =
                bens.post(&format!("/conversations/{conversation}/assign"), json!({ "to": "me" })).await;
            assert_eq!(taken.status, 200);
        }
        let olga = world.browser(acme.id, acme.owner).await;
        let bens_browser = world.browser(acme.id, ben).await;
        let question = format!("{KEYS}/{}/revoke", bens.agent);
        let asked = olga.get(&question).await.page();
        assert!(asked.contains("<b>2 messages</b>") && asked.contains("<b>1 conversation is</b>"), "{asked}");
        let asked = bens_browser.get(&question).await.page();
        assert!(
            asked.contains("<b>3 messages</b>") && asked.contains("<b>2 conversations are</b>"),
            "{asked}"
        );
        assert_eq!(bens.get("/me").await.status, 200, "looking does nothing");

        let done = olga.post(&question, &[]).await;
        assert!(done.location().starts_with("/settings/keys?done=key-revoked"), "{}", done.location());
        assert_eq!(bens.get("/me").await.status, 401);
        assert_eq!(world.due_messages().await, 0, "all three are drafts");
        let page = olga.get(done.location()).await.page();
        assert!(page.contains("1 revoked key") && page.contains("Key revoked"), "{page}");
        assert_eq!(olga.get(&question).await.status, 404, "there is nothing to revoke any more");
        let by: Vec<String> =
            sqlx::query_scalar("select actor_name from audit_entries where did = 'key.revoked'")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(by, ["Olga Owner"]);
    })
    .await;
}

#[tokio::test]
async fn members_and_other_workspaces_reach_no_key() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let bot = acme.key("bot", "draft", Mode::Live).await;
        let other = world.workspace("Other").await;
        let stranger = world.browser(other.id, other.owner).await;
        let member = world.browser(acme.id, mia).await;
        let pages = ["/settings/keys/{}/revoke", "/settings/agents/{}"]
            .map(|path| path.replace("{}", &bot.agent.to_string()));
        for path in pages {
            assert_eq!(member.get(&path).await.status, 404, "{path}");
            assert_eq!(stranger.get(&path).await.status, 404, "{path}");
        }
        let status = |shown: Shown| shown.status;
        assert_eq!(status(member.post(KEYS, &[("name", "x"), ("scope", "send")]).await), 404);
        let revoke = format!("{KEYS}/{}/revoke", bot.agent);
        assert_eq!(status(stranger.post(&revoke, &[]).await), 404);
        let cap = format!("/settings/agents/{}/cap", bot.agent);
        assert_eq!(status(stranger.post(&cap, &[("cap", "1")]).await), 404);
        assert_eq!(bot.get("/me").await.status, 200);
        assert!(
            !member.get("/settings").await.page().contains(KEYS),
            "what they may not open is not offered"
        );
    })
    .await;
}

#[tokio::test]
async fn the_last_use_of_a_key_is_told_by_network_and_written_at_most_once_a_minute() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let bot = acme.key("bot", "read", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(KEYS).await.page().contains("Never"));
        let uses = async || -> Vec<(chrono::DateTime<chrono::Utc>, String, String)> {
            sqlx::query_as("select used_at, network, client from key_uses")
                .fetch_all(&world.app.pool)
                .await
                .unwrap()
        };
        let ask = async |client: &str| {
            let request = world.http.get(format!("{}/api/v1/me", world.address)).bearer_auth(&bot.text);
            assert_eq!(Reply::of(request.header("user-agent", client)).await.status, 200);
        };
        let morning = world.now();
        ask("curl/8.14.1 <b>(hostile)</b>").await;
        assert_eq!(uses().await, [], "no request writes it");
        world.work().await;
        let first = (morning, "127.0.0.0/24".to_owned(), "curl/8.14.1".to_owned());
        assert_eq!(uses().await, std::slice::from_ref(&first));
        let page = owner.get(KEYS).await.page();
        assert!(page.contains("127.0.0.0/24 · curl/8.14.1") && !page.contains("hostile"), "{page}");

        for _ in 0..5 {
            world.wait(TimeDelta::seconds(10));
            ask("Cursor/1").await;
            world.work().await;
        }
        assert_eq!(uses().await, [first], "within the minute it stays");
        world.wait(TimeDelta::seconds(10));
        ask("Cursor/1").await;
        world.work().await;
        assert_eq!(
            uses().await,
            [(morning + TimeDelta::minutes(1), "127.0.0.0/24".to_owned(), "Cursor/1".to_owned())]
        );

        // Refused keys leave no trace; behind a proxy that is trusted it is the client's network that counts.
        world.wait(TimeDelta::minutes(2));
        assert_eq!(asks(world, &format!("rk_live_{}", "0".repeat(48))).await.status, 401);
        let behind = world.http.get(format!("{}/api/v1/me", world.address)).bearer_auth(&bot.text);
        Reply::of(behind.header("x-forwarded-for", "198.51.100.9")).await;
        world.work().await;
        let uses = uses().await;
        assert_eq!((uses.len(), uses[0].1.as_str()), (1, "198.51.100.0/24"));
    })
    .await;
}

/// The table is locked by somebody else: requests do not notice, and no other workspace waits for one that cannot be
/// written.
#[tokio::test]
async fn no_request_waits_for_its_use_to_be_written() {
    story(async |world| {
        let (bad, sound) = (world.workspace("Bad").await, world.workspace("Sound").await);
        let (one, two) =
            (bad.key("one", "read", Mode::Live).await, sound.key("two", "read", Mode::Live).await);
        let mut other = PgConnection::connect(world.database.url()).await.unwrap();
        sqlx::raw_sql("begin; lock table key_uses in access exclusive mode")
            .execute(&mut other)
            .await
            .unwrap();
        for key in [&one, &two] {
            for _ in 0..20 {
                assert_eq!(key.get("/me").await.status, 200);
            }
        }
        sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
        world.sql("update workspaces set fenced_at = now() where name = 'Bad'").await;
        world.work().await;
        let told: Vec<i64> =
            sqlx::query_scalar("select workspace_id from key_uses").fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(told, [sound.id.0]);
        world.sql("update workspaces set fenced_at = null").await;
    })
    .await;
}
