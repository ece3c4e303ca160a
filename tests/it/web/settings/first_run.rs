//! An empty service and its first owner: the link, the workspace it makes, the steps after it, and an inbox to try.

use chrono::TimeDelta;
use futures::future::join_all;
use rookery_core::workspace::first_run;
use rookery_core::workspace::people::Role;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::sign_in::{PASSWORD, by_password, path_of, with_cookie_of};
use rookery_world::pages::writing::{Composer, reply, write};
use rookery_world::zone::Zone;
use rookery_world::{World, story, story_with};

const FORM: [(&str, &str); 4] = [
    ("workspace", "Larkfield Homes"),
    ("name", "Tomás Herrera"),
    ("email", "Tomas@Larkfield.example"),
    ("zone", "Europe/Berlin"),
];

async fn link(world: &World) -> String {
    path_of(&first_run::link(&world.app).await.expect("a link"))
}

/// What a stranger sees, to be compared.
fn told(shown: &Shown) -> (u16, String) {
    (shown.status, shown.html.clone())
}

async fn first_owner(world: &World) -> Browser<'_> {
    let made = world.browser_with("").post(&link(world).await, &FORM).await;
    assert_eq!((made.status, made.location()), (303, "/welcome"), "{}", made.html);
    with_cookie_of(world, &made)
}

#[tokio::test]
async fn the_first_owner_of_an_empty_service_makes_its_workspace_by_one_form() {
    story(async |world| {
        let nobody = world.browser_with("");
        let door = nobody.get("/sign-in").await.page();
        assert!(door.contains("rookery admin first-owner") && !door.contains("<form"), "{door}");

        let link = link(world).await;
        // Opening it does nothing: chats open links too.
        for _ in 0..3 {
            let page = nobody.get(&link).await.page();
            assert_eq!(page.matches("<form").count(), 1, "{page}");
        }
        for (field, wrong, says) in [
            ("email", "no address", "Your address must be a mail address."),
            ("workspace", " ", "The name of the workspace is required."),
            ("name", "", "Your name is required."),
            ("zone", "Mars/Base", "The time zone must be the name of a time zone."),
            ("password", "short", "at least 12"),
        ] {
            let mut form: Vec<_> = FORM.into_iter().filter(|(name, _)| *name != field).collect();
            form.push((field, wrong));
            let refused = nobody.post(&link, &form).await;
            assert_eq!(refused.status, 400, "{field}");
            assert!(refused.html.contains(says), "{says}: {}", refused.html);
            assert!(field == "name" || refused.html.contains(r#"value="Tomás Herrera""#), "{}", refused.html);
        }
        assert_eq!(world.scalar("select count(*) from workspaces").await, 0);

        let made = nobody.post(&link, &[&FORM[..], &[("password", PASSWORD)]].concat()).await;
        assert_eq!((made.status, made.location()), (303, "/welcome"));
        let owner = with_cookie_of(world, &made);
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("Your inbox in five steps") && page.contains("0 of 5 done"), "{page}");
        assert!(page.contains("Larkfield Homes") && page.contains("Europe/Berlin time"), "{page}");
        assert_eq!(by_password(world, "tomas@larkfield.example", PASSWORD).await.status, 303);
        let kept: (String, String, String, String) = sqlx::query_as(
            "select w.plan, time_zone, p.email, role from workspaces w join people p on p.workspace_id = w.id",
        )
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        let wanted = ("team", "Europe/Berlin", "tomas@larkfield.example", "owner");
        assert_eq!((kept.0.as_str(), kept.1.as_str(), kept.2.as_str(), kept.3.as_str()), wanted);
        assert!(nobody.get("/sign-in").await.page().contains("Send me a sign-in link"));
        assert!(first_run::link(&world.app).await.is_err(), "there is a workspace now");
    })
    .await;
}

/// Guessed, used, ended, replaced by another, or with a workspace there: all are the same 404 as any path that is none.
#[tokio::test]
async fn without_its_link_the_first_run_is_not_there() {
    story(async |world| {
        let nobody = world.browser_with("");
        let nothing = told(&nobody.get("/welcome/nothing").await);
        assert_eq!(nothing.0, 404);
        let same = async |path: &str| {
            assert_eq!(told(&nobody.get(path).await), nothing, "{path}");
            assert_eq!(told(&nobody.post(path, &FORM).await), nothing, "{path}");
        };
        same(&format!("/welcome/{}", "0".repeat(64))).await;
        let first = link(world).await;
        let second = link(world).await;
        same(&first).await;
        let kept: Vec<u8> = sqlx::query_scalar("select token_hash from directory.first_run_links")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        let hex: String = kept.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!second.contains(&hex), "only a hash is kept");
        world.wait(TimeDelta::minutes(30));
        same(&second).await;

        // A form of another site, and a workspace that an operator made meanwhile.
        let third = link(world).await;
        let foreign = nobody.request(reqwest::Method::POST, &third).header("origin", "https://evil.example");
        assert_eq!(nobody.send(foreign.body("name=x")).await.status, 403);
        assert_eq!(nobody.get(&third).await.status, 200);
        world.workspace("Acme").await;
        same(&third).await;
        assert_eq!(world.scalar("select count(*) from workspaces").await, 1);
    })
    .await;
}

