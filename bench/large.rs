//! Data that is larger than memory: ten million messages in three million conversations of 200 workspaces, one of which has
//! a third, on a PostgreSQL that is held to a gigabyte. What reads, searches, mail, replies and webhooks take, cold and
//! warm, and how large a message is on disk. docs/performance.md explains the tables.
//!
//!     cargo bench --bench large -- --keep FOLDER [--conversations N] [--workspaces N] [--memory MB]

#[path = "bounded.rs"]
mod bounded;
#[path = "counted.rs"]
mod counted;
#[path = "loaded.rs"]
mod loaded;
#[path = "mailing.rs"]
mod mailing;
#[path = "outbound.rs"]
mod outbound;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use rookery_base::clock::Clock;
use rookery_base::ids::ConversationId;
use sqlx::{Connection, PgConnection};

use self::bounded::Bounded;
use self::mailing::Mailing;
use rookery_world::cluster::{Cluster, Settings};
use rookery_world::load::Loaded;
use rookery_world::load::buffers::{Reader, reads};
use rookery_world::load::texts::{Dice, Vocabulary, WORDS};

const SMALL: usize = 10_000;
const LISTS: usize = 300;
const READS: usize = 400;
const SEARCHES: usize = 200;
/// How much more a list may cost among all than in a small workspace.
const MOST_GROWTH: f64 = 1.2;
const LIST_GOAL: Duration = Duration::from_millis(30);
const SEARCH_GOAL: Duration = Duration::from_millis(100);

#[derive(Parser)]
struct Arguments {
    /// In all workspaces together.
    #[arg(long, default_value_t = 3_700_000)]
    conversations: usize,
    /// The first has a third of all conversations, the second ten thousand.
    #[arg(long, default_value_t = 200)]
    workspaces: usize,
    /// Megabytes that PostgreSQL may have with its page cache.
    #[arg(long, default_value_t = 1024)]
    memory: u64,
    /// The folder for the data, some thirty gigabytes, used again by the next run with the same sizes.
    #[arg(long)]
    keep: PathBuf,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn sizes(&self) -> Vec<(String, usize)> {
        let (large, others) = (self.conversations / 3, self.workspaces - 2);
        let each = (self.conversations - large - SMALL) / others;
        let mut sizes = vec![("large".to_owned(), large), ("small".to_owned(), SMALL)];
        sizes.extend((0..others).map(|number| (format!("other {number}"), each)));
        sizes
    }
}

