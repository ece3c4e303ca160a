//! `rookery demo` with the real program, while a node serves: the workspace it fills, and the ones it refuses.

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use rookery_world::site::{Site, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demonstration_fills_a_live_workspace_once_and_no_mail_of_it_leaves() {
    let site = Site::migrated().await;
    let (workspace, _) = site.workspace();
    // A node that works meanwhile must not find the past due. There is no relay: what it had to hand over would wait.
    let node = site.serve("one", &[]).await;
    let output = site.run(&["demo", "--workspace", &workspace, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let filled: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(filled["conversations"], 200);
    assert_eq!(filled["inboxes"].as_array().unwrap().len(), 3);
    let key = text(&filled["agents"][0], "key");

    let mut conn = PgConnection::connect(site.database.url()).await.unwrap();
    let mut count =
        async |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut conn).await.unwrap();
    assert_eq!(count("select count(*) from conversations where audience = 0").await, 200);
    assert_eq!(count("select count(*) from messages where from_email not like '%.test'").await, 0);
    assert!(count("select count(*) from messages where status = 'draft'").await >= 9);
    assert_eq!(count("select count(*) from messages where status = 'scheduled'").await, 3);
    assert_eq!(count("select count(*) from messages where status = 'sending'").await, 0);
    assert_eq!(count("select count(*) from messages where status = 'failed'").await, 1);
    assert!(count("select count(*) from conversations where snoozed_until > now()").await >= 5);
    assert!(count("select count(*) from conversations where held_at is not null").await >= 1);
    assert_eq!(count("select max(message_count)::bigint from conversations").await, 60);
    // What happened weeks ago is dated weeks ago.
    let fresh =
        "select count(*) from messages where status = 'sent' and sent_at > now() - interval '1 minute'";
    assert_eq!(count(fresh).await, 0);
    let old = "select count(*) from messages where at < now() - interval '14 days'";
    assert!(count(old).await > 50);
    let listed = site.get(&node, "/api/v1/conversations?limit=10", &key).await;
    assert!(listed.text.contains("Kastanienallee"), "{}", listed.text);

    let again = site.run(&["demo", "--workspace", &workspace]);
    assert_eq!(again.status.code(), Some(1));
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("has the demonstration already"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_with_mail_of_its_own_is_filled_only_when_one_says_so() {
    let site = Site::migrated().await;
    let (workspace, _) = site.workspace();
    let mailbox = site.inbox(&workspace, "help@acme.example", "Help");
    let mail = site.folder.join("real.eml");
    std::fs::write(&mail, "Message-ID: <1@x>\r\nFrom: ada@customer.example\r\nSubject: Hi\r\n\r\nHello\r\n")
        .unwrap();
    site.admin(&["import-mail", "--workspace", &workspace, "--mailbox", &mailbox, mail.to_str().unwrap()]);
    let refused = site.run(&["demo", "--workspace", &workspace]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--anyway"));
    let unknown = site.run(&["demo", "--workspace", "wsp_00000000000zz"]);
    assert_eq!(String::from_utf8(unknown.stderr).unwrap(), "rookery: No such workspace.\n");
    let filled = site.run(&["demo", "--workspace", &workspace, "--anyway", "--json"]);
    assert!(filled.status.success(), "{filled:?}");
}
