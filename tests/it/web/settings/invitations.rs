//! Invitations to the team: by mail, once, for seven days, for the person they were sent to.

use chrono::TimeDelta;
use rookery_base::ids::InvitationId;
use rookery_core::workspace::people::Role;

use rookery_world::browser::Shown;
use rookery_world::pages::sign_in::{PASSWORD, by_password, mailed_to, with_cookie_of};
use rookery_world::story;

const INVITE: &str = "/settings/people/invite";

/// What a stranger sees of a link that is not good, to be compared.
fn told(shown: &Shown) -> (u16, String) {
    (shown.status, shown.html.clone())
}

#[tokio::test]
async fn who_is_invited_joins_by_one_form_and_is_signed_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let sent =
            owner.post(INVITE, &[("emails", " Lea@Example.com, sam@example.com"), ("role", "admin")]).await;
        assert!(sent.location().contains("done=invited"), "{}", sent.html);
        let page = owner.get("/settings/people").await.page();
        assert!(page.contains("lea@example.com") && page.contains("sam@example.com"), "{page}");

        let links = mailed_to(world, "lea@example.com").await;
        let [link] = &links[..] else { panic!("one mail: {links:?}") };
        let nobody = world.browser_with("");
        // Opening it does nothing: mail programs do so too.
        for _ in 0..3 {
            let page = nobody.get(link).await.page();
            assert_eq!(page.matches("<form").count(), 1);
            assert!(
                page.contains("Join Acme") && page.contains("Olga Owner invited lea@example.com as admin"),
                "{page}"
            );
        }
        let unnamed = nobody.post(link, &[("name", " "), ("password", "")]).await;
        assert_eq!(unnamed.status, 400, "and the invitation is still good");
        let short = nobody.post(link, &[("name", "Lea Brandt"), ("password", "short")]).await;
        assert!(short.status == 400 && short.html.contains("at least 12"), "{}", short.html);
        assert!(
            short.html.contains(r#"value="Lea Brandt""#) && !short.html.contains("short"),
            "what was typed, not the password"
        );

        let joined = nobody.post(link, &[("name", "Lea Brandt"), ("password", PASSWORD)]).await;
        assert_eq!((joined.status, joined.location()), (303, "/inbox"));
        let lea = with_cookie_of(world, &joined);
        assert!(lea.get("/settings/people").await.page().contains("Lea Brandt"), "an admin at once");
        assert_eq!(by_password(world, "lea@example.com", PASSWORD).await.status, 303);
        let page = owner.get("/settings/people").await.page();
        assert!(page.contains("Lea Brandt") && page.contains("sam@example.com"), "{page}");
        let told: Vec<(String, String)> =
            sqlx::query_as("select actor_name, did from audit_entries where did like 'person.%' order by n")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        let told: Vec<_> = told.iter().map(|(who, did)| (who.as_str(), did.as_str())).collect();
        let olga = ("Olga Owner", "person.invited");
        assert_eq!(told[..4], [("System", "person.added"), olga, olga, ("Lea Brandt", "person.joined")]);
    })
    .await;
}

