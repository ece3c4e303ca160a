//! What stands around a child that reads a stranger's file: no new privileges, Landlock without files and TCP, limits of
//! memory, time, files and size, and a list of system calls; any other ends the process.
//!
//! They are raised before the first byte of input and cannot be taken down again. Without Landlock the rest stands and
//! still lets no file be opened, but no scan is read; without seccomp nothing is parsed.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The newest rules that we know of; an older kernel keeps those it has.
const RULES: ABI = ABI::V5;
const MEMORY: u64 = 512 << 20;
/// Tesseract's models are large.
const MEMORY_OF_WORDS: u64 = 1 << 30;
const CPU_SECONDS: u64 = 10;
/// Standard input, output and error, and no more.
const FILES: u64 = 3;
const FILES_OF_WORDS: u64 = 64;

/// What reading may ask of the kernel: memory, time, chance, its three pipes, and to end.
const ALLOWED: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same with a condition: memory that holds no code.
const ALLOWED_WITHOUT_CODE: &[i64] = &[libc::SYS_mmap, libc::SYS_mprotect];

/// Its pipes, and no file that whoever started the service left open.
const ALLOWED_OF_PIPES: &[(i64, &[u64])] =
    &[(libc::SYS_read, &[0]), (libc::SYS_write, &[1, 2]), (libc::SYS_writev, &[1, 2])];

/// What tesseract needs besides: to begin, to find its libraries and models, and to look at itself. No process, no thread,
/// no socket. Anything else is refused, and it may go on without.
const ALLOWED_TO_WORDS: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_gettimeofday,
    libc::SYS_clock_nanosleep,
    libc::SYS_sched_getaffinity,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

/// Which walls to raise; all of them but where a test simulates an old kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub landlock: bool,
    pub seccomp: bool,
}

pub const ALL: Plan = Plan { landlock: true, seccomp: true };

/// What stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    pub landlock: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsafe(String);

/// Around our own parsers. The order is a must: Landlock needs one more file for a moment, seccomp lets none of this
/// happen after it.
pub fn raise(plan: Plan) -> Result<Raised, Unsafe> {
    step_back();
    rustix::thread::set_no_new_privs(true).map_err(unsafe_at("no new privileges"))?;
    let landlock = plan.landlock && keep_from_files(&[])?;
    let limits = [
        (Resource::As, MEMORY),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, FILES),
    ];
    limit(&limits)?;
    if !plan.seccomp {
        return Err(Unsafe("this kernel has no seccomp: nothing is parsed".to_owned()));
    }
    apply_filter(&only_allowed().map_err(unsafe_at("seccomp"))?).map_err(unsafe_at("seccomp"))?;
    Ok(Raised { landlock })
}

/// Around tesseract, which is a program of its own: it may read what belongs to the system, and nothing else. It has to open
/// files, and only Landlock says which: without it, it is not begun.
pub fn raise_for_words(plan: Plan, readable: &[&str]) -> Result<(), Unsafe> {
    step_back();
    rustix::thread::set_no_new_privs(true).map_err(unsafe_at("no new privileges"))?;
    if !(plan.landlock && keep_from_files(readable)?) {
        return Err(Unsafe("this kernel has no Landlock: no scan is read".to_owned()));
    }
    let limits = [
        (Resource::As, MEMORY_OF_WORDS),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, FILES_OF_WORDS),
    ];
    limit(&limits)?;
    apply_filter(&only_allowed_to_words().map_err(unsafe_at("seccomp"))?).map_err(unsafe_at("seccomp"))
}

/// False when the kernel has no Landlock.
fn keep_from_files(readable: &[&str]) -> Result<bool, Unsafe> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(RULES)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(unsafe_at("Landlock"))?;
    let read = AccessFs::from_read(RULES);
    let ruleset = ruleset.add_rules(path_beneath_rules(readable, read)).map_err(unsafe_at("Landlock"))?;
    let status = ruleset.restrict_self().map_err(unsafe_at("Landlock"))?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn limit(limits: &[(Resource, u64)]) -> Result<(), Unsafe> {
    for (resource, most) in limits {
        let rule = Rlimit { current: Some(*most), maximum: Some(*most) };
        setrlimit(*resource, rule).map_err(unsafe_at("limits"))?;
    }
    Ok(())
}

fn only_allowed() -> Result<BpfProgram, seccompiler::BackendError> {
    let code = libc::PROT_EXEC as u64;
    let without_code = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(code), 0)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, vec![])).collect();
    for call in ALLOWED_WITHOUT_CODE {
        rules.insert(*call, vec![SeccompRule::new(vec![without_code.clone()])?]);
    }
    for (call, pipes) in ALLOWED_OF_PIPES {
        let pipe = |pipe: &u64| SeccompRule::new(vec![equal(0, *pipe)?]);
        rules.insert(*call, pipes.iter().map(pipe).collect::<Result<_, _>>()?);
    }
    let here: TargetArch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, here)?.try_into()
}

fn only_allowed_to_words() -> Result<BpfProgram, seccompiler::BackendError> {
    let allowed = ALLOWED.iter().chain(ALLOWED_TO_WORDS);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = allowed.map(|call| (*call, vec![])).collect();
    // It may ask for its own limits, and set nobody's.
    let own = vec![equal(0, 0)?, SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?];
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(own)?]);
    let here: TargetArch = std::env::consts::ARCH.try_into()?;
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, refusal, SeccompAction::Allow, here)?.try_into()
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// Others go first: the service has mail to take, and when memory ends it is not the service that goes. No copy of the file
/// is left behind when it dies.
fn step_back() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let _ = rustix::process::setpriority_process(None, 5);
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn unsafe_at<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Unsafe {
    move |error| Unsafe(format!("{what}: {error}"))
}
