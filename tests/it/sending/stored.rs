//! What is stored of reports when storing fails, when one cannot be stored, and when somebody is erased.

use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::{forget, told};
use serde_json::json;

use rookery_world::mail::services::{ANNA, Service, log, records, suppressed};
use rookery_world::story;

/// A database that is busy is our trouble: the service is asked to try again, and then nothing is missing.
#[tokio::test]
async fn what_could_not_be_stored_is_tried_again_by_the_service() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Mailgun).await;
        world
            .sql(
                "create function refuse() returns trigger language plpgsql as
                     $$ begin raise 'on purpose' using errcode = '55P03'; end $$;
                 create trigger refuse before insert on app_mail for each row execute function refuse()",
            )
            .await;
        let failed = service.tells("t1", &service.sent()).await;
        assert_eq!((failed.status, failed.header("retry-after").is_some()), (500, true));
        world.sql("drop trigger refuse on app_mail").await;
        assert_eq!(service.tells("t1", &service.sent()).await.json()["taken"], 1);
        assert_eq!(records(world).await, 1);
    })
    .await;
}

/// One that can never be stored is counted, or the service would send its whole request for days.
#[tokio::test]
async fn one_report_that_cannot_be_stored_keeps_no_other_out() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Sendgrid).await;
        world
            .sql(
                "create function refuse() returns trigger language plpgsql as $$ begin raise 'on purpose'; end $$;
                 create trigger refuse before insert on app_mail for each row
                     when (new.message_id like 'poison@%') execute function refuse()",
            )
            .await;
        let event = |number: usize| {
            let mut event = service.sent();
            let name = if number == 120 { "poison".to_owned() } else { format!("m{number}") };
            event["smtp-id"] = json!(format!("<{name}@shop.example>"));
            event["sg_event_id"] = json!(format!("e{number}"));
            event
        };
        let all: Vec<_> = (0..250).map(event).collect();
        let answer = service.tells("", &json!(all)).await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true, "taken": 249, "unread": 1 })));
        assert_eq!(records(world).await, 249);
        let again = service.tells("", &json!(all)).await;
        assert_eq!(again.json()["taken"], 0, "what was stored is known");
        world.sql("drop trigger refuse on app_mail").await;
        assert_eq!(service.tells("", &json!([event(120)])).await.json()["taken"], 1);
    })
    .await;
}

#[tokio::test]
async fn the_log_keeps_the_newest_and_forgets_whom_it_must() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Sendgrid).await;
        let event = |number: usize| {
            let mut event = service.sent();
            event["smtp-id"] = json!(format!("<m{number}@shop.example>"));
            event["sg_event_id"] = json!(format!("e{number}"));
            event["email"] = json!(format!("c{}@customer.example", number % 7));
            event
        };
        for part in [0..600, 600..1200] {
            let all: Vec<_> = part.map(event).collect();
            assert_eq!(service.tells("", &json!(all)).await.json()["taken"], 600);
        }
        let kept = log(world, service.id).await.len();
        assert_eq!(kept, 500);
        let mut conn = world.app.connection().await.unwrap();
        let shown = told::newest(&mut conn, acme.id, service.id).await.unwrap();
        assert_eq!((shown.len(), shown[0].message_id.as_str()), (100, "m1199@shop.example"));
        drop(conn);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        while forget::erase(&mut tx, "c3@customer.example").await.unwrap() {}
        tx.commit().await.unwrap();
        let rows = world.rows().await;
        for table in ["app_mail", "service_reports", "seen_reports"] {
            let named = rows[&format!("public.{table}")]
                .iter()
                .filter(|row| row.contains("c3@customer.example"))
                .count();
            assert_eq!(named, 0, "{table}");
        }
        // Reports that cannot come again are forgotten.
        world.wait(chrono::TimeDelta::days(3));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from seen_reports").await, 0);
    })
    .await;
}

/// What it reported before stays.
#[tokio::test]
async fn reports_of_a_disconnected_service_are_nobodys() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Resend).await;
        assert_eq!(service.tells("n1", &service.sent()).await.status, 200);
        rookery_product::app_mail::connect::disconnect(&world.app, acme.id, acme.owner, service.id)
            .await
            .unwrap();
        assert_eq!(service.tells("n2", &service.bounced()).await.status, 401);
        assert_eq!((records(world).await, suppressed(world).await.len()), (1, 0));
        assert_eq!(log(world, service.id).await, [format!("sent {ANNA} noted")]);
    })
    .await;
}
