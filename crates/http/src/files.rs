//! Files as answers: always to be saved, never to be opened. Neither a file's name nor what is in it can make a browser run
//! it or leave its header.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::answers::insert;
use rookery_base::store::blobs::Blob;

/// Nothing in it runs, loads or sends, should a browser open it all the same.
pub const SANDBOX: &str = "sandbox; default-src 'none'";

/// A file to be saved, whatever is in it.
pub fn attached(blob: Blob, filename: &str) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    insert(headers, "content-length", &blob.length.to_string());
    insert(headers, "content-disposition", &disposition("attachment", filename));
    insert(headers, "content-security-policy", SANDBOX);
    insert(headers, "cross-origin-resource-policy", "same-origin");
    insert(headers, "x-content-type-options", "nosniff");
    *response.body_mut() = Body::from_stream(blob.bytes);
    response
}

/// A name that every browser reads and that cannot end the header: plain letters, and the true name encoded.
pub fn disposition(how: &str, filename: &str) -> String {
    let plain: String = filename
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | ' ' | '(' | ')' => letter,
            _ => '_',
        })
        .collect();
    let whole: String =
        filename.chars().filter(|letter| !letter.is_control() && !"/\\".contains(*letter)).collect();
    let encoded = percent_encoding::utf8_percent_encode(&whole, percent_encoding::NON_ALPHANUMERIC);
    format!("{how}; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_leave_its_header() {
        let hostile = "a\"; filename=evil.html\r\nSet-Cookie: x=1\u{202e}ü/..\\b.pdf";
        let header = disposition("attachment", hostile);
        assert!(HeaderValue::from_str(&header).is_ok());
        assert!(!header.contains(['\r', '\n']) && header.matches('"').count() == 2, "{header}");
        assert!(header.is_ascii() && header.contains("filename*=UTF-8''a%22%3B"), "{header}");
        assert_eq!(
            disposition("attachment", "Übersicht 1.pdf"),
            "attachment; filename=\"_bersicht 1.pdf\"; filename*=UTF-8''%C3%9Cbersicht%201%2Epdf"
        );
    }
}
