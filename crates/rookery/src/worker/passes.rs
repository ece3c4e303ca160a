//! Passes of loops whose work is one call for each row or workspace that is due: a piece has a transaction of its own, and what
//! fails is put off and hides nothing behind it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_core::conversations::notifications::digest;
use rookery_core::conversations::{counts, snooze};
use rookery_core::workspace::clients::grants;
use rookery_core::workspace::{keys, sessions};
use rookery_product::app_mail::forget;
use rookery_product::documents::request;
use rookery_product::replies::automatic::remind;
use rookery_product::replies::revoke_key;
use rookery_webhooks::fan_out;

pub(super) async fn remind_of_documents(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(due.workspace, due.request.0), reminding).await?;
        }
    }
}

pub(super) async fn mail_what_is_unread(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, person.0), writing).await?;
        }
    }
}

pub(super) async fn wake_snoozed(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, conversation.0), waking).await?;
        }
    }
}

pub(super) async fn release_revoked(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, maker.0), ending).await?;
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, agent.0), ending).await?;
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Row(workspace, agent.0), releasing).await?;
        }
    }
}

pub(super) async fn forget_app_mail(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(if more { PassProgress::More } else { PassProgress::Done })
            };
            pass.turn(BackoffPiece::Workspace(workspace), forgetting).await?;
        }
    }
}

pub(super) async fn next_forgotten(app: &App, conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    let oldest = forget::oldest(conn).await?;
    Ok(oldest.map(|oldest| oldest + app.config.app_mail_retention().age))
}

/// Looks at all of the outbox. What the loop that reads its newest part put off is left alone here as well.
pub(super) async fn look_at_whole_outbox(app: &App) -> Result<()> {
    fan_out::run_whole(app, &app.loops.backoff_of(fan_out::LOOP)).await
}

/// Ends the streams whose session has ended or whose person left.
pub(super) async fn look_at_streams(app: &App) -> Result<()> {
    let open = app.streams.sessions();
    if !open.is_empty() {
        let good = sessions::good(&mut *app.connection().await?, &open, app.clock.now()).await?;
        app.streams.end_all_but(&open, &good);
    }
    Ok(())
}

pub(super) async fn fold_counts(app: &App, put_off: &Backoff) -> Result<()> {
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
                Ok(PassProgress::Done)
            };
            pass.turn(BackoffPiece::Workspace(workspace), folding).await?;
        }
    }
}
