//! Proofs that are old, providers that are changed, and sign-ins that are under way meanwhile: what counts then, and which
//! sessions end.

use std::time::Duration;

use chrono::TimeDelta;
use rookery_base::secrets::sign_in_tokens::Token;
use rookery_core::workspace::people::{self, Role};
use rookery_core::workspace::sessions;
use rookery_core::workspace::single_sign_on;
use serde_json::{Value, json};

use super::provider::{CLIENT, Provider, SECRET, finish, leave, leave_again, sign_in};
use super::{HERE, PAGE};
use rookery_world::pages::sign_in::{PASSWORD, by_password, link, set_password, with_cookie_of};
use rookery_world::story_with;

const REQUIRED: &str = "/settings/sign-in/required";

/// At an empty desk the provider lets anybody through: what counts is when it last asked who they are.
#[tokio::test]
async fn signing_in_again_takes_a_new_proof_at_the_provider() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Owner).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        let hour_ago = json!({ "auth_time": world.now().timestamp() - 3600 });
        provider.says(hour_ago.clone());
        let leaving = leave(world, acme.id, "/inbox").await;
        assert_eq!((leaving.said("prompt"), leaving.said("max_age")), ("".into(), "2592000".into()));
        let mias = with_cookie_of(world, &finish(world, acme.id, &provider, &leaving).await);
        assert_eq!(mias.get("/inbox").await.status, 200, "good enough to come in");
        assert_eq!(provider.connect(&mias).await.status, 403, "and for nothing that takes a new proof");
        let page = mias.get(PAGE).await.page();
        assert!(page.contains("/sign-in/again?next=%2Fsettings%2Fsign-in"), "{page}");
        let led = mias.get("/sign-in/again?next=%2Fsettings%2Fsign-in").await;
        let way = format!("/sign-in/sso/{}?again=on&next=%2Fsettings%2Fsign-in", acme.id);
        assert_eq!((led.status, led.location()), (303, way.as_str()), "to the provider and nowhere else");
        assert_eq!(mias.post("/sign-in/again", &[("password", PASSWORD)]).await.status, 403);
        let door =
            mias.get(&format!("/sign-in/sso/{}?again=on&next=/settings/sign-in", acme.id)).await.page();
        assert!(door.contains(r#"name="again""#) && door.contains("/sign-in?again=on&#38;next="), "{door}");

        // Whoever has the browser can leave the question out, but not make the answer up.
        for (claims, why) in [
            (hour_ago, "let you through without asking"),
            (json!({ "auth_time": null }), "doesn’t say when you signed in"),
            (json!({ "auth_time": "now" }), "doesn’t say when you signed in"),
            (json!({ "auth_time": world.now().timestamp() + 3600 }), "doesn’t say when you signed in"),
        ] {
            provider.says(claims.clone());
            let leaving = leave_again(world, acme.id).await;
            assert_eq!((leaving.said("prompt"), leaving.said("max_age")), ("login".into(), "0".into()));
            let refused = finish(world, acme.id, &provider, &leaving).await;
            assert!(refused.status == 403 && refused.html.contains(why), "{claims}: {}", refused.html);
            assert!(refused.html.contains(r#"name="again""#), "{}", refused.html);
        }
        provider.says(json!({ "auth_time": null }));
        let unsaid = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        assert_eq!(provider.connect(&unsaid).await.status, 403, "nobody knows when");
        provider.says(json!({}));
        let back = finish(world, acme.id, &provider, &leave_again(world, acme.id).await).await;
        assert_eq!((back.status, back.location()), (303, PAGE), "{}", back.html);
        assert_eq!(provider.connect(&with_cookie_of(world, &back)).await.status, 303);
    })
    .await;
}

/// Google: no `auth_time`, and an error for `prompt=login`. There is nothing better to be had of it.
#[tokio::test]
async fn a_provider_that_cannot_say_when_is_taken_as_it_comes() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Owner).await;
        let provider = Provider::start().await;
        provider.answers.lock().unwrap().configuration = json!({ "claims_supported": ["sub", "email"] });
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        provider.says(json!({ "auth_time": null }));
        let leaving = leave_again(world, acme.id).await;
        assert_eq!((leaving.said("prompt"), leaving.said("max_age")), ("".into(), "2592000".into()));
        let mias = with_cookie_of(world, &finish(world, acme.id, &provider, &leaving).await);
        assert_eq!(provider.connect(&mias).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn only_by_sso_takes_a_sign_in_by_the_provider_as_it_is_now() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Member).await;
        acme.person("Mia", Role::Owner).await;
        set_password(world, acme.id, ada, PASSWORD).await;
        let (first, second) = (Provider::start().await, Provider::start().await);
        first.connect(&world.browser(acme.id, acme.owner).await).await;
        first.says(json!({ "email": "ada@rookery.example", "sub": "ada" }));
        let adas = with_cookie_of(world, &sign_in(world, acme.id, &first).await);
        first.says(json!({}));
        let mias = with_cookie_of(world, &sign_in(world, acme.id, &first).await);
        world.wait(TimeDelta::seconds(1));
        assert_eq!(second.connect(&mias).await.status, 303);
        assert_eq!(adas.get("/inbox").await.status, 303, "whom the provider before let in is out");
        assert_eq!(mias.get("/inbox").await.status, 200, "but who changed it");
        let early = mias.post(REQUIRED, &[("required", "on")]).await;
        assert!(early.status == 400 && early.html.contains("Sign in by SSO first"), "{}", early.html);
        assert!(!mias.get(PAGE).await.page().contains("Allow only single sign-on"));
        world.wait(TimeDelta::seconds(1));
        let now = with_cookie_of(world, &sign_in(world, acme.id, &second).await);
        assert!(now.post(REQUIRED, &[("required", "on")]).await.location().contains("done=sso-only"));
        assert_eq!(mias.get("/inbox").await.status, 303, "the session of the provider before");
        assert_eq!(by_password(world, "ada@rookery.example", PASSWORD).await.status, 401);

        // A secret that was not tried yet closes nothing.
        let fields = [("issuer", second.issuer.as_str()), ("client_id", CLIENT), ("client_secret", "")];
        now.post(PAGE, &fields).await;
        assert!(now.get(PAGE).await.page().contains("Allow other ways again"), "nothing was changed");
        world.wait(TimeDelta::seconds(1));
        now.post(PAGE, &[fields[0], fields[1], ("client_secret", "wrong")]).await;
        assert!(!now.get(PAGE).await.page().contains("Allow other ways again"));
        assert_eq!(by_password(world, "ada@rookery.example", PASSWORD).await.status, 303);
        assert_eq!(now.post(REQUIRED, &[("required", "on")]).await.status, 400, "it has to be tried first");
        now.post(PAGE, &[fields[0], fields[1], ("client_secret", SECRET)]).await;
        let tried = with_cookie_of(world, &sign_in(world, acme.id, &second).await);
        assert_eq!(tried.post(REQUIRED, &[("required", "on")]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn an_account_that_is_forgotten_is_signed_out_and_new_ways_in_are_told() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        let owner = world.browser(acme.id, acme.owner).await;
        provider.connect(&owner).await;
        let intruder = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        let mias = world.browser(acme.id, mia).await;
        sign_in(world, acme.id, &provider).await;
        world.work().await;
        let told: Vec<_> =
            world.outbox.letters().into_iter().map(|letter| (letter.to, letter.subject)).collect();
        let owners = people_email(world, acme.owner.0).await;
        assert_eq!(
            told,
            [
                (owners, "Single sign-on was changed".to_owned()),
                ("mia@rookery.example".to_owned(), "You now sign in by single sign-on".to_owned()),
            ],
            "once"
        );
        owner.post("/settings/sign-in/forget", &[("person", &mia.to_string())]).await;
        assert_eq!(intruder.get("/inbox").await.status, 303);
        assert_eq!(mias.get("/inbox").await.status, 200, "her own, by a link");
    })
    .await;
}

