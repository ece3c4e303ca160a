//! The page on which a person lets a program in: asked each time, of owners and admins, on this site only; what the program says
//! of itself is shown as what a stranger says.

use rookery_core::workspace::people::Role;
use serde_json::json;

use super::{CONSENT, Program, address, agents, decided, leads_to, registers};
use rookery_world::browser::Shown;
use rookery_world::programs::client_sign_in::parameter;
use rookery_world::{Mode, story};

/// Confused deputy: a yes to one program, or an earlier one, is no yes to the next.
#[tokio::test]
async fn everybody_is_asked_each_time_and_a_get_never_says_yes() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (first, second) =
            (Program::registered(world, "First").await, Program::registered(world, "Second").await);
        for _ in 0..3 {
            let shown = owner.get(&first.address()).await;
            assert!(shown.html.contains("Allow") && shown.location().is_empty(), "{}", shown.html);
        }
        let yes = format!("{}&decision=allow&name=x&mode=live", first.address());
        assert!(owner.get(&yes).await.page().contains("Do not allow"));
        assert_eq!(agents(world).await, 0);

        first.code(&owner).await;
        for program in [&first, &second] {
            let page = owner.get(&program.address()).await.page();
            assert!(page.contains("Do not allow") && !page.contains("http-equiv"), "{page}");
        }
        assert_eq!(agents(world).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_form_of_another_site_is_refused_and_nobody_frames_the_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let shown = owner.get(&program.address()).await;
        assert_eq!(shown.headers["x-frame-options"], "DENY");
        let policy = shown.headers["content-security-policy"].to_str().unwrap().to_owned();
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"),
            "{policy}"
        );
        let form = address(&program.asked()).replace(&format!("{CONSENT}?"), "")
            + "&decision=allow&name=x&mode=live";
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("accept", "text/html"),
        ] {
            let request = owner.request(reqwest::Method::POST, CONSENT).header(name, value);
            let request =
                request.header("content-type", "application/x-www-form-urlencoded").body(form.clone());
            let refused: Shown = owner.send(request).await;
            assert_eq!(refused.status, 403, "{name}: {value}");
        }
        assert_eq!(agents(world).await, 0);
    })
    .await;
}

#[tokio::test]
async fn who_says_no_sends_the_program_back_with_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let mut fields: Vec<(&str, String)> = program.asked();
        fields.push(("decision", "deny".to_owned()));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let back = leads_to(&owner.post(CONSENT, &fields).await);
        assert_eq!(parameter(&back, "error").as_deref(), Some("access_denied"));
        assert_eq!(parameter(&back, "iss").as_deref(), Some(super::ISSUER));
        assert_eq!(parameter(&back, "state").as_deref(), Some("st&te=1"));
        assert_eq!((parameter(&back, "code"), agents(world).await), (None, 0));
    })
    .await;
}

