//! What is tried against single sign-on: tokens that lie, ways back that were stolen, replayed or begun elsewhere, accounts
//! with somebody else's address, and colleagues who would like to be somebody else.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use super::provider::{CLIENT, Provider, SECRET, Signs, come_back, leave, sign_in};
use super::{HERE, PAGE};
use rookery_world::pages::sign_in::with_cookie_of;
use rookery_world::{story, story_with};

/// Every lie a token can tell, and every way not to sign it.
#[tokio::test]
async fn a_token_that_is_not_the_answer_to_this_sign_in_opens_nothing() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        let now = world.now().timestamp();
        let lies: &[(&str, Value, &str)] = &[
            ("nonce", json!("another"), "answers another sign-in"),
            ("nonce", Value::Null, "answers another sign-in"),
            ("iss", json!("https://evil.example"), "of another issuer"),
            ("aud", json!("another-client"), "for another client"),
            ("aud", json!([CLIENT, "another-client"]), "for another client"),
            ("azp", json!("another-client"), "for another client"),
            ("exp", json!(now - 61), "has expired"),
            ("iat", json!(now + 3600), "not valid yet"),
            ("nbf", json!(now + 3600), "not valid yet"),
            ("sub", Value::Null, "cannot be read"),
            ("sub", json!(""), "no usable id"),
        ];
        for (claim, value, why) in lies {
            provider.says(json!({ *claim: value }));
            let refused = sign_in(world, acme.id, &provider).await;
            assert_eq!(refused.status, 502, "{claim}: {value}");
            assert!(refused.html.contains(why), "{claim}: {value}: {}", refused.html);
            assert!(!refused.cookie().starts_with("__Host-rookery="), "{claim}: {}", refused.cookie());
        }
        provider.says(json!({}));
        for (how, why) in [
            (Signs::Not, "signed in a way that is not accepted"),
            (Signs::WithThePublicKey, "signed in a way that is not accepted"),
            (Signs::WithAnotherKey, "signature of the ID token is wrong"),
        ] {
            provider.signs(how);
            let refused = sign_in(world, acme.id, &provider).await;
            assert!(refused.status == 502 && refused.html.contains(why), "{how:?}: {}", refused.html);
        }
        provider.signs(Signs::Honestly);
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303, "and the truth opens the door");
    })
    .await;
}

#[tokio::test]
async fn a_way_back_is_good_once_within_ten_minutes_in_the_browser_that_left() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;

        // Somebody else's browser: none of their cookies, or one of a sign-in of their own.
        let (mine, theirs) = (leave(world, acme.id, "/inbox").await, leave(world, acme.id, "/inbox").await);
        let code = provider.lets_in(world, &mine);
        let (state, their_state) = (mine.said("state"), theirs.said("state"));
        let query = [("code", code), ("state", state.as_str())];
        for cookie in ["", "__Host-rookery-sso=", &theirs.cookie, "__Host-rookery-sso=wsp_0000000000001.00"] {
            assert_eq!(come_back(world, acme.id, &query, cookie).await.status, 400, "{cookie}");
        }
        for state in ["", "x", &their_state, &state.replace('.', ".0")] {
            let query = [("code", code), ("state", state)];
            assert_eq!(come_back(world, acme.id, &query, &mine.cookie).await.status, 400, "{state}");
        }
        assert_eq!(provider.asked("token"), 0, "nobody was asked");
        let back = come_back(world, acme.id, &query, &mine.cookie).await;
        assert_eq!(back.status, 303, "{}", back.html);
        provider.lets_in(world, &mine);
        assert_eq!(come_back(world, acme.id, &query, &mine.cookie).await.status, 400, "replayed");
        assert_eq!(provider.asked("token"), 1);

        let late = leave(world, acme.id, "/inbox").await;
        world.wait(TimeDelta::minutes(10));
        let code = provider.lets_in(world, &late);
        let query = [("code", code), ("state", &late.said("state")[..])];
        assert_eq!(come_back(world, acme.id, &query, &late.cookie).await.status, 400, "too late");

        // One that was refused there is used up as well, and says no word of a stranger.
        let denied = leave(world, acme.id, "/inbox").await;
        let state = denied.said("state");
        let said = [("error", "access_denied<script>"), ("state", state.as_str())];
        let refused = come_back(world, acme.id, &said, &denied.cookie).await;
        assert!(refused.status == 403 && refused.html.contains("(access_deniedscript)"), "{}", refused.html);
        let query = [("code", provider.lets_in(world, &denied)), ("state", state.as_str())];
        assert_eq!(come_back(world, acme.id, &query, &denied.cookie).await.status, 400);

        // What a provider says of itself on the way back has to be true (RFC 9207).
        for (iss, status) in [("https://evil.example", 502), (provider.issuer.as_str(), 303)] {
            let leaving = leave(world, acme.id, "/inbox").await;
            let code = provider.lets_in(world, &leaving);
            let query = [("code", code), ("state", &leaving.said("state")[..]), ("iss", iss)];
            assert_eq!(come_back(world, acme.id, &query, &leaving.cookie).await.status, status, "{iss}");
        }
        // And leads nowhere else.
        for next in ["https://evil.example", "//evil.example", "/\\evil.example"] {
            let leaving = leave(world, acme.id, next).await;
            let code = provider.lets_in(world, &leaving);
            let query = [("code", code), ("state", &leaving.said("state")[..])];
            assert_eq!(
                come_back(world, acme.id, &query, &leaving.cookie).await.location(),
                "/inbox",
                "{next}"
            );
        }
        world.wait(TimeDelta::days(1));
        world.work().await;
        let left: i64 =
            sqlx::query_scalar("select count(*) from sso_attempts").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(left, 0, "those that were given up are forgotten");
    })
    .await;
}

