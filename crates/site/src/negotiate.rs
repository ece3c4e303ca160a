//! Whether a reader wants Markdown rather than HTML: programs say so in `Accept`, browsers never do.
//! A page has both forms, and says where the other one is.

use axum::http::{HeaderMap, header};

/// Markdown is asked for by its name, and at least as much as HTML is.
pub fn wants_markdown(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let kinds: Vec<(String, f32)> = lines.flat_map(|line| line.split(',')).map(kind).collect();
    let weight = |name: &str| kinds.iter().find(|(own, _)| own == name).map(|(_, weight)| *weight);
    match (weight("text/markdown"), weight("text/html")) {
        (Some(markdown), html) => markdown > 0.0 && markdown >= html.unwrap_or(0.0),
        (None, _) => false,
    }
}

/// A kind with its weight, which is 1 when it has none.
fn kind(said: &str) -> (String, f32) {
    let mut parts = said.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight =
        parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |text| text.parse().unwrap_or(0.0));
    (name, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_html_and_who_asks_for_markdown_gets_it() {
        for (accept, wanted) in [
            ("text/markdown", true),
            ("text/markdown, text/html;q=0.9, */*;q=0.1", true),
            ("text/html, text/markdown;q=0.5", false),
            ("text/markdown;q=0", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("*/*", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(wants_markdown(&headers), wanted, "{accept}");
        }
        assert!(!wants_markdown(&HeaderMap::new()));
    }
}
