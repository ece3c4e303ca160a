//! How much a stranger, and a service itself, may take of the hook: who floods one connection waits, and nobody else does.

use chrono::TimeDelta;
use rookery_base::limits::hooks::{MOST_AT_ONCE, MOST_REFUSED};
use rookery_core::workspace::access::By;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::manage;

use rookery_world::mail::services::{Service, log, records};
use rookery_world::story;

#[tokio::test]
async fn who_floods_one_connection_with_what_is_not_signed_waits_and_others_do_not() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (flooded, other) =
            (Service::of(&acme, Provider::Postmark).await, Service::of(&acme, Provider::Postmark).await);
        for _ in 0..MOST_REFUSED {
            assert_eq!(flooded.posts(&flooded.path, &[], "{}").await.status, 401);
        }
        let waits = flooded.posts(&flooded.path, &[], "{}").await;
        assert_eq!(waits.status, 429);
        let seconds: u64 = waits.header("retry-after").expect("when to come back").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
        assert_eq!(log(world, flooded.id).await, ["none - refused"], "a flood writes one line a minute");
        assert_eq!(other.tells("", &other.sent()).await.status, 200, "services share their addresses");
        world.wait(TimeDelta::seconds(seconds as i64));
        assert_eq!(flooded.tells("", &flooded.sent()).await.status, 200);
        assert_eq!(records(world).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_connection_has_so_many_requests_at_once_and_another_has_its_own() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (busy, other) =
            (Service::of(&acme, Provider::Postmark).await, Service::of(&acme, Provider::Postmark).await);
        let mut turns: Vec<_> =
            (0..MOST_AT_ONCE).map(|_| world.app.hook_limit.turn(busy.id.0).unwrap()).collect();
        let waits = busy.tells("", &busy.sent()).await;
        assert_eq!((waits.status, waits.header("retry-after")), (429, Some("1")));
        assert_eq!(other.tells("", &other.sent()).await.status, 200);
        turns.pop();
        assert_eq!(busy.tells("", &busy.bounced()).await.status, 200);
    })
    .await;
}

/// Counted over all nodes, and only what is signed.
#[tokio::test]
async fn a_service_that_signs_too_much_in_a_minute_is_told_when_to_come_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Mailgun).await;
        let limit = world.app.config.told_mail_limit();
        let key = rookery_base::limits::rate::RateKey::ToldMail(acme.id, service.id);
        let mut conn = world.app.connection().await.unwrap();
        for _ in 0..limit.most {
            world.app.rate.take(&mut conn, key, limit, world.now()).await.unwrap().unwrap();
        }
        drop(conn);
        let waits = service.tells("t1", &service.sent()).await;
        assert_eq!((waits.status, records(world).await), (429, 0));
        assert!(waits.header("retry-after").is_some());
        world.wait(limit.window);
        assert_eq!(service.tells("t1", &service.sent()).await.json()["taken"], 1, "nothing was lost by it");
    })
    .await;
}

/// proves: APP-8
#[tokio::test]
async fn a_paused_connection_is_told_to_come_back_and_an_old_secret_is_good_for_a_day() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mut service = Service::of(&acme, Provider::Postmark).await;
        manage::pause(&world.app, acme.id, &By::System, service.id).await.unwrap();
        let turned_away = service.tells("", &service.sent()).await;
        assert_eq!((turned_away.status, turned_away.header("retry-after")), (503, Some("600")));
        assert_eq!(
            service.posts(&service.path, &[], "{}").await.status,
            401,
            "strangers learn nothing of it"
        );
        manage::resume(&world.app, acme.id, &By::System, service.id).await.unwrap();
        let new = manage::rotate(&world.app, acme.id, &By::System, service.id).await.unwrap();
        assert_eq!(service.tells("", &service.sent()).await.status, 200, "the old one");
        let old = std::mem::replace(&mut service.secret, new);
        assert_eq!(service.tells("", &service.bounced()).await.status, 200, "the new one");
        let new = std::mem::replace(&mut service.secret, old.clone());
        world.wait(TimeDelta::hours(24));
        assert_eq!(service.tells("", &service.sent()).await.status, 401, "a day later the old one is over");
        service.secret = new;
        assert_eq!(service.tells("", &service.sent()).await.status, 200);
        // Another rotation, and the old one is ended by hand.
        let old = service.secret.clone();
        service.secret = manage::rotate(&world.app, acme.id, &By::System, service.id).await.unwrap();
        manage::end_old_secret(&world.app, acme.id, &By::System, service.id).await.unwrap();
        assert_eq!(service.tells("", &service.sent()).await.status, 200);
        service.secret = old;
        assert_eq!(service.tells("", &service.sent()).await.status, 401);
        // None of them stands anywhere in the clear.
        let rows = world.rows().await;
        assert!(!rows.values().flatten().any(|row| row.contains(&service.secret)));
    })
    .await;
}
