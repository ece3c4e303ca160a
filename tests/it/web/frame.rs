//! What every page has: a session, headers, and one answer for what is not there.

use rookery_core::workspace::people::Role;
use rookery_web::door::{PAGES, Who};

use rookery_world::story;

#[tokio::test]
async fn somebody_without_a_session_is_sent_to_sign_in_from_every_page() {
    story(async |world| {
        world.workspace("Acme").await;
        let nobody = world.browser_with("");
        for page in PAGES.iter().filter(|page| !matches!(page.who, Who::Anyone | Who::Customer)) {
            let parts = page
                .path
                .split('/')
                .map(|part| if part.starts_with('{') { "cnv_0000000000001" } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            let shown = match page.method.as_str() {
                "POST" => nobody.post(&path, &[]).await,
                _ => nobody.get(&path).await,
            };
            let (to, next) = shown.location().split_once("?next=").unwrap_or((shown.location(), ""));
            assert_eq!((shown.status, to), (303, "/sign-in"), "{} {path}", page.method);
            let wanted =
                if page.method == "GET" && path != "/" { path.replace('/', "%2F") } else { String::new() };
            assert_eq!(next, wanted, "{} {path}", page.method);
        }
    })
    .await;
}

#[tokio::test]
async fn every_answer_forbids_inline_script_frames_and_caches() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        for path in ["/inbox", "/conversations/cnv_0000000000001", "/sign-in"] {
            let shown = owner.get(path).await;
            let policy = shown.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{path}");
            assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}");
            assert_eq!(shown.headers["cache-control"], "private, no-store", "{path}");
            assert_eq!(shown.headers["x-content-type-options"], "nosniff", "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_person_reads_the_list_and_a_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let id = acme.mail(help, "kim@customer.test", "Where is <b>my</b> order?", "It has not come.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let list = owner.get("/inbox").await.page();
        assert!(
            list.contains(&format!("/conversations/{id}"))
                && list.contains("Where is &#60;b&#62;my&#60;/b&#62; order?")
        );
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Where is &#60;b&#62;my&#60;/b&#62; order?"));
    })
    .await;
}

/// proves: VIS-16
#[tokio::test]
async fn a_private_conversation_of_a_colleague_one_of_the_sandbox_and_none_are_the_same_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let hidden = acme.mail(own, "kim@customer.test", "Only for Mia", "Hello.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mut answers = Vec::new();
        for id in [hidden.to_string(), "cnv_0000000000001".into(), "cnv_x".into(), "%00".into()] {
            let shown = owner.get(&format!("/conversations/{id}")).await;
            answers.push((shown.status, shown.html));
        }
        assert_eq!(answers[0].0, 404);
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
        let list = owner.get("/inbox").await.page();
        assert!(!list.contains(&hidden.to_string()));
        let hers = world.browser(acme.id, mia).await;
        assert_eq!(hers.get(&format!("/conversations/{hidden}")).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let told = [
            vec![("origin", "https://evil.example")],
            vec![("origin", "null")],
            vec![("sec-fetch-site", "cross-site")],
            vec![("sec-fetch-site", "same-site"), ("origin", "https://rookery.example")],
            vec![],
        ];
        for headers in told {
            let request = owner.request(reqwest::Method::POST, "/sign-out");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            assert_eq!(owner.send(request).await.status, 403, "{headers:?}");
        }
        assert_eq!(owner.get("/inbox").await.status, 200);
        assert_eq!(owner.post("/sign-out", &[]).await.location(), "/sign-in");
        assert_eq!(owner.get("/inbox").await.location(), "/sign-in?next=%2Finbox");
    })
    .await;
}
