//! Makes exports, a few at a time and one of a workspace: read piece by piece, written to the blob store as it goes, so that
//! memory does not grow with what there is. Whoever makes one holds it by a claim and a time; when a node dies, another
//! begins it anew, and what was half written is swept.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Days, TimeDelta, Utc};
use futures::channel::mpsc::{self, Sender};
use futures::stream::FuturesUnordered;
use futures::{SinkExt, StreamExt, TryStreamExt, future};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::exports::content::{ArchivedMail, Opener};
use crate::exports::zip::{Open, Zip};
use crate::exports::{ask, bookings, content};
use rookery_base::app::App;
use rookery_base::due::backoff::{Aside, Backoff, BackoffPiece, caught};
use rookery_base::due::pass::{Pass, PassProgress};
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BookingId, ConversationId, ExportId, PersonId, WorkspaceId, lowest_at};
use rookery_base::store::blobs::Blob;
use rookery_base::store::db::Tx;
use rookery_base::store::doomed_files as files;
use rookery_core::conversations::secure::files as secure;
use rookery_core::conversations::secure::vault::Vault;
use rookery_core::workspace::access::By;
use rookery_core::workspace::audit::{self, Did, Subject};
use rookery_core::workspace::people::{self, Person};

/// The worker's loop.
pub const LOOP: &str = "make exports";

/// Where archives are, in the folder of their day.
const FOLDER: &str = "export";
/// How long a node may be silent before another takes over.
const LEASE: TimeDelta = TimeDelta::minutes(10);
const MOST_TRIES: i16 = 5;
const FAILED: &str = "it could not be made in five tries";
/// How far it is, is noted after so many conversations, and whenever so much time has passed.
const NOTED: i64 = 50;
const NOTED_EVERY: TimeDelta = TimeDelta::minutes(1);
/// While some are being made, how often to look for others.
const LOOKED: Duration = Duration::from_secs(5);

const README: &str = "Each folder of conversations/ is one conversation: conversation.json tells everything of it, the .eml files \
are its mails, files/ is what came with them, and documents/ what was filed otherwise. Of a contact, elsewhere/ has the mail of \
or to them in conversations with others. app-mail.jsonl has what connected apps sent and nobody answered, bookings.jsonl what was booked. missing.txt, if it \
is there, names files that the server does not have any more. Times are in UTC. Private inboxes of others are not in it.\n";
const MISSING: &str = "The server does not have these files any more:\n\n";

/// Makes what is due, so many at once and one of a workspace, and ends what has had its time, also meanwhile.
pub async fn work_off(app: &App, put_off: &Backoff, at_once: usize) -> Result<()> {
    let mut pass = Pass::begin(app, put_off);
    let mut under_way = FuturesUnordered::new();
    let mut busy: Vec<WorkspaceId> = Vec::new();
    loop {
        for (workspace, id) in over(&mut *app.connection().await?, app.clock.now(), &pass.aside()).await? {
            let ending = async { claim(app, workspace, id).await.map(|_| PassProgress::Done) };
            pass.turn(BackoffPiece::Row(workspace, id.0), ending).await?;
        }
        let mut aside = pass.aside();
        busy.iter().for_each(|workspace| aside.add(BackoffPiece::Workspace(*workspace)));
        let due = due(&mut *app.connection().await?, app.clock.now(), &aside).await?;
        if pass.is_over(&due) && under_way.is_empty() {
            return Ok(());
        }
        for (workspace, id) in due {
            if under_way.len() < at_once && !busy.contains(&workspace) && !app.stop.is_told() {
                busy.push(workspace);
                let making = async move { (workspace, id, caught(one(app, workspace, id)).await) };
                under_way.push(making);
            }
        }
        tokio::select! {
            Some((workspace, id, made)) = under_way.next() => {
                busy.retain(|one| *one != workspace);
                pass.turn(BackoffPiece::Row(workspace, id.0), future::ready(made)).await?;
            }
            () = tokio::time::sleep(LOOKED) => {}
        }
    }
}

/// When the next is to be made, or ended.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!(
        "select least((select min(due_at) from exports where due_at is not null),
                      (select min(ends_at) from exports where ended_at is null and ends_at is not null))"
    )
    .fetch_one(conn)
    .await?)
}

