//! People's actions on messages (approve, discard, undo), by the verbs that the admin commands use.

use chrono::{DateTime, Utc};
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, PersonId};
use rookery_core::workspace::people;
use rookery_product::replies::approve::{self, Approved};
use rookery_product::replies::{discard, undo};

use super::Workspace;

impl Workspace<'_> {
    pub async fn approve(
        &self,
        person: PersonId,
        message: &str,
        edited: Option<&str>,
    ) -> Result<DateTime<Utc>> {
        let message: MessageId = message.parse().expect("a message's id");
        let mut tx = self.world.app.begin(self.id).await?;
        let person = people::teammate(&mut tx, self.id, person).await?;
        let approved = approve::approve(&self.world.app, &mut tx, &person, message, edited).await?;
        tx.commit().await?;
        match approved {
            Approved::Leaves(sends_at) => Ok(sends_at),
            other => panic!("nothing was shown, so nothing stops it: {other:?}"),
        }
    }

    pub async fn undo(&self, person: PersonId, message: &str) -> Result<()> {
        let message: MessageId = message.parse().expect("a message's id");
        let mut tx = self.world.app.begin(self.id).await?;
        let person = people::teammate(&mut tx, self.id, person).await?;
        undo::undo(&mut tx, &person, message).await?.0.must()?;
        tx.commit().await
    }

    pub async fn discard(&self, person: PersonId, message: &str) -> Result<()> {
        let message: MessageId = message.parse().expect("a message's id");
        let mut tx = self.world.app.begin(self.id).await?;
        let person = people::teammate(&mut tx, self.id, person).await?;
        discard::discard(&mut tx, &person, message, None).await?;
        tx.commit().await
    }

    /// Addresses that are not written to again.
    pub async fn suppressed(&self) -> Vec<String> {
        sqlx::query_scalar("select address from suppressed_addresses where workspace_id = $1 order by 1")
            .bind(self.id.0)
            .fetch_all(&self.world.app.pool)
            .await
            .expect("the addresses can be read")
    }
}
