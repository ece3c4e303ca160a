//! `/reports`: five numbers that are what happened, for whoever may see it, and a table of them that no spreadsheet runs.

use chrono::TimeDelta;
use rookery_base::ids::PersonId;
use rookery_core::conversations::reports::weeks::{self, Figures};
use rookery_core::workspace::people::{self, Role};
use serde_json::json;

use rookery_world::{Mode, Workspace, story};

/// All inboxes of this person together, the oldest week first.
async fn numbers(acme: &Workspace<'_>, person: PersonId) -> Vec<Figures> {
    let mut conn = acme.world.app.connection().await.unwrap();
    let person = people::teammate(&mut conn, acme.id, person).await.unwrap();
    weeks::lately(&mut conn, &person, acme.world.now()).await.unwrap().together()
}

fn told(figures: &Figures) -> (i64, i64, i64, i64, Option<i64>) {
    (figures.arrived, figures.answered, figures.approved, figures.edited, figures.open)
}

#[tokio::test]
async fn numbers_are_counted_in_the_week_they_belong_to() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "draft,send", Mode::Live).await;
        let slow = acme.mail(help, "a@x.example", "Slow", "Hello").await;
        let quick = acme.mail(help, "b@x.example", "Quick", "Hello").await;
        let automatic = "Message-ID: <auto@x.example>\nFrom: c@x.example\nSubject: Out\nAuto-Submitted: auto-replied\n\nAway\n";
        acme.receives(help, automatic).await;
        world.work().await;
        assert_eq!(told(&numbers(&acme, acme.owner).await[11]), (2, 0, 0, 0, Some(3)));
        world.wait(TimeDelta::minutes(30));
        bot.sends(quick, "Soon").await;
        world.wait(TimeDelta::minutes(30));
        world.work().await;
        // A second answer is no first one.
        bot.sends(quick, "Once more").await;
        world.wait(TimeDelta::minutes(30));
        world.work().await;
        let this = numbers(&acme, acme.owner).await.pop().unwrap();
        assert_eq!((this.arrived, this.answered, this.open), (2, 1, Some(2)));
        let half = this.half().unwrap();
        assert!(half >= TimeDelta::minutes(30) && half <= TimeDelta::minutes(75), "{half}");
        // The next week.
        world.wait(TimeDelta::days(7));
        let draft = bot.drafts(slow, "A draft").await;
        acme.approve(acme.owner, &draft, None).await.unwrap();
        world.wait(TimeDelta::hours(1));
        world.work().await;
        let weeks = numbers(&acme, acme.owner).await;
        assert_eq!(told(&weeks[10]), (2, 1, 0, 0, Some(2)), "what was open when the week ended");
        assert_eq!(told(&weeks[11]), (0, 1, 1, 0, Some(1)));
        assert!(weeks[11].half().unwrap() >= TimeDelta::days(7));
        assert_eq!(weeks[9], Figures::default(), "nobody knows what was open before");
        // Weeks in which nothing happens keep what is open.
        world.wait(TimeDelta::days(14));
        world.work().await;
        let weeks = numbers(&acme, acme.owner).await;
        let open: Vec<Option<i64>> = weeks.iter().map(|week| week.open).collect();
        assert_eq!(open[7..], [None, Some(2), Some(1), Some(1), Some(1)]);
    })
    .await;
}

#[tokio::test]
async fn the_page_tells_each_number_and_how_it_is_counted_to_members_too() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let browser = world.browser(acme.id, mia).await;
        let empty = browser.get("/reports").await.page();
        assert!(empty.contains("no replies yet") && empty.contains("0</b> mails"), "{empty}");
        acme.mail(help, "a@x.example", "Hello", "Hello").await;
        world.work().await;
        let page = browser.get("/reports").await.page();
        assert!(page.contains("1</b> mail<") && page.contains("<b>1</b> now"), "{page}");
        assert_eq!(page.matches(r#"<svg class="chart""#).count(), 5);
        assert!(page.contains("Mails that arrived, by week: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1"), "{page}");
        assert!(!page.contains(" style=") && !page.contains("<script>"));
        let one = browser.get(&format!("/reports?inbox={help}")).await.page();
        assert!(one.contains(&format!(r#"value="{help}" selected"#)));
        for wrong in ["mbx_0000000000001", "nothing", "%22%3E"] {
            assert_eq!(browser.get(&format!("/reports?inbox={wrong}")).await.status, 404, "{wrong}");
        }
    })
    .await;
}

#[tokio::test]
async fn private_inboxes_and_the_sandbox_are_in_nobody_elses_numbers() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olgas = acme.private_mailbox("olga@acme.example", "-Olga, her own", acme.owner).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        acme.mail(help, "a@x.example", "Team", "Hello").await;
        for n in 0..3 {
            acme.mail(olgas, &format!("{n}@x.example"), "Private", "Hello").await;
        }
        let test = acme.key("sandbox", "write", Mode::Test).await;
        test.simulate(json!({ "from": "a@customer.test", "text": "Hello" })).await;
        world.work().await;
        assert_eq!(told(&numbers(&acme, mia).await[11]), (1, 0, 0, 0, Some(1)));
        assert_eq!(told(&numbers(&acme, acme.owner).await[11]), (4, 0, 0, 0, Some(4)));
        let browser = world.browser(acme.id, mia).await;
        assert_eq!(browser.get(&format!("/reports?inbox={olgas}")).await.status, 404);
        for path in ["/reports", "/reports/csv"] {
            assert!(!browser.get(path).await.page().contains("Olga"), "{path}");
        }
        let owner = world.browser(acme.id, acme.owner).await;
        let csv = owner.get("/reports/csv").await;
        assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
        assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"reports.csv\"");
        let csv = csv.page();
        assert!(csv.contains("2031-01-06,\"'-Olga, her own\",3,0,,,3,0,0\r\n"), "{csv}");
        assert!(csv.contains("2031-01-06,\"Help\",1,0,,,1,0,0\r\n"), "{csv}");
        assert_eq!(csv.lines().count(), 1 + 2 * 12);
    })
    .await;
}
