//! How pages write things: times in the person's zone, initials, sizes, icons. Templates call these as filters or as
//! methods of `Times`.

use askama::filters::Safe;
use chrono::{DateTime, NaiveDate, Utc};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use rookery_core::conversations::views::counts::MOST;
use rookery_core::workspace::preferences::{DateStyle, Dates};

/// The current time and the reader's zone. Every page that shows times has one.
#[derive(Clone)]
pub struct Times {
    pub now: DateTime<Utc>,
    pub zone: TimeZone,
    /// How this person reads them.
    pub dates: Dates,
}

impl Times {
    /// `2 m`, `3 h`, `Tue`, `4 Nov`, `4 Nov 2025`; the whole date when pointed at. Script keeps it fresh.
    pub fn ago(&self, at: &DateTime<Utc>) -> Safe<String> {
        let short = self.short(at);
        Safe(format!(
            r#"<time datetime="{}" title="{}" data-ago>{short}</time>"#,
            at.format("%Y-%m-%dT%H:%M:%SZ"),
            self.whole(at)
        ))
    }

    /// `Tuesday 17 November 2026, 10:40`
    pub fn whole(&self, at: &DateTime<Utc>) -> String {
        let day = match self.dates.style {
            DateStyle::DayMonth => "%A %-d %B %Y",
            DateStyle::MonthDay => "%A, %B %-d, %Y",
            DateStyle::Dots => "%A, %d.%m.%Y",
            DateStyle::Iso => "%A %F",
        };
        self.write(&format!("{day}, {}", self.minute()), at)
    }

    /// `17 Nov 2026`
    pub fn date(&self, at: &DateTime<Utc>) -> String {
        self.write(self.dated(), at)
    }

    /// The same of a day that has no hour and so no zone.
    pub fn day(&self, day: NaiveDate) -> String {
        self.write_civil(self.dated(), day)
    }

    /// `17 Nov`, where the year is understood.
    pub fn day_of_year(&self, day: NaiveDate) -> String {
        self.write_civil(self.short_dated(), day)
    }

    /// `Tue 17 Nov, 10:40`
    pub fn coming(&self, at: &DateTime<Utc>) -> String {
        self.write(&format!("%a {}, {}", self.short_dated(), self.minute()), at)
    }

    fn dated(&self) -> &'static str {
        match self.dates.style {
            DateStyle::DayMonth => "%-d %b %Y",
            DateStyle::MonthDay => "%b %-d, %Y",
            DateStyle::Dots => "%d.%m.%Y",
            DateStyle::Iso => "%F",
        }
    }

    /// Without the year. `11-17` would be read as anything, so an ISO date stays whole.
    fn short_dated(&self) -> &'static str {
        match self.dates.style {
            DateStyle::DayMonth => "%-d %b",
            DateStyle::MonthDay => "%b %-d",
            DateStyle::Dots => "%d.%m.",
            DateStyle::Iso => "%F",
        }
    }

    fn minute(&self) -> &'static str {
        if self.dates.twelve_hours { "%-I:%M %p" } else { "%H:%M" }
    }

    /// `10:40`, where its day is told already.
    pub fn time_of_day(&self, at: &DateTime<Utc>) -> String {
        self.write(self.minute(), at)
    }

    /// `10:40` of today, else `17 Nov, 10:40`, with the year when it is another.
    pub fn brief(&self, at: &DateTime<Utc>) -> String {
        let day = |at: &DateTime<Utc>| self.write("%F", at);
        let minute = self.minute();
        let form = if day(at) == day(&self.now) {
            minute.to_owned()
        } else if self.write("%Y", at) == self.write("%Y", &self.now) {
            format!("{}, {minute}", self.short_dated())
        } else {
            format!("{}, {minute}", self.dated())
        };
        self.write(&form, at)
    }

    /// `16:00` of today, else `3 Dec`, with the year when it is another.
    pub fn until(&self, at: &DateTime<Utc>) -> String {
        let form = if self.write("%F", at) == self.write("%F", &self.now) {
            self.minute()
        } else if self.write("%Y", at) == self.write("%Y", &self.now) {
            self.short_dated()
        } else {
            self.dated()
        };
        self.write(form, at)
    }

    /// The same as an element, with the whole date when pointed at.
    pub fn at(&self, at: &DateTime<Utc>) -> Safe<String> {
        let (brief, whole) = (self.brief(at), self.whole(at));
        Safe(format!(
            r#"<time datetime="{}" title="{whole}">{brief}</time>"#,
            at.format("%Y-%m-%dT%H:%M:%SZ")
        ))
    }

    /// `Tuesday, 17 Nov 2026`, the heading of a day.
    pub fn heading(&self, at: &DateTime<Utc>) -> String {
        let is_today = self.write("%F", at) == self.write("%F", &self.now);
        let weekday = if is_today { "Today".to_owned() } else { self.write("%A", at) };
        format!("{weekday}, {}", self.date(at))
    }

    /// `10:40:07`, where its day is told already.
    pub fn clock(&self, at: &DateTime<Utc>) -> Safe<String> {
        let (clock, whole) = (self.write("%H:%M:%S", at), self.whole(at));
        Safe(format!(
            r#"<time datetime="{}" title="{whole}">{clock}</time>"#,
            at.format("%Y-%m-%dT%H:%M:%SZ")
        ))
    }

    /// `10:00`, the hour it is in.
    pub fn hour(&self, at: &DateTime<Utc>) -> String {
        self.write(if self.dates.twelve_hours { "%-I %p" } else { "%H:00" }, at)
    }

    /// `10:40:07` of today, else with its day.
    pub fn to_the_second(&self, at: &DateTime<Utc>) -> Safe<String> {
        let today = self.write("%F", at) == self.write("%F", &self.now);
        let second = if self.dates.twelve_hours { "%-I:%M:%S %p" } else { "%H:%M:%S" };
        let form =
            if today { second.to_owned() } else { format!("{}, {}", self.short_dated(), self.minute()) };
        let shown = self.write(&form, at);
        Safe(format!(
            r#"<time datetime="{}" title="{}">{shown}</time>"#,
            at.format("%Y-%m-%dT%H:%M:%SZ"),
            self.whole(at)
        ))
    }

    /// `2026-11-17T10:40`, as a field for date and time has it.
    pub fn field(&self, at: &DateTime<Utc>) -> String {
        self.write("%Y-%m-%dT%H:%M", at)
    }

    fn short(&self, at: &DateTime<Utc>) -> String {
        let since = self.now - *at;
        if since.num_minutes() < 1 {
            "now".into()
        } else if since.num_minutes() < 60 {
            format!("{} m", since.num_minutes())
        } else if since.num_hours() < 24 {
            format!("{} h", since.num_hours())
        } else if since.num_days() < 6 {
            self.write("%a", at)
        } else if self.write("%Y", at) == self.write("%Y", &self.now) {
            self.write(self.short_dated(), at)
        } else {
            self.date(at)
        }
    }

    fn write(&self, form: &str, at: &DateTime<Utc>) -> String {
        let at = Timestamp::from_millisecond(at.timestamp_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
        at.to_zoned(self.zone.clone()).strftime(form).to_string()
    }

    fn write_civil(&self, form: &str, day: NaiveDate) -> String {
        day.format(form).to_string()
    }
}

