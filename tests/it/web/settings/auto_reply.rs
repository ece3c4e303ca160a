//! The automatic reply of an inbox in the browser: its words, its hours, and who may set it.

use chrono::TimeDelta;
use rookery_core::workspace::people::Role;

use rookery_world::story;

#[tokio::test]
async fn an_owner_writes_the_reply_and_its_hours() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (page, form) =
            (format!("/settings/inboxes/{help}"), format!("/settings/inboxes/{help}/auto-reply"));
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("Automatic reply") && shown.contains("In UTC time"), "{shown}");
        assert_eq!(shown.matches(r#"value="09:00""#).count(), 7, "{shown}");

        for (fields, says) in [
            (vec![("on", "on"), ("text", " ")], "The text is required, or turn the reply off."),
            (
                vec![("open-0", "on"), ("from-0", "9 am"), ("to-0", "17:00")],
                "Monday must have times such as 09:00 and 17:30.",
            ),
            (
                vec![("open-6", "on"), ("from-6", "18:00"), ("to-6", "09:00")],
                "Sunday must end after it begins",
            ),
        ] {
            let refused = owner.post(&form, &[&fields[..], &[("subject", "<i>Closed</i>")]].concat()).await;
            assert!(refused.status == 400 && refused.html.contains(says), "{says}: {}", refused.html);
            assert!(refused.html.contains("&#60;i&#62;Closed"), "what was typed stays: {}", refused.html);
        }
        let long = "a".repeat(5001);
        assert_eq!(owner.post(&form, &[("text", long.as_str())]).await.status, 400);
        assert_eq!(world.scalar("select count(*) from auto_replies").await, 0);

        let saved = owner
            .post(
                &form,
                &[
                    ("on", "on"),
                    ("when", "outside"),
                    ("subject", "Closed\r\nBcc: eve@x.example"),
                    ("text", "We are <closed>.\r\n\r\nAcme"),
                    ("open-1", "on"),
                    ("from-1", "8:30"),
                    ("to-1", "24:00"),
                ],
            )
            .await;
        assert!(saved.location().ends_with("#auto-reply"), "{} {}", saved.status, saved.html);
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("We are &#60;closed&#62;.") && shown.contains(r#"value="08:30""#), "{shown}");
        assert!(shown.contains("you’re closed now"), "Monday is closed: {shown}");
        let kept: (String, String) = sqlx::query_as("select subject, hours::text from auto_replies")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(
            kept,
            ("Closed Bcc: eve@x.example".into(), "[null, [510, 1440], null, null, null, null, null]".into())
        );
        let told: String = sqlx::query_scalar(
            "select data from audit_entries where did = 'inbox.changed' order by n desc limit 1",
        )
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert!(
            told.contains(r#""autoReply":true"#) && !told.contains("closed"),
            "no words in the log: {told}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_period_is_in_the_workspaces_zone() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        world.sql("update workspaces set time_zone = 'Europe/Berlin'").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (page, form) =
            (format!("/settings/inboxes/{help}"), format!("/settings/inboxes/{help}/auto-reply"));
        let day = |days| (world.now() + TimeDelta::days(days)).format("%Y-%m-%d").to_string();
        let (from, until) = (format!("{}T08:00", day(10)), format!("{}T18:30", day(20)));
        let basics = [("on", "on"), ("when", "always"), ("text", "We are away.")];
        for (from, until, says) in [
            ("soon", until.as_str(), "“From” must be a day and a time."),
            (until.as_str(), from.as_str(), "“Until” must be after “From”."),
            (from.as_str(), "9990-01-01T00:00", "“Until” must be within five years."),
        ] {
            let refused =
                owner.post(&form, &[&basics[..], &[("from", from), ("until", until)]].concat()).await;
            assert!(refused.status == 400 && refused.html.contains(says), "{says}: {}", refused.html);
            assert!(refused.html.contains("We are away."), "what was typed stays");
        }
        let fields = [&basics[..], &[("from", from.as_str()), ("until", until.as_str())]].concat();
        assert_eq!(owner.post(&form, &fields).await.status, 303);
        let shown = owner.get(&page).await.page();
        assert!(
            shown.contains(&from) && shown.contains(&until) && shown.contains("In Europe/Berlin time"),
            "{shown}"
        );
        assert!(!shown.contains("This period is over"), "{shown}");
        // A session ends without use.
        world.wait(TimeDelta::days(21));
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(&page).await.page().contains("This period is over"));
        // Without one it is on all the time again.
        assert_eq!(owner.post(&form, &basics).await.status, 303);
        assert_eq!(
            world.scalar("select count(*) from auto_replies where is_on and ends_at is null").await,
            1
        );
    })
    .await;
}

#[tokio::test]
async fn nobody_sets_the_reply_of_an_inbox_that_is_not_theirs() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let max = acme.person("Max", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.example", "Theirs").await;
        let sandbox: i64 =
            sqlx::query_scalar("select id from mailboxes where kind = 'sandbox' and workspace_id = $1")
                .bind(acme.id.0)
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        let sandbox = rookery_base::ids::MailboxId(sandbox);
        let fields = [("on", "on"), ("text", "Away")];
        let owner = world.browser(acme.id, acme.owner).await;
        for inbox in [private, theirs, sandbox] {
            let refused = owner.post(&format!("/settings/inboxes/{inbox}/auto-reply"), &fields).await;
            assert_eq!(refused.status, 404, "{inbox}");
        }
        let member = world.browser(acme.id, max).await;
        assert_eq!(member.post(&format!("/settings/inboxes/{team}/auto-reply"), &fields).await.status, 404);
        assert_eq!(world.scalar("select count(*) from auto_replies").await, 0);
        let hers = world.browser(acme.id, mia).await;
        assert_eq!(hers.post(&format!("/settings/inboxes/{private}/auto-reply"), &fields).await.status, 303);
    })
    .await;
}
