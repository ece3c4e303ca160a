//! What people are writing, kept on the server: one draft for each conversation, person and kind, seen by nobody else.
//! A save names the version it began from, the open page it comes from and its number there. A late save of a page
//! changes nothing; a page that did not know of another one's words loses neither: its own are kept beside the draft.
//! What was sent or thrown away keeps its row for a while, so that whatever comes late finds what became of it.

pub mod documents;
pub mod erase;
pub mod files;
pub mod leaving;
pub mod list;
pub mod paragraph;
pub(in crate::replies) mod pictures;
mod sealing;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{ConversationId, DraftFileId, DraftId, MailboxId, MessageId};
use rookery_base::languages::Language;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::Conversation;
use rookery_core::conversations::lock::keep_apart;
use rookery_core::conversations::secure::page::Way;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::people::Person;
use rookery_reading::html::written;
use rookery_reading::text;

pub const NO_DRAFT: Error = Error::Missing("No such draft.");
/// Words of other pages that are kept beside a draft.
const MOST_COPIES: i64 = 10;
/// Characters of a draft. More than can be sent, because a text may still be cut.
const LONGEST_BODY: usize = 200_000;
const LONGEST_LINE: usize = 10_000;
/// As many documents as can be asked for at once, each with the longest hint.
const LONGEST_DOCUMENTS: usize = 15_000;

rookery_base::text_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum DraftKind {
        Reply = "reply",
        Note = "note",
        Forward = "forward",
        /// The first message of a conversation that is not there yet.
        New = "new",
    }
}

impl DraftKind {
    /// What a form says; a reply when it says nothing else.
    pub fn from_form(word: &str) -> Self {
        Self::named(word).unwrap_or(Self::Reply)
    }
}

/// What somebody typed, as it stands in the form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftWords {
    /// The inbox that a new conversation is written from.
    pub mailbox: Option<MailboxId>,
    /// The message that is answered or passed on.
    pub about: Option<MessageId>,
    /// The address of the inbox that it leaves from; empty when the service is to choose.
    pub from: String,
    pub to: String,
    pub cc: String,
    pub bcc: String,
    pub subject: String,
    pub body: String,
    /// The body with its formatting (`html/written`), empty when it is only text. A secure message is only text.
    pub html: String,
    /// Documents to ask for, one a line.
    pub documents: String,
    /// The language they are asked for in.
    pub language: Option<Language>,
    /// It is to be sent as a secure link, and what then opens it.
    pub secure: bool,
    pub proof: Way,
    /// The newest timeline item that the writer had before them.
    pub seen: i32,
}

impl DraftWords {
    /// What opens it, if it goes as a secure link.
    pub fn way(&self) -> Option<Way> {
        self.secure.then_some(self.proof)
    }

    /// How the body is formatted, if it is.
    pub fn formatting(&self) -> &str {
        if self.secure { "" } else { &self.html }
    }

    /// Whatever page they come from: the same text, from the same inbox, about the same message.
    fn says_the_same(&self, other: &Self) -> bool {
        let said = |words: &Self| {
            let lines = [&words.from, &words.to, &words.cc, &words.bcc, &words.documents, &words.body];
            let lines = lines.map(|line| text::lines(line).trim().to_owned());
            let html = words.formatting().to_owned();
            (lines, html, text::line(&words.subject), words.about, words.mailbox, words.way(), words.language)
        };
        said(self) == said(other)
    }
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub id: DraftId,
    pub kind: DraftKind,
    pub conversation: Option<ConversationId>,
    pub words: DraftWords,
    pub version: i32,
    pub saved_at: DateTime<Utc>,
    pub files: Vec<DraftFile>,
    /// Words of other pages that would have been overwritten.
    pub copies: Vec<Copy>,
}

/// A picture within the text has its own id as its `content_id`, and other files have none.
#[derive(Clone, Debug)]
pub struct DraftFile {
    pub id: DraftFileId,
    pub attachment: Attachment,
}

