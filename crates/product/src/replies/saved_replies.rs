//! Saved replies: texts the team writes often, with variables and files. A variable whose value is not known stays in the
//! text as a blank, and a blank stops the send (`blanks`). One may be formatted: then its text is what the formatting says.

use std::ops::Range;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;

use rookery_base::error::{Error, Result};
use rookery_base::ids::{DraftFileId, SavedReplyId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::store::held_blobs::held_blobs;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::people::{Person, a_name};
use rookery_reading::html::written;
use rookery_reading::text;

const NO_SAVED_REPLY: Error = Error::Missing("No such saved reply.");
const LONGEST_NAME: usize = 100;
const LONGEST_BODY: usize = 20_000;
/// Bytes of a formatting: the list of all of them is read as a whole.
const LONGEST_HTML: usize = 64 * 1024;
pub const TOO_FORMATTED: &str = "has too much formatting to keep. Paste it as plain text instead.";
/// Saved replies of a workspace.
pub const MOST: i64 = 500;
pub const MOST_FILES: usize = 10;
/// Characters of a blank; what is longer was not meant as one.
const LONGEST_BLANK: usize = 60;

/// The variables, and what each stands for.
pub const VARIABLES: &[(&str, &str)] = &[
    ("customer.first_name", "the customer's first name"),
    ("customer.name", "the customer's whole name"),
    ("customer.email", "the customer's address"),
    ("agent.first_name", "your first name"),
    ("agent.name", "your name"),
    ("inbox.name", "the inbox's name"),
    ("subject", "the conversation's subject"),
];

#[derive(Debug)]
pub struct SavedReply {
    pub id: SavedReplyId,
    pub name: String,
    pub body: String,
    html: String,
    pub changed_at: DateTime<Utc>,
    /// Whoever attaches one borrows it.
    pub files: Vec<(DraftFileId, Attachment)>,
}

/// A saved reply with every variable whose value is known.
#[derive(Debug)]
pub struct FilledReply {
    pub text: String,
    /// The same with its formatting (`html/written`), empty if it has none.
    pub html: String,
}

impl SavedReply {
    /// How much formatting is kept with it, whether that holds or not.
    pub fn html_bytes(&self) -> usize {
        self.html.len()
    }

    /// The text with its formatting, empty if it has none. The text holds: an older version of the service changes it alone.
    pub fn formatting(&self) -> &str {
        if written::under(&self.html, &self.body) == Some("") { &self.html } else { "" }
    }

    pub fn filled(&self, values: &Values) -> FilledReply {
        let html = fill_html(self.formatting(), values);
        // Its text names a variable within a link as addresses do.
        let text = if html.is_empty() { fill(&self.body, values) } else { written::text(&html) };
        FilledReply { text, html }
    }
}

/// By name.
pub async fn list(conn: &mut PgConnection, workspace: WorkspaceId) -> Result<Vec<SavedReply>> {
    read(conn, workspace, None).await
}

pub async fn find(conn: &mut PgConnection, workspace: WorkspaceId, id: SavedReplyId) -> Result<SavedReply> {
    read(conn, workspace, Some(id)).await?.into_iter().next().ok_or(NO_SAVED_REPLY)
}

async fn read(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    id: Option<SavedReplyId>,
) -> Result<Vec<SavedReply>> {
    let rows = sqlx::query!(
        r#"select id as "id: SavedReplyId", name, body, html, changed_at,
               coalesce((select jsonb_agg(jsonb_build_object('id', f.id, 'filename', filename, 'contentType', content_type,
                             'size', size, 'blob', blob, 'borrowed', true) order by f.id)
                         from saved_reply_files f where f.workspace_id = $1 and f.reply_id = r.id), '[]')
                   as "files!: Json<Vec<SavedReplyFile>>"
           from saved_replies r
           where workspace_id = $1 and ($2::bigint is null or id = $2) order by lower(name) limit $3"#,
        workspace.0,
        id.map(|id| id.0),
        MOST
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| SavedReply {
            id: row.id,
            name: row.name,
            body: row.body,
            html: row.html,
            changed_at: row.changed_at,
            files: row.files.0.into_iter().map(|file| (DraftFileId(file.id), file.attachment)).collect(),
        })
        .collect())
}

#[derive(Debug, serde::Deserialize)]
struct SavedReplyFile {
    id: i64,
    #[serde(flatten)]
    attachment: Attachment,
}

