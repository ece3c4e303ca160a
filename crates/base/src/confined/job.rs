//! What a confined child can be asked to do, and how much it may say.
//! The file comes on standard input, the answer goes to standard output; arguments hold no word of a stranger.

use std::time::Duration;

/// A file that is handed in; the largest that the service stores.
pub const MOST_INPUT: usize = 26_000_000;
/// When the parent kills the child.
pub const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_WITH_CALENDARS: Duration = Duration::from_secs(4);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// Kind, title, fields and text of a file, as one JSON object.
    Read,
    /// Whether a file can be taken, as one JSON object.
    Check,
    /// One page of a PDF as pieces of text and lines with their places, as one JSON object.
    Page(u32),
    /// The picture that fills a page of a PDF, when it is a scan: the bytes of a JPEG.
    Scan(u32),
    /// A picture without what cameras write into it: place, time, device.
    Picture,
    /// The words of a picture, by tesseract, in its TSV.
    Words { languages: String },
    /// What the words of scanned pages say: numbers and TSV of pages as JSON, and the same answer as that of reading, with
    /// how many words there are.
    Understand,
    /// When somebody is busy between two moments, by a calendar, as one JSON object. Times without a zone are of this one.
    Busy { from: i64, to: i64, zone: String },
    /// Tries to get out. Only for tests, and only in builds for them.
    #[cfg(debug_assertions)]
    Escape { how: String, simulate: Simulate },
}

#[cfg(debug_assertions)]
crate::text_enum! {
    /// A kernel that lacks something.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Simulate {
        #[default]
        Nothing = "nothing",
        NoLandlock = "no-landlock",
        NoSeccomp = "no-seccomp",
    }
}

impl Job {
    pub fn arguments(&self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Read => words(&["read"]),
            Self::Check => words(&["check"]),
            Self::Page(number) => words(&["page", &number.to_string()]),
            Self::Scan(number) => words(&["scan", &number.to_string()]),
            Self::Picture => words(&["picture"]),
            Self::Words { languages } => words(&["words", languages]),
            Self::Understand => words(&["understand"]),
            Self::Busy { from, to, zone } => words(&["busy", &from.to_string(), &to.to_string(), zone]),
            #[cfg(debug_assertions)]
            Self::Escape { how, simulate } => words(&["escape", how, simulate.as_str()]),
        }
    }

    pub fn from_arguments(arguments: &[String]) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["read"] => Some(Self::Read),
            ["check"] => Some(Self::Check),
            ["page", number] => number.parse().ok().map(Self::Page),
            ["scan", number] => number.parse().ok().map(Self::Scan),
            ["picture"] => Some(Self::Picture),
            ["understand"] => Some(Self::Understand),
            ["busy", from, to, zone] if is_zone(zone) => {
                let (from, to) = (from.parse().ok()?, to.parse().ok()?);
                Some(Self::Busy { from, to, zone: (*zone).to_owned() })
            }
            ["words", languages] if is_languages(languages) => {
                Some(Self::Words { languages: (*languages).to_owned() })
            }
            #[cfg(debug_assertions)]
            ["escape", how, simulate] => {
                let simulate = Simulate::named(simulate).unwrap_or_default();
                Some(Self::Escape { how: (*how).to_owned(), simulate })
            }
            _ => None,
        }
    }

    /// How long it may take. A calendar whose rule spins is ended soon: there are many, and each is read again and again.
    pub fn patience(&self) -> Duration {
        match self {
            Self::Busy { .. } => PATIENCE_WITH_CALENDARS,
            _ => PATIENCE,
        }
    }

    /// A try to begin tesseract on a kernel that lacks something.
    #[cfg(debug_assertions)]
    pub fn is_words(&self) -> bool {
        matches!(self, Self::Escape { how, .. } if how == "words")
    }

    /// Bytes of its answer; whoever says more is killed.
    pub fn most_output(&self) -> usize {
        match self {
            Self::Read | Self::Check | Self::Understand => 64 << 10,
            Self::Page(_) | Self::Words { .. } | Self::Busy { .. } => 1 << 20,
            Self::Scan(_) | Self::Picture => MOST_INPUT,
            #[cfg(debug_assertions)]
            Self::Escape { .. } => 64 << 10,
        }
    }
}

/// `Europe/Berlin`
fn is_zone(text: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(sound)
}

/// `eng+deu`: what tesseract is told goes by its command line.
fn is_languages(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'+' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_reads_back_from_its_arguments() {
        let words = Job::Words { languages: "eng+deu".to_owned() };
        let busy = Job::Busy { from: -1, to: 2, zone: "America/Port-au-Prince".to_owned() };
        for job in
            [Job::Read, Job::Check, Job::Page(7), Job::Scan(1), Job::Picture, Job::Understand, words, busy]
        {
            assert_eq!(Job::from_arguments(&job.arguments()), Some(job));
        }
        for unknown in [&["read", "x"][..], &["page"], &["page", "-1"], &["words", "--x"], &[]] {
            let unknown: Vec<String> = unknown.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(Job::from_arguments(&unknown), None, "{unknown:?}");
        }
    }
}
