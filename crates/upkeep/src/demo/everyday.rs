//! The everyday mail of the demonstration: conversations put together from the words in `mail/`, one file a language.
//! The same seed gives the same mail. Topics and languages take turns, so that neighbours in a list differ.

use chrono::TimeDelta;

use crate::demo::story::{Does, Incoming, Story, StoryStep, When};
use rookery_base::error::{Error, Result};
use rookery_base::random::Random;
use rookery_base::search_terms;

/// A language, what it is called in amounts, and how many conversations it has of a hundred and forty-six.
const LANGUAGES: [(&str, usize, &str); 10] = [
    (include_str!("mail/en.txt"), 50, "{} €"),
    (include_str!("mail/de.txt"), 24, "{} €"),
    (include_str!("mail/fr.txt"), 16, "{} €"),
    (include_str!("mail/es.txt"), 14, "{} €"),
    (include_str!("mail/it.txt"), 9, "{} €"),
    (include_str!("mail/nl.txt"), 9, "€ {}"),
    (include_str!("mail/pt.txt"), 8, "{} €"),
    (include_str!("mail/ja.txt"), 8, "{} €"),
    (include_str!("mail/ar.txt"), 6, "{} €"),
    (include_str!("mail/he.txt"), 2, "{} €"),
];
const TEAM: [&str; 5] = ["Ada", "Mia", "Wanjirũ", "Jean-Baptiste", "Owner"];
const TIMES: [&str; 7] = ["09:00", "09:30", "10:15", "11:00", "14:30", "16:00", "17:15"];
const NOTES: [&str; 8] = [
    "Called, nobody picks up. I try again after lunch.",
    "The caretaker knows about it and has a look today.",
    "@Ada is this one of the flats with the old contracts?",
    "Paid, I have seen it on the account. @Mia please tick it off.",
    "Third mail about this house this week. Shall we put a note on the board?",
    "@Wanjirũ can you take this on your round tomorrow?",
    "Very friendly on the phone. Let us be quick here.",
    "Wants it in writing. @Jean-Baptiste you have the template.",
];

struct Language {
    names: Vec<String>,
    streets: Vec<String>,
    days: Vec<String>,
    domains: Vec<String>,
    /// What a customer says at the end.
    ends: Vec<String>,
    /// Customers are greeted with their whole name.
    formal: bool,
    amount: &'static str,
    topics: Vec<EverydayTopic>,
}

struct EverydayTopic {
    inbox: String,
    tag: String,
    subjects: Vec<String>,
    mails: Vec<String>,
    reply: String,
}

pub fn everyday(seed: u64) -> Result<Vec<Story>> {
    let random = Random::seeded(seed);
    let mut of_each = Vec::new();
    for (text, many, amount) in LANGUAGES {
        let language = read(text, amount).ok_or_else(|| Error::internal("a language cannot be read"))?;
        let stories: Vec<Story> = (0..many).map(|at| language.story(at, &random)).collect();
        of_each.push(stories);
    }
    // Spread every language over the whole list.
    let mut placed: Vec<(usize, Story)> = Vec::new();
    for stories in of_each {
        let many = stories.len();
        placed.extend(
            stories.into_iter().enumerate().map(|(at, story)| ((2 * at + 1) * 10_000 / (2 * many), story)),
        );
    }
    placed.sort_by_key(|(place, _)| *place);
    let many = placed.len();
    let aged = placed.into_iter().enumerate().map(|(at, (_, story))| live(story, at, many, &random));
    Ok(aged.collect())
}

/// What becomes of it: the newer it is, the more is still to do. The last one is three hours old, the first four weeks.
fn live(mut story: Story, at: usize, many: usize, random: &Random) -> Story {
    let newness = (many - at) as f64 / many as f64;
    let age =
        TimeDelta::minutes((newness * newness * 27.0 * 24.0 * 60.0) as i64 + 190 + (at as i64 * 37) % 55);
    let [first, reply, end] = [0, 1, 2].map(|step| story.steps.get(step).map(|step| step.does.clone()));
    let (Some(first), Some(Does::Out(who, words, _)), Some(end)) = (first, reply, end) else { return story };
    let who = match pick(random, 7) {
        5 | 6 => "Lease Helper".to_owned(),
        _ => who,
    };
    let mut steps = vec![(TimeDelta::zero(), first)];
    let tag = story.subject.split_once('\u{1f}').map(|(tag, _)| tag.to_owned()).unwrap_or_default();
    story.subject =
        story.subject.split_once('\u{1f}').map(|(_, subject)| subject.to_owned()).unwrap_or_default();
    let tagger = if pick(random, 3) == 0 { "Mia" } else { "Lease Helper" };
    if pick(random, 4) > 0 {
        steps.push((TimeDelta::minutes(2), Does::Tag(tagger.to_owned(), vec![tag])));
    }
    let person = TEAM[pick(random, TEAM.len())].to_owned();
    if pick(random, 3) > 0 {
        steps.push((TimeDelta::minutes(9), Does::Assign(person.clone(), person.clone())));
    }
    if at % 11 == 3 {
        steps.push((TimeDelta::minutes(14), Does::Note(person, NOTES[at / 11 % NOTES.len()].to_owned())));
    }
    let fate = pick(random, 100);
    let young = age < TimeDelta::days(3);
    let answered = if young { fate >= 45 } else { fate >= 4 };
    let closed = if young { fate >= 80 } else { fate >= 14 };
    if answered {
        let words = words.replace("{agent}", who.split(' ').next().unwrap_or(&who));
        let words =
            if who == "Lease Helper" { words.replace("Lease\nLarkfield", "Larkfield") } else { words };
        steps.push((TimeDelta::minutes(55), Does::Out(who, words, true)));
    }
    if answered && closed {
        let closer = TEAM[pick(random, TEAM.len())].to_owned();
        if !fate.is_multiple_of(3) {
            steps.push((TimeDelta::minutes(110), end));
        }
        steps.push((TimeDelta::minutes(125), Does::Close(closer)));
    }
    let aged = steps.into_iter().map(|(later, does)| StoryStep { when: When::Ago(age - later), does });
    story.steps = aged.collect();
    story
}

