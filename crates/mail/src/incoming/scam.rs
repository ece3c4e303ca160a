//! Scores how likely a mail is a scam. Signals are fixed, so that the same mail always gets the same result, in
//! the sandbox too. It is labelled from three points on and held from five. Reasons are our own sentences and
//! never quote the mail. Specification 2.3, 6.2 and 8.3.

mod attachments;
mod domains;
mod links;
mod wording;

use self::wording::Wording;
use rookery_reading::mail::parse::{Address, ParsedMail};

const LABEL_POINTS: u32 = 3;
const HOLD_POINTS: u32 = 5;
const MAX_REASONS: usize = 3;

/// What the mail itself does not tell.
pub struct Context<'a> {
    /// What the sender wrote, without quoted history.
    pub text: &'a str,
    pub dmarc_failed: bool,
    /// DMARC failed, the domain publishes `p=reject`, and the operator's setting is to hold such mail.
    pub unwanted: bool,
    pub our_domains: &'a [String],
    pub team_names: &'a [String],
    pub workspace_name: &'a str,
    /// It joins a conversation in which the sender did not take part.
    pub new_sender_in_thread: bool,
    /// It reuses a known Message-ID with other content.
    pub repeated_id: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub risk: Option<Risk>,
    /// At most three, the strongest first; empty when there is no risk.
    pub reasons: Vec<&'static str>,
    pub held: bool,
}

rookery_base::text_enum! {
    /// Ordered by the cost of a mistake, which decides ties.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Risk {
        Malware = "malware",
        PaymentFraud = "payment-fraud",
        Phishing = "phishing",
        Impersonation = "impersonation",
        Spam = "spam",
    }
}

struct Signal {
    points: u32,
    risk: Risk,
    reason: &'static str,
    holds: fn(&Look) -> bool,
}

const fn signal(points: u32, risk: Risk, holds: fn(&Look) -> bool, reason: &'static str) -> Signal {
    Signal { points, risk, reason, holds }
}

#[rustfmt::skip]
const SIGNALS: &[Signal] = &[
    signal(5, Risk::Malware, |l| attachments::has_hidden_program(l.mail),
        "An attached file is a program that pretends to be a document."),
    signal(4, Risk::Malware, |l| attachments::has_program(l.mail),
        "An attached file can run a program when it is opened."),
    signal(3, Risk::Malware, |l| attachments::has_macro_or_page(l.mail),
        "An attached file is a web page or can hold macros."),
    signal(4, Risk::Impersonation, is_look_alike,
        "The sender's domain looks like one of yours but is not."),
    signal(2, Risk::Impersonation, has_our_name,
        "The sender's domain has the name of one of yours under another ending."),
    signal(3, Risk::Phishing, has_mixed_script_domain,
        "The sender's domain mixes alphabets to look like another name."),
    signal(1, Risk::Phishing, has_punycode_domain,
        "The sender's domain is written with unusual characters."),
    signal(3, Risk::Impersonation, |l| l.context.dmarc_failed,
        "The sender's domain does not confirm that this mail is from it (DMARC failed)."),
    signal(5, Risk::Impersonation, |l| l.context.unwanted,
        "The sender's domain asks to refuse mail that it does not confirm (DMARC p=reject)."),
    signal(3, Risk::Impersonation, borrows_a_name,
        "The sender uses the name of your team or workspace but writes from a foreign address."),
    signal(3, Risk::Impersonation, |l| !l.mail.single_from,
        "The mail does not name exactly one sender."),
    signal(3, Risk::Impersonation, |l| l.context.repeated_id,
        "The mail reuses the identity of an earlier mail with other content."),
    signal(1, Risk::Impersonation, |l| l.context.new_sender_in_thread,
        "The sender was not part of this conversation before."),
    signal(2, Risk::Phishing, has_foreign_reply_to,
        "Answers would go to another domain than the sender's."),
    signal(3, Risk::PaymentFraud, |l| l.words.changes_payment(),
        "The mail asks to pay to a new or changed bank account."),
    signal(3, Risk::PaymentFraud, |l| l.words.wants_gift_cards(),
        "The mail asks for gift cards or their codes."),
    signal(2, Risk::Phishing, |l| l.words.wants_credentials(),
        "The mail asks the reader to confirm an account or a password."),
    signal(1, Risk::Phishing, |l| l.words.wants_credentials() && has_link(l),
        "The mail wants a password and leads to a page to enter it."),
    signal(1, Risk::Phishing, |l| l.words.presses(),
        "The mail puts the reader under time pressure."),
    signal(3, Risk::Spam, |l| l.words.promises_fortune(),
        "The mail promises money from a stranger or threatens to publish something."),
    signal(1, Risk::Phishing, |l| links::pretend_to_be_ours(l.mail, l.context.our_domains),
        "A link shows your own address but leads somewhere else."),
    signal(2, Risk::Phishing, |l| links::hide_their_target(l.mail),
        "A link shows one address but leads to another."),
];