async fn people_email(world: &rookery_world::World, id: i64) -> String {
    sqlx::query_scalar("select email from people where id = $1")
        .bind(id)
        .fetch_one(&world.app.pool)
        .await
        .unwrap()
}

/// The owner presses the button while others are at the door: their password is right, their link good, and they come a
/// moment too late.
#[tokio::test]
async fn a_sign_in_under_way_does_not_outlast_the_turn_to_only_sso() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Member).await;
        acme.person("Mia", Role::Owner).await;
        set_password(world, acme.id, ada, PASSWORD).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        let mias = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        let waiting = link(world, acme.id, ada).await;
        let token = Token::read(&mias.token).unwrap();
        let (session, mia) = sessions::find(&mut world.app.connection().await.unwrap(), &token, world.now())
            .await
            .unwrap()
            .unwrap();

        let mut tx = world.app.begin(acme.id).await.unwrap();
        single_sign_on::require(&mut tx, &mia.by(), &session, true).await.unwrap();
        let turn = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            tx.commit().await.unwrap();
        };
        let nobody = world.browser_with("");
        let (password, by_link, ()) = tokio::join!(
            by_password(world, "ada@rookery.example", PASSWORD),
            nobody.post(&waiting, &[]),
            turn
        );
        assert_eq!((password.status, by_link.status), (401, 404));
        let open: i64 = sqlx::query_scalar("select count(*) from sessions where signed_in_with <> 'sso'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(open, 0);
    })
    .await;
}