/// The same rule as for keys.
#[tokio::test]
async fn only_owners_and_admins_who_just_showed_who_they_are_let_a_program_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (mia, ada) = (acme.person("Mia", Role::Member).await, acme.person("Ada", Role::Admin).await);
        let program = Program::registered(world, "Helper").await;
        let member = world.browser(acme.id, mia).await;
        let shown = member.get(&program.address()).await;
        assert!(shown.status == 403 && shown.html.contains("Only owners and admins"), "{}", shown.html);
        assert_eq!(program.allowed_by(&member, &[("name", "x")]).await.status, 404);

        let nobody = world.browser_with("");
        let shown = nobody.get(&program.address()).await;
        let next: String = url::form_urlencoded::byte_serialize(program.address().as_bytes()).collect();
        assert_eq!((shown.status, shown.location()), (303, format!("/sign-in?next={next}").as_str()));
        // The sign-in page hands all of it on.
        let form = nobody.get(shown.location()).await.page();
        assert!(form.contains("name=\"next\"") && form.contains("code_challenge"), "{form}");

        let admin = world.browser(acme.id, ada).await;
        world.wait(chrono::TimeDelta::minutes(61));
        let stale = admin.get(&program.address()).await;
        assert!(stale.status == 403 && stale.html.contains("Confirm it’s you"), "{}", stale.html);
        assert_eq!(program.allowed_by(&admin, &[("name", "x")]).await.status, 403);
        assert_eq!(agents(world).await, 0);
        let admin = world.browser(acme.id, ada).await;
        leads_to(&program.allowed_by(&admin, &[("name", "x")]).await);
        assert_eq!(agents(world).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_program_gets_at_most_what_it_asked_for_and_never_to_send_by_itself() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        let ticked = |page: &str, scope: &str| {
            let row = page
                .split("name=\"scope_allowed\"")
                .skip(1)
                .find(|part| part.contains(&format!("value=\"{scope}\"")));
            row.map(|row| row.split('>').next().unwrap_or_default().contains("checked"))
        };
        for (asked, offered) in [
            (Some("read write draft send"), [Some(true), Some(true), Some(true), Some(false), None]),
            (Some("send"), [Some(true), None, None, Some(false), None]),
            (Some("read record admin"), [Some(true), None, None, None, None]),
            (Some("everything"), [Some(true), Some(true), Some(true), None, None]),
            (None, [Some(true), Some(true), Some(true), None, None]),
        ] {
            let page = owner.get(&address(&program.asked_but("scope", asked))).await.page();
            let found = ["read", "write", "draft", "send", "record"].map(|scope| ticked(&page, scope));
            assert_eq!(found, offered, "{asked:?}");
        }
        let all = [("name", "Helper"), ("mode", "test")].into_iter();
        let all: Vec<_> = all
            .chain(["read", "write", "draft", "send", "record"].map(|scope| ("scope_allowed", scope)))
            .collect();
        let back = leads_to(&decided(&owner, &program.asked_but("scope", Some("read draft")), &all).await);
        let given = program.redeems(&parameter(&back, "code").unwrap()).await;
        assert_eq!(given.json()["scope"], json!("read draft"));
    })
    .await;
}

#[tokio::test]
async fn what_a_program_calls_itself_is_shown_as_text_and_cut() {
    story(async |world| {
        let acme = world.workspace("Acme <b>Ltd</b>").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let name = format!("<script>alert(1)</script>\u{1b}[31m\r\n\u{202e}\"{}", "x".repeat(200));
        let made =
            registers(world, &json!({ "client_name": name, "redirect_uris": [super::REDIRECT] })).await;
        assert_eq!(made.json()["client_name"].as_str().unwrap().chars().count(), 60);
        let id = made.json()["client_id"].as_str().unwrap().to_owned();
        let program = Program { world, id, redirect: super::REDIRECT.to_owned() };
        let page = owner.get(&program.address()).await.page();
        assert!(
            !page.contains("<script>alert") && !page.contains('\u{1b}') && !page.contains("<b>Ltd"),
            "{page}"
        );
        assert!(page.contains("<bdi>&#60;script&#62;"), "{page}");
        let nameless = registers(world, &json!({ "redirect_uris": [super::REDIRECT] })).await;
        assert_eq!(nameless.json()["client_name"], "MCP client");
    })
    .await;
}

#[tokio::test]
async fn a_name_that_is_taken_gets_a_number_and_what_is_typed_wrong_is_said() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.key("helper", "read", Mode::Live).await;
        acme.key("Helper 2", "read", Mode::Test).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let program = Program::registered(world, "Helper").await;
        assert!(owner.get(&program.address()).await.page().contains("value=\"Helper 3\""));
        for (name, said) in
            [("HELPER", "name: is the name of another key already"), ("", "name: is required")]
        {
            let shown = program
                .allowed_by(&owner, &[("name", name), ("mode", "live"), ("scope_allowed", "draft")])
                .await;
            assert!(shown.status == 400 && shown.html.contains(said), "{}", shown.html);
            assert!(
                shown.html.contains(&format!("value=\"{name}\"")) && shown.html.contains("code_challenge")
            );
        }
        assert_eq!(agents(world).await, 2);
    })
    .await;
}