#[tokio::test]
async fn many_who_come_with_the_link_at_once_make_one_workspace() {
    story(async |world| {
        let link = link(world).await;
        let nobody = world.browser_with("");
        let names: Vec<String> = (0..12).map(|n| format!("Workspace {n}")).collect();
        let posts = names.iter().map(async |name| {
            let form = [("workspace", name.as_str()), FORM[1], FORM[2], FORM[3]];
            nobody.post(&link, &form).await.status
        });
        let mut answers = join_all(posts).await;
        answers.sort_unstable();
        assert_eq!(answers[0], 303);
        assert!(answers[1..].iter().all(|status| *status == 404), "{answers:?}");
        assert_eq!(world.scalar("select count(*) from workspaces").await, 1);
        assert_eq!(world.scalar("select count(*) from directory.workspaces").await, 1);
        assert_eq!(world.scalar("select count(*) from people").await, 1);
    })
    .await;
}

/// What is done is read from the workspace; a step that was left out is found again.
#[tokio::test]
async fn the_steps_follow_the_workspace() {
    let zone = Zone::start().await;
    let dns = zone.address.to_string();
    story_with(&[("DNS", &dns)], async |world| {
        let owner = first_owner(world).await;
        let current = async || {
            let page = owner.get("/welcome").await.page();
            let now = page.split("aria-current=\"step\"").next().unwrap();
            now.rsplit("id=\"step-").next().unwrap().split('"').next().unwrap().to_owned()
        };
        assert_eq!(current().await, "inbox");
        assert_eq!(owner.post("/welcome/skip", &[("step", "nothing")]).await.status, 400);
        owner.post("/welcome/skip", &[("step", "inbox")]).await;
        owner.post("/welcome/skip", &[("step", "inbox")]).await;
        assert_eq!(current().await, "dns");
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("Left out.") && page.contains("First the"), "{page}");
        let again = owner.post("/welcome/skip", &[("step", "inbox"), ("do", "take-up")]).await;
        assert_eq!(again.location(), "/welcome?step=inbox");
        assert_eq!(current().await, "inbox");

        let here = [("address", "help@larkfield.test"), ("name", "<b>")];
        let refused = owner.post("/welcome/inbox", &here).await;
        assert!(refused.status == 400 && refused.html.contains("must not end in .test"), "{}", refused.html);
        assert!(refused.html.contains(r#"value="&#60;b&#62;""#), "{}", refused.html);
        let made =
            owner.post("/welcome/inbox", &[("address", "Help@Larkfield.example"), ("name", "Help")]).await;
        assert!(made.location().starts_with("/welcome?done=inbox-made"), "{}", made.location());
        assert_eq!(current().await, "dns");

        // The rows are there without a further press, and every difference is told.
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("v=DKIM1; k=rsa; p=") && page.contains("Not looked up yet."), "{page}");
        zone.text("larkfield.example", "v=spf1 +all");
        let looked = owner.post("/welcome/dns", &[]).await;
        assert_eq!(looked.location(), "/welcome?step=dns");
        let page = owner.get("/welcome?step=dns").await.page();
        assert!(page.contains("0 of 4 seen.") && page.contains("<del>+all</del>"), "{page}");

        // The test mail: that it left and that an answer came are two things.
        owner.post("/welcome/skip", &[("step", "dns")]).await;
        assert_eq!(current().await, "test-mail");
        assert!(owner.get("/welcome").await.page().contains("nothing was sent yet"));
        let sent = owner.post("/welcome/test-mail", &[]).await;
        assert!(sent.location().starts_with("/welcome?step=test-mail&done=test-sent"), "{}", sent.location());
        world.work().await;
        let letters = world.outbox.letters();
        let [letter] = &letters[..] else { panic!("one mail: {letters:?}") };
        assert_eq!(
            (letter.from.as_str(), letter.to.as_str()),
            ("help@larkfield.example", "tomas@larkfield.example")
        );
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("Sending works.") && page.contains("no mail has come yet"), "{page}");
        let raw = format!(
            "Message-ID: <1@larkfield.example>\nFrom: tomas@larkfield.example\nTo: help@larkfield.example\n\
             In-Reply-To: <{}>\nSubject: Re: A test\n\nGot it\n",
            letter.rfc_message_id
        );
        receives(world, &raw).await;
        assert_eq!(current().await, "people", "it left, and mail came in");

        owner
            .post("/settings/people/invite", &[("emails", "lea@larkfield.example"), ("role", "member")])
            .await;
        assert_eq!(current().await, "key");
        owner.post("/welcome/skip", &[("step", "key")]).await;
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("Your inbox is set up") && page.contains("of 5 done"), "{page}");
    })
    .await;
}

