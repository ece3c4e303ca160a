//! How a booking type is run: its words, its address, its times, what it asks and who hosts it. `checked` gives it as it is
//! stored, and everything that is wrong with it at once.

use serde_json::{Value, json};
use url::{Host, Url};

use crate::bookings::questions::{LONGEST_LABEL, MOST_QUESTIONS, Question};
use rookery_base::error::{Error, Problem, Result};
use rookery_base::ids::{MailboxId, PersonId};
use rookery_base::links::{NO_LINKS, has_link};
use rookery_reading::text;

pub const MOST_HOSTS: usize = 20;
pub const MOST_ORIGINS: usize = 20;
pub const LONGEST_NAME: usize = 100;
const LONGEST_ABOUT: usize = 2_000;
const LONGEST_PLACE: usize = 500;
const LONGEST_SLUG: usize = 60;
/// Where no type's page can be: these mean something else there.
const RESERVED: &[&str] = &["manage", "new"];

/// How a type is run. Times are minutes, but for the horizon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub name: String,
    /// The end of its page's address; made from the name when empty.
    pub slug: String,
    pub about: String,
    pub place: String,
    /// Invitations come from it; the first of the team's when nobody chose one.
    pub mailbox: Option<MailboxId>,
    pub minutes: i16,
    /// From the start of one time to the next.
    pub step: i16,
    pub before: i16,
    pub after: i16,
    /// How long before a time it can be booked, at the latest.
    pub notice: i32,
    pub horizon_days: i16,
    /// Bookings a day of each host.
    pub daily_limit: Option<i16>,
    /// Before it begins.
    pub remind: Option<i32>,
    pub questions: Vec<Question>,
    /// Pages of these origins may show it in a frame.
    pub embed_origins: Vec<String>,
    pub hosts: Vec<PersonId>,
}

impl Settings {
    pub fn new(name: &str, slug: &str, minutes: i16, host: PersonId) -> Self {
        Self {
            name: name.to_owned(),
            slug: slug.to_owned(),
            about: String::new(),
            place: String::new(),
            mailbox: None,
            minutes,
            step: 15,
            before: 0,
            after: 0,
            notice: 240,
            horizon_days: 60,
            daily_limit: None,
            remind: Some(1440),
            questions: Vec::new(),
            embed_origins: Vec::new(),
            hosts: vec![host],
        }
    }

    /// As it is stored: one spelling of everything, and nothing that is empty, too long or too many.
    pub fn checked(mut self) -> Result<Self> {
        let mut problems = Vec::new();
        let mut wrong = |field: &str, what: &str| {
            problems.push(Problem { field: field.to_owned(), what: what.to_owned() });
        };
        self.name = text::line(&self.name);
        match self.name.chars().count() {
            0 => wrong("Name", "is required"),
            length if length > LONGEST_NAME => wrong("Name", "must be at most 100 characters"),
            // It stands in mail to visitors, and above a page that asks for their address.
            _ if has_link(&self.name) => wrong("Name", NO_LINKS),
            _ => {}
        }
        self.slug = match self.slug.trim() {
            "" => slug_from(&self.name),
            given => given.to_owned(),
        };
        if !is_slug(&self.slug) {
            wrong(
                "Address",
                "must be lower-case letters, digits and hyphens, at most 60, such as first-call",
            );
        } else if RESERVED.contains(&self.slug.as_str()) {
            wrong("Address", "is a word of our own, choose another");
        }
        self.about = text::lines(self.about.trim());
        if self.about.chars().count() > LONGEST_ABOUT {
            wrong("About", "must be at most 2,000 characters");
        }
        self.place = text::line(&self.place);
        if self.place.chars().count() > LONGEST_PLACE {
            wrong("Place", "must be at most 500 characters");
        }
        for (field, is_wrong, what) in [
            ("Length", !(5..=480).contains(&self.minutes), "must be 5 to 480 minutes"),
            ("Step", !(5..=240).contains(&self.step), "must be 5 to 240 minutes"),
            ("Free before", !(0..=240).contains(&self.before), "must be at most 240 minutes"),
            ("Free after", !(0..=240).contains(&self.after), "must be at most 240 minutes"),
            ("Notice", !(0..=43_200).contains(&self.notice), "must be at most 30 days"),
            ("Horizon", !(1..=365).contains(&self.horizon_days), "must be 1 to 365 days"),
            (
                "Limit",
                self.daily_limit.is_some_and(|limit| !(1..=100).contains(&limit)),
                "must be 1 to 100 a day, or empty",
            ),
            (
                "Reminder",
                self.remind.is_some_and(|remind| !(15..=10_080).contains(&remind)),
                "must be 15 minutes to 7 days before, or none",
            ),
        ] {
            if is_wrong {
                wrong(field, what);
            }
        }
        for question in &mut self.questions {
            question.label = text::line(&question.label);
        }
        self.questions.retain(|question| !question.label.is_empty());
        if self.questions.len() > MOST_QUESTIONS {
            wrong("Questions", "can be five at most");
        }
        if self.questions.iter().any(|question| question.label.chars().count() > LONGEST_LABEL) {
            wrong("Questions", "must be at most 200 characters each");
        }
        let mut origins = Vec::new();
        for given in self.embed_origins.iter().map(|given| given.trim()).filter(|given| !given.is_empty()) {
            match origin(given) {
                Some(origin) if origins.contains(&origin) => {}
                Some(origin) => origins.push(origin),
                None => wrong("Embedding", "takes origins such as https://www.example.com, one a line"),
            }
        }
        if origins.len() > MOST_ORIGINS {
            wrong("Embedding", "takes 20 origins at most");
        }
        self.embed_origins = origins;
        self.hosts.sort();
        self.hosts.dedup();
        if self.hosts.is_empty() {
            wrong("Hosts", "must be at least one, choose somebody");
        }
        if self.hosts.len() > MOST_HOSTS {
            wrong("Hosts", "can be 20 at most");
        }
        if problems.is_empty() { Ok(self) } else { Err(Error::Problems(problems)) }
    }

