//! Rules at work: on mail alone and on many at once, one after the other, in chains that end, and around what is broken.

use chrono::TimeDelta;
use rookery_base::ids::MailboxId;
use rookery_core::rules::definition::{Action, Becomes, Condition, ConditionKind, Definition, Level};
use rookery_core::rules::{runs, store};
use rookery_core::workspace::access::{By, MemberId};
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::verbs::rules::{is, on_mail, on_tag, rule, subject, tag, tags, timeline};
use rookery_world::{Mode, story};

#[tokio::test]
async fn a_rule_tags_assigns_snoozes_and_tells_in_the_mails_own_transaction_and_names_itself() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let does = on_mail(
            vec![is(ConditionKind::Sender { like: "customer.example".into() }), subject("invoice")],
            vec![
                tag("Billing"),
                Action::Assign { to: MemberId::Person(mia) },
                Action::Snooze { hours: 24 },
                Action::Notify { person: mia },
            ],
        );
        rule(&acme, acme.owner, "VIP", does).await;
        let other = acme.mail(help, "anna@elsewhere.example", "Invoice", "Hello").await;
        let id = acme.mail(help, "anna@customer.example", "Your INVOICE 7", "Hello").await;
        assert_eq!(timeline(world, other).await, []);
        assert_eq!(tags(world, id).await, ["Billing"]);
        let told = timeline(world, id).await;
        let events: Vec<_> = told.iter().map(|(actor, event, _)| (actor.as_str(), event.as_str())).collect();
        let by = "Rule “VIP”";
        assert_eq!(events, [(by, "tags"), (by, "assigned"), (by, "snoozed"), (by, "notified")]);
        assert_eq!(told[0].2, json!({ "added": ["Billing"], "removed": [] }));
        assert_eq!(told[1].2["to"]["name"], "Mia Member");
        // Everything has the time of the mail.
        let moments: i64 = sqlx::query_scalar(
            "select count(distinct at) from (select at from messages where conversation_id = $1
             union all select at from timeline_events where conversation_id = $1) moments",
        )
        .bind(id.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(moments, 1);
        let assigned = world.events("conversation.assigned").await;
        assert_eq!(assigned.len(), 1);
        assert_eq!(
            assigned[0]["data"]["assigned_by"],
            json!({ "type": "system", "id": null, "name": "System" })
        );
        let notices = world.browser(acme.id, mia).await.get("/notices").await.page();
        assert!(notices.contains("Rule “VIP” wants you to see this"), "{notices}");
        let page = world.browser(acme.id, acme.owner).await.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Rule “VIP”") && page.contains("Billing"), "{page}");
        world.wait(TimeDelta::hours(25));
        world.work().await;
        let view: String = sqlx::query_scalar("select view from conversations where id = $1")
            .bind(id.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(view, "open", "the snooze ran out");
    })
    .await;
}

#[tokio::test]
async fn rules_run_in_order_and_each_sees_what_the_one_before_did() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let status = |status| vec![Action::Status { status }];
        rule(&acme, acme.owner, "Close", on_mail(vec![], status(Becomes::Closed))).await;
        let sleepy = on_mail(vec![], vec![Action::Snooze { hours: 1 }, tag("after")]);
        rule(&acme, acme.owner, "Sleep", sleepy).await;
        rule(&acme, acme.owner, "Reopen", on_mail(vec![subject("urgent")], status(Becomes::Open))).await;
        let closed = acme.mail(help, "a@x.example", "Hello", "Hi").await;
        let open = acme.mail(help, "a@x.example", "Urgent", "Hi").await;
        let states: Vec<(String, bool)> =
            sqlx::query_as("select status, snoozed_until is null from conversations order by id")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(states, [("closed".to_owned(), true), ("open".to_owned(), true)]);
        // What is closed cannot be snoozed; the rest of that rule is done all the same.
        assert_eq!(
            (tags(world, closed).await, tags(world, open).await),
            (vec!["after".into()], vec!["after".into()])
        );
        let turns: Vec<String> = world
            .events("turn.changed")
            .await
            .iter()
            .map(|event| event["data"]["turn"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(turns, ["ours", "done", "ours", "done", "ours"]);
    })
    .await;
}

