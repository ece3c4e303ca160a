//! Files that take their time: they keep no other workspace waiting, count against their link, and a file that is made for
//! it is refused at once.

use std::time::{Duration, Instant};

use rookery_base::ids::DocumentRequestId;
use rookery_base::limits::customers::Visits;
use rookery_base::limits::fair_seats::Sitter;
use serde_json::json;

use rookery_world::pages::customer::{asked, letter_of_one_part, pdf};
use rookery_world::story;

#[tokio::test]
async fn a_letter_that_names_a_part_twice_is_refused_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Letter" }])).await;
        let item = &ada.items().await[0];
        let began = Instant::now();
        let answer = ada.sends(item, &[("letter.docx", &letter_of_one_part())]).await;
        assert_eq!(answer.status, 422, "{}", answer.html);
        assert!(answer.html.contains("damaged"), "{}", answer.html);
        assert!(began.elapsed() < Duration::from_secs(8), "it was unpacked: {:?}", began.elapsed());
        ada.gives(item, "a sound one").await;
    })
    .await;
}

#[tokio::test]
async fn a_workspace_that_holds_its_seats_keeps_no_other_waiting() {
    story(async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let (_, _, ada) = asked(&acme, json!([{ "label": "Letter" }])).await;
        let item = &ada.items().await[0];
        let mut held = Vec::new();
        for link in 1..=8 {
            let sitter = Sitter::by_link(globex.id, link);
            let patience = Duration::from_millis(1);
            held.extend(world.app.customers.checks.take(sitter, patience).await);
        }
        let confined = &world.app.confined;
        let seats = [
            confined.seat(Sitter::by_workspace(globex.id)).await.unwrap(),
            confined.seat(Sitter::by_workspace(globex.id)).await.unwrap(),
        ];
        ada.gives(item, "taken meanwhile").await;
        drop((held, seats));
    })
    .await;
}

#[tokio::test]
async fn a_link_whose_files_were_late_waits_and_others_do_not() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Letter" }])).await;
        let item = &ada.items().await[0];
        let request: DocumentRequestId = ada.link.split('/').nth(3).unwrap().parse().unwrap();
        for _ in 0..2 {
            ada.gives(item, &format!("{}", world.now())).await;
            world.app.customers.count(Visits::LateFilesOfLink(request), world.now()).unwrap();
        }
        let answer = ada.sends(item, &[("a.pdf", &pdf("late"))]).await;
        assert_eq!(answer.status, 429, "{}", answer.html);
        assert_eq!(ada.opens(&ada.link).await.status, 200, "the page itself is there");
        world.wait(chrono::TimeDelta::minutes(15));
        ada.gives(item, "later").await;
    })
    .await;
}
