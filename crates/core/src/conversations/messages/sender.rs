//! Which address of its inbox a message leaves from: the one that its writer chose, or else the one that the answered mail was
//! written to. The address is written down with the message, and is one that the inbox may send from at that moment.

use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::workspace::inbox_settings::senders;
use rookery_base::error::Result;
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::store::addresses::{domain_of, key};
use rookery_base::store::db::Tx;

/// What stands in the From of a message that is written now.
pub(super) struct FromAddress {
    pub address: String,
    /// It is not the inbox's own.
    pub is_further: bool,
}

/// A chosen address that the inbox cannot send from any more gives way to the inbox's own.
pub(super) async fn choose(
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    chosen: Option<&str>,
    answers: Option<MessageId>,
) -> Result<FromAddress> {
    let (workspace, own) = (tx.workspace(), &conversation.mailbox_address);
    let wanted = match chosen {
        Some(chosen) => chosen.to_owned(),
        None => answering(tx, workspace, conversation, answers).await?,
    };
    if wanted == *own {
        return Ok(FromAddress { address: wanted, is_further: false });
    }
    senders::hold(tx, &wanted).await?;
    let is_further = senders::list(tx, workspace, &conversation.mailbox()).await?.contains(&wanted);
    Ok(FromAddress { address: if is_further { wanted } else { own.clone() }, is_further })
}

/// The address that an answer begins with: of those the inbox may send from the first that the mail names. Without `answers` it is
/// the mail that would be answered (`replies/ready` of the product finds the same).
pub async fn answering(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    answers: Option<MessageId>,
) -> Result<String> {
    let own = &conversation.mailbox_address;
    let senders = senders::list(conn, workspace, &conversation.mailbox()).await?;
    if senders.len() == 1 {
        return Ok(own.clone());
    }
    let named = sqlx::query_scalar!(
        r#"select case when direction = 'outbound' then array[from_email]
                  else coalesce(to_addresses, '{}') || coalesce(cc_addresses, '{}') end as "named!"
           from messages
           where workspace_id = $1 and conversation_id = $2 and ($3::bigint is null or id = $3) and channel = 'mail'
             and (direction = 'inbound' or status in ('scheduled', 'sending', 'sent')) and forwards is null
           order by direction = 'outbound', automatic, at desc, item desc limit 1"#,
        workspace.0,
        conversation.id.0,
        answers.map(|message| message.0)
    )
    .fetch_optional(conn)
    .await?;
    Ok(first_of(&senders, &named.unwrap_or_default()).unwrap_or(own).clone())
}

/// The first of the named addresses that is one of these, with or without a tag and however its domain is spelled.
fn first_of<'a>(senders: &'a [String], named: &[String]) -> Option<&'a String> {
    let spelled = |address: &str| {
        let local = address.rsplit_once('@').map_or("", |(local, _)| local).to_lowercase();
        format!("{local}@{}", domain_of(address))
    };
    named.iter().find_map(|named| {
        let exact = senders.iter().find(|sender| spelled(sender) == spelled(named));
        exact.or_else(|| senders.iter().find(|sender| key(sender) == key(named)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_first_address_that_was_written_to_is_taken() {
        let senders = list(&["help@acme.example", "sales@acme.example", "hilfe@müller.example"]);
        for (named, wanted) in [
            (&["sales@acme.example"][..], Some("sales@acme.example")),
            (&["bob@x.example", "Sales@ACME.example", "help@acme.example"], Some("sales@acme.example")),
            (&["help+inv-7@acme.example", "sales@acme.example"], Some("help@acme.example")),
            (&["hilfe@xn--mller-kva.example"], Some("hilfe@müller.example")),
            (&["bob@x.example"], None),
            (&[], None),
        ] {
            assert_eq!(first_of(&senders, &list(named)).map(String::as_str), wanted, "{named:?}");
        }
        let tagged = list(&["help@acme.example", "help+vip@acme.example"]);
        assert_eq!(
            first_of(&tagged, &list(&["help+vip@acme.example"])).map(String::as_str),
            Some("help+vip@acme.example")
        );
    }
}
