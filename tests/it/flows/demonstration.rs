//! `rookery demo` with the real program, while a node serves: the workspace it fills, and the ones it refuses.

use std::time::Duration;

use serde_json::Value;
use sqlx::{Connection, PgConnection};

use rookery_world::Reply;
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
    // Three wait for their undo window, two for a time that was chosen.
    assert_eq!(count("select count(*) from messages where status = 'scheduled'").await, 5);
    assert_eq!(count("select count(*) from messages where due_at > now() + interval '6 hours'").await, 2);
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
    // One request for documents is complete, one has a part, one is overdue.
    assert_eq!(count("select count(*) from document_requests where state = 'completed'").await, 1);
    let overdue = "select count(*) from document_requests where state = 'open' and due_date < current_date";
    assert_eq!(count(overdue).await, 1);
    let received = "select count(*) from document_request_items where state in ('received', 'accepted')";
    assert_eq!(count(received).await, 5);
    assert_eq!(count("select count(*) from secure_pages").await, 2);
    assert_eq!(count("select count(*) from secure_pages where first_read_at is null").await, 1);
    for (table, many) in [
        ("select count(*) from mailboxes where signature is not null", 3),
        ("select count(*) from saved_replies", 7),
        ("select count(*) from rules where is_on", 3),
        ("select count(*) from saved_views", 3),
        ("select count(*) from people where away_until > now()", 1),
        ("select count(*) from booking_types where state = 'active'", 4),
        ("select count(*) from bookings where state = 'cancelled'", 1),
    ] {
        assert_eq!(count(table).await, many, "{table}");
    }
    // Some are over, some are still to come, and one belongs to a conversation.
    assert!(count("select count(*) from bookings where state = 'booked' and ends_at < now()").await >= 3);
    assert!(count("select count(*) from bookings where state = 'booked' and starts_at > now()").await >= 5);
    assert_eq!(count("select count(*) from bookings where conversation_id is not null").await, 1);
    // The node reads what came, so the library has sums and days to narrow by.
    let read = "select count(*) from documents where fields ->> 'amount' is not null and fields ->> 'date' is not null";
    let sum = "select count(*) from documents where fields ->> 'vendor' = 'Northlight Lifts Ltd'
                and (fields ->> 'amount')::numeric = 1368";
    let mut waited = 0;
    while count(read).await < 6 || count(sum).await < 1 {
        waited += 1;
        assert!(waited < 600, "the documents were not read within a minute");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let found = |reply: Reply, words: &str| assert!(reply.text.contains(words), "{words}: {}", reply.text);
    found(site.get(&node, "/api/v1/conversations?limit=10", &key).await, "Kastanienallee");
    found(site.get(&node, "/api/v1/documents?kind=invoice&limit=50", &key).await, "Northlight Lifts Ltd");
    found(site.get(&node, "/api/v1/booking-types", &key).await, "Key handover");
    found(site.get(&node, "/api/v1/bookings?limit=50", &key).await, "hostUserId");

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
