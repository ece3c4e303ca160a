//! More of what cannot be worked off than one look takes: what stands behind it is found all the same.

use chrono::TimeDelta;

use super::work::{snoozes, tells_a_webhook};
use super::{SETTINGS, refuse};
use rookery_world::story_with;

#[tokio::test]
async fn more_poisoned_rows_than_one_look_takes_hide_nothing() {
    story_with(SETTINGS, async |world| {
        let (bad, sound) = (world.workspace("Bad").await, world.workspace("Sound").await);
        snoozes(&bad, 101).await;
        snoozes(&sound, 1).await;
        world.wait(TimeDelta::hours(2));
        let refused = format!(
            "update on conversations for each row
             when (new.workspace_id = {} and old.snoozed_until is not null and new.snoozed_until is null)",
            bad.id.0
        );
        refuse(world, &refused).await;
        let _ = world.works().await;
        let left: Vec<(i64, i64)> = sqlx::query_as(
            "select workspace_id, count(*) from conversations where snoozed_until is not null group by 1",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(left, [(bad.id.0, 101)]);
        world.sql("drop function refuse cascade").await;
        world.wait(TimeDelta::hours(1));
    })
    .await;
}

#[tokio::test]
async fn more_fenced_workspaces_than_one_look_takes_hide_no_event_behind_them() {
    story_with(SETTINGS, async |world| {
        let (fenced, sound) = (world.workspace("Fenced").await, world.workspace("Sound").await);
        tells_a_webhook(&sound).await;
        assert!(fenced.id < sound.id, "they stand before it");
        // A hundred of them, each with an event that nobody may fan out.
        let many = format!(
            "insert into workspaces select (jsonb_populate_record(w, jsonb_build_object('id', w.id - n, 'fenced_at', now()))).*
             from workspaces w, generate_series(1, 100) n where w.id = {};
             insert into unfanned_events select id, 1, 'note.added', true, 0 from workspaces where fenced_at is not null",
            fenced.id.0
        );
        world.sql(&many).await;
        let _ = world.works().await;
        let left: i64 = sqlx::query_scalar("select count(*) from unfanned_events where workspace_id = $1")
            .bind(sound.id.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(left, 0, "its event was fanned out");
        world.sql("delete from unfanned_events; delete from workspaces where fenced_at is not null").await;
    })
    .await;
}
