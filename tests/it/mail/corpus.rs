//! Bad input: other projects' odd mail, and mutations of our own, through the whole pipeline. Each is stored or
//! refused with a reason; nothing panics, nothing takes long.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rookery_base::app::App;
use rookery_base::ids::WorkspaceId;
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;
use rookery_reading::mail::parse::{Refusal, parse};
use rookery_reading::mail::quote::own_words;

use rookery_world::{World, story, story_with};

const SLOW: Duration = Duration::from_secs(1);

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn read(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    files(folder, &mut found);
    found.sort();
    let mails = found.iter().filter(|file| {
        matches!(file.extension().and_then(|e| e.to_str()), Some("eml" | "txt" | "crlf" | "bin"))
    });
    mails.map(|file| (file.display().to_string(), std::fs::read(file).expect("a file"))).collect()
}

/// The mail of `tests/mail`.
fn ours() -> Vec<(String, Vec<u8>)> {
    let mails = read(&rookery_world::root().join("tests/mail"));
    let crlf = |raw: Vec<u8>| String::from_utf8_lossy(&raw).replace('\n', "\r\n").into_bytes();
    mails.into_iter().map(|(name, raw)| (name, crlf(raw))).collect()
}

/// The test messages of `mail-parser` and `mail-auth`, where cargo keeps their sources.
fn of_crates() -> Vec<(String, Vec<u8>)> {
    let registry = std::env::home_dir().expect("a home").join(".cargo/registry/src");
    let crates = std::fs::read_dir(registry).into_iter().flatten().flatten();
    let crates = crates.flat_map(|index| std::fs::read_dir(index.path()).into_iter().flatten().flatten());
    let named = crates.filter(|found| {
        let name = found.file_name().to_string_lossy().into_owned();
        ["mail-parser-0.11", "mail-auth-0.13"].iter().any(|wanted| name.starts_with(wanted))
    });
    named.flat_map(|found| read(&found.path().join("resources"))).collect()
}

/// CPython's own test messages, when a Python with its tests is there.
fn of_python() -> Vec<(String, Vec<u8>)> {
    let ask = "import sys, glob, os; print(os.path.join(os.path.dirname(os.__file__), 'test', 'test_email', 'data'))";
    let output = std::process::Command::new("python3").args(["-c", ask]).output().expect("python3 is there");
    read(Path::new(String::from_utf8_lossy(&output.stdout).trim()))
}

/// How long our own code takes; a busy machine gets another try.
fn time_of(raw: &[u8]) -> Duration {
    let once = || {
        let started = Instant::now();
        if let Ok(mail) = parse(raw) {
            let _ = own_words(&mail);
        }
        started.elapsed()
    };
    let first = once();
    if first < SLOW { first } else { once().min(once()) }
}

/// What became of a mail, and how long our own code took.
struct Fate {
    refused: Option<Refusal>,
    time: Duration,
}

async fn passes(
    app: Arc<App>,
    (workspace, inbox): (WorkspaceId, Mailbox),
    name: String,
    raw: Vec<u8>,
) -> Fate {
    let time = time_of(&raw);
    assert!(time < SLOW, "{name} takes {time:?}");
    let refused = match receive(&app, workspace, Delivery::from_raw(inbox, raw, Dmarc::Unknown)).await {
        Ok(Received::Stored(_) | Received::Duplicate(_)) => None,
        Ok(Received::Refused(refusal)) => Some(refusal),
        Err(error) => panic!("{name}: {error}"),
    };
    Fate { refused, time }
}

/// An inbox of a workspace of its own.
async fn inbox(world: &World, number: usize) -> (WorkspaceId, Mailbox) {
    let acme = world.workspace("Acme").await;
    let id = acme.mailbox(&format!("help@acme-{number}.example"), "Support").await;
    let mut conn = world.app.connection().await.expect("a connection");
    (acme.id, mailboxes::live(&mut conn, acme.id, id).await.expect("an inbox"))
}

#[tokio::test]
async fn other_projects_odd_mail_is_stored_or_refused_with_a_reason() {
    let mails = [ours(), of_crates(), of_python()].concat();
    assert!(mails.len() > 150, "the sources of the crates are there: {}", mails.len());
    story(async |world| {
        let inbox = inbox(world, 1).await;
        let (mut stored, total) = (0, mails.len());
        for (name, raw) in mails {
            let fate = passes(world.app.clone(), inbox.clone(), name, raw).await;
            stored += usize::from(fate.refused.is_none());
        }
        assert!(stored * 10 > total * 8, "only {stored} of {total} were stored");
    })
    .await;
}

