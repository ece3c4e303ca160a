//! `rookery backup create|verify|restore|list|prune|keys`: what an operator does with backups. `create` and `verify` run
//! beside the service; `restore` needs an empty database, and nothing that serves it. Exit code 1 says that something is to
//! be done, also when a backup was made that is not whole.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::migrate;
use crate::cli::output::CommandOutput;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::config::Config;
use rookery_base::error::{Error, Result};
use rookery_base::random::Random;
use rookery_reading::text;
use rookery_upkeep::backups::manifest::{self, Manifest};
use rookery_upkeep::backups::place::BackupPlace;
use rookery_upkeep::backups::prune::Pruned;
use rookery_upkeep::backups::restore::Way;
use rookery_upkeep::backups::{create, keys, prune, restore, verify};
use rookery_upkeep::erasures::replay;

#[derive(clap::Args)]
pub struct BackupArguments {
    /// Print one JSON object instead of sentences.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: BackupCommand,
}

#[derive(clap::Subcommand)]
enum BackupCommand {
    /// Make a backup in ROOKERY_BACKUPS, encrypted with ROOKERY_BACKUP_KEY. Safe beside a running service.
    Create {
        /// How many backups to keep. The newest that was verified always stays.
        #[arg(long, default_value_t = 30, value_name = "N")]
        keep: usize,
    },
    /// Prove that a backup can be restored: read every byte, restore it into a database of its own, compare.
    Verify {
        /// The newest when not given.
        name: Option<String>,
    },
    /// Bring a backup back: into the database of the settings, which must be empty, and into ROOKERY_BLOBS.
    ///
    /// Anyone erased since then is erased again before this ends.
    Restore {
        /// The newest when not given.
        name: Option<String>,
        /// Leave out what roles may do; grant it after with: rookery migrate --grant-to ROLE
        #[arg(long)]
        without_rights: bool,
        /// Restore into a blob store that has files the backup does not know. Only when the database that they belong to is
        /// gone for good: the service removes them two days after it starts.
        #[arg(long)]
        take_over_files: bool,
    },
    /// The backups there are, and which of them are whole and were proven.
    List,
    /// Remove old backups now, as `create` does after it made one: to make room.
    Prune {
        /// How many backups to keep. The newest that was verified always stays.
        #[arg(long, default_value_t = 30, value_name = "N")]
        keep: usize,
    },
    /// The fingerprints of the keys in ROOKERY_BACKUP_KEY: a backup tells which it needs.
    Keys,
}

pub async fn backup(config: Config, arguments: BackupArguments) -> Result<()> {
    let app = App::new(config, Clock::system(), Random::system())?;
    let CommandOutput { line, object, left } = match arguments.command {
        BackupCommand::Create { keep } => {
            app.follow_the_databases_clock().await?;
            made(&app, keep).await?
        }
        BackupCommand::Verify { name } => {
            app.follow_the_databases_clock().await?;
            proved(&app, name.as_deref()).await?
        }
        BackupCommand::Restore { name, without_rights, take_over_files } => {
            let way = Way { rights: !without_rights, take_over_files };
            brought_back(&app, name.as_deref(), way).await?
        }
        BackupCommand::List => listed(&app)?,
        BackupCommand::Prune { keep } => {
            let pruned = pruned(&app, keep).await?;
            let line = format!("Removed {} old backups and {} files.", pruned.backups, pruned.files);
            let object = json!({ "removed": { "backups": pruned.backups, "files": pruned.files } });
            CommandOutput::whole(line, object)
        }
        BackupCommand::Keys => fingerprints(&app)?,
    };
    let told = if arguments.json { text::visible_json(&object.to_string()) } else { text::visible(&line) };
    println!("{told}");
    left.map_or(Ok(()), |left| Err(Error::internal(left)))
}

async fn made(app: &App, keep: usize) -> Result<CommandOutput> {
    let progress = bar()?;
    let made = create::create(app, &|files, bytes| show(&progress, files, bytes)).await;
    progress.finish_and_clear();
    let made = made?;
    let pruned = pruned(app, keep).await?;
    let line = format!(
        "Made the backup {} in {:.1} s: {} rows, {} files of {} MB, {} of them new ({} MB). Removed {} old backups.\n\
         It is proven when it was restored once: rookery backup verify",
        made.name,
        made.seconds,
        made.rows(),
        made.files.count,
        megabytes(made.files.bytes),
        made.files.new_count,
        megabytes(made.files.new_bytes),
        pruned.backups,
    );
    let object =
        json!({ "backup": to_json(&made), "removed": { "backups": pruned.backups, "files": pruned.files } });
    let such = create::such(app, &made).await?;
    Ok(CommandOutput { line, object, left: remarked(&made, &such) })
}

/// What is to be done about files that were not as they should be.
fn remarked(made: &Manifest, such: &str) -> Option<String> {
    let (name, remarks) = (&made.name, &made.remarks);
    if remarks.lost > 0 {
        return Some(format!(
            "The backup {name} is not whole: {} files that rows name are not in the blob store, such as {such}. It is kept, but not \
             instead of one that is whole. Is ROOKERY_BLOBS what it was? If they are gone, an earlier backup may have them: rookery \
             backup list",
            remarks.lost
        ));
    }
    (remarks.unlike > 0).then(|| {
        format!(
            "{} files of the blob store are not what an earlier backup has of them, such as {such}: the disk of ROOKERY_BLOBS may \
             be failing. Where backups had a sound copy, the backup {name} has it too.",
            remarks.unlike
        )
    })
}

