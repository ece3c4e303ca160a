//! Whether what somebody wrote can be sent, and what it would be: read only, so that a page asks before the click what the
//! click will say. Every reason against it is a sentence that says what to do.

pub mod signature;

use sqlx::PgConnection;

use crate::documents::request::RequestForm;
use crate::replies::drafts::{Draft, DraftKind};
use crate::replies::recipients::{self, Headed, Recipients};
use crate::replies::saved_replies::{self, Values};
use crate::replies::{asking, forward, suppress, upload};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{MessageId, WorkspaceId};
use rookery_base::secrets::key_ring::KeyRing;
use rookery_core::conversations::conversation::{Contact, Conversation};
use rookery_core::conversations::messages::outbound::Addressed;
use rookery_core::workspace::inbox_settings::senders;
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_core::workspace::people::Person;
use rookery_core::workspace::signatures::SignatureWords;
use rookery_reading::text;

pub const LONGEST_BODY: usize = 50_000;
pub const LONGEST_NOTE: usize = 10_000;
const LONGEST_SUBJECT: usize = 500;

/// What would be sent.
#[derive(Debug)]
pub struct Ready {
    pub body: String,
    /// How its writer formatted what they wrote, with their signature; empty when neither is formatted.
    pub html: String,
    /// The signature at its end, if that is formatted.
    pub formatted_signature: Option<String>,
    pub addressed: Addressed,
    pub asks: Option<RequestForm>,
    /// Of a new conversation.
    pub contact: Contact,
    pub mailbox: Option<Mailbox>,
}

