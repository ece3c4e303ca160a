//! What nodes have in hand when a workspace is about to move: it is written down in the old cell before that closes, and is not
//! done a second time in the new one. Files stay, whoever looks through them meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use futures::TryStreamExt;
use rookery::worker::sweep::sweep;
use rookery_core::events::outbox;
use rookery_upkeep::moves::fence::{AGAIN_IS_THE_SAME, IN_HAND};
use serde_json::json;
use sqlx::AssertSqlSafe;

use super::fleet::Fleet;
use rookery_world::site::until;
use rookery_world::webhooks::local_story;
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::{Mode, story};

#[tokio::test]
async fn everything_that_is_claimed_is_waited_for_or_is_the_same_again() {
    story(async |world| {
        let claimed: BTreeSet<String> = sqlx::query_scalar(
            "select distinct relname::text from pg_attribute join pg_class c on c.oid = attrelid
             where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
               and attname ~ '(^|_)(claim|leased_until)$'",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
        .into_iter()
        .collect();
        let known = IN_HAND.iter().map(|claims| claims.table).chain(AGAIN_IS_THE_SAME.iter().copied());
        assert_eq!(claimed, known.map(str::to_owned).collect());
    })
    .await;
}

#[tokio::test]
async fn what_came_of_a_webhook_is_written_while_nobody_claims_any_more() {
    local_story(async |world| {
        let acme = world.workspace("Acme").await;
        let receiver = Receiver::start().await;
        receiver.answers_with(Answering { after: Duration::from_millis(300), ..Answering::with(200) });
        acme.webhook(&receiver.url, Mode::Test).await;
        acme.happens_in_sandbox().await;
        let fence = async {
            while receiver.count() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            world.sql("update workspaces set fenced_at = 'infinity'").await;
        };
        let ((), ()) = futures::join!(world.work(), fence);
        let left: (i64, i64, i64) = sqlx::query_as(
            "select (select count(*) from deliveries), (select count(*) from delivery_log where state = 'delivered'),
                    (select count(*) from webhook_lanes where leased_until is not null)",
        )
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(left, (0, 1, 0), "it is in the log, and its lane is free");
        acme.happens_in_sandbox().await;
        world.work().await;
        assert_eq!(receiver.count(), 1, "nothing more is begun");
        let opens = "update workspaces set fenced_at = null";
        world.sql(&format!("{}; {opens}", outbox::written_anew(acme.id))).await;
        world.work().await;
        assert_eq!(receiver.count(), 2, "it goes on where it opens");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_waits_until_a_notice_in_hand_is_written_down() {
    let fleet = Fleet::new().await;
    let tenant = fleet.workspace("Acme");
    let from = fleet.lives_in(&tenant).await;
    let to = if from == "main" { "west" } else { "main" };
    let id = tenant.number();
    let notice = format!(
        "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at, claim)
         values ({id}, 7, 'olga@acme.example', 'webhook-paused', 'A webhook', 'words', now(), now() + interval '60 s', 1)"
    );
    fleet.run_sql(&from, notice).await;
    let mut moving = fleet.begin(&["cells", "move", "--workspace", &tenant.id, "--to", to]);
    let old = fleet.pool(&from).await;
    until(&old, "select exists (select from workspaces where fenced_at = 'infinity')").await;
    // As a node does that has handed it over.
    let finish = format!(
        "begin; select enter_workspace({id}); update notices set due_at = null, sent_at = now() where id = 7; commit"
    );
    sqlx::raw_sql(AssertSqlSafe(finish)).execute(&old).await.expect("what is in hand is written down");
    let ended = tokio::task::block_in_place(|| moving.wait().unwrap());
    assert!(ended.success());
    let new = fleet.pool(to).await;
    let sent = "select sent_at is not null from notices where id = 7";
    assert!(sqlx::query_scalar::<_, bool>(sent).fetch_one(&new).await.unwrap(), "it came along as sent");
}

#[tokio::test]
async fn files_of_a_workspace_that_moves_away_while_they_are_swept_stay() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let file =
            json!({ "filename": "a.txt", "contentType": "text/plain", "content": "A".repeat(120_000) });
        key.simulate(json!({ "from": "ada@x.test", "text": "Hello", "attachments": [file] })).await;
        world.sql("update messages set attachments = '[]', raw_blob = null").await;
        let stored: String =
            sqlx::query_scalar("select blob from documents").fetch_one(&world.app.pool).await.unwrap();
        world.wait(TimeDelta::days(2));

        #[expect(clippy::disallowed_methods, reason = "the transaction is the test's own")]
        let mut moving = world.app.pool.begin().await.unwrap();
        sqlx::raw_sql("lock table documents in access exclusive mode").execute(&mut *moving).await.unwrap();
        let moves = async {
            until(
                &world.app.pool,
                "select exists (select from pg_stat_activity where datname = current_database()
                                  and wait_event_type = 'Lock' and query like '%documents%')",
            )
            .await;
            let gone = "delete from documents; update workspaces set fenced_at = clock_timestamp()";
            sqlx::raw_sql(gone).execute(&mut *moving).await.unwrap();
            moving.commit().await.unwrap();
        };
        let put_off = world.app.loops.backoff_of("sweep files");
        let (swept, ()) = futures::join!(sweep(&world.app, &put_off), moves);
        swept.expect("only this workspace is put off");
        let day = world.app.clock.now().date_naive() - TimeDelta::days(2);
        let left: Vec<String> = world.app.blobs.of_day(acme.id, day).try_collect().await.unwrap();
        assert!(left.contains(&stored), "the file lives on in the new cell: {left:?}");

        // Back again, what is nobody's goes and what is somebody's stays.
        world.sql("update workspaces set fenced_at = null").await;
        world.wait(TimeDelta::minutes(1));
        sweep(&world.app, &put_off).await.unwrap();
        let left: Vec<String> = world.app.blobs.of_day(acme.id, day).try_collect().await.unwrap();
        assert_eq!(left, [""; 0]);
    })
    .await;
}
