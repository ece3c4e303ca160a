//! What reads a number of rows that somebody else decides on: a day of an agent that asked a hundred thousand times, the page of
//! data with twelve thousand conversations in the trash, and workspaces that corrected topics.

use chrono::TimeDelta;
use rookery_assistants::scores;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::ids::lowest_at;
use rookery_core::workspace::agents::list;
use rookery_product::replies::agents::day::{self, WantedDay};
use sqlx::PgConnection;

use rookery_world::load::buffers::{Reader, Statement};
use rookery_world::{Mode, World, story_of_one_role};

fn dearest(statements: &[Statement]) -> (i64, &str) {
    let dearest = statements.iter().max_by_key(|statement| statement.buffers).expect("statements");
    (dearest.buffers, &dearest.text)
}

fn reader(world: &World) -> Reader {
    Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()))
}

/// All of them about conversations that nobody can see, so each is asked for and none is shown.
#[tokio::test]
async fn a_day_of_100_000_calls_is_read_in_parts() {
    const CALLS: i64 = 100_000;
    const BUDGET: i64 = 80_000;
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let busy = acme.key("busy", "read", Mode::Live).await;
        let (first, step) = (lowest_at(world.now() - TimeDelta::hours(8)), 8 * 3_600_000 / CALLS);
        world
            .sql(&format!(
                "insert into agent_calls
                     (workspace_id, agent_id, id, did, operation, status, conversation_id, document_id, times)
                 select {}, {}, {first} + ((n * {step}) << 22), 'read', 'get_conversation', 200, n, null, 1
                 from generate_series(1::bigint, {CALLS}) n;
                 analyze agent_calls",
                acme.id.0, busy.agent.0
            ))
            .await;
        let mut conn = world.app.connection().await.unwrap();
        let agent = list::one(&mut conn, acme.id, busy.agent).await.unwrap();
        drop(conn);
        let (reader, today) = (reader(world), world.now().date_naive());
        let part = async |before: Option<i64>| {
            let audiences = [0];
            let wanted = WantedDay {
                workspace: acme.id,
                agent: &agent,
                audiences: &audiences,
                own: true,
                day: today,
                before,
                most: 100,
            };
            let read = async |conn: &mut PgConnection| day::read(conn, &wanted, world.now()).await.unwrap();
            let (shown, statements) = reader.explain(read).await;
            let (buffers, text) = dearest(&statements);
            println!("a part of {} calls: {buffers} buffers of {BUDGET}", shown.calls.len());
            assert!(buffers <= BUDGET, "{buffers} buffers: {text}");
            shown
        };
        let shown = part(None).await;
        assert!(shown.is_cut && shown.calls.is_empty(), "{shown:?}");
        // The list goes on where it ended, and comes to its end.
        let (mut parts, mut next) = (1, shown.next);
        while let Some(place) = next {
            next = part(Some(place)).await.next;
            parts += 1;
        }
        assert_eq!(parts, CALLS / day::MOST_READ + 1);
        // Those that can be seen fill a page at once.
        world.sql("update agent_calls set conversation_id = null").await;
        let shown = part(None).await;
        assert_eq!((shown.calls.len(), shown.reads), (100, day::MOST_READ));
        assert_eq!(shown.next, shown.calls.last().map(|last| last.id));
    })
    .await;
}

#[tokio::test]
async fn the_page_of_data_costs_no_more_with_a_full_trash() {
    const TRASH: i64 = 12_000;
    const BUDGET: i64 = 30_000;
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        world.work().await;
        let (workspace, inbox, now) = (acme.id.0, support.0, world.now());
        world
            .sql(&format!(
                "set session_replication_role = replica;
                 update mailboxes set keep_days = 30, keep_from = '{now}' where id = {inbox};
                 insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn, created_at,
                         last_message_at, last_item_at)
                     select {workspace}, n, {inbox}, 0, 'Hi', 'closed', 'done', t, t, t
                     from generate_series(1, {TRASH}) n, (select '{now}'::timestamptz - interval '40 days' as t) long_ago;
                 insert into trash (workspace_id, conversation_id, mailbox_id, since, due_at)
                     select workspace_id, id, mailbox_id, '{now}', '{now}'::timestamptz + interval '6 days'
                     from conversations where status = 'closed';
                 set session_replication_role = origin;
                 analyze"
            ))
            .await;
        let token = world.browser(acme.id, acme.owner).await.token;
        let reader = reader(world);
        let page = async || reader.page(axum::http::Method::GET, &token, "/settings/data").await;
        page().await;
        let (status, statements) = page().await;
        assert_eq!(status, 200);
        let (buffers, text) = dearest(&statements);
        println!("the page with {TRASH} in the trash: {buffers} buffers of {BUDGET}");
        assert!(buffers <= BUDGET, "{buffers} buffers: {text}");
        let shown = world.browser(acme.id, acme.owner).await.get("/settings/data").await.page();
        assert!(shown.contains("10,000 or more conversations"), "{shown}");
        world.sql("delete from trash; delete from conversations where status = 'closed'").await;
    })
    .await;
}

/// Twenty workspaces are a statement.
#[tokio::test]
async fn who_is_to_be_learned_from_is_asked_of_a_few_workspaces_at_a_time() {
    const WORKSPACES: i64 = 200;
    const EACH: i64 = 49;
    const BUDGET: i64 = 2_000;
    story_of_one_role(async |world| {
        world
            .sql(&format!(
                "set session_replication_role = replica;
                 insert into corrections (workspace_id, message_id, field, after, person_id, at)
                     select w, n, 'topic', 'billing', 1, timestamptz '2031-01-05 00:00Z'
                     from generate_series(1, {WORKSPACES}) w, generate_series(1, {EACH}) n;
                 analyze corrections"
            ))
            .await;
        let reader = reader(world);
        let learn = async |app: &App| {
            scores::learn_due(app, &app.loops.backoff_of(scores::LOOP)).await.expect("a pass")
        };
        reader.explain_in(learn).await;
        let ((), statements) = reader.explain_in(learn).await;
        let (buffers, text) = dearest(&statements);
        println!("{} statements, {buffers} buffers of {BUDGET} at most", statements.len());
        assert_eq!(statements.len() as i64, WORKSPACES / 20 + 1);
        assert!(buffers <= BUDGET, "{buffers} buffers: {text}");
        world.sql("delete from corrections").await;
    })
    .await;
}
