//! What a workspace chose: each assistant off, by rules or by a model; which model, and that an owner agreed to show it the
//! mail of some inboxes; limits; topics. Without a row there is no model and nothing is drafted.
//!
//! An agreement names the model. With another address or another name it is gone, and so it is when the operator's changes.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;
use url::Url;

use crate::model::Model;
use crate::sort::topics::{self, SortingTopic};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, WorkspaceId};
use rookery_base::secrets::sealed::{self, Stored};
use rookery_base::secrets::secret::Secret;
use rookery_base::store::db::Tx;
use rookery_core::workspace::access::TEAM;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::people::{Person, Role};
use rookery_reading::text;

const PURPOSE: &str = "assistants model key";
const PLACE: &str = "assistants";
const LONGEST: usize = 500;
/// Of a currency: more than anybody means.
const HIGHEST_LIMIT: i64 = 1_000_000;
const HIGHEST_CALLS: i32 = 1_000_000;
const MILLION: i64 = 1_000_000;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Engine {
        Off = "off",
        Rules = "rules",
        Model = "model",
    }
}

/// An owner's word, and to which model it belongs.
#[derive(Clone, Debug)]
pub struct Agreed {
    pub by: String,
    pub at: DateTime<Utc>,
    to: String,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub workspace: WorkspaceId,
    pub sorting: Engine,
    pub drafting: Engine,
    pub reading: Engine,
    /// A model of the workspace's own: address, name and sealed key.
    pub own: Option<(String, String)>,
    key: Option<Vec<u8>>,
    pub price_in: i64,
    pub price_out: i64,
    pub monthly_limit: i64,
    pub daily_calls: i32,
    pub agreed: Option<Agreed>,
    pub inboxes: Vec<MailboxId>,
    pub stopped: Option<(DateTime<Utc>, String)>,
    /// Those of its own, when it has some.
    pub own_topics: Option<Vec<SortingTopic>>,
}

impl Settings {
    fn usual(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            sorting: Engine::Rules,
            drafting: Engine::Off,
            reading: Engine::Rules,
            own: None,
            key: None,
            price_in: 0,
            price_out: 0,
            monthly_limit: 0,
            daily_calls: 500,
            agreed: None,
            inboxes: Vec::new(),
            stopped: None,
            own_topics: None,
        }
    }

    pub fn topics(&self) -> Vec<SortingTopic> {
        self.own_topics.clone().unwrap_or_else(topics::usual)
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The workspace's own model, else the operator's. One whose key cannot be opened is none: that must not keep mail from
    /// being sorted, nor an owner from typing another key.
    pub fn model(&self, app: &App) -> Option<Model> {
        let Some((base, name)) = &self.own else { return Model::of_the_operator(&app.config) };
        let opened =
            self.opened_key(app).and_then(|key| Ok((key, Url::parse(base).map_err(Error::internal)?)));
        let (key, base) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                tracing::warn!(%error, workspace = %self.workspace, "the key of the assistants' model cannot be used");
                return None;
            }
        };
        Some(Model {
            base,
            name: name.clone(),
            key,
            of_the_operator: false,
            price_in: self.price_in,
            price_out: self.price_out,
            monthly_most: None,
        })
    }

    fn opened_key(&self, app: &App) -> Result<Option<Secret>> {
        let Some(sealed) = &self.key else { return Ok(None) };
        let place = sealed::place(self.workspace, PLACE);
        let key = sealed::open(app.config.needs_secret_key()?, PURPOSE, &place, sealed)?;
        Ok(Some(Secret(String::from_utf8(key).map_err(Error::internal)?)))
    }

    /// Whether somebody said stop, here or on the server.
    pub fn is_stopped(&self, app: &App) -> bool {
        self.stopped.is_some() || app.config.assistants_stopped
    }

    /// The model that mail of these inboxes may be shown to: an owner agreed to it for each of them, and it is the team's.
    pub fn may_show(&self, app: &App, inboxes: &[MailboxId], audience: i64) -> Option<Model> {
        let is_agreed = inboxes.iter().all(|inbox| self.inboxes.contains(inbox));
        if audience != TEAM || self.is_stopped(app) || !is_agreed {
            return None;
        }
        let agreed = self.agreed.as_ref()?;
        self.model(app).filter(|model| model.identity() == agreed.to)
    }

    /// What was agreed to is still what would be asked.
    pub fn agreement(&self, app: &App) -> Option<&Agreed> {
        let identity = self.model(app)?.identity();
        self.agreed.as_ref().filter(|agreed| agreed.to == identity)
    }
}

