//! `rookery generate FOLDER`: manual pages and shell completions from the definition of the commands, for packages. The same
//! version gives the same bytes.

use std::path::Path;

use clap::Command;
use clap_complete::Shell;

use rookery_base::error::Result;

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

pub fn generate(command: Command, folder: &Path) -> Result<()> {
    let (manual, completions) = (folder.join("man"), folder.join("completions"));
    std::fs::create_dir_all(&manual)?;
    std::fs::create_dir_all(&completions)?;
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut command.clone(), "rookery", &completions)?;
    }
    // One page a command: rookery-admin-create-key.1.
    clap_mangen::generate_to(command, &manual)?;
    Ok(())
}
