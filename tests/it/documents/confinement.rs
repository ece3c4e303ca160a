//! The child that parses strangers' files cannot get at anything: every attempt from inside ends it, and the parent goes on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rookery_base::confined::job::{Job, Simulate};
use rookery_base::confined::run::{Broken, Confined, RunOutcome};
use rookery_base::random::Random;
use rookery_reading::whole::{FileReading, ReadingState};
use tokio::task::JoinSet;

use rookery_world::papers;

fn confined() -> Confined {
    Confined::by(rookery_world::program())
}

async fn tries(how: &str, simulate: Simulate) -> RunOutcome {
    let job = Job::Escape { how: how.to_owned(), simulate };
    confined().run(&job, Bytes::from_static(b"a file")).await.expect("the child can be started")
}

const DIED: RunOutcome = RunOutcome::Broken(Broken::Died);

/// What is tried from inside, besides using up what there is.
const ATTEMPTS: [&str; 10] =
    ["file", "folder", "write", "network", "datagram", "local", "signal", "limit", "fork", "thread"];

/// `nothing` shows that a child lives which tries nothing: the others die of what they try.
#[tokio::test]
async fn files_network_processes_and_threads_are_out_of_reach() {
    assert_eq!(tries("nothing", Simulate::Nothing).await, RunOutcome::Said(b"nothing was tried".to_vec()));
    for how in ATTEMPTS {
        assert_eq!(tries(how, Simulate::Nothing).await, DIED, "{how}");
    }
    assert!(!std::path::Path::new("/tmp/rookery-escaped").exists());
}

#[tokio::test]
async fn memory_stack_and_talk_have_an_end() {
    assert_eq!(tries("memory", Simulate::Nothing).await, DIED);
    assert_eq!(tries("stack", Simulate::Nothing).await, DIED);
    assert_eq!(tries("talk", Simulate::Nothing).await, RunOutcome::Broken(Broken::TooMuch));
}

#[tokio::test]
async fn time_has_an_end() {
    let began = Instant::now();
    let outcome = tries("time", Simulate::Nothing).await;
    assert!(matches!(outcome, RunOutcome::Broken(Broken::Late | Broken::Died)), "{outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(13), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_kernel_without_landlock_still_gives_no_file() {
    assert_eq!(tries("nothing", Simulate::NoLandlock).await, RunOutcome::Said(b"nothing was tried".to_vec()));
    for how in ATTEMPTS {
        assert_eq!(tries(how, Simulate::NoLandlock).await, DIED, "{how}");
    }
    assert!(!std::path::Path::new("/tmp/rookery-escaped").exists());
}

/// Tesseract has to open files, so its walls refuse where the others kill.
#[tokio::test]
async fn the_walls_of_tesseract_give_nothing_but_the_system() {
    let nothing = tries("words-nothing", Simulate::Nothing).await;
    assert_eq!(nothing, RunOutcome::Said(b"nothing was tried".to_vec()));
    for how in ATTEMPTS {
        let outcome = tries(&format!("words-{how}"), Simulate::Nothing).await;
        let RunOutcome::Said(said) = &outcome else { panic!("{how}: {outcome:?}") };
        let said = String::from_utf8_lossy(said);
        assert!(said.starts_with("Err(") && said.contains("PermissionDenied"), "{how}: {said}");
    }
    assert!(!std::path::Path::new("/tmp/rookery-escaped").exists());
    for how in ["words-memory", "words-stack"] {
        assert_eq!(tries(how, Simulate::Nothing).await, DIED, "{how}");
    }
    for how in ["words", "words-nothing"] {
        let without = tries(how, Simulate::NoLandlock).await;
        assert_eq!(without, RunOutcome::Broken(Broken::Unsafe), "{how}: only Landlock says which files");
    }
}

#[tokio::test]
async fn a_kernel_without_seccomp_parses_nothing() {
    assert_eq!(tries("nothing", Simulate::NoSeccomp).await, RunOutcome::Broken(Broken::Unsafe));
}

/// A file that makes the parser call itself until its stack ends, which nothing in a process can catch.
#[tokio::test]
async fn a_file_that_breaks_the_parser_breaks_nothing_else() {
    let deep = format!("%PDF-1.7\n1 0 obj\n{}\nendobj\n", "[".repeat(200_000));
    let confined = confined();
    let outcome = confined.run(&Job::Read, deep.into()).await.unwrap();
    let gave_up = match &outcome {
        RunOutcome::Said(said) => {
            serde_json::from_slice::<FileReading>(said).unwrap().state == ReadingState::Unreadable
        }
        RunOutcome::Broken(broken) => *broken == Broken::Died,
    };
    assert!(gave_up, "{outcome:?}");
    let RunOutcome::Said(said) = confined.run(&Job::Read, papers::invoice().into()).await.unwrap() else {
        panic!("a good file is read after it")
    };
    assert_eq!(serde_json::from_slice::<FileReading>(&said).unwrap().state, ReadingState::Read);
}

/// Good files of every kind are changed at random; whatever comes of it, the parent has an answer in time. Two at once, as
/// the service does it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_files_end_in_an_answer() {
    let confined = Arc::new(confined());
    let mut turns = JoinSet::new();
    for lane in 0..2 {
        let confined = confined.clone();
        turns.spawn(async move { mutated(&confined, lane).await });
    }
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(counted) = turns.join_next().await {
        for (outcome, times) in counted.unwrap() {
            *told.entry(outcome).or_default() += times;
        }
    }
    println!("{told:?}");
    assert_eq!(told.get("Late"), None, "{told:?}");
    assert_eq!(told.get("Unsafe"), None, "{told:?}");
    let said = told.get("Said").copied().unwrap_or_default();
    assert!(said * 4 > mutations(), "most of them have an answer: {told:?}");
    let good = confined.run(&Job::Read, papers::invoice().into()).await.unwrap();
    assert!(matches!(good, RunOutcome::Said(_)), "a good file is read after all of them");
}

