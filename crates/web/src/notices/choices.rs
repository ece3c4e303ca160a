//! `/notices/choices`: what the person wants to be told of, for all inboxes and otherwise for single ones. A form of
//! plain selects, which works without script.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::MailboxId;
use rookery_core::conversations::inboxes;
use rookery_core::conversations::notifications::choices::{self, CHOICES, KINDS, NotificationChoice};

#[derive(Template)]
#[template(path = "notices/choices.html")]
struct ChoicesPage {
    shell: Shell,
    rows: Vec<NoticeChoiceRow>,
}

/// All inboxes, or one of them.
struct NoticeChoiceRow {
    name: String,
    is_all: bool,
    fields: Vec<Field>,
}

struct Field {
    name: String,
    label: &'static str,
    /// Value, words, and whether it is chosen.
    options: Vec<(&'static str, &'static str, bool)>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::load(&mut reading, &asked, Here::Notices).await?;
    let chosen = choices::load(&mut reading, &asked.person).await?;
    let mut rows = vec![row("All inboxes".into(), None, &chosen)];
    rows.extend(shell.inboxes.iter().map(|inbox| row(inbox.name.clone(), Some(inbox.id), &chosen)));
    respond::page(&ChoicesPage { shell, rows })
}

pub async fn save(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let mut tx = asked.tx().await?;
    let now = tx.now();
    let own = inboxes::list(&mut tx, &asked.person, now).await?;
    let mailboxes = own.iter().map(|inbox| Some(inbox.id)).chain([None]);
    for mailbox in mailboxes {
        for kind in KINDS {
            // A field that the form does not have stays as it is.
            let Some(choice) = form.get(&field(mailbox, kind)) else { continue };
            let choice = Some(choice).filter(|choice| !choice.is_empty());
            choices::choose(&mut tx, &asked.person, mailbox, kind, choice).await?;
        }
    }
    tx.commit().await?;
    Ok(respond::see_other_with("/notices/choices", Toast::new(Done::Saved, "")))
}

fn field(mailbox: Option<MailboxId>, kind: &str) -> String {
    mailbox.map_or_else(|| kind.to_owned(), |mailbox| format!("{mailbox}.{kind}"))
}

fn row(name: String, mailbox: Option<MailboxId>, chosen: &[NotificationChoice]) -> NoticeChoiceRow {
    let fields = KINDS.iter().map(|kind| {
        let own = chosen.iter().find(|choice| choice.mailbox == mailbox && choice.kind == *kind);
        let own = own.map(|choice| choice.choice.as_str());
        let mut options: Vec<_> = CHOICES
            .iter()
            .map(|choice| {
                (*choice, words(choice), own.or(mailbox.map_or(Some("mail"), |_| None)) == Some(*choice))
            })
            .collect();
        if mailbox.is_some() {
            options.insert(0, ("", "Default", own.is_none()));
        }
        let label = match *kind {
            "assigned" => "Assigned to me",
            "mentioned" => "Mentions me",
            _ => "I follow",
        };
        Field { name: field(mailbox, kind), label, options }
    });
    NoticeChoiceRow { name, is_all: mailbox.is_none(), fields: fields.collect() }
}

fn words(choice: &str) -> &'static str {
    match choice {
        "mail" => "App and email",
        "app" => "App only",
        _ => "Off",
    }
}