/// The mail with values that several signals need, computed once.
struct Look<'a> {
    mail: &'a ParsedMail,
    context: &'a Context<'a>,
    words: Wording,
    sender_domain: String,
}

pub fn assess(mail: &ParsedMail, context: &Context) -> Assessment {
    let look = Look {
        mail,
        context,
        words: Wording::find_in(&wording::words(mail, context.text)),
        sender_domain: mail.from.as_ref().map_or("", Address::domain).to_owned(),
    };
    let mut found: Vec<&Signal> = SIGNALS.iter().filter(|s| (s.holds)(&look)).collect();
    // Stable: equal points stay in the order of the table.
    found.sort_by_key(|signal| std::cmp::Reverse(signal.points));
    let points: u32 = found.iter().map(|signal| signal.points).sum();
    if points < LABEL_POINTS {
        return Assessment { risk: None, reasons: Vec::new(), held: false };
    }
    Assessment {
        risk: heaviest(&found),
        reasons: found.iter().take(MAX_REASONS).map(|s| s.reason).collect(),
        held: points >= HOLD_POINTS,
    }
}

fn heaviest(found: &[&Signal]) -> Option<Risk> {
    let weight = |risk: Risk| -> u32 {
        let of_risk = found.iter().filter(|signal| signal.risk == risk);
        of_risk.map(|signal| signal.points).sum()
    };
    // `max_by_key` returns the last of equals, so the order is reversed.
    Risk::ALL.into_iter().rev().max_by_key(|risk| weight(*risk))
}

fn is_foreign(look: &Look) -> bool {
    !domains::is_one_of(&look.sender_domain, look.context.our_domains)
}

fn is_look_alike(look: &Look) -> bool {
    domains::looks_like_one_of(&look.sender_domain, look.context.our_domains)
}

fn has_our_name(look: &Look) -> bool {
    is_foreign(look)
        && !is_look_alike(look)
        && domains::has_the_name_of_one_of(&look.sender_domain, look.context.our_domains)
}

fn has_mixed_script_domain(look: &Look) -> bool {
    domains::mixes_scripts(&look.sender_domain)
}

fn has_punycode_domain(look: &Look) -> bool {
    domains::is_punycode(&look.sender_domain)
}

fn borrows_a_name(look: &Look) -> bool {
    let Some(name) = look.mail.from.as_ref().and_then(|from| from.name.as_deref()) else {
        return false;
    };
    if !is_foreign(look) {
        return false;
    }
    let shows_our_address = name
        .split_whitespace()
        .filter_map(|word| word.trim_matches(['<', '>', '"', '(', ')']).split_once('@'))
        .any(|(_, domain)| domains::is_one_of(&domain.to_lowercase(), look.context.our_domains));
    let name = plain_name(name);
    shows_our_address
        || look
            .context
            .team_names
            .iter()
            .map(|member| plain_name(member))
            // A first name alone is shared by many customers.
            .any(|member| member.contains(' ') && member == name)
        || speaks_for(&name, &plain_name(look.context.workspace_name))
}

/// "Acme", or "Acme Support" and the like.
fn speaks_for(name: &str, workspace: &str) -> bool {
    const ROLES: &[&str] = &[
        "support",
        "team",
        "billing",
        "security",
        "help",
        "helpdesk",
        "service",
        "admin",
        "accounts",
        "accounting",
        "payroll",
        "it",
        "hr",
        "info",
        "notifications",
        "kundenservice",
        "buchhaltung",
    ];
    if workspace.chars().count() < 3 {
        return false;
    }
    match name.strip_prefix(workspace) {
        Some("") => true,
        Some(rest) => rest.starts_with(' ') && rest.split_whitespace().all(|word| ROLES.contains(&word)),
        None => false,
    }
}

/// Letters and digits in lower case without accents, one space between words.
fn plain_name(name: &str) -> String {
    let plain: String =
        domains::skeleton_letters(name).chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn has_foreign_reply_to(look: &Look) -> bool {
    look.mail.reply_to.as_ref().is_some_and(|reply_to| {
        !look.sender_domain.is_empty()
            && !domains::belong_together(reply_to.domain(), &look.sender_domain)
            && !domains::is_one_of(reply_to.domain(), look.context.our_domains)
    })
}

fn has_link(look: &Look) -> bool {
    !look.mail.links.is_empty() || look.words.shows_link()
}

#[cfg(test)]
mod tests;