/// Mail that arrives at the one live inbox with a real address.
async fn receives(world: &World, raw: &str) {
    use rookery_base::ids::{MailboxId, WorkspaceId};
    use rookery_core::workspace::mailboxes;
    use rookery_mail::incoming::authenticate::Dmarc;
    use rookery_mail::incoming::delivery::Delivery;
    use rookery_mail::incoming::receive::receive;
    let (workspace, inbox): (i64, i64) = sqlx::query_as(
        "select workspace_id, id from mailboxes where kind = 'team' and address not like '%.test'",
    )
    .fetch_one(&world.app.pool)
    .await
    .unwrap();
    let mut conn = world.app.connection().await.unwrap();
    let mailbox = mailboxes::live(&mut conn, WorkspaceId(workspace), MailboxId(inbox)).await.unwrap();
    drop(conn);
    let raw = raw.replace('\n', "\r\n").into_bytes();
    let delivery = Delivery::from_raw(mailbox, raw, Dmarc::Pass);
    receive(&world.app, WorkspaceId(workspace), delivery).await.unwrap();
}

#[tokio::test]
async fn name_and_zone_of_a_workspace_are_changed_and_recorded() {
    story(async |world| {
        let owner = first_owner(world).await;
        let page = owner.get("/welcome?step=name").await.page();
        assert!(page.contains("<option selected>Europe/Berlin</option>"), "{page}");
        let wrong = owner.post("/welcome/name", &[("name", "Larkfield"), ("zone", "Nowhere")]).await;
        assert!(
            wrong.status == 400 && wrong.html.contains("must be the name of a time zone"),
            "{}",
            wrong.html
        );
        for _ in 0..2 {
            let saved =
                owner.post("/welcome/name", &[("name", "Lark & field"), ("zone", "Asia/Kathmandu")]).await;
            assert_eq!(saved.status, 303);
        }
        let page = owner.get("/welcome").await.page();
        assert!(page.contains("Lark &#38; field") && page.contains("Asia/Kathmandu time"), "{page}");
        let recorded = "select count(*) from audit_entries where did = 'workspace.changed'";
        assert_eq!(world.scalar(recorded).await, 1, "what changed nothing is not recorded");
    })
    .await;
}

