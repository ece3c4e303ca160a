//! What a mail ends with: its writer's own signature, else that of its inbox, under the words in both parts of the mail. It is put
//! there so that it can be taken off again (`queue/take_over`), and the text says the same with a formatting as without.

use sqlx::PgConnection;
use tokio::task::spawn_blocking;

use crate::replies::saved_replies::{self, Values};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{MailboxId, SignatureFileId, WorkspaceId};
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::people::Person;
use rookery_core::workspace::signatures::pictures::{self, SignaturePicture};
use rookery_core::workspace::signatures::{self, SignatureWords};
use rookery_reading::html::written;

/// The signature of a mail that somebody writes here, with its variables filled in.
pub async fn load(
    conn: &mut PgConnection,
    person: &Person,
    mailbox: MailboxId,
    values: &Values,
) -> Result<SignatureWords> {
    let found = signatures::of_mail(conn, person, mailbox).await?;
    Ok(if found.is_own { found.words } else { filled(&found.words, values) })
}

fn filled(words: &SignatureWords, values: &Values) -> SignatureWords {
    let html = saved_replies::fill_html(&words.html, values);
    let html = written::stored(&html).unwrap_or_default();
    let text = if html.is_empty() { saved_replies::fill(&words.text, values) } else { written::text(&html) };
    SignatureWords { text, html }
}

/// A variable of a signature that nothing is known for here.
pub(super) fn unfilled(blank: &str) -> Problem {
    let what = format!(
        "The signature has a blank that nothing is known for here: {blank}. Change the signature, or give the blank other \
         words for then, like {{{{customer.first_name|there}}}}."
    );
    Problem { field: "body".to_owned(), what }
}

/// Words with their signature.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SignedWords {
    pub body: String,
    /// Empty when neither is formatted.
    pub html: String,
    /// The signature at the end of the formatting, if that has it.
    pub formatted: Option<String>,
}

pub(super) async fn sign(body: String, html: String, signature: &SignatureWords) -> Result<SignedWords> {
    let plain = signed(&body, &signature.text);
    if signature.html.is_empty() {
        return Ok(SignedWords { body: plain, html, formatted: None });
    }
    let signature = signature.html.clone();
    // A long mail would keep a thread of the runtime.
    spawn_blocking(move || with_formatting(&body, html, plain, signature)).await.map_err(Error::internal)
}

fn with_formatting(body: &str, html: String, plain: String, signature: String) -> SignedWords {
    // HTML knows no tabs; the editor writes them so too.
    let words = if html.is_empty() { written::from_text(&body.replace('\t', "    ")) } else { html.clone() };
    if let Some(whole) = written::signed(&words, &signature) {
        let text = written::text(&whole);
        if text.split_whitespace().eq(plain.split_whitespace()) {
            return SignedWords { body: text, html: whole, formatted: Some(signature) };
        }
    }
    // There is too much formatting to keep, or the text would say something else: the signature is text.
    SignedWords { body: plain, html, formatted: None }
}

fn signed(body: &str, signature: &str) -> String {
    match (body.is_empty(), signature.is_empty()) {
        (_, true) => body.to_owned(),
        (true, false) => signature.to_owned(),
        (false, false) => format!("{body}\n\n{signature}"),
    }
}

/// The words above a signature, as they were before it was put under them. Words that are under it stay.
pub fn unsigned(body: &str, signature: &str) -> String {
    let body = body.trim_end();
    if signature.is_empty() {
        return body.to_owned();
    }
    if body == signature {
        return String::new();
    }
    if let Some(words) = body.strip_suffix(signature).and_then(|words| words.strip_suffix("\n\n")) {
        // A formatting may end with more lines than its text.
        return words.trim_end().to_owned();
    }
    match body.rsplit_once(&format!("\n\n{signature}\n")) {
        Some((words, below)) => format!("{words}\n{below}"),
        None => body.to_owned(),
    }
}

/// The pictures of a formatted signature, as files of a mail. Their bytes are the signature's.
pub(super) async fn files(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    signature: &str,
) -> Result<Vec<Attachment>> {
    let found = pictures::list(conn, workspace, signature).await?;
    Ok(found.into_iter().map(|(id, picture)| as_file(id, picture)).collect())
}

