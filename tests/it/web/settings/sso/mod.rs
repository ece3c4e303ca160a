//! Single sign-on: a workspace connects its provider, people come in by it, and it can be made the only way.
//! `attacks` has what a hostile provider, browser or colleague tries; `changes`, what ends when something is changed.

mod attacks;
mod changes;
mod provider;

use chrono::TimeDelta;
use rookery::cli::reseal;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::random::Random;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::single_sign_on;
use serde_json::json;

use self::provider::{Provider, SECRET, come_back, leave, sign_in};
use rookery_world::pages::sign_in::{PASSWORD, by_password, link, mailed_to, set_password, with_cookie_of};
use rookery_world::{World, story_with};

/// The provider of the tests has no certificate and stands on this machine.
const HERE: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8")];
const PAGE: &str = "/settings/sign-in";

async fn did(world: &World) -> Vec<String> {
    sqlx::query_scalar(
        "select did from audit_entries where did like 'sso.%' or did = 'person.joined' order by n",
    )
    .fetch_all(&world.app.pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn somebody_signs_in_by_the_provider_and_is_then_known_by_the_account() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(!world.browser_with("").get("/sign-in").await.page().contains("Single sign-on"));
        let connected = provider.connect(&owner).await;
        assert!(connected.location().contains("done=sso"), "{}", connected.html);
        let page = owner.get(PAGE).await.page();
        let redirect = format!("https://rookery.example/sign-in/sso/{}/callback", acme.id);
        assert!(page.contains(&redirect) && !page.contains(SECRET), "{page}");
        assert!(
            world.browser_with("").get("/sign-in").await.page().contains("Single sign-on"),
            "the only one"
        );

        let leaving = leave(world, acme.id, "/profile").await;
        assert!(leaving.to.as_str().starts_with(&format!("{}/authorize?tenant=acme&", provider.issuer)));
        assert_eq!(leaving.said("redirect_uri"), redirect);
        let code = provider.lets_in(world, &leaving);
        let state = leaving.said("state");
        let back = come_back(world, acme.id, &[("code", code), ("state", &state)], &leaving.cookie).await;
        assert_eq!((back.status, back.location()), (303, "/profile"), "{}", back.html);
        let mias = with_cookie_of(world, &back);
        let page = mias.get("/profile").await.page();
        assert!(page.contains("mia@rookery.example") && page.contains("Single sign-on"), "{page}");

        // She marries, and the provider gives her another address. It is the account that counts.
        provider.says(json!({ "email": "mia.new@rookery.example", "email_verified": false }));
        let again = sign_in(world, acme.id, &provider).await;
        assert_eq!(again.status, 303, "{}", again.html);
        assert!(with_cookie_of(world, &again).get("/profile").await.page().contains("mia@rookery.example"));
        assert!(owner.get("/settings/people").await.page().contains("Single sign-on, link by mail"));
        assert_eq!(did(world).await, ["sso.connected", "sso.account_bound"]);
        let told: Vec<String> =
            sqlx::query_scalar("select data from audit_entries where did = 'person.signed_in' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(told, [r#"{"with":"sso","second":null,"network":"127.0.0.0/24"}"#; 2]);
        assert_eq!(provider.asked("configuration"), 1, "what it says of itself is kept");

        // She got a new account there: an owner forgets the old one.
        provider.says(json!({ "sub": "acct-2" }));
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 403);
        let forgotten = owner.post("/settings/sign-in/forget", &[("person", &mia.to_string())]).await;
        assert!(forgotten.location().contains("sso-forgotten"), "{}", forgotten.html);
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303);
    })
    .await;
}

/// The standard lets a provider keep the address out of the token.
#[tokio::test]
async fn a_provider_that_keeps_the_address_back_is_asked_for_it() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Member).await;
        let provider = Provider::start().await;
        provider.connect(&world.browser(acme.id, acme.owner).await).await;
        provider.answers.lock().unwrap().keeps_email_back = true;
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 303);
        assert_eq!(provider.asked("me"), 1);
    })
    .await;
}

