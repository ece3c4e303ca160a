//! Sorting by rules: phrases that customers write (`phrases`), weighed. It claims little: a topic is said only when its
//! phrases are enough by themselves and lead over every other topic's; else nothing is said.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::sort::phrases::{self, TOPICS};
use rookery_base::search_terms::fold;

/// Counts up with every change of the phrases or of how they are weighed.
pub const NAME: &str = "rules 1";

/// What a topic needs to be said at all, and its lead over the next.
pub const ENOUGH: f32 = 3.0;
const LEAD: f32 = 1.0;
/// What is enough when hardly anything speaks for another topic.
const ENOUGH_ALONE: f32 = 2.5;
const HARDLY: f32 = 1.0;
/// What one more phrase adds to the strongest, of its weight, and how much all of them together.
const MORE: f32 = 0.4;
const MOST_MORE: f32 = 3.0;
/// A phrase of the subject says more.
const IN_SUBJECT: f32 = 1.25;
/// Words of a mail that are looked at.
const MOST_WORDS: usize = 300;
/// Letters of a word by which rules with a wildcard are found.
const STEM: usize = 3;

/// What the rules say of a mail. Nothing is said where they are not sure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RulesVerdict {
    pub topic: Option<&'static str>,
    pub urgency: Option<&'static str>,
}

pub fn judge(subject: &str, text: &str) -> RulesVerdict {
    let table = &*TABLE;
    let subject = words(subject, MOST_WORDS);
    let text = words(own(text), MOST_WORDS);
    let mut best = HashMap::new();
    table.weigh(&subject, IN_SUBJECT, &mut best);
    table.weigh(&text, 1.0, &mut best);
    let mut scores = vec![Score::default(); TOPICS.len() + 2];
    for (rule, weight) in best {
        scores[table.rules[rule].group].add(weight);
    }
    let urgent = scores[TOPICS.len()].total();
    let waits = scores[TOPICS.len() + 1].total();
    let topic = leading(&scores[..TOPICS.len()]);
    let urgency = if urgent >= ENOUGH {
        Some("high")
    } else if urgent < 2.0 && (waits >= ENOUGH || topic == Some("other")) {
        Some("low")
    } else {
        None
    };
    RulesVerdict { topic, urgency }
}

/// The topic that leads, if one does. Some wishes outweigh what is said beside them: whoever wants money back speaks of
/// the order and the bill too, and whoever complains mostly wants something.
fn leading(scores: &[Score]) -> Option<&'static str> {
    let of = |topic: &str| TOPICS.iter().position(|(name, _)| *name == topic).map(|at| scores[at]);
    let settled = |topic: &str| of(topic).is_some_and(|score| score.strongest >= 4.0);
    let weighed = TOPICS.iter().zip(scores).map(|((name, _), score)| {
        let less = match *name {
            "billing" | "order" | "appointment" if settled("refund") => 0.6,
            "billing" if settled("account") || settled("order") => 0.8,
            "complaint" if TOPICS.iter().any(|(other, _)| *other != "complaint" && settled(other)) => 0.8,
            "documents" if settled("billing") => 0.8,
            _ => 1.0,
        };
        (*name, score.total() * less)
    });
    let mut weighed: Vec<(&'static str, f32)> = weighed.collect();
    weighed.sort_by(|one, other| other.1.total_cmp(&one.1));
    let [(first, score), (_, second), ..] = weighed[..] else { return None };
    let leads = score >= ENOUGH && score >= second + LEAD;
    let is_alone = score >= ENOUGH_ALONE && second <= HARDLY;
    (leads || is_alone).then_some(first)
}

/// The strongest phrase counts whole, the others add to it.
#[derive(Clone, Copy, Default)]
struct Score {
    strongest: f32,
    sum: f32,
}

impl Score {
    fn add(&mut self, weight: f32) {
        self.strongest = self.strongest.max(weight);
        self.sum += weight;
    }

    fn total(self) -> f32 {
        self.strongest + (MORE * (self.sum - self.strongest)).min(MOST_MORE)
    }
}

