//! Passkeys: a software device that makes one on the profile and signs in with it; and the same device lying, copied,
//! phished, or in the hands of somebody else.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use reqwest::Method;
use rookery_base::secrets::hashes::sha256;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::sign_in::{PASSWORD, set_password, with_cookie_of};
use rookery_world::{World, story};

const ORIGIN: &str = "https://rookery.example";
const HOST: &str = "rookery.example";
const PRESENT: u8 = 1;
const VERIFIED: u8 = 4;

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A device as it is, or as an attacker would have it.
struct Device {
    pair: EcdsaKeyPair,
    id: Vec<u8>,
    handle: String,
    counter: u32,
    origin: &'static str,
    host: &'static str,
    flags: u8,
}

/// What was asked, and the cookie that came with it.
struct Asked {
    options: Value,
    cookie: String,
}

impl Asked {
    fn of(shown: Shown) -> Self {
        let cookie = shown.cookie().split(';').next().unwrap_or_default().to_owned();
        assert!(cookie.starts_with("__Host-rookery-passkey="), "{} {}", shown.status, shown.html);
        Self { options: serde_json::from_str(&shown.html).expect("JSON"), cookie }
    }
}

impl Device {
    fn new(id: &[u8]) -> Self {
        Self {
            pair: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap(),
            id: id.to_vec(),
            handle: String::new(),
            counter: 0,
            origin: ORIGIN,
            host: HOST,
            flags: PRESENT | VERIFIED,
        }
    }

    fn client_data(&self, purpose: &str, asked: &Asked) -> Vec<u8> {
        json!({ "type": purpose, "challenge": asked.options["challenge"], "origin": self.origin, "crossOrigin": false })
            .to_string()
            .into_bytes()
    }

    fn data(&self, flags: u8, more: &[u8]) -> Vec<u8> {
        [&sha256(self.host)[..], &[self.flags | flags], &self.counter.to_be_bytes(), more].concat()
    }

    /// Makes a passkey, and gives the fields of the form.
    fn make(&mut self, asked: &Asked) -> [(&'static str, String); 2] {
        let algorithms = asked.options["pubKeyCredParams"].as_array().unwrap();
        assert!(algorithms.iter().any(|one| one["alg"] == -7), "{algorithms:?}");
        assert_eq!(asked.options["authenticatorSelection"]["userVerification"], "required");
        asked.options["user"]["id"].as_str().unwrap().clone_into(&mut self.handle);
        let point = self.pair.public_key().as_ref();
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
        let cose = [&head, &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat();
        let credential = [&[0; 16][..], &(self.id.len() as u16).to_be_bytes(), &self.id, &cose].concat();
        let data = self.data(1 << 6, &credential);
        let text = |text: &str| [&[0x60 + text.len() as u8], text.as_bytes()].concat();
        let length = (data.len() as u16).to_be_bytes();
        let attestation = [
            &[0xa3][..],
            &text("fmt"),
            &text("none"),
            &text("attStmt"),
            &[0xa0],
            &text("authData"),
            &[0x59],
            &length,
            &data,
        ]
        .concat();
        [
            ("client_data", encoded(self.client_data("webauthn.create", asked))),
            ("attestation", encoded(attestation)),
        ]
    }

    /// Signs a challenge, and gives the fields of the form.
    fn sign(&mut self, asked: &Asked) -> Vec<(&'static str, String)> {
        self.counter += 1;
        let said = self.client_data("webauthn.get", asked);
        let data = self.data(0, &[]);
        let message = [&data[..], &sha256(&said)].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).unwrap();
        vec![
            ("id", encoded(&self.id)),
            ("user_handle", self.handle.clone()),
            ("client_data", encoded(said)),
            ("authenticator_data", encoded(data)),
            ("signature", encoded(signature)),
        ]
    }
}

async fn send(browser: &Browser<'_>, path: &str, fields: &[(&str, String)], cookie: &str) -> Shown {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request =
        browser.request(Method::POST, path).header("origin", browser.origin()).header("cookie", cookie);
    browser.send(request.header("content-type", "application/x-www-form-urlencoded").body(body)).await
}

async fn asked_to_make(browser: &Browser<'_>) -> Asked {
    Asked::of(browser.post("/profile/passkeys/begin", &[]).await)
}

async fn add(browser: &Browser<'_>, device: &mut Device, name: &str) -> Shown {
    let asked = asked_to_make(browser).await;
    let mut fields = device.make(&asked).to_vec();
    fields.push(("name", name.to_owned()));
    send(browser, "/profile/passkeys", &fields, &asked.cookie).await
}

async fn asked_to_sign(world: &World) -> Asked {
    Asked::of(world.browser_with("").post("/sign-in/passkey/begin", &[]).await)
}

async fn sign_in(world: &World, device: &mut Device) -> Shown {
    let asked = asked_to_sign(world).await;
    let fields = device.sign(&asked);
    send(&world.browser_with(""), "/sign-in/passkey", &fields, &asked.cookie).await
}

#[tokio::test]
async fn a_passkey_is_added_named_used_and_removed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let mias = world.browser(acme.id, mia).await;
        assert!(world.browser_with("").get("/sign-in").await.page().contains("Use a passkey"));
        let mut phone = Device::new(b"phone");
        let added = add(&mias, &mut phone, "").await;
        assert!(added.location().starts_with("/profile?done=passkey"), "{}", added.html);
        let mut key = Device::new(b"key");
        assert_eq!(add(&mias, &mut key, "Yellow <key>").await.status, 303);
        let page = mias.get("/profile").await.page();
        assert!(page.contains("Yellow &#60;key&#62;") && page.contains("not used yet"), "{page}");
        let excluded = asked_to_make(&mias).await.options["excludeCredentials"].clone();
        assert_eq!(excluded.as_array().unwrap().len(), 2, "no device gets a second one: {excluded}");

