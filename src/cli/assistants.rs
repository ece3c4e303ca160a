//! `rookery assistants evaluate`: how good sorting is on a corpus with labels. Rules and corrections need no database; a
//! model is the operator's, and its calls cost what they cost.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::app::App;
use crate::assistants::evaluate::{self, Half, Labelled};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Result;
use crate::random::Random;
use crate::text;

#[derive(Subcommand)]
pub enum Command {
    /// Sort the mails of a corpus and compare with its labels.
    Evaluate {
        /// What sorts.
        #[arg(long, value_enum, default_value = "rules")]
        engine: Engine,
        /// A folder with mails/*.eml and mails/labels.jsonl, or with tables of text,category.
        #[arg(long, default_value = "tests/assistants/corpus", value_name = "FOLDER")]
        corpus: PathBuf,
        /// Which half. The sealed one is for final figures: nothing is changed for what it shows.
        #[arg(long, value_enum, default_value = "open")]
        half: Part,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Engine {
    Rules,
    /// Taught with up to 50 corrections of each topic: the sealed half by the open one, else each part by the other.
    Learned,
    /// The operator's (ROOKERY_ASSISTANTS_URL, ROOKERY_ASSISTANTS_MODEL).
    Model,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Part {
    Open,
    Sealed,
    All,
}

pub async fn run(command: Command, load: impl FnOnce() -> Result<Config>) -> Result<()> {
    let Command::Evaluate { engine, corpus, half, json } = command;
    let all = evaluate::read(&corpus)?;
    let asked = |mail: &&Labelled| match half {
        Part::Open => mail.half == Half::Open,
        Part::Sealed => mail.half == Half::Sealed,
        Part::All => true,
    };
    let mails: Vec<Labelled> = all.iter().filter(asked).cloned().collect();
    let report = match engine {
        Engine::Rules => evaluate::by_rules(&mails),
        // The sealed half is not looked at before the end, also not to learn from it.
        Engine::Learned if half != Part::Sealed => evaluate::by_its_own_corrections(&mails),
        Engine::Learned => {
            let taught: Vec<Labelled> = all.iter().filter(|mail| !asked(mail)).cloned().collect();
            evaluate::by_corrections(&taught, &mails)
        }
        Engine::Model => {
            let app = App::new(load()?, Clock::system(), Random::system())?;
            evaluate::by_model(&app, &mails).await?
        }
    };
    match json {
        true => println!("{}", text::visible_json(&serde_json::to_string(&report)?)),
        false => println!("{}", text::visible(&report.told())),
    }
    Ok(())
}
