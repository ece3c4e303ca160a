//! Every loop of the program, in one table: what it works off, how often it looks, how many at once, and when
//! its next row is due.
//!
//! A loop only ever does work that is written down in rows, so any number of nodes can run it and a stop at
//! any point loses nothing. The due time of the next row wakes a loop early; that is a hint, the pause is the rule.

mod agent_calls;
mod days;
pub mod key_uses;
pub mod metrics;
pub mod supervise;
pub mod sweep;
mod words;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use tokio::task::JoinSet;

use self::supervise::supervise;

use crate::app::App;
use crate::app_mail::{body_fetch, forget};
use crate::assistants::read::{self, ask as ask_of_documents};
use crate::assistants::sort::{self, ask};
use crate::assistants::tasks::{self, Kind};
use crate::assistants::{draft, scores};
use crate::bookings::busy::read as calendars;
use crate::bookings::mails;
use crate::conversations::bulk::work;
use crate::conversations::keeping::retention;
use crate::conversations::messages::sending;
use crate::conversations::notifications::digest;
use crate::conversations::search::index;
use crate::conversations::search::pending;
use crate::conversations::sorting::notes as unsorted;
use crate::conversations::{counts, snooze};
use crate::departures::hand_over;
use crate::documents::uploads::expire;
use crate::documents::{request, to_read};
use crate::due::backoff::{Backoff, Piece, caught};
use crate::due::pass::{Pass, Progress};
use crate::erasures::{retention as over, work as contacts};
use crate::error::{Error, Result};
use crate::events::take;
use crate::exports::make;
use crate::incoming::{app_mail_body, drop_raw};
use crate::outgoing::{invite, notify, send};
use crate::replies::automatic::remind;
use crate::replies::{draft_end, revoke_key};
use crate::sandbox::answer;
use crate::store::doomed_files as files;
use crate::webhooks::{claim, deliver, fan_out};
use crate::workspace::audit::watch;
use crate::workspace::clients::grants;
use crate::workspace::keys::tell_changes;
use crate::workspace::{keys, notices, sessions};

type Run<'a> = BoxFuture<'a, Result<()>>;
type DueTime<'a> = BoxFuture<'a, Result<Option<DateTime<Utc>>>>;

struct Loop {
    name: &'static str,
    /// The longest pause between two looks.
    every: Duration,
    /// How many of its rows a node works on at the same time.
    at_once: usize,
    /// Works off what is due now. What fails is put off; an error means that nothing could be done.
    run: for<'a> fn(&'a App, &'a Turn) -> Run<'a>,
    /// When its next row is due, or was.
    next: for<'a> fn(&'a App) -> DueTime<'a>,
}

/// What a loop is given for each pass.
struct Turn {
    at_once: usize,
    put_off: Arc<Backoff>,
}