#[derive(Clone, Debug)]
pub struct Copy {
    pub body: String,
    pub saved_at: DateTime<Utc>,
}

/// One save of one open page.
#[derive(Clone, Debug)]
pub struct Save<'a> {
    /// Drawn when the page was made, so that the same page never makes two.
    pub draft: DraftId,
    pub kind: DraftKind,
    /// The version that the page began from or heard of last; 0 when there was no draft.
    pub base: i32,
    /// The open page, and how many saves it has made. A page without script has no name.
    pub page: &'a str,
    pub save: i32,
    /// It replaces words of another page, as its writer chose: those are kept beside it.
    pub over: bool,
    pub words: DraftWords,
}

#[derive(Debug)]
pub enum Saved {
    Kept {
        draft: DraftId,
        version: i32,
        at: DateTime<Utc>,
    },
    /// Another page wrote on meanwhile: this is what it has. What was to be saved is kept beside it.
    Newer(Box<Draft>),
    /// It was sent or thrown away in another page; nothing was kept.
    Gone,
}

/// Saves what a page has. The conversation was found for this person; a new conversation has none.
pub async fn save(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: Option<&Conversation>,
    save: &Save<'_>,
) -> Result<Saved> {
    check(&save.words)?;
    if (save.kind == DraftKind::New) != conversation.is_none() {
        return Err(NO_DRAFT);
    }
    let mut merged = None;
    // Another round sees what somebody inserted between looking and inserting, or where the conversation went.
    for _ in 0..3 {
        let conversation = merged.as_ref().or(conversation);
        let Some(found) = find(tx, person, conversation, save).await? else {
            if let Some(into) = keep_apart(tx, person, conversation).await? {
                merged = Some(into);
                continue;
            }
            if let Some(kept) = insert(tx, person, conversation, save).await? {
                return Ok(kept);
            }
            continue;
        };
        if found.done {
            return Ok(Saved::Gone);
        }
        let same_page = !save.page.is_empty() && found.page == save.page && found.id == save.draft;
        if same_page && save.save <= found.save {
            // A newer save of this page was faster.
            return Ok(Saved::Kept { draft: found.id, version: found.version, at: found.saved_at });
        }
        if same_page || found.version == save.base {
            return update(tx, conversation, &found, save).await;
        }
        let keys = tx.frame().keys.clone();
        let newer = read(tx, keys.as_deref(), person, found.id).await?.ok_or(NO_DRAFT)?;
        if newer.words.says_the_same(&save.words) {
            return Ok(Saved::Kept { draft: newer.id, version: newer.version, at: newer.saved_at });
        }
        keep_beside(tx, found.id, save).await?;
        if newer.words.secure {
            sealing::copies(tx, found.id).await?;
        }
        return Ok(Saved::Newer(Box::new(newer)));
    }
    Err(Error::internal("a draft was there and was not"))
}

fn check(words: &DraftWords) -> Result<()> {
    let mut problems = Vec::new();
    let mut at_most = |field: &str, value: &str, most: usize| {
        if value.len() > most && value.chars().count() > most {
            let what = format!("This is too long to keep: at most {most} characters.");
            problems.push(Problem { field: field.to_owned(), what });
        }
    };
    at_most("body", &words.body, LONGEST_BODY);
    for (field, line) in [
        ("from", &words.from),
        ("to", &words.to),
        ("cc", &words.cc),
        ("bcc", &words.bcc),
        ("subject", &words.subject),
    ] {
        at_most(field, line, LONGEST_LINE);
    }
    at_most("documents", &words.documents, LONGEST_DOCUMENTS);
    if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
}

struct FoundDraft {
    id: DraftId,
    version: i32,
    page: String,
    save: i32,
    saved_at: DateTime<Utc>,
    about: Option<MessageId>,
    done: bool,
}