#[tokio::test]
async fn what_a_rule_sets_is_heard_by_others_once_and_nothing_goes_round() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let owner = acme.owner;
        rule(&acme, owner, "Begin", on_mail(vec![], vec![tag("one")])).await;
        // Round in a circle, and each also waits for its own tag.
        rule(&acme, owner, "Two", on_tag("ONE", vec![tag("two"), tag("one")])).await;
        rule(&acme, owner, "Back", on_tag("two", vec![tag("one"), tag("three")])).await;
        rule(&acme, owner, "Self", on_tag("three", vec![tag("three"), tag("four")])).await;
        rule(&acme, owner, "Too far", on_tag("four", vec![tag("five")])).await;
        let id = acme.mail(help, "a@x.example", "Hello", "Hi").await;
        assert_eq!(tags(world, id).await, ["one", "three", "two"], "a chain has an end");
        let by: Vec<String> = timeline(world, id).await.into_iter().map(|(actor, ..)| actor).collect();
        assert_eq!(by, ["Rule “Begin”", "Rule “Two”", "Rule “Back”"]);
        // A person's tag begins a chain of its own, through the API and on the page; taking it off begins none.
        let key = acme.key("bot", "write", Mode::Live).await;
        let path = format!("/conversations/{id}/tags");
        assert_eq!(key.post(&path, json!({ "remove": ["three"] })).await.status, 200);
        assert_eq!(tags(world, id).await, ["one", "two"]);
        assert_eq!(key.post(&path, json!({ "add": ["Three"] })).await.status, 200);
        assert_eq!(tags(world, id).await, ["five", "four", "one", "three", "two"]);
        let browser = world.browser(acme.id, owner).await;
        let fresh = acme.mail(help, "b@x.example", "Other", "Hi").await;
        let act = format!("/conversations/{fresh}/do");
        let shown = browser.post(&act, &[("act", "tag"), ("tag", "four")]).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        assert!(tags(world, fresh).await.contains(&"five".to_owned()), "{:?}", tags(world, fresh).await);
        let untouched: Vec<_> = timeline(world, id).await;
        assert_eq!(key.post(&path, json!({ "add": ["three"] })).await.status, 200);
        assert_eq!(timeline(world, id).await, untouched, "a tag that is there already is not set again");
    })
    .await;
}

#[tokio::test]
async fn conditions_are_about_sender_subject_words_inbox_risk_and_files() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let not = |test| Condition { is: false, test };
        let words = |word: &str| ConditionKind::Words { words: vec![word.into()] };
        for (name, condition) in [
            ("from-domain", is(ConditionKind::Sender { like: "customer.example".into() })),
            ("not-from-anna", not(ConditionKind::Sender { like: "anna@customer.example".into() })),
            ("words", is(words("broken"))),
            ("no-words", not(words("broken"))),
            ("in-sales", is(ConditionKind::Inbox { inbox: sales })),
            ("files", is(ConditionKind::Attachment)),
            ("risky", is(ConditionKind::Risk { at_least: Level::Some })),
            ("held", is(ConditionKind::Risk { at_least: Level::Held })),
        ] {
            rule(&acme, acme.owner, name, on_mail(vec![condition], vec![tag(name)])).await;
        }
        let first = acme.mail(help, "anna@customer.example", "Hello", "It is BROKEN").await;
        assert_eq!(tags(world, first).await, ["from-domain", "words"]);
        let second = acme.mail(sales, "bob@mail.customer.example", "Hello", "Fine").await;
        assert_eq!(tags(world, second).await, ["from-domain", "in-sales", "no-words", "not-from-anna"]);
        let raw = "Message-ID: <file@x.example>\nFrom: eve@x.example\nSubject: File\nMIME-Version: 1.0\n\
                   Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nHere\n\
                   --b\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment; filename=a.pdf\n\n%PDF-1\n--b--\n";
        let received = acme.receives(help, raw).await;
        let rookery_mail::incoming::delivery::Received::Stored(stored) = received else { panic!("{received:?}") };
        assert_eq!(tags(world, stored.conversation).await, ["files", "no-words", "not-from-anna"]);
        let scam = "Message-ID: <scam@x.example>\nFrom: \"Olga Owner\" <ceo@evil.example>\nSubject: Urgent wire transfer\n\n\
             I need you to buy gift cards now and send me the codes. Our bank details have changed, pay today.\n";
        let received = acme.receives(help, scam).await;
        let rookery_mail::incoming::delivery::Received::Stored(stored) = received else { panic!("{received:?}") };
        let (risk, held): (Option<String>, bool) =
            sqlx::query_as("select risk, held_at is not null from conversations where id = $1")
                .bind(stored.conversation.0)
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        let found = tags(world, stored.conversation).await;
        assert!(risk.is_some(), "the mail is a risk, or this proves nothing");
        assert!(found.contains(&"risky".to_owned()));
        assert_eq!(found.contains(&"held".to_owned()), held);
    })
    .await;
}

