//! `rookery demo`: fills a live workspace with believable mail, so that one can look around before there is any.
//! Prints a readable line, or one JSON object with `--json`.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::random::Random;
use rookery_reading::text;
use rookery_upkeep::demo::fill::{FillOptions, Filled, fill};

#[derive(clap::Args)]
pub struct DemoArguments {
    #[arg(long, value_name = "wsp_…")]
    workspace: WorkspaceId,
    /// The same number gives the same mail.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also into a workspace that has mail of its own.
    #[arg(long)]
    anyway: bool,
    /// Print one JSON object instead of a sentence.
    #[arg(long)]
    json: bool,
}

/// Fills a workspace, with a bar that shows how far it is.
pub async fn fill_workspace(config: Config, workspace: WorkspaceId, wanted: FillOptions) -> Result<Filled> {
    // The database's time is now; the clock of the verbs stands where each step happened.
    let clock = Clock::set_to(Clock::system().now());
    let mut app = App::new(config, clock, Random::system())?;
    let now = sqlx::query_scalar!(r#"select clock_timestamp() as "time!""#)
        .fetch_one(&mut *app.connection().await?)
        .await?;
    app.clock.advance(now - app.clock.now());
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left").map_err(Error::internal)?;
    let progress = ProgressBar::new(0).with_style(style);
    let told = |done: usize, of: usize| {
        progress.set_length(of as u64);
        progress.set_position(done as u64);
    };
    let filled = fill(&mut app, workspace, wanted, now, told).await?;
    progress.finish_and_clear();
    Ok(filled)
}

pub async fn demo(config: Config, arguments: DemoArguments) -> Result<()> {
    let wanted = FillOptions { seed: arguments.seed, anyway: arguments.anyway, one_in: 1 };
    let filled = fill_workspace(config, arguments.workspace, wanted).await?;
    if arguments.json {
        let people: Vec<Value> =
            filled.people.iter().map(|(id, name)| json!({ "user": id, "name": name })).collect();
        let agents: Vec<Value> =
            filled.agents.iter().map(|(name, key)| json!({ "name": name, "key": key })).collect();
        let object = json!({
            "workspace": arguments.workspace,
            "conversations": filled.conversations,
            "inboxes": filled.inboxes,
            "people": people,
            "agents": agents,
        });
        println!("{}", text::visible_json(&object.to_string()));
        return Ok(());
    }
    println!(
        "Made {} conversations in {}. Mail to these people stays here.",
        filled.conversations,
        filled.inboxes.join(", ")
    );
    for (name, key) in &filled.agents {
        println!("The key of {name}, not shown again: {key}");
    }
    Ok(())
}
