//! The form of a rule as it was typed, which a page shows again whatever is wrong with it. A line has a kind, which is
//! chosen when the line is added, "is" or "is not", and a value.

use crate::visit::FormFields;
use rookery_base::error::{Error, Result};
use rookery_core::rules::definition::{
    Action, Becomes, Condition, ConditionKind, Definition, Level, MOST_ACTIONS, MOST_CONDITIONS, Trigger,
};

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
    ("notify", "Notify someone"),
];

#[derive(Clone, Debug, Default)]
pub struct TypedRule {
    pub name: String,
    /// It waits for a tag, not for mail.
    pub on_tag: bool,
    pub tag: String,
    pub conditions: Vec<RuleLine>,
    pub actions: Vec<RuleLine>,
}

#[derive(Clone, Debug)]
pub struct RuleLine {
    pub kind: &'static str,
    pub title: &'static str,
    pub is: bool,
    pub value: String,
}

impl RuleLine {
    fn new(kinds: &[(&'static str, &'static str)], kind: &str) -> Option<Self> {
        let (kind, title) = kinds.iter().find(|(own, _)| *own == kind)?;
        Some(Self { kind, title, is: true, value: String::new() })
    }

    fn with_value(
        kinds: &[(&'static str, &'static str)],
        kind: &str,
        is: bool,
        value: String,
    ) -> Option<Self> {
        Self::new(kinds, kind).map(|line| Self { is, value, ..line })
    }
}

impl TypedRule {
    /// A new rule, with a line to begin with.
    pub fn blank() -> Self {
        Self {
            conditions: RuleLine::new(TESTS, "sender").into_iter().collect(),
            actions: RuleLine::new(ACTIONS, "tag").into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn from_rule(name: &str, rule: &Definition) -> Self {
        let (on_tag, tag) = match &rule.when {
            Trigger::MailArrives => (false, String::new()),
            Trigger::TagSet { tag } => (true, tag.clone()),
        };
        let condition = |one: &Condition| {
            let value = match &one.test {
                ConditionKind::Sender { like } => like.clone(),
                ConditionKind::Subject { words } | ConditionKind::Words { words } => words.join(", "),
                ConditionKind::Inbox { inbox } => inbox.to_string(),
                ConditionKind::Risk { at_least: Level::Some } => "some".into(),
                ConditionKind::Risk { at_least: Level::Held } => "held".into(),
                ConditionKind::Attachment => String::new(),
            };
            RuleLine::with_value(TESTS, one.test.kind(), one.is, value)
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
            RuleLine::with_value(ACTIONS, one.kind(), true, value)
        };
        Self {
            name: name.to_owned(),
            on_tag,
            tag,
            conditions: rule.conditions.iter().filter_map(condition).collect(),
            actions: rule.then.iter().filter_map(action).collect(),
        }
    }

    pub fn read(form: &FormFields) -> Self {
        let text = |name| form.get(name).unwrap_or_default().to_owned();
        let ways = form.all("if_is").zip(form.all("if_value"));
        let conditions = form.all("if").zip(ways).filter_map(|(kind, (is, value))| {
            RuleLine::with_value(TESTS, kind, is != "not", value.to_owned())
        });
        let actions = form
            .all("then")
            .zip(form.all("then_value"))
            .filter_map(|(kind, value)| RuleLine::with_value(ACTIONS, kind, true, value.to_owned()));
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
    pub fn rearrange(&mut self, form: &FormFields, button: &str) -> bool {
        let nth = |name: &str| button.strip_prefix(name).and_then(|n| n.parse::<usize>().ok());
        if button == "add-if" {
            let line = RuleLine::new(TESTS, form.get("new_if").unwrap_or_default());
            self.conditions.extend(line.filter(|_| self.conditions.len() < MOST_CONDITIONS));
        } else if button == "add-then" {
            let line = RuleLine::new(ACTIONS, form.get("new_then").unwrap_or_default());
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
        let when = if self.on_tag { Trigger::TagSet { tag: self.tag.clone() } } else { Trigger::MailArrives };
        let mut conditions = Vec::new();
        for (number, line) in self.conditions.iter().enumerate() {
            let missing = |what: &str| Error::problem(format!("Condition {}", number + 1), what);
            let words = || line.value.split(',').map(str::to_owned).collect();
            let test = match line.kind {
                "sender" => ConditionKind::Sender { like: line.value.clone() },
                "subject" => ConditionKind::Subject { words: words() },
                "words" => ConditionKind::Words { words: words() },
                "inbox" => ConditionKind::Inbox {
                    inbox: line.value.parse().map_err(|_| missing("needs an inbox, choose one"))?,
                },
                "risk" if line.value == "held" => ConditionKind::Risk { at_least: Level::Held },
                "risk" => ConditionKind::Risk { at_least: Level::Some },
                "attachment" => ConditionKind::Attachment,
                _ => return Err(missing("needs a kind, choose one")),
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