        // It needs no code, also where everybody has to have one.
        world.sql("update workspaces set second_factor_required = true").await;
        let signed = sign_in(world, &mut phone).await;
        assert_eq!((signed.status, signed.location()), (303, "/inbox"), "{}", signed.html);
        let here = with_cookie_of(world, &signed);
        assert_eq!(here.get("/inbox").await.status, 200);
        world.sql("update workspaces set second_factor_required = false").await;
        let page = here.get("/profile").await.page();
        assert!(page.contains("last used") && page.contains(r#"data-label="With">Passkey"#), "{page}");

        let id: i64 = sqlx::query_scalar("select id from passkeys order by id limit 1")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let path = format!("/profile/passkeys/{}", rookery_base::ids::PasskeyId(id));
        assert_eq!(mias.post(&format!("{path}/name"), &[("name", " ")]).await.status, 400);
        assert_eq!(mias.post(&format!("{path}/name"), &[("name", "Old phone")]).await.status, 303);
        assert!(mias.get(&format!("{path}/remove")).await.page().contains("Old phone"));
        assert_eq!(mias.post(&format!("{path}/remove"), &[]).await.status, 303);
        assert_eq!(sign_in(world, &mut phone).await.status, 401, "removed");
        assert_eq!(sign_in(world, &mut key).await.status, 303, "the other one stays");

        let did: Vec<String> = sqlx::query_scalar(
            "select did || ' ' || data from audit_entries where did like 'passkey.%' order by n",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(
            did[1..],
            [
                r#"passkey.added {"passkey":"Yellow <key>"}"#,
                r#"passkey.renamed {"passkey":"Old phone"}"#,
                r#"passkey.removed {"passkey":"Old phone"}"#,
            ]
        );
        world.work().await;
        let letters = world.outbox.letters();
        let subjects: Vec<_> = letters.iter().map(|letter| letter.subject.as_str()).collect();
        assert_eq!(
            subjects,
            [
                "A passkey was added to your account",
                "A passkey was added to your account",
                "A passkey was removed from your account",
            ]
        );
    })
    .await;
}

/// The page of another site asks for a signature and passes it on: phishing. And every other way to lie about where, when
/// and by whom something was signed.
#[tokio::test]
async fn a_passkey_signs_in_only_here_now_and_for_its_person() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (mia, ada) = (acme.person("Mia", Role::Member).await, acme.person("Ada", Role::Owner).await);
        let mut phone = Device::new(b"phone");
        assert_eq!(add(&world.browser(acme.id, mia).await, &mut phone, "Phone").await.status, 303);
        let mut adas = Device::new(b"adas");
        assert_eq!(add(&world.browser(acme.id, ada).await, &mut adas, "Ada's").await.status, 303);
        assert_eq!(sign_in(world, &mut phone).await.status, 303, "it is good, before all that follows");

