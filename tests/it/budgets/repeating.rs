//! What an Idempotency-Key costs: nothing without one, and with one a lock, a lookup and a row.

use rookery_base::clock::Clock;
use serde_json::json;

use rookery_world::load::buffers::Reader;
use rookery_world::{Mode, story_of_one_role};

#[tokio::test]
async fn a_write_without_a_key_asks_nothing_of_the_memory_and_one_with_a_key_three_things() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let (path, body) = (format!("/conversations/{id}/notes"), json!({ "body": "x" }));
        let write = async |name| reader.write(&key.text, &path, &body, name).await;
        write(None).await;
        let plain = write(None).await;
        assert!(plain.iter().all(|statement| !statement.text.contains("answered_requests")));
        write(Some("one")).await;
        let keyed = write(Some("two")).await;
        let more = keyed.len() - plain.len();
        let texts: Vec<&str> = keyed.iter().map(|statement| statement.text.as_str()).collect();
        assert_eq!(more, 3, "{texts:#?}");
        let buffers: i64 = keyed
            .iter()
            .filter(|statement| statement.text.contains("answered_requests"))
            .map(|statement| statement.buffers)
            .sum();
        println!("the lookup and the row: {buffers} buffers");
        assert!(buffers <= 30, "{buffers} buffers");
        // A repeat does nothing but look.
        let again = write(Some("two")).await;
        assert!(again.len() < plain.len() + 3 && again.iter().all(|one| !one.text.contains("insert into")));
    })
    .await;
}