/// A request: whose key, and where it is asked.
type Asked = (String, String);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::parse();
    let all = {
        let mut settings = Settings::bench();
        // Loading is no part of what is measured; a run that dies here begins anew.
        settings.durable = false;
        settings.keep = Some(arguments.keep.clone());
        let cluster = Cluster::start(&settings);
        let all = loaded::all(&cluster, &arguments.sizes()).await;
        print_sizes(&cluster.url(loaded::DATABASE), arguments.memory).await;
        all
    };
    let bounded = Bounded::start(&arguments.keep, arguments.memory << 20);
    let url = bounded.cluster.url(loaded::DATABASE);
    println!("{}", loaded::machine());
    // Every reader is a node to the rate limit, which has twelve blocks to give: two readers do all.
    let (explained, plain) = (Reader::explained(&url, Clock::system()), Reader::plain(&url, Clock::system()));

    println!(
        "\nWhole requests without a socket; times in ms, buffers (hit + read) of one request on average"
    );
    println!(
        "| asked | requests | cold p50 | cold p99 | warm p50 | warm p99 | cold buffers read | warm buffers | goal |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|---|");
    let kinds = [
        ("lists", lists(&all), Some(LIST_GOAL)),
        ("conversations", conversations(&url, &all).await, None),
        ("searches in the large workspace", searches(&all[0]), Some(SEARCH_GOAL)),
        ("searches in the others", searches_elsewhere(&all), Some(SEARCH_GOAL)),
    ];
    for (name, asked, goal) in &kinds {
        let (cold, read) = blocks_read(&url, times(&plain, asked)).await;
        // Warm: what it takes once the ways to the data are in memory. The data of all cannot be.
        times(&plain, asked).await;
        let warm = times(&plain, asked).await;
        let mut buffers = 0;
        for (key, path) in asked.iter().take(50) {
            let (_, statements) = explained.statements(key, path).await;
            buffers += statements.iter().map(|statement| statement.buffers).sum::<i64>();
        }
        let judged = goal.map_or_else(String::new, |goal| {
            let verdict = if at(&warm, 0.99) <= goal { "reached" } else { "MISSED" };
            format!("warm p99 {} ms: {verdict}", goal.as_millis())
        });
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.0} | {} | {judged} |",
            asked.len(),
            shown(&cold, 0.5),
            shown(&cold, 0.99),
            shown(&warm, 0.5),
            shown(&warm, 0.99),
            read as f64 / asked.len() as f64,
            buffers / 50,
        );
    }
    println!("{}", bounded.group.told());
    print_growth(&explained, &all[0], &all[1]).await;

    println!("\nThe same while mail comes into the large workspace and is indexed");
    println!("| asked | p50 | p99 |\n|---|--:|--:|");
    let mailing = Mailing::start(&url, &all[0]);
    for (name, asked, _) in &kinds {
        let times = times(&plain, asked).await;
        println!("| {name} | {} | {} |", shown(&times, 0.5), shown(&times, 0.99));
    }
    let (mails, seconds) = mailing.stop();
    println!("meanwhile {mails} mails were stored and indexed in {seconds} s");
    drop((explained, plain));
    outbound::print(&url, &all).await;
    println!("{}\n{}", bounded.group.told(), loaded::machine());
}

/// Every list that `reads` knows, of the large workspace and of others.
fn lists(all: &[Loaded]) -> Vec<Asked> {
    let of = |loaded: &Loaded| {
        let lists = reads(loaded).into_iter().filter(|read| read.path.starts_with("/conversations?"));
        lists.map(|read| (loaded.key.clone(), read.path)).collect::<Vec<_>>()
    };
    let mut dice = Dice::new(1);
    let mut asked = of(&all[0]);
    while asked.len() < LISTS {
        let mut others = of(&all[2 + dice.below(all.len() - 2)]);
        asked.push(others.swap_remove(dice.below(others.len())));
    }
    asked
}

/// From all times, a third of them in the large workspace.
async fn conversations(url: &str, all: &[Loaded]) -> Vec<Asked> {
    let mut conn = PgConnection::connect(url).await.expect("the database answers");
    let (mut dice, mut asked) = (Dice::new(2), Vec::new());
    while asked.len() < READS {
        let place = if dice.chance(1.0 / 3.0) { 0 } else { 2 + dice.below(all.len() - 2) };
        let id: Option<i64> = sqlx::query_scalar(
            "select id from conversations c
             where workspace_id = $1 and audience = 0
               and id >= (select min(id) + ((max(id) - min(id)) * $2::float8)::bigint
                          from conversations where workspace_id = $1)
             order by id limit 1",
        )
        .bind(all[place].workspace)
        .bind(dice.share())
        .fetch_optional(&mut conn)
        .await
        .expect("a conversation");
        if let Some(id) = id {
            asked.push((all[place].key.clone(), format!("/conversations/{}", ConversationId(id))));
        }
    }
    asked
}

fn searches(of: &Loaded) -> Vec<Asked> {
    let (mut dice, vocabulary) = (Dice::new(400), Vocabulary::new());
    // Evenly over the logarithm of the rank: as many searches for common words as for rare ones.
    let mut word = || vocabulary.word(dice.zipf(WORDS)).to_owned();
    let queries = (0..SEARCHES).map(|number| {
        let view = if number % 2 == 0 { "open" } else { "closed" };
        let words = if number % 4 < 2 { word() } else { format!("{}+{}", word(), word()) };
        (of.key.clone(), format!("/conversations?view={view}&q={words}"))
    });
    queries.collect()
}