pub async fn load(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Settings> {
    read(conn, workspace, false).await
}

/// The same, and it stays as it is until this transaction ends: who writes what an assistant said looks here first, and
/// whoever says stop waits for them.
pub async fn held(tx: &mut Tx<'_>) -> Result<Settings> {
    let workspace = tx.workspace();
    read(tx, workspace, true).await
}

async fn read(conn: &mut PgConnection, workspace: WorkspaceId, held: bool) -> Result<Settings> {
    if held {
        sqlx::query!("select from assistant_settings where workspace_id = $1 for share", workspace.0)
            .fetch_optional(&mut *conn)
            .await?;
    }
    let row = sqlx::query!(
        r#"select sorting as "sorting: Engine", drafting as "drafting: Engine", reading as "reading: Engine", base_url, model,
               key, price_in, price_out, monthly_limit, daily_calls,
               (select name from people p where p.workspace_id = $1 and p.id = agreed_by) as agreed_by, agreed_at, agreed_to,
               agreed_inboxes as "inboxes: Vec<MailboxId>", stopped_at, stopped_by,
               topics as "topics: Json<Vec<SortingTopic>>"
           from assistant_settings where workspace_id = $1"#,
        workspace.0
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(Settings::usual(workspace)) };
    Ok(Settings {
        workspace,
        sorting: row.sorting,
        drafting: row.drafting,
        reading: row.reading,
        own: row.base_url.zip(row.model),
        key: row.key,
        price_in: row.price_in,
        price_out: row.price_out,
        monthly_limit: row.monthly_limit,
        daily_calls: row.daily_calls,
        agreed: match (row.agreed_by, row.agreed_at, row.agreed_to) {
            (Some(by), Some(at), Some(to)) => Some(Agreed { by, at, to }),
            _ => None,
        },
        inboxes: row.inboxes,
        stopped: row.stopped_at.zip(row.stopped_by),
        own_topics: row.topics.map(|topics| topics.0),
    })
}

/// The row, so that there is one to change.
pub(super) async fn make(tx: &mut Tx<'_>) -> Result<()> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "insert into assistant_settings (workspace_id, changed_at) values ($1, $2) on conflict do nothing",
        workspace,
        now
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// How each of the three assistants works.
pub struct Engines {
    pub sorting: Engine,
    pub drafting: Engine,
    pub reading: Engine,
}

/// Sets how each of the three works. A model has to be there, and an owner has to have agreed to it.
pub async fn choose(app: &App, tx: &mut Tx<'_>, person: &Person, engines: Engines) -> Result<()> {
    let Engines { sorting, drafting, reading } = engines;
    make(tx).await?;
    let before = held(tx).await?;
    let asks = [sorting, drafting, reading].contains(&Engine::Model);
    if asks && before.agreement(app).is_none() {
        return Err(Error::problem(
            "model",
            "An owner has to name a model and agree to it first, further down on this page",
        ));
    }
    if drafting == Engine::Rules {
        return Err(Error::problem("drafting", "must be off or model"));
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update assistant_settings set sorting = $2, drafting = $3, reading = $4, changed_at = $5 where workspace_id = $1",
        workspace,
        sorting as Engine,
        drafting as Engine,
        reading as Engine,
        now
    )
    .execute(&mut **tx)
    .await?;
    let data = json!({
        "sorting": [before.sorting.as_str(), sorting.as_str()],
        "drafting": [before.drafting.as_str(), drafting.as_str()],
        "reading": [before.reading.as_str(), reading.as_str()],
    });
    record(tx, person, Did::AssistantsChanged, data).await
}

/// A limit in whole units of the currency, and calls a day.
pub async fn limit(tx: &mut Tx<'_>, person: &Person, monthly: i64, daily_calls: i32) -> Result<()> {
    if !(0..=HIGHEST_LIMIT).contains(&monthly) {
        return Err(Error::problem(
            "limit",
            format!("The monthly limit must be a number from 0 to {HIGHEST_LIMIT}"),
        ));
    }
    if !(0..=HIGHEST_CALLS).contains(&daily_calls) {
        return Err(Error::problem(
            "calls",
            format!("Calls a day must be a number from 0 to {HIGHEST_CALLS}"),
        ));
    }
    make(tx).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update assistant_settings set monthly_limit = $2, daily_calls = $3, told_month = null, changed_at = $4
         where workspace_id = $1",
        workspace,
        monthly * MILLION,
        daily_calls,
        now
    )
    .execute(&mut **tx)
    .await?;
    record(tx, person, Did::AssistantsLimited, json!({ "monthly": monthly, "dailyCalls": daily_calls })).await
}

/// A model as somebody typed it, once its address was looked at. Without an address the operator's is meant.
pub struct TypedModel {
    own: Option<(String, String)>,
    key: Option<String>,
    /// Nothing where it was left empty.
    price_in: Option<i64>,
    price_out: Option<i64>,
}

/// Looks at the address. No connection to the database is held meanwhile.
pub async fn check(
    app: &App,
    base: &str,
    name: &str,
    key: &str,
    price_in: &str,
    price_out: &str,
) -> Result<TypedModel> {
    let (price_in, price_out) = (a_price("price_in", price_in)?, a_price("price_out", price_out)?);
    let (base, name, key) = (base.trim().trim_end_matches('/'), text::line(name), key.trim());
    if base.is_empty() {
        return Ok(TypedModel { own: None, key: None, price_in: None, price_out: None });
    }
    if name.is_empty() || name.len() > LONGEST {
        return Err(Error::problem("model", format!("The model needs a name of 1 to {LONGEST} letters")));
    }
    if key.len() > LONGEST || !key.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
        return Err(Error::problem(
            "key",
            format!("The key must be up to {LONGEST} letters and signs without spaces"),
        ));
    }
    let url = app.models.way(false).a_public_address("base", base).await.map_err(|error| match error {
        Error::Problems(problems) => {
            let what: Vec<String> =
                problems.into_iter().map(|problem| format!("The address {}", problem.what)).collect();
            Error::problem("base", what.join(". "))
        }
        other => other,
    })?;
    if url.query().is_some() {
        return Err(Error::problem("base", "The address must not have a question mark"));
    }
    let key = Some(key.to_owned()).filter(|key| !key.is_empty());
    Ok(TypedModel { own: Some((base.to_owned(), name)), key, price_in, price_out })
}