        let refused = async |phone: &mut Device, why: &str| {
            let answer = sign_in(world, phone).await;
            assert_eq!((answer.status, answer.cookie()), (401, ""), "{why}");
            assert!(answer.html.contains("That passkey did not work here"), "{why}: {}", answer.html);
            // A network may fail ten times in a quarter of an hour.
            world.wait(TimeDelta::minutes(2));
        };
        for origin in
            ["https://rookery.example.evil.example", "https://www.rookery.example", "http://rookery.example"]
        {
            phone.origin = origin;
            refused(&mut phone, origin).await;
        }
        phone.origin = ORIGIN;
        phone.host = "evil.example";
        refused(&mut phone, "for another site").await;
        phone.host = HOST;
        for flags in [VERIFIED, PRESENT, 0] {
            phone.flags = flags;
            refused(&mut phone, "nobody was there, or it was not looked who").await;
        }
        phone.flags = PRESENT | VERIFIED;

        // Another person's handle, another person's credential, another key under a known name.
        let own = std::mem::replace(&mut phone.handle, adas.handle.clone());
        refused(&mut phone, "says that it is Ada's").await;
        phone.handle = own;
        let id = std::mem::replace(&mut phone.id, adas.id.clone());
        refused(&mut phone, "calls itself as Ada's does").await;
        phone.handle.clone_from(&adas.handle);
        refused(&mut phone, "signs for Ada with Mia's key").await;
        phone.id = id;
        for handle in ["", "AAAA", &encoded([0; 16]), &encoded([255; 16])] {
            phone.handle = handle.to_owned();
            refused(&mut phone, "names nobody").await;
        }
        world.wait(TimeDelta::minutes(16));
        let signed = sign_in(world, &mut adas).await;
        assert_eq!(signed.status, 303);
        // "Only by SSO" closes it, whoever it belongs to, and opens it again.
        world
            .sql(
                "insert into sso_connections (workspace_id, issuer, client_id, client_secret, required, changed_at)
                 select id, 'https://id.example', 'x', '', true, now() from workspaces",
            )
            .await;
        assert_eq!(sign_in(world, &mut adas).await.status, 401);
        world.sql("update sso_connections set required = false").await;
        assert_eq!(sign_in(world, &mut adas).await.status, 303);
        let elsewhere = with_cookie_of(world, &signed);
        let here = with_cookie_of(world, &sign_in(world, &mut adas).await);
        let id: i64 = sqlx::query_scalar("select id from passkeys where person_id = $1")
            .bind(ada.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        here.post(&format!("/profile/passkeys/{}/remove", rookery_base::ids::PasskeyId(id)), &[]).await;
        assert_eq!((elsewhere.get("/inbox").await.status, here.get("/inbox").await.status), (303, 200));
        // Mia leaves, and her passkey with her.
        world.browser(acme.id, acme.owner).await.post(&format!("/settings/people/{mia}/remove"), &[]).await;
        let left: i64 = sqlx::query_scalar("select count(*) from passkeys where person_id = $1")
            .bind(mia.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(left, 0);
    })
    .await;
}