/// Nothing that is wrong with a rule keeps mail out.
#[tokio::test]
async fn a_rule_that_names_what_is_gone_is_passed_over_and_the_mail_comes_in() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let old = acme.mailbox("old@acme.example", "Old").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let bot = acme.key("bot", "write", Mode::Live).await;
        let assign = |to| on_mail(vec![], vec![tag("half"), Action::Assign { to }]);
        rule(&acme, acme.owner, "Left", assign(MemberId::Person(mia))).await;
        rule(&acme, acme.owner, "Revoked", assign(MemberId::Agent(bot.agent))).await;
        let told = on_mail(vec![], vec![Action::Notify { person: mia }]);
        rule(&acme, acme.owner, "Told", told).await;
        let not_old = Condition { is: false, test: ConditionKind::Inbox { inbox: old } };
        rule(&acme, acme.owner, "Closed inbox", on_mail(vec![not_old], vec![tag("half")])).await;
        let sound = rule(&acme, acme.owner, "Sound", on_mail(vec![], vec![tag("whole")])).await;
        world.sql("update people set removed_at = created_at where name = 'Mia Member'").await;
        world.sql("update mailboxes set closed_at = created_at where name = 'Old'").await;
        acme.revoke(&bot).await;
        // Written by hand, or by a newer version.
        world
            .sql("insert into rules select workspace_id, 7, 0, 'Strange', true, '{\"when\": 7}', maker_id, created_at, changed_at
                  from rules where name = 'Sound'")
            .await;
        let id = acme.mail(help, "a@x.example", "Hello", "Hi").await;
        assert_eq!(tags(world, id).await, ["whole"]);
        let page = world.browser(acme.id, acme.owner).await.get("/settings/rules").await.page();
        for sentence in [
            "Skipped: it assigns to somebody who has left the team, choose somebody else.",
            "Skipped: it assigns to an agent whose key was revoked, choose another.",
            "Skipped: it tells somebody who has left the team, choose somebody else.",
            "Skipped: it names an inbox that is closed, choose another or remove that condition.",
            "Skipped: it was written by a newer version, which alone can read it.",
        ] {
            assert!(page.contains(sentence), "{sentence}\n{page}");
        }
        assert_eq!(page.matches("Skipped").count(), 5);
        assert!(page.contains(&format!(r#"id="{sound}""#)));
        // A fault of ours in the middle of a rule: what it did is taken back, and the mail stays.
        world
            .sql("create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
                  create trigger fail before insert on rule_runs for each row execute function fail()")
            .await;
        let id = acme.mail(help, "a@x.example", "Again", "Hi").await;
        assert_eq!((tags(world, id).await, timeline(world, id).await), (vec![], vec![]));
        world.sql("drop trigger fail on rule_runs; drop function fail()").await;
    })
    .await;
}

#[tokio::test]
async fn mail_that_is_stored_together_is_ruled_as_if_it_came_alone() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let even = is(ConditionKind::Subject { words: (0..5).map(|n| format!("no {}.", 2 * n)).collect() });
        rule(&acme, acme.owner, "Even", on_mail(vec![even], vec![tag("even")])).await;
        rule(&acme, acme.owner, "Heard", on_tag("even", vec![tag("heard")])).await;
        let batcher = std::sync::Arc::new(rookery_mail::incoming::receive::batch::Batcher::default());
        let mailbox = rookery_core::workspace::mailboxes::live(
            &mut world.app.connection().await.unwrap(),
            acme.id,
            MailboxId(help.0),
        )
        .await
        .unwrap();
        let deliver = |n: usize| {
            let (batcher, app, mailbox) = (batcher.clone(), world.app.clone(), mailbox.clone());
            async move {
                let raw = format!(
                    "Message-ID: <n{n}@x.example>\r\nFrom: a@x.example\r\nSubject: no {n}.\r\n\r\nHello\r\n"
                );
                let raw = bytes::Bytes::from(raw.into_bytes());
                let mail = rookery_mail::incoming::receive::take_apart(&raw).await.unwrap().unwrap();
                let delivery = rookery_mail::incoming::delivery::Delivery::from_raw(
                    mailbox,
                    raw.to_vec(),
                    rookery_mail::incoming::authenticate::Dmarc::Unknown,
                );
                batcher.deliver(&app, acme.id, delivery, mail.into()).await.unwrap()
            }
        };
        futures::future::join_all((0..10).map(deliver)).await;
        let tagged: Vec<(String, i64)> = sqlx::query_as(
            "select subject, count(tag_id) from conversations c left join conversation_tags t on conversation_id = c.id
             group by subject order by subject",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(tagged.len(), 10);
        for (n, (subject, count)) in tagged.iter().enumerate() {
            assert_eq!(*count, if n % 2 == 0 { 2 } else { 0 }, "{subject}");
        }
    })
    .await;
}