/// Checks a draft of this person. The conversation was found for them; a new one has none.
pub async fn check(
    conn: &mut PgConnection,
    keys: Option<&KeyRing>,
    person: &Person,
    draft: &Draft,
    conversation: Option<&Conversation>,
) -> Result<Result<Ready, Vec<Problem>>> {
    let words = &draft.words;
    let mut problems = Vec::new();
    let mut problem = |field: &str, what: String| problems.push(Problem { field: field.to_owned(), what });
    let body = text::lines(&words.body).trim_end().to_owned();
    let (longest, what) = match draft.kind {
        DraftKind::Note => (LONGEST_NOTE, "note"),
        _ => (LONGEST_BODY, "mail"),
    };
    // What is passed on or carries files may go without a word.
    let wordless = draft.kind == DraftKind::Forward || draft.leaving_files().next().is_some();
    if body.trim().is_empty() && (draft.kind == DraftKind::Note || !wordless) {
        problem("body", format!("The {what} is empty. Write something first."));
    }
    if body.chars().count() > longest {
        problem("body", format!("The {what} is too long: at most {longest} characters. Shorten it."));
    }
    if draft.kind == DraftKind::Note {
        return Ok(if problems.is_empty() {
            Ok(Ready {
                body,
                html: String::new(),
                formatted_signature: None,
                addressed: Addressed::default(),
                asks: None,
                contact: Contact { name: None, email: None },
                mailbox: None,
            })
        } else {
            Err(problems)
        });
    }
    for blank in [saved_replies::blanks(&body), saved_replies::blanks(&words.subject)].concat() {
        problem("body", format!("A blank is not filled in: {blank}. Fill it in or take it out."));
    }
    let recipients = match recipients::read(&words.to, &words.cc, &words.bcc) {
        Ok(recipients) => recipients,
        Err(wrong) => {
            wrong.into_iter().for_each(|wrong| problem(&wrong.field, wrong.what));
            Recipients::default()
        }
    };
    let all: Vec<String> = recipients.all().cloned().collect();
    for address in suppress::among(conn, keys, person.workspace, true, &all).await? {
        let field = if recipients.to.contains(&address) {
            "to"
        } else if recipients.cc.contains(&address) {
            "cc"
        } else {
            "bcc"
        };
        problem(
            field,
            format!("{address} must not be written to: it complained or does not exist. Take it out."),
        );
    }
    if draft.leaving_files().map(|file| file.attachment.size).sum::<i64>() > upload::MOST_BYTES {
        problem("file", upload::too_large_in_words());
    }
    let subject = text::line(&words.subject);
    if subject.chars().count() > LONGEST_SUBJECT {
        problem("subject", format!("The subject is too long: at most {LONGEST_SUBJECT} characters."));
    }
    if draft.kind == DraftKind::New && subject.is_empty() {
        problem("subject", "Write a subject: it is what the other side sees first.".to_owned());
    }
    let asks = match asking::read(&words.documents) {
        Ok(asks) => asks.map(|asks| RequestForm { language: words.language, ..asks }),
        Err(what) => {
            problem("documents", what);
            None
        }
    };
    if words.secure {
        if all.len() > 1 {
            let what =
                "A secure message goes to one address, because that address opens it. Take the others out.";
            problem("to", what.to_owned());
        }
        if asks.is_some() {
            let what = "Documents are asked for by an ordinary mail. Take them out, or send it without a secure link.";
            problem("documents", what.to_owned());
        }
        if keys.is_none() {
            let what =
                "This server has no secret key, so nothing can be sealed. Ask your server administrator.";
            problem("secure", what.to_owned());
        }
    }
    let mailbox = mailbox_of(conn, person, draft, conversation).await?;
    if mailbox.is_none() {
        problem("mailbox", "Choose an inbox that you can see to write from.".to_owned());
    }
    if let Some(mailbox) = mailbox.as_ref().filter(|_| !words.from.is_empty())
        && !senders::list(conn, person.workspace, mailbox).await?.contains(&words.from)
    {
        let (from, own) = (recipients::shown(&words.from), &mailbox.address);
        problem(
            "from",
            format!(
                "You can’t write from {from} any more. This now leaves from {own}. Check it and send again."
            ),
        );
    }
    let (Some(mailbox), true) = (mailbox, problems.is_empty()) else { return Ok(Err(problems)) };
    let values = values(person, conversation, &mailbox, &recipients);
    let signature = signature::load(conn, person, mailbox.id, &values).await?;
    let blanks: Vec<Problem> =
        saved_replies::blanks(&signature.text).into_iter().map(signature::unfilled).collect();
    if !blanks.is_empty() {
        return Ok(Err(blanks));
    }
    // What is sealed is text.
    let signature =
        if words.secure { SignatureWords { html: String::new(), ..signature } } else { signature };
    let signed = signature::sign(body, words.formatting().to_owned(), &signature).await?;
    let logo = signed.formatted.as_deref().unwrap_or_default();
    let logo = signature::files(conn, person.workspace, logo).await?;
    let mut body = signed.body;
    let mut addressed = Addressed {
        from: from_of(draft, &mailbox),
        to: recipients.to,
        cc: recipients.cc,
        bcc: recipients.bcc,
        attachments: draft.leaving_files().map(|file| file.attachment.clone()).chain(logo).collect(),
        signature: (!signature.text.is_empty()).then_some(signature.text),
        ..Addressed::default()
    };
    match (draft.kind, conversation) {
        (DraftKind::Forward, Some(conversation)) => {
            let Some(about) = words.about else {
                return Ok(Err(vec![Problem {
                    field: "body".into(),
                    what: "Choose the message to pass on.".into(),
                }]));
            };
            let passed = forward::find(conn, person.workspace, conversation, about).await?;
            body = passed.under(&body, &conversation.subject);
            let own = if subject.is_empty() { forward::subject(&conversation.subject) } else { subject };
            addressed.subject = Some(own);
            addressed.forwards = Some(about);
        }
        (_, Some(conversation)) => {
            if let Some(about) = words.about {
                addressed.answers = answered(conn, person.workspace, conversation, Some(about))
                    .await?
                    .filter(|mail| !mail.headed.ours)
                    .map(|mail| mail.message);
            }
        }
        (_, None) => addressed.subject = Some(subject),
    }
    let contact = Contact { name: recipients.first_name, email: addressed.to.first().cloned() };
    Ok(Ok(Ready {
        body,
        html: signed.html,
        formatted_signature: signed.formatted,
        addressed,
        asks,
        contact,
        mailbox: Some(mailbox),
    }))
}

