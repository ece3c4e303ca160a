//! Notes of the team, as the search has them: their words are terms of their own, which only a search of people asks for
//! (docs/decisions/notes-in-search.md). The database queues every note that is written or moved, whatever version does it.
//!
//! Notes from before the upgrade have fewer than no tries: the worker takes them when nothing else waits.

use rookery_base::error::Result;
use rookery_base::store::db::Tx;

/// Notes of one conversation that are queued at once after its words began again, as in migrations/0095_notes_in_search.sql;
/// and of all conversations together.
const QUEUED: i64 = 500;
const QUEUED_OF_ALL: i64 = 10_000;

/// Notes of one batch.
#[derive(Default)]
pub(super) struct TakenNotes {
    conversations: Vec<i64>,
    notes: Vec<i64>,
    /// Others may wait behind these, whose time has come before theirs.
    is_late: bool,
}

impl TakenNotes {
    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Whether more may be waiting, when so many of them were indexed and there was room for so many.
    pub(super) fn has_more(&self, indexed: usize, room: i64) -> bool {
        indexed > 0 && (self.is_late || indexed < self.notes.len() || self.notes.len() as i64 == room)
    }
}

/// The newest first. What failed is tried alone, and only when no mail waits (`is_idle`); what is from before the upgrade
/// comes after that, for whoever takes `all`.
pub(super) async fn take(tx: &mut Tx<'_>, most: i64, is_idle: bool, all: bool) -> Result<TakenNotes> {
    if most <= 0 {
        return Ok(TakenNotes::default());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let fresh = sqlx::query!(
        "select conversation_id, note_id from unindexed_notes where workspace_id = $1 and tries = 0
         order by since desc, note_id desc limit $2 for update",
        workspace,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    if !fresh.is_empty() || !is_idle {
        let (conversations, notes) = fresh.into_iter().map(|row| (row.conversation_id, row.note_id)).unzip();
        return Ok(TakenNotes { conversations, notes, is_late: false });
    }
    let failed = sqlx::query!(
        "select conversation_id, note_id from unindexed_notes
         where workspace_id = $1 and tries <> 0 and retry_at <= $2
         order by retry_at limit 1 for update",
        workspace,
        now
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(row) = failed {
        let (conversations, notes) = (vec![row.conversation_id], vec![row.note_id]);
        return Ok(TakenNotes { conversations, notes, is_late: true });
    }
    if !all {
        return Ok(TakenNotes::default());
    }
    let old = sqlx::query!(
        "select conversation_id, note_id from unindexed_notes
         where workspace_id = $1 and tries <> 0 and retry_at = 'infinity'
         order by note_id desc limit $2 for update",
        workspace,
        most
    )
    .fetch_all(&mut **tx)
    .await?;
    let (conversations, notes) = old.into_iter().map(|row| (row.conversation_id, row.note_id)).unzip();
    Ok(TakenNotes { conversations, notes, is_late: true })
}

/// The text of a note to index.
pub(super) struct NoteText {
    pub conversation: i64,
    pub note: i64,
    /// Subject and contact, when the conversation has no words yet: whoever comes first brings them.
    pub head: Option<String>,
    /// Empty when it is gone.
    pub body: String,
}

impl NoteText {
    pub(super) fn bytes(&self) -> usize {
        self.head.as_ref().map_or(0, String::len) + self.body.len()
    }
}

/// Reads as many as fit into these bytes, and one at least. Sizes are measured before any text is read.
pub(super) async fn read(
    tx: &mut Tx<'_>,
    taken: &TakenNotes,
    bytes: i64,
    letters_of_a_head: i32,
) -> Result<Vec<NoteText>> {
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = tx.workspace().0;
    // Who erases holds conversations first, and then their words.
    sqlx::query!(
        "select id from conversations where workspace_id = $1 and id = any($2) order by id for key share",
        workspace,
        &taken.conversations
    )
    .fetch_all(&mut **tx)
    .await?;
    let rows = sqlx::query!(
        r#"with sized as materialized (
               select noted.conversation_id, noted.note_id, noted.place,
                      sum(measured.size) over (order by noted.place) as up_to
               from unnest($2::bigint[], $3::bigint[]) with ordinality as noted (conversation_id, note_id, place)
               cross join lateral (
                   select coalesce((
                       select octet_length(body) from notes
                       where workspace_id = $1 and conversation_id = noted.conversation_id
                         and id = noted.note_id), 0)::bigint as size offset 0) measured)
           select conversation_id as "conversation_id!", note_id as "note_id!",
               (select body from notes
                where workspace_id = $1 and conversation_id = sized.conversation_id and id = sized.note_id) as body,
               (select left(concat_ws(' ', subject, contact_name, contact_email), $5) from conversations
                where workspace_id = $1 and id = sized.conversation_id
                  and not exists (select from conversation_words
                                  where workspace_id = $1 and conversation_id = sized.conversation_id)) as head
           from sized where up_to <= $4::bigint or place = 1 order by place"#,
        workspace,
        &taken.conversations,
        &taken.notes,
        bytes,
        letters_of_a_head
    )
    .fetch_all(&mut **tx)
    .await?;
    let texts = rows.into_iter().map(|row| NoteText {
        conversation: row.conversation_id,
        note: row.note_id,
        head: row.head,
        body: row.body.unwrap_or_default(),
    });
    Ok(texts.collect())
}

/// Their words are in. True when others were queued that were to come after them.
pub(super) async fn forget(tx: &mut Tx<'_>, notes: &[(i64, i64)]) -> Result<bool> {
    if notes.is_empty() {
        return Ok(false);
    }
    let workspace = tx.workspace().0;
    let (conversations, notes): (Vec<i64>, Vec<i64>) = notes.iter().copied().unzip();
    let last = sqlx::query!(
        r#"with gone as (
               delete from unindexed_notes noted
               using unnest($2::bigint[], $3::bigint[]) as done (conversation_id, note_id)
               where noted.workspace_id = $1 and noted.conversation_id = done.conversation_id
                 and noted.note_id = done.note_id
               returning noted.conversation_id, noted.note_id, noted.continues)
           select conversation_id as "conversation_id!", min(note_id) as "note_id!" from gone
           where continues group by conversation_id"#,
        workspace,
        &conversations,
        &notes
    )
    .fetch_all(&mut **tx)
    .await?;
    let (conversations, notes): (Vec<i64>, Vec<i64>) =
        last.into_iter().map(|row| (row.conversation_id, row.note_id)).unzip();
    queue_next(tx, &conversations, &notes).await?;
    Ok(!conversations.is_empty())
}

/// Queues what comes after these, one of each conversation. The last of many brings those after it in the same way.
async fn queue_next(tx: &mut Tx<'_>, conversations: &[i64], notes: &[i64]) -> Result<()> {
    if conversations.is_empty() {
        return Ok(());
    }
    let workspace = tx.workspace().0;
    let most = (QUEUED_OF_ALL / conversations.len() as i64).clamp(1, QUEUED);
    sqlx::query!(
        "with later as materialized (
             select done.conversation_id, behind.id, behind.at,
                    row_number() over (partition by done.conversation_id order by behind.id) as place
             from unnest($2::bigint[], $3::bigint[]) as done (conversation_id, note_id)
             cross join lateral (
                 select id, at from notes
                 where workspace_id = $1 and conversation_id = done.conversation_id and id > done.note_id
                 order by id limit $4::bigint) behind)
         insert into unindexed_notes (workspace_id, conversation_id, note_id, since, continues)
         select $1, conversation_id, id, at, place = $4::bigint from later
         on conflict (workspace_id, conversation_id, note_id)
             do update set continues = true, tries = 0, retry_at = null where excluded.continues",
        workspace,
        conversations,
        notes,
        most
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Each is tried again alone, later and later. What was to come after it does not wait for that.
pub(super) async fn put_off(tx: &mut Tx<'_>, taken: &TakenNotes) -> Result<()> {
    if taken.is_empty() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let last = sqlx::query!(
        r#"select conversation_id, min(note_id) as "note_id!" from unindexed_notes
           where workspace_id = $1 and continues
             and (conversation_id, note_id) in (select * from unnest($2::bigint[], $3::bigint[]))
           group by conversation_id"#,
        workspace,
        &taken.conversations,
        &taken.notes
    )
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query!(
        "update unindexed_notes
         set tries = greatest(tries, 0) + 1, continues = false,
             retry_at = $4::timestamptz + make_interval(secs => 10 * 2 ^ least(greatest(tries, 0), 9))
         where workspace_id = $1 and (conversation_id, note_id) in (select * from unnest($2::bigint[], $3::bigint[]))",
        workspace,
        &taken.conversations,
        &taken.notes,
        now
    )
    .execute(&mut **tx)
    .await?;
    let (conversations, notes): (Vec<i64>, Vec<i64>) =
        last.into_iter().map(|row| (row.conversation_id, row.note_id)).unzip();
    queue_next(tx, &conversations, &notes).await
}
