//! The binary `rookery`.
//! Everything it does is in the library, where tests can reach it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    rookery::cli::run(std::env::args_os()).await
}
