//! The child's side: raises its walls, then takes the file from standard input, and answers on standard output.
//!
//! It runs before anything else of the program begins, in the only thread there is, with nothing of our environment. What a
//! parser prints or how it panics is nobody's business: words of the file could be in it.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use regex::Regex;

use crate::confined::job::{Job, MOST_INPUT};
use crate::confined::{scans, walls};
use rookery_reading as reading;
use rookery_reading::calendar::BusySpan;
use rookery_reading::page::TextPage;

/// How it ends, for the parent.
pub const DONE: u8 = 0;
pub const DONE_WITHOUT_LANDLOCK: u8 = 10;
pub const BROKEN: u8 = 11;
pub const UNSAFE: u8 = 12;
pub const UNKNOWN_JOB: u8 = 13;

/// `rookery confined …`
pub fn child(arguments: &[String]) -> ExitCode {
    ExitCode::from(match Job::from_arguments(arguments) {
        Some(Job::Words { languages }) => words(&languages, walls::ALL),
        #[cfg(debug_assertions)]
        Some(job @ Job::Escape { .. }) if job.is_words() => words("eng", plan(&job)),
        Some(job) => answer(&job),
        None => UNKNOWN_JOB,
    })
}

fn answer(job: &Job) -> u8 {
    // The first of all patterns opens a file to learn how many processors there are, which nobody can do later.
    let _ = Regex::new("");
    let raised = match raise(job) {
        Ok(raised) => raised,
        Err(error) => {
            eprintln!("rookery: {error}");
            return UNSAFE;
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    let mut input = Vec::new();
    let most = MOST_INPUT as u64 + 1;
    if std::io::stdin().lock().take(most).read_to_end(&mut input).is_err() || input.len() > MOST_INPUT {
        return BROKEN;
    }
    let Ok(Some(said)) = catch_unwind(AssertUnwindSafe(|| done(job, &input))) else { return BROKEN };
    let mut out = std::io::stdout().lock();
    match out.write_all(&said).and_then(|()| out.flush()) {
        Ok(()) if raised.landlock => DONE,
        Ok(()) => DONE_WITHOUT_LANDLOCK,
        Err(_) => BROKEN,
    }
}

fn raise(job: &Job) -> Result<walls::Raised, walls::Unsafe> {
    #[cfg(debug_assertions)]
    if let Job::Escape { how, .. } = job
        && how.starts_with(escape::AS_WORDS)
    {
        walls::raise_for_words(plan(job), scans::READABLE)?;
        return Ok(walls::Raised { landlock: true });
    }
    walls::raise(plan(job))
}

fn done(job: &Job, input: &[u8]) -> Option<Vec<u8>> {
    match job {
        Job::Read => serde_json::to_vec(&reading::whole::read(input)).ok(),
        Job::Check => serde_json::to_vec(&reading::check::check(input)).ok(),
        Job::Page(number) => serde_json::to_vec(&reading::files::drawing::page(input, *number)?).ok(),
        Job::Scan(number) => reading::files::picture::stripped(&reading::files::pdf::scan(input, *number)?),
        Job::Picture => reading::files::picture::stripped(input),
        Job::Understand => {
            let pages: Vec<(u32, String)> = serde_json::from_slice(input).ok()?;
            let pages: Vec<TextPage> =
                pages.iter().map(|(number, tsv)| reading::files::words::page(*number, tsv)).collect();
            let words: usize = pages.iter().map(TextPage::words).sum();
            serde_json::to_vec(&(words, reading::whole::understand(&pages, None))).ok()
        }
        Job::Busy { from, to, zone } => {
            serde_json::to_vec(&reading::calendar::busy(input, BusySpan(*from, *to), zone)).ok()
        }
        Job::Words { .. } => None,
        #[cfg(debug_assertions)]
        Job::Escape { how, .. } => Some(escape::attempt(how)),
    }
}

fn plan(job: &Job) -> walls::Plan {
    match job {
        #[cfg(debug_assertions)]
        Job::Escape { simulate, .. } => walls::Plan {
            landlock: *simulate != crate::confined::job::Simulate::NoLandlock,
            seccomp: *simulate != crate::confined::job::Simulate::NoSeccomp,
        },
        _ => walls::ALL,
    }
}

/// Becomes tesseract, inside its walls; the picture is still unread on standard input.
fn words(languages: &str, plan: walls::Plan) -> u8 {
    if let Err(error) = walls::raise_for_words(plan, scans::READABLE) {
        eprintln!("rookery: {error}");
        return UNSAFE;
    }
    let Some(program) = scans::program() else { return UNKNOWN_JOB };
    // One thread: it is waited for, and others have work too.
    let error = Command::new(program)
        .args(["stdin", "stdout", "-l", languages, "--psm", "3", "tsv"])
        .env_clear()
        .env("OMP_THREAD_LIMIT", "1")
        .exec();
    eprintln!("rookery: {error}");
    BROKEN
}

/// What a file might make a parser do, tried on purpose. Each gives back what it got, if it is still alive then.
#[cfg(debug_assertions)]
mod escape {
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

    /// Inside the walls of tesseract, before it begins.
    pub const AS_WORDS: &str = "words-";

    pub fn attempt(how: &str) -> Vec<u8> {
        let came_of_it = match how.strip_prefix(AS_WORDS).unwrap_or(how) {
            "nothing" => "nothing was tried".to_owned(),
            "file" => format!("{:?}", std::fs::read("/etc/hostname").map(|bytes| bytes.len())),
            "folder" => format!("{:?}", std::fs::read_dir("/").map(Iterator::count)),
            "write" => format!("{:?}", std::fs::write("/tmp/rookery-escaped", "x")),
            "network" => format!("{:?}", TcpStream::connect("127.0.0.1:9").map(drop)),
            "datagram" => format!("{:?}", UdpSocket::bind("127.0.0.1:0").map(drop)),
            "local" => format!("{:?}", UnixStream::connect("/run/postgresql/.s.PGSQL.5432").map(drop)),
            "signal" => format!("{:?}", kill_process(Pid::INIT, Signal::CONT)),
            "limit" => {
                let none = Rlimit { current: None, maximum: None };
                format!("{:?}", prlimit(Some(Pid::INIT), Resource::Core, none).map(drop))
            }
            "fork" => format!("{:?}", Command::new("/bin/true").status()),
            "thread" => format!("{:?}", std::thread::Builder::new().spawn(|| 1).map(drop)),
            "memory" => {
                let mut taken: Vec<Vec<u8>> = Vec::new();
                while taken.len() < 64 {
                    taken.push(std::hint::black_box(Vec::with_capacity(32 << 20)));
                }
                format!("{} pieces of memory", taken.len())
            }
            "stack" => format!("{}", deep(0)),
            "time" => {
                let mut turns = 0_u64;
                loop {
                    turns = std::hint::black_box(turns.wrapping_add(1));
                }
            }
            "talk" => "x".repeat(1 << 20),
            _ => "unknown".to_owned(),
        };
        came_of_it.into_bytes()
    }

    #[expect(unconditional_recursion, reason = "the stack is to end")]
    fn deep(turns: u64) -> u64 {
        let kept = std::hint::black_box([turns; 64]);
        deep(kept[0] + 1) + kept[63]
    }
}