/// A hostile workspace on the same service, with a provider of its own that vouches for anybody.
#[tokio::test]
async fn one_workspaces_provider_says_nothing_in_another() {
    story_with(HERE, async |world| {
        let (acme, evil) = (world.workspace("Acme").await, world.workspace("Evil").await);
        let (honest, hostile) = (Provider::start().await, Provider::start().await);
        honest.connect(&world.browser(acme.id, acme.owner).await).await;
        hostile.connect(&world.browser(evil.id, evil.owner).await).await;
        let door = world.browser_with("").get("/sign-in").await.page();
        assert!(!door.contains("Single sign-on"), "nobody says which is meant");
        hostile.says(json!({ "email": "olga@rookery.example", "sub": "owner" }));
        let inside = sign_in(world, evil.id, &hostile).await;
        assert_eq!(inside.status, 303);
        let page = with_cookie_of(world, &inside).get("/settings/people").await.page();
        assert!(page.contains("Evil") && !page.contains("Acme"), "only in their own");
        // A state of the one is none at the other, whatever the address says.
        let leaving = leave(world, evil.id, "/inbox").await;
        let code = hostile.lets_in(world, &leaving);
        let query = [("code", code), ("state", &leaving.said("state")[..])];
        assert_eq!(come_back(world, acme.id, &query, &leaving.cookie).await.status, 400);
        assert_ne!(leaving.said("redirect_uri"), leave(world, acme.id, "/").await.said("redirect_uri"));
        assert_eq!(honest.asked("token"), 0);
    })
    .await;
}

#[tokio::test]
async fn an_address_alone_makes_nobody_somebody() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Owner).await;
        let provider = Provider::start().await;
        let owner = world.browser(acme.id, acme.owner).await;
        provider.connect(&owner).await;
        for claims in [
            json!({ "email_verified": false }),
            json!({ "email_verified": null }),
            json!({ "email_verified": "no" }),
            json!({ "email": "" }),
            json!({ "email": "mia@rookery.example\r\nBcc: x@y.example" }),
        ] {
            provider.says(claims.clone());
            let refused = sign_in(world, acme.id, &provider).await;
            assert_eq!(refused.status, 403, "{claims}");
            assert!(
                refused.html.contains("hasn’t verified your email address"),
                "{claims}: {}",
                refused.html
            );
        }
        provider.says(json!({}));
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303, "hers");
        // Somebody else at the provider gets her address, perhaps when she has left that company.
        provider.says(json!({ "sub": "acct-666" }));
        let refused = sign_in(world, acme.id, &provider).await;
        assert!(refused.status == 403 && refused.html.contains("another account"), "{}", refused.html);
        // Who was removed does not come in by the account, and does not come back by the address.
        provider.says(json!({}));
        let removed = owner.post(&format!("/settings/people/{mia}/remove"), &[]).await;
        assert_eq!(removed.status, 303, "{}", removed.html);
        let refused = sign_in(world, acme.id, &provider).await;
        assert!(
            refused.status == 403 && refused.html.contains("Nobody with your address"),
            "{}",
            refused.html
        );
        let bound: i64 =
            sqlx::query_scalar("select count(*) from sso_accounts").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(bound, 0);
    })
    .await;
}

