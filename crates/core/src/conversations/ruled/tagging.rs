//! Tagging as people and keys do it: the tags change, and rules hear of what was put on (specification 4.6). Taking a change
//! back goes by `tags` alone: rules do not run because something is as it was.

use crate::conversations::conversation::Locked;
use crate::conversations::ruled::engine;
use crate::conversations::tags;
use crate::workspace::access::Actor;
use rookery_base::error::Result;
use rookery_base::store::db::Tx;

pub async fn change(
    tx: &mut Tx<'_>,
    conversation: &Locked,
    actor: &Actor,
    add: &[String],
    remove: &[String],
) -> Result<()> {
    let added = tags::change_by(tx, conversation, &actor.by(), add, remove).await?;
    engine::on_tags(tx, conversation, added).await
}
