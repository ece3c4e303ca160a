//! What the reports page costs: the same after a million mails as after a thousand, because nothing is counted then.

use rookery_base::clock::Clock;
use rookery_core::conversations::reports::weeks;
use rookery_core::workspace::people;
use sqlx::PgConnection;

use rookery_world::load::buffers::Reader;
use rookery_world::story_of_one_role;

/// Ten inboxes, each with every row it can have: twelve thousand, of which many stand on one page.
const FULL: i64 = 7_000;

#[tokio::test]
async fn the_numbers_of_twelve_weeks_cost_the_same_however_much_mail_there_is() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        for n in 0..10 {
            acme.mailbox(&format!("in{n}@acme.example"), &format!("Inbox {n}")).await;
        }
        // More than a year of every count in every shard and every bucket, with numbers as of a million mails.
        world
            .sql(&format!(
                "insert into report_counts
                 select workspace_id, id, what, date '2031-01-06' - 7 * week, shard, 10000
                 from mailboxes, unnest(array['arrived', 'answered', 'approved', 'edited', 'open', 'wait']) what,
                      generate_series(0, 56) week, generate_series(0, 65) shard
                 where workspace_id = {} and kind = 'team'
                   and shard <= case what when 'open' then 0 when 'wait' then 65 else 7 end",
                acme.id.0
            ))
            .await;
        world.sql("vacuum (analyze)").await;
        let olga = people::teammate(&mut world.app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap();
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let read = async |conn: &mut PgConnection| weeks::lately(conn, &olga, world.now()).await.unwrap();
        reader.explain(read).await;
        let (report, statements) = reader.explain(read).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("twelve weeks of ten inboxes: {} statements, {buffers} buffers of {FULL}", statements.len());
        assert_eq!(report.together()[11].arrived, 10 * 8 * 10_000);
        assert!(statements.len() <= 3 && buffers <= FULL, "{buffers} buffers");
        world.sql("delete from report_counts").await;
    })
    .await;
}
