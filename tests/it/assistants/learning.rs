//! Learning from corrections, and from nothing else: a topic of the workspace's own is said once it is known well, and what
//! was erased is forgotten.

use rookery_assistants::corrections::correct;
use rookery_assistants::{scores, settings};
use rookery_core::conversations::sorting::said::Field;
use serde_json::{Value, json};

use super::{desk, owner, told};
use rookery_base::ids::MailboxId;
use rookery_world::{Workspace, story};

const DEPOSIT: [&str; 4] = [
    "When do we get our deposit for the flat?",
    "The deposit was not paid out after we moved.",
    "Please settle the deposit of our old flat.",
    "Our deposit is still missing since we moved out.",
];
const KEYS: [&str; 4] = [
    "I lost a key to the front door.",
    "Could I have a third key for my mother?",
    "The key to the cellar does not turn.",
    "We need one more key for the letter box.",
];

async fn teaches(acme: &Workspace<'_>, inbox: MailboxId, each: usize) {
    let olga = owner(acme).await;
    for number in 0..each {
        for (texts, topic) in [(DEPOSIT, "deposit"), (KEYS, "keys")] {
            let from = format!("{topic}{number}@customer.example");
            let text = format!("{} Number {number}.", texts[number % 4]);
            let id = acme.mail(inbox, &from, "A question", &text).await;
            let mut tx = acme.world.app.begin(acme.id).await.unwrap();
            correct(&mut tx, &olga, &id.to_string(), Field::Topic, topic).await.unwrap();
            tx.commit().await.unwrap();
        }
    }
}

#[tokio::test]
async fn topics_of_its_own_are_said_once_people_have_taught_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (inbox, key) = desk(&acme).await;
        let olga = owner(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        settings::set_topics(&mut tx, &olga, "deposit: money kept\nkeys: keys of doors").await.unwrap();
        tx.commit().await.unwrap();
        teaches(&acme, inbox, 20).await;
        world.work().await;
        let early =
            acme.mail(inbox, "a@customer.example", "A question", "Where is the deposit of our flat?").await;
        world.work().await;
        assert_eq!(told(&key, early).await.0, Value::Null, "twenty are too few");
        teaches(&acme, inbox, 40).await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        let late =
            acme.mail(inbox, "b@customer.example", "A question", "Where is the deposit of our flat?").await;
        let order = acme.mail(inbox, "c@customer.example", "Order", "Where is my order? No tracking.").await;
        world.work().await;
        assert_eq!(told(&key, late).await.0, json!("deposit"));
        assert_eq!(told(&key, order).await.0, Value::Null, "the rules' topics are not this workspace's");
        let (version, known) =
            scores::known(&mut world.app.connection().await.unwrap(), acme.id).await.unwrap().unwrap();
        assert!(version >= 1 && known.iter().all(|score| score.sure_from.is_some()), "{known:?}");
        // The mail that taught it goes, and with it what was learned.
        world.sql("delete from conversations where topic_person is not null").await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        let after =
            acme.mail(inbox, "d@customer.example", "A question", "Where is the deposit of our flat?").await;
        world.work().await;
        assert_eq!(told(&key, after).await.0, Value::Null);
        assert_eq!(
            world.scalar("select count(*) from learned_topics").await,
            1,
            "and no older version knows it"
        );
    })
    .await;
}