#[tokio::test]
async fn an_answer_counts_once_in_its_browser_for_five_minutes_and_a_copied_device_is_noticed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mut phone = Device::new(b"phone");
        add(&world.browser(acme.id, acme.owner).await, &mut phone, "Phone").await;
        let nobody = world.browser_with("");

        let asked = asked_to_sign(world).await;
        let fields = phone.sign(&asked);
        let other = asked_to_sign(world).await;
        for cookie in ["", "__Host-rookery-passkey=AAAA", &other.cookie] {
            assert_eq!(
                send(&nobody, "/sign-in/passkey", &fields, cookie).await.status,
                401,
                "another browser"
            );
        }
        assert_eq!(send(&nobody, "/sign-in/passkey", &fields, &asked.cookie).await.status, 303);
        assert_eq!(send(&nobody, "/sign-in/passkey", &fields, &asked.cookie).await.status, 401, "replayed");
        // The same challenge signed once more, with a newer counter.
        let again = phone.sign(&asked);
        assert_eq!(send(&nobody, "/sign-in/passkey", &again, &asked.cookie).await.status, 401, "used");

        let late = asked_to_sign(world).await;
        world.wait(TimeDelta::minutes(5));
        let fields = phone.sign(&late);
        assert_eq!(send(&nobody, "/sign-in/passkey", &fields, &late.cookie).await.status, 401, "too late");

        // A challenge for making a passkey is none for signing in.
        let making = asked_to_make(&world.browser(acme.id, acme.owner).await).await;
        let fields = phone.sign(&making);
        assert_eq!(send(&nobody, "/sign-in/passkey", &fields, &making.cookie).await.status, 401);

        world.wait(TimeDelta::minutes(16));
        assert_eq!(sign_in(world, &mut phone).await.status, 303);
        // A copy that was made a while ago counts on from there.
        let known = phone.counter;
        phone.counter = known - 1;
        assert_eq!(sign_in(world, &mut phone).await.status, 401, "cloned");
        phone.counter = known;
        assert_eq!(sign_in(world, &mut phone).await.status, 303);
        world.wait(TimeDelta::days(1));
        world.work().await;
        let noted: i64 = sqlx::query_scalar("select count(*) from used_challenges")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(noted, 0, "what was noted of them is forgotten");
    })
    .await;
}

#[tokio::test]
async fn a_passkey_is_added_only_by_its_person_who_has_just_signed_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (mias, olgas) = (world.browser(acme.id, mia).await, world.browser(acme.id, acme.owner).await);
        let mut phone = Device::new(b"phone");
        // Mia's challenge in Olga's session, and the other way round.
        let asked = asked_to_make(&mias).await;
        let fields = phone.make(&asked);
        let crossed = send(&olgas, "/profile/passkeys", &fields, &asked.cookie).await;
        assert!(
            crossed.status == 400 && crossed.html.contains("longer than five minutes"),
            "{}",
            crossed.html
        );
        for (origin, host, flags) in
            [("https://evil.example", HOST, 5), (ORIGIN, "evil.example", 5), (ORIGIN, HOST, PRESENT)]
        {
            let mut liar = Device { origin, host, flags, ..Device::new(b"liar") };
            assert_eq!(add(&mias, &mut liar, "").await.status, 400, "{origin} {host} {flags}");
        }
        assert_eq!(send(&mias, "/profile/passkeys", &fields, &asked.cookie).await.status, 303);
        assert_eq!(send(&mias, "/profile/passkeys", &fields, &asked.cookie).await.status, 400, "twice");
        // The same credential for somebody else.
        let mut stolen = Device::new(b"phone");
        assert_eq!(add(&olgas, &mut stolen, "").await.status, 400);

        let id: i64 = sqlx::query_scalar("select id from passkeys").fetch_one(&world.app.pool).await.unwrap();
        let path = format!("/profile/passkeys/{}", rookery_base::ids::PasskeyId(id));
        assert_eq!(olgas.get(&format!("{path}/remove")).await.status, 404, "not hers");
        assert_eq!(olgas.post(&format!("{path}/remove"), &[]).await.status, 404);
        assert_eq!(olgas.post(&format!("{path}/name"), &[("name", "x")]).await.status, 404);

        world.wait(TimeDelta::minutes(61));
        let stale = mias.post("/profile/passkeys/begin", &[]).await;
        assert_eq!(stale.status, 403);
        assert_eq!(
            serde_json::from_str::<Value>(&stale.html).unwrap()["error"],
            "Reload this page, then confirm it’s you."
        );
        let question = mias.get(&format!("{path}/remove")).await.page();
        assert!(question.contains("Remove it</button>"), "{question}");
        let asks = mias.post(&format!("{path}/remove"), &[]).await;
        let waits = format!(r#"name="waiting_for" value="{path}/remove""#);
        assert!(asks.status == 403 && asks.html.contains("Confirm it’s you"), "{}", asks.html);
        assert!(asks.html.contains(&waits), "{}", asks.html);
        assert!(mias.get("/profile").await.page().contains("Confirm it’s you to add a passkey"));
    })
    .await;
}

