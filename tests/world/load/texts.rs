//! Chance and words for loaded data: the same seed gives the same mail on every machine.
//!
//! Words follow Zipf's law, as they do in mail: a few stand in every conversation, most in very few. They
//! are made of syllables, so nothing needs to be downloaded and nothing means anything.

/// Different words in all mail.
pub const WORDS: usize = 50_000;
const FIRST_NAMES: usize = 2_000;
const LAST_NAMES: usize = 8_000;

/// A small generator (splitmix64). Loading draws hundreds of millions of numbers, and none is a secret.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1, without 1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.share() * most as f64) as usize
    }

    pub fn chance(&mut self, of: f64) -> bool {
        self.share() < of
    }

    /// A rank below `most`: the second is half as likely as the first, the third a third.
    pub fn zipf(&mut self, most: usize) -> usize {
        let rank = ((most + 1) as f64).powf(self.share()) as usize - 1;
        rank.min(most - 1)
    }

    /// Waiting times and lengths: many short, few long.
    pub fn around(&mut self, mean: f64) -> f64 {
        -(1.0 - self.share()).ln() * mean
    }
}

pub struct Vocabulary {
    words: Vec<String>,
    first_names: Vec<String>,
    last_names: Vec<String>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self::new()
    }
}

impl Vocabulary {
    pub fn new() -> Self {
        let name = |number: usize, ending: &str| {
            let mut name = word(number) + ending;
            name[..1].make_ascii_uppercase();
            name
        };
        Self {
            words: (0..WORDS).map(word).collect(),
            first_names: (0..FIRST_NAMES).map(|number| name(number, "lin")).collect(),
            last_names: (0..LAST_NAMES).map(|number| name(number, "dorf")).collect(),
        }
    }

    /// The word of a rank: 0 is the commonest.
    pub fn word(&self, rank: usize) -> &str {
        &self.words[rank]
    }

    pub fn any_word(&self, dice: &mut Dice) -> &str {
        &self.words[dice.zipf(WORDS)]
    }

    pub fn name(&self, dice: &mut Dice) -> String {
        let (first, last) = (dice.zipf(FIRST_NAMES), dice.zipf(LAST_NAMES));
        format!("{} {}", self.first_names[first], self.last_names[last])
    }

    /// Sentences with a greeting's worth of structure and nothing else.
    pub fn text(&self, dice: &mut Dice, words: usize) -> String {
        let mut text = String::with_capacity(words * 7);
        for place in 0..words {
            if place > 0 {
                text.push_str(if place % 60 == 0 {
                    ".\n\n"
                } else if place % 12 == 0 {
                    ". "
                } else {
                    " "
                });
            }
            text.push_str(self.any_word(dice));
        }
        text
    }
}

/// The same number gives the same word, another number another word.
fn word(number: usize) -> String {
    const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    const VOWELS: &[u8; 5] = b"aeiou";
    let mut word = String::new();
    let mut rest = number;
    loop {
        let syllable = rest % 100;
        word.push(CONSONANTS[syllable / 5] as char);
        word.push(VOWELS[syllable % 5] as char);
        rest /= 100;
        if rest == 0 {
            break;
        }
        rest -= 1;
    }
    word.push('n');
    word
}
