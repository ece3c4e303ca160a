//! Text without case and accents that still knows where each letter stood, so that what follows a label is given back as
//! it was written.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Case and accents do not matter: `Échéance` is `echeance`.
pub fn fold(text: &str) -> String {
    Folded::from_text(text).text
}

pub struct Folded {
    pub text: String,
    /// For each byte of the folded text, the byte of the original it came from; one more for the end.
    at: Vec<usize>,
}

impl Folded {
    pub fn from_text(original: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(original.len()), at: Vec::new() };
        for (at, letter) in original.char_indices() {
            // Letters with a stroke are no letter and an accent.
            let letter = match letter {
                'ł' | 'Ł' => 'l',
                'ø' | 'Ø' => 'o',
                other => other,
            };
            let plain = letter.nfkd().filter(|part| !is_combining_mark(*part)).flat_map(char::to_lowercase);
            for part in plain {
                folded.text.push(part);
                folded.at.resize(folded.text.len(), at);
            }
        }
        folded.at.push(original.len());
        folded
    }

    /// Where a phrase stands as words of its own: its end in the original, and its beginning in the folded text.
    pub fn find(&self, phrase: &str) -> Option<(usize, usize)> {
        let inside = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let mut from = 0;
        while let Some(start) = self.text[from..].find(phrase).map(|at| from + at) {
            let end = start + phrase.len();
            let before = inside(self.text[..start].chars().next_back());
            let after = phrase.ends_with(char::is_alphanumeric) && inside(self.text[end..].chars().next());
            if !before && !after {
                return Some((self.at.get(end).copied().unwrap_or_default(), start));
            }
            from = start + self.text[start..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }

    pub fn has(&self, phrase: &str) -> bool {
        self.find(phrase).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_label_is_as_it_was_written() {
        let text = "Numéro de FACTURE : FÄ-7";
        let (end, start) = Folded::from_text(text).find("numero de facture").unwrap();
        assert_eq!((&text[end..], start), (" : FÄ-7", 0));
        assert!(!Folded::from_text("Rechnungsdatum").has("datum"));
        assert!(Folded::from_text("Lieferdatum, Datum").has("datum"));
    }

    #[test]
    fn no_text_breaks_it() {
        for text in ["", "é", "\u{301}", "ﬁ", "İ", "ß", "日本"] {
            let folded = Folded::from_text(text);
            assert!(!folded.has("datum"));
        }
    }
}