/// Filters that templates use by name. A page's file imports this module.
pub mod filters {
    use askama::Values;
    use askama::filters::Safe;

    use crate::assets;

    /// `{{ "inbox"|icon }}`: an icon of the sprite.
    #[askama::filter_fn]
    pub fn icon(name: &str, _: &dyn Values) -> askama::Result<Safe<String>> {
        Ok(Safe(drawn(name, "icon")))
    }

    /// The same, smaller or larger: `xs`, `s`, `l`.
    #[askama::filter_fn]
    pub fn icon_of(name: &str, _: &dyn Values, size: &str) -> askama::Result<Safe<String>> {
        Ok(Safe(drawn(name, &format!("icon icon--{size}"))))
    }

    /// Where a file of the app is: `{{ "app.css"|asset }}`
    #[askama::filter_fn]
    pub fn asset(name: &str, _: &dyn Values) -> askama::Result<&'static str> {
        Ok(assets::path(name))
    }

    /// Words that stand in backticks, as code.
    #[askama::filter_fn]
    pub fn with_code(text: &str, _: &dyn Values) -> askama::Result<Safe<String>> {
        let mut html = String::with_capacity(text.len());
        for (number, part) in text.split('`').enumerate() {
            let tag = ["<code>", "</code>"][usize::from(number % 2 == 0)];
            html.push_str(if number == 0 { "" } else { tag });
            for letter in part.chars() {
                match letter {
                    '&' => html.push_str("&amp;"),
                    '<' => html.push_str("&lt;"),
                    '>' => html.push_str("&gt;"),
                    letter => html.push(letter),
                }
            }
        }
        let is_open = text.matches('`').count() % 2 == 1;
        html.push_str(if is_open { "</code>" } else { "" });
        Ok(Safe(html))
    }

    /// One or two letters for an avatar.
    #[askama::filter_fn]
    pub fn initials(name: &str, _: &dyn Values) -> askama::Result<String> {
        Ok(super::initials_of(name))
    }

    /// The colour of an avatar, 1 to 6, always the same for a name.
    #[askama::filter_fn]
    pub fn hue(name: &str, _: &dyn Values) -> askama::Result<u32> {
        Ok(1 + name.chars().map(|letter| letter as u32).fold(7, |sum, letter| (sum * 31 + letter) % 99_991)
            % 6)
    }

    /// `12 KB`, `3.4 MB`
    #[askama::filter_fn]
    pub fn bytes(size: &i64, _: &dyn Values) -> askama::Result<String> {
        Ok(super::bytes_of(*size))
    }

    /// `{{ n|many("file", "files") }}`: `1 file`, `2 files`
    #[askama::filter_fn]
    pub fn many(n: &i64, _: &dyn Values, one: &str, more: &str) -> askama::Result<String> {
        Ok(format!("{n} {}", if *n == 1 { one } else { more }))
    }

    /// `1,204`
    #[askama::filter_fn]
    pub fn grouped(n: &i64, _: &dyn Values) -> askama::Result<String> {
        Ok(super::grouped_of(*n))
    }

    /// A count that ends at 100: `99+`
    #[askama::filter_fn]
    pub fn capped(n: &i64, _: &dyn Values) -> askama::Result<String> {
        Ok(super::capped_of(*n))
    }

    /// An icon of the sprite as HTML, where no template is.
    pub fn drawn(name: &str, class: &str) -> String {
        debug_assert!(
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
        let sprite = assets::path("icons.svg");
        format!(r##"<svg class="{class}" aria-hidden="true"><use href="{sprite}#{name}"/></svg>"##)
    }
}

pub fn initials_of(name: &str) -> String {
    let words: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let ends = match words.as_slice() {
        [] => vec![],
        [one] => vec![*one],
        [first, .., last] => vec![*first, *last],
    };
    let letters = ends.iter().filter_map(|word| word.chars().next());
    letters.flat_map(char::to_uppercase).collect()
}

/// `1,204`
pub fn grouped_of(n: i64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that ends at [`MOST`].
pub fn capped_of(n: i64) -> String {
    if n >= MOST { format!("{}+", MOST - 1) } else { n.to_string() }
}

/// `payment-fraud` as people read it.
pub fn in_words(label: &str) -> String {
    let words = label.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

pub fn bytes_of(size: i64) -> String {
    match size {
        ..1_000 => format!("{size} B"),
        1_000..1_000_000 => format!("{} KB", size / 1_000),
        _ => format!("{:.1} MB", size as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_words() {
        assert_eq!(
            ["phishing", "payment-fraud", "", "été"].map(in_words),
            ["Phishing", "Payment fraud", "", "Été"]
        );
    }

    #[test]
    fn names_of_every_script_have_initials() {
        let told = ["Ada Okonkwo", "jean-baptiste de la Roche", "田中 美咲", "billing-bot", "  ", "<script>"];
        assert_eq!(told.map(initials_of), ["AO", "JR", "田美", "BB", "", "S"]);
    }

    #[test]
    fn counts_are_short() {
        let grouped = [0, 42, 999, 1_000, 12_345, 1_234_567].map(grouped_of);
        assert_eq!(grouped, ["0", "42", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([0, 99, 100].map(capped_of), ["0", "99", "99+"]);
    }

    #[test]
    fn times_are_told_in_the_persons_zone() {
        let now: DateTime<Utc> = "2031-01-06T09:00:00Z".parse().unwrap();
        let times = Times { now, zone: TimeZone::get("Europe/Berlin").unwrap(), dates: Dates::default() };
        assert_eq!(times.whole(&now), "Monday 6 January 2031, 10:00");
        assert_eq!(times.brief(&"2030-12-31T23:30:00Z".parse().unwrap()), "1 Jan, 00:30");
        assert_eq!(times.short(&(now - chrono::TimeDelta::minutes(5))), "5 m");
    }

    #[test]
    fn dates_are_written_as_their_reader_reads_them() {
        let now: DateTime<Utc> = "2031-01-06T15:00:00Z".parse().unwrap();
        let (this, last): (DateTime<Utc>, DateTime<Utc>) =
            ("2031-01-02T23:05:00Z".parse().unwrap(), "2030-11-16T00:07:00Z".parse().unwrap());
        let told = |style, twelve_hours| {
            let times = Times { now, zone: TimeZone::UTC, dates: Dates { style, twelve_hours } };
            [
                times.brief(&now),
                times.brief(&this),
                times.brief(&last),
                times.short(&last),
                times.whole(&last),
            ]
        };
        assert_eq!(
            told(DateStyle::DayMonth, false),
            [
                "15:00",
                "2 Jan, 23:05",
                "16 Nov 2030, 00:07",
                "16 Nov 2030",
                "Saturday 16 November 2030, 00:07"
            ]
        );
        assert_eq!(
            told(DateStyle::MonthDay, true),
            [
                "3:00 PM",
                "Jan 2, 11:05 PM",
                "Nov 16, 2030, 12:07 AM",
                "Nov 16, 2030",
                "Saturday, November 16, 2030, 12:07 AM"
            ]
        );
        assert_eq!(
            told(DateStyle::Dots, false),
            ["15:00", "02.01., 23:05", "16.11.2030, 00:07", "16.11.2030", "Saturday, 16.11.2030, 00:07"]
        );
        assert_eq!(
            told(DateStyle::Iso, false),
            ["15:00", "2031-01-02, 23:05", "2030-11-16, 00:07", "2030-11-16", "Saturday 2030-11-16, 00:07"]
        );
    }
}
