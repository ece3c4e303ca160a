//! The page of the server's health: for owners, of the last look, and no more than they may know where others share the
//! server.

use chrono::TimeDelta;
use futures::future::join_all;
use rookery_core::workspace::people::Role;
use rookery_upkeep::doctor::kept;
use rookery_upkeep::doctor::row::{CheckRow, DoctorReport, right, wrong};

use rookery_world::mail::dns::Zone;
use rookery_world::story_with;

const PATH: &str = "/settings/health";
/// Nobody answers there, so that a look takes no time.
const NO_DNS: (&str, &str) = ("DNS", "127.0.0.1:1");

fn report(rows: Vec<CheckRow>) -> DoctorReport {
    DoctorReport { at: "2031-01-06T08:00:00.000Z".to_owned(), rows }
}

#[tokio::test]
async fn an_owner_sees_what_is_wrong_and_what_mends_it_and_nobody_else_does() {
    story_with(&[NO_DNS], async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(PATH).await.page().contains("No checks have run yet"));
        let disk = |judged| CheckRow::new("disk", "2 GB free", judged);
        kept::keep(&world.app, report(vec![disk(right("40 GB free"))])).await.unwrap();
        let page = owner.get(PATH).await.page();
        assert!(page.contains("All 1 checks passed") && page.contains("40 GB free"), "{page}");
        let full = wrong("7 MB <b>free</b>", "Make <i>room</i>: `df -h`");
        kept::keep(&world.app, report(vec![disk(full)])).await.unwrap();
        let page = owner.get(PATH).await.page();
        for told in [
            "1 of 1 checks failed",
            "7 MB &#60;b&#62;free",
            "Make &#60;i&#62;room",
            "<code id=\"disk-1\">df -h</code>",
            "disk was right and is not any more",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        for role in [Role::Admin, Role::Member] {
            let person = acme.person(&format!("Mia {role:?}"), role).await;
            let browser = world.browser(acme.id, person).await;
            assert_eq!(browser.get(PATH).await.status, 404, "{role:?}");
            assert_eq!(browser.post(PATH, &[]).await.status, 404, "{role:?}");
            assert!(!browser.get("/settings").await.page().contains(PATH), "{role:?} is not shown the way");
        }
        assert!(owner.get("/settings").await.page().contains(PATH));
    })
    .await;
}

#[tokio::test]
async fn where_others_share_the_server_its_rows_are_the_operators() {
    story_with(&[NO_DNS], async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let of = |workspace: String, domain: &str| CheckRow {
            workspace: Some(workspace),
            ..CheckRow::new(
                format!("dkim {domain}"),
                "our key",
                wrong("nothing", format!("add it to {domain}")),
            )
        };
        let rows = vec![
            CheckRow::new("relay", "set", wrong("relay.internal.example", "set ROOKERY_RELAY")),
            of(acme.id.to_string(), "acme.example"),
            of(globex.id.to_string(), "globex.example"),
        ];
        kept::keep(&world.app, report(Vec::new())).await.unwrap();
        kept::keep(&world.app, report(rows)).await.unwrap();
        let page = world.browser(acme.id, acme.owner).await.get(PATH).await.page();
        assert!(page.contains("dkim acme.example") && page.contains("add it to acme.example"), "{page}");
        for hidden in ["relay", "ROOKERY_RELAY", "globex"] {
            assert!(!page.contains(hidden), "{hidden}: {page}");
        }
        // Nor does asking for a look have the server looked at.
        world.wait(TimeDelta::hours(1));
        let before = kept::last(&world.app).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(owner.post(PATH, &[]).await.status, 303);
        assert_eq!(kept::last(&world.app).await, before);
        let page = owner.get(PATH).await.page();
        assert!(page.contains("You have no domain yet") && !page.contains("Database version"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn looks_that_are_asked_for_at_once_are_one() {
    let zone = Zone::serve(&[]).await;
    story_with(&[("DNS", &zone.address.to_string())], async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let looks = join_all((0..20).map(|_| owner.post(PATH, &[]))).await;
        assert!(looks.iter().all(|answer| answer.status == 303));
        let asked = zone.asked();
        owner.post(PATH, &[]).await;
        assert!(
            asked <= 3 * (zone.asked() - asked),
            "{asked} questions for twenty, {} for all",
            zone.asked()
        );
    })
    .await;
}

#[tokio::test]
async fn a_look_is_asked_for_and_kept() {
    story_with(&[NO_DNS], async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let answer = owner.post(PATH, &[]).await;
        assert_eq!(answer.status, 303);
        assert!(answer.location().starts_with(PATH), "{}", answer.location());
        let page = owner.get(PATH).await.page();
        assert!(page.contains("name-servers") && page.contains("no backups are made"), "{page}");
        assert!(page.contains("Database version"), "{page}");
    })
    .await;
}
