//! When something we need is away: the sender is told to try again, and the retry is stored once.

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{mail, post};

#[tokio::test]
async fn a_blob_store_that_fails_is_a_451_and_the_retry_is_stored_once() {
    post(&[], async |post| {
        let folder = post.world.app.config.blobs.to_file_path().unwrap();
        let away = folder.with_extension("away");
        let raw = mail("anna@customer.example", "Parcel", "", &"Where is it? ".repeat(10_000));
        std::fs::rename(&folder, &away).unwrap();
        // A file where the folder was: nothing can be put into it.
        std::fs::write(&folder, "").unwrap();
        let send = async || {
            Client::greeted(post.smtp).await.mail("anna@customer.example", "help@acme.example", &raw).await
        };
        let answer = send().await;
        assert_eq!((answer.code, post.count().await), (451, 0), "{answer:?}");
        std::fs::remove_file(&folder).unwrap();
        std::fs::rename(&away, &folder).unwrap();
        assert_eq!((send().await.code, post.count().await), (250, 1));
        assert_eq!((send().await.code, post.count().await), (250, 1));
    })
    .await;
}

#[tokio::test]
async fn a_database_that_refuses_is_a_451_and_a_full_one_a_452() {
    post(&[], async |post| {
        let raw = mail("anna@customer.example", "Parcel", "", "Hello");
        let send = async || {
            Client::greeted(post.smtp).await.mail("anna@customer.example", "help@acme.example", &raw).await
        };
        for (code, state) in [(451, "57P01"), (452, "53100")] {
            let refuse = format!(
                "create or replace function refuse() returns trigger language plpgsql as $$
                 begin raise exception 'no' using errcode = '{state}'; end $$;
                 create or replace trigger refuse before insert on messages execute function refuse()"
            );
            post.world.sql(&refuse).await;
            let answer = send().await;
            assert_eq!((answer.code, post.count().await), (code, 0), "{answer:?}");
        }
        post.world.sql("drop trigger refuse on messages").await;
        assert_eq!((send().await.code, post.count().await), (250, 1));
    })
    .await;
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_a_451_at_the_recipient() {
    post(&[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        client.say("MAIL FROM:<anna@customer.example>").await;
        let held: Vec<_> = futures::future::join_all((0..5).map(|_| post.world.app.connection()))
            .await
            .into_iter()
            .collect();
        let answer = client.say("RCPT TO:<help@acme.example>").await;
        assert_eq!(answer.code, 451, "{answer:?}");
        drop(held);
        assert_eq!(client.say("RCPT TO:<help@acme.example>").await.code, 250);
    })
    .await;
}

#[tokio::test]
async fn a_service_that_stops_says_so() {
    post(&[], async |post| {
        let mut idle = Client::greeted(post.smtp).await;
        post.world.app.stop.tell();
        assert_eq!(idle.hear().await.code, 421);
    })
    .await;
}
