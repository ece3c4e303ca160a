//! `rookery admin reseal`: re-encrypts every stored secret with the newest key of ROOKERY_SECRET_KEY, so that
//! older keys can be removed.
//!
//! Safe to repeat and to run beside the service: a secret is replaced only if it has not changed since it was
//! read. A secret that no key decrypts is reported and skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::cli::output::CommandOutput;
use rookery_assistants::settings as model;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{
    BusySourceId, ErasureId, ExportId, PersonId, SendingServiceId, WebhookId, WorkspaceId,
};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::store::db::Tx;
use rookery_core::conversations::secure::vault;
use rookery_core::workspace::{audit, second_factor, single_sign_on};
use rookery_mail::outgoing::dkim;
use rookery_product::app_mail::connect;
use rookery_product::bookings::busy;
use rookery_upkeep::erasures::resealing;
use rookery_upkeep::exports::ask as exports;
use rookery_webhooks::secret;

/// Workspaces that are looked at together.
const BATCH: i64 = 100;
/// How long links and return paths in mail that was sent can still be used.
const LINKS_COME_BACK: &str = "60 days";

/// What a pass over all stored secrets found.
#[derive(Default)]
pub struct ResealReport {
    moved: u64,
    /// How many are sealed with each key.
    by_key: BTreeMap<String, u64>,
    /// Secrets that no key decrypts: where each is stored, and the id of its key if it carries one.
    unreadable: Vec<(String, Option<String>)>,
    /// Fenced workspaces, which must not be written to.
    fenced: BTreeSet<WorkspaceId>,
}

enum SealedRow {
    Domain(String),
    Webhook(WebhookId),
    Connection(SendingServiceId),
    Audit,
    SecondFactor(PersonId),
    Provider,
    Model,
    SecureKey,
    Export(ExportId),
    Erasure(ErasureId),
    Calendar(BusySourceId),
}

#[derive(Clone, Copy, PartialEq)]
enum Task {
    Look,
    Move,
}

pub async fn reseal(app: &App) -> Result<ResealReport> {
    let all = sqlx::query_scalar!(r#"select count(*) as "n!" from workspaces"#).fetch_one(&app.pool).await?;
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} workspaces, {eta} left");
    let progress = ProgressBar::new(2 * u64::try_from(all).unwrap_or_default())
        .with_style(style.map_err(Error::internal)?);
    let moved = walk(app, Task::Move, &progress).await?;
    // The second pass also counts secrets written meanwhile, perhaps by a server without the newest key.
    let left = walk(app, Task::Look, &progress).await?;
    progress.finish_and_clear();
    Ok(ResealReport { moved: moved.moved, ..left })
}

/// Logs at start which secrets cannot be decrypted, before they are needed.
pub async fn check(app: Arc<App>) {
    let found = match walk(&app, Task::Look, &ProgressBar::hidden()).await {
        Ok(found) => found,
        Err(error) => return tracing::warn!(%error, "the stored secrets could not be checked"),
    };
    let mut by_key: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for (place, key) in &found.unreadable {
        by_key.entry(key.as_deref()).or_default().push(place);
    }
    for (key, places) in by_key {
        let (secrets, first) = (places.len(), places.first());
        tracing::error!(
            key = key.unwrap_or("not known"),
            secrets,
            first,
            "stored secrets were sealed with a key that is not in ROOKERY_SECRET_KEY: put it back"
        );
    }
}

async fn walk(app: &App, task: Task, progress: &ProgressBar) -> Result<ResealReport> {
    let (mut found, mut last) = (ResealReport::default(), 0);
    loop {
        let rows = sqlx::query!(
            "select id, fenced_at is not null as fenced from workspaces where id > $1 order by id limit $2",
            last,
            BATCH
        )
        .fetch_all(&app.pool)
        .await?;
        let batch: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let Some(newest) = batch.last() else { break };
        last = *newest;
        let fenced = rows.iter().filter(|row| row.fenced == Some(true));
        found.fenced.extend(fenced.map(|row| WorkspaceId(row.id)));
        let mut conn = app.connection().await?;
        let domains =
            dkim::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Domain));
        let webhooks =
            secret::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Webhook));
        let connections =
            connect::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Connection));
        let audits =
            audit::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, |_| SealedRow::Audit));
        let codes = second_factor::stored(&mut conn, &batch)
            .await?
            .into_iter()
            .map(|one| row(one, SealedRow::SecondFactor));
        let providers = single_sign_on::stored(&mut conn, &batch)
            .await?
            .into_iter()
            .map(|one| row(one, |_| SealedRow::Provider));
        let models =
            model::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, |_| SealedRow::Model));
        let secure =
            vault::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, |_| SealedRow::SecureKey));
        let exports =
            exports::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Export));
        let erasures =
            resealing::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Erasure));
        let calendars =
            busy::stored(&mut conn, &batch).await?.into_iter().map(|one| row(one, SealedRow::Calendar));
        drop(conn);
        let codes = codes
            .chain(calendars)
            .chain(providers)
            .chain(exports)
            .chain(erasures)
            .chain(models)
            .chain(secure);
        for stored in domains.chain(webhooks).chain(connections).chain(audits).chain(codes) {
            found.look_at(app, task, stored).await?;
        }
        progress.inc(batch.len() as u64);
    }
    found.look_at_list(app, task).await?;
    Ok(found)
}

fn row<I>(stored: Stored<I>, what: impl FnOnce(I) -> SealedRow) -> Stored<SealedRow> {
    let Stored { workspace, id, purpose, context, sealed } = stored;
    Stored { workspace, id: what(id), purpose, context, sealed }
}

