//! The formatting of mail that people write in the app (docs/decisions/formatted-mail.md): `stored` is the form that is kept, a
//! closed list of elements without any style; `text` is what it says in plain text, and `for_mail` how it leaves. The
//! functions on the form expect it as `stored` made it. Pictures are named by their files (`pictures`).

mod clean;
mod filled;
mod links;
mod mail;
mod pictures;
mod signed;
mod tree;
mod words;

pub use self::clean::stored;
pub use self::filled::filled;
pub use self::mail::{for_mail, for_page};
pub use self::pictures::{pictures, with_pictures};
pub use self::signed::{signed, unsigned};
pub use self::words::text;
use super::paragraphs::{linked, paragraphs};

/// What is under the formatted words in the whole text of a mail, such as a signature: the lines behind them. None if the text
/// does not begin with these words: then the formatting says something else and must not be used.
pub fn under<'a>(stored: &str, whole_text: &'a str) -> Option<&'a str> {
    let rest = whole_text.strip_prefix(text(stored).as_str())?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('\n') }
}

/// A mail as HTML: the formatted words, and under them as paragraphs what its text has under them. None if its text says
/// something else.
pub fn whole(stored: &str, whole_text: &str) -> Option<String> {
    let rest = under(stored, whole_text)?;
    Some(format!("{}\n{}", for_mail(stored), paragraphs(rest)))
}

/// Words of the service in the stored form, to be put under what somebody formatted. Web addresses are links.
pub fn from_text(text: &str) -> String {
    let line = |line: &str| match line.trim_end() {
        "" => "<div><br></div>".to_owned(),
        line => format!("<div>{}</div>", linked(&with_its_spaces(line))),
    };
    let html: String = text.lines().map(line).collect();
    tree::write(&tree::read(&html))
}