/// The row that a save is for, locked: its own, or the one of the same conversation and kind.
async fn find(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: Option<&Conversation>,
    save: &Save<'_>,
) -> Result<Option<FoundDraft>> {
    let workspace = tx.workspace().0;
    let own = sqlx::query!(
        r#"select person_id, kind as "kind: DraftKind", conversation_id, version, page, save, saved_at,
               about as "about: MessageId", became is not null as "done!"
           from written_drafts where workspace_id = $1 and id = $2 for update"#,
        workspace,
        save.draft.0
    )
    .fetch_optional(&mut **tx)
    .await?;
    if let Some(row) = own {
        let of = conversation.map(|conversation| conversation.id.0);
        if row.person_id != person.id.0 || row.kind != save.kind || (row.conversation_id != of && !row.done) {
            return Err(NO_DRAFT);
        }
        return Ok(Some(FoundDraft {
            id: save.draft,
            version: row.version,
            page: row.page,
            save: row.save,
            saved_at: row.saved_at,
            about: row.about,
            done: row.done,
        }));
    }
    let Some(conversation) = conversation else { return Ok(None) };
    let other = sqlx::query!(
        r#"select id as "id: DraftId", version, page, save, saved_at, about as "about: MessageId" from written_drafts
           where workspace_id = $1 and person_id = $2 and conversation_id = $3 and kind = $4 and became is null
           for update"#,
        workspace,
        person.id.0,
        conversation.id.0,
        save.kind.as_str()
    )
    .fetch_optional(&mut **tx)
    .await?;
    Ok(other.map(|row| FoundDraft {
        id: row.id,
        version: row.version,
        page: row.page,
        save: row.save,
        saved_at: row.saved_at,
        about: row.about,
        done: false,
    }))
}

/// Nothing when somebody was faster.
async fn insert(
    tx: &mut Tx<'_>,
    person: &Person,
    conversation: Option<&Conversation>,
    save: &Save<'_>,
) -> Result<Option<Saved>> {
    let (workspace, now, words) = (tx.workspace().0, tx.now(), &save.words);
    let body = sealing::body(tx, &words.body, words.secure).await?;
    let html = pictures::only_own(tx, save.draft, words.formatting()).await?;
    let inserted = sqlx::query!(
        "insert into written_drafts
             (workspace_id, id, person_id, kind, conversation_id, mailbox_id, about, to_line, cc_line, bcc_line, subject,
              body, documents, seen, version, page, save, saved_at, secure, proof, html, from_address,
              documents_language)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1, $15, $16, $17, $18, $19, $20, $21, $22)
         on conflict do nothing",
        workspace,
        save.draft.0,
        person.id.0,
        save.kind.as_str(),
        conversation.map(|conversation| conversation.id.0),
        words.mailbox.map(|mailbox| mailbox.0),
        words.about.map(|about| about.0),
        text::lines(&words.to),
        text::lines(&words.cc),
        text::lines(&words.bcc),
        text::line(&words.subject),
        body,
        text::lines(&words.documents),
        words.seen,
        save.page,
        save.save,
        now,
        words.secure,
        words.proof.as_str(),
        html,
        text::line(&words.from),
        words.language.map(Language::as_str)
    )
    .execute(&mut **tx)
    .await?;
    if inserted.rows_affected() == 0 {
        return Ok(None);
    }
    borrow_files(tx, conversation, save.draft, save, None).await?;
    Ok(Some(Saved::Kept { draft: save.draft, version: 1, at: now }))
}

