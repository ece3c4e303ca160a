//! Where a package keeps its settings and secrets, so that an operator types `rookery …` and nothing else. Secrets are files
//! of their own, named like their setting; systemd hands the service copies of them (`LoadCredential=`).
//!
//! None of this counts once the environment names a database or the command a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

const SETTINGS: &str = "/etc/rookery/rookery.toml";
const CREDENTIALS: &str = "/etc/rookery/credentials";
/// Whoever owns it is who the service runs as.
const STATE: &str = "/var/lib/rookery";
/// What systemd puts before the name of a file that it hands over with its folder: `LoadCredential=rookery:FOLDER`.
const HANDED_OVER: &str = "rookery_";

/// The package's settings, when they are the ones to use.
pub fn settings(given: &Option<PathBuf>, environment: &HashMap<String, String>) -> Option<&'static Path> {
    let named = ["ROOKERY_DATABASE_URL", "ROOKERY_DATABASE_URL_FILE"];
    let own = given.is_some() || named.iter().any(|name| environment.contains_key(*name));
    Some(Path::new(SETTINGS)).filter(|settings| !own && settings.exists())
}

/// Secrets that are files, as settings: `ROOKERY_RELAY_FILE` is the file named `relay`. What systemd hands over comes before
/// the package's own folder, which the service cannot read.
pub fn credentials(installed: bool, environment: &HashMap<String, String>) -> Result<Vec<(String, String)>> {
    match environment.get("CREDENTIALS_DIRECTORY") {
        Some(folder) => files(Path::new(folder), HANDED_OVER),
        None if installed => files(Path::new(CREDENTIALS), ""),
        None => Ok(Vec::new()),
    }
}

fn files(folder: &Path, prefix: &str) -> Result<Vec<(String, String)>> {
    let unreadable = |error: std::io::Error| {
        Error::internal(format!(
            "The secrets in {} cannot be read ({error}). Run this as root.",
            folder.display()
        ))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(prefix));
        // What an editor or a package manager leaves behind is no secret's name.
        let Some(name) = name.filter(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) else {
            continue;
        };
        let Some(file) = path.to_str() else { continue };
        found.push((format!("ROOKERY_{}_FILE", name.to_uppercase()), file.to_owned()));
    }
    Ok(found)
}

/// With a package's settings, root becomes the user that the service runs as: the database knows that user, and files that
/// are written must be the service's. Does not return when it has.
pub fn become_owner(given: &Option<PathBuf>, arguments: &[OsString]) -> Result<()> {
    let environment: HashMap<String, String> = std::env::vars().collect();
    if settings(given, &environment).is_none() || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = match std::fs::metadata(STATE) {
        Ok(state) if state.uid() != 0 => state,
        _ => return Ok(()),
    };
    let program = std::env::current_exe()?;
    let error = Command::new(program).args(arguments.iter().skip(1)).uid(owner.uid()).gid(owner.gid()).exec();
    Err(Error::internal(format!("This cannot be run as the owner of {STATE}: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_settings() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["rookery_relay", "rookery_secret_key", "rookery_relay.dpkg-new", "other"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let environment =
            HashMap::from([("CREDENTIALS_DIRECTORY".to_owned(), folder.path().to_str().unwrap().to_owned())]);
        let mut found = credentials(false, &environment).unwrap();
        found.sort();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ROOKERY_RELAY_FILE", "ROOKERY_SECRET_KEY_FILE"]);
        assert!(found[0].1.ends_with("/rookery_relay"), "{}", found[0].1);
        assert_eq!(credentials(false, &HashMap::new()).unwrap(), []);
    }

    #[test]
    fn a_database_or_a_file_that_is_named_is_used_instead_of_the_package() {
        let database = HashMap::from([("ROOKERY_DATABASE_URL".to_owned(), "x".to_owned())]);
        assert_eq!(settings(&None, &database), None);
        assert_eq!(settings(&Some("mine.toml".into()), &HashMap::new()), None);
    }
}
