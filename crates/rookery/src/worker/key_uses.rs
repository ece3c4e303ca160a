//! Writes down when keys were used, which requests only note in memory. What cannot be written is let go: the next use of
//! the key tells as much.

use rookery_base::app::App;
use rookery_base::error::Result;
use rookery_core::workspace::agents::uses;

pub const LOOP: &str = "note uses of keys";

pub async fn write_down(app: &App) -> Result<()> {
    for (workspace, used) in app.key_uses.due(app.clock.now()) {
        let writing = async {
            let mut tx = app.begin(workspace).await?;
            uses::write(&mut tx, &used).await?;
            tx.commit().await
        };
        match writing.await {
            Err(error) if error.is_outage() => return Err(error),
            Err(error) if !error.is_fenced() => {
                app.loops.backoff_of(LOOP).count(&error);
                tracing::warn!(%workspace, %error, "could not record when keys were used");
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
