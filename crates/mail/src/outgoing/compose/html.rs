//! The HTML form of a letter: as its writer formatted it, or its text in paragraphs, and under it the answered mail. There is
//! no style but that of `html/written`, so that nothing fights with a reader's own.

use super::wording::Wording;
use rookery_reading::html::paragraphs::{escaped, paragraphs};

pub(super) fn page(wording: &Wording) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n</head>\n<body>\n",
        escaped(&wording.subject)
    );
    match &wording.formatted {
        Some(formatted) => page.push_str(formatted),
        None => page.push_str(&paragraphs(&wording.written)),
    }
    if let Some(quoted) = &wording.quoted {
        page.push_str(&format!("<p>{}</p>\n", escaped(&quoted.opening)));
        page.push_str("<blockquote type=\"cite\">\n");
        page.push_str(&paragraphs(&quoted.text));
        page.push_str("</blockquote>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}
