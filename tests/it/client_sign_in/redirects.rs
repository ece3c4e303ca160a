//! A code goes to where the program registered and nowhere else, and it says who gave it: whoever asks for another place, another
//! server or a weaker proof is told so here, and is led nowhere.

use serde_json::json;

use super::{Program, RESOURCE, address, agents, decided, leads_to, refusal, registers, token};
use rookery_world::programs::client_sign_in::challenge;
use rookery_world::{World, story};

#[tokio::test]
async fn only_https_and_the_own_machine_can_be_registered() {
    story(async |world| {
        for bad in [
            "http://app.example/back",
            "http://localhost.evil.example/back",
            "http://127.0.0.1@evil.example/back",
            "https://app.example/back#fragment",
            "https://me@app.example/back",
            "javascript:alert(1)",
            "cursor://anysphere.cursor-mcp/oauth/callback",
        ] {
            let reply = registers(world, &json!({ "redirect_uris": [bad] })).await;
            assert_eq!(refusal(&reply), "invalid_redirect_uri", "{bad}");
        }
        assert_eq!(refusal(&registers(world, &json!({ "redirect_uris": [] })).await), "invalid_redirect_uri");
        let many: Vec<String> = (0..11).map(|n| format!("https://app.example/{n}")).collect();
        assert_eq!(
            refusal(&registers(world, &json!({ "redirect_uris": many })).await),
            "invalid_redirect_uri"
        );
        for bad in [
            json!({}),
            json!([]),
            json!("x"),
            json!({ "redirect_uris": ["https://app.example/"], "grant_types": ["client_credentials"] }),
            json!({ "redirect_uris": ["https://app.example/"], "response_types": ["token"] }),
        ] {
            assert_eq!(refusal(&registers(world, &bad).await), "invalid_client_metadata", "{bad}");
        }
        assert_eq!(world.scalar("select count(*) from directory.clients").await, 0);
    })
    .await;
}

/// The page refuses, and so does the form: a link that leads out is on neither.
async fn refuses(world: &World, wrong: &[(&str, Option<&str>, &str)]) {
    let acme = world.workspace("Acme").await;
    let owner = world.browser(acme.id, acme.owner).await;
    let program = Program::registered(world, "Helper").await;
    for (name, value, said) in wrong {
        let asked = program.asked_but(name, *value);
        for shown in [owner.get(&address(&asked)).await, decided(&owner, &asked, &[("name", "x")]).await] {
            assert_eq!((shown.status, shown.location()), (400, ""), "{name} {value:?}");
            assert!(shown.html.contains(said), "{name} {value:?}: {}", shown.html);
            assert!(
                !shown.html.contains("http-equiv") && !shown.html.contains("href=\"http"),
                "{}",
                shown.html
            );
        }
    }
    assert_eq!(agents(world).await, 0);
}

#[tokio::test]
async fn nobody_is_led_to_a_place_that_was_not_registered() {
    story(async |world| {
        let said = "redirect_uri: is none that this program registered";
        let wrong = [
            "https://evil.example/callback",
            "http://127.0.0.1:51234/other",
            "http://127.0.0.1:51234/callback/",
            "http://127.0.0.1:51234/callback?x=1",
            "http://127.0.0.1:51234/callback#x",
            "http://127.0.0.1:51234@evil.example/callback",
            "http://evil.example@127.0.0.1:51234/callback",
            "http://127.0.0.1.evil.example/callback",
            "http://localhost:51234/callback",
            "https://127.0.0.1:51234/callback",
            "http://127.0.0.1:51234\\@evil.example/callback",
        ];
        let wrong: Vec<_> = wrong.iter().map(|bad| ("redirect_uri", Some(*bad), said)).collect();
        refuses(world, &wrong).await;
    })
    .await;
}

#[tokio::test]
async fn a_weaker_proof_another_server_and_a_stranger_are_refused() {
    story(async |world| {
        let long = "s".repeat(1001);
        let wrong = [
            ("redirect_uri", None, "redirect_uri: is required"),
            ("response_type", Some("token"), "response_type: must be code"),
            ("response_type", None, "response_type: is required"),
            ("code_challenge", None, "code_challenge: is required"),
            ("code_challenge", Some("short"), "code_challenge: must be"),
            ("code_challenge_method", Some("plain"), "code_challenge_method: must be S256"),
            ("code_challenge_method", None, "code_challenge_method: is required"),
            (
                "resource",
                Some("https://other.example/mcp"),
                "resource: must be https://rookery.example/mcp/sign-in",
            ),
            ("resource", Some("https://rookery.example/mcp"), "resource: must be"),
            ("resource", Some("https://rookery.example@evil.example/mcp/sign-in"), "resource: must be"),
            ("client_id", Some("rkc_00000000000000000000000000000000"), "client_id: is of no program"),
            ("client_id", Some("x"), "client_id: is of no program"),
            ("client_id", None, "client_id: is required"),
            ("state", Some(&long), "state: must be at most 1000"),
        ];
        refuses(world, &wrong).await;
    })
    .await;
}

#[tokio::test]
async fn a_parameter_that_comes_twice_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let twice = format!("{}&redirect_uri=https%3A%2F%2Fevil.example%2F", program.address());
        let shown = owner.get(&twice).await;
        assert!(shown.status == 400 && shown.html.contains("redirect_uri: came twice"), "{}", shown.html);
        let code = program.code(&owner).await;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("code", "x"),
            ("client_id", &program.id),
            ("code_verifier", rookery_world::programs::client_sign_in::VERIFIER),
        ];
        assert_eq!(refusal(&token(world, &fields).await), "invalid_request");
    })
    .await;
}

/// An older client names no resource; there is only one that its token could be for.
#[tokio::test]
async fn a_token_is_for_this_server_also_when_nobody_says_so_and_never_for_another() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let back = leads_to(&decided(&owner, &program.asked_but("resource", None), &[("name", "One")]).await);
        let code = rookery_world::programs::client_sign_in::parameter(&back, "code").unwrap();
        let other = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("client_id", &program.id),
            ("code_verifier", rookery_world::programs::client_sign_in::VERIFIER),
            ("resource", "https://other.example/mcp"),
        ];
        assert_eq!(refusal(&token(world, &other).await), "invalid_target");
        let spelt = format!("{RESOURCE}/");
        let mut ours = other;
        ours[4].1 = &spelt;
        assert_eq!(token(world, &ours).await.status, 200);
    })
    .await;
}

#[test]
fn the_example_of_the_standard_is_what_we_reckon() {
    assert_eq!(
        challenge(rookery_world::programs::client_sign_in::VERIFIER),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}
