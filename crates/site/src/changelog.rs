//! The changelog as a feed (Atom, RFC 4287): one entry for each version, with its text. What is not released has no date
//! and is no entry, but for the first one while there is no other.

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use crate::markdown::{self, escaped, slug};
use crate::pages::lead;
use rookery_base::clock::written;

/// A version of the changelog: `## 0.2.0 (2026-11-16)`.
#[derive(Debug, PartialEq, Eq)]
pub struct Version<'t> {
    pub title: &'t str,
    pub day: Option<NaiveDate>,
    pub text: &'t str,
}

pub fn versions(changelog: &str) -> Vec<Version<'_>> {
    let sections = changelog.split("\n## ").skip(1).filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let (title, day) = match heading.split_once(" (") {
            Some((title, day)) => {
                (title, NaiveDate::parse_from_str(day.trim_end_matches(')'), "%Y-%m-%d").ok())
            }
            None => (heading, None),
        };
        let is_version = title == "Unreleased" || title.starts_with(|letter: char| letter.is_ascii_digit());
        is_version.then_some(Version { title: title.trim(), day, text: text.trim() })
    });
    sections.collect()
}

/// The feed of a service at this address. `started` dates what has no day.
pub fn feed(changelog: &str, public: &str, started: DateTime<Utc>) -> String {
    let versions = versions(changelog);
    let mut shown: Vec<&Version<'_>> = versions.iter().filter(|version| version.day.is_some()).collect();
    if shown.is_empty() {
        shown.extend(versions.first());
    }
    let at =
        |version: &Version<'_>| version.day.map_or(started, |day| day.and_time(NaiveTime::MIN).and_utc());
    let newest = shown.iter().map(|version| at(version)).max().unwrap_or(started);
    let mut feed = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{public}/docs/changelog</id>\n<title>Rookery: what changed</title>\n\
         <link rel=\"self\" href=\"{public}/docs/changelog.atom\"/>\n<link href=\"{public}/docs/changelog\"/>\n\
         <updated>{}</updated>\n<author><name>Rookery</name></author>\n",
        written(newest)
    );
    for version in shown {
        let anchor = slug(&match version.day {
            Some(day) => format!("{} ({day})", version.title),
            None => version.title.to_owned(),
        });
        let lead = |link: &str| match lead("", link) {
            path if path.starts_with('/') => format!("{public}{path}"),
            other => other,
        };
        let html = markdown::read(version.text, &lead).html;
        let _ = write!(
            feed,
            "<entry>\n<id>{public}/docs/changelog#{anchor}</id>\n<title>{}</title>\n\
             <link href=\"{public}/docs/changelog#{anchor}\"/>\n<updated>{}</updated>\n\
             <content type=\"html\">{}</content>\n</entry>\n",
            escaped(version.title),
            written(at(version)),
            escaped(&html)
        );
    }
    feed.push_str("</feed>\n");
    feed
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Changelog\n\n## Breaking changes of API v1\n\nNone.\n\n## Unreleased\n\n- New <b>.\n\n\
                        ## 0.2.0 (2026-11-20)\n\n- Second.\n\n## 0.1.0 (2026-11-16)\n\n- First, of [mail](docs/mail.md).\n";

    fn now() -> DateTime<Utc> {
        "2026-12-01T10:00:00Z".parse().unwrap()
    }

    #[test]
    fn versions_are_entries_and_what_is_not_released_is_none() {
        let titles: Vec<_> = versions(PAGE).iter().map(|version| version.title).collect();
        assert_eq!(titles, ["Unreleased", "0.2.0", "0.1.0"]);
        let feed = feed(PAGE, "https://desk.example", now());
        assert_eq!(feed.matches("<entry>").count(), 2);
        assert!(feed.contains("<updated>2026-11-20T00:00:00.000Z</updated>"), "{feed}");
        assert!(feed.contains("/docs/changelog#020-2026-11-20"), "{feed}");
        assert!(feed.contains("&lt;li&gt;Second.&lt;/li&gt;"), "{feed}");
        assert!(feed.contains("https://desk.example/docs/mail&quot;"), "{feed}");
    }

    #[test]
    fn before_the_first_release_the_feed_has_what_is_coming() {
        let feed = feed("# Changelog\n\n## Unreleased\n\n- New <b>.\n", "https://desk.example", now());
        assert_eq!(feed.matches("<entry>").count(), 1);
        assert!(feed.contains("&amp;lt;b&amp;gt;"), "what looks like HTML stays text: {feed}");
    }
}