#[tokio::test]
async fn who_is_invited_joins_by_the_provider() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let provider = Provider::start().await;
        let owner = world.browser(acme.id, acme.owner).await;
        provider.connect(&owner).await;
        provider.says(json!({ "email": "Lea@Example.com", "sub": "lea", "name": " Lea\u{202e} Brandt " }));
        let stranger = sign_in(world, acme.id, &provider).await;
        assert_eq!(stranger.status, 403);
        assert!(stranger.html.contains("Nobody with your address is on this team"), "{}", stranger.html);
        owner.post("/settings/people/invite", &[("emails", "lea@example.com"), ("role", "admin")]).await;
        let joined = sign_in(world, acme.id, &provider).await;
        assert_eq!(joined.status, 303, "{}", joined.html);
        assert!(
            with_cookie_of(world, &joined).get("/settings/people").await.page().contains("lea@example.com")
        );
        let links = mailed_to(world, "lea@example.com").await;
        assert!(links.is_empty(), "the mail had not left, and is not needed any more: {links:?}");
        assert_eq!(did(world).await, ["sso.connected", "person.joined", "sso.account_bound"]);

        // An invitation that has ended lets nobody in.
        owner.post("/settings/people/invite", &[("emails", "sam@example.com"), ("role", "member")]).await;
        world.wait(TimeDelta::days(8));
        provider.says(json!({ "email": "sam@example.com", "sub": "sam" }));
        assert_eq!(sign_in(world, acme.id, &provider).await.status, 403);
    })
    .await;
}

#[tokio::test]
async fn only_by_sso_closes_every_other_way_but_the_operators_link() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        let (mia, ada) = (acme.person("Mia", Role::Owner).await, acme.person("Ada", Role::Member).await);
        set_password(world, acme.id, ada, PASSWORD).await;
        let provider = Provider::start().await;
        let olgas = world.browser(acme.id, acme.owner).await;
        provider.connect(&olgas).await;
        let required = "/settings/sign-in/required";
        let early = olgas.post(required, &[("required", "on")]).await;
        assert!(early.status == 400 && early.html.contains("Sign in by SSO first"), "{}", early.html);

        let mias = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        world.wait(TimeDelta::minutes(61));
        assert_eq!(mias.post(required, &[("required", "on")]).await.status, 403, "not any more");

        let (adas, olgas) = (world.browser(acme.id, ada).await, world.browser(acme.id, acme.owner).await);
        let mailed = world.browser_with("").post("/sign-in", &[("email", "ada@rookery.example")]).await;
        assert_eq!(mailed.status, 200);
        world.work().await;
        let waiting = link(world, acme.id, ada).await;
        olgas.post("/settings/people/invite", &[("emails", "lea@example.com"), ("role", "member")]).await;
        let invitation = mailed_to(world, "lea@example.com").await.remove(0);

        let mias = with_cookie_of(world, &sign_in(world, acme.id, &provider).await);
        let on = mias.post(required, &[("required", "on")]).await;
        assert!(on.location().contains("done=sso-only"), "{}", on.html);
        assert_eq!(mias.get("/inbox").await.status, 200);
        for other in [&adas, &olgas] {
            assert_eq!(other.get("/inbox").await.status, 303, "signed out");
        }
        assert_eq!(by_password(world, "ada@rookery.example", PASSWORD).await.status, 401);
        assert_eq!(world.browser_with("").post(&waiting, &[]).await.status, 404, "a link that waited");
        world.work().await;
        let before = world.outbox.letters().len();
        world.browser_with("").post("/sign-in", &[("email", "ada@rookery.example")]).await;
        world.work().await;
        let letters = world.outbox.letters();
        let [letter] = &letters[before..] else { panic!("one mail: {letters:?}") };
        let door = format!("https://rookery.example/sign-in/sso/{}", acme.id);
        assert!(letter.text.contains(&door), "{}", letter.text);
        assert!(!letter.text.contains("/sign-in/wsp_"), "{}", letter.text);

        let nobody = world.browser_with("");
        let page = nobody.get(&invitation).await.page();
        assert!(page.contains("Join by single sign-on") && !page.contains("Password"), "{page}");
        assert_eq!(nobody.post(&invitation, &[("name", "Lea")]).await.status, 404);

        // The provider is gone: whoever runs the server lets an owner in, who opens the other ways again.
        let made = link(world, acme.id, acme.owner).await;
        let back = nobody.post(&made, &[]).await;
        assert_eq!(back.location(), "/inbox");
        let olgas = with_cookie_of(world, &back);
        assert!(olgas.post(required, &[]).await.location().contains("sso-optional"));
        world.wait(TimeDelta::minutes(16));
        assert_eq!(by_password(world, "ada@rookery.example", PASSWORD).await.location(), "/inbox");
        assert_eq!(did(world).await, ["sso.connected", "sso.account_bound", "sso.required", "sso.optional"]);
        let _ = mia;
    })
    .await;
}