/// Of each workspace the one that was asked for first.
async fn due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, ExportId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace!: WorkspaceId", id as "id!: ExportId" from (
               select distinct on (workspace_id) workspace_id, id, created_at from exports
               where due_at <= $1
                 and id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
                 and workspace_id not in (select id from workspaces where fenced_at is not null)
               order by workspace_id, created_at, id) first
           order by created_at limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

/// Those that can have been downloaded for long enough.
async fn over(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    aside: &Aside,
) -> Result<Vec<(WorkspaceId, ExportId)>> {
    let rows = sqlx::query!(
        r#"select workspace_id as "workspace: WorkspaceId", id as "id: ExportId" from exports
           where ended_at is null and ends_at <= $1
             and id not in (select unnest($2::bigint[])) and workspace_id not in (select unnest($3::bigint[]))
             and workspace_id not in (select id from workspaces where fenced_at is not null)
           order by ends_at limit 100"#,
        now,
        &aside.rows,
        &aside.workspaces
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.workspace, row.id)).collect())
}

struct ClaimedExport {
    workspace: WorkspaceId,
    id: ExportId,
    claim: i32,
    person: Person,
    contact: Option<String>,
    what: &'static str,
}

async fn one(app: &App, workspace: WorkspaceId, id: ExportId) -> Result<PassProgress> {
    let Some(claimed) = claim(app, workspace, id).await? else { return Ok(PassProgress::Done) };
    let (sender, receiver) = mpsc::channel::<Result<Bytes>>(4);
    let making = Making {
        app,
        claimed: &claimed,
        zip: Zip::default(),
        sender,
        missing: Vec::new(),
        done: 0,
        total: 0,
        noted_at: app.clock.now(),
    };
    let (stored, made) = futures::join!(app.blobs.write_huge(workspace, FOLDER, receiver), making.fill());
    let stored = match (stored, made) {
        (Ok(stored), Ok(())) => stored,
        (stored, made) => {
            if let Ok(stored) = stored {
                app.blobs.discard(&[stored.key]).await;
            }
            if app.stop.is_told() {
                give_back(app, &claimed).await?;
                return Ok(PassProgress::Done);
            }
            return made.and(Err(Error::internal("an export could not be stored")));
        }
    };
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    let noted = sqlx::query!(
        "update exports set blob = $4, size = $5, made_at = $6, ends_at = $7, due_at = null
         where workspace_id = $1 and id = $2 and claim = $3 and due_at is not null",
        workspace.0,
        id.0,
        claimed.claim,
        &stored.key,
        stored.length as i64,
        now,
        now + ask::KEPT
    )
    .execute(&mut *tx)
    .await?;
    if noted.rows_affected() == 0 {
        drop(tx);
        app.blobs.discard(&[stored.key]).await;
        return Ok(PassProgress::Done);
    }
    let data = json!({ "size": stored.length });
    audit::record(&mut tx, &By::System, Did::ExportMade, Subject { id: &id, name: claimed.what }, data)
        .await?;
    tx.commit().await?;
    Ok(PassProgress::Done)
}

/// Somebody was erased, and every export has ended: what nodes that died or lost their claim left behind goes now, not with
/// the sweep. One that was begun since may lose what it has written, and begins anew.
pub async fn discard_unfinished(app: &App, workspace: WorkspaceId) -> Result<()> {
    let today = app.clock.now().date_naive();
    // The sweep has been at older days.
    for day in (today - Days::new(4)).iter_days().take_while(|day| *day <= today) {
        app.blobs.discard_unfinished_of(workspace, day, FOLDER).await?;
        let stored: Vec<String> = app.blobs.of_day(workspace, day).try_collect().await?;
        let (part, now) = (format!("/{FOLDER}/"), lowest_at(app.clock.now()));
        let archives: Vec<String> = stored.into_iter().filter(|key| key.contains(&part)).collect();
        let named = ask::held(&mut *app.connection().await?, workspace, 0..now, &archives).await?;
        let nameless: Vec<String> = archives.into_iter().filter(|key| !named.contains(key)).collect();
        app.blobs.remove(&nameless).await?;
    }
    Ok(())
}