/// At most so many rules act on a mail, whatever there are.
#[tokio::test]
async fn a_hundred_rules_that_all_match_do_bounded_work() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        for n in 0..100 {
            let does: Definition = on_mail(vec![], vec![tag(&format!("t{n:02}"))]);
            rule(&acme, acme.owner, &format!("Rule {n}"), does).await;
        }
        let id = acme.mail(help, "a@x.example", "Hello", "Hi").await;
        let tags = tags(world, id).await;
        assert_eq!((tags.len(), tags[0].as_str(), tags[19].as_str()), (20, "t00", "t19"));
        let one_more = world.browser(acme.id, acme.owner).await;
        let fields = [
            ("name", "One more"),
            ("when", "mail-arrives"),
            ("then", "tag"),
            ("then_value", "x"),
            ("do", "save"),
        ];
        let refused = one_more.post("/settings/rules/new", &fields).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("can be 100 at most, remove one first"), "{}", refused.html);
    })
    .await;
}

/// What the rules did stays, and the mail with it.
#[tokio::test]
async fn a_rule_that_is_removed_while_it_acts_takes_nothing_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let id = rule(&acme, acme.owner, "Tag", on_mail(vec![], vec![tag("one")])).await;
        let stays = rule(&acme, acme.owner, "Tag too", on_mail(vec![], vec![tag("two")])).await;
        let mut acting = world.app.begin(acme.id).await.unwrap();
        let mut removing = world.app.begin(acme.id).await.unwrap();
        store::remove(&mut removing, &By::System, id).await.unwrap();
        // It waits for the removal, and then knows of it.
        let noting = async {
            runs::note(&mut acting, &[id, stays], 0).await.expect("a rule that is gone stops nothing");
            acting.commit().await.unwrap();
        };
        let removed = async {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            removing.commit().await.unwrap();
        };
        futures::join!(noting, removed);
        let ran: Vec<i64> =
            sqlx::query_scalar("select rule_id from rule_runs").fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(ran, [stays.0]);
    })
    .await;
}

#[tokio::test]
async fn taking_a_tag_back_says_that_what_rules_did_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        rule(&acme, acme.owner, "Close", on_tag("spam", vec![tag("seen")])).await;
        let conversation = acme.mail(help, "a@x.example", "Hello", "Hello").await;
        let olga = world.browser(acme.id, acme.owner).await;
        for (name, said) in [("spam", "done=tag-undone"), ("plain", "done=undone")] {
            let picked = conversation.to_string();
            let tagged = olga
                .post("/bulk", &[("c", &picked), ("act", "tag"), ("tag", name), ("back", "/inbox")])
                .await;
            let job = tagged.location().split("of=").nth(1).unwrap().split('&').next().unwrap().to_owned();
            let undone = olga.post(&format!("/bulk/{job}/undo"), &[]).await;
            assert!(undone.location().contains(said), "{name}: {}", undone.location());
        }
    })
    .await;
}
