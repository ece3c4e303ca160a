//! What the composer's form does: save, send, send and close, send later, throw away, take files in and out, insert a
//! saved reply or times to book. Whatever the button, the words are saved first, in a commit of their own; so nothing that
//! stops a send loses them.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::bookings::offer::{self, MOST_READ};
use crate::bulk::asked_action::path_in;
use crate::conversation::{later, receive};
use crate::inbox::reading::{list_in, list_path};
use crate::respond::{self, see_other, see_other_with};
use crate::toast::{Done, Toast};
use crate::visit::{FormFields, Formatted, MemberRequest};
use rookery_base::error::{Error, NO_MAILBOX, Result};
use rookery_base::ids::{BookingTypeId, ConversationId, DraftFileId, DraftId, MailboxId, SavedReplyId};
use rookery_base::languages::Language;
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::{Conversation, find_visible};
use rookery_core::conversations::secure::page::Way;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::mailboxes;
use rookery_http::answers::insert;
use rookery_product::replies::drafts::{self, DraftKind, DraftWords, Save, Saved, paragraph};
use rookery_product::replies::recipients::{self, Recipients};
use rookery_product::replies::saved_replies::{self, FilledReply};
use rookery_product::replies::secure::{self, Prepared};
use rookery_product::replies::send::{self, Click, SendOutcome, SentItem, SentReply};
use rookery_product::replies::{asking, draft_end, ready, upload};

/// `POST /conversations/{id}/write`
pub async fn in_conversation(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let id: ConversationId = asked.id("id")?;
    act(&asked, &form, Some(id)).await
}

/// `POST /compose`
pub async fn new_conversation(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    act(&asked, &form, None).await
}

/// `POST /conversations/{id}/write/files`
pub async fn files_in_conversation(asked: MemberRequest) -> Result<Response> {
    let id: ConversationId = asked.id("id")?;
    take_files(&asked, Some(id)).await
}

/// `POST /compose/files`
pub async fn files_of_new_conversation(asked: MemberRequest) -> Result<Response> {
    take_files(&asked, None).await
}

/// `POST /drafts/{id}/restore`: brings back what was thrown away.
pub async fn restore(asked: MemberRequest) -> Result<Response> {
    let draft: DraftId = asked.id("id")?;
    let mut tx = asked.tx().await?;
    draft_end::restore(&mut tx, &asked.person, draft).await?;
    let keys = tx.frame().keys.clone();
    let back = drafts::read(&mut tx, keys.as_deref(), &asked.person, draft).await?;
    let back = back.ok_or(drafts::NO_DRAFT)?;
    tx.commit().await?;
    Ok(see_other(&page_of(back.conversation, back.kind, draft, "", "")))
}

/// The address of a draft's composer. `list` is the query of the list beside it, `check` what the page should check.
fn page_of(
    conversation: Option<ConversationId>,
    kind: DraftKind,
    draft: DraftId,
    list: &str,
    check: &str,
) -> String {
    let (joint, check) = if check.is_empty() { ("", check) } else { ("&", check) };
    let beside = if list.is_empty() { "" } else { "&" };
    match conversation {
        Some(id) => {
            format!("/conversations/{id}?{list}{beside}compose={}{joint}{check}#composer", kind.as_str())
        }
        None => format!("/compose?draft={draft}{joint}{check}#composer"),
    }
}

/// The words and buttons of the form.
struct Filled<'a> {
    form: &'a FormFields,
    conversation: Option<ConversationId>,
    kind: DraftKind,
    draft: DraftId,
}

/// What a form says.
struct Typed {
    words: DraftWords,
    /// It had more formatting than is kept, so the words go without.
    too_formatted: bool,
}

impl Typed {
    /// What says so, once the words are saved.
    fn must_be_kept(&self) -> Result<()> {
        let what = "This has too much formatting to keep. Paste it as plain text instead.";
        if self.too_formatted { Err(Error::problem("body", what)) } else { Ok(()) }
    }
}

impl<'a> Filled<'a> {
    fn read(form: &'a FormFields, conversation: Option<ConversationId>) -> Result<Self> {
        let kind = match conversation {
            Some(_) => DraftKind::from_form(form.get("kind").unwrap_or_default()),
            None => DraftKind::New,
        };
        let draft = form.parse("draft")?.ok_or(drafts::NO_DRAFT)?;
        Ok(Self { form, conversation, kind, draft })
    }

    fn text(&self, field: &str) -> String {
        self.form.get(field).unwrap_or_default().to_owned()
    }

