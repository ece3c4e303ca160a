//! Live or test, as an argument of a command.
//! Whatever is made for the one never sees anything of the other.

use clap::ValueEnum;

#[derive(Clone, Copy, ValueEnum)]
pub enum Mode {
    Live,
    Test,
}
