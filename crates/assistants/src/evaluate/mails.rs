//! How good sorting is: what was claimed, what of it was right, and what was taken for what. A corpus has `mails/*.eml` with
//! `mails/labels.jsonl`, or tables of `text,category` (Banking77), of which nine topics are made.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::evaluate::{Half, Share};
use crate::model::Model;
use crate::sort::learn::{Example, Learned};
use crate::sort::{ask, rules, topics};
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes;
use rookery_reading::mail::parse::parse;
use rookery_reading::mail::quote::own_words;

/// Corrections of a topic that the learned engine is given.
const TAUGHT: usize = 50;
/// A mail, and what a sensible colleague says of it.
#[derive(Clone, Debug)]
pub struct Labelled {
    pub language: String,
    pub subject: String,
    pub text: String,
    pub topic: String,
    /// Other topics that are right, too.
    pub also: Vec<String>,
    pub urgency: Option<String>,
    pub half: Half,
}

impl Labelled {
    fn is(&self, topic: &str) -> bool {
        self.topic == topic || self.also.iter().any(|also| also == topic)
    }
}

#[derive(Deserialize)]
struct Label {
    file: String,
    language: String,
    topic: String,
    #[serde(default)]
    also: Vec<String>,
    urgency: String,
    half: Half,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MailsReport {
    pub engine: String,
    pub mails: usize,
    /// Of what was claimed, how much was right; and of all mail, how much was claimed.
    pub precision: Share,
    /// The same where other topics that a colleague might choose count as right, too.
    pub also_right: Share,
    pub coverage: Share,
    pub urgency_right: Option<Share>,
    /// Of mails that were called high, how many are.
    pub high_precision: Option<Share>,
    pub high_found: Option<Share>,
    pub by_topic: BTreeMap<String, TopicShares>,
    pub by_language: BTreeMap<String, TopicShares>,
    /// What was taken for what, and how often; nothing said is "-".
    pub confusion: Vec<(String, String, usize)>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TopicShares {
    pub precision: Share,
    pub coverage: Share,
}

/// What an engine said of a mail: a topic and an urgency, if it did.
type EngineVerdict = (Option<String>, Option<String>);

pub fn read(folder: &Path) -> Result<Vec<Labelled>> {
    if folder.join("mails/labels.jsonl").exists() {
        return mails(&folder.join("mails"));
    }
    let mut all = Vec::new();
    let mut tables: Vec<_> =
        std::fs::read_dir(folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    tables.retain(|path| path.extension().is_some_and(|ext| ext == "csv"));
    tables.sort();
    for table in tables {
        let half = if table.file_name().is_some_and(|name| name.to_string_lossy().contains("test")) {
            Half::Sealed
        } else {
            Half::Open
        };
        all.extend(questions(&std::fs::read_to_string(&table)?, half));
    }
    if all.is_empty() {
        Err(Error::internal(format!(
            "{} is no corpus: it has neither mails/labels.jsonl nor tables. Name another with --corpus.",
            folder.display()
        )))
    } else {
        Ok(all)
    }
}

fn mails(folder: &Path) -> Result<Vec<Labelled>> {
    let labels = std::fs::read_to_string(folder.join("labels.jsonl"))?;
    let mut all = Vec::new();
    for line in labels.lines().filter(|line| !line.trim().is_empty()) {
        let label: Label = serde_json::from_str(line)?;
        let raw = std::fs::read(folder.join(&label.file))?;
        let mail = parse(&raw).map_err(|why| Error::internal(format!("{}: {why}", label.file)))?;
        all.push(Labelled {
            language: label.language,
            subject: mail.subject.clone().unwrap_or_default(),
            text: own_words(&mail),
            topic: label.topic,
            also: label.also,
            urgency: Some(label.urgency),
            half: label.half,
        });
    }
    Ok(all)
}

/// Lines of `text,category`, the text in quotes when it has a comma.
fn questions(table: &str, half: Half) -> Vec<Labelled> {
    let lines = table.lines().skip(1).filter_map(|line| line.rsplit_once(','));
    lines
        .map(|(text, category)| Labelled {
            language: "en".to_owned(),
            subject: String::new(),
            text: text.trim_matches('"').replace("\"\"", "\""),
            topic: nine(category.trim()).to_owned(),
            also: Vec::new(),
            urgency: None,
            half,
        })
        .collect()
}

/// Nine topics of the 77, by words in the category's name; the first that fits.
fn nine(category: &str) -> &'static str {
    let category = category.to_lowercase();
    let groups: [(&str, &[&str]); 8] = [
        ("top up", &["top_up", "topping"]),
        ("transfer", &["transfer", "beneficiary"]),
        ("cash", &["cash", "atm"]),
        ("exchange", &["exchange", "currency", "fiat"]),
        ("identity", &["identity", "verify", "passcode", "pin"]),
        ("account", &["account", "personal_details", "age_limit"]),
        ("payment", &["payment", "refund", "charge", "direct_debit", "fee"]),
        ("card", &["card", "virtual", "visa"]),
    ];
    let found = groups.iter().find(|(_, words)| words.iter().any(|word| category.contains(word)));
    found.map_or("other", |(topic, _)| *topic)
}

pub fn by_rules(mails: &[Labelled]) -> MailsReport {
    let said = mails.iter().map(|mail| {
        let verdict = rules::judge(&mail.subject, &mail.text);
        let urgency = verdict.urgency.unwrap_or("normal");
        (verdict.topic.map(str::to_owned), Some(urgency.to_owned()))
    });
    report(rules::NAME, mails, &said.collect::<Vec<EngineVerdict>>())
}

/// Taught with up to 50 corrections of each topic of `taught`, and asked about `mails`. From where on it is sure it has found
/// out by itself, as it does in use: nothing is chosen by what it is judged with.
pub fn by_corrections(taught: &[Labelled], mails: &[Labelled]) -> MailsReport {
    report("corrections", mails, &taught_says(taught, mails))
}

/// The same within one lot of mail: of each half of it what the other taught.
pub fn by_its_own_corrections(mails: &[Labelled]) -> MailsReport {
    let mut order: Vec<&Labelled> = mails.iter().collect();
    order.sort_by_key(|mail| spread(mail));
    let (one, other): (Vec<_>, Vec<_>) =
        order.into_iter().cloned().enumerate().partition(|(at, _)| at % 2 == 0);
    let (one, other): (Vec<Labelled>, Vec<Labelled>) =
        (one.into_iter().map(|(_, mail)| mail).collect(), other.into_iter().map(|(_, mail)| mail).collect());
    let said = [taught_says(&other, &one), taught_says(&one, &other)].concat();
    report("corrections", &[one, other].concat(), &said)
}

/// A place in the corpus that has nothing to do with what it is about, the same each time.
fn spread(mail: &Labelled) -> i64 {
    hashes::number(hashes::sha256(&mail.text))
}

fn taught_says(taught: &[Labelled], mails: &[Labelled]) -> Vec<EngineVerdict> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<&Labelled> = taught.iter().collect();
    order.sort_by_key(|mail| spread(mail));
    let examples: Vec<Example> = order
        .into_iter()
        .filter(|mail| {
            let count = counts.entry(&mail.topic).or_default();
            *count += 1;
            *count <= TAUGHT
        })
        .map(|mail| Example::new(&mail.subject, &mail.text, &mail.topic))
        .collect();
    let learned = Learned::from(&examples);
    mails.iter().map(|mail| (learned.judge(&mail.subject, &mail.text).map(str::to_owned), None)).collect()
}

/// Asks the operator's model about each, one after another.
pub async fn by_model(app: &App, mails: &[Labelled]) -> Result<MailsReport> {
    let Some(model) = Model::of_the_operator(&app.config) else {
        return Err(Error::internal(
            "There is no model to ask. Set ROOKERY_ASSISTANTS_URL and ROOKERY_ASSISTANTS_MODEL.",
        ));
    };
    let topics = topics::usual();
    let form = ask::form(&topics);
    let mut said = Vec::with_capacity(mails.len());
    for mail in mails {
        let prompt = ask::prompt(&topics, &mail.subject, &mail.text);
        said.push(match model.ask(app, &prompt, &form, ask::CAPS).await {
            Ok(answer) => {
                let text = |name: &str| answer.value[name].as_str().map(str::to_owned);
                (text("topic"), text("urgency"))
            }
            Err(none) => {
                eprintln!("no answer: {}", none.why);
                (None, None)
            }
        });
    }
    Ok(report(&model.called(), mails, &said))
}

fn report(engine: &str, mails: &[Labelled], said: &[EngineVerdict]) -> MailsReport {
    let both: Vec<(&Labelled, &EngineVerdict)> = mails.iter().zip(said).collect();
    let right = |(mail, (topic, _)): &&(&Labelled, &EngineVerdict)| topic.as_ref() == Some(&mail.topic);
    let also_right = |(mail, (topic, _)): &&(&Labelled, &EngineVerdict)| {
        topic.as_ref().is_some_and(|topic| mail.is(topic))
    };
    let claimed = both.iter().filter(|(_, (topic, _))| topic.is_some()).count();
    let mut confusion: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (mail, (topic, _)) in &both {
        let taken_for = match topic {
            Some(topic) => topic.clone(),
            None => "-".to_owned(),
        };
        *confusion.entry((mail.topic.clone(), taken_for)).or_default() += 1;
    }
    let topic = |name: &str| {
        let said_so: Vec<_> = both.iter().filter(|(_, (topic, _))| topic.as_deref() == Some(name)).collect();
        let found = said_so.iter().filter(|(mail, _)| mail.topic == name).count();
        let all = both.iter().filter(|(mail, _)| mail.topic == name).count();
        TopicShares { precision: Share::new(found, said_so.len()), coverage: Share::new(found, all) }
    };
    let language = |name: &str| {
        let own: Vec<_> = both.iter().filter(|(mail, _)| mail.language == name).copied().collect();
        let claimed = own.iter().filter(|(_, (topic, _))| topic.is_some()).count();
        TopicShares {
            precision: Share::new(own.iter().filter(right).count(), claimed),
            coverage: Share::new(claimed, own.len()),
        }
    };
    let names = |of: fn(&Labelled) -> &String| {
        let mut names: Vec<String> = mails.iter().map(|mail| of(mail).clone()).collect();
        names.sort();
        names.dedup();
        names
    };
    let labelled: Vec<(&str, &str)> = both
        .iter()
        .filter_map(|(mail, (_, urgency))| Some((mail.urgency.as_deref()?, urgency.as_deref()?)))
        .collect();
    let urgent = |n: usize, of: usize| (!labelled.is_empty()).then(|| Share::new(n, of));
    let count = |test: fn(&(&str, &str)) -> bool| labelled.iter().filter(|pair| test(pair)).count();
    MailsReport {
        engine: engine.to_owned(),
        mails: mails.len(),
        precision: Share::new(both.iter().filter(right).count(), claimed),
        also_right: Share::new(both.iter().filter(also_right).count(), claimed),
        coverage: Share::new(claimed, mails.len()),
        urgency_right: urgent(count(|(is, said)| is == said), labelled.len()),
        high_precision: urgent(
            count(|(is, said)| *is == "high" && *said == "high"),
            count(|(_, said)| *said == "high"),
        ),
        high_found: urgent(
            count(|(is, said)| *is == "high" && *said == "high"),
            count(|(is, _)| *is == "high"),
        ),
        by_topic: names(|mail| &mail.topic).into_iter().map(|name| (name.clone(), topic(&name))).collect(),
        by_language: names(|mail| &mail.language)
            .into_iter()
            .map(|name| (name.clone(), language(&name)))
            .collect(),
        confusion: confusion.into_iter().map(|((is, said), n)| (is, said, n)).collect(),
    }
}

impl MailsReport {
    /// For a terminal.
    pub fn render(&self) -> String {
        let mut lines = vec![
            format!("{}: {} mails", self.engine, self.mails),
            format!("  topics right of those said   {}", self.precision),
            format!("    or nearly right            {}", self.also_right),
            format!("  mails with a topic           {}", self.coverage),
        ];
        for (name, urgency) in [
            ("urgency right               ", &self.urgency_right),
            ("really high of those said   ", &self.high_precision),
            ("said of those really high   ", &self.high_found),
        ] {
            lines.extend(urgency.as_ref().map(|urgency| format!("  {name} {}", urgency)));
        }
        for (heading, rows) in [("by topic", &self.by_topic), ("by language", &self.by_language)] {
            lines.push(format!("  {heading}:"));
            for (name, row) in rows {
                lines.push(format!(
                    "    {name:<12} right {:5.1} % of {:<4} said or found {:5.1} % of {}",
                    row.precision.percent, row.precision.of, row.coverage.percent, row.coverage.of
                ));
            }
        }
        lines.push("  taken for something else:".to_owned());
        let mut wrong: Vec<_> =
            self.confusion.iter().filter(|(is, said, _)| is != said && said != "-").collect();
        wrong.sort_by_key(|(.., n)| std::cmp::Reverse(*n));
        lines.extend(wrong.iter().take(15).map(|(is, said, n)| format!("    {is} for {said}: {n}")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_what_was_said_and_what_was_right() {
        let mail = |topic: &str, urgency: &str| Labelled {
            language: "en".into(),
            subject: String::new(),
            text: String::new(),
            topic: topic.into(),
            also: Vec::new(),
            urgency: Some(urgency.into()),
            half: Half::Open,
        };
        let mails = [mail("a", "high"), mail("a", "low"), mail("b", "normal")];
        let said = |topic: Option<&str>, urgency: &str| (topic.map(str::to_owned), Some(urgency.to_owned()));
        let told = [said(Some("a"), "high"), said(None, "normal"), said(Some("a"), "normal")];
        let report = report("test", &mails, &told);
        assert_eq!((report.precision.n, report.precision.of), (1, 2));
        assert_eq!((report.coverage.n, report.coverage.of), (2, 3));
        assert_eq!(report.urgency_right.unwrap().n, 2);
        assert!(report.render().contains("b for a: 1"), "{}", report.render());
    }

    #[test]
    fn a_table_of_questions_has_nine_topics() {
        let table =
            "text,category\nHow do I locate my card?,card_arrival\n\"Hi, where, please?\",top_up_failed\n";
        let read = questions(table, Half::Open);
        assert_eq!(read[1].text, "Hi, where, please?");
        assert_eq!([&read[0].topic, &read[1].topic], ["card", "top up"]);
    }
}
