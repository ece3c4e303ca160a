//! Sorting by what people corrected: hashed words and one logistic score a topic, learned anew from all corrections each
//! time, so what was erased is forgotten. It knows no language.
//!
//! How good a topic is it finds out on mail it has not seen: five parts, each judged by what the other four taught. A topic
//! is used from the score on at which nine of ten such claims were right.

use serde::{Deserialize, Serialize};

use crate::sort::rules::words;
use rookery_base::error::{Error, Result};

/// Places for words, the first of which is every mail's. A power of two.
const BUCKETS: usize = 1 << 14;
const ROUNDS: usize = 12;
const PACE: f32 = 0.5;
/// Errors that are too small to learn from.
const FINE: f32 = 0.02;
const PARTS: usize = 5;
/// Words of a mail that are looked at.
const MOST_WORDS: usize = 200;
/// Corrections of a topic before it is used, and claims that its precision is judged by.
pub const FEWEST: usize = 30;
const FEWEST_CLAIMS: usize = 10;
pub const PRECISION: f32 = 0.9;
const SURE: f32 = 0.9;
/// Steps of a stored weight in one.
const SCALE: f32 = 512.0;

/// A mail, and what a person said it is about.
#[derive(Clone, Debug)]
pub struct Example {
    pub features: Vec<u16>,
    pub topic: String,
}

impl Example {
    pub fn new(subject: &str, text: &str, topic: &str) -> Self {
        Self { features: features(subject, text), topic: topic.to_owned() }
    }
}

/// How well a topic is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub topic: String,
    /// How many corrections named it.
    pub labels: usize,
    /// Of mail it had not seen, from where on it is sure.
    pub claimed: usize,
    pub right: usize,
    /// It is used from this score on; never without one.
    pub sure_from: Option<f32>,
}

pub struct Learned {
    pub scores: Vec<Score>,
    weights: Vec<Vec<f32>>,
}

impl Learned {
    pub fn from(examples: &[Example]) -> Self {
        let mut topics: Vec<String> = examples.iter().map(|example| example.topic.clone()).collect();
        topics.sort();
        topics.dedup();
        let guesses = unseen(examples, &topics);
        let each = topics.iter().enumerate();
        let scores = each.map(|(place, topic)| score(place, topic, examples, &guesses)).collect();
        Self { scores, weights: train(examples, &topics) }
    }

    /// The topic of a mail, if one is known well enough.
    pub fn judge(&self, subject: &str, text: &str) -> Option<&str> {
        let (topic, sure) = best(&self.weights, &features(subject, text))?;
        let score = self.scores.get(topic)?;
        (sure >= score.sure_from?).then_some(score.topic.as_str())
    }

    /// The likeliest topic and how sure that is, whether it is used or not.
    pub fn guess(&self, subject: &str, text: &str) -> Option<(&str, f32)> {
        let (topic, sure) = best(&self.weights, &features(subject, text))?;
        Some((self.scores.get(topic)?.topic.as_str(), sure))
    }

    /// Topics that are used.
    pub fn used(&self) -> impl Iterator<Item = &Score> {
        self.scores.iter().filter(|score| score.sure_from.is_some())
    }

    /// The weights as they are kept: two bytes each, in the order of the scores.
    pub fn stored(&self) -> Vec<u8> {
        let all = self.weights.iter().flatten();
        let step = |weight: &f32| (weight * SCALE).clamp(f32::from(i16::MIN), f32::from(i16::MAX)) as i16;
        all.flat_map(|weight| step(weight).to_le_bytes()).collect()
    }

    pub fn read(scores: Vec<Score>, stored: &[u8]) -> Result<Self> {
        if stored.len() != scores.len() * BUCKETS * 2 {
            return Err(Error::internal("what was learned cannot be read"));
        }
        let number = |two: &[u8]| f32::from(i16::from_le_bytes([two[0], two[1]])) / SCALE;
        let weights = stored.chunks(BUCKETS * 2).map(|topic| topic.chunks(2).map(number).collect());
        Ok(Self { weights: weights.collect(), scores })
    }
}

/// A claim about a mail that was not learned from: which topic, how sure, and whether it was right.
struct Guess {
    topic: usize,
    sure: f32,
    right: bool,
}

fn unseen(examples: &[Example], topics: &[String]) -> Vec<Guess> {
    let mut guesses = Vec::with_capacity(examples.len());
    for part in 0..PARTS {
        let apart = |at: &usize| at % PARTS == part;
        let known: Vec<Example> =
            (0..examples.len()).filter(|at| !apart(at)).map(|at| examples[at].clone()).collect();
        if known.is_empty() {
            continue;
        }
        let weights = train(&known, topics);
        for example in (0..examples.len()).filter(apart).map(|at| &examples[at]) {
            if let Some((topic, sure)) = best(&weights, &example.features) {
                guesses.push(Guess { topic, sure, right: topics[topic] == example.topic });
            }
        }
    }
    guesses
}

/// The lowest score from which on enough claims were right.
fn score(place: usize, topic: &str, examples: &[Example], guesses: &[Guess]) -> Score {
    let labels = examples.iter().filter(|example| example.topic == topic).count();
    let mut own: Vec<&Guess> = guesses.iter().filter(|guess| guess.topic == place).collect();
    own.sort_by(|one, other| other.sure.total_cmp(&one.sure));
    let mut score = Score { topic: topic.to_owned(), labels, claimed: 0, right: 0, sure_from: None };
    let mut right = 0;
    for (at, guess) in own.iter().enumerate() {
        right += usize::from(guess.right);
        let claimed = at + 1;
        // As if half a claim more had been made and were wrong: ten right ones in a row are not certainty.
        let precision = right as f32 / (claimed as f32 + 0.5);
        if claimed >= FEWEST_CLAIMS && precision >= PRECISION && labels >= FEWEST {
            // Where every claim held, it is sure enough below what it has seen.
            let sure = if claimed == own.len() { guess.sure.min(SURE) } else { guess.sure };
            score = Score { claimed, right, sure_from: Some(sure), ..score };
        }
    }
    score
}

