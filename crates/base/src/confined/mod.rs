//! Strangers' files are parsed in a child process of our own program that confines itself before its first byte of input:
//! `rookery confined read`. Whatever a file does to a parser, it happens to a process that has no files, no network, little
//! memory and little time.
//!
//! `run` is the parent's side, `child` the child's; `walls` is what stands around the child.

pub mod child;
pub mod job;
pub mod run;
pub mod scans;
pub mod walls;
