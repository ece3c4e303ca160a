//! What reads cost, in buffers, in a small workspace and in one six times its size: no list, filter, read or
//! count may grow with the workspace. `just bench-reads` asks the same of a million conversations.

#[path = "../../bench/buffers.rs"]
mod buffers;
#[path = "../../bench/due.rs"]
mod due;
#[path = "../../bench/load.rs"]
mod load;

use rookery::clock::Clock;
use rookery::conversations::index;
use rookery::ids::{ConversationId, MailboxId};
use sqlx::PgConnection;

use self::buffers::{Reader, reads};
use crate::world::{Message, Mode, Workspace, World, story_of_one_role};

const SMALL: usize = 2_000;
const LARGE: usize = 12_000;
/// How much more a read may cost in the large workspace.
const MOST_GROWTH: f64 = 1.5;
/// Tolerance in pages, for where rows happen to be stored.
const CHANCE: i64 = 40;

#[tokio::test]
async fn reads_keep_their_budgets_and_do_not_grow_with_the_workspace() {
    story_of_one_role(async |world| {
        let sizes = [("large", LARGE), ("small", SMALL)];
        let loaded = load::load(&world.app, &sizes, false).await;
        let [large, small] = loaded.try_into().expect("two workspaces");
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let mut problems = Vec::new();
        for (in_large, in_small) in reads(&large).iter().zip(reads(&small)) {
            let (many, few) =
                (reader.cost(&large.key, in_large).await, reader.cost(&small.key, &in_small).await);
            let (name, budget) = (in_large.name, in_large.budget);
            println!("{name}: {} rows, {} and {} buffers of {budget}", many.rows, few.buffers, many.buffers);
            if many.rows != few.rows || many.rows == 0 {
                problems.push(format!(
                    "{name}: {} and {} rows cannot be compared; give the loader more of them",
                    few.rows, many.rows
                ));
            }
            if many.buffers > budget {
                problems.push(format!("{name}: {} buffers, more than its budget of {budget}", many.buffers));
            }
            if many.buffers as f64 >= few.buffers as f64 * MOST_GROWTH && many.buffers - few.buffers > CHANCE {
                problems.push(format!(
                    "{name}: {} buffers with {SMALL} conversations, {} with {LARGE}: it grows with the workspace",
                    few.buffers, many.buffers
                ));
            }
        }
        assert!(problems.is_empty(), "reads cost too much:\n  {}", problems.join("\n  "));
    })
    .await;
}

/// `just bench-claims` asks the same with two million that are due later.
#[tokio::test]
async fn a_claim_costs_the_same_however_many_messages_are_due_later() {
    story_of_one_role(async |world| {
        due::load(&world.app, 40_000, 250).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::system());
        let claim = async |conn: &mut PgConnection| due::claim(conn, world.now()).await;
        reader.explain(claim).await;
        let (taken, statements) = reader.explain(claim).await;
        let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
        println!("a claim of {taken}: {buffers} buffers of {}", due::BUDGET);
        assert!(statements.iter().any(|statement| statement.uses_index("messages_due")));
        assert_eq!(taken, 100);
        assert!(buffers <= due::BUDGET, "{buffers} buffers");
    })
    .await;
}

/// A conversation that can be answered, in an inbox.
async fn conversation<'w>(world: &'w World, name: &str) -> (Workspace<'w>, MailboxId, ConversationId) {
    let acme = world.workspace(name).await;
    let support = acme.mailbox(&format!("help@{name}.example"), "Support").await;
    let conversation = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
    let ours = format!("ours@{name}.example");
    let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some(&ours) };
    acme.outbound(conversation, sent).await;
    world.work().await;
    (acme, support, conversation)
}

async fn answer(workspace: &Workspace<'_>, support: MailboxId, name: &str, number: usize, text: &str) {
    let raw = format!(
        "Message-ID: <answer{number}@customer.example>\nFrom: anna@customer.example\n\
         References: <ours@{name}.example>\n\nanswer{number} {text}\n"
    );
    workspace.receives(support, &raw).await;
}

#[tokio::test]
async fn indexing_a_mail_costs_the_same_however_many_came_before_it() {
    story_of_one_role(async |world| {
        let (acme, support, _) = conversation(world, "acme").await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        let text: String = (0..300).map(|word| format!("word{word} ")).collect();
        let mut number = 0;
        let mut indexing = async || {
            number += 1;
            answer(&acme, support, "acme", number, &text).await;
            let index = async |app: &rookery::app::App| {
                let mut tx = app.begin(acme.id).await.expect("a transaction");
                let indexed = index::index(&mut tx, index::OF_THE_WORKER).await.expect("it is indexed");
                tx.commit().await.expect("a commit");
                indexed.messages
            };
            let (messages, statements) = reader.explain_in(index).await;
            assert_eq!(messages, 1);
            statements.iter().map(|statement| statement.buffers).sum::<i64>()
        };
        // The pending list of the GIN index is flushed now and then, so the cheapest of a few runs is measured.
        let mut cheapest = async || {
            let mut least = i64::MAX;
            for _ in 0..5 {
                least = least.min(indexing().await);
            }
            least
        };
        let early = cheapest().await;
        for _ in 0..20 {
            cheapest().await;
        }
        let late = cheapest().await;
        println!("indexing a mail: {early} buffers of the first, {late} of the hundredth");
        assert!(late <= early + early / 2 + CHANCE, "{early} buffers early, {late} late");
    })
    .await;
}

#[tokio::test]
async fn a_search_for_words_that_stand_in_several_segments_keeps_its_budget() {
    story_of_one_role(async |world| {
        let (acme, support, long) = conversation(world, "acme").await;
        for mail in 0..6 {
            let text: String = (0..5_000).map(|word| format!("w{mail}x{word} ")).collect();
            answer(&acme, support, "acme", mail, &text).await;
        }
        world.work().await;
        world.wait(chrono::TimeDelta::hours(1));
        acme.many(support, 4_600, "common").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let reader = Reader::explained(&world.app.config.database_url.0, Clock::set_to(world.now()));
        for (query, budget) in [("w0x7+w5x4999+parcel", 3_000), ("w3x17", 3_000), ("common", 3_000)] {
            let path = format!("/conversations?q={query}");
            reader.get(&key.text, &path).await;
            let (found, statements) = reader.statements(&key.text, &path).await;
            if query != "common" {
                assert_eq!(found[0]["id"], long.to_string(), "{query}");
            }
            let buffers: i64 = statements.iter().map(|statement| statement.buffers).sum();
            println!("{query}: {buffers} buffers of {budget}");
            assert!(buffers <= budget, "{query}: {buffers} buffers");
        }
    })
    .await;
}