    /// For the audit log: what somebody would ask later.
    pub fn audit_data(&self) -> Value {
        json!({ "slug": self.slug, "minutes": self.minutes, "hosts": self.hosts, "embedOrigins": self.embed_origins })
    }
}

fn is_slug(text: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_SLUG).contains(&text.len())
        && text.bytes().all(sound)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// `First call!` is `first-call`. Nothing when no letter or digit of ASCII is in it.
fn slug_from(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    slug.chars().take(LONGEST_SLUG).collect::<String>().trim_end_matches('-').to_owned()
}

/// An origin and nothing more, by https, as browsers write it; a header is made of it.
fn origin(text: &str) -> Option<String> {
    let url: Url = text.parse().ok()?;
    let plain = url.scheme() == "https"
        && matches!(url.host(), Some(Host::Domain(_)))
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let origin = url.origin().ascii_serialization();
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b".-:/".contains(&byte);
    (plain && origin.len() <= 300 && origin.bytes().all(sound)).then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(change: impl FnOnce(&mut Settings)) -> Result<Settings, String> {
        let mut settings = Settings::new("First call", "", 30, PersonId(7));
        change(&mut settings);
        settings.checked().map_err(|error| error.sentence())
    }

    #[test]
    fn the_address_is_made_from_the_name_when_nobody_chose_one() {
        assert_eq!(checked(|_| {}).unwrap().slug, "first-call");
        assert_eq!(checked(|own| own.name = "  Ärzte & Co: 30′ ".into()).unwrap().slug, "rzte-co-30");
        let long = checked(|own| own.name = "a ".repeat(50)).unwrap();
        assert!(is_slug(&long.slug), "{}", long.slug);
        for wrong in ["First", "a_b", "-a", "a-", "ä", "a/b", "manage", &"a".repeat(61)] {
            assert!(checked(|own| own.slug = wrong.to_owned()).is_err(), "{wrong}");
        }
        assert!(checked(|own| own.name = "打ち合わせ".into()).unwrap_err().contains("Address"));
    }

    #[test]
    fn only_an_origin_may_embed_a_page() {
        let listed = |text: &str| {
            checked(|own| own.embed_origins = vec![text.to_owned()]).map(|own| own.embed_origins)
        };
        assert_eq!(listed("https://WWW.example.com/").unwrap(), ["https://www.example.com"]);
        assert_eq!(listed("https://example.com:8443").unwrap(), ["https://example.com:8443"]);
        assert_eq!(listed(" ").unwrap(), [""; 0]);
        for wrong in [
            "*",
            "https://*.example.com",
            "http://example.com",
            "https://example.com/page",
            "https://example.com?x",
            "https://a@example.com",
            "https://example.com; script-src *",
            "'self'",
            "https://10.0.0.1",
            "data:text/html,x",
        ] {
            assert!(listed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn everything_is_bounded_and_told_at_once() {
        let question = |label: &str| Question { label: label.to_owned(), required: true };
        let told = checked(|own| {
            own.minutes = 4;
            own.step = 0;
            own.horizon_days = 366;
            own.daily_limit = Some(0);
            own.remind = Some(1);
            own.questions = vec![question("Why?"); 6];
            own.hosts.clear();
        })
        .unwrap_err();
        for field in ["Length", "Step", "Horizon", "Limit", "Reminder", "Questions", "Hosts"] {
            assert!(told.contains(&format!("{field}: ")), "{field} in {told}");
        }
        let kept = checked(|own| own.questions = vec![question(" Why?\n"), question("  ")]).unwrap();
        assert_eq!(kept.questions, [question("Why?")]);
    }
}