/// Somebody who is signed in confirms who they are: with a passkey of their own, for this session, once.
#[tokio::test]
async fn a_passkey_confirms_who_is_there_in_this_session_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let (olgas, mias) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let (mut phone, mut other) = (Device::new(b"phone"), Device::new(b"other"));
        assert_eq!(add(&olgas, &mut phone, "Phone").await.status, 303);
        assert_eq!(add(&mias, &mut other, "Mia's").await.status, 303);
        let beside = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(61));
        let begin =
            async |browser: &Browser<'_>| Asked::of(browser.post("/sign-in/again/passkey", &[]).await);
        let fresh = "/settings/keys/new";
        let page = olgas.get(fresh).await;
        assert!(page.status == 403 && page.html.contains("/sign-in/again/passkey"), "{}", page.html);

        let asked = begin(&olgas).await;
        let allowed = asked.options["allowCredentials"].as_array().unwrap().clone();
        assert_eq!(allowed.len(), 1, "hers alone: {allowed:?}");
        assert_eq!(allowed[0]["id"], encoded(b"phone"));
        // Mia's passkey, a challenge for signing in, and one of another session of Olga's.
        let fields = other.sign(&asked);
        assert_eq!(send(&olgas, "/sign-in/again", &fields, &asked.cookie).await.status, 401);
        let signing_in = asked_to_sign(world).await;
        let fields = phone.sign(&signing_in);
        assert_eq!(send(&olgas, "/sign-in/again", &fields, &signing_in.cookie).await.status, 401);
        let elsewhere = begin(&beside).await;
        let fields = phone.sign(&elsewhere);
        let refused = send(&olgas, "/sign-in/again", &fields, &elsewhere.cookie).await;
        assert!(
            refused.status == 401 && refused.html.contains("That passkey did not work here"),
            "{}",
            refused.html
        );
        assert_eq!(olgas.get(fresh).await.status, 403, "nothing was proven");

        // The device says nothing of its person when it was asked for one passkey.
        let mut fields = phone.sign(&asked);
        fields.iter_mut().filter(|(name, _)| *name == "user_handle").for_each(|(_, value)| value.clear());
        assert_eq!(
            send(&world.browser_with(""), "/sign-in/passkey", &fields, &asked.cookie).await.status,
            401,
            "it signs nobody in"
        );
        let proven = send(&olgas, "/sign-in/again", &fields, &asked.cookie).await;
        assert_eq!((proven.status, proven.location()), (303, "/inbox"), "{}", proven.html);
        let olgas = with_cookie_of(world, &proven);
        assert_eq!(olgas.get(fresh).await.status, 200);
        assert_eq!(beside.get(fresh).await.status, 403, "in this session only");
        assert_eq!(send(&olgas, "/sign-in/again", &fields, &asked.cookie).await.status, 401, "replayed");

        // She has not read her mail: a new password still takes the old one.
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let new = olgas.post("/profile/password", &[("password", "another good long one")]).await;
        assert_eq!(new.status, 400, "{}", new.html);
        assert!(olgas.get("/profile").await.page().contains(r#"name="current""#));
    })
    .await;
}
