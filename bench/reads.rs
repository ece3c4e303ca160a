//! The read bench: one workspace of a million conversations and one of ten thousand beside it, and what
//! every read costs in both; how long searches take; how many requests a second the real server answers,
//! against `pgbench` running the same statements. docs/performance.md explains the table.
//!
//!     cargo bench --bench reads -- [--large N] [--small N] [--keep FOLDER] [--seconds S] [--connections C]
//!         [--slowest N]

#[path = "loaded.rs"]
mod loaded;
#[path = "mailing.rs"]
mod mailing;
#[path = "throughput.rs"]
mod throughput;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use rookery_base::clock::Clock;

use self::mailing::Mailing;
use rookery_world::cluster::{Cluster, Settings};
use rookery_world::load::Loaded;
use rookery_world::load::buffers::{Reader, reads};
use rookery_world::load::texts::{Dice, Vocabulary, WORDS};

const SEARCHES: usize = 400;
const DOCUMENT_SEARCHES: usize = 100;
const ALL: &str = "all of these";
/// Each search is timed this often. Others work on the machine too; the fastest time is nearest to the truth.
const TRIES: usize = 3;
/// How much more a read may cost in the large workspace.
const MOST_GROWTH: f64 = 1.5;

#[derive(Parser)]
struct Arguments {
    /// Conversations of the large workspace.
    #[arg(long, default_value_t = 1_000_000)]
    large: usize,
    /// Conversations of the small workspace.
    #[arg(long, default_value_t = 10_000)]
    small: usize,
    /// A folder for the data, used again by the next run with the same sizes.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// How long each round of requests lasts.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    #[arg(long, default_value_t = 16)]
    connections: u32,
    /// Prints this many of the slowest searches of each kind with their statements.
    #[arg(long, default_value_t = 0)]
    slowest: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::parse();
    let mut settings = Settings::bench();
    settings.keep = arguments.keep.clone();
    let cluster = Cluster::start(&settings);
    let url = cluster.url(loaded::DATABASE);
    let (large, small) = loaded::workspaces(&cluster, arguments.large, arguments.small).await;
    loaded::warm(&url).await;
    println!("{}", loaded::machine());

    // Every reader is a node to the rate limit, which has twelve blocks to give: two readers do all.
    let (explained, plain) = (Reader::explained(&url, Clock::system()), Reader::plain(&url, Clock::system()));
    print_buffers(&explained, &large, &small).await;
    println!();
    println!(
        "{SEARCHES} searches and {DOCUMENT_SEARCHES} document searches, whole requests without a socket"
    );
    println!(
        "| search | conversations | p50 ms | p90 ms | p99 ms | longest ms | p99 of slowest tries | by the index |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for workspace in [&small, &large] {
        print_searches(&explained, &plain, workspace, arguments.slowest).await;
    }
    let mailing = Mailing::start(&url, &large);
    print_while_mail_comes(&plain, &large).await;
    let (mails, seconds) = mailing.stop();
    println!("meanwhile {mails} mails were stored and indexed in {seconds} s");
    println!();
    throughput::print(&cluster, &explained, &large, arguments.seconds, arguments.connections).await;
    println!();
    println!("{}", loaded::machine());
}

async fn print_buffers(reader: &Reader, large: &Loaded, small: &Loaded) {
    println!("Buffers (shared hit and read) of all statements of a read, under force_generic_plan");
    println!(
        "| read | rows | {} conversations | {} conversations | ratio |",
        small.conversations, large.conversations
    );
    println!("|---|--:|--:|--:|--:|");
    let mut missed = Vec::new();
    for (in_large, in_small) in reads(large).iter().zip(reads(small)) {
        let few = reader.cost(&small.key, &in_small).await;
        let many = reader.cost(&large.key, in_large).await;
        let ratio = many.buffers as f64 / few.buffers as f64;
        let rows = if few.rows == many.rows {
            few.rows.to_string()
        } else {
            format!("{} / {}", few.rows, many.rows)
        };
        println!("| {} | {rows} | {} | {} | {ratio:.2} |", in_large.name, few.buffers, many.buffers);
        if ratio >= MOST_GROWTH {
            missed.push(in_large.name);
        }
    }
    if missed.is_empty() {
        println!("every ratio is below {MOST_GROWTH}");
    } else {
        println!("MISSED (ratio {MOST_GROWTH} or more): {}", missed.join(", "));
    }
}

