//! Codes and tokens are good once, for whom and for as long as they were given; one that comes a second time ends what it gave.

use chrono::TimeDelta;
use serde_json::json;

use super::{Program, RESOURCE, Tokens, agents, asks, opens, refusal, token};
use rookery_world::programs::client_sign_in::VERIFIER;
use rookery_world::{Mode, Reply, World, story};

async fn exchange(world: &World, code: &str, client: &str, redirect: &str, verifier: &str) -> Reply {
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", client),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
    ];
    token(world, &fields).await
}

#[tokio::test]
async fn a_code_that_comes_twice_ends_what_it_gave() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let code = program.code(&owner).await;
        let given = Tokens::of(&program.redeems(&code).await);
        assert!(opens(world, &given.access).await);
        assert_eq!(refusal(&program.redeems(&code).await), "invalid_grant");
        assert!(!opens(world, &given.access).await);
        assert_eq!(refusal(&program.refreshes(&given.refresh).await), "invalid_grant");
        assert_eq!(agents(world).await, 0);
        let log = owner.get("/settings/audit").await.page();
        assert!(log.contains("Rookery") && log.contains("Revoked the key"), "{log}");
    })
    .await;
}

#[tokio::test]
async fn a_refresh_token_that_comes_twice_ends_its_whole_family() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let first = program.signs_in(&owner).await;
        let second = Tokens::of(&program.refreshes(&first.refresh).await);
        let third = Tokens::of(&program.refreshes(&second.refresh).await);
        assert!(opens(world, &third.access).await);
        // The oldest one, long after it was used.
        assert_eq!(refusal(&program.refreshes(&first.refresh).await), "invalid_grant");
        for tokens in [&first, &second, &third] {
            assert!(!opens(world, &tokens.access).await);
            assert_eq!(refusal(&program.refreshes(&tokens.refresh).await), "invalid_grant");
        }
        assert_eq!(agents(world).await, 0);
    })
    .await;
}

#[tokio::test]
async fn of_many_who_bring_one_code_at_once_at_most_one_gets_tokens_and_they_do_not_last() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let code = program.code(&owner).await;
        let replies = futures::future::join_all((0..8).map(|_| program.redeems(&code))).await;
        let given: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(given.len(), 1, "{:?}", replies.iter().map(|reply| reply.status).collect::<Vec<_>>());
        assert!(!opens(world, &Tokens::of(given[0]).access).await);
    })
    .await;
}

#[tokio::test]
async fn a_code_is_good_for_its_own_client_verifier_and_place_only() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (program, other) =
            (Program::registered(world, "Helper").await, Program::registered(world, "Other").await);
        let code = program.code(&owner).await;
        let wrong = "w".repeat(43);
        let challenge = rookery_world::programs::client_sign_in::challenge(VERIFIER);
        for (client, redirect, verifier) in [
            (&other.id, super::REDIRECT, VERIFIER),
            (&program.id, "http://127.0.0.1:51235/callback", VERIFIER),
            (&program.id, super::REDIRECT, &wrong),
            (&program.id, super::REDIRECT, "short"),
            // What `plain` would be.
            (&program.id, super::REDIRECT, &challenge),
        ] {
            let reply = exchange(world, &code, client, redirect, verifier).await;
            assert_eq!(refusal(&reply), "invalid_grant", "{client} {redirect} {verifier}");
        }
        let without = [("grant_type", "authorization_code"), ("code", &code), ("client_id", &program.id)];
        assert_eq!(refusal(&token(world, &without).await), "invalid_request");
        // Who guesses wrong takes nothing from whom it belongs to.
        let tokens = Tokens::of(&program.redeems(&code).await);
        let taken =
            [("grant_type", "refresh_token"), ("refresh_token", &tokens.refresh), ("client_id", &other.id)];
        assert_eq!(refusal(&token(world, &taken).await), "invalid_grant");
        for (grant, said) in
            [("password", "unsupported_grant_type"), ("client_credentials", "unsupported_grant_type")]
        {
            assert_eq!(refusal(&token(world, &[("grant_type", grant)]).await), said);
        }
        assert!(opens(world, &tokens.access).await);
    })
    .await;
}

