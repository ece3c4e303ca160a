//! One rule: its form, which works by its buttons alone, and a trial over the newest mail that the viewer can see. Trying
//! and adding lines change nothing; only "Save" does.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::respond;
use crate::settings::rules::PATH;
use crate::settings::rules::typed::{ACTIONS, RuleLine, TESTS, TypedRule};
use crate::settings::rules::words::{self, Names, SNOOZES};
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::{Done, Toast};
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{ConversationId, RuleId};
use rookery_core::conversations::conversation::Member;
use rookery_core::conversations::inboxes::CountedMailbox;
use rookery_core::conversations::ruled::trial;
use rookery_core::conversations::tags;
use rookery_core::rules::broken::{self, Gone};
use rookery_core::rules::definition::{Definition, MOST_ACTIONS, MOST_CONDITIONS};
use rookery_core::rules::store;
use rookery_core::workspace::access::MemberId;

#[derive(Template)]
#[template(path = "settings/rules/edit.html")]
struct EditPage {
    shell: Shell,
    page: &'static str,
    /// Nothing for a new one.
    id: Option<RuleId>,
    typed: TypedRule,
    /// What is wrong with what was typed.
    problem: Option<String>,
    /// Why the stored rule is not applied.
    broken: Vec<&'static str>,
    /// Who made the rule, if it is somebody else's; saving makes it the viewer's.
    maker: Option<String>,
    trial: Option<Trial>,
    names: Names,
    tags: Vec<String>,
}

/// What the rule would have done.
struct Trial {
    looked_at: i64,
    rows: Vec<TriedConversation>,
}

struct TriedConversation {
    conversation: ConversationId,
    subject: String,
    from: String,
    inbox: String,
    at: chrono::DateTime<chrono::Utc>,
    /// What the rule would do, and whether it is done already.
    would: Vec<(String, bool)>,
}

pub async fn new(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, None, TypedRule::blank()).await?)
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    let mut reading = asked.reading().await?;
    let rule = store::find(&mut reading, asked.person.workspace, id).await?;
    drop(reading);
    let typed = match &rule.definition {
        Some(does) => TypedRule::from_rule(&rule.name, does),
        None => TypedRule { name: rule.name.clone(), ..TypedRule::blank() },
    };
    respond::page(&page(&asked, Some(id), typed).await?)
}

pub async fn make(asked: MemberRequest) -> Result<Response> {
    answer(asked, None).await
}

pub async fn change(asked: MemberRequest) -> Result<Response> {
    let id: RuleId = asked.id("id")?;
    answer(asked, Some(id)).await
}

async fn answer(asked: MemberRequest, id: Option<RuleId>) -> Result<Response> {
    let form = asked.form().await?;
    let mut typed = TypedRule::read(&form);
    let button = form.get("do").unwrap_or("save");
    if typed.rearrange(&form, button) {
        return respond::page(&page(&asked, id, typed).await?);
    }
    let done = match (typed.definition(), button) {
        (Ok(rule), "try") => {
            let page = page(&asked, id, typed).await?;
            let trial = Some(tried(&asked, &rule, &page.names).await?);
            return respond::page(&EditPage { trial, ..page });
        }
        (Ok(rule), _) => save(&asked, id, &typed.name, rule).await,
        (Err(error), _) => Err(error),
    };
    match done {
        Ok(()) => Ok(respond::see_other_with(PATH, Toast::new(Done::RuleSaved, ""))),
        Err(error @ Error::Problems(_)) => {
            let problem = Some(error.sentence());
            let page = EditPage { problem, ..page(&asked, id, typed).await? };
            respond::page_with(StatusCode::BAD_REQUEST, &page)
        }
        Err(error) => Err(error),
    }
}

async fn save(asked: &MemberRequest, id: Option<RuleId>, name: &str, rule: Definition) -> Result<()> {
    let mut tx = asked.tx().await?;
    store::put(&mut tx, &asked.person, id, name, rule).await?;
    tx.commit().await
}

async fn tried(asked: &MemberRequest, rule: &Definition, names: &Names) -> Result<Trial> {
    let mut reading = asked.reading().await?;
    let mails = trial::newest(&mut reading, &asked.person).await?;
    let rows = trial::hits(&mails, rule).into_iter().map(|hit| TriedConversation {
        conversation: hit.mail.conversation,
        subject: hit.mail.subject.clone(),
        from: hit.mail.from.clone(),
        inbox: hit.mail.mailbox_name.clone(),
        at: hit.mail.at,
        would: rule
            .then
            .iter()
            .zip(hit.changes)
            .map(|(action, changes)| {
                let told = words::action(action, names);
                (format!("{} {}", told.words, told.object), changes)
            })
            .collect(),
    });
    Ok(Trial { looked_at: mails.len() as i64, rows: rows.collect() })
}

async fn page(asked: &MemberRequest, id: Option<RuleId>, typed: TypedRule) -> Result<EditPage> {
    let workspace = asked.person.workspace;
    let mut reading = asked.reading().await?;
    let (mut broken, mut maker) = (Vec::new(), None);
    if let Some(id) = id {
        let rule = store::find(&mut reading, workspace, id).await?;
        if let Some(does) = &rule.definition {
            let gone = Gone::among(&mut reading, workspace, std::slice::from_ref(does)).await?;
            broken = broken::problems(does, &gone);
        }
        maker = Some(rule.maker_name).filter(|_| rule.maker != asked.person.id);
    }
    Ok(EditPage {
        names: Names::load(&mut reading, asked).await?,
        tags: tags::names(&mut reading, &asked.person).await?,
        shell: Shell::frame(asked, Here::Settings),
        page: PATH,
        problem: None,
        trial: None,
        id,
        typed,
        broken,
        maker,
    })
}

impl EditPage {
    fn action(&self) -> String {
        match &self.id {
            Some(id) => format!("{PATH}/{id}"),
            None => format!("{PATH}/new"),
        }
    }

    fn tests(&self) -> &'static [(&'static str, &'static str)] {
        TESTS
    }

    fn deeds(&self) -> &'static [(&'static str, &'static str)] {
        ACTIONS
    }

    fn snoozes(&self) -> &'static [(u32, &'static str)] {
        SNOOZES
    }

    fn may_add_condition(&self) -> bool {
        self.typed.conditions.len() < MOST_CONDITIONS
    }

    fn may_add_action(&self) -> bool {
        self.typed.actions.len() < MOST_ACTIONS
    }

    fn people(&self) -> Vec<(String, &Member)> {
        let people = self.names.team.iter().filter_map(|member| match member.id {
            MemberId::Person(id) => Some((id.to_string(), member)),
            MemberId::Agent(_) => None,
        });
        people.collect()
    }

    fn is_inbox(&self, line: &RuleLine, inbox: &CountedMailbox) -> bool {
        line.value == inbox.id.to_string()
    }

    fn is_member(&self, line: &RuleLine, member: &Member) -> bool {
        line.value == member.id.to_string()
    }

    fn is_hours(&self, line: &RuleLine, hours: &u32) -> bool {
        line.value == hours.to_string()
    }

    /// Comparisons of a condition, for "is" and "is not".
    fn ways(&self, line: &RuleLine) -> (&'static str, &'static str) {
        match line.kind {
            "subject" | "words" => ("contains", "does not contain"),
            "attachment" => ("is there", "is not there"),
            "risk" => ("is at least", "is less than"),
            _ => ("is", "is not"),
        }
    }
}

impl Trial {
    fn found(&self) -> i64 {
        self.rows.len() as i64
    }
}