/// Makes one, or changes the one that is given. `html` is the body with its formatting (`html/written`), empty without.
pub async fn put(
    tx: &mut Tx<'_>,
    person: &Person,
    id: Option<SavedReplyId>,
    name: &str,
    body: &str,
    html: &str,
) -> Result<SavedReplyId> {
    let name = a_name("name", name, LONGEST_NAME)?;
    let body = text::lines(body).trim_end().to_owned();
    match body.chars().count() {
        0 => return Err(Error::problem("body", "is required")),
        length if length > LONGEST_BODY => {
            return Err(Error::problem("body", format!("must be at most {LONGEST_BODY} characters")));
        }
        _ => {}
    }
    // Pictures are files of a draft. Their descriptions stay, as in the text.
    let html = written::with_pictures(html, |_| None);
    if html.len() > LONGEST_HTML {
        return Err(Error::problem("body", TOO_FORMATTED));
    }
    let (workspace, now) = (tx.workspace().0, tx.now());
    if id.is_none() {
        let there = sqlx::query_scalar!(
            r#"select count(*) as "n!" from saved_replies where workspace_id = $1"#,
            workspace
        );
        if there.fetch_one(&mut **tx).await? >= MOST {
            return Err(Error::problem(
                "name",
                format!("there are {MOST} saved replies already; remove one first"),
            ));
        }
    }
    let taken = sqlx::query_scalar!(
        r#"select exists (select from saved_replies
               where workspace_id = $1 and lower(name) = lower($2) and id is distinct from $3) as "taken!""#,
        workspace,
        name,
        id.map(|id| id.0)
    );
    if taken.fetch_one(&mut **tx).await? {
        return Err(Error::problem("name", "is the name of another saved reply"));
    }
    let minted: SavedReplyId = tx.mint();
    let kept = sqlx::query_scalar!(
        r#"with changed as (
               update saved_replies set name = $4, body = $5, changed_by = $6, changed_at = $7, html = $8
               where workspace_id = $1 and id = $2 returning id),
           made as (
               insert into saved_replies (workspace_id, id, name, body, changed_by, changed_at, html)
               select $1, $3, $4, $5, $6, $7, $8 where $2::bigint is null returning id)
           select id as "id!: SavedReplyId" from changed union all select id from made"#,
        workspace,
        id.map(|id| id.0),
        minted.0,
        name,
        body,
        person.id.0,
        now,
        html
    )
    .fetch_optional(&mut **tx)
    .await?;
    kept.ok_or(NO_SAVED_REPLY)
}

/// The bytes of its files stay: mail that was written with it may name them.
pub async fn remove(tx: &mut Tx<'_>, id: SavedReplyId) -> Result<()> {
    let workspace = tx.workspace().0;
    let gone = sqlx::query!("delete from saved_replies where workspace_id = $1 and id = $2", workspace, id.0)
        .execute(&mut **tx)
        .await?;
    if gone.rows_affected() == 0 { Err(NO_SAVED_REPLY) } else { Ok(()) }
}

