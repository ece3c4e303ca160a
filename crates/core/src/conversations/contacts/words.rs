//! Indexes the words of contacts: name and address, folded and hashed as those of mail are. A row without words is the note that it
//! is to be done, also after somebody called themselves otherwise. The loop that indexes mail does it, and a search catches up.

use rookery_base::error::Result;
use rookery_base::search_terms;
use rookery_base::store::db::Tx;

/// Contacts of one transaction.
const AT_ONCE: i64 = 500;

/// Indexes some of a workspace. True when more may be waiting. Waits for nobody, because whoever erases or renames somebody may
/// wait for the notes of an indexer; what they hold is new or gone when they are done.
pub async fn index(tx: &mut Tx<'_>) -> Result<bool> {
    let workspace = tx.workspace();
    let waiting = sqlx::query!(
        "select audience, email, name from contacts where workspace_id = $1 and words is null
         order by audience, email limit $2 for no key update skip locked",
        workspace.0,
        AT_ONCE
    )
    .fetch_all(&mut **tx)
    .await?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let (mut audiences, mut emails, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    for contact in &waiting {
        let texts = [Some(contact.email.as_str()), contact.name.as_deref()];
        let words = search_terms::hash_terms(workspace, texts.into_iter().flatten());
        audiences.push(contact.audience);
        emails.push(contact.email.clone());
        // Arrays of different lengths can be passed in one parameter only as text.
        lists.push(format!("{{{}}}", words.iter().map(i64::to_string).collect::<Vec<_>>().join(",")));
    }
    sqlx::query!(
        "update contacts c set words = found.words::bigint[]
         from unnest($2::bigint[], $3::text[], $4::text[]) as found (audience, email, words)
         where c.workspace_id = $1 and c.audience = found.audience and c.email = found.email",
        workspace.0,
        &audiences,
        &emails,
        &lists
    )
    .execute(&mut **tx)
    .await?;
    Ok(waiting.len() as i64 == AT_ONCE)
}
