//! Decodes HTML entities such as `&amp;`. Unknown ones stay as they are. The search for the end of a name is
//! bounded, so that the cost is linear.

use mail_parser::decoders::html::add_html_token;

pub fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name_end = rest
            .bytes()
            .take(32)
            .skip(1)
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'#'))
            .map(|at| at + 1);
        match name_end {
            Some(end) if rest.as_bytes()[end] == b';' => {
                add_html_token(&mut out, &rest.as_bytes()[..=end], false);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