/// A link that somebody guessed, one that was used, one that has ended, one that was withdrawn or sent anew, one whose
/// sender may not invite any more, one of a person who is there already, and one that was passed on to a colleague are all
/// the same page, and do nothing.
#[tokio::test]
async fn a_link_that_is_guessed_replayed_expired_or_passed_on_is_harmless_and_looks_like_any_other() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let globex = world.workspace("Globex").await;
        let adam = acme.person("Adam", Role::Admin).await;
        let mia = acme.person("Mia", Role::Member).await;
        let (owner, admin) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, adam).await);
        let nobody = world.browser_with("");
        let invite = async |browser: &rookery_world::browser::Browser<'_>, email: &str| {
            assert_eq!(browser.post(INVITE, &[("emails", email), ("role", "member")]).await.status, 303);
            mailed_to(world, email).await.pop().expect("a mail")
        };
        let form: &[(&str, &str)] = &[("name", "Eve"), ("password", PASSWORD)];
        let guessed = format!("/join/{}.{}", acme.id, "ab".repeat(32));
        let wanted = told(&nobody.get(&guessed).await);
        assert_eq!(wanted.0, 404);

        let used = invite(&owner, "used@example.com").await;
        assert_eq!(nobody.post(&used, &[("name", "Used"), ("password", "")]).await.status, 303);
        let withdrawn = invite(&owner, "withdrawn@example.com").await;
        let anew = invite(&owner, "anew@example.com").await;
        let demoted = invite(&admin, "demoted@example.com").await;
        let passed_on = invite(&owner, "passed-on@example.com").await;
        let there = invite(&owner, "mia2@example.com").await;
        let page = owner.get("/settings/people").await.page();
        let row = page.split("withdrawn@example.com").nth(1).expect("its row");
        let action =
            row.split(r#"action=""#).nth(1).and_then(|rest| rest.split('"').next()).expect("its form");
        assert!(owner.post(action, &[("do", "withdraw")]).await.location().contains("done=invitation-gone"));
        assert_ne!(invite(&owner, "anew@example.com").await, anew);
        world.sql("update people set role = 'member' where name = 'Adam'").await;
        world.sql("update people set email = 'mia2@example.com' where name = 'Mia'").await;
        let foreign = used.replace(&acme.id.to_string(), &globex.id.to_string());
        let cut = &passed_on[..passed_on.len() - 1];

        let mias = world.browser(acme.id, mia).await;
        let others = [&guessed, &used, &withdrawn, &anew, &demoted, &there, &foreign];
        for link in others.into_iter().map(String::as_str).chain([cut, "/join/nonsense"]) {
            assert_eq!(told(&nobody.get(link).await), wanted, "{link}");
            assert_eq!(told(&nobody.post(link, form).await), wanted, "{link}");
        }
        // Mia is signed in, so it is not she who was invited.
        for answer in [mias.get(&passed_on).await, mias.post(&passed_on, form).await] {
            assert_eq!(told(&answer), wanted, "passed on");
        }
        assert_eq!(mias.get("/inbox").await.status, 200, "she is still herself");
        assert_eq!(nobody.get(&passed_on).await.status, 200, "and it still waits for whom it was sent to");
        world.wait(TimeDelta::days(7));
        assert_eq!(told(&nobody.get(&passed_on).await), wanted, "ended");
        assert_eq!(told(&nobody.post(&passed_on, form).await), wanted, "ended");
        let eves: i64 = sqlx::query_scalar("select count(*) from people where name = 'Eve'")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(eves, 0);
    })
    .await;
}

/// Two clicks at the same moment, or a mail program that posts: one person.
#[tokio::test]
async fn a_link_used_twice_at_once_makes_one_person() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(INVITE, &[("emails", "lea@example.com"), ("role", "member")]).await;
        let link = mailed_to(world, "lea@example.com").await.pop().unwrap();
        let nobody = world.browser_with("");
        let tries = (0..8).map(|_| nobody.post(&link, &[("name", "Lea"), ("password", "")]));
        let mut answers: Vec<u16> =
            futures::future::join_all(tries).await.iter().map(|answer| answer.status).collect();
        answers.sort();
        assert_eq!(answers, [303, 404, 404, 404, 404, 404, 404, 404]);
    })
    .await;
}

/// The database has a hash and the waiting notice has a place for the link: who can only read them cannot join.
#[tokio::test]
async fn the_link_stands_nowhere_but_in_the_mail() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(INVITE, &[("emails", "lea@example.com"), ("role", "member")]).await;
        let before = format!("{:?}", world.rows().await);
        assert!(!before.contains("/join/"), "none is made yet");
        let link = mailed_to(world, "lea@example.com").await.pop().unwrap();
        let secret = link.rsplit('.').next().unwrap();
        assert!(!format!("{:?}", world.rows().await).contains(secret));
    })
    .await;
}

#[tokio::test]
async fn an_address_gets_few_invitations_and_wrong_ones_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let many = vec!["x@example.com"; 30]
            .iter()
            .enumerate()
            .map(|(n, x)| format!("{n}{x}"))
            .collect::<Vec<_>>()
            .join(" ");
        for (emails, said) in [
            ("", "Enter the address"),
            ("lea", "“lea” isn’t an email address"),
            ("ok@example.com <b>", "“&#60;b&#62;” isn’t an email address"),
            ("olga@rookery.example", "is on the team already"),
            (many.as_str(), "At most 20"),
        ] {
            let refused = owner.post(INVITE, &[("emails", emails), ("role", "member")]).await;
            assert_eq!(refused.status, 400, "{emails}");
            assert!(refused.html.contains(said), "{emails}: {}", refused.html);
        }
        let wrong = owner.post(INVITE, &[("emails", "lea@example.com"), ("role", "emperor")]).await;
        assert_eq!(wrong.status, 400);
        let mut answers = Vec::new();
        for _ in 0..8 {
            answers
                .push(owner.post(INVITE, &[("emails", "lea@example.com"), ("role", "member")]).await.status);
            world.wait(TimeDelta::seconds(5));
        }
        assert_eq!(answers, [303, 303, 303, 303, 303, 429, 429, 429]);
        let id: i64 =
            sqlx::query_scalar("select id from invitations").fetch_one(&world.app.pool).await.unwrap();
        let again = format!("/settings/people/invitations/{}", InvitationId(id));
        assert_eq!(owner.post(&again, &[("do", "send")]).await.status, 429, "one more by its row counts too");
        assert_eq!(mailed_to(world, "lea@example.com").await.len(), 5);
    })
    .await;
}