impl ResealReport {
    async fn look_at(&mut self, app: &App, task: Task, stored: Stored<SealedRow>) -> Result<()> {
        let keys = app.config.needs_secret_key()?;
        let Stored { workspace, id, purpose, context, sealed } = stored;
        let Some((key, secret)) = sealed::opened_by(keys, purpose, &context, &sealed)? else {
            let key = sealed::key_named(&sealed).map(str::to_owned);
            self.unreadable.push((format!("{id} in {workspace}"), key));
            return Ok(());
        };
        *self.by_key.entry(key.to_owned()).or_default() += 1;
        // Secrets of older versions carry no key id. They are resealed too, so that all carry one.
        let done = sealed::key_named(&sealed) == Some(keys.newest_id());
        if task == Task::Look || done || self.fenced.contains(&workspace) {
            return Ok(());
        }
        let mut tx = app.begin(workspace).await?;
        let anew = sealed::seal(keys, &app.random, purpose, &context, &secret)?;
        self.moved += u64::from(id.replace(&mut tx, &sealed, &anew).await?);
        tx.commit().await
    }

    /// The list of erasures in the blob store carries the keys of workspaces, sealed.
    async fn look_at_list(&mut self, app: &App, task: Task) -> Result<()> {
        let keys = app.config.needs_secret_key()?;
        for listed in resealing::list(app, keys, task == Task::Move).await? {
            self.moved += u64::from(listed.anew);
            match listed.key {
                Some(key) => *self.by_key.entry(key).or_default() += 1,
                None => {
                    let place =
                        format!("the erasure {} in {}, in the blob store", listed.id, listed.workspace);
                    self.unreadable.push((place, None));
                }
            }
        }
        Ok(())
    }

    pub fn summarize(&self, keys: &KeyRing) -> CommandOutput {
        let newest = keys.newest_id();
        let with = |id: &str| self.by_key.get(id).copied().unwrap_or_default();
        let mut lines =
            vec![format!("Sealed {} again. The key {newest} seals {}.", self.moved, with(newest))];
        for (place, key) in &self.unreadable {
            let key = key.as_deref().unwrap_or("that is not known");
            lines.push(format!("Cannot be opened: {place}. It was sealed with a key {key}."));
        }
        for workspace in &self.fenced {
            lines.push(format!("Left as it is: {workspace}, which is being moved."));
        }
        let others: Vec<&str> = keys.all().map(|(id, _)| id).filter(|id| *id != newest).collect();
        let (unused, used): (Vec<&str>, Vec<&str>) = others.into_iter().partition(|id| with(id) == 0);
        lines.extend(used.iter().map(|id| format!("The key {id} still seals {}.", with(id))));
        if !unused.is_empty() {
            lines.push(format!(
                "Seals nothing any more: {}. Links and return paths in mail that left before are checked with \
                 it: take it out of ROOKERY_SECRET_KEY {LINKS_COME_BACK} after the last server began to use {newest}.",
                unused.join(", ")
            ));
        }
        let unreadable = self.unreadable.iter().map(|(place, key)| json!({ "place": place, "key": key }));
        let object = json!({
            "newest": newest,
            "moved": self.moved,
            "sealedWith": keys.all().map(|(id, _)| (id.to_owned(), json!(with(id)))).collect::<serde_json::Map<_, _>>(),
            "unused": unused,
            "unreadable": unreadable.collect::<Vec<_>>(),
            "fenced": self.fenced,
        });
        let left = match (self.unreadable.len(), used.is_empty()) {
            (0, true) => None,
            (0, false) => Some("Some secrets are sealed with an older key still. Run it again.".to_owned()),
            (n, _) => Some(format!(
                "{n} stored secrets cannot be opened. Put their key back into ROOKERY_SECRET_KEY and run this again. \
                 If it is lost, create them again."
            )),
        };
        CommandOutput { line: lines.join("\n"), object, left }
    }
}

impl SealedRow {
    /// False when the secret was changed meanwhile.
    async fn replace(&self, tx: &mut Tx<'_>, old: &[u8], new: &[u8]) -> Result<bool> {
        match self {
            Self::Domain(domain) => dkim::replace(tx, domain, old, new).await,
            Self::Webhook(id) => secret::replace(tx, *id, old, new).await,
            Self::Connection(id) => connect::replace(tx, *id, old, new).await,
            Self::Audit => audit::replace_key(tx, old, new).await,
            Self::SecondFactor(person) => second_factor::replace(tx, *person, old, new).await,
            Self::Provider => single_sign_on::replace(tx, old, new).await,
            Self::Model => model::reseal(tx, old, new).await,
            Self::SecureKey => vault::replace(tx, old, new).await,
            Self::Export(id) => exports::replace(tx, *id, old, new).await,
            Self::Erasure(id) => resealing::replace(tx, *id, old, new).await,
            Self::Calendar(id) => busy::replace(tx, *id, old, new).await,
        }
    }
}

impl fmt::Display for SealedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(domain) => write!(f, "the DKIM key of {domain}"),
            Self::Webhook(id) => write!(f, "a secret of the webhook {id}"),
            Self::Connection(id) => write!(f, "a secret of the sending service {id}"),
            Self::Audit => write!(f, "the key of the audit log"),
            Self::SecondFactor(person) => write!(f, "the second factor of {person}"),
            Self::Provider => write!(f, "the secret of single sign-on"),
            Self::Model => write!(f, "the key of the assistants' model"),
            Self::SecureKey => write!(f, "the key of secure messages"),
            Self::Export(id) => write!(f, "the address of the export {id}"),
            Self::Erasure(id) => write!(f, "the address of the erasure {id}"),
            Self::Calendar(id) => write!(f, "the address of the calendar {id}"),
        }
    }
}
