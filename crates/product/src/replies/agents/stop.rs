//! Stopping every agent of a workspace, and starting them again (docs/decisions/stop-agents.md). Once stopping has
//! answered, nothing of any agent is drafted, changed or handed over, on any node.
//!
//! What agents had sent by themselves and had not left is held. Whoever starts them says what becomes of it: it leaves,
//! after a whole undo window, or it waits as drafts for a person.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::PgConnection;

use crate::replies::undo;
use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::live::topic::LiveTopic;
use rookery_base::store::db::Tx;
use rookery_core::conversations::lock::lock_any;
use rookery_core::conversations::messages::{held, outbound};
use rookery_core::workspace::access::{SANDBOX, TEAM};
use rookery_core::workspace::agents::stop::{self, Stopped};
use rookery_core::workspace::people::Person;

/// How long stopping waits for what nodes are handing over. What takes longer is told.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);
/// How often what is held is tried again when others are in the way.
const TRIES: usize = 5;
/// Messages that become drafts in one transaction.
const AT_ONCE: i64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoppedNow {
    /// They were stopped already.
    pub already: bool,
    /// Messages that wait until the agents are started again.
    pub held: i64,
    /// Messages that a node was handing over for longer than we wait: they may still arrive.
    pub on_their_way: i64,
}

/// What becomes of messages that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldMessages {
    BecomeDrafts,
    /// After a whole undo window, in which anyone can stop them.
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Nobody had stopped them.
    pub already: bool,
    pub drafts: i64,
    pub leave: i64,
}

/// Safe to repeat: what was cut off is done again.
pub async fn stop(app: &App, workspace: WorkspaceId, person: &Person) -> Result<StoppedNow> {
    let mut tx = app.begin(workspace).await?;
    let first = stop::say(&mut tx, person).await?;
    tx.commit().await?;
    stop::drain(app, workspace).await?;
    let begun = Instant::now();
    let mut held = hold(app, workspace).await?;
    let in_hand = loop {
        let in_hand = held::in_hand(&mut *app.connection().await?, workspace, app.clock.now()).await?;
        if in_hand == 0 || begun.elapsed() > PATIENCE {
            break in_hand;
        }
        tokio::time::sleep(LOOK).await;
    };
    if in_hand == 0 && begun.elapsed() > LOOK {
        // What a node gave back meanwhile.
        held += hold(app, workspace).await?;
    }
    Ok(StoppedNow { already: !first, held, on_their_way: in_hand })
}

async fn hold(app: &App, workspace: WorkspaceId) -> Result<i64> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut tx = app.begin(workspace).await?;
        tx.touch(TEAM, LiveTopic::Agents);
        match held::hold_all(&mut tx).await {
            Err(error) if error.may_pass() && tries < TRIES => {}
            held => {
                let held = held?;
                tx.commit().await?;
                return Ok(held);
            }
        }
    }
}

pub async fn start(
    app: &App,
    workspace: WorkspaceId,
    person: &Person,
    waiting: HeldMessages,
) -> Result<Started> {
    stop::may(person, "start")?;
    let mut started = Started { already: false, drafts: 0, leave: 0 };
    loop {
        let mut tx = app.begin(workspace).await?;
        if !stop::lock(&mut tx).await? {
            started.already = true;
            return Ok(started);
        }
        match waiting {
            HeldMessages::BecomeDrafts => {
                let some = held::some(&mut tx, AT_ONCE).await?;
                if !some.is_empty() {
                    started.drafts += make_drafts(&mut tx, person, &some).await?;
                    tx.commit().await?;
                    continue;
                }
            }
            HeldMessages::Leave => {
                let after = |livemode| tx.now() + app.config.undo_window(livemode);
                let (live, sandbox) = (after(true), after(false));
                started.leave = held::let_go(&mut tx, live, sandbox).await?;
            }
        }
        let data = json!({ "drafts": started.drafts, "leave": started.leave });
        stop::take_back(&mut tx, person, data).await?;
        tx.commit().await?;
        return Ok(started);
    }
}

async fn make_drafts(tx: &mut Tx<'_>, person: &Person, some: &[(ConversationId, MessageId)]) -> Result<i64> {
    let mut drafts = 0;
    for (conversation, message) in some {
        let conversation = lock_any(tx, *conversation).await?;
        if let Some(message) = outbound::find(tx, &conversation, *message).await? {
            let stopped = undo::stop(tx, &conversation, &message, &person.by(), "agents-stopped").await?;
            drafts += i64::from(stopped);
        }
    }
    Ok(drafts)
}

/// What stands on the page that starts them again.
pub struct StopStanding {
    pub stopped: Option<Stopped>,
    /// Held messages that the person can see, and those of the sandbox; up to [`MOST`].
    pub held: i64,
}

pub const MOST: i64 = 100;

pub async fn standing(conn: &mut PgConnection, person: &Person) -> Result<StopStanding> {
    let mut audiences = person.audiences();
    audiences.push(SANDBOX);
    Ok(StopStanding {
        stopped: stop::load(conn, person.workspace).await?,
        held: held::count(conn, person.workspace, &audiences, MOST).await?,
    })
}
