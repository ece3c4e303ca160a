//! How pages write things: times in the person's zone, initials, sizes, icons. Templates call these as filters or as
//! methods of `Times`.

use askama::filters::Safe;
use chrono::{DateTime, Utc};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::conversations::views::counts::MOST;

/// When it is for whom. Every page with times has one.
#[derive(Clone)]
pub struct Times {
    pub now: DateTime<Utc>,
    pub zone: TimeZone,
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
        self.write("%A %-d %B %Y, %H:%M", at)
    }

    /// `10:40` of today, else `17 Nov, 10:40`, with the year when it is another.
    pub fn brief(&self, at: &DateTime<Utc>) -> String {
        let day = |at: &DateTime<Utc>| self.write("%F", at);
        let form = match () {
            () if day(at) == day(&self.now) => "%H:%M",
            () if self.write("%Y", at) == self.write("%Y", &self.now) => "%-d %b, %H:%M",
            () => "%-d %b %Y, %H:%M",
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

    /// `10:00`, the hour it is in.
    pub fn hour(&self, at: &DateTime<Utc>) -> String {
        self.write("%H:00", at)
    }

    /// `10:40:07` of today, else with its day.
    pub fn to_the_second(&self, at: &DateTime<Utc>) -> Safe<String> {
        let today = self.write("%F", at) == self.write("%F", &self.now);
        let shown = self.write(if today { "%H:%M:%S" } else { "%-d %b, %H:%M" }, at);
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
        match () {
            () if since.num_minutes() < 1 => "now".into(),
            () if since.num_minutes() < 60 => format!("{} m", since.num_minutes()),
            () if since.num_hours() < 24 => format!("{} h", since.num_hours()),
            () if since.num_days() < 6 => self.write("%a", at),
            () if self.write("%Y", at) == self.write("%Y", &self.now) => self.write("%-d %b", at),
            () => self.write("%-d %b %Y", at),
        }
    }

    fn write(&self, form: &str, at: &DateTime<Utc>) -> String {
        let at = Timestamp::from_millisecond(at.timestamp_millis()).unwrap_or(Timestamp::UNIX_EPOCH);
        at.to_zoned(self.zone.clone()).strftime(form).to_string()
    }
}

/// Filters that templates use by name. A page's file imports this module.
pub mod filters {
    use askama::Values;
    use askama::filters::Safe;

    use crate::web::assets;

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

    fn drawn(name: &str, class: &str) -> String {
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
        let times = Times { now, zone: TimeZone::get("Europe/Berlin").unwrap() };
        assert_eq!(times.whole(&now), "Monday 6 January 2031, 10:00");
        assert_eq!(times.brief(&"2030-12-31T23:30:00Z".parse().unwrap()), "1 Jan, 00:30");
        assert_eq!(times.short(&(now - chrono::TimeDelta::minutes(5))), "5 m");
    }
}
