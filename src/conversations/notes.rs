//! Notes (specification 4.4): for the team, never for the customer. `@FirstName` tells the people of that
//! name who can see the inbox; any other name is just text.

use std::collections::HashSet;

use crate::conversations::conversation::Locked;
use crate::error::Result;
use crate::ids::NoteId;
use crate::store::db::Tx;
use crate::text;
use crate::workspace::access::{Actor, TEAM};

pub async fn add(tx: &mut Tx<'_>, conversation: &Locked, actor: &Actor, body: &str) -> Result<NoteId> {
    let id: NoteId = tx.mint();
    let (workspace, now) = (tx.workspace().0, tx.now());
    let body = text::lines(body);
    sqlx::query!(
        "with numbered as (
             update conversations set last_item = last_item + 1, last_item_at = $4 where workspace_id = $1 and id = $2
             returning last_item)
         insert into notes (workspace_id, conversation_id, id, item, at, author, body)
         select $1, $2, $3, last_item, $4, $5, $6 from numbered",
        workspace,
        conversation.id.0,
        id.0,
        now,
        actor.name,
        body
    )
    .execute(&mut **tx)
    .await?;
    let names: Vec<String> = mentioned(&body).into_iter().collect();
    // Nobody is told of the sandbox: no person can see it.
    if !names.is_empty() && conversation.livemode() {
        sqlx::query!(
            "insert into mentions (workspace_id, person_id, note_id, conversation_id, at)
             select $1, id, $2, $3, $4 from people
             where workspace_id = $1 and removed_at is null and ($5::bigint = $6::bigint or id = $5)
               and lower(split_part(name, ' ', 1)) = any($7)",
            workspace,
            id.0,
            conversation.id.0,
            now,
            conversation.audience,
            TEAM,
            &names
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(id)
}

/// The names after an `@`, in lower case. An `@` inside a word belongs to a mail address.
fn mentioned(body: &str) -> HashSet<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '\'');
    let mut names = HashSet::new();
    for (at, _) in body.match_indices('@') {
        if body[..at]
            .chars()
            .next_back()
            .is_some_and(|before| is_word(before) || matches!(before, '.' | '_' | '@'))
        {
            continue;
        }
        let rest = &body[at + 1..];
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches(['-', '\'']);
        if !name.is_empty() && !rest[end..].starts_with('@') {
            names.insert(name.to_lowercase());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(body: &str) -> Vec<String> {
        let mut names: Vec<_> = mentioned(body).into_iter().collect();
        names.sort();
        names
    }

    #[test]
    fn a_name_after_an_at_sign_is_mentioned_once_in_any_case() {
        assert_eq!(names("@Anna, please ask (@BJÖRN) and @anna."), ["anna", "björn"]);
    }

    #[test]
    fn a_mail_address_mentions_nobody() {
        assert_eq!(names("write to x@anna.example or a.b@anna or @anna@example.test"), [] as [&str; 0]);
    }
}