pub async fn attach(tx: &mut Tx<'_>, reply: SavedReplyId, file: &Attachment) -> Result<()> {
    let workspace = tx.workspace();
    let there = find(tx, workspace, reply).await?;
    if there.files.len() >= MOST_FILES {
        return Err(Error::problem("file", format!("A saved reply has at most {MOST_FILES} files.")));
    }
    let id: DraftFileId = tx.mint();
    sqlx::query!(
        "insert into saved_reply_files (workspace_id, id, reply_id, filename, content_type, size, blob)
         values ($1, $2, $3, $4, $5, $6, $7)",
        workspace.0,
        id.0,
        reply.0,
        file.filename,
        file.content_type,
        file.size,
        file.blob
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Its bytes stay: mail that was written with it may name them.
pub async fn detach(tx: &mut Tx<'_>, reply: SavedReplyId, file: DraftFileId) -> Result<()> {
    let workspace = tx.workspace().0;
    sqlx::query!(
        "delete from saved_reply_files where workspace_id = $1 and reply_id = $2 and id = $3",
        workspace,
        reply.0,
        file.0
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Which of these blobs files of saved replies with such ids name.
pub async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    ids: Range<i64>,
    blobs: &[String],
) -> Result<Vec<String>> {
    held_blobs!(conn, "saved_reply_files", workspace, ids, blobs)
}

/// What variables stand for where a reply is written.
#[derive(Clone, Debug, Default)]
pub struct Values {
    pub customer_name: Option<String>,
    pub customer_email: Option<String>,
    pub agent_name: String,
    pub inbox_name: String,
    pub subject: String,
}

impl Values {
    fn value_of(&self, variable: &str) -> Option<String> {
        let first = |name: &str| name.split_whitespace().next().map(str::to_owned);
        let found = match variable {
            "customer.first_name" => self.customer_name.as_deref().and_then(first),
            "customer.name" => self.customer_name.clone(),
            "customer.email" => self.customer_email.clone(),
            "agent.first_name" => first(&self.agent_name),
            "agent.name" => Some(self.agent_name.clone()),
            "inbox.name" => Some(self.inbox_name.clone()),
            "subject" => Some(self.subject.clone()),
            _ => None,
        };
        // A customer's name is theirs to choose: one line, and no blank of its own.
        found.map(|value| text::line(&value).replace("{{", "{ {")).filter(|value| !value.is_empty())
    }
}

/// The text with every variable whose value is known. `{{customer.first_name|there}}` has a word for when it is not.
pub fn fill(body: &str, values: &Values) -> String {
    fill_by(body, |variable| values.value_of(variable))
}

/// The same for words with their formatting (`html/written`).
pub fn fill_html(html: &str, values: &Values) -> String {
    let in_text = |words: &str| {
        let has_address = words.contains("://");
        let value_of = |variable: &str| values.value_of(variable);
        fill_by(words, |variable| value_of(variable).filter(|value| !has_address || !changes_path(value)))
    };
    written::filled(html, in_text, |address| filled_address(address, values))
}

/// The address of a link with the values in it, if all are known. Each is one part of it, behind the host: a customer's name
/// leads nowhere else.
fn filled_address(address: &str, values: &Values) -> Option<String> {
    let host = address.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    if host.is_some_and(|host| host.contains("{{")) {
        return None;
    }
    let value_of = |variable: &str| values.value_of(variable).filter(|value| !changes_path(value));
    let filled = fill_by(address, |variable| value_of(variable).map(|value| part_of_address(&value)));
    blanks(&filled).is_empty().then_some(filled)
}

/// In an address these are steps and no names. They count as not known.
fn changes_path(value: &str) -> bool {
    matches!(value.trim(), "." | "..")
}

fn part_of_address(value: &str) -> String {
    let part = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' | b'@' => char::from(byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(letter).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(part).collect()
}

fn fill_by(body: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    let (mut filled, mut rest) = (String::with_capacity(body.len()), body);
    while let Some((start, end)) = next_blank(rest) {
        let inside = &rest[start + 2..end - 2];
        let (variable, otherwise) = match inside.split_once('|') {
            Some((variable, otherwise)) => (variable.trim(), Some(otherwise.trim())),
            None => (inside.trim(), None),
        };
        filled.push_str(&rest[..start]);
        match value_of(variable).or(otherwise.map(str::to_owned)) {
            Some(value) => filled.push_str(&value),
            None => filled.push_str(&rest[start..end]),
        }
        rest = &rest[end..];
    }
    filled + rest
}

/// What still has to be filled in before this can be sent, each once.
pub fn blanks(text: &str) -> Vec<&str> {
    let (mut blanks, mut rest) = (Vec::new(), text);
    while let Some((start, end)) = next_blank(rest) {
        let blank = &rest[start..end];
        if !blanks.contains(&blank) {
            blanks.push(blank);
        }
        rest = &rest[end..];
    }
    blanks
}

/// Where the next `{{…}}` of one line stands.
fn next_blank(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("{{") {
        let start = from + at;
        let inside = &text[start + 2..];
        match inside.find("}}") {
            Some(length)
                if length > 0
                    && !inside[..length].contains(['\n', '{', '}'])
                    && inside[..length].chars().count() <= LONGEST_BLANK =>
            {
                return Some((start, start + length + 4));
            }
            _ => from = start + 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values {
            customer_name: Some("Ada  Lovelace".into()),
            customer_email: None,
            agent_name: "Mia Member".into(),
            inbox_name: "Help".into(),
            subject: "Parcel".into(),
        }
    }

    #[test]
    fn known_variables_are_filled_in_and_others_stay() {
        for (body, wanted) in [
            ("Hello {{customer.first_name}},", "Hello Ada,"),
            ("{{ customer.name }} · {{agent.first_name}} at {{inbox.name}}", "Ada Lovelace · Mia at Help"),
            ("{{customer.email}} {{amount}}", "{{customer.email}} {{amount}}"),
            ("{{customer.email|your address}}", "your address"),
            ("{{amount|}}.", "."),
            ("{ {x} } {{}} {{a\nb}}", "{ {x} } {{}} {{a\nb}}"),
            ("{{{{customer.name}}}}", "{{Ada Lovelace}}"),
        ] {
            assert_eq!(fill(body, &values()), wanted);
        }
    }

    #[test]
    fn a_customer_cannot_name_a_variable() {
        let values = Values { customer_name: Some("{{agent.name}}\r\nBcc: x".into()), ..values() };
        let filled = fill("Hello {{customer.name}}", &values);
        assert!(blanks(&filled).is_empty() && !filled.contains('\n'), "{filled}");
    }

    #[test]
    fn formatting_is_filled_as_its_text_is_and_a_value_is_no_markup() {
        let reply = |body: &str, html: &str| SavedReply {
            id: SavedReplyId(1),
            name: "Hello".into(),
            body: body.into(),
            html: html.into(),
            changed_at: DateTime::UNIX_EPOCH,
            files: Vec::new(),
        };
        let html = "<div>Dear <b>{{customer.name}}</b>, see \
                    <a href=\"https://a.example/{{customer.name}}\">this</a>, {{amount}}</div>";
        let (html, values) = (written::stored(html).unwrap(), values());
        let body = written::text(&html);
        let filled = reply(&body, &html).filled(&values);
        assert_eq!(
            filled.html,
            "<div>Dear <b>Ada Lovelace</b>, see \
             <a href=\"https://a.example/Ada%20Lovelace\">this</a>, {{amount}}</div>"
        );
        let hostile = Values { customer_name: Some("<b>A</b>/?x=\"#{{y}}".into()), ..values.clone() };
        let filled = reply(&body, &html).filled(&hostile);
        assert_eq!(
            filled.html,
            "<div>Dear <b>&lt;b&gt;A&lt;/b&gt;/?x=\"#{ {y}}</b>, see \
             <a href=\"https://a.example/%3Cb%3EA%3C%2Fb%3E%2F%3Fx%3D%22%23%7B%20%7By%7D%7D\">this</a>, \
             {{amount}}</div>"
        );
        assert_eq!(blanks(&filled.text), ["{{amount}}"]);
        // What nobody knows is asked for in sight, not in the address of a link.
        let nobody = reply(&body, &html).filled(&Values::default());
        assert_eq!(
            written::text(&nobody.html),
            "Dear {{customer.name}}, see this <https://a.example/{{customer.name}}>, {{amount}}"
        );
        // Nor is a value a step to elsewhere.
        for step in [".", " .. "] {
            let values = Values { customer_name: Some(step.into()), ..values.clone() };
            let filled = reply(&body, &html).filled(&values);
            assert_eq!(
                filled.text,
                format!(
                    "Dear {}, see this <https://a.example/{{{{customer.name}}}}>, {{{{amount}}}}",
                    step.trim()
                )
            );
            let other = "<a href=\"https://a.example/{{customer.name|you}}/b\">this</a>";
            assert_eq!(fill_html(other, &values), "<a href=\"https://a.example/you/b\">this</a>");
        }
        // Nor does a value choose the host.
        let host = "<b>!</b> <a href=\"https://a.example{{customer.name}}/\">this</a>";
        let evil = Values { customer_name: Some(".evil.example".into()), ..values.clone() };
        let filled = reply(&written::text(host), host).filled(&evil);
        assert_eq!(filled.html, "<b>!</b> this &lt;https://a.example.evil.example/&gt;");
        // The text was changed by somebody who does not know of the formatting.
        assert_eq!(reply("Changed.", &html).filled(&values).html, "");
    }

    #[test]
    fn a_blank_is_named_once() {
        assert_eq!(blanks("{{amount}} and {{date}} and {{amount}}"), ["{{amount}}", "{{date}}"]);
        for none in ["", "{{", "}}{{", "{{}}", "{{\n}}", &format!("{{{{{}}}}}", "x".repeat(61))] {
            assert!(blanks(none).is_empty(), "{none}");
        }
    }
}