/// Where it leaves from, if that does not follow from the mail that is answered.
fn from_of(draft: &Draft, mailbox: &Mailbox) -> Option<String> {
    match draft.words.from.as_str() {
        "" if draft.kind == DraftKind::Reply => None,
        "" => Some(mailbox.address.clone()),
        from => Some(from.to_owned()),
    }
}

/// The inbox it leaves from.
async fn mailbox_of(
    conn: &mut PgConnection,
    person: &Person,
    draft: &Draft,
    conversation: Option<&Conversation>,
) -> Result<Option<Mailbox>> {
    if let Some(conversation) = conversation {
        return Ok(Some(conversation.mailbox()));
    }
    let Some(id) = draft.words.mailbox else { return Ok(None) };
    match mailboxes::find_visible(conn, person, &id.to_string()).await {
        Ok(mailbox) => Ok(Some(mailbox)),
        Err(Error::Missing(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// What variables stand for here.
pub fn values(
    person: &Person,
    conversation: Option<&Conversation>,
    mailbox: &Mailbox,
    recipients: &Recipients,
) -> Values {
    let contact = conversation.map(|conversation| &conversation.contact);
    Values {
        customer_name: contact.and_then(|contact| contact.name.clone()).or(recipients.first_name.clone()),
        customer_email: contact
            .and_then(|contact| contact.email.clone())
            .or_else(|| recipients.to.first().cloned()),
        agent_name: person.name.clone(),
        inbox_name: mailbox.name.clone(),
        subject: conversation.map(|conversation| conversation.subject.clone()).unwrap_or_default(),
    }
}

/// A message that is answered, and what its header says.
pub struct AnsweredMail {
    pub message: MessageId,
    pub headed: Headed,
}

/// The message that was chosen, or the newest that a person of theirs wrote, or the newest that went out.
pub async fn answered(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    chosen: Option<MessageId>,
) -> Result<Option<AnsweredMail>> {
    let row = sqlx::query!(
        r#"select id as "id: MessageId", direction = 'outbound' as "ours!", from_email, reply_to,
               coalesce(to_addresses, case when direction = 'outbound' then array[$4] else '{}' end) as "to!: Vec<Option<String>>",
               coalesce(cc_addresses, case when direction = 'inbound' then also_to else '{}' end) as "cc!: Vec<String>"
           from messages
           where workspace_id = $1 and conversation_id = $2 and ($3::bigint is null or id = $3)
             and (direction = 'inbound' or status in ('scheduled', 'sending', 'sent')) and forwards is null
           order by direction = 'outbound', automatic, at desc, item desc limit 1"#,
        workspace.0,
        conversation.id.0,
        chosen.map(|message| message.0),
        conversation.contact.email
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| AnsweredMail {
        message: row.id,
        headed: Headed {
            ours: row.ours,
            from: row.from_email,
            reply_to: row.reply_to,
            to: row.to.into_iter().flatten().collect(),
            cc: row.cc,
        },
    }))
}

/// Whom an answer to it goes to: its sender, and everybody.
pub async fn answering(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    mail: &AnsweredMail,
) -> Result<(Recipients, Recipients)> {
    let headed = &mail.headed;
    let named = headed.to.iter().chain(&headed.cc).chain(&headed.reply_to).chain([&headed.from]);
    let named: Vec<String> = named.cloned().collect();
    let ours = recipients::ours(conn, workspace, &named).await?;
    let trusted = conversation.risk.is_none();
    let is_ours = |address: &str| ours.contains(&recipients::untagged(address));
    let found = |all: bool| {
        let mut found = recipients::answering(headed, all, trusted, is_ours);
        if found.to.is_empty() {
            found.to.extend(conversation.contact.email.clone());
        }
        found
    };
    Ok((found(false), found(true)))
}