/// Without the signature.
fn own(text: &str) -> &str {
    text.find("\n-- \n").map_or(text, |end| &text[..end])
}

/// Folded words, as phrases are written.
pub fn words(text: &str, most: usize) -> Vec<String> {
    // Folding is per letter; this many hold more words than are looked at.
    let end = text.char_indices().map(|(at, _)| at).nth(most * 12).unwrap_or(text.len());
    let folded = fold(&text[..end]).replace('ß', "ss");
    let split = folded.split(|letter: char| !letter.is_alphanumeric());
    split.filter(|word| !word.is_empty()).take(most).map(str::to_owned).collect()
}

enum PatternPiece {
    Whole(String),
    Begins(String),
    Ends(String),
}

impl PatternPiece {
    fn is(&self, word: &str) -> bool {
        match self {
            Self::Whole(own) => own == word,
            Self::Begins(own) => word.starts_with(own.as_str()),
            Self::Ends(own) => word.ends_with(own.as_str()),
        }
    }
}

enum Word {
    OneOf(Vec<PatternPiece>),
    Any,
    /// Up to three of any.
    Some,
}

struct Rule {
    /// The number of its topic; after the topics what is urgent, then what can wait.
    group: usize,
    weight: f32,
    words: Vec<Word>,
}

#[derive(Default)]
struct Table {
    rules: Vec<Rule>,
    known: HashSet<(usize, String)>,
    whole: HashMap<String, Vec<usize>>,
    begins: HashMap<String, Vec<usize>>,
    ends: HashMap<String, Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::read);

impl Table {
    fn read() -> Self {
        let mut table = Self::default();
        let topics = TOPICS.iter().map(|(_, lines)| *lines);
        for (group, lines) in topics.chain([phrases::HIGH, phrases::LOW]).enumerate() {
            let lines = lines.lines().filter_map(|line| line.split_once(": "));
            let mut lines: Vec<(f32, &str)> =
                lines.map(|(weight, phrases)| (weight.parse().unwrap_or_default(), phrases)).collect();
            lines.sort_by(|one, other| other.0.total_cmp(&one.0));
            for (weight, phrases) in lines {
                phrases.split(", ").for_each(|phrase| table.add(group, weight, phrase));
            }
        }
        table
    }

    fn add(&mut self, group: usize, weight: f32, phrase: &str) {
        let phrase = fold(phrase).replace('ß', "ss").replace(['\'', '-'], " ");
        // Languages share words, which count once, with the greatest of their weights.
        if !self.known.insert((group, phrase.clone())) {
            return;
        }
        let words: Vec<Word> = phrase.split_whitespace().map(read_word).collect();
        let Some(Word::OneOf(first)) = words.first() else { return };
        let rule = self.rules.len();
        for piece in first {
            let (index, key) = match piece {
                PatternPiece::Whole(word) => (&mut self.whole, word.clone()),
                PatternPiece::Begins(word) => (&mut self.begins, word.chars().take(STEM).collect()),
                PatternPiece::Ends(word) => (&mut self.ends, last(word)),
            };
            index.entry(key).or_default().push(rule);
        }
        self.rules.push(Rule { group, weight, words });
    }

    /// Notes the weight of each rule that is met; of one that is met twice the greater.
    fn weigh(&self, words: &[String], factor: f32, best: &mut HashMap<usize, f32>) {
        for at in 0..words.len() {
            let word = &words[at];
            let start: String = word.chars().take(STEM).collect();
            let found = [self.whole.get(word), self.begins.get(&start), self.ends.get(&last(word))];
            for rule in found.into_iter().flatten().flatten() {
                let is_met = meets(&self.rules[*rule].words, &words[at..]);
                let weight = self.rules[*rule].weight * factor;
                if is_met && best.get(rule).is_none_or(|known| *known < weight) {
                    best.insert(*rule, weight);
                }
            }
        }
    }
}

fn last(word: &str) -> String {
    let letters = word.chars().count();
    word.chars().skip(letters.saturating_sub(STEM)).collect()
}

fn read_word(word: &str) -> Word {
    match word {
        "_" => Word::Any,
        "~" => Word::Some,
        word => Word::OneOf(word.split('/').map(read_piece).collect()),
    }
}

