//! Whether a rule matches a mail. Words are looked for without regard to letter case, as they stand, in a bounded part of
//! the mail; there are no patterns, so nobody can write one that takes long.

use crate::rules::definition::{Condition, ConditionKind, Definition, Level, Trigger};
use rookery_base::ids::MailboxId;
use rookery_reading::text;

/// Characters of a mail's own words that rules look at.
pub const LOOKED_AT: usize = 8_000;

/// What rules know of a mail, made once for all of them.
#[derive(Debug)]
pub struct Facts {
    sender: Option<String>,
    subject: String,
    words: String,
    inbox: MailboxId,
    risk: Option<Level>,
    has_files: bool,
}

/// A mail as it was stored.
pub struct Seen<'a> {
    pub sender: Option<&'a str>,
    pub subject: &'a str,
    pub text: &'a str,
    pub inbox: MailboxId,
    pub risk: Option<Level>,
    pub has_files: bool,
}

/// What happened, to rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOccasion {
    MailArrived,
    /// These tags were put on.
    Tags(Vec<String>),
}

impl Facts {
    pub fn from_mail(seen: Seen<'_>) -> Self {
        let Seen { sender, subject, text, inbox, risk, has_files } = seen;
        let end = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(at, _)| at);
        let subject = text::line(subject).to_lowercase();
        // In one line, so that words which a mail program broke apart are found all the same.
        let words = format!("{subject}\n{}", text::line(&text[..end]).to_lowercase());
        Self { sender: sender.map(str::to_lowercase), subject, words, inbox, risk, has_files }
    }
}

impl Trigger {
    pub fn hears(&self, heard: &RuleOccasion) -> bool {
        match (self, heard) {
            (Self::MailArrives, RuleOccasion::MailArrived) => true,
            (Self::TagSet { tag }, RuleOccasion::Tags(set)) => {
                let folded = |name: &str| text::line(name).to_lowercase();
                set.iter().any(|one| folded(one) == folded(tag))
            }
            _ => false,
        }
    }
}

impl Definition {
    pub fn matches(&self, facts: &Facts) -> bool {
        self.conditions.iter().all(|condition| condition.holds(facts))
    }
}

impl Condition {
    pub fn holds(&self, facts: &Facts) -> bool {
        self.test.is_true_of(facts) == self.is
    }
}

impl ConditionKind {
    fn is_true_of(&self, facts: &Facts) -> bool {
        let stands_in = |text: &str, words: &[String]| {
            words.iter().any(|word| !word.is_empty() && text.contains(&word.to_lowercase()))
        };
        match self {
            Self::Sender { like } => facts.sender.as_deref().is_some_and(|sender| is_like(sender, like)),
            Self::Subject { words } => stands_in(&facts.subject, words),
            Self::Words { words } => stands_in(&facts.words, words),
            Self::Inbox { inbox } => facts.inbox == *inbox,
            Self::Risk { at_least } => facts.risk.is_some_and(|risk| risk >= *at_least),
            Self::Attachment => facts.has_files,
        }
    }
}

/// An address is that address; a domain is everybody there and below it.
fn is_like(sender: &str, like: &str) -> bool {
    if like.contains('@') {
        return sender == like;
    }
    let Some((_, domain)) = sender.rsplit_once('@') else { return false };
    domain == like || domain.strip_suffix(like).is_some_and(|above| above.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(sender: Option<&str>, subject: &str, text: &str) -> Facts {
        let risk = Some(Level::Some);
        Facts::from_mail(Seen { sender, subject, text, inbox: MailboxId(1), risk, has_files: true })
    }

    fn is(test: ConditionKind) -> Condition {
        Condition { is: true, test }
    }

    fn sender(like: &str) -> Condition {
        is(ConditionKind::Sender { like: like.into() })
    }

    #[test]
    fn a_sender_is_an_address_or_a_domain_and_what_is_below_it() {
        let anna = facts(Some("Anna@Mail.Customer.example"), "", "");
        for like in ["anna@mail.customer.example", "mail.customer.example", "customer.example"] {
            assert!(sender(like).holds(&anna), "{like}");
        }
        for like in
            ["bob@mail.customer.example", "stomer.example", "mail.customer.example.evil.example", "anna"]
        {
            assert!(!sender(like).holds(&anna), "{like}");
        }
        let trick = facts(Some("\"a@customer.example\"@evil.example"), "", "");
        assert!(!sender("customer.example").holds(&trick));
        let nobody = facts(None, "", "");
        assert!(!sender("customer.example").holds(&nobody));
        assert!(Condition { is: false, ..sender("customer.example") }.holds(&nobody));
    }

    #[test]
    fn words_are_found_in_any_case_as_they_stand_and_only_so_far() {
        let words = |given: &[&str]| {
            is(ConditionKind::Words { words: given.iter().map(|word| (*word).into()).collect() })
        };
        let subject = |given: &str| is(ConditionKind::Subject { words: vec![given.into()] });
        let mail = facts(None, "Your RECHNUNG", "Grüße, here is\n the invoice.*");
        assert!(words(&["facture", "rechnung"]).holds(&mail));
        assert!(words(&["is the INVOICE"]).holds(&mail), "a broken line is a space");
        assert!(words(&["GRÜSSE", "grüße"]).holds(&mail));
        assert!(words(&["invoice.*"]).holds(&mail) && !words(&["inv.*e"]).holds(&mail), "no patterns");
        assert!(subject("rechnung").holds(&mail) && !subject("invoice").holds(&mail));
        assert!(!words(&[""]).holds(&mail));
        let long = facts(None, "", &format!("{} needle", "é".repeat(LOOKED_AT)));
        assert!(!words(&["needle"]).holds(&long));
    }

    #[test]
    fn all_conditions_must_hold_and_risk_has_an_order() {
        let risk = |at_least| is(ConditionKind::Risk { at_least });
        let mail = facts(None, "Hi", "");
        assert!(risk(Level::Some).holds(&mail) && !risk(Level::Held).holds(&mail));
        let rule = |conditions| Definition { when: Trigger::MailArrives, conditions, then: vec![] };
        let inbox = |n| is(ConditionKind::Inbox { inbox: MailboxId(n) });
        assert!(rule(vec![]).matches(&mail));
        assert!(rule(vec![inbox(1), is(ConditionKind::Attachment)]).matches(&mail));
        assert!(!rule(vec![inbox(1), inbox(2)]).matches(&mail));
    }

    #[test]
    fn a_tag_is_heard_however_it_is_spelled() {
        let when = Trigger::TagSet { tag: "VIP client".into() };
        assert!(when.hears(&RuleOccasion::Tags(vec!["x".into(), "vip  Client".into()])));
        assert!(
            !when.hears(&RuleOccasion::Tags(vec!["vip".into()])) && !when.hears(&RuleOccasion::MailArrived)
        );
        assert!(Trigger::MailArrives.hears(&RuleOccasion::MailArrived));
    }
}
