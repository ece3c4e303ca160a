//! What happens in one conversation of the demonstration, step by step, and the plain text form it is written in:
//! `=== inbox | Name <address> | subject`, then `-- when what`, each with the words below it.

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};

use rookery_base::error::{Error, Result};

/// Busy conversations of today, earlier ones, those that show what else one does in a week, and one of sixty messages.
const WRITTEN: [&str; 3] =
    [include_str!("stories/now.txt"), include_str!("stories/earlier.txt"), include_str!("stories/week.txt")];
const LONG: &str = include_str!("stories/long.txt");

#[derive(Clone, Debug)]
pub struct Story {
    pub inbox: String,
    pub name: String,
    pub email: String,
    pub subject: String,
    pub steps: Vec<StoryStep>,
}

#[derive(Clone, Debug)]
pub struct StoryStep {
    pub when: When,
    pub does: Does,
}

/// So long ago, or at a time of day so many days ago.
#[derive(Clone, Copy, Debug)]
pub enum When {
    Ago(TimeDelta),
    Day(u64, NaiveTime),
}

#[derive(Clone, Debug)]
pub enum Does {
    /// The customer writes.
    In(Incoming),
    /// Somebody answers; the last is whether it arrives.
    Out(String, String, bool),
    /// Somebody writes what leaves at a time they choose.
    Later(String, When, String),
    /// Somebody sends a secure link.
    Secure(String, String),
    /// The customer reads what is behind it.
    Read,
    /// Somebody asks for documents.
    Ask(String, AskedPapers, String),
    /// The customer sends a file for a line of the checklist, counted from one.
    Upload(usize, String),
    /// Somebody accepts what came for a line.
    Accept(String, usize),
    /// The customer takes a time that was offered: of this type, the first one after so long from now.
    Book(String, When),
    /// An agent's draft, with its summary.
    Draft(String, String, String),
    /// With other words, perhaps.
    Approve(String, String),
    Undo(String),
    Discard(String),
    Note(String, String),
    Tag(String, Vec<String>),
    Assign(String, String),
    Close(String),
    /// Until so long from now.
    Snooze(String, When),
}

/// What is asked for, and in how many days from today, if there is a day.
#[derive(Clone, Debug, Default)]
pub struct AskedPapers {
    pub items: Vec<String>,
    pub due: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Incoming {
    pub text: String,
    /// One of the pages of `letter`.
    pub html: Option<String>,
    pub files: Vec<String>,
    pub cc: Vec<String>,
    pub reply_to: Option<String>,
    /// Out of office and the like.
    pub automatic: bool,
}

impl When {
    pub fn before(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Ago(ago) => now - ago,
            Self::Day(days, time) => {
                let day = now.date_naive().checked_sub_days(Days::new(days)).unwrap_or(now.date_naive());
                day.and_time(time).and_utc()
            }
        }
    }

    /// As long from now as it says; for snoozing.
    pub fn after(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Ago(ahead) => now + ahead,
            Self::Day(days, time) => {
                let day = now.date_naive().checked_add_days(Days::new(days)).unwrap_or(now.date_naive());
                day.and_time(time).and_utc()
            }
        }
    }
}

/// The stories that were written one by one.
pub fn written() -> Result<Vec<Story>> {
    let mut stories = Vec::new();
    for text in WRITTEN {
        for part in text.split("=== ").filter(|part| !part.trim().is_empty()) {
            stories.push(parse(part).ok_or_else(|| unreadable(part))?);
        }
    }
    stories.push(long().ok_or_else(|| unreadable(LONG))?);
    Ok(stories)
}

fn unreadable(part: &str) -> Error {
    Error::internal(format!("a story cannot be read: {}", part.lines().next().unwrap_or_default()))
}

fn parse(part: &str) -> Option<Story> {
    let (head, rest) = part.split_once('\n')?;
    let mut story = heading(head)?;
    for step in rest.split("-- ").filter(|step| !step.trim().is_empty()) {
        let (line, body) = step.split_once('\n').unwrap_or((step, ""));
        story.steps.push(parse_step(line, body.trim())?);
    }
    Some(story)
}

fn heading(line: &str) -> Option<Story> {
    let mut parts = line.splitn(3, " | ");
    let (inbox, from, subject) = (parts.next()?, parts.next()?, parts.next()?);
    let (name, email) = from.strip_suffix('>')?.split_once(" <")?;
    let own = str::to_owned;
    Some(Story {
        inbox: own(inbox),
        name: own(name),
        email: own(email),
        subject: own(subject),
        steps: Vec::new(),
    })
}