/// The topic with the highest score, and that score between 0 and 1.
fn best(weights: &[Vec<f32>], features: &[u16]) -> Option<(usize, f32)> {
    let scored = weights.iter().map(|topic| sigmoid(sum(topic, features)));
    scored.enumerate().max_by(|one, other| one.1.total_cmp(&other.1))
}

fn sum(weights: &[f32], features: &[u16]) -> f32 {
    let share = share(features);
    weights[0] + share * features.iter().map(|feature| weights[usize::from(*feature)]).sum::<f32>()
}

/// What each word counts, so that long mails do not shout.
fn share(features: &[u16]) -> f32 {
    1.0 / (features.len().max(1) as f32).sqrt()
}

fn sigmoid(sum: f32) -> f32 {
    1.0 / (1.0 + (-sum.clamp(-30.0, 30.0)).exp())
}

/// One round after another over the examples in an order of its own, the same each time; the pace of each weight slows
/// with what it has moved (AdaGrad).
fn train(examples: &[Example], topics: &[String]) -> Vec<Vec<f32>> {
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut chance: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut weights = vec![vec![0.0_f32; BUCKETS]; topics.len()];
    let mut moved = vec![vec![1e-6_f32; BUCKETS]; topics.len()];
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, (chance >> 33) as usize % (at + 1));
        }
        for example in order.iter().map(|at| &examples[*at]) {
            let share = share(&example.features);
            for (number, topic) in topics.iter().enumerate() {
                let (weights, moved) = (&mut weights[number], &mut moved[number]);
                let wanted = f32::from(u8::from(*topic == example.topic));
                let off = sigmoid(sum(weights, &example.features)) - wanted;
                if off.abs() < FINE {
                    continue;
                }
                let mut step = |place: usize, by: f32| {
                    moved[place] += by * by;
                    weights[place] -= PACE * by / moved[place].sqrt();
                };
                step(0, off);
                example.features.iter().for_each(|feature| step(usize::from(*feature), off * share));
            }
        }
    }
    weights
}

/// The words of a mail, the beginnings of long ones and all runs of four letters, as places: endings and compounds differ
/// between mails that mean the same. Those of the subject count by themselves too.
pub fn features(subject: &str, text: &str) -> Vec<u16> {
    let (subject, text) = (words(subject, MOST_WORDS), words(text, MOST_WORDS));
    let mut places = Vec::new();
    for words in [&subject, &text] {
        for word in words {
            places.push(place(&[word]));
            let start: String = word.chars().take(5).collect();
            if start.len() < word.len() {
                places.push(place(&["^", &start]));
            }
            let letters: Vec<char> = std::iter::once('<').chain(word.chars()).chain(['>']).collect();
            places.extend(letters.windows(4).map(|four| place(&["#", &String::from_iter(four)])));
        }
    }
    places.extend(subject.iter().map(|word| place(&["subject:", word])));
    places.sort_unstable();
    places.dedup();
    places
}

/// FNV-1a over the parts; never 0, which is every mail's.
fn place(parts: &[&str]) -> u16 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    ((hash ^ (hash >> 32)) % (BUCKETS as u64 - 1) + 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPOSIT: [&str; 4] = [
        "my deposit after moving out",
        "when is the deposit paid",
        "deposit of the flat",
        "return our deposit",
    ];
    const REPAIR: [&str; 4] =
        ["the tap drips again", "window does not close", "somebody should mend the door", "boiler is broken"];

    fn examples(each: usize) -> Vec<Example> {
        let mut examples = Vec::new();
        for n in 0..each {
            examples.push(Example::new("Question", &format!("{} {n}", DEPOSIT[n % 4]), "deposit"));
            examples.push(Example::new("Question", &format!("{} {n}", REPAIR[n % 4]), "repairs"));
        }
        examples
    }

    #[test]
    fn a_topic_is_used_when_it_was_right_on_what_it_had_not_seen() {
        let learned = Learned::from(&examples(40));
        assert_eq!(learned.used().count(), 2, "{:?}", learned.scores);
        assert_eq!(learned.judge("Question", "what about my deposit"), Some("deposit"));
        assert_eq!(learned.judge("Question", "the boiler is broken again"), Some("repairs"));
    }

    #[test]
    fn few_corrections_or_contrary_ones_are_not_enough() {
        let few = Learned::from(&examples(FEWEST - 1));
        assert_eq!(few.used().count(), 0);
        assert_eq!(few.judge("Question", "what about my deposit"), None);
        let contrary: Vec<Example> = (0..120)
            .map(|n| Example::new("Hi", "the same words", if n % 2 == 0 { "a" } else { "b" }))
            .collect();
        assert_eq!(Learned::from(&contrary).used().count(), 0, "a coin is right half of the time");
        assert_eq!(Learned::from(&[]).judge("", ""), None);
    }

    #[test]
    fn what_was_learned_reads_back_and_is_the_same_each_time() {
        let learned = Learned::from(&examples(40));
        assert_eq!(learned.stored(), Learned::from(&examples(40)).stored());
        let back = Learned::read(learned.scores.clone(), &learned.stored()).unwrap();
        for text in DEPOSIT.iter().chain(&REPAIR) {
            assert_eq!(back.judge("", text), learned.judge("", text), "{text}");
        }
        assert!(Learned::read(learned.scores.clone(), &[0; 7]).is_err());
    }
}
