//! The parent's side: starts a child with nothing of our environment and three pipes, hands the file in, takes a bounded answer,
//! and ends the child when its time is over. A child that dies is an outcome, never an error of ours.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::confined::child;
use crate::confined::job::Job;
use crate::error::{Error, Result};
use crate::limits::fair_seats::{FairSeat, FairSeats, Sitter};

/// Children at once for people and customers of this node; a file and its parser can take half a gigabyte. One workspace has
/// two of them and one private link one, so a file that takes its time keeps no other workspace waiting. The worker has one of
/// its own, so nobody waits for what strangers mail.
const AT_ONCE: usize = 3;
/// Of one workspace that wait.
const MOST_WAITING: usize = 64;
/// How long somebody waits for a seat.
const QUEUE: Duration = Duration::from_secs(15);
/// This very program, also when its file was replaced by a newer one meanwhile.
const OURSELVES: &str = "/proc/self/exe";

pub struct Confined {
    /// Nothing where nobody may be started: only the service knows that it is the service.
    program: Option<PathBuf>,
    seats: Arc<FairSeats>,
    /// The log has been told that walls are missing.
    told: AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    Said(Vec<u8>),
    Broken(Broken),
}

/// Why nothing came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The parser gave up, crashed or was killed by its walls.
    Died,
    /// It took longer than it may.
    Late,
    /// It said more than it may.
    TooMuch,
    /// This machine cannot confine it, so nothing was parsed.
    Unsafe,
}

/// To be tried again, by somebody who waits.
pub fn busy() -> Error {
    let sentence = "Many files are looked at right now. Try again in a minute.".to_owned();
    Error::SlowDown { sentence, retry_after: Duration::from_secs(60) }
}

impl Default for Confined {
    fn default() -> Self {
        let seats = FairSeats::new(AT_ONCE, 1, MOST_WAITING);
        Self { program: None, seats, told: AtomicBool::new(false) }
    }
}

impl Confined {
    /// By a program that is not this one: a test is another.
    pub fn by(program: PathBuf) -> Self {
        Self { program: Some(program), ..Self::default() }
    }

    /// For the service.
    pub fn by_ourselves() -> Self {
        Self::by(PathBuf::from(OURSELVES))
    }

    /// For whoever waits for an answer. It is taken before the file is loaded, so that a crowd does not fill the memory.
    pub async fn seat(&self, sitter: Sitter) -> Result<FairSeat> {
        self.seats.take(sitter, QUEUE).await.ok_or_else(busy)
    }

    /// An error is ours: the child could not be started.
    pub async fn run(&self, job: &Job, input: Bytes) -> Result<RunOutcome> {
        let Some(program) = &self.program else { return Ok(RunOutcome::Broken(Broken::Unsafe)) };
        let mut child = Command::new(program)
            .arg("confined")
            .args(job.arguments())
            .env_clear()
            // The allocator of the static binary takes a gigabyte of addresses at once, before the child limits its memory: then
            // there is nothing left to take.
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::internal("a child has no pipes"));
        };
        // Beside the reading, so that neither waits for the other. It ends when the child closes its end, or is gone.
        let handing_in = tokio::spawn(async move {
            let _ = to.write_all(&input).await;
        });
        let most = job.most_output();
        let ended = timeout(job.patience(), async {
            let mut said = Vec::new();
            from.take(most as u64 + 1).read_to_end(&mut said).await?;
            if said.len() > most {
                return Ok((said, None));
            }
            let status = child.wait().await?;
            std::io::Result::Ok((said, Some(status)))
        })
        .await;
        let outcome = match ended {
            Err(_) => RunOutcome::Broken(Broken::Late),
            Ok(Ok((_, None))) => RunOutcome::Broken(Broken::TooMuch),
            Ok(Ok((said, Some(status)))) => self.judge(said, status),
            Ok(Err(_)) => RunOutcome::Broken(Broken::Died),
        };
        handing_in.abort();
        // Nothing is left behind, not even a process that nobody waits for.
        if matches!(outcome, RunOutcome::Broken(Broken::Late | Broken::TooMuch)) {
            let _ = child.kill().await;
        }
        Ok(outcome)
    }

    fn judge(&self, said: Vec<u8>, status: ExitStatus) -> RunOutcome {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        match code {
            Some(child::DONE) => RunOutcome::Said(said),
            Some(child::DONE_WITHOUT_LANDLOCK) => {
                self.tell("this kernel has no Landlock: files are read behind seccomp and limits alone");
                RunOutcome::Said(said)
            }
            Some(child::UNSAFE) => {
                self.tell("this machine cannot confine what reads a stranger's file, so it is not read");
                RunOutcome::Broken(Broken::Unsafe)
            }
            _ => RunOutcome::Broken(Broken::Died),
        }
    }

    /// Once, not for every file.
    fn tell(&self, what: &str) {
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!("{what}");
        }
    }
}
