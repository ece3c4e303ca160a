//! The binary `rookery`.
//! Everything it does is in the library, where tests can reach it.

use std::process::ExitCode;

/// The allocator of musl takes a lock for every piece of memory (docs/performance.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    // Before there is a second thread: walls stand around the thread that raises them.
    if arguments.get(1).is_some_and(|word| word == "confined") {
        return rookery::cli::confined(&arguments[2..]);
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(rookery::cli::run(arguments)),
        Err(error) => {
            eprintln!("rookery: {error}");
            ExitCode::FAILURE
        }
    }
}