/// HTML shows only one of several spaces, and none where a line begins.
fn with_its_spaces(line: &str) -> String {
    let mut follows_space = true;
    let spaced = line.chars().filter(|letter| tree::is_kept(*letter)).map(|letter| {
        let is_space = matches!(letter, ' ' | '\t');
        let needs_keeping = is_space && follows_space;
        follows_space = is_space;
        if needs_keeping { '\u{a0}' } else { letter }
    });
    spaced.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What stays of it behind something that is formatted, so that it is not stored as mere text.
    fn kept(html: &str) -> String {
        let formatted = format!("<b>!</b>{html}<i>.</i>");
        let stored = stored(&formatted).expect("not too much");
        let inner = stored.strip_prefix("<b>!</b>").and_then(|rest| rest.strip_suffix("<i>.</i>"));
        inner.unwrap_or(&stored).to_owned()
    }

    #[test]
    fn what_is_on_the_list_stays_and_other_names_for_it_become_ours() {
        for same in [
            "<div>Hi <b>Ada</b>, <i>a</i> <u>b</u> <code>d</code></div>",
            "<ol start=\"3\"><li>a<ul><li>b</li></ul></li></ol>",
            "<ul><li>a</li><ul><li>b</li></ul></ul>",
            "<blockquote>a<blockquote>b</blockquote></blockquote><hr>",
            "<pre> a\n\n  b</pre>",
            "<pre>\n\n a\n</pre>",
            "<table><tbody><tr><th>A</th></tr><tr><td>1</td><td>2</td></tr></tbody></table>",
            "<div dir=\"rtl\">x</div><ul dir=\"auto\"><li dir=\"ltr\">y</li></ul>",
            "<a href=\"https://a.example/?a=1&amp;b=2\">see</a> <a href=\"mailto:ada@b.example\">Ada</a>",
            "a &amp; b &lt;c&gt; \"d\" 'e'&nbsp; f",
        ] {
            assert_eq!(kept(same), same);
        }
        for (html, wanted) in [
            (
                "<p>One</p><p><strong>Two</strong> <em>three</em></p><h2>Four</h2>",
                "<div>One</div><div><b>Two</b> <i>three</i></div><div>Four</div>",
            ),
            (
                "<table><thead><tr><th>A<th>B</thead><tr><td colspan=2 style=x>c</table>",
                "<table><tbody><tr><th>A</th><th>B</th></tr></tbody><tbody><tr><td>c</td></tr></tbody></table>",
            ),
            ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
            ("<pre>\na</pre>", "<pre>a</pre>"),
            ("We will <s>not</s> pay 10<sup>6</sup> <del>ever</del>", "We will not pay 106 ever"),
            ("<div dir=\"RTL\">x</div><div dir=up>y</div>", "<div dir=\"rtl\">x</div><div>y</div>"),
            ("<ol start=-1><li>x</ol><ol start=1e3><li>y</ol>", "<ol><li>x</li></ol><ol><li>y</li></ol>"),
            (
                "<a href=\"mailto:ada@b.example?cc=eve@c.example&body=Yes\">Ada</a>",
                "<a href=\"mailto:ada@b.example\">Ada</a>",
            ),
            (
                "<a href=\"https://A.example\" rel=x target=_blank onclick=y class=z>b</a>",
                "<a href=\"https://a.example/\">b</a>",
            ),
            ("<b></b><b> </b><i><br></i>x<a href=\"https://a.example/\"></a>", " <br>x"),
            (
                "<a href=\"https://a.example/\"><table><tr><td><a href=\"https://b.example/\">x</a></table></a>",
                "<a href=\"https://a.example/\"><table><tbody><tr><td>x</td></tr></tbody></table></a>",
            ),
        ] {
            assert_eq!(kept(html), wanted, "{html}");
        }
        assert_eq!(kept("<div>a</div><div><br></div> <div>&nbsp;</div><br>").matches("<div>").count(), 3);
        let ends = stored("<div><b>a</b></div><div><br></div> <div>&nbsp;</div>\n<br>");
        assert_eq!(ends.as_deref(), Some("<div><b>a</b></div>"));
    }

    #[test]
    fn nothing_hostile_stays() {
        for (html, wanted) in [
            ("<img src=x onerror=\"window.__x=1\"><script>window.__x=1</script>", ""),
            (
                "<a href=\"javascript:window.__x=1\">click</a><a href=\" java\nscript:window.__x=1\">c</a>\
                 <a href=\"data:text/html,<script>1</script>\">d</a><a href=\"https://user:pw@bank.example\">e</a>",
                "clickcde",
            ),
            (
                "<a href=\"/x\">a</a><a href=\"//b.example\">b</a><a href=\"ftp://c.example\">c</a><a name=d>d</a>\
                 <a href=\"mailto:\">e</a><a href=\"https:\">f</a>",
                "abcdef",
            ),
            ("<form action=\"https://evil.example\"><input name=body value=evil></form>text", "text"),
            ("<iframe srcdoc=\"<script>parent.__x=1</script>\"></iframe><object data=\"x\"></object>", ""),
            (
                "<img src=\"https://tracker.example/p.gif\"><div style=\"position:fixed;inset:0\">cover</div>",
                "<div>cover</div>",
            ),
            ("<template><img src=x onerror=window.__x=1></template>", ""),
            ("<input type=hidden id=a><p id=composer-form name=body>clobber</p>", "<div>clobber</div>"),
            ("a\u{202e}gpj.exe\u{2066}\u{feff}\u{7}", "agpj.exe"),
            ("a<!-- <b>b</b> -->c<?php d ?>", "ac"),
            ("<style>b{}</style><svg><a href=\"https://a.example\">x</a></svg>", ""),
        ] {
            assert_eq!(kept(html), wanted, "{html}");
        }
        for mutating in [
            "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=window.__x=1&gt;\">",
            "<noscript><p title=\"</noscript><img src=x onerror=window.__x=1>\">",
            "<svg></p><style><a id=\"</style><img src=1 onerror=window.__x=1>\">",
            "<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.__x=1>",
        ] {
            let stored = stored(&format!("{mutating}<b>x</b>")).unwrap();
            assert!(["", "<b>x</b>", "<div><b>x</b></div>"].contains(&stored.as_str()), "{stored}");
        }
        let deep = kept(&format!("{}deep{}", "<div>".repeat(5_000), "</div>".repeat(5_000)));
        assert_eq!(deep, format!("{}deep{}", "<div>".repeat(40), "</div>".repeat(40)));
        let long = format!("<a href=\"https://a.example/{}\">x</a>", "y".repeat(2_048));
        assert_eq!(kept(&long), "x");
    }

    #[test]
    fn too_much_is_not_kept() {
        assert_eq!(stored(&format!("<b>{}</b>", "x".repeat(200 * 1024))), None);
        assert!(stored(&format!("<b>{}</b>", "x".repeat(199 * 1024))).is_some());
        // It would be longer in the form that is kept.
        assert_eq!(stored(&format!("<b>{}</b>", "\u{a0}x".repeat(60_000))), None);
        // The parser opens the link again in every item.
        let item =
            format!("<li><a href=\"https://a.example/{}\">{}", "y".repeat(2_000), "<li>x</li>".repeat(500));
        assert_eq!(stored(&item), None);
    }

    #[test]
    fn what_says_no_more_than_its_text_is_not_kept() {
        for plain in [
            "",
            "Just words.",
            "<div>Just words.</div><div><br></div><div>Twice.<br>More</div>",
            "<p style=\"color:red\">Red</p>",
            "<div>See <a href=\"https://a.example/b\">https://a.example/b</a></div>",
            "<div><a href=\"mailto:ada@b.example\">Ada@b.example</a></div>",
            "<b><br></b> ",
            "<div>a</div><div><b>&nbsp;</b></div>",
        ] {
            assert_eq!(stored(plain).as_deref(), Some(""), "{plain}");
        }
        for formatted in [
            "<div dir=\"rtl\">a</div>",
            "<div>See <a href=\"https://a.example/b\">a.example/b</a></div>",
            "<div><a href=\"https://evil.example/\">https://bank.example/</a></div>",
            "<ul><li>a</li></ul>",
            "<div>a</div><hr>",
        ] {
            assert_eq!(stored(formatted).as_deref(), Some(formatted));
        }
    }

    #[test]
    fn a_quote_of_other_mail_programs_stays_one_and_gets_no_words_of_ours() {
        let pasted = "Yes.<div class=\"gmail_quote\">On Monday:<blockquote class=\"gmail_quote\" style=\"margin:0\">Do you?\
                      <blockquote type=\"cite\">Earlier</blockquote></blockquote></div>";
        let stored = stored(pasted).unwrap();
        assert_eq!(
            stored,
            "Yes.<div>On Monday:<blockquote>Do you?<blockquote>Earlier</blockquote></blockquote></div>"
        );
        assert_eq!(text(&stored), "Yes.\nOn Monday:\n> Do you?\n> > Earlier");
    }

    #[test]
    fn its_text_is_what_people_type() {
        for (stored, wanted) in [
            ("", ""),
            ("<div>a</div><div><br></div><div>b<br>c</div>", "a\n\nb\nc"),
            ("<div>a<br></div><div></div><div>b<br><br></div>c", "a\nb\n\nc"),
            (" <div> a  b\n<b> c</b>&nbsp; d </div>", "a b c  d"),
            ("<div>x</div><div>&nbsp;&nbsp;- a &amp; b</div><div>&nbsp;</div>", "x\n  - a & b"),
            (
                "<ul><li>a<ul><li>b</li><li>c<br>d</li></ul></li><li></li></ul>\
                 <ol start=\"3\"><li>x</li><li><div>y</div><div>z</div></li></ol>",
                "- a\n  - b\n  - c\n    d\n-\n3. x\n4. y\n  z",
            ),
            ("<ul><li>a</li><ul><li>b</li></ul><li><br></li></ul>c", "- a\n  - b\n-\nc"),
            (
                "<blockquote><div>a</div><div><br></div><blockquote>b</blockquote></blockquote><div>c</div>",
                "> a\n>\n> > b\nc",
            ),
            ("<ol><li>a<blockquote>b<br>c</blockquote></li></ol>", "1. a\n  > b\n  > c"),
            ("<blockquote><ul><li>a</li></ul></blockquote>", "> - a"),
            (
                "<table><tbody><tr><th>A</th> <th> B </th></tr><tr><td><div>1</div></td><td>2<br>3</td></tr>\
                 <tr><td></td><td><ul><li>x</li><li>y</li></ul></td></tr><tr><td>all<div>lines</div></td></tr></tbody></table>",
                "A\tB\n1\t2 3\n\t- x - y\nall\nlines",
            ),
            ("<div>a</div><hr><div>b</div>", "a\n---\nb"),
            ("<div>a</div><pre>\n\n  x\ty\n\nz\n</pre><div>b</div>", "a\n\n  x\ty\n\nz\nb"),
            ("<b>H2O</b> <code>a</code>", "H2O a"),
            (
                "<table><tbody><tr><td><blockquote>a</blockquote></td><td>b</td></tr></tbody></table>",
                "> a\tb",
            ),
        ] {
            assert_eq!(text(stored), wanted, "{stored}");
        }
    }

    #[test]
    fn where_a_link_leads_is_written_behind_words_that_do_not_say_it() {
        for (href, words, wanted) in [
            ("https://a.example/b", "our page", "our page <https://a.example/b>"),
            ("https://a.example/", "https://a.example", "https://a.example"),
            ("https://a.example/", "A.example", "A.example"),
            ("http://a.example/b", "a.example/b", "a.example/b"),
            ("https://xn--mnchen-3ya.example/", "münchen.example", "münchen.example"),
            (
                "https://evil.example/",
                "https://bank.example/",
                "https://bank.example/ <https://evil.example/>",
            ),
            ("https://a.example/B", "a.example/b", "a.example/b <https://a.example/B>"),
            ("mailto:ada@b.example", "ada@b.example", "ada@b.example"),
            ("mailto:ada@b.example", "mailto:ada@b.example", "mailto:ada@b.example"),
            ("mailto:ada@b.example", "Ada", "Ada <ada@b.example>"),
            ("tel:+49301", "+49 30-1", "+49 30-1"),
            ("tel:+49301", "call", "call <+49301>"),
        ] {
            let link = format!("<div>see <a href=\"{href}\">{words} </a>now</div>");
            assert_eq!(text(&link), format!("see {wanted} now"));
        }
    }

    #[test]
    fn the_formatting_holds_while_the_text_begins_with_its_words() {
        let stored = "<div><b>Hi</b></div><div>Ada</div>";
        for (whole_text, rest) in [
            ("Hi\nAda", Some("")),
            ("Hi\nAda\n", Some("")),
            ("Hi\nAda\n\nMia\nAcme", Some("\nMia\nAcme")),
            ("Hi\nAdam", None),
            ("Hi", None),
            ("", None),
        ] {
            assert_eq!(under(stored, whole_text), rest, "{whole_text}");
        }
        let html = whole(stored, "Hi\nAda\n\nMia <x>").unwrap();
        assert!(
            html.starts_with(&for_mail(stored)) && html.ends_with("<p dir=\"auto\">Mia &lt;x&gt;</p>\n"),
            "{html}"
        );
        assert_eq!(whole(stored, "Ho"), None);
    }

    #[test]
    fn words_of_the_service_are_in_the_form_that_is_kept() {
        assert_eq!(
            from_text("\na <b>  c\n  - d\u{202e}\r\n"),
            "<div><br></div><div>a &lt;b&gt; &nbsp;c</div><div>&nbsp;&nbsp;- d</div>"
        );
        assert_eq!(
            from_text("Call: https://a.example/b?c=1&d"),
            "<div>Call: <a href=\"https://a.example/b?c=1&amp;d\">https://a.example/b?c=1&amp;d</a></div>"
        );
        let both = format!("<div><b>a</b></div>{}", from_text("\nb & c"));
        assert_eq!(stored(&both).as_deref(), Some(both.as_str()));
        assert_eq!(text(&both), "a\n\nb & c");
    }

    const PICTURE: &str = "<img alt=\"The door\" height=\"20\" src=\"cid:dfl_1\" width=\"30\">";

    #[test]
    fn a_picture_of_the_draft_stays_and_no_other() {
        let same = format!("<div>See {PICTURE} and</div><div><img alt=\"b\" src=\"cid:dfl_2\"></div>");
        assert_eq!(stored(&same).as_deref(), Some(same.as_str()));
        for (html, wanted) in [
            (
                "<img src=\"cid:dfl_1\" onerror=\"x()\" style=\"position:fixed\" class=\"y\" srcset=\"https://a.example/\">",
                "<img alt=\"picture\" src=\"cid:dfl_1\">",
            ),
            (
                "<img src=cid:dfl_1 alt=\" a\n\u{202e} b\u{a0}&amp;&quot; \" width=0 height=99999>",
                "<img alt=\"a b &amp;&quot;\" src=\"cid:dfl_1\">",
            ),
            (
                "<img src=cid:dfl_1 width=\"50%\" height=020>",
                "<img alt=\"picture\" height=\"20\" src=\"cid:dfl_1\">",
            ),
        ] {
            assert_eq!(stored(html).as_deref(), Some(wanted), "{html}");
        }
        for gone in [
            "https://tracker.example/p.gif",
            "//tracker.example/p.gif",
            "/pictures/dfl_1",
            "data:image/png;base64,AAAA",
            "javascript:x()",
            "cid:",
            "cid:a b",
            "cid:../x",
            "cid:x@y.example",
            "CID:dfl_1",
            "",
        ] {
            assert_eq!(
                stored(&format!("<b>x</b><img src=\"{gone}\">")).as_deref(),
                Some("<b>x</b>"),
                "{gone}"
            );
        }
        let long = format!("<img src=cid:dfl_1 alt=\"{}\">", "y".repeat(1_000));
        assert_eq!(stored(&long), Some(format!("<img alt=\"{}\" src=\"cid:dfl_1\">", "y".repeat(200))));
    }

    #[test]
    fn its_description_is_in_the_text() {
        for (html, wanted) in [
            (format!("<div>See {PICTURE}now</div>"), "See [The door]now"),
            (format!("<ul><li>{PICTURE}</li></ul>"), "- [The door]"),
            (format!("<a href=\"https://a.example/\">{PICTURE}</a>"), "[The door] <https://a.example/>"),
            (format!("<table><tr><td>{PICTURE}</td><td>b</td></tr></table>"), "[The door]\tb"),
            (format!("<pre>a\n{PICTURE}</pre>"), "a\n[The door]"),
        ] {
            let stored = stored(&html).unwrap();
            assert_eq!(text(&stored), wanted, "{stored}");
            // And nowhere else, should its file be gone.
            let without = with_pictures(&stored, |_| None);
            assert!(!without.contains("<img"), "{without}");
            assert_eq!(text(&without), wanted, "{without}");
        }
    }

    #[test]
    fn pictures_are_named_in_their_order_and_placed_where_their_reader_has_them() {
        let both = format!("<div>{PICTURE}</div><b><img alt=\"c\" src=\"cid:dfl_2\"></b>");
        assert_eq!(pictures(&both), ["dfl_1", "dfl_2"]);
        assert_eq!(
            with_pictures(&both, |id| (id == "dfl_2").then(|| format!("/files/{id}"))),
            "<div>[The door]</div><b><img alt=\"c\" src=\"/files/dfl_2\"></b>"
        );
        assert_eq!(with_pictures("<b>a&nbsp;b</b>", |_| None), "<b>a&nbsp;b</b>");
    }

    const SIGNATURE: &str =
        "<div><b>Mia</b></div><div><img alt=\"Acme\" height=\"20\" src=\"cid:sgf_1\" width=\"60\"></div>";

    #[test]
    fn a_signature_stands_a_line_below_the_words_and_comes_off_again() {
        for words in [
            "",
            "<div>Hello <b>Ada</b>,</div><div>yes.</div>",
            "Hello <i>Ada</i>",
            "<ul><li>a</li></ul>",
            "<blockquote>a</blockquote>",
            &from_text("Hello\n\n  two  spaces, https://a.example/b"),
        ] {
            let whole = signed(words, SIGNATURE).expect("not too much");
            assert_eq!(unsigned(&whole, SIGNATURE), Some(words), "{whole}");
            let gap = if words.is_empty() { "" } else { "\n\n" };
            assert_eq!(text(&whole), format!("{}{gap}Mia\n[Acme]", text(words)));
        }
        assert_eq!(unsigned("<b>Mia</b>", "<i>Mia</i>"), None);
        assert_eq!(unsigned("<div>Hi</div><b>Mia</b>", "<b>Mia</b>"), None, "no line is between them");
        assert_eq!(unsigned("<b>Hi</b>", ""), None);
        assert_eq!(signed(&format!("<b>{}</b>", "x".repeat(200 * 1024)), SIGNATURE), None);
    }

    const RIGHT_TO_LEFT: char = '\u{202e}';
    const PIECES: &[&str] = &[
        "<div>",
        "</div>",
        "<div dir=rtl>",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<strong>",
        "<ul>",
        "</ul>",
        "<ol start=3>",
        "</ol>",
        "<li>",
        "</li>",
        "<blockquote>",
        "</blockquote>",
        "<blockquote type=cite>",
        "<pre>",
        "</pre>",
        "<table>",
        "</table>",
        "<tbody>",
        "<tr>",
        "</tr>",
        "<td colspan=2>",
        "</td>",
        "<th>",
        "<a href=https://a.example/b>",
        "<a href=\"mailto:a@b.example\">",
        "<a href=\"javascript:x()\">",
        "</a>",
        "<br>",
        "<hr>",
        "<code>",
        "</code>",
        "<sub>",
        "<span style=\"color:red\">",
        "</span>",
        "<script>",
        "</script>",
        "<svg>",
        "</svg>",
        "<style>",
        "</style>",
        "<!--",
        "-->",
        "<img src=x onerror=x()>",
        "<img src=cid:dfl_1 alt=' a [b] '>",
        "<details>",
        "<summary>",
        "<form>",
        "<math>",
        "<template>",
        "<wbr>",
        "\n",
        " ",
        "\t",
        "&nbsp;",
        "&lt;b&gt;",
        "&amp;amp;",
        "\u{a0}",
        "\u{202e}",
        "\u{feff}",
        "a",
        "b c",
        "ü",
        "שלום",
        "https://a.example/b",
        "<",
        ">",
        "\"",
        "'",
        "=",
        "&",
        "\r\n",
        "\0",
    ];

    proptest! {
        #[test]
        fn cleaning_again_changes_nothing(
            pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
        ) {
            if let Some(once) = stored(&pieces.concat()) {
                prop_assert_eq!(stored(&once), Some(once.clone()), "{}", once);
            }
        }

        #[test]
        fn no_tag_stays_but_ours(
            pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
        ) {
            let html = stored(&format!("<b>x</b>{}", pieces.concat())).unwrap_or_default();
            for (at, _) in html.match_indices('<') {
                let tag = html[at + 1..].split('>').next().unwrap_or_default();
                let mut parts = tag.trim_start_matches('/').split(' ');
                let name = parts.next().unwrap_or_default();
                prop_assert!(tree::ELEMENTS.contains(&name), "{}", html);
                // A description may have spaces.
                for attribute in parts.filter(|_| name != "img") {
                    let ours = ["dir=\"rtl\"", "start=\"3\"", "href=\"https://a.example/b\"",
                        "href=\"mailto:a@b.example\""];
                    prop_assert!(ours.contains(&attribute), "{}", html);
                }
            }
            prop_assert_eq!(html.matches('<').count(), html.matches('>').count());
        }

        #[test]
        fn the_text_of_anything_has_no_blank_ends(
            pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..60)
        ) {
            let text = text(&stored(&pieces.concat()).unwrap_or_default());
            prop_assert_eq!(text.trim(), text.as_str());
            prop_assert!(text.lines().all(|line| line.trim_end() == line));
            prop_assert!(!text.contains(RIGHT_TO_LEFT));
        }

        #[test]
        fn words_of_the_service_say_what_they_said(text in "[a-z <>&\"'\n-]{0,60}") {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            let wanted = lines.join("\n");
            prop_assert_eq!(super::text(&from_text(&text)), wanted.trim());
        }
    }
}
