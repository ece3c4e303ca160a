//! Makes a file name safe to show and to save under: one plain name, never a path, never
//! empty, with nothing in it that hides its real extension. Specification 2.4.

use std::sync::LazyLock;

use super::line::{is_deceptive, one_line};
use crate::lists::{Pairs, pairs};

const MAX_NAME_CHARS: usize = 200;
const MAX_EXTENSION_CHARS: usize = 16;

static EXTENSIONS: Pairs = LazyLock::new(|| pairs(include_str!("words/extensions.txt")));

pub(super) fn clean(name: Option<&str>, content_type: &str) -> String {
    let name = name.unwrap_or("");
    let name = name.rsplit(['/', '\\']).next().unwrap_or("");
    let name: String = name.chars().filter(|c| !is_deceptive(*c)).collect();
    let name = one_line(&name, usize::MAX);
    let name = name.trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return fallback(content_type);
    }
    shorten(name)
}

fn fallback(content_type: &str) -> String {
    let extension = EXTENSIONS
        .iter()
        .find(|(of_type, _)| *of_type == content_type)
        .map_or("bin", |(_, extension)| extension);
    format!("attachment.{extension}")
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= MAX_NAME_CHARS {
        return name.to_owned();
    }
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| extension)
        .filter(|extension| extension.chars().count() <= MAX_EXTENSION_CHARS);
    match extension {
        Some(extension) => {
            let kept = MAX_NAME_CHARS - extension.chars().count() - 1;
            let stem: String = name.chars().take(kept).collect();
            format!("{}.{extension}", stem.trim_end_matches(['.', ' ']))
        }
        None => name.chars().take(MAX_NAME_CHARS).collect(),
    }
}