/// A kind of search: its name, where each is asked, and the index that a search for rare words uses.
type Kind = (String, Vec<String>, &'static str);

fn searches() -> Vec<Kind> {
    let mut dice = Dice::new(400);
    let vocabulary = Vocabulary::new();
    // Evenly over the logarithm of the rank: as many searches for common words as for rare ones.
    let mut word = || vocabulary.word(dice.zipf(WORDS)).to_owned();
    let mut kinds = Vec::new();
    for view in ["open", "closed"] {
        let singles: Vec<_> =
            (0..SEARCHES / 4).map(|_| format!("/conversations?view={view}&q={}", word())).collect();
        let pairs: Vec<_> = (0..SEARCHES / 4)
            .map(|_| format!("/conversations?view={view}&q={}+{}", word(), word()))
            .collect();
        kinds.push((format!("{view}, one word"), singles, "conversation_words_any"));
        kinds.push((format!("{view}, two words"), pairs, "conversation_words_any"));
    }
    let documents: Vec<_> = (0..DOCUMENT_SEARCHES)
        .map(|number| match number % 2 {
            0 => format!("/documents?q={}", word()),
            _ => format!("/documents?q={}+{}", word(), word()),
        })
        .collect();
    let all: Vec<_> = kinds.iter().flat_map(|(_, paths, _)| paths.clone()).collect();
    kinds.push((ALL.into(), all, "conversation_words_any"));
    kinds.push(("documents".into(), documents, "documents_pieces"));
    kinds
}

/// The fastest and the slowest of a few tries of each, sorted by the fastest.
async fn timed<'p>(plain: &Reader, key: &str, paths: &'p [String]) -> Vec<([Duration; TRIES], &'p String)> {
    let mut times = Vec::new();
    for path in paths {
        let mut tries = [Duration::ZERO; TRIES];
        for time in &mut tries {
            let started = Instant::now();
            plain.get(key, path).await;
            *time = started.elapsed();
        }
        tries.sort();
        times.push((tries, path));
    }
    times.sort();
    times
}

fn print_times(name: &str, workspace: &Loaded, times: &[([Duration; TRIES], &String)], by_index: &str) {
    let at = |share: f64, which: usize| {
        let mut sorted: Vec<_> = times.iter().map(|(tries, _)| tries[which]).collect();
        sorted.sort();
        milliseconds(sorted[((sorted.len() - 1) as f64 * share).round() as usize])
    };
    println!(
        "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {by_index} |",
        workspace.conversations,
        at(0.5, 0),
        at(0.9, 0),
        at(0.99, 0),
        at(1.0, 0),
        at(0.99, TRIES - 1)
    );
}

/// The searches of conversations once more, while mail comes into the same workspace and is indexed.
async fn print_while_mail_comes(plain: &Reader, workspace: &Loaded) {
    for (name, paths, _) in searches() {
        if name == ALL {
            let times = timed(plain, &workspace.key, &paths).await;
            print_times("all of these, while mail is indexed", workspace, &times, "");
        }
    }
}

async fn print_searches(explained: &Reader, plain: &Reader, workspace: &Loaded, slowest: usize) {
    for (name, paths, index) in searches() {
        let mut by_index = 0;
        for path in &paths {
            let (_, statements) = explained.statements(&workspace.key, path).await;
            by_index += usize::from(statements.iter().any(|statement| statement.uses_index(index)));
        }
        let times = timed(plain, &workspace.key, &paths).await;
        print_times(&name, workspace, &times, &format!("{by_index} of {}", paths.len()));
        for (tries, path) in times.iter().rev().take(slowest) {
            println!("{:.1} ms: {path}", milliseconds(tries[0]));
            for statement in explained.statements(&workspace.key, path).await.1 {
                let text = statement.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let start: String = text.chars().take(60).collect();
                println!("    {:.1} ms, {} buffers: {start}", statement.milliseconds, statement.buffers);
            }
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