/// Before any DNS: a mail that nobody sent comes in, and is answered in the app.
#[tokio::test]
async fn the_try_it_inbox_takes_made_up_mail_that_is_answered_like_any_other() {
    story(async |world| {
        let owner = first_owner(world).await;
        let empty = owner.get("/inbox").await.page();
        assert!(empty.contains("No inbox yet") && empty.contains(r#"href="/welcome""#), "{empty}");
        let tried = owner.post("/welcome/try-it", &[("sample", "question")]).await;
        let path = tried.location().split('?').next().unwrap().to_owned();
        let id = path.strip_prefix("/conversations/").unwrap().parse().expect("a conversation");
        let page = owner.get(&path).await.page();
        assert!(page.contains("Priya Raman") && page.contains("Question about my last invoice"), "{page}");
        let form = Composer::open(&owner, &reply(id)).await.set("body", "We had a look.");
        let sent = form.press(&owner, &write(id), ("do", "send")).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let addresses: (String, String) = sqlx::query_as(
            "select b.address, c.contact_email from conversations c join mailboxes b on b.id = c.mailbox_id",
        )
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(addresses, ("try-it@larkfield-homes.test".into(), "priya.raman@customer.test".into()));

        // One inbox, however many mails; the forged one is held.
        let scam = owner.post("/welcome/try-it", &[("sample", "scam")]).await;
        assert_eq!(scam.status, 303);
        let own = [("name", "Ada\r\nBcc: eve@x.example <x>"), ("subject", "<script>"), ("text", "Hello")];
        let typed = owner.post("/welcome/try-it", &own).await;
        let shown = owner.get(typed.location()).await.page();
        assert!(shown.contains("&#60;script&#62;") && !shown.contains("<script>"), "{shown}");
        let blank = owner.post("/welcome/try-it", &[("subject", "Nothing"), ("text", " ")]).await;
        assert!(blank.status == 400 && blank.html.contains("The text must not be blank."), "{}", blank.html);
        assert_eq!(world.scalar("select count(*) from mailboxes where kind = 'team'").await, 1);
        assert_eq!(world.scalar("select count(*) from conversations where risk is not null").await, 1);
        assert_eq!(
            world
                .scalar("select count(*) from conversations where contact_email like '%customer.test'")
                .await,
            3
        );
        let page = owner.get("/welcome").await.page();
        assert!(
            page.contains("Open the try-it inbox") && page.contains("0 of 5 done"),
            "it is no real inbox: {page}"
        );
    })
    .await;
}

/// Nobody but owners and admins sets a workspace up; a member's empty inbox leads elsewhere.
#[tokio::test]
async fn a_member_of_an_empty_workspace_is_led_somewhere_too() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let member = world.browser(acme.id, mia).await;
        let empty = member.get("/inbox").await.page();
        assert!(
            empty.contains("An owner or admin creates the first one") && !empty.contains("/welcome"),
            "{empty}"
        );
        assert_eq!(member.get("/welcome").await.status, 404);
        assert_eq!(member.post("/welcome/try-it", &[("sample", "question")]).await.status, 404);
    })
    .await;
}

/// Every page of the app that can be empty has something to press.
#[tokio::test]
async fn every_empty_page_offers_what_to_do_next() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let lists = ["mine", "mentioned", "open", "unassigned", "waiting", "snoozed", "closed"];
        let mut pages: Vec<String> =
            ["/approvals", "/outgoing", "/drafts", "/notices", "/search", "/search?q=nothing"]
                .into_iter()
                .chain([
                    "/search?q=nothing&kind=files",
                    "/settings/inboxes",
                    "/settings/keys",
                    "/settings/agents",
                ])
                .chain(["/settings/webhooks", "/settings/saved-replies"])
                .map(str::to_owned)
                .collect();
        pages.extend(lists.map(|view| format!("/inbox?view={view}")));
        for furnished in [false, true] {
            if furnished {
                acme.mailbox("help@acme.example", "Help").await;
                pages.retain(|path| path != "/settings/inboxes");
            }
            for path in &pages {
                let page = owner.get(path).await.page();
                let empty =
                    page.split("class=\"empty\"").nth(1).unwrap_or_else(|| panic!("{path} is not empty"));
                let empty = empty.split("</section>").next().unwrap();
                let first =
                    empty.find("class=\"btn").unwrap_or_else(|| panic!("{path} offers nothing: {empty}"));
                assert!(first < 1500, "{path}");
            }
        }
    })
    .await;
}
