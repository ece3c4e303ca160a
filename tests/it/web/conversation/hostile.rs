//! Hostile mail, each of tests/hostile_html/corpus.txt: what is left of it is on the list, names no address but ours and
//! links, and says the same when it is read again. tests/web opens the same mails in a real browser.

use std::cell::RefCell;
use std::time::Duration;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use rookery_reading::html::sanitise::{Images, sanitise};
use url::Url;

use super::{stored, with_html};
use rookery_world::story;

/// Every mail of the corpus.
fn corpus() -> Vec<(String, String)> {
    let file = include_str!("../../../hostile_html/corpus.txt");
    let entries = file.split("\n=== ").skip(1);
    entries
        .map(|entry| {
            let (name, html) = entry.split_once('\n').expect("a name and its HTML");
            (name.to_owned(), expanded(html.strip_suffix('\n').unwrap_or(html)))
        })
        .collect()
}

/// Repetitions and characters that a text file does not show.
fn expanded(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find(['{', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let code = rest.get(2..4).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some((inner, after)) = rest.strip_prefix("{{").and_then(|rest| rest.split_once("}}"))
            && let Some((n, text)) = inner.split_once('*')
            && let Ok(n) = n.parse()
        {
            out.push_str(&text.repeat(n));
            rest = after;
        } else if let (true, Some(code)) = (rest.starts_with("\\x"), code) {
            out.push(code as char);
            rest = &rest[4..];
        } else if let Some((escape, letter)) =
            [("\\0", '\0'), ("\\t", '\t'), ("\\n", '\n'), ("\\r", '\r'), ("\\f", '\u{c}')]
                .into_iter()
                .find(|(escape, _)| rest.starts_with(escape))
        {
            out.push(letter);
            rest = &rest[escape.len()..];
        } else {
            let letter = rest.chars().next().expect("a letter");
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    out.push_str(rest);
    out
}

struct Ours {
    remote: bool,
}

impl Images for Ours {
    fn inline(&self, content_id: &str) -> Option<String> {
        (content_id == "logo").then(|| "/messages/msg_1/files/0/preview".to_owned())
    }

    fn remote(&self, address: &Url) -> Option<String> {
        assert_eq!(address.scheme(), "https");
        self.remote.then(|| "/images/signed".to_owned())
    }
}

const ELEMENTS: &str = "a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd \
    del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q s \
    samp section small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul var wbr";
const ATTRIBUTES: &str = "align alt bgcolor border cellpadding cellspacing color colspan dir face height href hspace lang \
    noshade nowrap rel reversed rowspan scope size span src start style target title type valign value vspace width";

#[derive(Default)]
struct Seen(RefCell<Vec<Tag>>);

impl TokenSink for Seen {
    type Handle = ();
    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => self.0.borrow_mut().push(tag),
            Token::CommentToken(_) | Token::DoctypeToken(_) => panic!("a comment or a declaration was left"),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn tags(html: &str) -> Vec<Tag> {
    let tokenizer = Tokenizer::new(Seen::default(), Default::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

fn check(name: &str, html: &str) {
    let elements: Vec<&str> = ELEMENTS.split_whitespace().collect();
    let attributes: Vec<&str> = ATTRIBUTES.split_whitespace().collect();
    for tag in tags(html) {
        let element: &str = &tag.name;
        assert!(elements.contains(&element), "{name}: <{element}> was left in {html:.300}");
        assert!(tag.kind == TagKind::StartTag || tag.attrs.is_empty(), "{name}");
        // Ours alone, and always folded.
        assert!(!matches!(element, "details" | "summary") || tag.attrs.is_empty(), "{name}: {html:.300}");
        let own = |wanted: &str| {
            tag.attrs.iter().find(|one| &*one.name.local == wanted).map(|one| one.value.to_string())
        };
        for attribute in &tag.attrs {
            let (attribute, value) = (&*attribute.name.local, attribute.value.to_lowercase());
            assert!(attributes.contains(&attribute), "{name}: {attribute} was left in {html:.300}");
            let forbidden =
                ["javascript:", "url(", "expression", "@import", "position", "data:", "image-set"];
            let words = matches!(attribute, "alt" | "title");
            assert!(
                words || !forbidden.iter().any(|word| value.contains(word)),
                "{name}: {attribute}={value:.200}"
            );
        }
        if let Some(link) = own("href") {
            let address = Url::parse(&link).unwrap_or_else(|_| panic!("{name}: {link} is no address"));
            assert!(
                element == "a" && ["http", "https", "mailto"].contains(&address.scheme()),
                "{name}: {link}"
            );
            assert_eq!(own("target").as_deref(), Some("_blank"), "{name}");
            assert_eq!(own("rel").as_deref(), Some("noopener noreferrer nofollow"), "{name}");
        }
        if let Some(source) = own("src") {
            let ours = ["/messages/msg_1/files/0/preview", "/images/signed"];
            assert!(element == "img" && ours.contains(&source.as_str()), "{name}: {source}");
        }
    }
}

/// How long this thread has worked: what others do on the machine does not count.
fn on_the_processor() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    Duration::from_nanos(told.split(' ').next().and_then(|first| first.parse().ok()).expect("nanoseconds"))
}

#[test]
fn nothing_hostile_is_left_of_any_mail_of_the_corpus() {
    let mails = corpus();
    assert!(mails.len() >= 200, "{}", mails.len());
    for (name, html) in &mails {
        let began = on_the_processor();
        for remote in [false, true] {
            let clean = sanitise(html, Ours { remote });
            check(name, &clean);
            assert!(remote || !clean.contains("/images/"), "{name}: pictures of the web are off");
            let again = sanitise(
                &clean.replace("/messages/msg_1/files/0/preview", "cid:logo"),
                Ours { remote: false },
            );
            check(name, &again);
        }
        // Generous, for a build without optimisation. Without bounds some would take minutes.
        let took = on_the_processor() - began;
        assert!(took < Duration::from_secs(30), "{name} took {took:?}");
    }
}

#[test]
fn an_honest_mail_keeps_its_layout() {
    let html = "<html><head><title>x</title><style>p{}</style></head><body bgcolor=\"#fff\"><table width=\"600\" cellpadding=0>\
        <tr><td align=center style=\"padding:12px;color:#222;position:fixed\"><h1>Invoice</h1><p>Dear <b>Kim</b>,<br>see \
        <a href=\"https://shop.test/i?a=1&amp;b=2\">your invoice</a>.</p><img src=\"cid:logo\" alt=\"Logo\" width=80></td></tr></table>";
    let clean = sanitise(html, Ours { remote: false });
    for part in [
        "<table width=\"600\" cellpadding=\"0\">",
        "style=\"padding:12px;color:#222;\"",
        "<h1>Invoice</h1>",
        "<b>Kim</b>",
        "href=\"https://shop.test/i?a=1&amp;b=2\"",
        "src=\"/messages/msg_1/files/0/preview\"",
        "alt=\"Logo\"",
    ] {
        assert!(clean.contains(part), "{part} is missing in {clean}");
    }
    assert!(!clean.contains("position") && !clean.contains("<title"), "{clean}");
}

#[test]
fn quoted_history_is_folded_and_a_mail_folds_nothing_by_itself() {
    let fold = "<details><summary>Earlier text</summary>";
    let html = "<div dir=ltr>Yes, please.</div><br><div class=\"gmail_quote\"><div class=\"gmail_attr\">On Monday Kim wrote:<br></div>\
        <blockquote class=\"gmail_quote\" style=\"margin:0 0 0 .8ex;border-left:1px solid #ccc\">Shall I?</blockquote></div>";
    let clean = sanitise(html, Ours { remote: false });
    assert_eq!(clean.matches(fold).count(), 1, "{clean}");
    assert!(clean.find("Yes, please.") < clean.find(fold) && clean.ends_with("</details>"), "{clean}");
    assert!(!clean.contains("gmail"), "classes are gone: {clean}");
    let clean =
        sanitise("A<details open ontoggle=alert(1)><summary>B</summary>C</details>", Ours { remote: false });
    assert!(!clean.contains("<details") && clean.contains('C'), "{clean}");
}

/// As real mail, through parser, database and page: what the frame's answer allows is nothing.
#[tokio::test]
async fn hostile_mail_is_harmless_in_the_frame_that_shows_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.test", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mails = corpus();
        for (name, html) in mails.iter().filter(|(_, html)| html.len() < 4_000).step_by(12) {
            let (_, message) = stored(acme.receives(help, &with_html(name, html)).await);
            for path in [format!("/messages/{message}/html"), format!("/messages/{message}/html?images=on")] {
                let shown = owner.get(&path).await;
                assert_eq!(shown.status, 200, "{name}");
                let policy = shown.headers["content-security-policy"].to_str().unwrap();
                assert_eq!(
                    policy,
                    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; \
                     frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin"
                );
                assert_eq!(shown.headers["x-frame-options"], "SAMEORIGIN");
                assert_eq!(shown.headers["x-content-type-options"], "nosniff");
                let body = shown.html.split_once("<body>").unwrap().1.rsplit_once("</body>").unwrap().0;
                for tag in tags(body) {
                    let handler = tag.attrs.iter().any(|one| one.name.local.starts_with("on"));
                    let silent = ["script", "style", "svg", "math", "iframe", "form", "base", "meta", "link", "object"];
                    assert!(!handler && !silent.contains(&&*tag.name), "{name}: {body:.300}");
                }
                assert!(!body.contains("tracker.evil.test/") || body.contains("href="), "{name}: {body:.300}");
            }
        }
    })
    .await;
}
