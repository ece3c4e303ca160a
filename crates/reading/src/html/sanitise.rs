//! What a browser may see of a mail's HTML: elements, attributes and addresses on a list, and nothing else. No script,
//! form, frame, style sheet, SVG or MathML; no address that the reader's browser would go to by itself. Images that came
//! with the mail are named by our own address; those of the web only when the reader asked for them, by our proxy.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use url::Url;

use crate::html::bound::bounded;
use crate::html::style;
use crate::lists::{Words, words};

static ELEMENTS: Words = LazyLock::new(|| words(include_str!("words/elements.txt")));
/// Written by `bound` around quoted history. Those of the mail itself are left out.
const FOLDS: &[&str] = &["details", "summary"];
const GENERIC: &[&str] = &["align", "bgcolor", "dir", "lang", "style", "title", "valign"];
const ATTRIBUTES: &[(&str, &[&str])] = &[
    ("a", &["href"]),
    ("col", &["span", "width"]),
    ("colgroup", &["span", "width"]),
    ("font", &["color", "face", "size"]),
    ("hr", &["color", "noshade", "size", "width"]),
    ("img", &["alt", "border", "height", "hspace", "src", "vspace", "width"]),
    ("li", &["value"]),
    ("ol", &["reversed", "start", "type"]),
    ("table", &["border", "cellpadding", "cellspacing", "height", "width"]),
    ("td", &["colspan", "height", "nowrap", "rowspan", "width"]),
    ("th", &["colspan", "height", "nowrap", "rowspan", "scope", "width"]),
    ("tr", &["height"]),
    ("ul", &["type"]),
];
/// Elements that go with all that is in them. `bound` has left them out already; this is the second lock.
const SILENT: &[&str] = &[
    "applet", "audio", "base", "button", "embed", "form", "frame", "frameset", "iframe", "input", "link",
    "math", "meta", "noembed", "noframes", "object", "script", "select", "style", "svg", "template",
    "textarea", "title", "video", "xmp",
];
/// A longer link is left out: nobody can see where it leads.
const MAX_LINK: usize = 2_048;

/// Where the images of a mail are, for the one who reads it.
pub trait Images: Send + Sync {
    /// Our own address of an image that came with the mail, by its Content-ID.
    fn inline(&self, content_id: &str) -> Option<String>;
    /// Our own address by which an image of the web is shown; nothing while such images are off.
    fn remote(&self, address: &Url) -> Option<String>;
}

/// The body of a page: nothing outside of it may be added by what a stranger wrote.
pub fn sanitise(html: &str, images: impl Images + 'static) -> String {
    let mut builder = rules();
    builder.attribute_filter(move |element, attribute, value| kept(element, attribute, value, &images));
    builder.clean(&bounded(html, &ELEMENTS)).to_string()
}

fn rules() -> Builder<'static> {
    let attributes: HashMap<&str, HashSet<&str>> =
        ATTRIBUTES.iter().map(|(element, names)| (*element, names.iter().copied().collect())).collect();
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.iter().chain(FOLDS).copied().collect())
        .clean_content_tags(SILENT.iter().copied().collect())
        .generic_attributes(GENERIC.iter().copied().collect())
        .tag_attributes(attributes)
        .url_schemes(HashSet::from(["http", "https", "mailto", "cid"]))
        // The filter writes our own addresses, which are relative, and refuses those that the mail has.
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("noopener noreferrer nofollow"))
        .set_tag_attribute_value("a", "target", "_blank")
        .strip_comments(true);
    builder
}

/// What an attribute becomes.
fn kept<'v>(element: &str, attribute: &str, value: &'v str, images: &dyn Images) -> Option<Cow<'v, str>> {
    match (element, attribute) {
        ("a", "target" | "rel") => Some(value.into()),
        ("a", "href") => link(value).map(Cow::Owned),
        ("img", "src") => source(value, images).map(Cow::Owned),
        (_, "src" | "href" | "background") => None,
        (_, "style") => Some(style::filtered(value)).filter(|style| !style.is_empty()).map(Cow::Owned),
        (_, "title" | "alt" | "lang") => Some(value.into()),
        // Colours, sizes, alignment, names of fonts.
        _ => {
            let plain = |letter: char| letter.is_alphanumeric() || " #%.,-'\"".contains(letter);
            (value.len() <= 100 && value.chars().all(plain)).then_some(value.into())
        }
    }
}

fn link(value: &str) -> Option<String> {
    let address = Url::parse(value.trim()).ok()?;
    let sound = match address.scheme() {
        "http" | "https" => {
            address.has_host() && address.username().is_empty() && address.password().is_none()
        }
        "mailto" => true,
        _ => false,
    };
    // As the parser wrote it out, so that a browser reads what we have judged.
    Some(address.to_string()).filter(|address| sound && address.len() <= MAX_LINK)
}

fn source(value: &str, images: &dyn Images) -> Option<String> {
    let value = value.trim();
    if let Some((scheme, id)) = value.split_once(':')
        && scheme.eq_ignore_ascii_case("cid")
    {
        let id = percent_encoding::percent_decode_str(id).decode_utf8().ok()?;
        return images.inline(&id);
    }
    let mut address = Url::parse(value).ok()?;
    if address.scheme() == "http" {
        // Most servers have both, and we ask nobody in the clear.
        address.set_scheme("https").ok()?;
    }
    let sound = address.scheme() == "https" && address.username().is_empty() && address.password().is_none();
    if sound { images.remote(&address) } else { None }
}