fn parse_step(line: &str, body: &str) -> Option<StoryStep> {
    let (when, rest) = parse_when(line)?;
    let (what, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let (who, more) = rest.split_once(" | ").unwrap_or((rest, ""));
    let (who, more, body) = (who.to_owned(), more.to_owned(), body.to_owned());
    let does = match what {
        "in" => Does::In(incoming(rest, &body)),
        "out" => Does::Out(who, body, true),
        "out!" => Does::Out(who, body, false),
        "later" => Does::Later(who, parse_when(&format!("{more} "))?.0, body),
        "secure" => Does::Secure(who, body),
        "read" => Does::Read,
        "ask" => Does::Ask(who, asked(&more)?, body),
        "upload" => {
            let (line, file) = rest.split_once(' ')?;
            Does::Upload(line.parse().ok()?, file.to_owned())
        }
        "accept" => Does::Accept(who, more.parse().ok()?),
        "book" => Does::Book(who, parse_when(&format!("{more} "))?.0),
        "draft" => Does::Draft(who, more, body),
        "approve" => Does::Approve(who, body),
        "undo" => Does::Undo(who),
        "discard" => Does::Discard(who),
        "note" => Does::Note(who, body),
        "tag" => Does::Tag(who, listed(&more, ", ")),
        "assign" => {
            let (by, to) = rest.split_once(" > ")?;
            Does::Assign(by.to_owned(), to.to_owned())
        }
        "close" => Does::Close(who),
        "snooze" => Does::Snooze(who, parse_when(&format!("{more} "))?.0),
        _ => return None,
    };
    Some(StoryStep { when, does })
}

/// `Passport; Payslip | due 3`
fn asked(text: &str) -> Option<AskedPapers> {
    let (items, due) = match text.split_once(" | due ") {
        Some((items, days)) => (items, Some(days.parse().ok()?)),
        None => (text, None),
    };
    Some(AskedPapers { items: listed(items, "; "), due })
}

fn incoming(options: &str, text: &str) -> Incoming {
    let mut mail = Incoming { text: text.to_owned(), ..Incoming::default() };
    for option in options.split_whitespace() {
        match option.split_once('=') {
            Some(("files", names)) => mail.files = listed(names, ","),
            Some(("cc", addresses)) => mail.cc = listed(addresses, ","),
            Some(("html", page)) => mail.html = Some(page.to_owned()),
            Some(("replyto", address)) => mail.reply_to = Some(address.to_owned()),
            _ => mail.automatic |= option == "auto",
        }
    }
    mail
}

fn listed(text: &str, between: &str) -> Vec<String> {
    text.split(between).map(str::to_owned).collect()
}

/// `4m`, `3h`, or `2d 08:30`; and what stands behind it.
fn parse_when(text: &str) -> Option<(When, &str)> {
    let (first, rest) = text.split_once(' ')?;
    let number: i64 = first[..first.len() - 1].parse().ok()?;
    match first.chars().last()? {
        'm' => Some((When::Ago(TimeDelta::minutes(number)), rest)),
        'h' => Some((When::Ago(TimeDelta::hours(number)), rest)),
        'd' => {
            let (time, rest) = rest.split_once(' ')?;
            let time = NaiveTime::parse_from_str(time, "%H:%M").ok()?;
            Some((When::Day(number.try_into().ok()?, time), rest))
        }
        _ => None,
    }
}

/// One line a message, four a working day; the newest came this morning.
fn long() -> Option<Story> {
    let (head, lines) = LONG.strip_prefix("=== ")?.split_once('\n')?;
    let mut story = heading(head)?;
    let lines: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
    for (at, line) in lines.iter().enumerate() {
        let left = i64::try_from(lines.len() - at).ok()?;
        let when = When::Ago(TimeDelta::minutes(left * 6 * 60 + left % 7 * 13));
        let (who, words) = line.split_once(": ")?;
        let does = match who {
            "In" => Does::In(Incoming { text: format!("{words}\n\nRosalind"), ..Incoming::default() }),
            _ => Does::Out("Wanjirũ".into(), format!("{words}\n\nWanjirũ"), true),
        };
        story.steps.push(StoryStep { when, does });
    }
    Some(story)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_story_can_be_read_and_all_addresses_are_test_addresses() {
        let stories = written().unwrap();
        assert_eq!(stories.len(), 54);
        for story in &stories {
            assert!(story.email.ends_with(".test"), "{}", story.email);
            assert!(matches!(story.steps[0].does, Does::In(_)), "{}", story.subject);
        }
        let longest = stories.iter().map(|story| story.steps.len()).max();
        assert_eq!(longest, Some(60));
    }
}
