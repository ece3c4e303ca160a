//! `/settings/rules`: all rules in the order in which they run, what each does in words, how often it acted in the last
//! week, and what is wrong with those that are passed over.

use askama::Template;
use axum::response::Response;

use crate::respond;
use crate::settings::rules::PATH;
use crate::settings::rules::words::{self, Clause, Names};
use crate::shell::{Here, Shell};
use crate::show::{filters, grouped_of};
use crate::visit::MemberRequest;
use rookery_base::error::Result;
use rookery_base::ids::RuleId;
use rookery_core::rules::broken::{self, Gone};
use rookery_core::rules::definition::{Definition, MOST_RULES};
use rookery_core::rules::runs::{self, MOST as MOST_COUNTED};
use rookery_core::rules::store;

#[derive(Template)]
#[template(path = "settings/rules/list.html")]
struct ListPage {
    shell: Shell,
    page: &'static str,
    rows: Vec<RuleRow>,
    most: usize,
}

struct RuleRow {
    id: RuleId,
    name: String,
    is_on: bool,
    conditions: Vec<Clause>,
    actions: Vec<Clause>,
    /// `212`, or `999+`
    runs: String,
    /// Why it is passed over, and what to do.
    problems: Vec<&'static str>,
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    let workspace = asked.person.workspace;
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(&asked, Here::Settings);
    let rules = store::list(&mut reading, workspace).await?;
    let names = Names::load(&mut reading, &asked).await?;
    let read: Vec<Definition> = rules.iter().filter_map(|rule| rule.definition.clone()).collect();
    let gone = Gone::among(&mut reading, workspace, &read).await?;
    let ids: Vec<RuleId> = rules.iter().map(|rule| rule.id).collect();
    let counted = runs::lately(&mut reading, &asked.person, &ids, shell.times.now).await?;
    let rows = rules.into_iter().map(|rule| {
        let runs = counted.get(&rule.id).copied().unwrap_or_default();
        let (conditions, actions, problems) = match &rule.definition {
            Some(does) => {
                (words::conditions(does, &names), words::actions(does, &names), broken::problems(does, &gone))
            }
            None => (vec![], vec![], vec!["was written by a newer version, which alone can read it"]),
        };
        RuleRow {
            id: rule.id,
            name: rule.name,
            is_on: rule.is_on,
            conditions,
            actions,
            runs: if runs >= MOST_COUNTED { format!("{}+", MOST_COUNTED - 1) } else { grouped_of(runs) },
            problems,
        }
    });
    respond::page(&ListPage { rows: rows.collect(), page: PATH, most: MOST_RULES, shell })
}
