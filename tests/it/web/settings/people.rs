//! The people of a workspace: who is on the team, in which role, and what happens when somebody leaves.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, PersonId};
use rookery_core::workspace::access::By;
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::Delivery;
use rookery_mail::incoming::receive::receive;
use rookery_webhooks::create::{WebhookParameters, create};
use rookery_webhooks::webhook::Scope;

use rookery_world::browser::Browser;
use rookery_world::pages::sign_in::{PASSWORD, set_password};
use rookery_world::pages::writing::Composer;
use rookery_world::{Mode, World, story, story_with};

const LOCAL: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8")];

const ROLES: &str = "/settings/people/roles";

pub async fn role_of(world: &World, person: PersonId) -> String {
    sqlx::query_scalar("select role from people where id = $1")
        .bind(person.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap()
}

/// proves: APP-7
#[tokio::test]
async fn the_list_tells_who_is_there_in_which_role_and_how_they_sign_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        world.sql("update people set name = 'Mia <b>' where name = 'Mia'").await;
        acme.private_mailbox("mia@acme.example", "Mia, own secret", mia).await;
        set_password(world, acme.id, mia, PASSWORD).await;
        let globex = world.workspace("Globex").await;
        globex.person("Gina", Role::Member).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/settings/people").await.page();
        for told in [
            "Olga Owner",
            "Mia &#60;b&#62;",
            "Password, link by mail",
            "The only one",
            "Never",
            "no two-step verification",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(!page.contains("Gina"), "of another workspace");
        assert!(
            !page.contains("own secret") && !page.contains("mia@acme.example"),
            "private inboxes are counted, not named"
        );
        assert!(page.contains(&format!("/settings/people/{mia}/remove")));
        assert!(
            !page.contains(&format!("/settings/people/{}/remove", acme.owner)),
            "nobody removes themselves"
        );
    })
    .await;
}

#[tokio::test]
async fn roles_are_changed_by_whoever_may_and_never_of_the_last_owner() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam", Role::Admin).await;
        let mia = acme.person("Mia", Role::Member).await;
        let (owner, admin) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, adam).await);
        let to = |person: PersonId, role: &str| format!("{person}:as it was:{role}");
        let tried = [
            (&admin, to(mia, "admin"), 303),
            (&admin, to(mia, "owner"), 403),
            (&admin, to(adam, "owner"), 403),
            (&admin, to(acme.owner, "member"), 403),
            (&owner, to(acme.owner, "admin"), 400),
            (&owner, to(mia, "emperor"), 400),
            (&owner, "nobody:member:admin".to_owned(), 400),
            (&owner, to(mia, "owner"), 303),
            (&owner, to(acme.owner, "admin"), 303),
            (&owner, to(mia, "member"), 403),
        ];
        for (browser, role, status) in tried {
            let answer = browser.post(ROLES, &[("role", &role)]).await;
            assert_eq!(answer.status, status, "{role}: {}", answer.html);
            if status != 303 {
                assert!(answer.html.contains(r#"role="alert""#), "{}", answer.html);
            }
        }
        assert_eq!((role_of(world, acme.owner).await, role_of(world, mia).await), ("admin".into(), "owner".into()));

        // What was not touched stays as a colleague left it since.
        assert_eq!(owner.post(ROLES, &[("role", &*format!("{adam}:member:member"))]).await.status, 303);
        assert_eq!(role_of(world, adam).await, "admin");

        // One that is refused refuses all; and an owner may pass it on and step down in one go.
        let mias = world.browser(acme.id, mia).await;
        let both = [("role", &*to(adam, "member")), ("role", &*to(mia, "member"))];
        assert_eq!(mias.post(ROLES, &both).await.status, 400);
        assert_eq!(role_of(world, adam).await, "admin");
        let both = [("role", &*to(mia, "member")), ("role", &*to(adam, "owner"))];
        assert_eq!(mias.post(ROLES, &both).await.status, 303);
        assert_eq!(mias.get("/settings/people").await.status, 404, "she is a member now");
        let told: Vec<String> = sqlx::query_scalar(
            "select actor_name || ' ' || subject_name || ' ' || data from audit_entries where did = 'person.role_changed' order by n")
            .fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(told[0], r#"Adam Mia {"from":"member","to":"admin"}"#);
    })
    .await;
}

