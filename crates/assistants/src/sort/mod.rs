//! Sorting: topic and urgency of new mail, by rules, by what people corrected, and by a model where an owner agreed to one.
//! Rules come first and at once; a model that is asked later says more, and one that hangs holds nothing up.
//!
//! The first mail of a conversation says its topic, later mail only where none is known. Urgency follows the newest mail
//! that says something of it.

pub mod ask;
pub mod learn;
pub mod phrases;
pub mod rules;
pub mod topics;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::runs;
use crate::scores::{self, Version};
use crate::settings::{self, Engine, Settings};
use crate::sort::topics::SortingTopic;
use crate::tasks::{self, TaskKind};
use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece, caught};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::conversations::sorting::notes::{self, Unsorted};
use rookery_core::conversations::sorting::said::{self, Judgement};

/// The worker's loop.
pub const LOOP: &str = "sort mail";
/// Mails that are sorted in one transaction.
const BATCH: i64 = 100;

/// Works off what is noted, a batch of each workspace in turn.
pub async fn work_off(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let (now, aside) = (app.clock.now(), pass.aside());
        let waiting = notes::unsorted(&mut *app.connection().await?, now, &aside).await?;
        if pass.is_over(&waiting) {
            return Ok(());
        }
        for workspace in waiting {
            pass.turn(BackoffPiece::Workspace(workspace), sort_of(app, put_off, workspace)).await?;
        }
    }
}

/// One batch. When it fails, one of its mails is to blame: the first is tried alone and put off, and after some tries stays
/// unsorted.
async fn sort_of(app: &App, put_off: &Backoff, workspace: WorkspaceId) -> Result<PassProgress> {
    let error = match sort(app, workspace, BATCH).await {
        Ok(sorted) => return Ok(if 2 * sorted >= BATCH { PassProgress::More } else { PassProgress::Done }),
        Err(error) if error.is_outage() || error.is_fenced() => return Err(error),
        Err(error) => error,
    };
    if let Err(alone) = sort(app, workspace, 1).await {
        if alone.is_outage() || alone.is_fenced() {
            return Err(alone);
        }
        let mut tx = app.begin(workspace).await?;
        notes::put_off(&mut tx).await?;
        tx.commit().await?;
        tracing::warn!(%error, %workspace, "a mail could not be sorted and will be tried again");
        put_off.count(&error);
    }
    Ok(PassProgress::More)
}

/// Sorts some mail of a workspace in one transaction; how many it was. What somebody else holds is left for later.
pub async fn sort(app: &App, workspace: WorkspaceId, most: i64) -> Result<i64> {
    let mut tx = app.begin(workspace).await?;
    let sorted = caught(sort_batch(app, &mut tx, most)).await;
    tx.end(sorted).await
}

async fn sort_batch(app: &App, tx: &mut Tx<'_>, most: i64) -> Result<i64> {
    let workspace = tx.workspace();
    let batch = notes::take(tx, most).await?;
    if batch.taken.is_empty() {
        return Ok(0);
    }
    let settings = settings::held(tx).await?;
    if settings.sorting != Engine::Off && !settings.is_stopped(app) && !batch.mails.is_empty() {
        let newest = scores::newest(tx, workspace).await?;
        let topics = settings.topics();
        let judged = judge(&batch.mails, &topics, newest.as_ref());
        said::write(tx, &judged).await?;
        let now = tx.now();
        let day = Zone::load(tx, workspace).await?.day(now);
        // Mail that could get a topic, and what said one.
        let open = |mail: &&Unsorted| !mail.automatic && mail.topic.is_none() && !mail.topic_stands;
        let open: HashSet<ConversationId> =
            batch.mails.iter().filter(open).map(|mail| mail.conversation).collect();
        runs::count(tx, day, rules::NAME, open.len(), 0).await?;
        let mut claimed: BTreeMap<&str, usize> = BTreeMap::new();
        for one in judged.iter().filter(|one| one.topic.is_some()) {
            *claimed.entry(&one.topic_by).or_default() += 1;
        }
        for (engine, claimed) in claimed {
            runs::count(tx, day, engine, 0, claimed).await?;
        }
    }
    let (sorts, drafts) = asks(app, &settings, &batch.mails);
    tasks::note(tx, &sorts, TaskKind::Sort).await?;
    tasks::note(tx, &drafts, TaskKind::Draft).await?;
    notes::done(tx, &batch).await?;
    Ok(batch.mails.len() as i64)
}

/// What is said of each conversation, by all of its mails in the batch.
fn judge(mails: &[Unsorted], topics: &[SortingTopic], newest: Option<&Version>) -> Vec<Judgement> {
    let mut order: Vec<ConversationId> = Vec::new();
    let mut said: HashMap<ConversationId, Judgement> = HashMap::new();
    for mail in mails {
        let judged = said.entry(mail.conversation).or_insert_with(|| {
            order.push(mail.conversation);
            Judgement {
                conversation: mail.conversation,
                audience: mail.audience,
                topic: None,
                urgency: None,
                topic_by: rules::NAME.to_owned(),
                urgency_by: rules::NAME.to_owned(),
            }
        });
        let known_urgency = judged.urgency.or(mail.urgency.as_deref().and_then(an_urgency));
        if mail.automatic {
            judged.urgency = judged.urgency.or(known_urgency.is_none().then_some("low"));
            continue;
        }
        let verdict = rules::judge(&mail.subject, &mail.text);
        if mail.topic.is_none() && judged.topic.is_none() && !mail.topic_stands {
            let taught = newest
                .and_then(|newest| Some((newest.number, newest.learned.judge(&mail.subject, &mail.text)?)));
            let is_one = |name: &str| topics.iter().any(|topic| topic.name == name);
            if let Some((version, topic)) = taught.filter(|(_, topic)| is_one(topic)) {
                judged.topic = Some(topic.to_owned());
                judged.topic_by = format!("corrections, version {version}");
            } else if let Some(topic) = verdict.topic.filter(|topic| is_one(topic)) {
                judged.topic = Some(topic.to_owned());
            }
        }
        // D268: normal where nothing says otherwise.
        judged.urgency = verdict.urgency.or(judged.urgency).or(known_urgency.is_none().then_some("normal"));
    }
    order
        .iter()
        .filter_map(|id| said.remove(id))
        .filter(|one| one.topic.is_some() || one.urgency.is_some())
        .collect()
}

/// As the column has it.
pub fn an_urgency(name: &str) -> Option<&'static str> {
    said::URGENCIES.into_iter().find(|urgency| *urgency == name)
}

/// Mail that a model is asked about: to sort it, or else at once to draft an answer. What is both sorted and answered is
/// sorted first, so that what looks like a scam then gets no draft.
fn asks(app: &App, settings: &Settings, mails: &[Unsorted]) -> (Vec<i64>, Vec<i64>) {
    let (sorting, drafting) = (settings.sorting == Engine::Model, settings.drafting == Engine::Model);
    let (mut sorts, mut drafts) = (Vec::new(), Vec::new());
    if !sorting && !drafting {
        return (sorts, drafts);
    }
    for mail in mails.iter().filter(|mail| !mail.automatic && mail.by_mail) {
        if settings.may_show(app, &[mail.mailbox, mail.home], mail.audience).is_some() {
            if sorting { sorts.push(mail.message.0) } else { drafts.push(mail.message.0) }
        }
    }
    (sorts, drafts)
}
