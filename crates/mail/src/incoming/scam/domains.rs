//! Compares domain names the way an eye does: which are ours, which belong together, and
//! which only look like ours. Pure and without network. Specification 6.2.

use idna::punycode;
use strsim::osa_distance;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{MixedScript, RestrictionLevel, RestrictionLevelDetection, skeleton as confusables};

use rookery_core::workspace::domains::organization;

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

/// The same owner, by the list of public suffixes.
pub(super) fn belong_together(a: &str, b: &str) -> bool {
    registered(a) == registered(b)
}

/// What its owner registered, as people read it.
fn registered(domain: &str) -> String {
    let domain = domain.to_lowercase();
    // A name that is not sound is judged as it stands.
    let registered = organization::from_address(&domain)
        .unwrap_or_else(|| psl::domain_str(&domain).unwrap_or(&domain).to_owned());
    in_unicode(&registered)
}

pub(super) fn looks_like_one_of(domain: &str, ours: &[String]) -> bool {
    !domain.is_empty()
        && !is_one_of(domain, ours)
        && !WELL_KNOWN.contains(&domain)
        && ours.iter().any(|our| looks_like(domain, &our.to_lowercase()))
}

fn looks_like(domain: &str, our: &str) -> bool {
    let (shown, ours) = (in_unicode(domain), registered(our));
    if is_same_or_below(&shown, &ours) {
        return false;
    }
    // "example.com.evil.test" and "example-com.test" carry the whole name in front.
    let our = in_unicode(our);
    let carries = shown.starts_with(&format!("{our}.")) || shown.contains(&format!(".{our}."));
    let hyphenated = our.replace('.', "-");
    let label_is_ours = shown.split('.').any(|label| label == hyphenated);
    if carries || (our.contains('.') && label_is_ours) {
        return true;
    }
    let (near, ours) = (skeleton(&registered(domain)), skeleton(&ours));
    let allowed = match name_of(&ours).chars().count() {
        n if n >= LONG_NAME_CHARS => 2,
        n if n >= MIN_NAME_CHARS => 1,
        _ => 0,
    };
    osa_distance(&near, &ours) <= allowed
}

/// Our name under another ending: mostly a stranger, but now and then a company of the same house.
pub(super) fn has_the_name_of_one_of(domain: &str, ours: &[String]) -> bool {
    let near = registered(domain);
    !WELL_KNOWN.contains(&domain)
        && ours.iter().map(|our| registered(our)).any(|our| {
            let name = skeleton(name_of(&our));
            near != our && name.chars().count() >= MIN_NAME_CHARS && skeleton(name_of(&near)) == name
        })
}

fn name_of(registered: &str) -> &str {
    registered.split('.').next().unwrap_or_default()
}

pub(super) fn is_punycode(domain: &str) -> bool {
    domain.split('.').any(|label| label.starts_with("xn--"))
}

/// Alphabets that nobody writes together in one word, as browsers judge it.
pub(super) fn mixes_scripts(domain: &str) -> bool {
    in_unicode(domain).split('.').any(|label| {
        !label.is_single_script()
            && label.detect_restriction_level() > RestrictionLevel::ModeratelyRestrictive
    })
}

/// Lower case without accents, and letters of other alphabets as the Latin ones they look like.
pub(super) fn skeleton_letters(text: &str) -> String {
    let plain: String = text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase).collect();
    let letters: String = confusables(&plain)
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        // Unicode tells these from the Latin ones; a hurried eye does not.
        .map(|c| match c {
            'ꞓ' => 'e',
            'ĸ' => 'k',
            'ʍ' => 'm',
            'ᴛ' => 't',
            'ω' => 'w',
            'χ' => 'x',
            other => other,
        })
        .collect();
    // Unicode's skeleton of m, and what r and n run together to.
    letters.replace("rn", "m")
}

/// Also digits that stand for letters, and what looks like l.
fn skeleton(domain: &str) -> String {
    let letters: String = skeleton_letters(domain)
        .chars()
        .map(|c| match c {
            'i' => 'l',
            '3' => 'e',
            '5' => 's',
            '8' => 'b',
            other => other,
        })
        .collect();
    letters.replace("vv", "w")
}

fn in_unicode(domain: &str) -> String {
    // The longest label that DNS has; decoding takes longer than the label is long.
    const MAX_LABEL_BYTES: usize = 63;
    let decoded = |label: &str| {
        let encoded = label.strip_prefix("xn--").filter(|_| label.len() <= MAX_LABEL_BYTES)?;
        punycode::decode_to_string(encoded)
    };
    let labels: Vec<String> =
        domain.split('.').map(|label| decoded(label).unwrap_or_else(|| label.to_owned())).collect();
    labels.join(".")
}