async fn update(
    tx: &mut Tx<'_>,
    conversation: Option<&Conversation>,
    found: &FoundDraft,
    save: &Save<'_>,
) -> Result<Saved> {
    let (workspace, now, words) = (tx.workspace().0, tx.now(), &save.words);
    let body = sealing::body(tx, &words.body, words.secure).await?;
    let html = pictures::only_own(tx, found.id, words.formatting()).await?;
    if save.over {
        sqlx::query!(
            "insert into written_draft_copies (workspace_id, draft_id, page, save, body, saved_at)
             select workspace_id, id, 'over ' || version, 0, body, saved_at from written_drafts
             where workspace_id = $1 and id = $2 and body <> ''
             on conflict do nothing",
            workspace,
            found.id.0
        )
        .execute(&mut **tx)
        .await?;
    }
    // What this page had beside the draft stands in it now.
    sqlx::query!(
        "delete from written_draft_copies where workspace_id = $1 and draft_id = $2 and page = $3",
        workspace,
        found.id.0,
        save.page
    )
    .execute(&mut **tx)
    .await?;
    let version = sqlx::query_scalar!(
        "update written_drafts
         set mailbox_id = $3, about = $4, to_line = $5, cc_line = $6, bcc_line = $7, subject = $8, body = $9,
             documents = $10, seen = $11, version = version + 1, page = $12, save = $13, saved_at = $14, secure = $15,
             proof = $16, html = $17, from_address = $18, documents_language = $19
         where workspace_id = $1 and id = $2
         returning version",
        workspace,
        found.id.0,
        words.mailbox.map(|mailbox| mailbox.0),
        words.about.map(|about| about.0),
        text::lines(&words.to),
        text::lines(&words.cc),
        text::lines(&words.bcc),
        text::line(&words.subject),
        body,
        text::lines(&words.documents),
        words.seen,
        save.page,
        save.save,
        now,
        words.secure,
        words.proof.as_str(),
        html,
        text::line(&words.from),
        words.language.map(Language::as_str)
    )
    .fetch_one(&mut **tx)
    .await?;
    if words.secure {
        sealing::copies(tx, found.id).await?;
    }
    borrow_files(tx, conversation, found.id, save, found.about).await?;
    Ok(Saved::Kept { draft: found.id, version, at: now })
}

/// Another message is passed on than before, or the first.
async fn borrow_files(
    tx: &mut Tx<'_>,
    conversation: Option<&Conversation>,
    draft: DraftId,
    save: &Save<'_>,
    before: Option<MessageId>,
) -> Result<()> {
    match (save.kind, conversation, save.words.about) {
        (DraftKind::Forward, Some(conversation), Some(about)) if before != Some(about) => {
            files::of_passed_on(tx, conversation, draft, about).await
        }
        _ => Ok(()),
    }
}