/// Two owners take each other's role at the same moment: one of them stays.
#[tokio::test]
async fn two_owners_who_demote_each_other_at_once_leave_one() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let otto = acme.person("Otto", Role::Owner).await;
        let (olga, ottos) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, otto).await);
        for _ in 0..10 {
            world.sql("update people set role = 'owner'").await;
            let (first, second) = (format!("{otto}:owner:member"), format!("{}:owner:member", acme.owner));
            let (first, second) = ([("role", first.as_str())], [("role", second.as_str())]);
            let answers = tokio::join!(olga.post(ROLES, &first), ottos.post(ROLES, &second));
            let owners: i64 = sqlx::query_scalar("select count(*) from people where role = 'owner'")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
            assert_eq!(owners, 1, "{} {}", answers.0.status, answers.1.status);
        }
    })
    .await;
}

/// What is left of somebody, as the story of a removal asks.
async fn count(world: &World, query: &str, person: PersonId) -> i64 {
    sqlx::query_scalar(sqlx::AssertSqlSafe(query.to_owned()))
        .bind(person.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap()
}

/// Everything somebody can hold: each is shown first, and handed over or closed as was chosen.
///
/// proves: APP-7
#[tokio::test]
async fn who_is_removed_is_out_at_once_and_what_they_held_goes_where_it_was_said() {
    story_with(LOCAL, async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let adam = acme.person("Adam", Role::Member).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let private = acme.private_mailbox("mia@acme.example", "Mia, own", mia).await;
        let open = acme.mail(help, "ada@customer.example", "A leak", "Water everywhere").await;
        let closed = acme.mail(help, "bob@customer.example", "Old", "Done with").await;
        let secret = acme.mail(private, "cyd@customer.example", "Secret", "For you alone").await;
        let letter = acme.mail(help, "dan@customer.example", "A letter", "When will you write?").await;
        acme.tag(secret, "own").await;
        let mine = format!("assignee_type = 'user', assignee_id = {}", mia.0);
        acme.set(open, &mine).await;
        acme.set(closed, &format!("{mine}, status = 'closed'")).await;
        acme.set(secret, &mine).await;
        let bot = acme.key_of(mia, "bot", "read,write", Mode::Live).await;
        let wanted = |scope| WebhookParameters { maker: mia, url: "http://127.0.0.1:9/hook?token=hush", livemode: true, scope, kinds: &[] };
        create(&world.app, acme.id, &By::System, wanted(Scope::Team)).await.unwrap();
        create(&world.app, acme.id, &By::System, wanted(Scope::Private)).await.unwrap();
        let (mias, owner) = (world.browser(acme.id, mia).await, world.browser(acme.id, acme.owner).await);
        let draft = Composer::open(&mias, &format!("/conversations/{open}?compose=reply")).await.set("body", "Half a reply");
        draft.press(&mias, &format!("/conversations/{open}/write"), ("do", "save")).await;
        let own = Composer::open(&mias, &format!("/conversations/{secret}?compose=reply")).await.set("body", "A secret reply");
        own.press(&mias, &format!("/conversations/{secret}/write"), ("do", "save")).await;
        let sends = Composer::open(&mias, &format!("/conversations/{letter}?compose=reply")).await.set("body", "Leaves soon");
        assert_eq!(sends.press(&mias, &format!("/conversations/{letter}/write"), ("do", "send")).await.status, 303);
        mias.post("/settings/people/invite", &[("emails", "lea@example.com"), ("role", "member")]).await;

        let question = format!("/settings/people/{mia}/remove");
        let page = owner.get(&question).await.page();
        for told in ["1 open conversation<", "1 unsent draft<", "1 scheduled mail<", "1 private inbox<", "1 conversation that", "1 unsent draft in them",
            "1 webhook of the team", "127.0.0.1", "1 API key", "bot", "1 private webhook<", "lea@example.com"] {
            assert!(page.contains(told), "{told}: {page}");
        }
        for hidden in ["hush", "Mia, own", "mia@acme.example", "Secret", "cyd@", "Half a reply"] {
            assert!(!page.contains(hidden), "{hidden}: {page}");
        }
        assert_eq!(mias.get("/inbox").await.status, 200, "a question changes nothing");

        let (to_adam, to_olga) = (adam.to_string(), acme.owner.to_string());
        let form = [("conversations", to_adam.as_str()), ("drafts", &to_adam), ("inboxes", &to_olga), ("webhooks", &to_olga), ("scheduled", "stop")];
        let removed = owner.post(&question, &form).await;
        assert!(removed.location().contains("done=removed"), "{}", removed.html);
        // At once, before any worker.
        assert_eq!(mias.get("/inbox").await.status, 303, "her sessions are over");
        assert_eq!(bot.get("/me").await.status, 401, "her keys are over");
        assert_eq!(count(world, "select count(*) from messages where author_id = $1 and status = 'scheduled'", mia).await, 0);
        assert_eq!(count(world, "select count(*) from invitations where invited_by = $1", mia).await, 0);
        assert_eq!(count(world, "select count(*) from sessions where person_id = $1", mia).await, 0);
        let hooks: Vec<(String, i64, String)> =
            sqlx::query_as("select scope, maker_id, state from webhooks order by scope").fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(hooks, [("private".into(), mia.0, "off".into()), ("team".into(), acme.owner.0, "active".into())]);
        assert!(owner.get("/settings/people").await.page().contains("is being handed over"));
        assert_eq!(owner.post(&question, &form).await.status, 404, "nobody is removed twice");

        world.work().await;
        assert_eq!(count(world, "select count(*) from conversations where assignee_id = $1", mia).await, 0);
        assert_eq!(count(world, "select count(*) from conversations where audience = $1", mia).await, 0);
        let held: Vec<(i64, Option<String>, i64)> =
            sqlx::query_as("select id, assignee_type, assignee_id from conversations where subject <> 'A letter' order by id").fetch_all(&world.app.pool).await.unwrap();
        let person = || Some("user".to_owned());
        assert_eq!(held, [(open.0, person(), adam.0), (closed.0, None, 0), (secret.0, person(), acme.owner.0)]);
        assert_eq!(owner.get(&format!("/conversations/{secret}")).await.status, 200, "her inbox is Olga's");
        let adams = world.browser(acme.id, adam).await;
        assert_eq!(adams.get(&format!("/conversations/{secret}")).await.status, 404, "and stays private");
        assert!(adams.get(&format!("/conversations/{open}?compose=reply")).await.page().contains("Half a reply"));
        assert_eq!(count(world, "select count(*) from written_drafts where person_id = $1", adam).await, 1, "not what he cannot see");
        assert!(owner.get(&format!("/conversations/{secret}?compose=reply")).await.page().contains("A secret reply"), "it went with the inbox");
        assert_eq!(count(world, "select count(*) from written_drafts where person_id = $1", mia).await, 0);
        let told = world.outbox.letters();
        let told = told.iter().find(|letter| letter.to == "mia@rookery.example").expect("she is told");
        assert!(told.text.contains("Olga Owner reads your private inboxes from now on: Mia, own"), "{}", told.text);

        world.wait(TimeDelta::minutes(3));
        world.work().await;
        assert!(!owner.get("/settings/people").await.page().contains("is being handed over"));
        let data: String = sqlx::query_scalar("select actor_name || data from audit_entries where did = 'person.removed'")
            .fetch_one(&world.app.pool).await.unwrap();
        for told in ["keysRevoked\":[\"agt_", "webhooksKept\":[\"whk_", "webhooksRemoved\":[\"whk_"] {
            assert!(data.contains(told), "{told}: {data}");
        }
        assert!(data.starts_with("Olga Owner") && data.contains(&format!(r#""privateInboxesTo":"{}""#, acme.owner)), "{data}");
        // She may come back, as somebody new.
        assert_eq!(owner.post("/settings/people/invite", &[("emails", "mia@rookery.example"), ("role", "member")]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn a_closed_inbox_takes_no_mail_and_what_was_not_chosen_is_closed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.private_mailbox("mia@acme.example", "Mia, own", mia).await;
        let mut conn = world.app.connection().await.unwrap();
        let accepted = mailboxes::at(&mut conn, acme.id, &["mia@acme.example".into()])
            .await
            .unwrap()
            .expect("an inbox")
            .0;
        drop(conn);
        let open = acme.mail(help, "ada@customer.example", "A leak", "Water everywhere").await;
        acme.set(open, &format!("assignee_type = 'user', assignee_id = {}", mia.0)).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(owner.post(&format!("/settings/people/{mia}/remove"), &[]).await.status, 303);
        let mut conn = world.app.connection().await.unwrap();
        assert!(mailboxes::at(&mut conn, acme.id, &["mia@acme.example".into()]).await.unwrap().is_none());
        assert!(mailboxes::at(&mut conn, acme.id, &["help@acme.example".into()]).await.unwrap().is_some());
        drop(conn);
        // Its recipient was accepted before; the sender tries again and is then told.
        let raw = b"From: ada@customer.example\r\nMessage-ID: <late@customer.example>\r\n\r\nLate".to_vec();
        let late = receive(&world.app, acme.id, Delivery::from_raw(accepted, raw, Dmarc::Pass)).await;
        assert!(late.is_err(), "mail that nobody could read was taken: {late:?}");
        world.work().await;
        let held: Option<String> = sqlx::query_scalar("select assignee_type from conversations")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(held, None);
    })
    .await;
}

#[tokio::test]
async fn nobody_removes_themselves_an_owner_they_may_not_or_the_last_one_nor_hands_over_to_a_stranger() {
    story(async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let adam = acme.person("Adam", Role::Admin).await;
        let mia = acme.person("Mia", Role::Member).await;
        let (owner, admin) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, adam).await);
        let member = world.browser(acme.id, mia).await;
        let path = |person: PersonId| format!("/settings/people/{person}/remove");
        let stranger = globex.owner.to_string();
        let mias = mia.to_string();
        type Fields<'a> = &'a [(&'a str, &'a str)];
        let tried: [(&Browser<'_>, PersonId, Fields<'_>, u16); 8] = [
            (&owner, acme.owner, &[], 400),
            (&admin, adam, &[], 400),
            (&admin, acme.owner, &[], 403),
            (&member, adam, &[], 404),
            (&owner, globex.owner, &[], 404),
            (&owner, mia, &[("conversations", &stranger)], 400),
            (&owner, mia, &[("inboxes", &mias)], 400),
            (&owner, adam, &[("webhooks", &mias)], 400),
        ];
        for (browser, person, form, status) in tried {
            assert_eq!(browser.post(&path(person), form).await.status, status, "{person} {form:?}");
        }
        for (browser, person, status) in [
            (&owner, acme.owner, 403),
            (&admin, acme.owner, 403),
            (&member, adam, 404),
            (&owner, globex.owner, 404),
        ] {
            assert_eq!(browser.get(&path(person)).await.status, status, "{person}");
        }
        let gone: i64 = sqlx::query_scalar("select count(*) from people where removed_at is not null")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(gone, 0);
    })
    .await;
}

/// Whoever took over leaves as well before everything has gone over: the rest goes to whoever owns the inbox then, and with
/// it what was being written.
#[tokio::test]
async fn an_heir_who_leaves_too_loses_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let ben = acme.person("Ben", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia, own", mia).await;
        acme.many(private, 1200, "words").await;
        let newest: i64 =
            sqlx::query_scalar("select max(id) from conversations").fetch_one(&world.app.pool).await.unwrap();
        let mias = world.browser(acme.id, mia).await;
        let newest = ConversationId(newest);
        let draft = Composer::open(&mias, &format!("/conversations/{newest}?compose=reply")).await;
        let draft = draft.set("body", "Half a secret");
        draft.press(&mias, &format!("/conversations/{newest}/write"), ("do", "save")).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (to_ben, to_olga) = (ben.to_string(), acme.owner.to_string());
        for (person, form) in [
            (mia, [("inboxes", to_ben.as_str()), ("drafts", to_olga.as_str())]),
            (ben, [("inboxes", to_olga.as_str()), ("drafts", "")]),
        ] {
            let removed = owner.post(&format!("/settings/people/{person}/remove"), &form).await;
            assert_eq!(removed.status, 303, "{}", removed.html);
        }
        world.work().await;
        let olgas = count(world, "select count(*) from conversations where audience = $1", acme.owner).await;
        assert_eq!(olgas, 1200);
        let page = owner.get(&format!("/conversations/{newest}?compose=reply")).await.page();
        assert!(page.contains("Half a secret"), "{page}");
    })
    .await;
}