fn pick(random: &Random, of: usize) -> usize {
    (random.number() % of.max(1) as u64) as usize
}

impl Language {
    /// The mail, the answer and the last word; the tag stands before the subject until the story is lived.
    fn story(&self, at: usize, random: &Random) -> Story {
        let topic = &self.topics[at % self.topics.len()];
        let round = at / self.topics.len();
        let entry = &self.names[(at * 7 + round) % self.names.len()];
        let (name, local) = match entry.split_once('=') {
            Some((name, local)) => (name, local.to_owned()),
            None => (entry.as_str(), local_part(entry)),
        };
        let first = if self.formal { name } else { name.split(' ').next().unwrap_or(name) };
        let who = TEAM[pick(random, 4)];
        let slots = [
            ("{street}", self.streets[(at * 5 + round) % self.streets.len()].clone()),
            ("{day}", self.days[pick(random, self.days.len())].clone()),
            ("{time}", TIMES[pick(random, TIMES.len())].to_owned()),
            ("{n}", (2 + pick(random, 7)).to_string()),
            ("{amount}", self.amount.replace("{}", &(640 + 35 * pick(random, 40)).to_string())),
        ];
        let fill = |text: &str, name: &str| {
            let mut text = text.replace("{name}", name);
            for (slot, value) in &slots {
                text = text.replace(slot, value);
            }
            text
        };
        let mail = fill(&topic.mails[round % topic.mails.len()], name);
        let subject = fill(&topic.subjects[(round + at) % topic.subjects.len()], name);
        let files = attached(&mail, topic);
        let domain = &self.domains[at % self.domains.len()];
        let step = |does| StoryStep { when: When::Ago(TimeDelta::zero()), does };
        let thanks = fill(&self.ends[at % self.ends.len()], name);
        Story {
            inbox: topic.inbox.clone(),
            email: format!("{local}@{domain}"),
            name: name.to_owned(),
            subject: format!("{}\u{1f}{subject}", topic.tag),
            steps: vec![
                step(Does::In(Incoming { text: mail, files, ..Incoming::default() })),
                step(Does::Out(who.to_owned(), fill(&topic.reply, first), true)),
                step(Does::In(Incoming { text: format!("{thanks}\n\n{first}"), ..Incoming::default() })),
            ],
        }
    }
}

/// A file where the words speak of one.
fn attached(mail: &str, topic: &EverydayTopic) -> Vec<String> {
    const SPEAKS: [&str; 7] = ["attached", "Photos", "anbei", "Adjunto", "adjunto", "anexo", "Pictures"];
    if !SPEAKS.iter().any(|word| mail.contains(word)) {
        return Vec::new();
    }
    let kind = if topic.inbox == "repairs" { "png" } else { "pdf" };
    vec![format!("{}.{kind}", topic.tag.replace(' ', "-"))]
}

fn local_part(name: &str) -> String {
    let plain: String = search_terms::fold(name)
        .chars()
        .filter_map(|letter| match letter {
            'a'..='z' => Some(letter),
            ' ' | '-' => Some('.'),
            _ => None,
        })
        .collect();
    plain.trim_matches('.').to_owned()
}

fn read(text: &str, amount: &'static str) -> Option<Language> {
    let mut parts = text.split("\n== ");
    let head = parts.next()?;
    let field = |name: &str, between: &str| -> Option<Vec<String>> {
        let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        Some(line.split(between).map(|value| value.trim().to_owned()).collect())
    };
    let topics: Option<Vec<EverydayTopic>> = parts.map(read_topic).collect();
    Some(Language {
        names: field("names", " | ")?,
        streets: field("streets", " | ")?,
        days: field("days", " | ")?,
        domains: field("domains", ", ")?,
        ends: field("close", " | ")?,
        formal: field("greets", " ").is_some(),
        amount,
        topics: topics?,
    })
}

fn read_topic(part: &str) -> Option<EverydayTopic> {
    let (head, rest) = part.split_once('\n')?;
    let (inbox, tag) = head.split_once(' ')?;
    let subjects = rest.lines().filter_map(|line| line.strip_prefix("S: ")).map(str::to_owned).collect();
    let (mails, reply) = rest.split_once("\nR:\n")?;
    let mails = mails.split("\nM:\n").skip(1).map(|mail| mail.trim().to_owned()).collect();
    Some(EverydayTopic {
        inbox: inbox.to_owned(),
        tag: tag.to_owned(),
        subjects,
        mails,
        reply: reply.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_mail_without_blanks_and_no_two_neighbours_alike() {
        let told = |seed| format!("{:?}", everyday(seed).unwrap());
        assert_eq!(told(1), told(1));
        assert_ne!(told(1), told(2));
        let stories = everyday(1).unwrap();
        assert_eq!(stories.len(), 146);
        for pair in stories.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
            assert_ne!(pair[0].subject, pair[1].subject);
        }
        for story in &stories {
            let told = format!("{story:?}");
            assert!(!told.contains(['\u{1f}']) && !told.contains("{n") && !told.contains("{a"), "{told}");
            assert!(story.email.ends_with(".test") && !story.email.starts_with('@'), "{}", story.email);
        }
    }
}