#[tokio::test]
async fn another_provider_means_other_accounts_and_disconnecting_opens_the_other_ways() {
    story_with(HERE, async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia", Role::Owner).await;
        let (first, second) = (Provider::start().await, Provider::start().await);
        let owner = world.browser(acme.id, acme.owner).await;
        first.connect(&owner).await;
        let mias = with_cookie_of(world, &sign_in(world, acme.id, &first).await);
        mias.post("/settings/sign-in/required", &[("required", "on")]).await;
        // The same provider and client: the secret alone is new, and nothing is forgotten.
        let fields = [("issuer", first.issuer.as_str()), ("client_id", provider::CLIENT)];
        assert_eq!(mias.post(PAGE, &[fields[0], fields[1], ("client_secret", "")]).await.status, 303);
        assert_eq!(sign_in(world, acme.id, &first).await.status, 303, "the old secret is kept");
        let page = mias.get(PAGE).await.page();
        assert!(page.contains("Allow other ways again") && page.contains("Forget"), "{page}");

        // On the way when the provider is changed.
        let leaving = leave(world, acme.id, "/inbox").await;
        let without =
            mias.post(PAGE, &[("issuer", &second.issuer), ("client_id", "x"), ("client_secret", "")]).await;
        assert!(without.status == 400 && without.html.contains("Type the client secret"), "{}", without.html);
        assert_eq!(second.connect(&mias).await.status, 303);
        let code = first.lets_in(world, &leaving);
        let state = leaving.said("state");
        let late = come_back(world, acme.id, &[("code", code), ("state", &state)], &leaving.cookie).await;
        assert_eq!(late.status, 400, "of the provider before");
        let page = mias.get(PAGE).await.page();
        assert!(
            page.contains("Nobody has signed in by SSO yet") && !page.contains("Allow other ways"),
            "{page}"
        );

        assert!(mias.get("/settings/sign-in/disconnect").await.page().contains("0 accounts are forgotten"));
        assert_eq!(mias.post("/settings/sign-in/disconnect", &[]).await.status, 303);
        assert_eq!(world.browser_with("").get(&format!("/sign-in/sso/{}", acme.id)).await.status, 404);
        // Who came in by it and is asked to sign in again finds the other ways.
        let again = mias.get(&format!("/sign-in/sso/{}?again=on&next=/profile", acme.id)).await;
        assert_eq!((again.status, again.location()), (303, "/sign-in?again=on&next=%2Fprofile"));
        world.wait(TimeDelta::minutes(61));
        assert!(mias.get("/profile").await.page().contains("/sign-in/again?next=%2Fprofile"));
        let asked = mias.get("/sign-in/again?next=%2Fprofile").await.page();
        assert!(asked.contains("/sign-in?again=on&#38;next=%2Fprofile"), "{asked}");
        assert_eq!(
            did(world).await,
            [
                "sso.connected",
                "sso.account_bound",
                "sso.required",
                "sso.connected",
                "sso.connected",
                "sso.disconnected"
            ]
        );
    })
    .await;
}

/// A new secret key takes the client's secret over.
#[tokio::test]
async fn the_clients_secret_is_sealed_anew_with_a_new_key() {
    let old = format!("old:{}", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    let new = format!("new:{}", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=");
    story_with(&[HERE[0], ("SECRET_KEY", &old)], async |world| {
        let acme = world.workspace("Acme").await;
        Provider::start().await.connect(&world.browser(acme.id, acme.owner).await).await;
        let reseal = async |first: &str, second: &str| {
            let both: KeyRing = format!("{first},{second}").parse().unwrap();
            let config = Config { secret_key: Some(both), ..world.app.config.clone() };
            let app = App::new(config, Clock::set_to(world.now()), Random::seeded(8)).unwrap();
            reseal::reseal(&app).await.unwrap();
        };
        reseal(&new, &old).await;
        let mut conn = world.app.connection().await.unwrap();
        let connection = single_sign_on::load(&mut conn, acme.id).await.unwrap().unwrap();
        assert_eq!(connection.secret(&new.parse().unwrap()).unwrap(), SECRET);
        assert!(connection.secret(&old.parse().unwrap()).is_err());
        // The world itself knows only the old one.
        reseal(&old, &new).await;
    })
    .await;
}