const TOKENS: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "\0",
    "--b\r\n",
    "--b--\r\n",
    "\r\n\r\n",
    "=?utf-8?b?",
    "?=",
    "=?utf-8?q?=ff=fe?=",
    "\u{202e}",
    "Content-Type: multipart/mixed; boundary=b\r\n",
    "Content-Type: message/rfc822\r\n\r\n",
    "From: a@b, c@d\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "Content-Type: text/html\r\n\r\n<div><blockquote>",
    "> > > ",
    "In-Reply-To: <",
    "References: <a@b> <c@d>\r\n",
    "; filename*0*=utf-8''%ff",
    "Action: failed\r\nStatus: 5.1.1\r\n",
    "On Mon, Anna wrote:\r\n",
    "<![CDATA[",
    "&#x1F4A9;",
    "=",
    "=\r\n",
    "From ",
    "To: ,,,;;;:::<<<>>>\r\n",
];

fn mutated(corpus: &[(String, Vec<u8>)], dice: &mut StdRng) -> Vec<u8> {
    let mut raw = corpus[dice.random_range(0..corpus.len())].1.clone();
    for _ in 0..dice.random_range(1..8) {
        let at = dice.random_range(0..=raw.len());
        let length = dice.random_range(0..=(raw.len() - at).min(200));
        match dice.random_range(0..6) {
            0 => raw[at..at + length].iter_mut().for_each(|byte| *byte ^= 1 << (at % 8)),
            1 => drop(raw.drain(at..at + length)),
            2 => {
                let piece = raw[at..at + length].repeat(dice.random_range(1..20));
                raw.splice(at..at, piece);
            }
            3 => drop(raw.splice(at..at, TOKENS[dice.random_range(0..TOKENS.len())].bytes()).count()),
            4 => {
                let other = &corpus[dice.random_range(0..corpus.len())].1;
                raw.truncate(at);
                raw.extend_from_slice(&other[dice.random_range(0..=other.len())..]);
            }
            _ => raw.insert(at, dice.random()),
        }
        raw.truncate(200_000);
    }
    raw
}

/// So many inboxes, each in a workspace of its own, and so many mails on their way at once.
const INBOXES: usize = 4;
const ON_THEIR_WAY: usize = 12;

async fn mutations(count: usize, seed: u64) {
    let corpus = [ours(), of_crates(), of_python()].concat();
    let began = Instant::now();
    story_with(&[("DATABASE_CONNECTIONS", "16")], async |world| {
        let mut inboxes = Vec::new();
        for number in 0..INBOXES {
            inboxes.push(inbox(world, number).await);
        }
        let mut dice = StdRng::seed_from_u64(seed);
        let mails = (0..count).map(|number| {
            let (raw, name) = (mutated(&corpus, &mut dice), format!("mutation {number} of {seed}"));
            tokio::spawn(passes(world.app.clone(), inboxes[number % INBOXES].clone(), name, raw))
        });
        let mut fates = stream::iter(mails).buffer_unordered(ON_THEIR_WAY).enumerate();
        let (mut refused, mut longest) = (BTreeMap::new(), Duration::ZERO);
        while let Some((number, fate)) = fates.next().await {
            let fate = fate.expect("no mail makes it panic");
            longest = longest.max(fate.time);
            if let Some(refusal) = fate.refused {
                *refused.entry(refusal.to_string()).or_insert(0) += 1;
            }
            if (number + 1) % 5_000 == 0 {
                println!("{} mutations in {:.0?}", number + 1, began.elapsed());
                world.work().await;
            }
        }
        let stored = count - refused.values().sum::<usize>();
        println!("{count} mutations in {:.0?}: {stored} stored, refused {refused:#?}", began.elapsed());
        println!("{longest:?} at most for parsing and quote removal of one");
        assert!(stored * 10 > count * 8, "only {stored} of {count} were stored");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutations_of_the_corpus_are_stored_or_refused_with_a_reason() {
    mutations(300, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes many minutes: just mutate-mail"]
async fn a_hundred_thousand_mutations_are_stored_or_refused_with_a_reason() {
    mutations(100_000, 2).await;
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{} MB of memory at most", peak / 1024);
    assert!(peak < 1024 * 1024);
}