/// In the order in which one thing leads to another.
const LOOPS: &[Loop] = &[
    Loop {
        name: "remind of documents",
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, turn| Box::pin(remind_of_documents(app, &turn.put_off)),
        next: |app| Box::pin(async { request::next_reminder(&mut *app.connection().await?).await }),
    },
    Loop {
        name: expire::LOOP,
        every: Duration::from_secs(60),
        at_once: 1,
        run: |app, turn| Box::pin(expire::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { expire::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: send::LOOP,
        every: Duration::from_secs(1),
        at_once: 12,
        run: |app, turn| Box::pin(send::send_due(app, turn.at_once)),
        next: |app| Box::pin(async { sending::next(&mut *app.connection().await?, false).await }),
    },
    Loop {
        name: send::SANDBOX_LOOP,
        every: Duration::from_secs(1),
        // There is no network to wait for; and so a crash leaves at most one mail that was handed over and not written
        // down.
        at_once: 1,
        run: |app, turn| Box::pin(send::send_due_in_sandbox(app, turn.at_once)),
        next: |app| Box::pin(async { sending::next(&mut *app.connection().await?, true).await }),
    },
    Loop {
        name: digest::LOOP,
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, turn| Box::pin(mail_what_is_unread(app, &turn.put_off)),
        next: |app| Box::pin(async { digest::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: notify::LOOP,
        every: Duration::from_secs(10),
        at_once: 4,
        run: |app, turn| Box::pin(notify::notify_due(app, turn.at_once)),
        next: |app| Box::pin(async { notices::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: invite::LOOP,
        every: Duration::from_secs(1),
        at_once: 4,
        run: |app, turn| Box::pin(invite::invite_due(app, turn.at_once)),
        next: |app| Box::pin(async { mails::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: answer::LOOP,
        every: Duration::from_secs(1),
        at_once: 4,
        run: |app, turn| Box::pin(answer::answer_due(app, turn.at_once)),
        next: |app| Box::pin(async { answer::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "wake snoozed",
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, turn| Box::pin(wake_snoozed(app, &turn.put_off)),
        next: |app| Box::pin(async { snooze::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: work::LOOP,
        every: Duration::from_secs(1),
        at_once: 3,
        run: |app, turn| Box::pin(work::work_off(app, &turn.put_off, turn.at_once)),
        next: |app| Box::pin(async { work::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: tell_changes::LOOP,
        every: Duration::from_secs(600),
        at_once: 1,
        run: |app, turn| Box::pin(tell_changes::tell(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "release revoked agents",
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(release_revoked(app, &turn.put_off)),
        next: |app| Box::pin(async { keys::next_unreleased(&mut *app.connection().await?).await }),
    },
    Loop {
        name: hand_over::LOOP,
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(hand_over::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { hand_over::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: contacts::LOOP,
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(contacts::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { contacts::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: over::LOOP,
        every: Duration::from_secs(600),
        at_once: 1,
        run: |app, turn| Box::pin(over::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { retention::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: make::LOOP,
        every: Duration::from_secs(5),
        at_once: 3,
        run: |app, turn| Box::pin(make::work_off(app, &turn.put_off, turn.at_once)),
        next: |app| Box::pin(async { make::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "forget drafts",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, turn| Box::pin(draft_end::forget(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: files::LOOP,
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, turn| Box::pin(files::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { files::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "fan out events",
        every: Duration::from_millis(200),
        at_once: 1,
        run: |app, turn| Box::pin(fan_out::run(app, &turn.put_off)),
        next: |app| Box::pin(async { take::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "deliver webhooks",
        every: Duration::from_millis(200),
        at_once: 1000,
        run: |app, turn| Box::pin(deliver::run(app, &turn.put_off, turn.at_once)),
        next: |app| Box::pin(async { claim::next(&mut *app.connection().await?, app.clock.now()).await }),
    },
    Loop {
        name: app_mail_body::LOOP,
        every: Duration::from_secs(5),
        at_once: 4,
        run: |app, turn| Box::pin(app_mail_body::fetch_due(app, turn.at_once)),
        next: |app| Box::pin(async { body_fetch::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: calendars::LOOP,
        every: Duration::from_secs(10),
        at_once: 2,
        run: |app, turn| Box::pin(calendars::read_due(app, turn.at_once)),
        next: |app| Box::pin(async { calendars::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: read::LOOP,
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(read::read_due(app, turn.at_once)),
        next: |app| Box::pin(async { to_read::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: watch::LOOP,
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, turn| Box::pin(watch::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { watch::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: "forget app mail",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, turn| Box::pin(forget_app_mail(app, &turn.put_off)),
        next: |app| Box::pin(next_forgotten(app)),
    },
    Loop {
        name: "follow the database's clock",
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, _| Box::pin(app.follow_the_databases_clock()),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: key_uses::LOOP,
        every: Duration::from_secs(10),
        at_once: 1,
        run: |app, _| Box::pin(key_uses::write_down(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: agent_calls::LOOP,
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(agent_calls::write_down(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "look at streams",
        every: Duration::from_secs(30),
        at_once: 1,
        run: |app, _| Box::pin(look_at_streams(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "keep days",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, _| Box::pin(days::keep_days(app)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "sweep files",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, turn| Box::pin(sweep::sweep(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "drop raw mail",
        every: Duration::from_secs(3600),
        at_once: 1,
        run: |app, turn| Box::pin(drop_raw::drop_due(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: index::LOOP,
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, turn| Box::pin(words::index_words(app, &turn.put_off)),
        next: |app| Box::pin(async { pending::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: sort::LOOP,
        every: Duration::from_secs(1),
        at_once: 1,
        run: |app, turn| Box::pin(sort::work_off(app, &turn.put_off)),
        next: |app| Box::pin(async { unsorted::next(&mut *app.connection().await?).await }),
    },
    Loop {
        name: ask::LOOP,
        every: Duration::from_secs(2),
        at_once: 8,
        run: |app, turn| Box::pin(ask::ask_due(app, turn.at_once)),
        next: |app| Box::pin(async { tasks::next(&mut *app.connection().await?, Kind::Sort).await }),
    },
    Loop {
        name: ask_of_documents::LOOP,
        every: Duration::from_secs(2),
        at_once: 4,
        run: |app, turn| Box::pin(ask_of_documents::ask_due(app, turn.at_once)),
        next: |app| Box::pin(async { tasks::next(&mut *app.connection().await?, Kind::Read).await }),
    },
    Loop {
        name: draft::LOOP,
        every: Duration::from_secs(2),
        at_once: 8,
        run: |app, turn| Box::pin(draft::draft_due(app, turn.at_once)),
        next: |app| Box::pin(async { tasks::next(&mut *app.connection().await?, Kind::Draft).await }),
    },
    Loop {
        name: scores::LOOP,
        every: Duration::from_secs(600),
        at_once: 1,
        run: |app, turn| Box::pin(scores::learn_due(app, &turn.put_off)),
        next: |_| Box::pin(async { Ok(None) }),
    },
    Loop {
        name: "fold counts",
        every: Duration::from_secs(5),
        at_once: 1,
        run: |app, turn| Box::pin(fold_counts(app, &turn.put_off)),
        next: |app| Box::pin(async { counts::next(&mut *app.connection().await?).await }),
    },
];

/// Never look more often than this, whatever the next due time says: a row that cannot be worked off now
/// must not make its loop spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// Runs all loops until the word to stop; what has begun is finished first, the rest is given back. An error means that
/// a loop is not looked after any more.
pub async fn run(app: Arc<App>) -> Result<()> {
    let mut loops: JoinSet<()> = LOOPS.iter().map(|work| repeat(work, app.clone())).collect();
    while let Some(ended) = loops.join_next().await {
        ended.map_err(Error::internal)?;
    }
    Ok(())
}

/// Does everything once that the loops would do now, and says when something failed or was put off.
pub async fn run_once(app: &App) -> Result<()> {
    let mut failed = Ok(());
    for work in LOOPS {
        let turn = work.turn(app);
        let before = turn.put_off.counted().put_off;
        let ended = caught((work.run)(app, &turn)).await;
        let put_off = match turn.put_off.counted().put_off - before {
            0 => Ok(()),
            some => Err(Error::internal(format!("{}: {some} put off, see the log", work.name))),
        };
        failed = failed.and(ended).and(put_off);
    }
    failed
}

async fn repeat(work: &'static Loop, app: Arc<App>) {
    let turn = work.turn(&app);
    let pass = async || {
        (work.run)(&app, &turn).await?;
        Ok(pause(work, &app).await)
    };
    supervise(work.name, &turn.put_off, &app.stop, pass).await;
}

async fn pause(work: &Loop, app: &App) -> Duration {
    let next = (work.next)(app).await.ok().flatten();
    // Only what is still to come is worth waking up for: what is overdue now was not for us.
    let ahead = next.and_then(|next| (next - app.clock.now()).to_std().ok());
    ahead.map_or(work.every, |ahead| ahead.clamp(SHORTEST_PAUSE, work.every))
}

impl Loop {
    fn turn(&self, app: &App) -> Turn {
        Turn { at_once: self.at_once, put_off: app.loops.of(self.name) }
    }
}

async fn remind_of_documents(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let (now, aside) = (app.clock.now(), pass.aside());
        let due = request::due_for_a_reminder(&mut *app.connection().await?, now, &aside).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for due in due {
            let reminding = async {
                let mut tx = app.begin(due.workspace).await?;
                remind::remind(app, &mut tx, due).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(due.workspace, due.request.0), reminding).await?;
        }
    }
}

async fn mail_what_is_unread(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = digest::due(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for (workspace, person) in due {
            let writing = async {
                let mut tx = app.begin(workspace).await?;
                digest::write(&mut tx, person).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(workspace, person.0), writing).await?;
        }
    }
}

async fn wake_snoozed(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let due = snooze::ran_out(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await?;
        if pass.is_over(&due) {
            return Ok(());
        }
        for (workspace, conversation) in due {
            let waking = async {
                let mut tx = app.begin(workspace).await?;
                snooze::end(&mut tx, conversation).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(workspace, conversation.0), waking).await?;
        }
    }
}

async fn release_revoked(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let left = keys::makers_who_left(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&left) {
            break;
        }
        for (workspace, maker) in left {
            let ending = async {
                let mut tx = app.begin(workspace).await?;
                revoke_key::end_keys_of(&mut tx, maker).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(workspace, maker.0), ending).await?;
        }
    }
    loop {
        let now = app.clock.now();
        let over = grants::over(&mut *app.connection().await?, now, &pass.aside()).await?;
        if pass.is_over(&over) {
            break;
        }
        for (workspace, agent) in over {
            let ending = async {
                let mut tx = app.begin(workspace).await?;
                revoke_key::end_client(&mut tx, agent).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(workspace, agent.0), ending).await?;
        }
    }
    loop {
        let revoked = keys::unreleased(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&revoked) {
            return Ok(());
        }
        for (workspace, agent) in revoked {
            let releasing = async {
                let mut tx = app.begin(workspace).await?;
                revoke_key::release(&mut tx, agent).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Row(workspace, agent.0), releasing).await?;
        }
    }
}

async fn forget_app_mail(app: &App, put_off: &Backoff) -> Result<()> {
    let before = app.clock.now() - app.config.app_mail_retention().age;
    let mut pass = Pass::begin(app, put_off);
    loop {
        let stale = forget::stale(&mut *app.connection().await?, before, &pass.aside()).await?;
        if pass.is_over(&stale) {
            return Ok(());
        }
        for workspace in stale {
            let forgetting = async {
                let mut tx = app.begin(workspace).await?;
                let more = forget::forget(&mut tx, before).await?;
                tx.commit().await?;
                Ok(if more { Progress::More } else { Progress::Done })
            };
            pass.turn(Piece::Workspace(workspace), forgetting).await?;
        }
    }
}

async fn next_forgotten(app: &App) -> Result<Option<DateTime<Utc>>> {
    let oldest = forget::oldest(&mut *app.connection().await?).await?;
    Ok(oldest.map(|oldest| oldest + app.config.app_mail_retention().age))
}

/// Ends the streams whose session has ended or whose person left.
async fn look_at_streams(app: &App) -> Result<()> {
    let open = app.streams.sessions();
    if !open.is_empty() {
        let good = sessions::good(&mut *app.connection().await?, &open, app.clock.now()).await?;
        app.streams.end_all_but(&open, &good);
    }
    Ok(())
}

async fn fold_counts(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let unfolded = counts::unfolded(&mut *app.connection().await?, &pass.aside()).await?;
        if pass.is_over(&unfolded) {
            return Ok(());
        }
        for workspace in unfolded {
            let folding = async {
                let mut tx = app.begin(workspace).await?;
                counts::fold(&mut tx).await?;
                tx.commit().await?;
                Ok(Progress::Done)
            };
            pass.turn(Piece::Workspace(workspace), folding).await?;
        }
    }
}