/// Of a currency for a million tokens, as typed: `0.25`.
fn a_price(field: &str, typed: &str) -> Result<Option<i64>> {
    let typed = typed.trim().replace(',', ".");
    if typed.is_empty() {
        return Ok(None);
    }
    let price: Option<f64> = typed.parse().ok().filter(|price: &f64| (0.0..=100_000.0).contains(price));
    let wrong = || Error::problem(field, "A price must be a number such as 0.25, for a million tokens");
    price.map(|price| Some((price * MILLION as f64).round() as i64)).ok_or_else(wrong)
}

/// Names a model; an agreement to another one is gone, and with it what was asked of it.
pub async fn connect(app: &App, tx: &mut Tx<'_>, person: &Person, typed: &TypedModel) -> Result<()> {
    needs_owner(person)?;
    make(tx).await?;
    let before = held(tx).await?;
    let workspace = tx.workspace();
    let same_address = before.own.as_ref().map(|(base, _)| base) == typed.own.as_ref().map(|(base, _)| base);
    let key = match (&typed.key, &before.key) {
        (Some(key), _) => {
            let (keys, random) = (tx.frame().needs_keys()?.clone(), tx.frame().random.clone());
            Some(sealed::seal(&keys, &random, PURPOSE, &sealed::place(workspace, PLACE), key.as_bytes())?)
        }
        // A key belongs to the address it was typed for.
        (None, Some(key)) if same_address => Some(key.clone()),
        (None, _) => None,
    };
    if key.is_some() && (typed.price_in.is_none() || typed.price_out.is_none()) {
        return Err(Error::problem(
            "price_in",
            "Type what a million tokens cost, in and out, or 0 where it is free: the limit is counted with it",
        ));
    }
    let (base, name) = typed.own.clone().unzip();
    let now = tx.now();
    sqlx::query!(
        "update assistant_settings set base_url = $2, model = $3, key = $4, price_in = $5, price_out = $6, changed_at = $7
         where workspace_id = $1",
        workspace.0,
        base,
        name,
        key.as_deref(),
        typed.price_in.unwrap_or_default(),
        typed.price_out.unwrap_or_default(),
        now
    )
    .execute(&mut **tx)
    .await?;
    if held(tx).await?.agreement(app).is_none() {
        sqlx::query!(
            "update assistant_settings set agreed_by = null, agreed_at = null, agreed_to = null,
                 sorting = case sorting when 'model' then 'rules' else sorting end, drafting = 'off',
                 reading = case reading when 'model' then 'rules' else reading end
             where workspace_id = $1",
            workspace.0
        )
        .execute(&mut **tx)
        .await?;
    }
    record(tx, person, Did::AssistantsModel, json!({ "address": base, "model": name })).await
}

