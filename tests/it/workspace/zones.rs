//! A workspace's zone decides days and weeks, and nothing else: mail is stored whatever its name is, and whatever names
//! PostgreSQL knows.

use chrono::TimeDelta;
use futures::future::join_all;
use rookery_mail::incoming::delivery::Received;
use serde_json::json;

use rookery_world::{Mode, story};

/// What jiff knows and a newer or older PostgreSQL does not is the same to it as a name that nobody knows.
#[tokio::test]
async fn a_zone_that_postgresql_does_not_know_keeps_no_mail_out() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "write,draft,send", Mode::Live).await;
        world.sql("update workspaces set time_zone = 'Mars/Base'").await;
        let opened = acme.mail(help, "ada@x.example", "Hello", "Hello").await;
        let answer = "Message-ID: <two@x.example>\nFrom: ada@x.example\nTo: help@acme.example\nSubject: Re: Hello\n\nMore\n";
        assert!(matches!(acme.receives(help, answer).await, Received::Stored(_)));
        let raws: Vec<String> = (0..20)
            .map(|n| format!("Message-ID: <{n}@y.example>\nFrom: {n}@y.example\nTo: help@acme.example\nSubject: {n}\n\nHi\n"))
            .collect();
        let stored = join_all(raws.iter().map(|raw| acme.receives(help, raw))).await;
        assert!(stored.iter().all(|one| matches!(one, Received::Stored(_))), "{stored:?}");

        // An agent writes, a person approves, it leaves, and documents are asked for with a reminder.
        let draft = bot.drafts(opened, "A draft").await;
        acme.approve(acme.owner, &draft, None).await.unwrap();
        let asks = json!({ "documents": [{ "label": "Passport" }], "send": true });
        assert_eq!(bot.post(&format!("/conversations/{opened}/document-requests"), asks).await.status, 201);
        world.wait(TimeDelta::hours(1));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from messages where status = 'sent'").await, 2);
        assert_eq!(world.scalar("select count(*) from document_requests where remind_at is not null").await, 1);
        for _ in 0..3 {
            world.wait(TimeDelta::days(3));
            world.work().await;
        }
        assert_eq!(world.scalar("select reminders::bigint from document_requests").await, 3);
        let owner = world.browser(acme.id, acme.owner).await;
        for path in ["/reports", "/settings/agents", &format!("/settings/agents/{}", bot.agent)] {
            assert_eq!(owner.get(path).await.status, 200, "{path}");
        }
        assert_eq!(world.scalar("select sum(n)::bigint from report_counts where what = 'arrived'").await, 22);
    })
    .await;
}

#[tokio::test]
async fn a_week_begins_on_the_workspaces_own_monday() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        // Monday morning in UTC; in Honolulu it is Sunday still, in Auckland long Monday.
        for (zone, week) in [
            ("Pacific/Honolulu", "2030-12-30"),
            ("Pacific/Auckland", "2031-01-06"),
            ("Asia/Calcutta", "2031-01-06"),
        ] {
            world
                .sql(&format!("update workspaces set time_zone = '{zone}'; delete from report_counts"))
                .await;
            acme.mail(help, "ada@x.example", zone, "Hello").await;
            let weeks: Vec<String> =
                sqlx::query_scalar("select week::text from report_counts where what = 'arrived'")
                    .fetch_all(&world.app.pool)
                    .await
                    .unwrap();
            assert_eq!(weeks, [week], "{zone}");
        }
    })
    .await;
}
