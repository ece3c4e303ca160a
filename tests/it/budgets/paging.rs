//! What a page far down a list costs: as much as the first one, give or take a tenth. All rows are alike here, so nothing but
//! the place can make a difference.

use std::collections::BTreeSet;

use rookery_base::clock::Clock;

use rookery_world::load::buffers::Reader;
use rookery_world::{Mode, story_of_one_role};

/// The page whose cost is compared with the first one's.
const FAR: usize = 400;
/// Of a page that takes only a few, a tenth is less than one: where rows happen to be stored.
const CHANCE: f64 = 3.0;

#[tokio::test]
async fn page_400_costs_what_page_1_costs() {
    far_pages(20_000).await;
}

/// `just page-million`
#[tokio::test]
#[ignore = "takes minutes: just page-million"]
async fn page_400_of_a_million_costs_what_page_1_costs() {
    far_pages(1_000_000).await;
}

async fn far_pages(many: usize) {
    story_of_one_role(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await.text;
        let (workspace, now) = (acme.id.0, world.now().to_rfc3339());
        world
            .sql(&format!(
                "set session_replication_role = replica; -- nothing is counted
                 insert into conversations (workspace_id, id, mailbox_id, audience, subject, status, announced_turn,
                     created_at, last_message_at)
                 select {workspace}, n, {}, 0, 'Case ' || n, 'open', 'ours', at, at
                 from generate_series(1, {many}) n, lateral (select timestamptz '{now}' - n * interval '1 second' as at) time;
                 insert into documents (workspace_id, id, audience, conversation_id, filename, content_type, size, content_hash,
                     blob, title, fields, searched, pieces, created_at)
                 select {workspace}, n, 0, n, n || '.pdf', 'application/pdf', 1, decode(lpad(to_hex(n), 64, '0'), 'hex'), 'b' || n,
                     'Paper', '{{}}', 'paper', '{{}}', timestamptz '{now}' - n * interval '1 second'
                 from generate_series(1, {many}) n;
                 analyze conversations; analyze documents",
                help.0
            ))
            .await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for list in ["/conversations?limit=25", "/documents?limit=25"] {
            let (mut path, mut seen, mut costs) = (list.to_owned(), BTreeSet::new(), Vec::new());
            for page in 1..=FAR {
                let (items, next) = reader.page_of(&key, &path).await;
                for item in items.as_array().unwrap() {
                    assert!(seen.insert(item["id"].as_str().unwrap().to_owned()), "{item} is on two pages");
                }
                if [1, 2, FAR / 2, FAR].contains(&page) {
                    let (_, statements) = reader.statements(&key, &path).await;
                    let counted = statements.iter().filter(|statement| !statement.authenticates());
                    costs.push((page, counted.map(|statement| statement.buffers).sum::<i64>()));
                }
                path = next.unwrap_or_else(|| panic!("{list} ends on page {page}"));
            }
            println!("{many} rows, {list}: buffers by page {costs:?}");
            let first = costs[0].1 as f64;
            for (page, buffers) in costs {
                let off = (buffers as f64 - first).abs();
                assert!(off <= (first / 10.0).max(CHANCE), "{list}: page {page} took {buffers} buffers, page 1 {first}");
            }
        }
        world.sql("set session_replication_role = replica; truncate documents, conversations cascade").await;
    })
    .await;
}
