//! The page of data and erasure: what it counts, what it asks for before it erases, holds that refuse, days and trash.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;

use rookery_world::story;

const PATH: &str = "/settings/data";
const ADA: &str = "ada@customer.example";

/// proves: APP-12
#[tokio::test]
async fn a_contact_is_erased_after_a_look_and_the_address_typed_once_more() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let first = acme.mail(help, &format!("\"Ada <b>\" <{ADA}>"), "Secret subject", "Hello.").await;
        acme.note(first, "Olga", "A note.").await;
        acme.mail(own, ADA, "Private", "Hello.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("{PATH}?who=ADA%40customer.example")).await.page();
        assert!(page.contains("<dt>Conversations</dt><dd>1</dd>"), "what is private is not counted: {page}");
        assert!(
            page.contains("<dt>Notes</dt><dd>1</dd>") && page.contains("No hold covers this contact"),
            "{page}"
        );
        assert!(!page.contains("Secret subject"));
        let wrong = owner.get(&format!("{PATH}?who=nobody")).await;
        assert_eq!(wrong.status, 400);
        assert!(wrong.html.contains("must be a mail address"), "{}", wrong.html);

        let refused = owner
            .post("/settings/data/erase", &[("address", ADA), ("confirm", "ada@customer"), ("why", "")])
            .await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("is not the address above"), "{}", refused.html);
        assert_eq!(world.scalar("select count(*) from erasures").await, 0);
        let asked = [("address", ADA), ("confirm", " Ada@customer.example "), ("why", "They asked for it")];
        assert_eq!(owner.post("/settings/data/erase", &asked).await.status, 303);
        assert_eq!(owner.post("/settings/data/erase", &asked).await.status, 303, "twice is once");
        assert_eq!(world.scalar("select count(*) from erasures").await, 1);
        assert!(owner.get(&format!("{PATH}?who={ADA}")).await.page().contains("Being erased now"));
        world.work().await;
        let page = owner.get(PATH).await.page();
        assert!(
            page.contains("Finished")
                && page.contains("2 conversations")
                && page.contains("They asked for it"),
            "{page}"
        );
        assert!(!page.contains("ada@"), "{page}");
        assert_eq!(
            world.scalar("select count(*) from conversations where contact_email is not null").await,
            0
        );
        let shell = owner.get(&format!("/conversations/{first}")).await;
        assert_eq!(shell.status, 200, "a shell can be looked at: {}", shell.html);
    })
    .await;
}

#[tokio::test]
async fn a_hold_answers_409_until_it_is_ended_after_a_question() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let hidden = acme.mail(own, "bob@customer.example", "Private", "Hello.").await.to_string();
        let id = acme.mail(help, ADA, "Parcel", "Hello.").await.to_string();
        let owner = world.browser(acme.id, acme.owner).await;
        let asked = [("address", ADA), ("confirm", ADA), ("why", "")];
        let holds = "/settings/data/holds";
        for wrong in [
            [("name", ""), ("covers", "everything"), ("address", ""), ("conversation", "")],
            [("name", "Case"), ("covers", "contact"), ("address", "nobody"), ("conversation", "")],
            [("name", "Case"), ("covers", "conversation"), ("address", ""), ("conversation", &hidden)],
            [("name", "Case"), ("covers", "conversation"), ("address", ""), ("conversation", "cnv_0")],
        ] {
            assert_eq!(owner.post(holds, &wrong).await.status, 400, "{wrong:?}");
        }
        for covers in [
            [
                ("name", "Case <7>"),
                ("covers", "contact"),
                ("address", "ADA@customer.example"),
                ("conversation", ""),
            ],
            [("name", "Case <7>"), ("covers", "conversation"), ("address", ""), ("conversation", &id)],
            [("name", "Case <7>"), ("covers", "everything"), ("address", ""), ("conversation", "")],
        ] {
            assert_eq!(owner.post(holds, &covers).await.status, 303, "{covers:?}");
            let refused = owner.post("/settings/data/erase", &asked).await;
            assert_eq!(refused.status, 409, "{covers:?}: {}", refused.html);
            assert!(refused.html.contains("It’s on hold"), "{}", refused.html);
            assert!(owner.get(&format!("{PATH}?who={ADA}")).await.page().contains("Case &#60;7&#62;"));
            let page = owner.get(PATH).await.page();
            let end = page.split("href=\"/settings/data/holds/").nth(1).unwrap().split('"').next().unwrap();
            let end = format!("/settings/data/holds/{end}");
            assert!(owner.get(&end).await.page().contains("End the hold"));
            assert_eq!(
                owner.post("/settings/data/erase", &asked).await.status,
                409,
                "the question does nothing"
            );
            assert_eq!(owner.post(&end, &[]).await.status, 303);
            assert_eq!(owner.post(&end, &[]).await.status, 404);
        }
        assert_eq!(owner.post("/settings/data/erase", &asked).await.status, 303);
        let told: Vec<String> = sqlx::query_scalar(
            "select did || ' ' || subject_name || data from audit_entries where did like 'hold.%' order by n",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(told.len(), 6, "{told:?}");
        assert!(!told.concat().contains("ada") && !told.concat().contains("Case"), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn days_are_set_by_inbox_and_what_lies_in_the_trash_is_brought_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia's secret", mia).await;
        let id = acme.mail(help, ADA, "Old parcel", "Hello.").await;
        acme.set(id, "status = 'closed'").await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(
            !owner.get(PATH).await.page().contains("Mia's secret")
                && !owner.get(PATH).await.page().contains("Mia&#39;s secret")
        );
        let (field, theirs) = (format!("days-{help}"), format!("days-{own}"));
        let (help, own) = (help.to_string(), own.to_string());
        for (days, status) in [("0", 400), ("soon", 400), ("99999", 400), ("30", 303)] {
            let saved = owner.post("/settings/data/keep", &[("inbox", &help), (&field, days)]).await;
            assert_eq!(saved.status, status, "{days}: {}", saved.html);
        }
        assert_eq!(owner.post("/settings/data/keep", &[("inbox", &own), (&theirs, "5")]).await.status, 404);
        assert!(owner.get(PATH).await.page().contains("value=\"30\""));
        world.wait(TimeDelta::days(32));
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(PATH).await.page();
        assert!(page.contains("Old parcel") && page.contains("Bring back"), "{page}");
        assert_eq!(owner.post(&format!("/settings/data/trash/{id}/back"), &[]).await.status, 303);
        assert!(!owner.get(PATH).await.page().contains("Old parcel"));
        assert_eq!(world.scalar("select count(*) from conversations where status = 'open'").await, 1);
    })
    .await;
}

