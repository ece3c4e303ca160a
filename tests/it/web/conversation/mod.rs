//! The conversation's page and what hangs on it: the frame of a mail's HTML, pictures, files.

mod asking;
mod content;
mod files;
mod hostile;
mod page;
mod pictures;

use rookery_base::ids::MessageId;
use rookery_mail::incoming::delivery::Received;

/// A mail with HTML and a picture that it names.
pub fn with_html(subject: &str, html: &str) -> String {
    format!(
        "From: Kim <kim@customer.test>\r\nTo: help@acme.test\r\nSubject: {subject}\r\nMessage-ID: <{}@customer.test>\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n\
         --b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n\
         --c\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nThe words.\r\n\
         --c\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}\r\n--c--\r\n\
         --b\r\nContent-Type: image/gif; name=logo.gif\r\nContent-ID: <logo>\r\nContent-Disposition: inline; filename=logo.gif\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nR0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\r\n--b--\r\n",
        subject.replace(' ', "-")
    )
}

/// With one file, of any type and name.
pub fn with_file(subject: &str, header: &str, base64: &str) -> String {
    format!(
        "From: Kim <kim@customer.test>\r\nTo: help@acme.test\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n\
         --b\r\n{header}\r\nContent-Transfer-Encoding: base64\r\n\r\n{base64}\r\n--b--\r\n"
    )
}

#[track_caller]
pub fn stored(received: Received) -> (String, MessageId) {
    match received {
        Received::Stored(stored) => (stored.conversation.to_string(), stored.message),
        other => panic!("{other:?}"),
    }
}
