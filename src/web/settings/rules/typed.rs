//! The form of a rule as it was typed, which a page shows again whatever is wrong with it. A line has a kind, which is
//! chosen when the line is added, "is" or "is not", and a value.

use crate::error::{Error, Result};
use crate::rules::definition::{
    Action, Becomes, Condition, Definition, Level, MOST_ACTIONS, MOST_CONDITIONS, Test, Trigger,
};
use crate::web::visit::Fields;

/// Kinds of condition, as forms and as people call them.
pub const TESTS: &[(&str, &str)] = &[
    ("sender", "Sender"),
    ("subject", "Subject"),
    ("words", "Words of the mail"),
    ("inbox", "Inbox"),
    ("risk", "Risk"),
    ("attachment", "Attachment"),
];
pub const ACTIONS: &[(&str, &str)] = &[
    ("tag", "Tag"),
    ("assign", "Assign to"),
    ("status", "Set the status"),
    ("snooze", "Snooze"),
    ("notify", "Tell somebody"),
];

#[derive(Clone, Debug, Default)]
pub struct Typed {
    pub name: String,
    /// It waits for a tag, not for mail.
    pub on_tag: bool,
    pub tag: String,
    pub conditions: Vec<Line>,
    pub actions: Vec<Line>,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub kind: &'static str,
    pub title: &'static str,
    pub is: bool,
    pub value: String,
}

impl Line {
    fn new(kinds: &[(&'static str, &'static str)], kind: &str) -> Option<Self> {
        let (kind, title) = kinds.iter().find(|(own, _)| *own == kind)?;
        Some(Self { kind, title, is: true, value: String::new() })
    }

    fn of(kinds: &[(&'static str, &'static str)], kind: &str, is: bool, value: String) -> Option<Self> {
        Self::new(kinds, kind).map(|line| Self { is, value, ..line })
    }
}

impl Typed {
    /// A new rule, with a line to begin with.
    pub fn blank() -> Self {
        Self {
            conditions: Line::new(TESTS, "sender").into_iter().collect(),
            actions: Line::new(ACTIONS, "tag").into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn of(name: &str, rule: &Definition) -> Self {
        let (on_tag, tag) = match &rule.when {
            Trigger::MailArrives => (false, String::new()),
            Trigger::TagSet { tag } => (true, tag.clone()),
        };
        let condition = |one: &Condition| {
            let value = match &one.test {
                Test::Sender { like } => like.clone(),
                Test::Subject { words } | Test::Words { words } => words.join(", "),
                Test::Inbox { inbox } => inbox.to_string(),
                Test::Risk { at_least: Level::Some } => "some".into(),
                Test::Risk { at_least: Level::Held } => "held".into(),
                Test::Attachment => String::new(),
            };
            Line::of(TESTS, one.test.kind(), one.is, value)
        };
        let action = |one: &Action| {
            let value = match one {
                Action::Tag { tag } => tag.clone(),
                Action::Assign { to } => to.to_string(),
                Action::Snooze { hours } => hours.to_string(),
                Action::Status { status: Becomes::Open } => "open".into(),
                Action::Status { status: Becomes::Waiting } => "waiting".into(),
                Action::Status { status: Becomes::Closed } => "closed".into(),
                Action::Notify { person } => person.to_string(),
            };
            Line::of(ACTIONS, one.kind(), true, value)
        };
        Self {
            name: name.to_owned(),
            on_tag,
            tag,
            conditions: rule.conditions.iter().filter_map(condition).collect(),
            actions: rule.then.iter().filter_map(action).collect(),
        }
    }

    pub fn read(form: &Fields) -> Self {
        let text = |name| form.get(name).unwrap_or_default().to_owned();
        let ways = form.all("if_is").zip(form.all("if_value"));
        let conditions = form
            .all("if")
            .zip(ways)
            .filter_map(|(kind, (is, value))| Line::of(TESTS, kind, is != "not", value.to_owned()));
        let actions = form
            .all("then")
            .zip(form.all("then_value"))
            .filter_map(|(kind, value)| Line::of(ACTIONS, kind, true, value.to_owned()));
        Self {
            name: text("name"),
            on_tag: form.get("when") == Some("tag-set"),
            tag: text("when_tag"),
            // One more than there may be, so that it is told and not lost.
            conditions: conditions.take(MOST_CONDITIONS + 1).collect(),
            actions: actions.take(MOST_ACTIONS + 1).collect(),
        }
    }

    /// Does what a button of the form says that only changes the form. False when the button means something else.
    pub fn rearrange(&mut self, form: &Fields, button: &str) -> bool {
        let nth = |name: &str| button.strip_prefix(name).and_then(|n| n.parse::<usize>().ok());
        if button == "add-if" {
            let line = Line::new(TESTS, form.get("new_if").unwrap_or_default());
            self.conditions.extend(line.filter(|_| self.conditions.len() < MOST_CONDITIONS));
        } else if button == "add-then" {
            let line = Line::new(ACTIONS, form.get("new_then").unwrap_or_default());
            self.actions.extend(line.filter(|_| self.actions.len() < MOST_ACTIONS));
        } else if let Some(n) = nth("drop-if-") {
            if n < self.conditions.len() {
                self.conditions.remove(n);
            }
        } else if let Some(n) = nth("drop-then-") {
            if n < self.actions.len() {
                self.actions.remove(n);
            }
        } else {
            return false;
        }
        true
    }

    pub fn definition(&self) -> Result<Definition> {
        let when = match self.on_tag {
            true => Trigger::TagSet { tag: self.tag.clone() },
            false => Trigger::MailArrives,
        };
        let mut conditions = Vec::new();
        for (number, line) in self.conditions.iter().enumerate() {
            let missing = |what: &str| Error::problem(format!("Condition {}", number + 1), what);
            let words = || line.value.split(',').map(str::to_owned).collect();
            let test = match line.kind {
                "sender" => Test::Sender { like: line.value.clone() },
                "subject" => Test::Subject { words: words() },
                "words" => Test::Words { words: words() },
                "inbox" => Test::Inbox {
                    inbox: line.value.parse().map_err(|_| missing("needs an inbox, choose one"))?,
                },
                "risk" if line.value == "held" => Test::Risk { at_least: Level::Held },
                "risk" => Test::Risk { at_least: Level::Some },
                _ => Test::Attachment,
            };
            conditions.push(Condition { is: line.is, test });
        }
        let mut then = Vec::new();
        for (number, line) in self.actions.iter().enumerate() {
            let missing = |what: &str| Error::problem(format!("Action {}", number + 1), what);
            let somebody = "needs somebody, choose one";
            then.push(match line.kind {
                "tag" => Action::Tag { tag: line.value.clone() },
                "assign" => Action::Assign { to: line.value.parse().map_err(|_| missing(somebody))? },
                "snooze" => Action::Snooze {
                    hours: line.value.parse().map_err(|_| missing("needs a time, choose one"))?,
                },
                "status" => Action::Status {
                    status: match line.value.as_str() {
                        "open" => Becomes::Open,
                        "waiting" => Becomes::Waiting,
                        "closed" => Becomes::Closed,
                        _ => return Err(missing("needs a status, choose one")),
                    },
                },
                _ => Action::Notify { person: line.value.parse().map_err(|_| missing(somebody))? },
            });
        }
        Definition { when, conditions, then }.checked()
    }
}