    fn number(&self, field: &str) -> i32 {
        self.form.get(field).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    async fn typed(&self) -> Result<Typed> {
        let formatted =
            if self.is_rich() { self.form.formatted().await? } else { Some(Formatted::default()) };
        let too_formatted = formatted.is_none();
        let formatted = formatted.unwrap_or_default();
        let (mailbox, from) = self.sender()?;
        let words = DraftWords {
            mailbox,
            from,
            about: self.form.parse("about")?,
            to: self.text("to"),
            cc: self.text("cc"),
            bcc: self.text("bcc"),
            subject: self.text("subject"),
            // Browsers end lines in two characters; what is kept has one.
            body: formatted.words.unwrap_or_else(|| self.text("body").replace("\r\n", "\n")),
            html: formatted.html,
            documents: asking::join(&self.text("documents").replace("\r\n", "\n"), &self.text("due")),
            language: self.form.get("language").and_then(Language::named),
            secure: self.is_secure(),
            proof: self.proof(),
            seen: self.number("seen"),
        };
        Ok(Typed { words, too_formatted })
    }

    /// The inbox of a new conversation, and the address that it is written from: one choice of the form has both. That of an answer
    /// has an address of its inbox.
    fn sender(&self) -> Result<(Option<MailboxId>, String)> {
        let plain = |address: &str| address.trim().to_lowercase();
        match self.form.get("mailbox").unwrap_or_default().split_once(' ') {
            Some((inbox, address)) => {
                let inbox = inbox.parse().map_err(|_| NO_MAILBOX)?;
                Ok((Some(inbox), plain(address)))
            }
            None => Ok((self.form.parse("mailbox")?, plain(self.form.get("from").unwrap_or_default()))),
        }
    }

    /// Whether what is written may have formatting. A page without the editor does not know of it: then the text holds.
    fn is_rich(&self) -> bool {
        self.form.flag("rich") && self.kind != DraftKind::Note && !self.is_secure()
    }

    fn is_secure(&self) -> bool {
        matches!(self.kind, DraftKind::Reply | DraftKind::New) && self.form.flag("secure")
    }

    /// How the customer proves who they are, if it goes as a secure link.
    fn proof(&self) -> Way {
        Way::from_form(self.form.get("proof").unwrap_or_default())
    }

    /// The passphrase that was agreed with the customer, if the writer chose that.
    fn passphrase(&self) -> Option<&str> {
        (self.proof() == Way::Passphrase).then(|| self.form.get("passphrase").unwrap_or_default())
    }

    fn save(&'a self, words: DraftWords) -> Save<'a> {
        let page = self.form.get("page").unwrap_or_default();
        let is_name = page.len() <= 40 && page.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Save {
            draft: self.draft,
            kind: self.kind,
            base: self.number("version"),
            page: if is_name { page } else { "" },
            save: self.number("save"),
            over: self.form.flag("mine"),
            words,
        }
    }

    fn page(&self, draft: DraftId, check: &str) -> Response {
        see_other(&page_of(self.conversation, self.kind, draft, list_in(self.form), check))
    }
}

async fn visible(
    asked: &MemberRequest,
    tx: &mut Tx<'_>,
    id: Option<ConversationId>,
) -> Result<Option<Conversation>> {
    match id {
        Some(id) => {
            let now = tx.now();
            Ok(Some(find_visible(tx, &asked.person, now, &id.to_string()).await?))
        }
        None => Ok(None),
    }
}

async fn act(asked: &MemberRequest, form: &FormFields, id: Option<ConversationId>) -> Result<Response> {
    let filled = Filled::read(form, id)?;
    let typed = filled.typed().await?;
    let formatting_kept = typed.must_be_kept();
    let mut words = typed.words;
    let mut tx = asked.tx().await?;
    let conversation = visible(asked, &mut tx, id).await?;
    if let Some(mailbox) = words.mailbox {
        mailboxes::find_visible(&mut tx, &asked.person, &mailbox.to_string()).await?;
    }
    let button = form.get("do").unwrap_or("save");
    if let (Some(conversation), "all" | "one") = (&conversation, button) {
        readdress(asked, &mut tx, conversation, &mut words, button == "all").await?;
    }
    if button == "unask" {
        (words.documents, words.language) = (String::new(), None);
    }
    let inserted: Option<SavedReplyId> = form.parse("insert")?;
    if let Some(reply) = inserted {
        // From the list of saved replies, before anything was written.
        if let (Some(conversation), DraftKind::Reply, true) =
            (&conversation, filled.kind, words.to.is_empty())
        {
            readdress(asked, &mut tx, conversation, &mut words, false).await?;
        }
        let filled_in = reply_filled(asked, &mut tx, conversation.as_ref(), &words, reply).await?;
        let formatting = Some(filled_in.html.as_str()).filter(|html| filled.is_rich() && !html.is_empty());
        paragraph::add(&mut words, &filled_in.text, formatting);
    }
    // The composer comes back with the times of a type that can be ticked.
    let mut check = match form.parse::<BookingTypeId>("times")? {
        Some(chosen) => format!("offer={chosen}"),
        None => String::new(),
    };
    if let (Some(offered), Some(conversation)) = (form.parse::<BookingTypeId>("offer")?, &conversation) {
        let ticked: Vec<&str> = form.all("time").take(MOST_READ).collect();
        match offer::put_in_words(&mut tx, asked, conversation, offered, &ticked).await? {
            Ok(put) => {
                let formatting = put.html.as_deref().filter(|_| filled.is_rich());
                paragraph::add(&mut words, &put.text, formatting);
            }
            Err(refused) => check = offer::again(offered, refused, &ticked),
        }
    }
    let saved = drafts::save(&mut tx, &asked.person, conversation.as_ref(), &filled.save(words)).await?;
    tx.commit().await?;
    if let (Some(reply), Saved::Kept { draft, version, .. }) = (inserted, &saved) {
        let mut tx = asked.tx().await?;
        let reply = saved_replies::find(&mut tx, asked.person.workspace, reply).await?;
        for (_, file) in &reply.files {
            upload::attach(&mut tx, &asked.person, *draft, Some(*version), file, false).await?;
        }
        tx.commit().await?;
    }
    if button != "discard" {
        formatting_kept?;
    }
    if form.flag("quiet") {
        return Ok(answer_save(asked, &saved));
    }
    let (draft, version) = match saved {
        Saved::Kept { draft, version, .. } => (draft, version),
        Saved::Newer(newer) => return Ok(filled.page(newer.id, "check=newer")),
        // The same click may have come before; then it is told what came of it.
        Saved::Gone => (filled.draft, 0),
    };
    if let Some(file) = form.parse::<DraftFileId>("drop")? {
        take_out(asked, draft, file).await?;
        return Ok(filled.page(draft, ""));
    }
    if let (Some(id), "documents") = (id, button) {
        let list = list_in(form);
        let beside = if list.is_empty() { "" } else { "?" };
        return Ok(see_other(&format!("/conversations/{id}/documents{beside}{list}")));
    }
    let at = match (form.get("later"), button) {
        (Some(at), _) => Some(at),
        (None, "later") => Some(form.get("at").unwrap_or_default()),
        _ => None,
    };
    let secure = filled.is_secure().then(|| filled.proof());
    let now = Click { draft, version, close: false, at: None, secure };
    match (at, button) {
        (Some(at), _) => match later::read(&asked.times(), at) {
            Some(at) => click(asked, &filled, Click { at: Some(at), ..now }).await,
            None => Ok(filled.page(draft, "check=send&late=1")),
        },
        (_, "send") => click(asked, &filled, now).await,
        (_, "close") => click(asked, &filled, Click { close: true, ..now }).await,
        (_, "discard") => discard(asked, &filled, draft).await,
        _ => Ok(filled.page(draft, &check)),
    }
}

/// The answer to a save that the page made by itself.
fn answer_save(asked: &MemberRequest, saved: &Saved) -> Response {
    let mut response = match saved {
        Saved::Kept { .. } => respond::nothing(),
        Saved::Newer(newer) => (StatusCode::CONFLICT, newer.words.body.clone()).into_response(),
        Saved::Gone => StatusCode::GONE.into_response(),
    };
    let (draft, version, at) = match saved {
        Saved::Kept { draft, version, at } => (*draft, *version, *at),
        Saved::Newer(newer) => (newer.id, newer.version, newer.saved_at),
        Saved::Gone => return response,
    };
    let headers = response.headers_mut();
    insert(headers, "x-draft", &draft.to_string());
    insert(headers, "x-draft-version", &version.to_string());
    insert(headers, "x-draft-saved", &asked.times().brief(&at));
    response
}

async fn readdress(
    asked: &MemberRequest,
    tx: &mut Tx<'_>,
    conversation: &Conversation,
    words: &mut DraftWords,
    all: bool,
) -> Result<()> {
    let workspace = asked.person.workspace;
    if let Some(mail) = ready::answered(tx, workspace, conversation, words.about).await? {
        let (one, everybody) = ready::answering(tx, workspace, conversation, &mail).await?;
        let found = if all { everybody } else { one };
        words.to = recipients::line(&found.to);
        words.cc = recipients::line(&found.cc);
    }
    Ok(())
}

/// What is inserted, with the values of this conversation.
async fn reply_filled(
    asked: &MemberRequest,
    tx: &mut Tx<'_>,
    conversation: Option<&Conversation>,
    words: &DraftWords,
    reply: SavedReplyId,
) -> Result<FilledReply> {
    let reply = saved_replies::find(tx, asked.person.workspace, reply).await?;
    let typed = recipients::read(&words.to, "", "").unwrap_or_default();
    let values = values(asked, tx, conversation, words, &typed).await?;
    Ok(reply.filled(&values))
}

/// The values of the variables of saved replies in this form.
pub(super) async fn values(
    asked: &MemberRequest,
    conn: &mut sqlx::PgConnection,
    conversation: Option<&Conversation>,
    words: &DraftWords,
    typed: &Recipients,
) -> Result<saved_replies::Values> {
    let mailbox = match (conversation, words.mailbox) {
        (Some(conversation), _) => conversation.mailbox_id,
        (None, Some(mailbox)) => mailbox,
        (None, None) => {
            return Ok(saved_replies::Values { agent_name: asked.person.name.clone(), ..Default::default() });
        }
    };
    let mailbox = mailboxes::find_visible(conn, &asked.person, &mailbox.to_string()).await?;
    Ok(ready::values(&asked.person, conversation, &mailbox, typed))
}

async fn click(asked: &MemberRequest, filled: &Filled<'_>, click: Click) -> Result<Response> {
    if !filled.is_secure() {
        return clicked(asked, filled, click, None).await.map(|(response, _)| response);
    }
    let passphrase = filled.passphrase();
    if passphrase.is_some_and(|given| !secure::is_sound(given)) {
        return Ok(filled.page(click.draft, "check=send&passphrase=1"));
    }
    // Bytes are sealed and stored before anything names them.
    let prepared = secure::prepare(asked.app(), &asked.person, click.draft, passphrase).await?;
    let clicked = clicked(asked, filled, click, prepared.as_ref()).await;
    let is_named = match &clicked {
        Ok((_, sent)) => *sent,
        // Nobody knows whether rows name them; if none does, the sweep finds them.
        Err(error) => error.is_uncertain(),
    };
    if let (Some(prepared), false) = (prepared, is_named) {
        asked.app().blobs.discard(&prepared.blobs()).await;
    }
    clicked.map(|(response, _)| response)
}

/// The answer, and whether the draft was sent by this very click.
async fn clicked(
    asked: &MemberRequest,
    filled: &Filled<'_>,
    click: Click,
    secure: Option<&Prepared>,
) -> Result<(Response, bool)> {
    let mut tx = asked.tx().await?;
    let outcome = send::send(asked.app(), &mut tx, &asked.person, click, secure).await?;
    let answer = match outcome {
        SendOutcome::Sent(sent) => {
            tx.commit().await?;
            return Ok((gone_on(asked, filled.form, sent, click), true));
        }
        SendOutcome::Already(sent) => gone_on(asked, filled.form, sent, click),
        SendOutcome::Crossed { .. } | SendOutcome::NotReady(_) => {
            let late = if click.at.is_some_and(|at| at <= asked.times().now) { "&late=1" } else { "" };
            filled.page(click.draft, &format!("check=send{late}"))
        }
        SendOutcome::Newer => filled.page(click.draft, "check=newer"),
        SendOutcome::Gone => return Err(drafts::NO_DRAFT),
    };
    Ok((answer, false))
}

/// Where the person goes after sending: the conversation, or the next one of the list if this one was closed.
fn gone_on(asked: &MemberRequest, form: &FormFields, sent: SentReply, click: Click) -> Response {
    let here = beside(sent.conversation, form);
    match sent.what {
        SentItem::Note => see_other_with(&here, Toast::new(Done::Noted, "")),
        SentItem::Message(message) if click.at.is_some() => {
            see_other_with(&here, Toast::new(Done::SendsLater, message))
        }
        SentItem::Message(message) if click.close => {
            let next = path_in(form, "next").map_or_else(|| list_path(list_in(form)), str::to_owned);
            // What leaves at once cannot be taken back.
            let of = if asked.undo_window().is_zero() { String::new() } else { message.to_string() };
            see_other_with(&next, Toast::new(Done::SentAndClosed, of))
        }
        SentItem::Message(_) if asked.undo_window().is_zero() => {
            see_other_with(&here, Toast::new(Done::SentNow, ""))
        }
        SentItem::Message(message) => see_other_with(&here, Toast::new(Done::Sends, message)),
    }
}

/// The address of the conversation without its composer, beside the same list.
fn beside(conversation: ConversationId, form: &FormFields) -> String {
    match list_in(form) {
        "" => format!("/conversations/{conversation}"),
        list => format!("/conversations/{conversation}?{list}"),
    }
}

async fn discard(asked: &MemberRequest, filled: &Filled<'_>, draft: DraftId) -> Result<Response> {
    let mut tx = asked.tx().await?;
    draft_end::discard(&mut tx, &asked.person, draft).await?;
    tx.commit().await?;
    let here = match filled.conversation {
        Some(id) => beside(id, filled.form),
        None => "/drafts".to_owned(),
    };
    Ok(see_other_with(&here, Toast::new(Done::DraftGone, draft)))
}

async fn take_out(asked: &MemberRequest, draft: DraftId, file: DraftFileId) -> Result<()> {
    let mut tx = asked.tx().await?;
    let left = upload::detach(&mut tx, &asked.person, draft, file).await?;
    tx.commit().await?;
    asked.app().blobs.discard(&left).await;
    Ok(())
}

/// What became of files that came with the words around them.
struct TakenFiles {
    saved: Saved,
    page: String,
    named: Vec<DraftFileId>,
}

/// Files come with the words around them: the words are saved, and each file is stored as it comes and named after. With
/// `inline` they are pictures for the text, and the page is told what the last one is called.
async fn take_files(asked: &MemberRequest, id: Option<ConversationId>) -> Result<Response> {
    // Whose conversation it is, is asked before a byte is stored.
    let mut tx = asked.tx().await?;
    visible(asked, &mut tx, id).await?;
    drop(tx);
    let quiet = asked.query("quiet").is_some();
    let taken = async {
        let (fields, files) = receive::receive(asked).await?;
        match name_files(asked, id, &fields, &files).await {
            Err(error) if !error.is_uncertain() => {
                let blobs: Vec<String> = files.into_iter().map(|file| file.blob).collect();
                asked.app().blobs.discard(&blobs).await;
                Err(error)
            }
            named => named,
        }
    };
    match taken.await {
        Ok(taken) if quiet => {
            let mut response = answer_save(asked, &taken.saved);
            if let Some(file) = taken.named.last() {
                insert(response.headers_mut(), "x-draft-file", &file.to_string());
            }
            Ok(response)
        }
        Ok(taken) => Ok(see_other(&taken.page)),
        // The page tells what is wrong beside the file.
        Err(Error::Problems(problems)) if quiet => {
            let sentences: Vec<String> = problems.into_iter().map(|problem| problem.what).collect();
            Ok((StatusCode::BAD_REQUEST, sentences.join(" ")).into_response())
        }
        Err(error) => Err(error),
    }
}

async fn name_files(
    asked: &MemberRequest,
    id: Option<ConversationId>,
    fields: &FormFields,
    files: &[Attachment],
) -> Result<TakenFiles> {
    let filled = Filled::read(fields, id)?;
    let mut tx = asked.tx().await?;
    let conversation = visible(asked, &mut tx, id).await?;
    let saved = drafts::save(
        &mut tx,
        &asked.person,
        conversation.as_ref(),
        &filled.save(filled.typed().await?.words),
    )
    .await?;
    tx.commit().await?;
    // Words that another page wrote meanwhile stay, and the files go with them; but this page is told of them.
    let (draft, version) = match &saved {
        Saved::Kept { draft, version, .. } => (*draft, Some(*version)),
        Saved::Newer(newer) => (newer.id, None),
        Saved::Gone => return Err(drafts::NO_DRAFT),
    };
    let inline = asked.query("inline").is_some();
    let mut checked = Vec::with_capacity(files.len());
    for file in files.iter().cloned() {
        checked.push(if inline { upload::as_picture(asked.app(), file).await? } else { file });
    }
    let mut tx = asked.tx().await?;
    let mut named = Vec::with_capacity(files.len());
    for file in &checked {
        named.push(upload::attach(&mut tx, &asked.person, draft, version, file, inline).await?);
    }
    tx.commit().await?;
    let check = if matches!(saved, Saved::Newer(_)) { "check=newer" } else { "" };
    let page = page_of(id, filled.kind, draft, list_in(fields), check);
    Ok(TakenFiles { saved, page, named })
}
