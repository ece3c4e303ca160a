//! Where things stand: the repository, and the program as cargo built it.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program as cargo built it for the tests or for the bench. Where cargo does not say it, as in a debugger, it stands
/// one folder above the tests.
pub fn program() -> PathBuf {
    let told = std::env::vars_os().find(|(name, _)| name == "CARGO_BIN_EXE_rookery");
    told.map(|(_, path)| path.into()).unwrap_or_else(|| {
        let own = std::env::current_exe().expect("a test is a file");
        own.parent().expect("a folder").join("../rookery")
    })
}
