//! What stands in an assistant's draft that the team has not written before: links, addresses, account, phone and other long
//! numbers. A model may obey whoever wrote the mail, so each of these is marked and confirmed once more before the draft
//! leaves.
//!
//! It marks too much rather than too little. Spelling that hides something ("acme dot example", invisible letters, wide
//! digits) is read as what it means.

use std::collections::{BTreeMap, BTreeSet};

use linkify::{LinkFinder, LinkKind};
use sqlx::PgConnection;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use rookery_base::error::Result;
use rookery_base::ids::WorkspaceId;
use rookery_core::conversations::conversation::Conversation;
use rookery_reading::text;

/// Digits from which on a number may be a phone's or an account's.
const LONG_NUMBER: usize = 7;
/// Letters from which on a word of letters and digits may be a wallet or a code.
const LONG_CODE: usize = 20;
/// Earlier mails of ours that are looked at.
const EARLIER: i64 = 100;

/// Something to confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignMark {
    /// As forms and comparisons name it.
    pub key: String,
    /// As it stands in the draft.
    pub shown: String,
}

/// What of a draft's text is not the team's. A forward is not: it holds what the customer wrote.
pub async fn marks(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    conversation: &Conversation,
    body: &str,
) -> Result<Vec<ForeignMark>> {
    let found = found_in(body);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let ours = sqlx::query_scalar!(
        r#"select words as "words!" from (
               (select coalesce(written, text) as words from messages
                where workspace_id = $1 and conversation_id = $2 and direction = 'outbound'
                  and status in ('sending', 'sent') and forwards is null
                  and (to_addresses is null or $5 = any(to_addresses))
                order by at desc limit $4)
               union all
               select body from saved_replies where workspace_id = $1
               union all
               select address || E'\n' || coalesce(signature, '') from mailboxes where workspace_id = $1 and id = $3) ours"#,
        workspace.0,
        conversation.id.0,
        conversation.mailbox_id.0,
        EARLIER,
        conversation.contact.email
    )
    .fetch_all(conn)
    .await?;
    let known = found_in(&ours.join("\n"));
    let foreign = found.into_iter().filter(|(key, _)| !known.contains_key(key));
    Ok(foreign.map(|(key, shown)| ForeignMark { key, shown }).collect())
}

/// Those that nobody has confirmed.
pub fn unconfirmed(marks: Vec<ForeignMark>, confirmed: &[String]) -> Vec<ForeignMark> {
    marks.into_iter().filter(|mark| !confirmed.contains(&mark.key)).collect()
}

/// Everything of the kind in a text, by its key.
fn found_in(text: &str) -> BTreeMap<String, String> {
    let plain: String = text::without_unseen(text).nfkc().collect();
    let mut found = BTreeMap::new();
    links(&plain, &mut found);
    // Signs above and below letters hide them from us, not from people.
    let bare: String = plain.nfd().filter(|letter| !is_combining_mark(*letter)).nfc().collect();
    let small = bare.to_lowercase();
    let spelled = spelled_out(&small);
    if spelled != small {
        let mut more = BTreeMap::new();
        links(&spelled, &mut more);
        let known: BTreeSet<String> = found.keys().map(|key: &String| key.to_lowercase()).collect();
        found.extend(more.into_iter().filter(|(key, _)| !known.contains(key)));
    }
    numbers(&bare, &mut found);
    codes(&bare, &mut found);
    found
}

fn links(text: &str, found: &mut BTreeMap<String, String>) {
    let mut finder = LinkFinder::new();
    finder.url_must_have_scheme(false);
    for link in finder.links(text) {
        note(link.as_str(), *link.kind() == LinkKind::Email, found);
    }
    // What it does not take for a link, and a mail program may: other alphabets, odd beginnings, half an address.
    let around = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '/' | '[' | ']' | '@');
    for word in text.split_whitespace() {
        let word =
            word.trim_matches(around).trim_end_matches(['.', ',', ')', ']', '>']).trim_start_matches('[');
        if word.contains('@') && !word.contains("//") {
            // Also a name that stands for somebody elsewhere: `@evil`.
            if word.chars().any(char::is_alphanumeric) {
                note(word.trim_end_matches('@'), true, found);
            }
        } else if word.contains("//") || word.contains(":/") || has_a_domain(word) {
            note(word, false, found);
        }
    }
}

/// Something with a point in it that ends like a name: `evil.example/x`, not `19.90` or `e.g.`
fn has_a_domain(word: &str) -> bool {
    let inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    word.split(|letter: char| !inside(letter)).any(|part| {
        let part = part.trim_matches('.');
        part.rsplit_once('.').is_some_and(|(before, last)| {
            !before.trim_matches('.').is_empty()
                && last.chars().count() >= 2
                && last.chars().next().is_some_and(char::is_alphabetic)
        })
    })
}

