//! A customer's mail as bytes, as a mail program would write it: threading headers, perhaps an HTML page with inline
//! pictures, and files.

use chrono::{DateTime, Utc};
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use mail_builder::headers::date::Date;
use mail_builder::headers::message_id::MessageId;
use mail_builder::headers::raw::Raw;

use crate::demo::files::{self, FileSender};
use crate::demo::story::{Incoming, Story};
use rookery_base::error::{Error, Result};

const PAGES: [(&str, &str); 3] = [
    ("report", include_str!("mail/report.html")),
    ("invoice", include_str!("mail/invoice.html")),
    ("newsletter", include_str!("mail/newsletter.html")),
];

/// `chain` holds the Message-IDs of the mail before it.
pub fn raw(
    story: &Story,
    mail: &Incoming,
    to: &str,
    id: &str,
    chain: &[String],
    at: DateTime<Utc>,
) -> Result<Vec<u8>> {
    let subject = if chain.is_empty() { story.subject.clone() } else { format!("Re: {}", story.subject) };
    let mut builder = MessageBuilder::new()
        .from(Address::new_address(Some(story.name.as_str()), story.email.as_str()))
        .to(Address::new_address(None::<&str>, to))
        .subject(subject)
        .date(Date::new(at.timestamp()))
        .message_id(id)
        .text_body(mail.text.replace('\n', "\r\n"));
    if let Some(last) = chain.last() {
        builder = builder
            .in_reply_to(last.as_str())
            .references(MessageId::new_list(chain.iter().map(String::as_str)));
    }
    if !mail.cc.is_empty() {
        let cc = mail.cc.iter().map(|address| Address::new_address(None::<&str>, address.as_str()));
        builder = builder.cc(Address::new_list(cc.collect()));
    }
    if let Some(address) = &mail.reply_to {
        builder = builder.reply_to(Address::new_address(None::<&str>, address.as_str()));
    }
    if mail.automatic {
        builder = builder.header("Auto-Submitted", Raw::new("auto-replied"));
    }
    let from = FileSender { name: &story.name, at };
    if let Some(name) = &mail.html {
        let page = PAGES.iter().find(|(page, _)| page == name);
        let (_, page) = page.ok_or_else(|| Error::internal(format!("there is no page {name}")))?;
        builder = builder.html_body(*page).inline("image/png", "logo", files::make("logo.png", from).bytes);
    }
    for name in &mail.files {
        let file = files::make(name, from);
        builder = builder.attachment(file.media_type, name.as_str(), file.bytes);
    }
    builder.write_to_vec().map_err(Error::internal)
}
