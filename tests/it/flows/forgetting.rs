//! What has been done with does not stay for ever: notices that were sent, blocks of the rate limit that nobody holds.

use chrono::TimeDelta;

use rookery_world::{Mode, World, story};

async fn count(world: &World, what: &'static str) -> i64 {
    sqlx::query_scalar(what).fetch_one(&world.app.pool).await.unwrap()
}

#[tokio::test]
async fn notices_that_were_sent_are_deleted_after_thirty_days() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let moving = world.workspace("Moving").await;
        let now = world.now();
        let notices = |workspace: i64, from: i32, many: i32, sent: chrono::DateTime<chrono::Utc>| {
            format!(
                "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, sent_at)
                 select {workspace}, {from} + n, 'olga@rookery.example', 'webhook-off', 'Off', 'It is off.', '{sent}', '{sent}'
                 from generate_series(1, {many}) n"
            )
        };
        let (old, recent) = (now - TimeDelta::days(30), now - TimeDelta::days(29));
        world.sql(&notices(acme.id.0, 0, 2_500, old)).await;
        world.sql(&notices(acme.id.0, 10_000, 3, recent)).await;
        world.sql(&notices(moving.id.0, 0, 2, old)).await;
        world.sql(&format!("update workspaces set fenced_at = now() where id = {}", moving.id.0)).await;
        world.work().await;
        let left = "select count(*) from notices where sent_at is not null";
        assert_eq!(count(world, left).await, 5, "those of the last thirty days, and of a workspace that is being moved");
        world.sql(&format!("update workspaces set fenced_at = null where id = {}", moving.id.0)).await;
        world.work().await;
        assert_eq!(count(world, left).await, 3);
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(count(world, left).await, 0);
    })
    .await;
}

#[tokio::test]
async fn blocks_of_the_rate_limit_that_nobody_holds_are_deleted() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let ended = world.now() - TimeDelta::hours(2);
        world
            .sql(&format!(
                "insert into rate_blocks select w, s, b, 7, '{ended}' from generate_series(1, 50) w,
                     generate_series(1, 50) s, generate_series(0, 11) b"
            ))
            .await;
        key.listed("").await;
        world.work().await;
        let blocks = "select count(*) from rate_blocks";
        assert_eq!(count(world, blocks).await, 1, "the one that is held");
        key.listed("").await;
        world.wait(TimeDelta::hours(2));
        world.work().await;
        assert_eq!(count(world, blocks).await, 0);
        // Whoever comes again takes it anew.
        key.listed("").await;
        assert_eq!(count(world, blocks).await, 1);
    })
    .await;
}