/// proves: APP-12
#[tokio::test]
async fn one_conversation_is_deleted_after_a_question_and_is_not_found_afterwards() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let hidden = acme.mail(own, ADA, "Private", "Hello.").await.to_string();
        let id = acme.mail(help, ADA, "Parcel <b>", "Hello.").await.to_string();
        let stays = acme.mail(help, ADA, "Stays", "Hello.").await.to_string();
        let owner = world.browser(acme.id, acme.owner).await;
        for wrong in [hidden.as_str(), "cnv_0", ""] {
            let refused = owner.get(&format!("/settings/data/conversation?id={wrong}")).await;
            assert_eq!(refused.status, 400, "{wrong}");
            assert!(refused.html.contains("none that you can see has this id"), "{}", refused.html);
        }
        assert_eq!(owner.post("/settings/data/conversation", &[("id", &hidden)]).await.status, 404);
        let question = owner.get(&format!("/settings/data/conversation?id={id}")).await.page();
        assert!(question.contains("Parcel &#60;b&#62;") && question.contains("1 message"), "{question}");
        let hold = [("name", "Case"), ("covers", "contact"), ("address", ADA), ("conversation", "")];
        assert_eq!(owner.post("/settings/data/holds", &hold).await.status, 303);
        assert_eq!(owner.post("/settings/data/conversation", &[("id", &id)]).await.status, 409);
        world.sql("update holds set ended_at = now()").await;
        assert_eq!(owner.post("/settings/data/conversation", &[("id", &id)]).await.status, 303);
        assert_eq!(owner.get(&format!("/conversations/{id}")).await.status, 404);
        assert_eq!(owner.get(&format!("/conversations/{stays}")).await.status, 200);
        assert_eq!(world.scalar("select count(*) from messages where text like '%Hello%'").await, 2);
        assert_eq!(
            world.scalar("select count(*) from audit_entries where did = 'erasure.conversation'").await,
            1
        );
    })
    .await;
}

/// Two admins save at the same time, each with the inboxes in another order: neither waits for the other for ever.
#[tokio::test]
async fn two_people_who_change_how_long_mail_is_kept_at_once_both_succeed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mut inboxes = Vec::new();
        for n in 0..8 {
            inboxes
                .push(acme.mailbox(&format!("n{n}@acme.example"), &format!("Inbox {n}")).await.to_string());
        }
        let adam = acme.person("Adam", Role::Admin).await;
        let browsers = [world.browser(acme.id, acme.owner).await, world.browser(acme.id, adam).await];
        for round in 1..6 {
            let saving = browsers.iter().enumerate().map(async |(who, browser)| {
                let mut order: Vec<&String> = inboxes.iter().collect();
                if who == 1 {
                    order.reverse();
                }
                let days = (round * 10 + who).to_string();
                let fields: Vec<(String, String)> = order
                    .iter()
                    .flat_map(|id| {
                        [("inbox".to_owned(), (*id).clone()), (format!("days-{id}"), days.clone())]
                    })
                    .collect();
                let fields: Vec<(&str, &str)> =
                    fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                browser.post("/settings/data/keep", &fields).await.status
            });
            assert_eq!(futures::future::join_all(saving).await, [303, 303]);
        }
        assert_eq!(
            world.scalar("select count(*) from audit_entries where did = 'retention.changed'").await,
            5 * 2 * 8
        );
    })
    .await;
}
