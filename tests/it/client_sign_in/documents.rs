//! Programs whose id is the address of a document about them. A stranger named the address, so what stands there is fetched as
//! carefully as any webhook, and believed only about itself.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use serde_json::{Value, json};

use super::{Program, Tokens, address, decided, leads_to, opens};
use rookery_world::programs::client_sign_in::parameter;
use rookery_world::{story, story_with};

const OPEN: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8")];

/// Serves `answer` at every path but `/moved`; `{id}` in it becomes the address of `/client`.
async fn site(answer: Value) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer.to_string().replace("{id}", &format!("{host}/client")));
    let serve = async |State(answer): State<Arc<String>>| answer.as_str().to_owned().into_response();
    let router = Router::new()
        .route("/moved", get(async || Redirect::temporary("/client")))
        .fallback(serve)
        .with_state(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    host
}

#[tokio::test]
async fn a_program_is_known_by_the_document_at_its_address() {
    story_with(OPEN, async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let host = site(
            json!({ "client_id": "{id}", "client_name": "Documented", "token_endpoint_auth_method": "none",
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"] }),
        )
        .await;
        let program = Program {
            world,
            id: format!("{host}/client"),
            redirect: "http://localhost:50505/callback".into(),
        };
        let page = owner.get(&program.address()).await.page();
        assert!(page.contains("Documented") && page.contains("as <b>127.0.0.1</b> describes it"), "{page}");
        let back = leads_to(&program.allowed_by(&owner, &[("name", "Documented")]).await);
        assert!(back.as_str().starts_with("http://localhost:50505/callback?"), "{back}");
        let tokens = Tokens::of(&program.redeems(&parameter(&back, "code").unwrap()).await);
        assert!(opens(world, &tokens.access).await);

        let elsewhere = program.asked_but("redirect_uri", Some("https://evil.example/callback"));
        for shown in
            [owner.get(&address(&elsewhere)).await, decided(&owner, &elsewhere, &[("name", "x")]).await]
        {
            assert!(shown.status == 400 && shown.html.contains("redirect_uri: is none"), "{}", shown.html);
        }
    })
    .await;
}

#[tokio::test]
async fn a_document_that_is_about_another_asks_for_a_secret_or_is_too_large_is_refused() {
    story_with(OPEN, async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let redirects = json!(["http://localhost/callback"]);
        for (document, path, said) in [
            (json!({ "client_id": "https://claude.ai/client", "redirect_uris": redirects }), "/client", "does not describe"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects }), "/other", "does not describe"),
            (json!({ "client_id": "{id}" }), "/client", "does not describe"),
            (json!("{id}"), "/client", "does not describe"),
            (
                json!({ "client_id": "{id}", "redirect_uris": redirects, "token_endpoint_auth_method": "private_key_jwt" }),
                "/client",
                "does not describe",
            ),
            (json!({ "client_id": "{id}", "redirect_uris": ["http://evil.example/"] }), "/client", "must be https"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects, "x": "x".repeat(20_000) }), "/client", "could not fetch"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects }), "/moved", "could not fetch"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects }), "/", "with its path"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects }), "/a/../client", "with its path"),
            (json!({ "client_id": "{id}", "redirect_uris": redirects }), "/client#x", "fragment"),
        ] {
            let id = format!("{}{path}", site(document.clone()).await);
            let program = Program { world, id, redirect: "http://localhost:1/callback".into() };
            let shown = owner.get(&program.address()).await;
            assert!(shown.status == 400 && shown.html.contains(said), "{path} {document}: {}", shown.html);
        }
        let nobody = Program { world, id: "http://127.0.0.1:1/client".into(), redirect: super::REDIRECT.into() };
        assert!(owner.get(&nobody.address()).await.html.contains("could not fetch"));
    })
    .await;
}

#[tokio::test]
async fn no_document_is_fetched_from_an_address_inside() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        for id in [
            "http://127.0.0.1/client",
            "https://127.0.0.1/client",
            "https://10.0.0.1/client",
            "https://169.254.169.254/latest",
            "https://[::1]/client",
            "https://user@example.com/client",
            "http://example.com/client",
        ] {
            let program = Program { world, id: id.into(), redirect: super::REDIRECT.into() };
            let shown = owner.get(&program.address()).await;
            assert!(shown.status == 400 && shown.html.contains("client_id: must"), "{id}: {}", shown.html);
        }
    })
    .await;
}