/// The token of one door opens no other, and nothing else opens that of tokens.
#[tokio::test]
async fn a_token_opens_the_door_it_was_given_for_and_no_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let code = program.code(&owner).await;
        assert!(!opens(world, &code).await);
        let tokens = Tokens::of(&program.redeems(&code).await);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let mcp = Reply::of(world.ask("POST", "/mcp").bearer_auth(&tokens.access).json(&ping)).await;
        assert_eq!((mcp.status, mcp.header("www-authenticate")), (401, Some("Bearer")));
        let rest = Reply::of(world.ask("GET", "/api/v1/me").bearer_auth(&tokens.access)).await;
        assert_eq!((rest.status, rest.header("www-authenticate")), (401, Some("Bearer")));
        let key = acme.key("bot", "read", Mode::Live).await;
        for other in [&tokens.refresh, &code, &owner.token, &key.text] {
            assert!(!opens(world, other).await, "{other}");
        }
        // A workspace that is not there, or not this one.
        let birch = world.workspace("Birch").await;
        let (_, secret) = tokens.access.split_once('.').unwrap();
        for workspace in [birch.id.to_string(), "wsp_0000000000001".to_owned()] {
            assert!(!opens(world, &format!("{workspace}.{secret}")).await);
            let moved = format!("{workspace}.{}", tokens.refresh.split_once('.').unwrap().1);
            assert_eq!(refusal(&program.refreshes(&moved).await), "invalid_grant");
        }
        assert!(
            owner.world.browser_with(&tokens.access).get("/inbox").await.location().starts_with("/sign-in")
        );
        assert!(opens(world, &tokens.access).await);
    })
    .await;
}

#[tokio::test]
async fn a_code_lives_a_minute_an_access_token_an_hour_a_refresh_token_thirty_days() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let late = program.code(&owner).await;
        world.wait(TimeDelta::seconds(60));
        assert_eq!(refusal(&program.redeems(&late).await), "invalid_grant");
        world.work().await;
        assert_eq!(agents(world).await, 0, "an agent that nobody can ever be is not there");

        let tokens = program.signs_in(&owner).await;
        world.wait(TimeDelta::minutes(59));
        assert!(opens(world, &tokens.access).await);
        world.wait(TimeDelta::minutes(1));
        assert!(!opens(world, &tokens.access).await);
        world.wait(TimeDelta::days(29));
        world.work().await;
        let tokens = Tokens::of(&program.refreshes(&tokens.refresh).await);
        world.wait(TimeDelta::days(30));
        assert_eq!(refusal(&program.refreshes(&tokens.refresh).await), "invalid_grant");
        world.work().await;
        assert_eq!(agents(world).await, 0);
        let left = "select (select count(*) from client_tokens) + (select count(*) from client_grants)";
        assert_eq!(world.scalar(left).await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_form_or_names_no_token_is_told_so() {
    story(async |world| {
        let reply =
            Reply::of(world.ask("POST", "/oauth/token").json(&json!({ "grant_type": "refresh_token" })))
                .await;
        assert_eq!(refusal(&reply), "invalid_request");
        for bad in ["", "x", "wsp_0000000000001.0", &format!("wsp_0000000000001.{}", "0".repeat(64))] {
            let fields = [
                ("grant_type", "refresh_token"),
                ("refresh_token", bad),
                ("client_id", "x"),
                ("resource", RESOURCE),
            ];
            assert!(
                ["invalid_grant", "invalid_request"]
                    .contains(&refusal(&token(world, &fields).await).as_str()),
                "{bad}"
            );
        }
        let huge =
            world.ask("POST", "/oauth/token").header("content-type", "application/x-www-form-urlencoded");
        assert_eq!(Reply::of(huge.body("x".repeat(20_000))).await.status, 413);
        assert_eq!(
            asks(world, &format!("wsp_0000000000001.{}", "0".repeat(64)), "ping", json!({})).await.status,
            401
        );
    })
    .await;
}