async fn pruned(app: &App, keep: usize) -> Result<Pruned> {
    let pruned = prune::prune(app, keep).await?;
    for unread in &pruned.unread {
        eprintln!(
            "This backup cannot be read, so it stays, and no file was removed. {}",
            text::visible(unread)
        );
    }
    Ok(pruned)
}

fn fingerprints(app: &App) -> Result<CommandOutput> {
    let all = keys::list_fingerprints(&BackupPlace::from_config(&app.config)?.keys);
    let lines: Vec<String> = all.iter().map(|(name, print)| format!("{print}  {name}")).collect();
    let object = |(name, print): &(String, String)| json!({ "name": name, "fingerprint": print });
    Ok(CommandOutput::whole(lines.join("\n"), Value::Array(all.iter().map(object).collect())))
}

async fn proved(app: &App, name: Option<&str>) -> Result<CommandOutput> {
    let progress = bar()?;
    let proved = verify::verify(app, name, &|files, bytes| show(&progress, files, bytes)).await;
    progress.finish_and_clear();
    let (manifest, proven) = proved?;
    let line = format!(
        "The backup {} was restored and is whole: {} rows of {} tables, {} files. It took {:.1} s.",
        manifest.name,
        manifest.rows(),
        manifest.databases.iter().map(|one| one.tables.len()).sum::<usize>(),
        manifest.files.count,
        proven.seconds,
    );
    Ok(CommandOutput::whole(line, json!({ "backup": to_json(&manifest), "proven": proven })))
}

async fn brought_back(app: &App, name: Option<&str>, way: Way) -> Result<CommandOutput> {
    let place = BackupPlace::from_config(&app.config)?;
    let _lock = place.lock_to_read()?;
    let manifest = Manifest::read(&place, &place.choose(name)?)?;
    let there = restore::check(app, &place, &manifest, way).await?;
    let rights = way.rights;
    let progress = bar()?;
    let nothing_there = !there.contains(&true);
    let telling = |files, bytes| show(&progress, files, bytes);
    let restored = restore::files(app, &place, &manifest, nothing_there, &telling).await;
    progress.finish_and_clear();
    let restored = restored?;
    // From here on a service that is started finishes what is left: it refuses an older schema, and erases again.
    restore::databases(app, &place, &manifest, rights, &there).await?;
    migrate::quietly(&app.config).await?;
    for unread in &restored.unread {
        let unread = text::visible(unread);
        eprintln!(
            "Who was erased according to this backup is not known, because it cannot be read. {unread}"
        );
    }
    if !manifest.is_whole() {
        let lost = manifest.remarks.lost;
        eprintln!("This backup is not whole: {lost} files that its rows name were missing when it was made.");
    }
    app.follow_the_databases_clock().await?;
    let erased = match replay::replay(app).await {
        Ok(erased) => Some(erased),
        // The service's role may not have its rights yet. It erases when it starts.
        Err(error) if !rights => {
            eprintln!("Nobody was erased again yet ({error}). The service does it before it serves.");
            None
        }
        Err(error) => return Err(error),
    };
    let line = format!(
        "Restored the backup {} of {}: {} rows, {} files ({} were there). Erased again: {}.\n\
         Now start the service: rookery serve",
        manifest.name,
        manifest.created_at,
        manifest.rows(),
        restored.files,
        restored.there,
        erased.unwrap_or_default(),
    );
    let object = json!({
        "backup": to_json(&manifest),
        "files": restored.files,
        "filesThere": restored.there,
        "erasuresAdded": restored.erasures,
        "erasedAgain": erased,
    });
    Ok(CommandOutput::whole(line, object))
}

fn listed(app: &App) -> Result<CommandOutput> {
    let place = BackupPlace::from_config(&app.config)?;
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for name in place.list()? {
        match Manifest::read(&place, &name) {
            Ok(manifest) => {
                let proven = manifest::proven(&place, &manifest);
                let when = match &proven {
                    Some(proven) => format!("proven {}", proven.at),
                    None if manifest.is_whole() => "not proven".to_owned(),
                    None => format!("NOT WHOLE, {} files are missing", manifest.remarks.lost),
                };
                let (rows, files) = (manifest.rows(), manifest.files.count);
                lines.push(format!(
                    "{name}  rookery {}, {rows} rows, {files} files, {when}",
                    manifest.version
                ));
                objects.push(json!({ "backup": to_json(&manifest), "proven": proven }));
            }
            Err(error) => {
                lines.push(format!("{name}  {error}"));
                objects.push(json!({ "backup": { "name": name }, "error": error.to_string() }));
            }
        }
    }
    if lines.is_empty() {
        lines.push("There is no backup yet. Make one: rookery backup create".to_owned());
    }
    Ok(CommandOutput::whole(lines.join("\n"), Value::Array(objects)))
}

fn to_json(manifest: &Manifest) -> Value {
    json!({
        "name": manifest.name,
        "createdAt": manifest.created_at,
        "seconds": manifest.seconds,
        "version": manifest.version,
        "schema": manifest.schema,
        "rows": manifest.rows(),
        "files": manifest.files,
        "whole": manifest.is_whole(),
        "remarks": manifest.remarks,
        "key": manifest.key,
        "keyName": manifest.key_name,
        "secretKey": manifest.secret_key,
        "secretKeyFingerprint": manifest.secret_key_fingerprint,
    })
}

fn bar() -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} {msg}").map_err(Error::internal)?;
    Ok(ProgressBar::new_spinner().with_style(style))
}

fn show(progress: &ProgressBar, files: u64, bytes: u64) {
    progress.set_message(format!("{files} files, {} MB", megabytes(bytes)));
    progress.tick();
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}