fn note(shown: &str, is_mail: bool, found: &mut BTreeMap<String, String>) {
    let key =
        if is_mail { format!("mail:{}", shown.to_lowercase()) } else { format!("link:{}", address(shown)) };
    // Letters of other alphabets look like ours: the name is shown as machines read it, too.
    let host = key.split_once(':').map_or("", |(_, rest)| rest);
    let host = host.rsplit('@').next().unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
    let shown = match idna::domain_to_ascii(host) {
        Ok(ascii) if !host.is_ascii() => format!("{shown} ({ascii})"),
        _ => shown.to_owned(),
    };
    found.entry(key).or_insert(shown);
}

/// Without what makes no difference: scheme, www, case of the host, a slash at the end.
fn address(link: &str) -> String {
    let bare = link.split_once("//").map_or(link, |(_, bare)| bare);
    let (host, rest) = bare.split_at(bare.find(['/', '?', '#']).unwrap_or(bare.len()));
    let host = host.to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    format!("{host}{}", rest.trim_end_matches('/'))
}

/// `acme[.]example`, `acme dot example`, `me (at) acme.example`, `hxxp://`. Of small letters.
fn spelled_out(text: &str) -> String {
    let mut plain = text.to_owned();
    for (hidden, meant) in [
        ("[.]", "."),
        ("(.)", "."),
        ("[dot]", "."),
        ("(dot)", "."),
        (" dot ", "."),
        (" . ", "."),
        ("[at]", "@"),
        ("(at)", "@"),
        (" @ ", "@"),
        ("hxxp", "http"),
    ] {
        plain = plain.replace(hidden, meant);
    }
    // Words that mean much else: only before what is surely the end of a name.
    for point in [" punkt ", " point ", " punto ", " punt "] {
        for end in ["com", "net", "org", "info", "biz", "shop", "online", "example"] {
            let hidden = format!("{point}{end}");
            let parts: Vec<&str> = plain.split(&hidden).collect();
            let mut joined = parts.first().copied().unwrap_or_default().to_owned();
            for part in parts.iter().skip(1) {
                let is_word = !part.starts_with(char::is_alphanumeric);
                joined.push_str(if is_word { "." } else { point });
                joined.push_str(end);
                joined.push_str(part);
            }
            plain = joined;
        }
    }
    plain
}

/// Digits, whatever stands between them that is no letter; account numbers begin with two letters.
fn numbers(text: &str, found: &mut BTreeMap<String, String>) {
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < letters.len() {
        if !letters[at].is_numeric() {
            at += 1;
            continue;
        }
        let (mut end, mut last, mut digits) = (at, at, String::new());
        while end < letters.len() && !letters[end].is_alphabetic() {
            if letters[end].is_numeric() {
                digits.push(letters[end]);
                last = end;
            }
            end += 1;
        }
        let own: String = letters[at..=last].iter().collect();
        if digits.chars().count() >= LONG_NUMBER && !is_a_day(&own) {
            // Two letters of a country may stand before it.
            let start =
                (0..at).rev().take_while(|place| letters[*place].is_alphabetic()).last().unwrap_or(at);
            let shown: String = letters[start..=last].iter().collect();
            found.insert(format!("number:{digits}"), text::line(&shown));
        }
        at = last + 1;
    }
}

/// `12.05.2026`, `2026-05-12`, `5/12/2026` and nothing else.
fn is_a_day(number: &str) -> bool {
    let parts: Option<Vec<u32>> = number.split(['.', '-', '/']).map(|part| part.parse().ok()).collect();
    let Some([one, two, three]) = parts.as_deref() else { return false };
    let (is_year, is_small) = (|n: &u32| (1900..=2100).contains(n), |n: &u32| (1..=31).contains(n));
    is_small(two) && ((is_year(one) && is_small(three)) || (is_year(three) && is_small(one)))
}

