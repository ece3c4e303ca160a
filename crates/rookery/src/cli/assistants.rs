//! `rookery assistants evaluate`: how good sorting and reading are on a corpus with labels. Rules and corrections need no
//! database; a model is the operator's, and its calls cost what they cost.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use rookery_assistants::evaluate::mails::{self, Labelled};
use rookery_assistants::evaluate::{Half, documents};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::confined::run::Confined;
use rookery_base::error::Result;
use rookery_base::random::Random;
use rookery_reading::text;

#[derive(Subcommand)]
pub enum AssistantsCommand {
    /// Sort the mails of a corpus, read its documents (by rules), and compare with its labels.
    Evaluate {
        /// What sorts.
        #[arg(long, value_enum, default_value = "rules")]
        engine: Engine,
        /// A folder with mails/*.eml and mails/labels.jsonl, documents/ and documents/labels.jsonl, or with tables of
        /// text,category.
        #[arg(long, default_value = "tests/assistants/corpus", value_name = "FOLDER")]
        corpus: PathBuf,
        /// Which half. The sealed one is for final figures: nothing is changed for what it shows.
        #[arg(long, value_enum, default_value = "open")]
        half: CorpusPart,
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
pub enum CorpusPart {
    Open,
    Sealed,
    All,
}

pub async fn run(command: AssistantsCommand, load: impl FnOnce() -> Result<Config>) -> Result<()> {
    let AssistantsCommand::Evaluate { engine, corpus, half, json } = command;
    let all = mails::read(&corpus)?;
    let asked = |mail: &&Labelled| half.holds(mail.half);
    let mails: Vec<Labelled> = all.iter().filter(asked).cloned().collect();
    let report = match engine {
        Engine::Rules => mails::by_rules(&mails),
        // The sealed half is not looked at before the end, also not to learn from it.
        Engine::Learned if half != CorpusPart::Sealed => mails::by_its_own_corrections(&mails),
        Engine::Learned => {
            let taught: Vec<Labelled> = all.iter().filter(|mail| !asked(mail)).cloned().collect();
            mails::by_corrections(&taught, &mails)
        }
        Engine::Model => {
            let app = App::new(load()?, Clock::system(), Random::system())?;
            mails::by_model(&app, &mails).await?
        }
    };
    let mut papers = documents::read(&corpus)?;
    papers.retain(|paper| engine == Engine::Rules && half.holds(paper.half));
    let read = if papers.is_empty() {
        None
    } else {
        Some(documents::by_rules(&Confined::by_ourselves(), &papers).await?)
    };
    if json {
        let both = serde_json::json!({ "mails": report, "documents": read });
        println!("{}", text::visible_json(&both.to_string()));
        return Ok(());
    }
    println!("{}", text::visible(&report.render()));
    if let Some(read) = read {
        println!("\n{}", text::visible(&read.render()));
    }
    Ok(())
}

impl CorpusPart {
    fn holds(self, half: Half) -> bool {
        match self {
            Self::Open => half == Half::Open,
            Self::Sealed => half == Half::Sealed,
            Self::All => true,
        }
    }
}
