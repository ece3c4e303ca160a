//! Writes down what agents read and what they were refused, which requests only note in memory.
//! What cannot be written waits for the next time, with a bound on its memory.

use rookery_base::app::App;
use rookery_base::due::backoff::{Backoff, BackoffPiece};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::Result;
use rookery_base::store::calls;

pub const LOOP: &str = "note calls of agents";

pub async fn write_down(app: &App, put_off: &Backoff) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    loop {
        let aside = pass.aside().workspaces;
        let mut waiting = app.agent_calls.workspaces();
        waiting.retain(|workspace| !aside.contains(&workspace.0));
        if pass.is_over(&waiting) {
            return Ok(());
        }
        for workspace in waiting {
            let writing = async {
                let counted = app.agent_calls.take(workspace);
                let written = async {
                    let mut tx = app.begin(workspace).await?;
                    calls::write(&mut tx, workspace, &app.random, &counted).await?;
                    tx.commit().await
                };
                match written.await {
                    // It moves to another cell: whatever waits here would wait for ever.
                    Err(error) if !error.is_fenced() => {
                        app.agent_calls.give_back(counted);
                        Err(error)
                    }
                    Ok(()) | Err(_) => Ok(PassProgress::Done),
                }
            };
            pass.turn(BackoffPiece::Workspace(workspace), writing).await?;
        }
    }
}
