//! A mail of ours as its reader will get it, for whoever decides whether it leaves: every address, the subject, every word, what
//! it quotes and its files. It is worded by the code that composes the mail, so nothing can leave that is not shown.
//!
//! Approving one or many, the strip of what leaves and the question of MCP all show this (docs/decisions/whole-mail.md).

use sqlx::PgConnection;
use sqlx::types::Json;

use crate::outgoing::compose::wording::Wording;
use rookery_base::error::{NO_MESSAGE, Result};
use rookery_base::ids::{ConversationId, MessageId, WorkspaceId};
use rookery_base::relay::mailer::{Copies, OutgoingLetter};
use rookery_core::conversations::messages::reply_context::earlier;
use rookery_core::conversations::timeline::Attachment;
use rookery_core::workspace::signatures::pictures::is_signature_picture;
use rookery_product::documents::request::Carrier;
use rookery_product::replies::leaving::whole_text::{self, PrivateLink};

/// What is longer is told to be long, because nobody expects it.
const LONG_LINES: usize = 60;
const LONG_CHARACTERS: usize = 4_000;
/// So many empty lines in a row look like the end of a mail.
const GAP: usize = 8;
/// So many signs in a row that nobody sees fill a line of whoever reads it.
const LINE: usize = 60;

#[derive(Debug)]
pub struct WholeMail {
    pub message: MessageId,
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub wording: Wording,
    /// How many bytes of the words are what was written; the rest stands under it.
    body: usize,
    pub files: Vec<Attachment>,
}

/// A message of ours, as it would leave now. Whoever asks has found it for somebody who can see it.
pub async fn of_message(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    message: MessageId,
) -> Result<WholeMail> {
    let row = sqlx::query!(
        r#"select m.conversation_id as "conversation: ConversationId", coalesce(m.rfc_message_id, '') as "rfc_message_id!",
               m.from_name, m.text, m.written, c.contact_email, coalesce(m.subject, c.subject) as "subject!",
               m.to_addresses, m.cc_addresses, m.bcc_addresses, m.channel = 'secure' as "secure!",
               m.attachments as "attachments: Json<Vec<Attachment>>",
               case when m.from_further and m.status in ('draft', 'scheduled') and m.tries = 0
                   then leaves_from($1, m.mailbox_id, m.from_email) else m.from_email end as "from_email!"
           from messages m join conversations c on c.workspace_id = $1 and c.id = m.conversation_id
           where m.workspace_id = $1 and m.id = $2 and m.direction = 'outbound'"#,
        workspace.0,
        message.0
    )
    .fetch_optional(&mut *conn)
    .await?
    .ok_or(NO_MESSAGE)?;
    let carrier = Carrier { conversation: row.conversation, message };
    let body = row.written.unwrap_or_else(|| row.text.clone());
    let whole = whole_text::compose(conn, workspace, carrier, &body, PrivateLink::Named).await?;
    let (to, further) = match row.to_addresses.unwrap_or_default().split_first() {
        Some((first, further)) => (first.clone(), further.to_vec()),
        None => (row.contact_email.unwrap_or_default(), Vec::new()),
    };
    let copies = Copies {
        to: further,
        cc: row.cc_addresses.unwrap_or_default(),
        bcc: row.bcc_addresses.unwrap_or_default(),
    };
    let letter = OutgoingLetter {
        workspace,
        conversation: row.conversation,
        message,
        rfc_message_id: row.rfc_message_id,
        from_name: row.from_name,
        from: row.from_email,
        to,
        copies,
        subject: row.subject,
        text: whole.unwrap_or_else(|| body.clone()),
    };
    let context = earlier(conn, &letter).await?;
    let context = if row.secure { context.without_quote() } else { context };
    let wording = Wording::from_letter(&letter, &context);
    let body = rookery_reading::text::lines(&body).trim_end().to_owned();
    // The logo of a signature is behind all files, and none of them.
    let mut files = row.attachments.0;
    files.retain(|file| !file.content_id.as_deref().is_some_and(is_signature_picture));
    Ok(WholeMail {
        message,
        body: if wording.written.starts_with(&body) { body.len() } else { 0 },
        from: letter.from,
        to: std::iter::once(letter.to).chain(letter.copies.to).filter(|to| !to.is_empty()).collect(),
        cc: letter.copies.cc,
        bcc: letter.copies.bcc,
        wording,
        files,
    })
}