/// A picture that somebody can see, for the page on which the signature is written or shown.
pub async fn find_picture(
    conn: &mut PgConnection,
    person: &Person,
    id: SignatureFileId,
) -> Result<Attachment> {
    Ok(as_file(id, pictures::find(conn, person, id).await?))
}

fn as_file(id: SignatureFileId, picture: SignaturePicture) -> Attachment {
    Attachment {
        filename: picture.filename,
        content_type: picture.content_type,
        size: picture.size,
        blob: picture.blob,
        content_id: Some(id.to_string()),
        borrowed: true,
        content_hash: None,
        document: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_stands_under_the_words_and_alone_without_any() {
        assert_eq!(signed("Hello", "Mia"), "Hello\n\nMia");
        assert_eq!(signed("", "Mia"), "Mia");
        assert_eq!(signed("Hello", ""), "Hello");
    }

    #[test]
    fn a_signature_is_taken_off_once_wherever_it_stands_and_nothing_else_is() {
        for (body, signature, wanted) in [
            ("Hello\n\nMia", "Mia", "Hello"),
            ("Mia", "Mia", ""),
            ("Hello\n\nMia\n\n", "Mia", "Hello"),
            ("Hello\n\nMia\n\nPS: tomorrow", "Mia", "Hello\n\nPS: tomorrow"),
            ("Hello\n\nMia\n\nMia", "Mia", "Hello\n\nMia"),
            ("Hello\n\n\nMia", "Mia", "Hello"),
            ("I am Mia", "Mia", "I am Mia"),
            ("Hello\n\nMiaMia", "Mia", "Hello\n\nMiaMia"),
            ("Hello", "", "Hello"),
        ] {
            assert_eq!(unsigned(body, signature), wanted, "{body:?}");
        }
    }

    #[test]
    fn a_formatted_signature_makes_the_mail_formatted_and_its_text_is_the_same() {
        let both = |body: &str, html: &str, signature: &str| {
            let plain = signed(body, &written::text(signature));
            with_formatting(body, html.to_owned(), plain, signature.to_owned())
        };
        let signature = "<div><b>Mia</b></div><div>Acme</div>";
        let mail = both("Hello\n\n  two\tthree", "", signature);
        assert_eq!(mail.body, "Hello\n\n  two    three\n\nMia\nAcme");
        assert_eq!(written::under(&mail.html, &mail.body), Some(""));
        assert_eq!(mail.formatted.as_deref(), Some(signature));
        let html = "<div>Hello <i>Ada</i></div>";
        let mail = both("Hello Ada", html, signature);
        assert_eq!((mail.body.as_str(), &mail.html[..html.len()]), ("Hello Ada\n\nMia\nAcme", html));
        assert_eq!(both("", "", signature).html, signature);
        // What cannot be taken off again is text.
        let mail = both("Hello", "", "<p>Mia</p>");
        assert_eq!((mail.body.as_str(), mail.html.as_str(), mail.formatted), ("Hello\n\nMia", "", None));
    }

    #[test]
    fn variables_are_filled_in_both_forms() {
        let values = Values {
            customer_name: Some("<u>Ada</u> & Co".to_owned()),
            agent_name: "Mia".to_owned(),
            ..Values::default()
        };
        let words = SignatureWords {
            text: "{{agent.name}} for {{customer.name}}\n{{subject}}".to_owned(),
            html: "<div><b>{{agent.name}}</b> for {{customer.name}}</div><div>{{subject}}</div>".to_owned(),
        };
        let filled = filled(&words, &values);
        assert_eq!(filled.text, "Mia for <u>Ada</u> & Co\n{{subject}}");
        assert_eq!(
            filled.html,
            "<div><b>Mia</b> for &lt;u&gt;Ada&lt;/u&gt; &amp; Co</div><div>{{subject}}</div>"
        );
        assert_eq!(saved_replies::blanks(&filled.text), ["{{subject}}"]);
    }
}
