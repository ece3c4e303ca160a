//! What the pages about agents cost: the same for an agent that wrote twenty thousand messages in a year as for one that
//! wrote thirty.

use rookery_base::clock::Clock;
use rookery_core::workspace::agents::{days, list};
use rookery_core::workspace::people;
use rookery_product::replies::agents::activity;
use sqlx::PgConnection;

use rookery_world::load::buffers::Reader;
use rookery_world::{Mode, story_of_one_role};

const WROTE: i64 = 20_000;

#[tokio::test]
async fn the_pages_of_agents_keep_their_budgets_however_much_an_agent_wrote() {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let busy = acme.key("busy", "draft,send", Mode::Live).await;
        for number in 0..30 {
            let mail = acme.mail(help, &format!("c{number}@x.example"), "Case", "Hello").await;
            busy.drafts(mail, "A draft").await;
        }
        // A year before that, and ninety other agents.
        let (workspace, agent, owner) = (acme.id.0, busy.agent.0, acme.owner.0);
        world
            .sql(&format!(
                "insert into agent_messages select {workspace}, {agent}, 0, n, n, timestamptz '2030-01-06' + n * interval '1 minute'
                     from generate_series(1, {WROTE}) n;
                 insert into agents (workspace_id, id, name, maker_id, livemode, scopes, key_hash, key_hint, created_at)
                     select {workspace}, n, 'agent ' || n, {owner}, true, '{{read}}', sha256(n::text::bytea), 'rk_live_…', now()
                     from generate_series(1, 90) n;
                 insert into agent_days (workspace_id, agent_id, day, drafted, approved)
                     select {workspace}, id, date '2031-01-05' - n, 5, 3
                     from agents, generate_series(1, 365) n where workspace_id = {workspace};"
            ))
            .await;
        world.sql("vacuum (analyze)").await;
        let mut conn = world.app.connection().await.unwrap();
        let olga = people::teammate(&mut conn, acme.id, acme.owner).await.unwrap();
        drop(conn);
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut problems = Vec::new();
        let mut held = |name: &str, buffers: i64, budget: i64| {
            println!("{name}: {buffers} buffers of {budget}");
            if buffers > budget {
                problems.push(format!("{name}: {buffers} buffers, more than its budget of {budget}"));
            }
        };
        let newest = async |conn: &mut PgConnection| {
            activity::newest(conn, &olga, busy.agent).await.unwrap().len()
        };
        reader.explain(newest).await;
        let (shown, statements) = reader.explain(newest).await;
        assert_eq!(shown, 20);
        held("the newest twenty", statements.iter().map(|statement| statement.buffers).sum(), 600);
        let month = async |conn: &mut PgConnection| {
            days::lately(conn, acme.id, acme.owner, &[busy.agent], world.now()).await.unwrap().len()
        };
        reader.explain(month).await;
        let (shown, statements) = reader.explain(month).await;
        assert_eq!(shown, 30);
        held("a month of an agent", statements.iter().map(|statement| statement.buffers).sum(), 200);
        let all = async |conn: &mut PgConnection| list::all(conn, acme.id).await.unwrap().len();
        reader.explain(all).await;
        let (shown, statements) = reader.explain(all).await;
        assert_eq!(shown, 91);
        held("the list of agents", statements.iter().map(|statement| statement.buffers).sum(), 700);
        let asked = async |conn: &mut PgConnection| activity::consequences(conn, &olga, busy.agent).await.unwrap();
        reader.explain(asked).await;
        let (told, statements) = reader.explain(asked).await;
        assert_eq!((told.scheduled, told.assigned), (0, 0));
        held("what a revocation does", statements.iter().map(|statement| statement.buffers).sum(), 100);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    })
    .await;
}
