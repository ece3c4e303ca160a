//! Live or test, as an argument of a command. Keys and webhooks of one mode never see data of the other, so the
//! mode is always explicit.

use clap::ValueEnum;

#[derive(Clone, Copy, ValueEnum)]
pub enum Mode {
    Live,
    Test,
}