async fn mutated(confined: &Confined, lane: usize) -> BTreeMap<String, usize> {
    let random = Random::seeded(41 + lane as u64);
    let good = papers::of_every_kind();
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for turn in (lane..mutations()).step_by(2) {
        let mut bytes = good[(turn / 2) % good.len()].clone();
        mutate(&mut bytes, &random);
        let job = match turn / 2 / good.len() % 5 {
            0 | 1 => Job::Read,
            2 => Job::Check,
            3 => Job::Page(1),
            _ if bytes.starts_with(b"%PDF-") => Job::Scan(1),
            _ => Job::Picture,
        };
        let name = match confined.run(&job, bytes.clone().into()).await.expect("the child can be started") {
            RunOutcome::Said(_) => "Said".to_owned(),
            RunOutcome::Broken(broken) => format!("{broken:?}"),
        };
        if name == "Late" {
            std::fs::write(std::env::temp_dir().join("late-file"), &bytes).unwrap();
        }
        *told.entry(name).or_default() += 1;
    }
    told
}

/// Some bytes are others; now and then the end is missing, or a part stands there twice.
fn mutate(bytes: &mut Vec<u8>, random: &Random) {
    let below = |most: usize| (random.number() % most.max(1) as u64) as usize;
    for _ in 0..1 + below(20) {
        let at = below(bytes.len());
        bytes[at] = random.number() as u8;
    }
    match below(8) {
        0 => bytes.truncate(1 + below(bytes.len())),
        1 => {
            let from = below(bytes.len());
            let part = bytes[from..bytes.len().min(from + 1 + below(2_000))].to_vec();
            let at = below(bytes.len());
            bytes.splice(at..at, part);
        }
        _ => {}
    }
}

/// Few here; `TEST_MUTATIONS=100000` for the whole.
fn mutations() -> usize {
    std::env::vars()
        .find(|(name, _)| name == "TEST_MUTATIONS")
        .and_then(|(_, n)| n.parse().ok())
        .unwrap_or(140)
}
