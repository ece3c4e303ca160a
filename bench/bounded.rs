//! A kept cluster that is held to so much memory, its share of the page cache included, by a control group of its own; and
//! the page cache without its files, as after a restart of the machine. Needs root.

use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rookery_world::cluster::{Cluster, Settings};

const NAME: &str = "rookery-bench-large";

pub struct Bounded {
    pub cluster: Cluster,
    pub group: Group,
}

/// A control group of version 1 or 2, whichever the machine has.
pub struct Group {
    folder: PathBuf,
    limit: &'static str,
    usage: &'static str,
    /// The group that this process was in before.
    home: PathBuf,
}

impl Group {
    pub fn new(bytes: u64) -> Self {
        let own = read_to_string("/proc/self/cgroup").expect("the control groups of this process");
        let within = |controller: &str| {
            let lines = own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
            let mut found = lines.filter(|(controllers, _)| *controllers == controller);
            found.next().map(|(_, path)| path.trim_start_matches('/').to_owned())
        };
        let first = Path::new("/sys/fs/cgroup/memory");
        let (root, home, limit, usage) = if first.exists() {
            (first, within("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), within(""), "memory.max", "memory.current")
        };
        let folder = root.join(NAME);
        // One of a run that was killed.
        let _ = remove_dir(&folder);
        create_dir(&folder).expect("a control group can be made: be root");
        write(folder.join(limit), bytes.to_string()).expect("its memory can be limited");
        Self { folder, limit, usage, home: root.join(home.unwrap_or_default()) }
    }

    /// What it has, and what it may have.
    pub fn told(&self) -> String {
        let figure = |name: &str| {
            let bytes: u64 = read_to_string(self.folder.join(name)).ok()?.trim().parse().ok()?;
            Some(bytes >> 20)
        };
        let [used, most] = [self.usage, self.limit].map(|name| figure(name).unwrap_or_default());
        format!("PostgreSQL with its page cache has {used} of {most} MB")
    }

    /// What this process starts is in the group, and stays there.
    fn around<T>(&self, start: impl FnOnce() -> T) -> T {
        let enter = |group: &Path| write(group.join("cgroup.procs"), std::process::id().to_string());
        enter(&self.folder).expect("the control group can be entered");
        let started = start();
        enter(&self.home).expect("the control group can be left");
        started
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = remove_dir(&self.folder);
    }
}

impl Bounded {
    /// With nothing of it in memory.
    pub fn start(folder: &Path, bytes: u64) -> Self {
        stopped(folder);
        forget_files(folder);
        let group = Group::new(bytes);
        let settings = Settings {
            durable: true,
            in_memory: false,
            shared_buffers: "256MB",
            keep: Some(folder.to_owned()),
            more: &[
                "effective_cache_size = 768MB",
                "maintenance_work_mem = 64MB",
                "max_wal_size = 4GB",
                "random_page_cost = 1.1",
                "track_io_timing = on",
            ],
        };
        let cluster = group.around(|| Cluster::start(&settings));
        Self { cluster, group }
    }
}

/// Waits until the server of this folder, whose `Cluster` was dropped, is down.
fn stopped(folder: &Path) {
    for _ in 0..600 {
        if !folder.join("data/postmaster.pid").exists() {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    panic!("the server of {} does not stop", folder.display());
}

/// Takes the files out of the page cache.
fn forget_files(folder: &Path) {
    let each = "sync; find \"$1\" -type f -size +0 -exec dd if={} iflag=nocache count=0 status=none \\;";
    let done = Command::new("sh").args(["-euc", each, "sh"]).arg(folder).status();
    assert!(done.expect("sh runs").success(), "the page cache can be emptied");
}