/// This node stops: another may begin at once, and it was no try.
async fn give_back(app: &App, claimed: &ClaimedExport) -> Result<()> {
    let mut tx = app.begin(claimed.workspace).await?;
    let now = tx.now();
    sqlx::query!(
        "update exports set due_at = $4, tries = tries - 1
         where workspace_id = $1 and id = $2 and claim = $3 and due_at is not null",
        claimed.workspace.0,
        claimed.id.0,
        claimed.claim,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}

/// Takes one that is due; ends one whose time is over, or that was tried too often.
async fn claim(app: &App, workspace: WorkspaceId, id: ExportId) -> Result<Option<ClaimedExport>> {
    let keys = app.config.needs_secret_key()?;
    let mut tx = app.begin(workspace).await?;
    let now = tx.now();
    let row = sqlx::query!(
        r#"select person_id as "person: PersonId", tries, due_at, is_contact from exports
           where workspace_id = $1 and id = $2 and ended_at is null for update"#,
        workspace.0,
        id.0
    )
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let what = ask::what(row.is_contact);
    // Whoever left the team, or may not any more, gets nothing.
    let person =
        people::teammate(&mut tx, workspace, row.person).await.ok().filter(|one| one.role.administers());
    let person = match (person, row.due_at) {
        (Some(person), Some(due)) if due <= now && row.tries < MOST_TRIES => person,
        (_, Some(due)) if due > now => return Ok(None),
        (person, due) => {
            let because = match (person, due) {
                (None, _) => "the person who asked for it may no longer have it",
                (_, Some(_)) => FAILED,
                (_, None) => "its time was over",
            };
            let blob = ask::close(&mut tx, id, because == FAILED).await?;
            files::doom(&mut tx, blob.as_slice()).await?;
            let data = json!({ "because": because });
            let subject = Subject { id: &id, name: what };
            audit::record(&mut tx, &By::System, Did::ExportEnded, subject, data).await?;
            tx.commit().await?;
            return Ok(None);
        }
    };
    let contact = ask::find(&mut tx, workspace, id).await?.contact(keys, workspace);
    if row.is_contact && contact.is_none() {
        return Err(Error::internal("the contact of an export cannot be read"));
    }
    let claim = note(&mut tx, id, None, 0, 0).await?;
    tx.commit().await?;
    Ok(claim.map(|claim| ClaimedExport { workspace, id, claim, person, contact, what }))
}

/// How far it is, and that somebody is still at it. Nothing when somebody else has it, or it was ended.
async fn note(
    tx: &mut Tx<'_>,
    id: ExportId,
    claim: Option<i32>,
    done: i64,
    total: i64,
) -> Result<Option<i32>> {
    let (workspace, now) = (tx.workspace().0, tx.now());
    Ok(sqlx::query_scalar!(
        "update exports set due_at = $4, done = $5, total = $6,
             claim = case when $3::int is null then claim + 1 else claim end,
             tries = case when $3::int is null then tries + 1 else tries end
         where workspace_id = $1 and id = $2 and ended_at is null and ($3::int is null or claim = $3) returning claim",
        workspace,
        id.0,
        claim,
        now + LEASE,
        done as i32,
        total as i32
    )
    .fetch_optional(&mut **tx)
    .await?)
}

/// An archive on its way.
struct Making<'a> {
    app: &'a App,
    claimed: &'a ClaimedExport,
    zip: Zip,
    sender: Sender<Result<Bytes>>,
    /// Files that the store does not have any more.
    missing: Vec<String>,
    /// Conversations that are in it, of how many, and when that was last noted.
    done: i64,
    total: i64,
    noted_at: DateTime<Utc>,
}