/// Of each page its newest words; of many pages the newest ten.
pub(super) async fn keep_beside(tx: &mut Tx<'_>, draft: DraftId, save: &Save<'_>) -> Result<()> {
    if save.words.body.trim().is_empty() {
        return Ok(());
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    let body = sealing::body(tx, &save.words.body, save.words.secure).await?;
    // Pages without a name are told apart by their words.
    let page = if save.page.is_empty() { tx.frame().random.hex(8) } else { save.page.to_owned() };
    sqlx::query!(
        "insert into written_draft_copies as kept (workspace_id, draft_id, page, save, body, saved_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id, draft_id, page) do update
             set save = excluded.save, body = excluded.body, saved_at = excluded.saved_at
             where excluded.save > kept.save",
        workspace,
        draft.0,
        page,
        save.save,
        body,
        now
    )
    .execute(&mut **tx)
    .await?;
    sqlx::query!(
        "delete from written_draft_copies
         where workspace_id = $1 and draft_id = $2 and page not in (
             select page from written_draft_copies where workspace_id = $1 and draft_id = $2
             order by saved_at desc limit $3)",
        workspace,
        draft.0,
        MOST_COPIES
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// A draft of a conversation, and whether it says anything yet.
pub struct Begun {
    pub id: DraftId,
    pub kind: DraftKind,
    pub says: bool,
}

/// What this person is writing in the conversation, at most one of each kind.
pub async fn begun(
    conn: &mut PgConnection,
    person: &Person,
    conversation: &Conversation,
) -> Result<Vec<Begun>> {
    Ok(sqlx::query_as!(
        Begun,
        r#"select id as "id: DraftId", kind as "kind: DraftKind",
               (body ~ '\S' or documents ~ '\S' or (kind = 'forward' and to_line ~ '\S') or exists (
                   select from written_draft_files f where f.workspace_id = $1 and f.draft_id = d.id and not f.borrowed
                     and not f.inline)) as "says!"
           from written_drafts d
           where workspace_id = $1 and person_id = $2 and conversation_id = $3 and became is null"#,
        person.workspace.0,
        person.id.0,
        conversation.id.0
    )
    .fetch_all(conn)
    .await?)
}

/// What this person is writing of one kind there.
pub async fn of_conversation(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    person: &Person,
    conversation: &Conversation,
    kind: DraftKind,
) -> Result<Option<Draft>> {
    let begun = begun(conn, person, conversation).await?;
    match begun.iter().find(|draft| draft.kind == kind) {
        Some(draft) => read(conn, keys, person, draft.id).await,
        None => Ok(None),
    }
}

/// A draft of this person that is neither sent nor thrown away.
pub async fn read(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    person: &Person,
    id: DraftId,
) -> Result<Option<Draft>> {
    let row = sqlx::query!(
        r#"select kind as "kind: DraftKind", conversation_id as "conversation: ConversationId",
               mailbox_id as "mailbox: MailboxId", about as "about: MessageId", from_address, to_line, cc_line, bcc_line, subject, body, html,
               documents, documents_language as "language: Language", secure, proof as "proof: Way", seen, version, saved_at,
               coalesce((select jsonb_agg(jsonb_build_object('id', f.id, 'filename', filename, 'contentType', content_type,
                             'size', size, 'blob', blob, 'borrowed', borrowed, 'inline', inline) order by f.id)
                         from written_draft_files f where f.workspace_id = $1 and f.draft_id = d.id), '[]')
                   as "files!: Json<Vec<DraftFileRow>>",
               coalesce((select jsonb_agg(jsonb_build_object('body', c.body, 'saved_at', c.saved_at) order by c.saved_at desc)
                         from written_draft_copies c where c.workspace_id = $1 and c.draft_id = d.id), '[]')
                   as "copies!: Json<Vec<Beside>>"
           from written_drafts d where workspace_id = $1 and id = $2 and person_id = $3 and became is null"#,
        person.workspace.0,
        id.0,
        person.id.0
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(mut row) = row else { return Ok(None) };
    let bodies = row.copies.0.iter_mut().map(|copy| &mut copy.body).chain([&mut row.body]).collect();
    sealing::open(conn, keys, person.workspace, bodies).await?;
    // An older version of the service changes the body alone.
    if written::under(&row.html, &row.body) != Some("") {
        row.html.clear();
    }
    Ok(Some(Draft {
        id,
        kind: row.kind,
        conversation: row.conversation,
        words: DraftWords {
            mailbox: row.mailbox,
            about: row.about,
            from: row.from_address,
            to: row.to_line,
            cc: row.cc_line,
            bcc: row.bcc_line,
            subject: row.subject,
            body: row.body,
            html: row.html,
            documents: row.documents,
            language: row.language,
            secure: row.secure,
            proof: row.proof,
            seen: row.seen,
        },
        version: row.version,
        saved_at: row.saved_at,
        files: row
            .files
            .0
            .into_iter()
            .map(|file| {
                let id = DraftFileId(file.id);
                let content_id = file.inline.then(|| id.to_string());
                DraftFile { id, attachment: Attachment { content_id, ..file.attachment } }
            })
            .collect(),
        copies: row
            .copies
            .0
            .into_iter()
            .map(|copy| Copy { body: copy.body, saved_at: copy.saved_at })
            .collect(),
    }))
}

#[derive(Debug, serde::Deserialize)]
struct DraftFileRow {
    id: i64,
    inline: bool,
    #[serde(flatten)]
    attachment: Attachment,
}

#[derive(Debug, serde::Deserialize)]
struct Beside {
    body: String,
    saved_at: DateTime<Utc>,
}