/// Whoever removes somebody takes the person first and then what is theirs. A sign-in in the other order would be a
/// deadlock, and the removal might be what fails.
#[tokio::test]
async fn a_sign_in_takes_the_person_before_what_is_theirs() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let ada = acme.person("Ada", Role::Member).await;
        let waiting = link(world, acme.id, ada).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        people::hold(&mut tx, ada).await.unwrap();
        let nobody = world.browser_with("");
        let remove = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            sqlx::query("select from sign_in_links where person_id = $1 for update nowait")
                .bind(ada.0)
                .fetch_one(&mut *tx)
                .await
                .expect("nobody who waits for her holds her link");
            people::remove(&mut tx, ada).await.unwrap();
            tx.commit().await.unwrap();
        };
        let (shown, ()) = tokio::join!(nobody.post(&waiting, &[]), remove);
        assert_eq!(shown.status, 404, "she was removed meanwhile");
    })
    .await;
}

/// Only keys of a kind that nobody here can check: better told when it is set up than at every sign-in.
#[tokio::test]
async fn a_provider_without_a_usable_key_is_not_connected() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let provider = Provider::start().await;
        provider.answers.lock().unwrap().keys =
            Some(json!([{ "kty": "EC", "crv": "P-384", "x": "", "y": "" }]));
        let owner = world.browser(acme.id, acme.owner).await;
        let refused = provider.connect(&owner).await;
        assert!(refused.status == 400 && refused.html.contains("publishes no key"), "{}", refused.html);
        provider.answers.lock().unwrap().keys = None::<Value>;
        assert_eq!(provider.connect(&owner).await.status, 303);
    })
    .await;
}

/// Where nothing but SSO opens anything, nothing else is offered, and what is there proves nothing.
#[tokio::test]
async fn under_only_sso_the_profile_offers_no_password_and_no_passkey() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Owner).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        let mias = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        let page = mias.get("/profile").await.page();
        assert!(page.contains("New password") && page.contains("Add a passkey"), "{page}");
        mias.post(REQUIRED, &[("required", "on")]).await;
        let page = mias.get("/profile").await.page();
        assert!(page.contains("takes single sign-on only"), "{page}");
        assert!(!page.contains("New password") && !page.contains("Add a passkey"), "{page}");
        let set =
            mias.post("/profile/password", &[("current", PASSWORD), ("password", "another long one")]).await;
        assert!(set.status == 400 && set.html.contains("single sign-on only"), "{}", set.html);
        assert_eq!(mias.post("/profile/passkeys/begin", &[]).await.status, 403);
        world.wait(TimeDelta::minutes(61));
        let factor = mias.get("/profile/second-factor").await.page();
        assert!(factor.contains("Sign in again") && !factor.contains("Your password"), "{factor}");
    })
    .await;
}
