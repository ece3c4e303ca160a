//! `GET /mailboxes`: the inboxes and their open counts.

use chrono::TimeDelta;
use rookery_base::ids::MailboxId;
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Key, Message, Mode, story, story_with};

async fn mailboxes(key: &Key<'_>) -> Value {
    let (status, list) = key.read("/mailboxes", "list_mailboxes", json!({})).await;
    assert_eq!(status, 200, "{list}");
    list
}

/// The count must be what the list shows.
async fn open(key: &Key<'_>, inbox: MailboxId) -> i64 {
    let list = mailboxes(key).await;
    let counted = list.as_array().unwrap().iter().find(|item| item["id"] == *inbox.to_string());
    let counted = counted.expect("it is listed")["open"].as_i64().expect("a whole number");
    let listed = key.listed(&format!("view=open&limit=100&mailbox={inbox}")).await;
    assert_eq!(counted, listed.len() as i64, "the count and the list differ");
    counted
}

/// proves: MBX-1, MBX-2, VIS-1, VIS-2, VIS-6
#[tokio::test]
async fn every_inbox_the_key_can_see_is_listed_by_name() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let adam = acme.person("Adam Admin", rookery_core::workspace::people::Role::Admin).await;
        let support = acme.mailbox("Help@Acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let adams = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        acme.mail(sales, "anna@customer.example", "Hm", "Hello").await;
        let inbox = |id: MailboxId, address: &str, name: &str, open: i64| {
            json!({ "id": id.to_string(), "address": address, "name": name, "open": open })
        };
        let team = [
            inbox(sales, "sales@acme.example", "Sales", 1),
            inbox(support, "help@acme.example", "Support", 0),
        ];
        let key = acme.key("bot", "read", Mode::Live).await;
        let olga = [vec![inbox(olgas, "olga@acme.example", "Olga", 0)], team.to_vec()].concat();
        assert_eq!(mailboxes(&key).await, json!(olga));
        let key = acme.key_of(adam, "adam-bot", "read,write,draft,send,record", Mode::Live).await;
        let adam = [vec![inbox(adams, "adam@acme.example", "Adam", 0)], team.to_vec()].concat();
        assert_eq!(mailboxes(&key).await, json!(adam));
    })
    .await;
}

#[tokio::test]
async fn the_list_of_inboxes_has_no_limit() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for number in 0..130 {
            acme.mailbox(&format!("inbox{number}@acme.example"), &format!("Inbox {number:03}")).await;
        }
        let key = acme.key("bot", "read", Mode::Live).await;
        let list = mailboxes(&key).await;
        let names: Vec<_> =
            list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 130);
        assert!(names.is_sorted());
        let limited = key.get("/mailboxes?limit=1").await;
        assert_eq!(limited.json(), list, "there is no such parameter");
    })
    .await;
}

/// proves: MBX-3, MBX-4
#[tokio::test]
async fn the_open_count_is_the_length_of_the_open_list_at_any_time() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(open(&key, support).await, 0);
        let first = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        let second = acme.mail(support, "anna@customer.example", "Hm", "Hello").await;
        acme.mail(private, "anna@customer.example", "Hm", "Hello").await;
        assert_eq!((open(&key, support).await, open(&key, private).await), (2, 1));
        // Folding what changed into the count changes nothing that can be seen.
        world.work().await;
        assert_eq!((open(&key, support).await, open(&key, private).await), (2, 1));
        acme.set(first, "status = 'closed'").await;
        assert_eq!(open(&key, support).await, 1);
        world.work().await;
        acme.set(second, "status = 'waiting', snoozed_until = '2031-01-06T12:00:00Z'").await;
        assert_eq!(open(&key, support).await, 0);
        world.wait(TimeDelta::hours(3));
        assert_eq!(open(&key, support).await, 1, "a snooze that has run out is open");
        world.work().await;
        assert_eq!(open(&key, support).await, 1);
        let ours = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(first, ours).await;
        let answer = "From: anna@customer.example\nIn-Reply-To: <ours@acme.example>\n\nOne more thing\n";
        acme.receives(support, answer).await;
        assert_eq!(open(&key, support).await, 2, "a reply reopens what was closed");
    })
    .await;
}