fn searches_elsewhere(all: &[Loaded]) -> Vec<Asked> {
    let mut dice = Dice::new(3);
    let queries = searches(&all[0]).into_iter();
    queries.map(|(_, path)| (all[2 + dice.below(all.len() - 2)].key.clone(), path)).collect()
}

async fn times(plain: &Reader, asked: &[Asked]) -> Vec<Duration> {
    let mut times = Vec::new();
    for (key, path) in asked {
        let started = Instant::now();
        plain.get(key, path).await;
        times.push(started.elapsed());
    }
    times.sort();
    times
}

/// How many blocks came from outside the shared buffers meanwhile.
async fn blocks_read<T>(url: &str, work: impl Future<Output = T>) -> (T, i64) {
    let mut conn = PgConnection::connect(url).await.expect("the database answers");
    let mut count = async || {
        // Sessions report what they did once a second.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let read: i64 =
            sqlx::query_scalar("select blks_read from pg_stat_database where datname = current_database()")
                .fetch_one(&mut conn)
                .await
                .expect("the figures can be read");
        read
    };
    let before = count().await;
    let done = work.await;
    (done, count().await - before)
}

async fn print_growth(reader: &Reader, large: &Loaded, small: &Loaded) {
    println!("\nBuffers of a read, under force_generic_plan");
    println!(
        "| read | {} conversations | {} conversations | ratio |",
        small.conversations, large.conversations
    );
    println!("|---|--:|--:|--:|");
    let mut missed = Vec::new();
    for (in_large, in_small) in reads(large).iter().zip(reads(small)) {
        let (few, many) = (reader.cost(&small.key, &in_small).await, reader.cost(&large.key, in_large).await);
        let ratio = many.buffers as f64 / few.buffers as f64;
        println!("| {} | {} | {} | {ratio:.2} |", in_large.name, few.buffers, many.buffers);
        if ratio > MOST_GROWTH {
            missed.push(in_large.name);
        }
    }
    if missed.is_empty() {
        println!("every ratio is at most {MOST_GROWTH}");
    } else {
        println!("MISSED (ratio above {MOST_GROWTH}): {}", missed.join(", "));
    }
}

async fn print_sizes(url: &str, memory: u64) {
    let mut conn = PgConnection::connect(url).await.expect("the database answers");
    let (bytes, messages, conversations, texts): (i64, i64, i64, f64) = sqlx::query_as(
        "select pg_database_size(current_database()),
                (select sum(reltuples)::bigint from pg_class where relname = 'messages'),
                (select sum(reltuples)::bigint from pg_class where relname = 'conversations'),
                (select avg(pg_column_size(text) + coalesce(pg_column_size(whole_text), 0))::float8
                 from messages tablesample system (0.2))",
    )
    .fetch_one(&mut conn)
    .await
    .expect("the sizes can be read");
    let each = bytes as f64 / messages as f64;
    println!(
        "{messages} messages in {conversations} conversations, {:.1} GB: {:.1} times the memory",
        bytes as f64 / 1e9,
        bytes as f64 / (memory << 20) as f64,
    );
    println!("a message takes {each:.0} bytes all in, {:.0} beside its text of {texts:.0}", each - texts);
    println!("| table | with its indexes, GB | bytes a message |\n|---|--:|--:|");
    let tables: Vec<(String, i64)> = sqlx::query_as(
        "select relname::text, pg_total_relation_size(oid) from pg_class
         where relkind = 'r' and relnamespace = 'public'::regnamespace order by 2 desc limit 8",
    )
    .fetch_all(&mut conn)
    .await
    .expect("the sizes can be read");
    for (table, bytes) in tables {
        println!("| {table} | {:.2} | {:.0} |", bytes as f64 / 1e9, bytes as f64 / messages as f64);
    }
}

fn at(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn shown(sorted: &[Duration], share: f64) -> String {
    format!("{:.1}", at(sorted, share).as_secs_f64() * 1000.0)
}
