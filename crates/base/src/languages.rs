//! The seven languages that customers are written and shown pages in, written once: what they are called, how a table of
//! phrases has a column for each, and how a day is written. Names in braces are filled in; every language of a row has the
//! same ones.

use chrono::{Datelike, NaiveDate};
use schemars::JsonSchema;
use serde::Deserialize;

crate::text_enum! {
    // In the order of the columns.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, sqlx::Type)]
    #[serde(rename_all = "lowercase")]
    #[sqlx(type_name = "text", rename_all = "lowercase")]
    pub enum Language {
        #[default]
        En = "en",
        De = "de",
        Fr = "fr",
        Es = "es",
        It = "it",
        Nl = "nl",
        Pt = "pt",
    }
}

/// Something that is said in every language.
pub trait Phrase: Copy + std::fmt::Debug {
    fn in_all(self) -> [&'static str; Language::ALL.len()];
}

/// A table of phrases: its name, then a row for each thing that is said.
#[macro_export]
macro_rules! phrases {
    ($table:ident $($name:ident: $en:literal $de:literal $fr:literal $es:literal $it:literal $nl:literal $pt:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $table { $($name),* }

        impl $table {
            #[cfg(test)]
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl $crate::languages::Phrase for $table {
            fn in_all(self) -> [&'static str; $crate::languages::Language::ALL.len()] {
                match self { $(Self::$name => [$en, $de, $fr, $es, $it, $nl, $pt]),* }
            }
        }
    };
}

phrases! { DayPhrase
    Months:
        "January February March April May June July August September October November December"
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
        "januari februari maart april mei juni juli augustus september oktober november december"
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro";
    Days:
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"
        "lundi mardi mercredi jeudi vendredi samedi dimanche"
        "lunes martes miércoles jueves viernes sábado domingo"
        "lunedì martedì mercoledì giovedì venerdì sabato domenica"
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo";
    Date:
        "{weekday}, {day} {month}" "{weekday}, {day}. {month}" "{weekday} {day} {month}" "{weekday}, {day} de {month}"
        "{weekday} {day} {month}" "{weekday} {day} {month}" "{weekday}, {day} de {month}";
    DateWithYear:
        "{weekday}, {day} {month} {year}" "{weekday}, {day}. {month} {year}" "{weekday} {day} {month} {year}"
        "{weekday}, {day} de {month} de {year}" "{weekday} {day} {month} {year}" "{weekday} {day} {month} {year}"
        "{weekday}, {day} de {month} de {year}";
    DecimalPoint: "." "," "," "," "," "," ",";
}

impl Language {
    /// The language for an `Accept-Language` header: of those there is a column for, the first with the highest weight.
    pub fn accepted(line: &str) -> Self {
        let mut best: Option<(Self, f32)> = None;
        for part in line.split(',').take(20) {
            let (range, weight) = part.split_once(';').unwrap_or((part, ""));
            let weight = weight.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.parse().ok());
            let weight = weight.filter(|weight: &f32| weight.is_finite() && *weight > 0.0);
            let code = range.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
            if let (Some(language), Some(weight)) = (Self::named(&code), weight)
                && best.is_none_or(|(_, before)| weight > before)
            {
                best = Some((language, weight));
            }
        }
        best.map_or(Self::En, |(language, _)| language)
    }

    pub fn code(self) -> &'static str {
        self.as_str()
    }

    /// What its speakers call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::De => "Deutsch",
            Self::Fr => "Français",
            Self::Es => "Español",
            Self::It => "Italiano",
            Self::Nl => "Nederlands",
            Self::Pt => "Português",
        }
    }

    pub fn others(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |other| *other != self)
    }

    pub fn say(self, phrase: impl Phrase) -> &'static str {
        phrase.in_all()[self as usize]
    }

    /// The same with values for the names in braces. Braces inside a value are kept as they are.
    pub fn fill(self, phrase: impl Phrase, values: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let mut rest = self.say(phrase);
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(values.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value));
            rest = after;
        }
        text + rest
    }

    /// `Friday, 27 November`, with the year when it is another than today's.
    pub fn date(self, day: NaiveDate, today: NaiveDate) -> String {
        let is_near = day.year() == today.year();
        self.written(day, if is_near { DayPhrase::Date } else { DayPhrase::DateWithYear })
    }

    /// `Friday, 27 November 2026`, for what is read who knows when.
    pub fn whole_date(self, day: NaiveDate) -> String {
        self.written(day, DayPhrase::DateWithYear)
    }

    fn written(self, day: NaiveDate, form: DayPhrase) -> String {
        let nth = |phrase, n: u32| self.say(phrase).split(' ').nth(n as usize).unwrap_or_default();
        let values = [
            ("weekday", nth(DayPhrase::Days, day.weekday().num_days_from_monday())),
            ("day", &day.day().to_string()),
            ("month", nth(DayPhrase::Months, day.month0())),
            ("year", &day.year().to_string()),
        ];
        self.fill(form, &values)
    }

    /// `184 KB`, `1.2 MB`
    pub fn size(self, bytes: i64) -> String {
        match bytes {
            0..1_000 => format!("{bytes} B"),
            1_000..1_000_000 => format!("{} KB", bytes / 1_000),
            _ => {
                let tenths = bytes / 100_000;
                format!("{}{}{} MB", tenths / 10, self.say(DayPhrase::DecimalPoint), tenths % 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_is_answered_in_the_best_language_there_is() {
        for (line, code) in [
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("ja, pt-BR;q=0.7, fr;q=0.8", "fr"),
            ("NL", "nl"),
            ("", "en"),
            ("*", "en"),
            ("xx;q=1, it;q=0.1", "it"),
            ("es;q=0, it;q=0.2", "it"),
            ("es;q=NaN, it;q=inf, nl;q=0.5", "nl"),
        ] {
            assert_eq!(Language::accepted(line).code(), code, "{line}");
        }
    }

    #[test]
    fn dates_and_sizes_are_written_as_they_are_there() {
        let (day, today) =
            (NaiveDate::from_ymd_opt(2026, 11, 27).unwrap(), NaiveDate::from_ymd_opt(2026, 11, 15).unwrap());
        let all = ["en", "de", "fr", "es", "pt"].map(|code| Language::named(code).unwrap().date(day, today));
        let wanted = [
            "Friday, 27 November",
            "Freitag, 27. November",
            "vendredi 27 novembre",
            "viernes, 27 de noviembre",
            "sexta-feira, 27 de novembro",
        ];
        assert_eq!(all, wanted);
        assert_eq!(Language::De.size(1_234_567), "1,2 MB");
        assert_eq!(Language::En.size(184_000), "184 KB");
        let next = NaiveDate::from_ymd_opt(2027, 1, 4).unwrap();
        assert_eq!(Language::De.date(next, today), "Montag, 4. Januar 2027");
        assert_eq!(Language::De.whole_date(day), "Freitag, 27. November 2026");
        let values = [("weekday", "{x}"), ("day", "1"), ("month", "May")];
        assert_eq!(Language::De.fill(DayPhrase::Date, &values), "{x}, 1. May", "a value is not filled in");
    }

    #[test]
    fn every_language_has_all_months_and_days() {
        for text in DayPhrase::Months.in_all() {
            assert_eq!(text.split(' ').count(), 12, "{text}");
        }
        for text in DayPhrase::Days.in_all() {
            assert_eq!(text.split(' ').count(), 7, "{text}");
        }
        assert_eq!(DayPhrase::ALL.len(), 5);
    }
}