impl Making<'_> {
    async fn send(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.sender.send(Ok(bytes.into())).await.map_err(Error::internal)
    }

    async fn whole(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let out = self.zip.whole(name, bytes);
        self.send(out).await
    }

    /// A piece of an entry.
    async fn piece(&mut self, open: &mut Open, piece: Bytes) -> Result<()> {
        open.add(&piece);
        self.sender.send(Ok(piece)).await.map_err(Error::internal)?;
        self.go_on().await
    }

    /// A file of the blob store. One that is gone is named as missing; when the store does not answer, the try has failed.
    async fn file(&mut self, name: &str, blob: &str) -> Result<()> {
        let stored = self.app.blobs.find(blob).await?;
        self.stored(name, stored).await
    }

    async fn stored(&mut self, name: &str, stored: Option<Blob>) -> Result<()> {
        let Some(mut stored) = stored else {
            self.missing.push(name.to_owned());
            return Ok(());
        };
        let (mut open, head) = self.zip.begin(name);
        self.send(head).await?;
        while let Some(piece) = stored.bytes.try_next().await? {
            self.piece(&mut open, piece).await?;
        }
        let end = self.zip.end(open);
        self.send(end).await
    }

    /// Asked for between mails and between pieces of files: ends at the word to stop, and says that somebody is still at it.
    async fn go_on(&mut self) -> Result<()> {
        if self.app.stop.is_told() {
            return Err(Error::internal("an export was stopped"));
        }
        if self.app.clock.now() - self.noted_at >= NOTED_EVERY { self.note().await } else { Ok(()) }
    }

    async fn note(&mut self) -> Result<()> {
        let mut tx = self.app.begin(self.claimed.workspace).await?;
        self.noted_at = tx.now();
        let still = note(&mut tx, self.claimed.id, Some(self.claimed.claim), self.done, self.total).await?;
        tx.commit().await?;
        still.map(drop).ok_or_else(|| Error::internal("an export was ended, or another node has it"))
    }

    async fn fill(mut self) -> Result<()> {
        let result = self.write().await;
        // Whoever stores it must not take half an archive for a whole one.
        if result.is_err() {
            let _ = self.sender.send(Err(Error::internal("an export was not finished"))).await;
        }
        result
    }

    async fn write(&mut self) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let audiences = self.claimed.person.audiences();
        let contact = self.claimed.contact.clone();
        let contact = contact.as_deref();
        self.total = content::count(&mut *app.connection().await?, workspace, &audiences, contact).await?;
        self.whole("README.txt", README.as_bytes()).await?;
        let mut after = 0;
        loop {
            let some =
                content::next(&mut *app.connection().await?, workspace, &audiences, contact, after, NOTED)
                    .await?;
            let Some(last) = some.last() else { break };
            after = last.0;
            for conversation in some {
                self.conversation(&audiences, conversation).await?;
                self.done += 1;
            }
            self.note().await?;
        }
        if let Some(contact) = contact {
            self.elsewhere(&audiences, contact).await?;
        }
        self.app_mail(contact).await?;
        self.bookings(&audiences, contact).await?;
        if !self.missing.is_empty() {
            let names = format!("{MISSING}{}\n", self.missing.join("\n"));
            self.whole("missing.txt", names.as_bytes()).await?;
        }
        let end = std::mem::take(&mut self.zip).finish();
        self.send(end).await
    }

    /// The JSON comes last and is written in pieces, so that a conversation of any length is never in memory.
    async fn conversation(&mut self, audiences: &[i64], conversation: ConversationId) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let folder = format!("conversations/{conversation}");
        let about = content::about(&mut *app.connection().await?, workspace, audiences, conversation).await?;
        let Some((about, filed)) = about else { return Ok(()) };
        let mut named = HashSet::new();
        let mut after = 0;
        while let Some(mails) = self.next_mails(audiences, conversation, &mut after).await? {
            for (_, mail) in &mails {
                self.mail(&folder, mail).await?;
                named.extend(mail.files.iter().map(|file| file.blob.clone()));
            }
        }
        for document in filed.iter().filter(|one| !named.contains(&one.blob)) {
            self.file(&format!("{folder}/documents/{}", document.name), &document.blob).await?;
        }
        let (mut open, head) = self.zip.begin(&format!("{folder}/conversation.json"));
        self.send(head).await?;
        let about = serde_json::to_string_pretty(&about)?;
        let begins = format!("{},\n  \"messages\": [", about.trim_end_matches(['}', '\n']));
        self.piece(&mut open, begins.into()).await?;
        let (mut after, mut between) = (0, "\n");
        while let Some(mails) = self.next_mails(audiences, conversation, &mut after).await? {
            for (told, _) in mails {
                let told = format!("{between}{}", serde_json::to_string_pretty(&told)?);
                self.piece(&mut open, told.into()).await?;
                between = ",\n";
            }
        }
        self.piece(&mut open, "]\n}\n".into()).await?;
        let end = self.zip.end(open);
        self.send(end).await
    }

    /// Somebody's own export has their secure words. One of the whole workspace leaves all of them sealed.
    fn opener(&self) -> Option<Opener<'_>> {
        let (keys, contact) = (self.app.config.secret_key.as_ref()?, self.claimed.contact.as_deref()?);
        Some(Opener { keys, contact })
    }

    async fn next_mails(
        &self,
        audiences: &[i64],
        conversation: ConversationId,
        after: &mut i64,
    ) -> Result<Option<Vec<(Value, ArchivedMail)>>> {
        let workspace = self.claimed.workspace;
        let mut conn = self.app.connection().await?;
        let ids = content::of_conversation(&mut conn, workspace, conversation, *after).await?;
        let Some(last) = ids.last() else { return Ok(None) };
        *after = last.0;
        Ok(Some(content::mails(&mut conn, self.opener(), workspace, audiences, &ids).await?))
    }

    async fn mail(&mut self, folder: &str, mail: &ArchivedMail) -> Result<()> {
        let name = format!("{folder}/{}.eml", mail.id);
        match &mail.blob {
            Some(blob) => self.file(&name, blob).await?,
            None => self.whole(&name, &mail.bytes).await?,
        }
        for (n, file) in mail.files.iter().enumerate() {
            let name = format!("{folder}/files/{}", content::file_name(mail.id, n, &file.filename));
            self.file(&name, &file.blob).await?;
        }
        if !mail.secure_files.is_empty() {
            self.secure_files(folder, mail).await?;
        }
        self.go_on().await
    }

    async fn secure_files(&mut self, folder: &str, mail: &ArchivedMail) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let keys = app.config.needs_secret_key()?;
        let vault = Vault::must(&mut *app.connection().await?, keys, workspace).await?;
        for (n, file) in mail.secure_files.iter().enumerate() {
            let name = content::file_name(mail.id, mail.files.len() + n, &file.filename);
            let plain = secure::find(app, &vault, file).await?;
            self.stored(&format!("{folder}/files/{name}"), plain).await?;
        }
        Ok(())
    }

    /// Mail of or to the contact in conversations with others: that mail alone.
    async fn elsewhere(&mut self, audiences: &[i64], contact: &str) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let mut after = Some(0);
        while let Some(from) = after {
            let found;
            (found, after) =
                content::elsewhere(&mut *app.connection().await?, workspace, contact, from).await?;
            for some in found.chunks(content::MAILS as usize) {
                let mails =
                    content::mails(&mut *app.connection().await?, self.opener(), workspace, audiences, some)
                        .await?;
                for (told, mail) in mails {
                    self.mail("elsewhere", &mail).await?;
                    let told = serde_json::to_string_pretty(&told)?;
                    self.whole(&format!("elsewhere/{}.json", mail.id), told.as_bytes()).await?;
                }
            }
            self.go_on().await?;
        }
        Ok(())
    }

    /// What apps sent and nobody answered, a line each.
    async fn app_mail(&mut self, contact: Option<&str>) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let mut open: Option<Open> = None;
        let mut after = String::new();
        loop {
            let some = content::unanswered(&mut *app.connection().await?, workspace, contact, &after).await?;
            let Some((last, _)) = some.last() else { break };
            after = last.clone();
            let lines: String = some.iter().map(|(_, told)| format!("{told}\n")).collect();
            open = Some(self.lines("app-mail.jsonl", open.take(), lines).await?);
        }
        self.end(open).await
    }

    /// What was booked, a line each.
    async fn bookings(&mut self, audiences: &[i64], contact: Option<&str>) -> Result<()> {
        let (app, workspace) = (self.app, self.claimed.workspace);
        let mut open: Option<Open> = None;
        let mut after = BookingId(0);
        loop {
            let mut conn = app.connection().await?;
            let some = bookings::load(&mut conn, workspace, audiences, contact, after).await?;
            drop(conn);
            let Some((last, _)) = some.last() else { break };
            after = *last;
            let lines: String = some.iter().map(|(_, told)| format!("{told}\n")).collect();
            open = Some(self.lines("bookings.jsonl", open.take(), lines).await?);
        }
        self.end(open).await
    }

    /// More lines of a file that is begun with its first ones.
    async fn lines(&mut self, name: &str, open: Option<Open>, lines: String) -> Result<Open> {
        let mut entry = match open {
            Some(open) => open,
            None => {
                let (begun, head) = self.zip.begin(name);
                self.send(head).await?;
                begun
            }
        };
        self.piece(&mut entry, lines.into()).await?;
        Ok(entry)
    }

    async fn end(&mut self, open: Option<Open>) -> Result<()> {
        let Some(open) = open else { return Ok(()) };
        let end = self.zip.end(open);
        self.send(end).await
    }
}