/// Words of many letters and digits: wallets, accounts with letters in them, vouchers; also in groups.
fn codes(text: &str, found: &mut BTreeMap<String, String>) {
    let is_mixed = |word: &str| word.chars().any(char::is_numeric) && word.chars().any(char::is_alphabetic);
    let mut group: Vec<&str> = Vec::new();
    // The last one ends the group before it.
    for word in
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).chain([""])
    {
        let letters = word.chars().count();
        if is_mixed(word) && letters >= LONG_CODE {
            found.insert(format!("code:{word}"), word.to_owned());
        }
        if (2..=6).contains(&letters) {
            group.push(word);
            continue;
        }
        let joined = group.concat();
        let mixed = group.iter().filter(|word| is_mixed(word)).count();
        if joined.chars().count() >= LONG_CODE && mixed >= 3 {
            found.insert(format!("code:{joined}"), group.join(" "));
        }
        group.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        found_in(text).into_keys().collect()
    }

    #[test]
    fn links_addresses_and_numbers_are_found_however_they_are_written() {
        for (text, key) in [
            ("See https://Evil.example/Pay?x=1 now", "link:evil.example/Pay?x=1"),
            ("See www.evil.example/ now", "link:evil.example"),
            ("go to evil.example please", "link:evil.example"),
            ("go to evil[.]example please", "link:evil.example"),
            ("go to evil dot example please", "link:evil.example"),
            ("hxxps://evil.example/a", "link:evil.example/a"),
            ("ev\u{200b}il.example/a", "link:evil.example/a"),
            ("ｅｖｉｌ．ｅｘａｍｐｌｅ/a", "link:evil.example/a"),
            ("write to Boss@Evil.example", "mail:boss@evil.example"),
            ("write to boss (at) evil.example", "link:evil.example"),
            ("pay to DE89 3704 0044 0532 0130 00 today", "number:89370400440532013000"),
            ("call +49 (0)30 / 12 34-56", "number:49030123456"),
            ("call 0800.555.0199", "number:08005550199"),
            ("GB33BUKB20201555555555 is it", "number:20201555555555"),
            ("go to @https://evil.example/login", "link:evil.example/login"),
            ("go to //evil.example/x", "link:evil.example/x"),
            ("go to https:/evil.example", "link:https:/evil.example"),
            ("go to 1https://evil.example", "link:evil.example"),
            ("go to https://evil.рф/pay", "link:evil.рф/pay"),
            ("write to boss@почта.рф", "mail:boss@почта.рф"),
            ("go to https://[2606:4700::1111]/x", "link:[2606:4700::1111]/x"),
            ("go to https://pay_.evil.example/x", "link:pay_.evil.example/x"),
            ("go to evil DOT example", "link:evil.example"),
            ("go to evil[DOT]example", "link:evil.example"),
            ("HXXPS://evil.example", "link:evil.example"),
            ("write to boss at evil dot example", "link:evil.example"),
            ("schreib an evil punkt com!", "link:evil.com"),
            ("ask @evilsupport there", "mail:@evilsupport"),
            ("write to boss [AT] evil [DOT] example", "mail:boss@evil.example"),
            ("DE89\u{2011}3704\u{2011}0044\u{2011}0532", "number:89370400440532"),
            ("DE89    3704\n0044, 0532: 0130 · 00", "number:89370400440532013000"),
            ("1\u{20e3}2\u{20e3}3\u{20e3}4\u{20e3}5\u{20e3}6\u{20e3}7\u{20e3}", "number:1234567"),
            ("1\u{332}2\u{332}3\u{332}4\u{332}5\u{332}6\u{332}7", "number:1234567"),
            ("bc1q ar0s rrr7 xfkv y5l6 43ly", "code:bc1qar0srrr7xfkvy5l643ly"),
            ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "code:bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"),
        ] {
            assert!(keys(text).contains(&key.to_owned()), "{text}: {:?}", keys(text));
        }
    }

    #[test]
    fn plain_words_are_not_marked() {
        for text in [
            "Dear Ada,\n\nthank you. We look into it by 12 May.",
            "It costs 19.90 for 3 pieces",
            "Room 12, 2 pm",
            "It is due on 12.05.2026, e.g. by 10:30. See z.B. page 3",
            "At this point we look at it. Zu diesem Punkt compliment",
        ] {
            assert_eq!(keys(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_name_in_another_alphabet_is_told_from_ours() {
        let shown: Vec<String> = found_in("see \u{430}cme.example/help").into_values().collect();
        assert!(shown.iter().any(|shown| shown.contains("\u{430}cme.example/help (xn--")), "{shown:?}");
    }

    #[test]
    fn the_same_link_written_otherwise_is_the_same() {
        assert_eq!(keys("https://www.Acme.example/help/"), keys("acme.example/help"));
        assert_ne!(keys("https://acme.example/help"), keys("https://acme.example/other"));
        let marks = vec![ForeignMark { key: "link:a".into(), shown: "a".into() }];
        assert_eq!(unconfirmed(marks.clone(), &["link:b".into()]), marks);
        assert_eq!(unconfirmed(marks, &["link:a".into()]), []);
    }
}