fn read_piece(piece: &str) -> PatternPiece {
    if let Some(stem) = piece.strip_suffix('*') {
        PatternPiece::Begins(stem.to_owned())
    } else if let Some(stem) = piece.strip_prefix('*') {
        PatternPiece::Ends(stem.to_owned())
    } else {
        PatternPiece::Whole(piece.to_owned())
    }
}

/// Whether the words begin with the phrase.
fn meets(phrase: &[Word], words: &[String]) -> bool {
    match phrase.split_first() {
        None => true,
        Some((Word::Some, rest)) => (0..=3.min(words.len())).any(|skipped| meets(rest, &words[skipped..])),
        Some((first, rest)) => {
            let Some((word, behind)) = words.split_first() else { return false };
            let is_met = match first {
                Word::OneOf(pieces) => pieces.iter().any(|piece| piece.is(word)),
                Word::Any | Word::Some => true,
            };
            is_met && meets(rest, behind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_can_be_found() {
        let table = &*TABLE;
        assert!(table.rules.len() > 1_000, "{}", table.rules.len());
        for rule in &table.rules {
            assert!(rule.weight >= 1.0 && rule.weight <= 4.0, "a line without a weight");
            assert!(matches!(rule.words.first(), Some(Word::OneOf(_))));
        }
    }

    #[test]
    fn a_clear_wish_has_its_topic_in_five_languages() {
        for (subject, text, topic) in [
            ("Order 4411", "Hi, where is my order? The tracking has not moved.", "order"),
            ("Rückgabe", "Ich möchte die Schuhe zurückschicken, bitte um Rückerstattung.", "refund"),
            ("Facture", "Bonjour, j'ai été prélevé deux fois ce mois-ci.", "billing"),
            ("Cita", "Buenos días, querría cambiar mi cita del martes a las 10.", "appointment"),
            ("Inloggen", "Ik kan niet inloggen, mijn wachtwoord werkt niet.", "account"),
            ("Angebot", "Was kostet die Wartung für zwei Geräte? Wir hätten gern ein Angebot.", "sales"),
        ] {
            assert_eq!(judge(subject, text).topic, Some(topic), "{subject}: {text}");
        }
    }

    #[test]
    fn what_is_unclear_stays_open() {
        for text in
            ["Hello, I have a question.", "Guten Tag, bitte rufen Sie mich an. Danke.", "", "ok", "👍"]
        {
            assert_eq!(judge("Question", text), RulesVerdict::default(), "{text}");
        }
    }

    #[test]
    fn a_loud_word_alone_is_not_urgent_and_a_reason_is() {
        assert_eq!(judge("URGENT!!!", "Please send me the price list.").urgency, None);
        assert_eq!(judge("Heizung", "Es riecht nach Gas in der Küche").urgency, Some("high"));
        assert_eq!(
            judge("Ticket", "My flight leaves tomorrow morning and I have no ticket.").urgency,
            Some("high")
        );
        assert_eq!(judge("Idea", "No rush, just out of interest: do you have a shop?").urgency, Some("low"));
    }

    #[test]
    fn gaps_and_alternatives_are_read() {
        let rule = |phrase: &str| phrase.split_whitespace().map(read_word).collect::<Vec<_>>();
        let words = |text: &str| words(text, 100);
        assert!(meets(&rule("cancel ~ booking"), &words("cancel my Tuesday booking")));
        assert!(meets(&rule("cancel ~ booking"), &words("cancel booking")));
        assert!(!meets(&rule("cancel ~ booking"), &words("cancel it for me please the booking")));
        assert!(meets(&rule("my/the _ order*"), &words("my last orders")));
        assert!(!meets(&rule("my _ order"), &words("my order")));
        assert!(meets(&rule("*rechnung"), &words("Schlussrechnung")));
    }

    #[test]
    fn a_hostile_text_costs_little() {
        let text = "cancel ".repeat(200_000);
        judge(&text, &text);
        judge("\u{202e}\u{0}", &"ß".repeat(100_000));
    }
}
