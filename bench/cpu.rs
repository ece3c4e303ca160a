//! The processor time that this process and a PostgreSQL cluster have used, as the kernel counts it.

#![allow(dead_code, reason = "each bench uses a part of it")]

use std::fs;
use std::ops::Sub;
use std::path::Path;
use std::process::Command;

/// Microseconds since the processes began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub ours: f64,
    pub postgres: f64,
}

impl Sub for Cpu {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self { ours: self.ours - earlier.ours, postgres: self.postgres - earlier.postgres }
    }
}

pub struct Meter {
    postmaster: u32,
    microseconds_of_a_tick: f64,
}

impl Meter {
    /// Of the cluster whose data are in this folder.
    pub fn new(data: &Path) -> Self {
        let file = fs::read_to_string(data.join("postmaster.pid")).expect("a running cluster has this file");
        let postmaster = file.lines().next().and_then(|line| line.trim().parse().ok());
        let ticks = Command::new("getconf").arg("CLK_TCK").output().expect("getconf runs");
        let ticks: f64 = String::from_utf8_lossy(&ticks.stdout).trim().parse().expect("ticks a second");
        Self { postmaster: postmaster.expect("a process id"), microseconds_of_a_tick: 1e6 / ticks }
    }

    /// Microseconds of other processes of ours, and of PostgreSQL.
    pub fn read_of(&self, processes: &[u32]) -> Cpu {
        let ticks = processes.iter().filter_map(|id| Stat::of(&id.to_string())).map(|stat| stat.ticks);
        Cpu { ours: ticks.sum::<u64>() as f64 * self.microseconds_of_a_tick, ..self.read() }
    }

    pub fn read(&self) -> Cpu {
        let ours = Stat::of("self").expect("we are running");
        let postmaster = Stat::of(&self.postmaster.to_string()).expect("PostgreSQL is running");
        let processes = fs::read_dir("/proc").expect("processes can be listed").flatten();
        let running = processes.filter_map(|entry| Stat::of(&entry.file_name().to_string_lossy()));
        let children: u64 =
            running.filter(|stat| stat.parent == self.postmaster).map(|stat| stat.ticks).sum();
        // A backend that has ended is counted by its parent.
        let postgres = postmaster.ticks + postmaster.ended_children + children;
        Cpu {
            ours: ours.ticks as f64 * self.microseconds_of_a_tick,
            postgres: postgres as f64 * self.microseconds_of_a_tick,
        }
    }
}

struct Stat {
    parent: u32,
    /// In user and kernel mode together, of all threads.
    ticks: u64,
    ended_children: u64,
}

impl Stat {
    fn of(process: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name in brackets may hold anything; numbers follow it.
        let numbers: Vec<u64> =
            text.rsplit_once(')')?.1.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
        Some(Self {
            parent: u32::try_from(*numbers.get(1)?).ok()?,
            ticks: numbers.get(11)? + numbers.get(12)?,
            ended_children: numbers.get(13)? + numbers.get(14)?,
        })
    }
}
