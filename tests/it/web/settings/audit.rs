//! The page of the audit log: what it shows to whom, its filters and pages, the CSV, and what it says of its chain.

use chrono::TimeDelta;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, ChainVerdict, Did, Subject, watch};
use rookery_core::workspace::people::Role;
use serde_json::json;

use rookery_world::{Mode, Workspace, story};

const PATH: &str = "/settings/audit";

async fn records(acme: &Workspace<'_>, by: &By, did: Did, name: &str) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    audit::record(&mut tx, by, did, Subject { id: &"x", name }, json!({ "scopes": ["read", "send"] }))
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

/// The numbers of the entries that a page shows.
fn numbers(page: &str) -> Vec<i64> {
    let cells = page.split("data-label=\"Entry\">").skip(1);
    cells.map(|cell| cell.split('<').next().unwrap().replace(',', "").parse().unwrap()).collect()
}

#[tokio::test]
async fn the_log_is_shown_newest_first_by_page_and_by_who_what_and_when() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let globex = world.workspace("Globex").await;
        records(&globex, &By::System, Did::KeyMade, "of another workspace").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let by = By::Person { id: mia, name: "Mia <b>".into() };
        for n in 0..60 {
            records(&acme, &by, Did::KeyMade, &format!("bot {n} <i>")).await;
        }
        world.wait(TimeDelta::days(3));
        records(&acme, &By::System, Did::KeyRevoked, "the last bot").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(PATH).await.page();
        let all: i64 = world.scalar("select max(n) from audit_entries").await;
        let first = numbers(&page);
        assert_eq!(first.len(), 50);
        assert!(first.windows(2).all(|pair| pair[0] == pair[1] + 1), "{first:?}");
        for told in [
            "Mia &#60;b&#62;",
            "Made the key <b dir=\"auto\">bot 59 &#60;i&#62;</b>",
            "scopes: read, send",
            "the last bot",
            "Rookery",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(!page.contains("of another workspace"));
        let earlier = page
            .split("rel=\"next\"")
            .next()
            .unwrap()
            .rsplit("href=\"")
            .next()
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        let second = owner.get(&earlier.replace("&#38;", "&")).await.page();
        let second = numbers(&second);
        assert_eq!(first.iter().chain(&second).count() as i64, all, "no entry twice, none missing");
        assert_eq!(second[0], first[49] - 1);

        let actor = format!("user:{mia}");
        assert_eq!(numbers(&owner.get(&format!("{PATH}?who={actor}")).await.page()).len(), 50);
        let keys = owner.get(&format!("{PATH}?who=system&what=keys")).await.page();
        assert_eq!(numbers(&keys), [all]);
        assert!(keys.contains("value=\"keys\" selected"), "{keys}");
        let day = world.now().format("%F").to_string();
        let today = owner.get(&format!("{PATH}?from={day}&to={day}")).await.page();
        assert!(numbers(&today).contains(&all) && !today.contains("bot 59"), "{today}");
        let none =
            owner.get(&format!("{PATH}?who=user:usr_nobody&what=nonsense&from=soon&before=x")).await.page();
        assert!(none.contains("No entry fits"), "{none}");
    })
    .await;
}