impl WholeMail {
    /// `Support <help@acme.example>`
    pub fn sender(&self) -> String {
        match &self.wording.from_name {
            Some(name) => format!("{name} <{}>", self.from),
            None => self.from.clone(),
        }
    }

    /// What stands under the words that somebody wrote.
    pub fn below(&self) -> &str {
        self.wording.written.get(self.body..).unwrap_or_default().trim_start_matches('\n')
    }

    /// What whoever reads it should know before they think that they are through.
    pub fn warnings(&self) -> Vec<String> {
        let written = &self.wording.written;
        let (lines, characters) = (written.lines().count(), written.chars().count());
        let mut warnings = Vec::new();
        if lines > LONG_LINES || characters > LONG_CHARACTERS {
            let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            warnings.push(format!("It is long: {characters} characters in {lines}. Read it to its end."));
        }
        let emptiness = Emptiness::measure(written);
        if let gap @ GAP.. = emptiness.longest {
            warnings.push(format!("It has a gap of {gap} empty lines, with words below it."));
        } else if emptiness.is_most() {
            warnings.push("Most of it is empty, with words far apart. Read it to its end.".to_owned());
        }
        warnings
    }
}

/// How much of a text is empty, in lines as they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Emptiness {
    /// The longest run of lines in which nothing is to be seen.
    longest: usize,
    empty: usize,
    lines: usize,
}

impl Emptiness {
    fn measure(text: &str) -> Self {
        let is_seen = |letter: char| {
            !rookery_reading::text::without_unseen(letter.encode_utf8(&mut [0; 4])).trim().is_empty()
        };
        let (mut all, mut run) = (Self::default(), 0);
        for line in text.lines() {
            let (mut blank, mut seen) = (0, false);
            for letter in line.chars() {
                if is_seen(letter) {
                    all.longest = all.longest.max(run + blank / LINE);
                    all.empty += blank / LINE;
                    all.lines += blank / LINE;
                    (run, blank, seen) = (0, 0, true);
                } else {
                    blank += 1;
                }
            }
            // What ends in blanks, or is nothing else, goes on as a gap.
            let rows = blank / LINE;
            run += rows + usize::from(!seen);
            all.empty += rows + usize::from(!seen);
            all.lines += rows + 1;
            all.longest = all.longest.max(run);
        }
        all
    }

    /// Whether what is to be seen stands scattered in what is not.
    fn is_most(self) -> bool {
        self.empty >= 2 * GAP && 3 * self.empty > 2 * self.lines
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_signs_that_nobody_sees_are_a_gap() {
        let longest = |text: &str| Emptiness::measure(text).longest;
        assert_eq!(longest("a\n\n\nb"), 2);
        assert_eq!(longest(&format!("a\n{}b", "\u{200b} \u{2800}\n".repeat(30))), 30);
        assert_eq!(longest("a\nb\nc"), 0);
        for blank in ["\u{2800}", "\u{3000}", "\u{2003}", " "] {
            assert_eq!(longest(&format!("a{}b", blank.repeat(3900))), 65, "on one line, {blank:?}");
        }
    }

    #[test]
    fn a_mail_that_is_mostly_gaps_says_so_however_short_each_is() {
        assert!(Emptiness::measure(&"\n\n\n\n\n\n\n.\n".repeat(7)).is_most());
        assert!(!Emptiness::measure(&"A line.\n\n".repeat(40)).is_most());
        assert!(!Emptiness::measure("Hello\n\n\n\nBye").is_most());
    }
}
