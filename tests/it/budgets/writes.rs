//! What an entry on a timeline costs: its row and the number of the conversation, not every index of conversations. And
//! retention, which reads by such an index, looks at nothing that is not old.

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_core::conversations::keeping::retention::{self, Round};
use serde_json::json;

use rookery_world::load::buffers::Reader;
use rookery_world::verbs::erasing::keeps;
use rookery_world::{Mode, story_of_one_role};

/// A conversation that is found by its key and changed in its place, and a row with an index. One that were entered into
/// all indexes anew would take 25.
const ENTRY: i64 = 14;
/// Three that are old, of five thousand. All of them would take more than a thousand.
const RETENTION: i64 = 100;

#[tokio::test]
async fn an_entry_on_the_timeline_changes_its_conversation_in_place() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for what in ["notes", "tags"] {
            let mut cheapest = i64::MAX;
            for number in 0..6 {
                let body = match what {
                    "notes" => json!({ "body": "x" }),
                    _ => json!({ "add": [format!("t{number}")] }),
                };
                let path = format!("/conversations/{id}/{what}");
                let statements = reader.write(&key.text, &path, &body, None).await;
                let entry = statements.iter().find(|one| one.text.contains("last_item_at = "));
                cheapest = cheapest.min(entry.expect("an entry").buffers);
            }
            println!("{what}: {cheapest} buffers");
            assert!(cheapest <= ENTRY, "{what}: {cheapest} buffers");
        }
    })
    .await;
}

#[tokio::test]
async fn retention_reads_what_is_old_and_not_the_inbox() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        keeps(&acme, help, Some(30)).await;
        world.wait(TimeDelta::days(60));
        let now = world.now();
        world
            .sql(&format!(
                "insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn, created_at,
                     last_message_at, last_item_at)
                 select {}, n, {}, 0, 'Case', 'closed', 'done', moment, moment, moment
                 from (select n, '{now}'::timestamptz - case when n <= 3 then interval '40 days' else interval '1 day' end as moment
                       from generate_series(1, 5000) n) them;
                 analyze conversations",
                acme.id.0, help.0
            ))
            .await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(now));
        let fill = async |app: &App| {
            let mut tx = app.begin(acme.id).await.unwrap();
            retention::go_round(&mut tx, Round::INBOXES).await.unwrap();
        };
        // The first time a session reads what its functions are.
        reader.explain_in(fill).await;
        let ((), statements) = reader.explain_in(fill).await;
        let put = statements.iter().find(|one| one.text.contains("insert into trash")).expect("the deed");
        println!("retention: {} buffers", put.buffers);
        assert!(put.uses_index("conversations_by_mailbox"), "{}", put.text);
        assert!(put.buffers <= RETENTION, "{} buffers", put.buffers);
    })
    .await;
}