#[tokio::test]
async fn the_csv_has_all_that_fits_runs_nothing_in_a_spreadsheet_and_is_recorded() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for name in ["=HYPERLINK(\"http://evil.example\")", "+1", "-1", "@SUM(A1)", "plain, \"quoted\""] {
            records(&acme, &By::System, Did::KeyMade, name).await;
        }
        let owner = world.browser(acme.id, acme.owner).await;
        let answer = owner.post("/settings/audit/csv", &[("what", "keys")]).await;
        assert_eq!(answer.status, 200);
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/csv"));
        assert!(answer.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
        let lines: Vec<&str> = answer.html.lines().collect();
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[1].contains(r#","plain, ""quoted""","#), "{}", lines[1]);
        for (line, cell) in
            lines[2..].iter().zip([r#""'@SUM(A1)""#, r#""'-1""#, r#""'+1""#, r#""'=HYPERLINK("#])
        {
            assert!(line.contains(cell), "{line}");
        }
        let told: i64 = world.scalar("select count(*) from audit_entries where did = 'audit.exported'").await;
        assert_eq!(told, 1);
        let mia = acme.person("Mia", Role::Member).await;
        let member = world.browser(acme.id, mia).await;
        assert_eq!(member.post("/settings/audit/csv", &[]).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn the_page_tells_whether_the_chain_is_whole() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.key("bot", "read", Mode::Live).await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(PATH).await.page().contains("has not been checked yet"));
        assert_eq!(owner.post("/settings/audit/check", &[]).await.status, 303);
        assert!(owner.get(PATH).await.page().contains("Log verified"));
        world.sql("update audit_entries set subject_name = 'robot' where did = 'key.made'").await;
        assert!(owner.get(PATH).await.page().contains("Log verified"), "as far as was checked");
        world.wait(TimeDelta::hours(25));
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        let n: i64 = world.scalar("select n from audit_entries where did = 'key.made'").await;
        let page = owner.get(PATH).await.page();
        assert!(page.contains(&format!("The chain is broken at entry {n}")), "{page}");
        world.sql("update audit_entries set subject_name = 'bot' where did = 'key.made'").await;
        assert_eq!(owner.post("/settings/audit/check", &[]).await.status, 303);
        assert!(owner.get(PATH).await.page().contains("Log verified"));
    })
    .await;
}

/// Who sees only the database cannot point the end at an earlier entry, and what is older than a year goes without breaking
/// the chain.
#[tokio::test]
async fn a_cut_tail_is_found_and_a_year_later_the_chain_begins_at_a_signed_anchor() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let app = &world.app;
        let verified = async || {
            let keys = app.config.needs_secret_key().unwrap();
            audit::verify(&mut app.connection().await.unwrap(), keys, acme.id, None).await.unwrap()
        };
        for n in 0..5 {
            records(&acme, &By::System, Did::KeyMade, &format!("bot {n}")).await;
        }
        let all: i64 = world.scalar("select max(n) from audit_entries").await;
        world.sql("create table kept as select * from audit_entries; create table ends as select * from audit_heads").await;
        let cut = "delete from audit_entries where n > 3;
                   update audit_heads h set (n, mac) = (select n, mac from audit_entries e where e.n = 3 and e.workspace_id = h.workspace_id)";
        let anchored = "delete from audit_entries where n <= 3;
                        update audit_heads h set trimmed_n = 3, trimmed_mac = (select mac from kept where n = 3 and workspace_id = h.workspace_id)";
        for change in [cut, &format!("{cut}; update audit_heads set signed = null"), anchored] {
            world.sql(change).await;
            assert!(matches!(verified().await, ChainVerdict::Broken { .. }), "{change}");
            world.sql("delete from audit_entries; insert into audit_entries select * from kept;
                       delete from audit_heads; insert into audit_heads select * from ends").await;
            assert_eq!(verified().await, ChainVerdict::Sound(all));
        }
        world.sql("drop table kept; drop table ends").await;

        world.wait(TimeDelta::days(200));
        records(&acme, &By::System, Did::KeyMade, "half a year later").await;
        world.wait(TimeDelta::days(200));
        watch::work_off(app, &app.loops.backoff_of(watch::LOOP)).await.unwrap();
        let (oldest, newest): (i64, i64) = sqlx::query_as("select min(n), max(n) from audit_entries").fetch_one(&app.pool).await.unwrap();
        assert_eq!((oldest, newest), (all + 1, all + 1), "what has had its year is gone");
        assert_eq!(verified().await, ChainVerdict::Sound(all + 1));
        records(&acme, &By::System, Did::KeyMade, "and on").await;
        assert_eq!(verified().await, ChainVerdict::Sound(all + 2));
        world.sql("update audit_heads set trimmed_n = trimmed_n + 1").await;
        assert!(matches!(verified().await, ChainVerdict::Broken { .. }));
    })
    .await;
}