/// An admin who could name the provider could be anybody.
#[tokio::test]
async fn only_owners_who_have_just_signed_in_say_who_the_provider_is() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Admin).await;
        let provider = Provider::start().await;
        let (owner, admin) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, ada).await);
        assert_eq!(provider.connect(&admin).await.status, 403);
        assert!(admin.get(PAGE).await.page().contains("Only owners can change this"));
        world.wait(TimeDelta::minutes(61));
        let stale = provider.connect(&owner).await;
        assert!(stale.status == 403 && stale.html.contains("Confirm it’s you first"), "{}", stale.html);
        assert!(!stale.html.contains(SECRET), "what was typed comes back but for the secret");
        assert_eq!(provider.asked("configuration"), 0, "nobody was asked");
        assert_eq!(owner.get("/sign-in").await.location(), "/inbox");
        assert_eq!(owner.get("/sign-in?again=on&next=/settings/sign-in").await.status, 200);

        let ways = [
            ("/settings/sign-in/required", &[("required", "on")][..]),
            ("/settings/sign-in/disconnect", &[]),
            ("/settings/sign-in/forget", &[("person", "usr_0000000000001")]),
        ];
        for (path, fields) in ways {
            let asks = owner.post(path, fields).await;
            assert!(
                asks.status == 403 && asks.html.contains("confirm it’s you</h1>"),
                "{path}: {}",
                asks.html
            );
            let refused = admin.post(path, fields).await;
            assert!(
                refused.status == 403 && refused.html.contains("Only owners"),
                "{path}: {}",
                refused.html
            );
        }
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(provider.connect(&owner).await.status, 303);
        for (path, fields) in ways {
            assert_eq!(admin.post(path, fields).await.status, 403, "{path}");
        }
        let dump = format!("{:?}", world.rows().await);
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!dump.contains(SECRET) && !dump.contains(&hex), "the secret is sealed");
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_none_is_not_connected() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let provider = Provider::start().await;
        let connect = async |issuer: &str, client: &str, secret: &str| {
            let fields = [("issuer", issuer), ("client_id", client), ("client_secret", secret)];
            owner.post(PAGE, &fields).await
        };
        let slash = format!("{}/", provider.issuer);
        for (issuer, client, secret, why) in [
            ("", "a", "b", "must be an https address"),
            ("ftp://127.0.0.1", "a", "b", "must be an https address"),
            ("https://id.example/?x=1", "a", "b", "without ? and #"),
            ("http://10.1.2.3", "a", "b", "must lead to a public address"),
            ("http://169.254.169.254", "a", "b", "must lead to a public address"),
            ("http://127.0.0.1:1", "a", "b", "cannot be reached"),
            (&slash, "a", "b", "calls itself"),
            (&provider.issuer, "", "b", "Client ID must be"),
            (&provider.issuer, "a\nb", "b", "Client ID must be"),
            (&provider.issuer, "a", "", "Type the client secret"),
        ] {
            let refused = connect(issuer, client, secret).await;
            assert!(
                refused.status == 400 && refused.html.contains(why),
                "{issuer} {client}: {}",
                refused.html
            );
        }
        for configuration in [
            json!({ "issuer": "https://evil.example" }),
            json!({ "token_endpoint": null }),
            json!({ "jwks_uri": "not an address" }),
            // The browser is not sent to where we would not go, nor our secret.
            json!({ "authorization_endpoint": "javascript:alert(1)" }),
            json!({ "authorization_endpoint": "http://10.1.2.3/authorize" }),
            json!({ "jwks_uri": "http://169.254.169.254/latest/meta-data" }),
            json!({ "much": "x".repeat(200_000) }),
        ] {
            provider.answers.lock().unwrap().configuration = configuration.clone();
            let refused = connect(&provider.issuer, CLIENT, SECRET).await;
            assert_eq!(refused.status, 400, "{configuration:.60}: {}", refused.html);
        }
        provider.answers.lock().unwrap().configuration =
            json!({ "token_endpoint": "http://169.254.169.254/" });
        assert_eq!(connect(&provider.issuer, CLIENT, SECRET).await.status, 303);
        let refused = sign_in(world, acme.id, &provider).await;
        assert!(refused.status == 502 && refused.html.contains("address refused"), "{}", refused.html);
        // A wrong secret is told as what it is.
        provider.answers.lock().unwrap().configuration = json!({});
        assert_eq!(connect(&provider.issuer, CLIENT, "another").await.status, 303);
        let refused = sign_in(world, acme.id, &provider).await;
        assert!(refused.html.contains("the provider refused: invalid_client"), "{}", refused.html);
    })
    .await;
}

/// Keys change: a token with a new one asks for the keys anew, and made-up ones do not make us ask all the time.
#[tokio::test]
async fn keys_are_asked_for_anew_once_a_minute_at_most() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303);
        provider.signs(Signs::WithANewKey);
        let soon = sign_in(world, acme.id, &provider).await;
        assert!(soon.html.contains("does not publish"), "{}", soon.html);
        assert_eq!(provider.asked("keys"), 1);
        world.wait(TimeDelta::minutes(1));
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303);
        assert_eq!(provider.asked("keys"), 2);
        world.wait(TimeDelta::hours(1));
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303);
        assert_eq!(
            (provider.asked("keys"), provider.asked("configuration")),
            (3, 2),
            "an hour is the end of it"
        );
    })
    .await;
}

/// Without the operator's leave, a provider is a public place with a certificate.
#[tokio::test]
async fn a_provider_on_the_servers_own_network_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let provider = Provider::start().await;
        let refused = provider.connect(&world.browser(acme.id, acme.owner).await).await;
        assert!(refused.status == 400 && refused.html.contains("https address"), "{}", refused.html);
        assert_eq!(provider.asked("configuration"), 0);
    })
    .await;
}