/// An owner agrees that mail of these inboxes is shown to the model that is named, or takes that back.
pub async fn agree(app: &App, tx: &mut Tx<'_>, person: &Person, inboxes: &[MailboxId]) -> Result<()> {
    needs_owner(person)?;
    make(tx).await?;
    let settings = held(tx).await?;
    let Some(model) = settings.model(app) else {
        return Err(Error::problem("base", "There is no model yet: type its address and name first"));
    };
    let (workspace, now) = (tx.workspace().0, tx.now());
    let given: Vec<i64> = inboxes.iter().map(|inbox| inbox.0).collect();
    let teams = sqlx::query_scalar!(
        "select id from mailboxes where workspace_id = $1 and id = any($2) and audience = $3 order by id",
        workspace,
        &given,
        TEAM
    )
    .fetch_all(&mut **tx)
    .await?;
    let agrees = !teams.is_empty();
    sqlx::query!(
        "update assistant_settings set agreed_by = $2, agreed_at = $3, agreed_to = $4, agreed_inboxes = $5, changed_at = $6,
             sorting = case when $2::bigint is null and sorting = 'model' then 'rules' else sorting end,
             drafting = case when $2::bigint is null then 'off' else drafting end,
             reading = case when $2::bigint is null and reading = 'model' then 'rules' else reading end
         where workspace_id = $1",
        workspace,
        agrees.then_some(person.id.0),
        agrees.then_some(now),
        agrees.then(|| model.identity()),
        &teams,
        now
    )
    .execute(&mut **tx)
    .await?;
    let inboxes: Vec<String> = teams.iter().map(|id| MailboxId(*id).to_string()).collect();
    record(tx, person, Did::AssistantsAgreed, json!({ "model": model.identity(), "inboxes": inboxes })).await
}

/// Inboxes of the team, by name: only their mail can be shown to a model.
pub async fn team_inboxes(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
) -> Result<Vec<(MailboxId, String)>> {
    let rows = sqlx::query!(
        r#"select id as "id: MailboxId", name from mailboxes
           where workspace_id = $1 and audience = $2 and closed_at is null order by lower(name), id"#,
        workspace.0,
        TEAM
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

pub async fn set_topics(tx: &mut Tx<'_>, person: &Person, typed: &str) -> Result<()> {
    let own = topics::read(typed)?;
    make(tx).await?;
    let (workspace, now) = (tx.workspace().0, tx.now());
    sqlx::query!(
        "update assistant_settings set topics = $2, changed_at = $3 where workspace_id = $1",
        workspace,
        own.as_ref().map(Json) as _,
        now
    )
    .execute(&mut **tx)
    .await?;
    let names: Option<Vec<&str>> =
        own.as_ref().map(|own| own.iter().map(|topic| topic.name.as_str()).collect());
    record(tx, person, Did::AssistantsChanged, json!({ "topics": names })).await
}

fn needs_owner(person: &Person) -> Result<()> {
    match person.role {
        Role::Owner => Ok(()),
        _ => Err(Error::Forbidden("Only an owner can name a model or agree to it.".to_owned())),
    }
}

pub(super) async fn record(
    tx: &mut Tx<'_>,
    person: &Person,
    did: Did,
    data: serde_json::Value,
) -> Result<()> {
    let workspace = tx.workspace();
    let name = sqlx::query_scalar!("select name from workspaces where id = $1", workspace.0)
        .fetch_one(&mut **tx)
        .await?;
    audit::record(tx, &person.by(), did, Subject { id: &workspace, name: &name }, data).await
}

/// The sealed keys of these workspaces, for resealing.
pub async fn stored(conn: &mut PgConnection, workspaces: &[i64]) -> Result<Vec<Stored<&'static str>>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", key as "key!" from assistant_settings
           where workspace_id = any($1) and key is not null order by workspace_id"#,
        workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| Stored::new(row.workspace, PLACE, PURPOSE, row.key)).collect())
}

/// The same key, sealed otherwise; false when it changed meanwhile.
pub async fn reseal(tx: &mut Tx<'_>, before: &[u8], after: &[u8]) -> Result<bool> {
    let workspace = tx.workspace().0;
    let replaced = sqlx::query!(
        "update assistant_settings set key = $3 where workspace_id = $1 and key = $2",
        workspace,
        before,
        after
    )
    .execute(&mut **tx)
    .await?;
    Ok(replaced.rows_affected() == 1)
}
