//! What is done with whole conversations is done with their secure messages: merging, erasing, deleting, new keys.

use chrono::TimeDelta;
use rookery::cli::reseal;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::ids::MessageId;
use rookery_base::random::Random;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::conversations::secure::words;

use super::{Desk, ROSA};
use rookery_world::canary::CANARY;
use rookery_world::{story, story_with};

#[tokio::test]
async fn after_its_conversation_became_part_of_another_the_page_opens_and_answers_as_before() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends("Your account ends with 4471.").await);
        rosa.gets_in().await;
        let other = desk.acme.mail(desk.help, &format!("Rosa <{ROSA}>"), "Again", "Hello?").await;
        let shown =
            desk.mia.post(&format!("/conversations/{other}/merge"), &[("with", &desk.id.to_string())]).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        assert!(rosa.opens().await.page().contains("4471"));
        assert_eq!(rosa.replies("one", "Thank you.", &[]).await.status, 303);
        assert!(rosa.opens().await.page().contains("Thank you."));
    })
    .await;
}

#[tokio::test]
async fn erasing_somebody_takes_their_secure_messages_pages_visits_codes_and_files() {
    story(async |world| {
        let desk = Desk::new(world).await;
        let rosa = desk.guest(&desk.sends(&format!("{CANARY} 4471")).await);
        rosa.gets_in().await;
        let file = format!("%PDF-1.4 {CANARY}");
        assert_eq!(rosa.replies("one", CANARY, &[("a.pdf", file.as_bytes())]).await.status, 303);
        let blobs =
            || world.files().into_iter().filter(|file| file.to_string_lossy().contains("/secure/")).count();
        assert_eq!(blobs(), 1);
        let fields = [("address", ROSA), ("confirm", ROSA), ("why", "She asked.")];
        let shown = desk.mia.post("/settings/data/erase", &fields).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        world.work().await;
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        for (table, query) in [
            ("messages", "select count(*) from messages where sealed is not null"),
            ("secure_pages", "select count(*) from secure_pages"),
            ("secure_files", "select count(*) from secure_files"),
            ("secure_visits", "select count(*) from secure_visits"),
            ("one_time_codes", "select count(*) from one_time_codes"),
        ] {
            assert_eq!(world.scalar(query).await, 0, "{table}");
        }
        assert_eq!(blobs(), 0);
        assert_eq!(rosa.opens().await.status, 404);
    })
    .await;
}

/// 32 times 1, and 32 times 2.
const OLD: &str = "old:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const NEW: &str = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

#[tokio::test]
async fn a_new_key_of_the_server_seals_one_row_anew_and_every_word_opens_with_it() {
    story_with(&[("SECRET_KEY", OLD)], async |world| {
        let desk = Desk::new(world).await;
        desk.sends("Your account ends with 4471.").await;
        let message = MessageId(world.scalar("select id from messages where sealed is not null").await);
        let mut conn = world.app.connection().await.unwrap();
        let new: KeyRing = NEW.parse().unwrap();
        assert!(words::open(&mut conn, &new, desk.acme.id, &[message]).await.is_err(), "not yet");
        let both =
            Config { secret_key: Some(format!("{NEW},{OLD}").parse().unwrap()), ..world.app.config.clone() };
        let both = App::new(both, Clock::set_to(world.now()), Random::seeded(8)).unwrap();
        reseal::reseal(&both).await.unwrap();
        let opened = words::open(&mut conn, &new, desk.acme.id, &[message]).await.unwrap();
        assert!(opened[&message].text.starts_with("Your account ends with 4471."));
    })
    .await;
}
