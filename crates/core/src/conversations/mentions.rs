//! Whom a note names: `@FirstName` is everybody of that name who can see the inbox, `@First Last` the one person; any
//! other name is just text. And the conversations in which somebody was mentioned, for the view of that name.

use std::collections::BTreeSet;

use sqlx::PgConnection;

use crate::conversations::conversation::Conversation;
use crate::conversations::filter::ConversationCursor;
use crate::workspace::access::TEAM;
use crate::workspace::people::Person;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, PersonId, WorkspaceId};

/// Conversations in which the person was mentioned, newest mention first, whether they wanted to be told of it or not.
/// Whoever shows them looks at which are visible.
pub async fn list(
    conn: &mut PgConnection,
    person: &Person,
    before: Option<ConversationCursor>,
    limit: i64,
) -> Result<Vec<ConversationCursor>> {
    Ok(sqlx::query_as!(
        ConversationCursor,
        r#"select at, conversation_id as "id: ConversationId" from mentions newest
           where workspace_id = $1 and person_id = $2
             and ($3::timestamptz is null or (at, conversation_id) < ($3, $4))
             and not exists (
                 select from mentions newer
                 where newer.workspace_id = $1 and newer.conversation_id = newest.conversation_id
                   and newer.person_id = $2 and (newer.at, newer.note_id) > (newest.at, newest.note_id))
           order by at desc, conversation_id desc limit $5"#,
        person.workspace.0,
        person.id.0,
        before.map(|place| place.at),
        before.map(|place| place.id.0),
        limit
    )
    .fetch_all(conn)
    .await?)
}

/// The people a note names, of those who can see the conversation. Nobody is told of the sandbox.
pub(super) async fn in_note(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    body: &str,
) -> Result<Vec<PersonId>> {
    let names = after_at_signs(body);
    if names.is_empty() || !conversation.livemode() {
        return Ok(Vec::new());
    }
    let people = sqlx::query!(
        r#"select id as "id: PersonId", name from people
           where workspace_id = $1 and removed_at is null and ($2::bigint = $3::bigint or id = $2)"#,
        workspace.0,
        conversation.audience,
        TEAM
    )
    .fetch_all(conn)
    .await?;
    let people: Vec<_> = people.into_iter().map(|row| (row.id, row.name.to_lowercase())).collect();
    Ok(named(&names, &people).into_iter().collect())
}

/// The longest name that fits counts: `@Anna Berg` is not every Anna.
fn named(places: &[String], people: &[(PersonId, String)]) -> BTreeSet<PersonId> {
    let mut named = BTreeSet::new();
    for place in places {
        let whole: Vec<_> =
            people.iter().filter(|(_, name)| name.contains(' ') && begins(place, name)).collect();
        let longest = whole.iter().map(|(_, name)| name.len()).max();
        match longest {
            Some(longest) => {
                named.extend(whole.iter().filter(|(_, name)| name.len() == longest).map(|(id, _)| *id));
            }
            None => {
                let first = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
                let those = people.iter().filter(|(_, name)| begins(place, &first(name)));
                named.extend(those.map(|(id, _)| *id));
            }
        }
    }
    named
}

/// Whether the text begins with a name, whole.
fn begins(text: &str, name: &str) -> bool {
    let Some(rest) = text.strip_prefix(name).filter(|_| !name.is_empty()) else { return false };
    let mut after = rest.chars();
    match after.next() {
        None => true,
        Some('@') => false,
        // A name may end with what a word can only have inside: "@anna-" is Anna.
        Some('-' | '\'') => !after.next().is_some_and(char::is_alphanumeric),
        Some(letter) => !letter.is_alphanumeric(),
    }
}

/// What follows each `@` that begins a word, in lower case, as far as a name can reach. An `@` inside a word belongs to
/// a mail address.
fn after_at_signs(body: &str) -> Vec<String> {
    let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '\'' | '.' | '_' | '@');
    let places = body.match_indices('@').filter(|(at, _)| !body[..*at].ends_with(is_inside));
    let places = places.map(|(at, _)| body[at + 1..].lines().next().unwrap_or_default());
    places
        .filter(|rest| !rest.is_empty())
        .map(|rest| rest.chars().take(120).collect::<String>().to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentioned_in(body: &str) -> Vec<i64> {
        let team = ["Anna Berg", "Anna Stein", "Björn", "Anna-Lena Roth", "Jo O'Neil"];
        let people: Vec<_> =
            team.iter().zip(1..).map(|(name, id)| (PersonId(id), name.to_lowercase())).collect();
        named(&after_at_signs(body), &people).into_iter().map(|person| person.0).collect()
    }

    #[test]
    fn a_first_name_is_everybody_of_that_name_in_any_case() {
        assert_eq!(mentioned_in("@Anna, please ask (@BJÖRN) and @anna."), [1, 2, 3]);
        assert_eq!(mentioned_in("@björns or @ann or @annabel or nobody"), [] as [i64; 0]);
        assert_eq!(mentioned_in("@anna- and @jo's"), [1, 2], "what follows a name may end it");
    }

    #[test]
    fn a_whole_name_is_that_person() {
        assert_eq!(mentioned_in("see @anna stein, thanks"), [2]);
        assert_eq!(mentioned_in("@Anna-Lena and @Jo O'Neil"), [4, 5]);
        assert_eq!(mentioned_in("@anna steinmann"), [1, 2], "she is not on the team");
        assert_eq!(mentioned_in("@anna\nstein"), [1, 2]);
    }

    #[test]
    fn a_mail_address_mentions_nobody() {
        assert_eq!(mentioned_in("write to x@anna.example or a.b@anna or @anna@example.test"), [] as [i64; 0]);
    }
}
