//! `/settings/inboxes`: the addresses that customers write to. Making an inbox, its name, further addresses, whether
//! answering assigns, and what it answers by itself. Of another person's private inbox only its owner's name is shown.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::settings::{auto_reply, period};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::{Form, MemberRequest};
use crate::{respond, session, sign_in};
use rookery_base::error::{Error, Result};
use rookery_base::ids::MailboxId;
use rookery_core::conversations::inboxes;
use rookery_core::workspace::domains;
use rookery_core::workspace::inbox_settings::{self, Inbox};
use rookery_core::workspace::mailboxes;

const PATH: &str = "/settings/inboxes";

#[derive(Template)]
#[template(path = "settings/inboxes.html")]
struct InboxesPage {
    shell: Shell,
    page: &'static str,
    inboxes: Vec<(Inbox, i64)>,
    others: Vec<String>,
    /// Addresses of inboxes that neither receive nor send.
    unproven: Vec<String>,
    /// The form for a new one, as it was typed.
    new: Option<New>,
}

#[derive(Default)]
struct New {
    address: String,
    name: String,
    private: bool,
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "settings/inbox.html")]
struct InboxPage {
    shell: Shell,
    page: &'static str,
    inbox: Inbox,
    /// Those of its addresses whose domain is not proven to be the workspace's.
    unproven: Vec<String>,
    alias: String,
    problem: Option<String>,
    auto: auto_reply::AutoReplyForm,
}

impl InboxesPage {
    fn is_unproven(&self, address: &str) -> bool {
        self.unproven.iter().any(|unproven| unproven == address)
    }
}

impl InboxPage {
    /// Whether it is the address of the inbox itself, not a further one.
    fn is_its_own(&self, address: &str) -> bool {
        address == self.inbox.address
    }
}

pub async fn list(asked: MemberRequest) -> Result<Response> {
    let new = asked.query("new").map(|_| New::default());
    respond::page(&all(&asked, new).await?)
}

async fn all(asked: &MemberRequest, new: Option<New>) -> Result<InboxesPage> {
    let mut conn = asked.reading().await?;
    let (inboxes, others) = inbox_settings::list(&mut conn, &asked.person).await?;
    let counted = inboxes::list(&mut conn, &asked.person, asked.times().now).await?;
    // The directory has a connection of its own, so none is held while it is asked.
    drop(conn);
    let open = |id| counted.iter().find(|one| one.id == id).map_or(0, |one| one.open);
    let inboxes = inboxes.into_iter().map(|inbox| (open(inbox.id), inbox));
    let inboxes: Vec<(Inbox, i64)> = inboxes.map(|(open, inbox)| (inbox, open)).collect();
    let addresses: Vec<String> = inboxes.iter().map(|(inbox, _)| inbox.address.clone()).collect();
    let unproven = domains::unproven(asked.visit.app(), asked.person.workspace, &addresses).await?;
    let shell = Shell::frame(asked, Here::Settings);
    Ok(InboxesPage { shell, page: PATH, inboxes, others, unproven, new })
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let (address, name) = (form.text("address")?, form.text("name")?);
    let private = form.flag("private");
    if private && !session::is_fresh(&asked) {
        return sign_in::again::ask(&asked, Some(&form)).await;
    }
    let owner = private.then_some(asked.person.id);
    let by = asked.person.by();
    match mailboxes::create(asked.app(), asked.person.workspace, &by, address, name, owner).await {
        Ok(id) => Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::InboxMade, ""))),
        Err(error @ Error::Problems(_)) => {
            let problem = Some(error.sentence());
            let new = New { address: address.to_owned(), name: name.to_owned(), private, problem };
            respond::page_with(StatusCode::BAD_REQUEST, &all(&asked, Some(new)).await?)
        }
        Err(other) => Err(other),
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&one(&asked, String::new(), None).await?)
}

async fn one(asked: &MemberRequest, alias: String, problem: Option<String>) -> Result<InboxPage> {
    let id: MailboxId = asked.id("id")?;
    let mut conn = asked.reading().await?;
    let inbox = inbox_settings::find(&mut conn, &asked.person, id).await?;
    let auto = auto_reply::load(&mut conn, asked, id).await?;
    drop(conn);
    let addresses: Vec<String> = std::iter::once(&inbox.address).chain(&inbox.aliases).cloned().collect();
    let unproven = domains::unproven(asked.visit.app(), asked.person.workspace, &addresses).await?;
    let shell = Shell::frame(asked, Here::Settings);
    Ok(InboxPage { shell, page: PATH, inbox, unproven, alias, problem, auto })
}

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: MailboxId = asked.id("id")?;
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let name = form.text("name")?;
    let changed = inbox_settings::change(&mut tx, &asked.person, id, name, form.flag("assigns")).await;
    let changed = match changed {
        Ok(()) => tx.commit().await,
        Err(error) => {
            drop(tx);
            Err(error)
        }
    };
    answered(&asked, id, String::new(), changed).await
}

pub async fn add_alias(asked: MemberRequest) -> Result<Response> {
    let id: MailboxId = asked.id("id")?;
    let form = asked.form().await?;
    let alias = form.text("alias")?;
    let added = inbox_settings::add_alias(asked.app(), &asked.person, id, alias).await;
    answered(&asked, id, alias.to_owned(), added).await
}

pub async fn remove_alias(asked: MemberRequest) -> Result<Response> {
    let id: MailboxId = asked.id("id")?;
    let form = asked.form().await?;
    inbox_settings::remove_alias(asked.app(), &asked.person, id, form.text("alias")?).await?;
    answered(&asked, id, String::new(), Ok(())).await
}

pub async fn set_auto_reply(asked: MemberRequest) -> Result<Response> {
    let id: MailboxId = asked.id("id")?;
    let form = asked.form().await?;
    match save_auto_reply(&asked, id, &form).await {
        Ok(()) => {
            let path = format!("{PATH}/{id}#auto-reply");
            Ok(respond::see_other_with(&path, Toast::new(Done::Saved, "")))
        }
        Err(error @ Error::Problems(_)) => {
            let mut page = one(&asked, String::new(), None).await?;
            page.auto = page.auto.typed(&form, period::sentence(&error));
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(other) => Err(other),
    }
}

async fn save_auto_reply(asked: &MemberRequest, id: MailboxId, form: &Form) -> Result<()> {
    let mut tx = asked.tx().await?;
    let zone = inbox_settings::auto_reply::zone(&mut tx, asked.person.workspace).await?;
    let reply = auto_reply::read(form, &auto_reply::times_in(asked, &zone))?;
    inbox_settings::auto_reply::set(&mut tx, &asked.person, id, &reply).await?;
    tx.commit().await
}

async fn answered(asked: &MemberRequest, id: MailboxId, alias: String, done: Result<()>) -> Result<Response> {
    match done {
        Ok(()) => Ok(respond::see_other_with(&format!("{PATH}/{id}"), Toast::new(Done::Saved, ""))),
        Err(error @ Error::Problems(_)) => {
            let page = one(asked, alias, Some(error.sentence())).await?;
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(other) => Err(other),
    }
}
