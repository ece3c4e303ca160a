//! Compares domain names the way an eye does: which are ours, which belong together, and
//! which only look like ours. Pure and without network. Specification 6.2.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Large mail providers whose names are near to each other by nature.
const WELL_KNOWN: &[&str] = &[
    "gmail.com",
    "googlemail.com",
    "mail.com",
    "ymail.com",
    "email.com",
    "hotmail.com",
    "aol.com",
    "gmx.de",
    "gmx.net",
    "gmx.com",
    "gmx.at",
    "gmx.ch",
    "web.de",
    "live.com",
    "me.com",
    "mac.com",
    "icloud.com",
    "outlook.com",
    "yahoo.com",
    "mail.ru",
    "qq.com",
    "163.com",
    "126.com",
    "proton.me",
];
/// Below this a name is too short to tell a look-alike from another short name.
const MIN_NAME_CHARS: usize = 5;
/// From this length on, two changed letters still look the same.
const LONG_NAME_CHARS: usize = 9;

pub(super) fn is_one_of(domain: &str, ours: &[String]) -> bool {
    ours.iter().any(|our| is_same_or_below(domain, &our.to_lowercase()))
}

fn is_same_or_below(domain: &str, parent: &str) -> bool {
    !parent.is_empty()
        && domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The same owner as far as one can see without the list of public suffixes: when in doubt
/// yes, because a wrong alarm costs trust.
pub(super) fn belong_together(a: &str, b: &str) -> bool {
    let last_two =
        |domain: &str| -> Vec<String> { domain.rsplit('.').take(2).map(str::to_lowercase).collect() };
    last_two(a) == last_two(b)
}

pub(super) fn looks_like_one_of(domain: &str, ours: &[String]) -> bool {
    if domain.is_empty() || is_one_of(domain, ours) || WELL_KNOWN.contains(&domain) {
        return false;
    }
    let shown = in_unicode(domain);
    ours.iter().map(|our| our.to_lowercase()).any(|our| looks_like(&shown, &our))
}

fn looks_like(shown: &str, our: &str) -> bool {
    // "example.com.evil.test" and "example-com.test" carry the whole name in front.
    let carries = shown.starts_with(&format!("{our}.")) || shown.contains(&format!(".{our}."));
    let hyphenated = our.replace('.', "-");
    let label_is_ours = shown.split('.').any(|label| label == hyphenated);
    if carries || (our.contains('.') && label_is_ours) {
        return true;
    }
    let labels = our.split('.').count();
    let mut end: Vec<&str> = shown.rsplit('.').take(labels).collect();
    end.reverse();
    let near = end.join(".");
    let (near, our) = (skeleton(&near), skeleton(our));
    let name_chars = our.split('.').next().unwrap_or("").chars().count();
    let allowed = match name_chars {
        n if n >= LONG_NAME_CHARS => 2,
        n if n >= MIN_NAME_CHARS => 1,
        _ => 0,
    };
    distance_within(&near, &our, allowed)
}

pub(super) fn is_punycode(domain: &str) -> bool {
    domain.split('.').any(|label| label.starts_with("xn--"))
}

pub(super) fn mixes_scripts(domain: &str) -> bool {
    in_unicode(domain).split('.').any(|label| {
        let latin = label.chars().any(|c| c.is_ascii_alphabetic());
        let other = label
            .chars()
            .any(|c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}'));
        latin && other
    })
}

/// Lower case without accents, and letters of other alphabets as the Latin ones they look like.
pub(super) fn skeleton_letters(text: &str) -> String {
    text.nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            'а' | 'ɑ' | 'α' => 'a',
            'с' | 'ϲ' => 'c',
            'ԁ' => 'd',
            'е' | 'ε' => 'e',
            'һ' => 'h',
            'і' | 'ı' | 'ι' => 'i',
            'ј' => 'j',
            'к' | 'κ' => 'k',
            'ӏ' => 'l',
            'м' => 'm',
            'о' | 'ο' | 'σ' => 'o',
            'р' | 'ρ' => 'p',
            'ѕ' => 's',
            'т' | 'τ' => 't',
            'υ' => 'u',
            'ѵ' | 'ν' => 'v',
            'ѡ' | 'ω' => 'w',
            'х' | 'χ' => 'x',
            'у' | 'γ' => 'y',
            other => other,
        })
        .collect()
}

/// Also digits that stand for letters, and pairs that run together.
fn skeleton(domain: &str) -> String {
    let letters: String = skeleton_letters(domain)
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' | '|' => 'l',
            '3' => 'e',
            '5' => 's',
            '8' => 'b',
            other => other,
        })
        .collect();
    letters.replace("rn", "m").replace("vv", "w")
}

/// Edit distance with swapped neighbours, only as far as two.
fn distance_within(a: &str, b: &str, allowed: usize) -> bool {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > allowed {
        return false;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()] <= allowed
}

fn in_unicode(domain: &str) -> String {
    let labels: Vec<String> = domain
        .split('.')
        .map(|label| label.strip_prefix("xn--").and_then(from_punycode).unwrap_or_else(|| label.to_owned()))
        .collect();
    labels.join(".")
}

/// RFC 3492, section 6.2.
fn from_punycode(encoded: &str) -> Option<String> {
    const MAX_LABEL_BYTES: usize = 63;
    if encoded.len() > MAX_LABEL_BYTES {
        return None;
    }
    let (basic, digits) = encoded.rsplit_once('-').unwrap_or(("", encoded));
    let mut chars: Vec<char> = basic.chars().collect();
    let (mut code, mut index, mut bias) = (128u32, 0u32, 72u32);
    let mut digits = digits.chars().peekable();
    while digits.peek().is_some() {
        let start = index;
        let (mut weight, mut k) = (1u32, 36u32);
        loop {
            let digit = match digits.next()? {
                c @ 'a'..='z' => c as u32 - 'a' as u32,
                c @ '0'..='9' => c as u32 - '0' as u32 + 26,
                _ => return None,
            };
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = k.saturating_sub(bias).clamp(1, 26);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            k += 36;
        }
        let count = chars.len() as u32 + 1;
        let mut delta = (index - start) / if start == 0 { 700 } else { 2 };
        delta += delta / count;
        bias = 0;
        while delta > 455 {
            delta /= 35;
            bias += 36;
        }
        bias += 36 * delta / (delta + 38);
        code = code.checked_add(index / count)?;
        index %= count;
        chars.insert(index as usize, char::from_u32(code)?);
        index += 1;
    }
    Some(chars.into_iter().collect())
}