/// An admin could else read any private inbox: remove its owner, take it over, and invite them again.
#[tokio::test]
async fn an_admin_hands_no_private_inbox_to_anybody_and_owners_are_told_what_became_of_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam", Role::Admin).await;
        let second = acme.person("Adam again", Role::Admin).await;
        let (mia, ben) = (acme.person("Mia", Role::Member).await, acme.person("Ben", Role::Member).await);
        let own = acme.private_mailbox("mia@acme.example", "Mia, own", mia).await;
        acme.mail(own, "doctor@clinic.example", "Your results", "The test was positive.").await;
        acme.private_mailbox("ben@acme.example", "Ben, own", ben).await;
        let (admin, owner) = (world.browser(acme.id, adam).await, world.browser(acme.id, acme.owner).await);
        let page = admin.get(&format!("/settings/people/{mia}/remove")).await.page();
        assert!(
            !page.contains(r#"name="inboxes""#) && page.contains("Only an owner can transfer it"),
            "{page}"
        );
        for heir in [adam, second, acme.owner] {
            let form = [("inboxes", &*heir.to_string()), ("scheduled", "keep")];
            let refused = admin.post(&format!("/settings/people/{mia}/remove"), &form).await;
            assert!(
                refused.status == 403 && refused.html.contains("Only an owner can hand"),
                "{}",
                refused.html
            );
        }
        assert_eq!(count(world, "select count(*) from mailboxes where owner_id = $1", mia).await, 1);
        // Without an heir the inbox is closed, and nobody reads it. Every owner is told.
        let removed = admin.post(&format!("/settings/people/{mia}/remove"), &[]).await;
        assert_eq!(removed.status, 303, "{}", removed.html);
        world.work().await;
        assert!(!admin.get("/search?q=positive").await.page().contains("Your results"));
        assert_eq!(count(world, "select count(*) from conversations where audience = $1", mia).await, 1);
        let told = "select count(*) from notices where kind = 'private-inboxes' and body like $1";
        let told = async |words: &str| -> i64 {
            sqlx::query_scalar(told).bind(format!("%{words}%")).fetch_one(&world.app.pool).await.unwrap()
        };
        assert_eq!(told("Adam removed Mia%They are closed").await, 1);
        // An owner decides who takes over, and is told as every other owner is.
        acme.person("Oscar", Role::Owner).await;
        let form = [("inboxes", &*adam.to_string())];
        let removed = owner.post(&format!("/settings/people/{ben}/remove"), &form).await;
        assert_eq!(removed.status, 303, "{}", removed.html);
        assert_eq!(told("removed Ben%Adam reads them from now on").await, 2);
    })
    .await;
}

/// A thousand conversations go over in batches.
#[tokio::test]
async fn many_conversations_are_handed_over_by_the_worker() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia, own", mia).await;
        acme.many(private, 1200, "words").await;
        world.sql(&format!("update conversations set assignee_type = 'user', assignee_id = {}", mia.0)).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let to = acme.owner.to_string();
        assert_eq!(
            owner.post(&format!("/settings/people/{mia}/remove"), &[("inboxes", &to)]).await.status,
            303
        );
        world.work().await;
        let left =
            count(world, "select count(*) from conversations where audience = $1 or assignee_id = $1", mia)
                .await;
        let taken = count(
            world,
            "select count(*) from conversations where audience = $1 and assignee_id = $1",
            acme.owner,
        )
        .await;
        assert_eq!((left, taken), (0, 1200));
    })
    .await;
}
